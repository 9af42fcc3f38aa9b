"""Reads the checks of a contract, and the judges and code that they use."""
