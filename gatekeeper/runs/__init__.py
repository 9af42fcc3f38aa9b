"""One run in this process: model client, history, cache, signals and progress."""
