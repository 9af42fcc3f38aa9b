"""Forecasts calls, cost and what a comparison could detect."""
