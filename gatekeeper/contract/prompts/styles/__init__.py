"""Template styles other than Jinja, each translated to Jinja text for the sandbox.

A translation keeps every line where it is, so that errors of the sandbox have the right line.
"""
