"""The sentences and figures that several reports say of the same result."""
