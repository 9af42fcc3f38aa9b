"""Describes each result that is not that of a check or run, as a document."""
