"""The story of a run: plan, measure, compare, decide, and the result. `pipeline.py` tells it."""
