"""How far a judge can be trusted: labels of people, agreement, calibration files, corrections."""
