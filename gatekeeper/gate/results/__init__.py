"""What a run returns, as frozen values."""
