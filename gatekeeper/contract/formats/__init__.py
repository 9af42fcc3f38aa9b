"""Foreign files that hold contracts, such as a promptfooconfig.yaml, read as native contracts."""
