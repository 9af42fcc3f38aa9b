"""What a prompt promises by its specification, and how a change alters it."""
