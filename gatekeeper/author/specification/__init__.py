"""What a prompt promises: its input, its output rules and its open questions, as a file."""
