"""Gatekeeper decides whether a prompt change may merge."""

__version__ = "0.1.0"
