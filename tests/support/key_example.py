"""A suite of another tool whose keys are misspelt one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml


@dataclass(frozen=True)
class Example:
    """A suite of a format as data, by path. `free` are the keys whose values have names of the
    author's own (an empty one: of the file), `harmless` the keys that decide nothing."""

    format: str
    path: str
    data: Mapping[str, Any]
    free: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)

    def files(self) -> dict[str, str]:
        """Return all files of the example."""
        return {**self.texts, **{path: self.write(path, data) for path, data in self.data.items()}}

    def write(self, path: str, data: Any) -> str:
        """Return the text of a file with the data."""
        if path.endswith(".prompty"):
            return f"---\n{yaml.safe_dump(data, sort_keys=False)}---\n{self.texts[path]}"
        return json.dumps(data)
