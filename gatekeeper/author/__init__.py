"""Helps to write contracts: which parts of a prompt a contract protects."""
