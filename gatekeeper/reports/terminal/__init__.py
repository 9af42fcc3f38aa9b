"""The output for a person at a terminal."""
