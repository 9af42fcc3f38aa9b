"""What the commands of `gatekeeper judge` print and write."""
