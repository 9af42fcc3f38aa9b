"""How far judges can be trusted, and rates corrected for their mistakes."""
