"""Decides objectives and error budgets. Pure."""
