"""Hosted models asked in batches, at the price that OpenAI and Anthropic take for these."""
