"""Compares base with head. Pure."""
