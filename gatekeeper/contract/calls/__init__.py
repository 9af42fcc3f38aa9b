"""The calls that one sample takes: chains of prompts, and conversations."""
