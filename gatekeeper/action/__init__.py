"""The GitHub Action and its bot: `main.py` is the entry."""
