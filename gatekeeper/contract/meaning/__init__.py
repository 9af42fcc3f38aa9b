"""What a contract means whatever its layout: digests, the keys of checks, modes and schemas."""
