"""Looks at a repository and proposes its first contracts and its policy: `gatekeeper init`."""
