"""Contracts, prompts, fixtures and policy, and which of them a change affects."""
