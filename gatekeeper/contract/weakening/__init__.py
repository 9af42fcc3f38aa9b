"""Finds how a pull request weakens contracts or the policy."""
