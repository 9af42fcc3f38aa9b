"""Checks that a team writes itself, as functions in Python."""
