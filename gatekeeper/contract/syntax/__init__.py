"""YAML and JSON as data that knows its lines, and the check against our own schemas."""
