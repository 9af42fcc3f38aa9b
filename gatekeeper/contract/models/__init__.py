"""Which models a contract may call, and with which parameters."""
