"""What is promised: contracts, prompts, fixtures, and which of them a change touches."""
