"""The policy of the repository and those of its folders."""
