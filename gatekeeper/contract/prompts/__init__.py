"""Prompt files of every kind, and how they are rendered."""
