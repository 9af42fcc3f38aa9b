"""Checks that ask another model to grade the output."""
