"""Blame: which edits of a changed prompt made it worse."""
