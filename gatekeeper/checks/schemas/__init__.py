"""JSON Schemas that are safe to apply."""
