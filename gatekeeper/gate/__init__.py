"""The story of a run: plan, measure, compare, decide, and the result. Start with `pipeline.py`."""
