"""Confidence intervals."""
