"""The network: one HTTP client, streamed answers, and what is forbidden."""
