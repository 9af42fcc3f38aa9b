"""Mutation testing for prompts: changes one part of a prompt at a time, and counts the changes that
the contract notices."""
