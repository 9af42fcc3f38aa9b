"""Reads promptfoo's configuration files (`promptfooconfig.yaml`) as native contracts."""

from __future__ import annotations

from gatekeeper.contract.formats.promptfoo.contracts import read, recognises
from gatekeeper.contract.formats.promptfoo.keys import KEYS

__all__ = ["KEYS", "read", "recognises"]
