"""Writes contracts as files of other tools: the opposite of `formats/`."""
