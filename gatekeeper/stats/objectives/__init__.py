"""Objectives and error budgets."""
