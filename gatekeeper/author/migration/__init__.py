"""Moves contracts to another model: the edit of their files, the comparison, and its report."""
