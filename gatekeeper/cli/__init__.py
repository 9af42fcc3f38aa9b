"""The terminal: `main.py` runs a command, `commands/` has one file for each."""
