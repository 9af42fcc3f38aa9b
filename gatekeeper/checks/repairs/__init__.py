"""Syntactic repairs of an output before the checks.

A repair changes how an answer is written, never what it says. Every step is idempotent, and is
recorded only if it changed the text.
"""
