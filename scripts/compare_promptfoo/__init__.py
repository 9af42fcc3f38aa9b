"""Compares gatekeeper with promptfoo, case by case."""
