"""Takes samples, evaluates them as they arrive, and sums them up."""
