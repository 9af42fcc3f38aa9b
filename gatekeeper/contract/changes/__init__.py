"""Finds what a change affects, and what replaces what it removes."""
