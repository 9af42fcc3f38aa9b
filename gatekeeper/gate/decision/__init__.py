"""Turns evidence into reasons, and reasons into a verdict. Pure."""
