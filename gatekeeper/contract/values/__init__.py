"""What a contract, a change and a trial are, as frozen values."""
