"""Loads contracts with everything that they refer to."""
