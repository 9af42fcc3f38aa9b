"""The comment, the job summary and other Markdown texts."""
