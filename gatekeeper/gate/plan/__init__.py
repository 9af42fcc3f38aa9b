"""What one contract runs, at which level, and what judges and simulated users take."""
