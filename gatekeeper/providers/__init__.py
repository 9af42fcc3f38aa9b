"""The models: behind an API, embedded in this process, or recorded."""

from gatekeeper.providers.router import ModelRouter

__all__ = ["ModelRouter"]
