"""Says where a prompt is: a file, a key in a data file, or a constant in source code.

`prompts/a.md` is a whole file, `prompts.yaml#tickets.classify` the value at a key, and
`src/app.py:SYSTEM_PROMPT` a constant. The suffix alone decides how a reference is read. If a file
of that very name counted, a pull request could add one and change what a reference means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gatekeeper.contract.reading.read import UnreadableError, locate
from gatekeeper.contract.syntax.yaml_positions import KeyPath

_DATA = re.compile(r"(?P<path>[^#]*\.(?:yaml|yml|json|toml))#(?P<part>.*)", re.IGNORECASE | re.S)
_CODE = re.compile(
    r"(?P<path>.*\.(?:py|ts|tsx|mts|cts|js|jsx|mjs|cjs)):(?P<part>[^:/]*)", re.IGNORECASE | re.S
)
_CONSTANT = re.compile(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\$[\w$]*")
_LONGEST_PART = 1_000
# `a`, `.a`, `[0]` or `["any text"]`.
_STEP = re.compile(
    r"""(?P<dot>\.)?(?P<name>[^\s.\[\]"']+)|\[(?P<index>\d{1,6})\]|\[(?P<text>"(?:[^"\\]|\\.)*")\]"""
)
_PLAIN = re.compile(r"""[^\s.\[\]"']+""")


@dataclass(frozen=True, slots=True)
class PromptReference:
    """A prompt's file, path from the repository root, and where in the file the prompt is.

    `key` is the path to a value of a data file, `constant` the name of a constant in source code.
    Neither is set for a whole file.
    """

    path: str
    key: KeyPath | None = None
    constant: str | None = None

    @property
    def part(self) -> str:
        """Return what follows the path in the one spelling that all references to it share."""
        if self.key is not None:
            return f"#{write_key(self.key)}"
        return f":{self.constant}" if self.constant is not None else ""

    def __str__(self) -> str:
        return self.path + self.part


@lru_cache(maxsize=4096)
def read_reference(written: str) -> PromptReference:
    """Read a reference, without looking for its file. Raises UnreadableError for a part that cannot
    be a key or a constant."""
    data = _DATA.fullmatch(written)
    if data:
        return PromptReference(data["path"], key=_key(data["part"], written))
    code = _CODE.fullmatch(written)
    if code is None:
        return PromptReference(written)
    name = code["part"]
    if len(name) > _LONGEST_PART or not _CONSTANT.fullmatch(name):
        fix = "write `FILE:NAME`, or `FILE:Class.NAME`"
        raise UnreadableError(f"`{name[:100]}` is not the name of a constant", fix)
    return PromptReference(code["path"], constant=name)


def locate_prompt(written: str, from_file: str) -> PromptReference:
    """Return the reference with its file's path from the repository root.

    Raises UnreadableError if the path leads out of the repository, or the part cannot be read.
    """
    reference = read_reference(written)
    path = locate(reference.path, from_file)
    return PromptReference(path, reference.key, reference.constant)


def written_prompt(data: Mapping[str, Any]) -> Any:
    """Return what a contract's data names as its prompt: `prompt`, or `instructions`."""
    return data.get("instructions", data.get("prompt"))


def prompt_file(reference: str) -> str:
    """Return the path of the file that a located reference names; of another text, itself."""
    try:
        return read_reference(reference).path
    except UnreadableError:
        return reference


def write_key(key: KeyPath) -> str:
    """Write a path of keys so that `read_reference` reads the same path."""
    written = ""
    for step in key:
        if isinstance(step, int):
            written += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            written += f".{step}" if written else step
        else:
            written += f"[{json.dumps(step, ensure_ascii=False)}]"
    return written


def _key(part: str, written: str) -> KeyPath:
    steps: list[str | int] = []
    place = 0
    while place < len(part) <= _LONGEST_PART:
        match = _STEP.match(part, place)
        # A dot stands between two steps, and only before a name.
        if match is None or (match["name"] and bool(match["dot"]) != bool(steps)):
            break
        if match["index"]:
            steps.append(int(match["index"]))
        else:
            steps.append(match["name"] or _quoted(match["text"], written))
        place = match.end()
    if not steps or place < len(part):
        raise UnreadableError(
            f"`#{part[:100]}` is not the path of a key",
            'write `FILE#path.to.key`, with `[0]` for an item of a list and `["a.b"]` for a key '
            "that has a dot",
        )
    return tuple(steps)


def _quoted(text: str, written: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        fix = "write the key as a JSON string"
        raise UnreadableError(
            f"the key in the brackets of `{written[:200]}` is not a JSON string", fix
        ) from None
