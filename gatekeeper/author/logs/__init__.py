"""Fixtures from what really happened: takes the inputs of a prompt out of request logs."""
