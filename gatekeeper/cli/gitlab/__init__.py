"""The comment of a check on a merge request of GitLab."""
