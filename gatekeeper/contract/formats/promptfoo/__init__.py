"""Reads promptfoo's configuration files (`promptfooconfig.yaml`) as native contracts."""

from __future__ import annotations

from gatekeeper.contract.formats.promptfoo.keys import KEYS
from gatekeeper.contract.formats.promptfoo.suite import read, recognises

__all__ = ["KEYS", "read", "recognises"]
