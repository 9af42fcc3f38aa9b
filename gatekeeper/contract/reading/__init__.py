"""Reads files and texts of a revision, within limits."""
