"""Writes a specification, tests and a contract for a prompt, by asking a model stage by stage."""
