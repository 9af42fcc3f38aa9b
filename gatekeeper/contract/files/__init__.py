"""Which files are contracts, and which files each of them depends on."""
