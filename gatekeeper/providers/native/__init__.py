"""The APIs that Gatekeeper speaks itself."""
