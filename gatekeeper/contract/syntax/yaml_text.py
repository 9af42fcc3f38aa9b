"""Writes data as YAML that gatekeeper's own parser reads back as the same data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from gatekeeper.contract.syntax.yaml_positions import core_schema_resolvers

_WIDTH = 100
# YAML 1.1 ends a line at these as well, and reads them as a blank.
_OTHER_LINE_ENDS = re.compile("[\x85\u2028\u2029\r]")


class _Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or the 1.2 core schema would read as something else."""

    def ignore_aliases(self, _: Any) -> bool:
        """Return True: a value that is there twice is written twice, as a person would."""
        return True


_Dumper.yaml_implicit_resolvers = {
    first: list(resolvers) for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}
for _first, _resolvers in core_schema_resolvers().items():
    _Dumper.yaml_implicit_resolvers.setdefault(_first, []).extend(_resolvers)


class OneLine(list[Any]):
    """A list that is written on one line: `[1, 2]`."""


def _one_line(dumper: yaml.SafeDumper, items: OneLine) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else None
    if _OTHER_LINE_ENDS.search(text):
        style = '"'  # they are escaped there
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(OneLine, _one_line)


def write_yaml(data: Mapping[str, Any]) -> str:
    """Return the data of a JSON document as YAML, in the order of its keys. Texts of several lines
    are blocks."""
    text: str = yaml.dump(
        dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    return text


def write_flow(data: Any) -> str:
    """Return the data of a JSON document as YAML on one line, such as `{a: [1, 2]}`."""
    text: str = yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=math.inf,
        default_flow_style=True,
    )
    return text.removesuffix("...\n").rstrip("\n")


def has_comment(text: str, head_lines: int) -> bool:
    """Return whether there is a comment below the first `head_lines` lines, on a line of its own or
    behind a value. Raises yaml.YAMLError if the text is no YAML."""
    start = sum(map(len, text.splitlines(keepends=True)[:head_lines]))
    # The parser that read the text: the other one accepts other characters.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for token in yaml.scan(text, Loader=loader):
        if "#" in text[start : token.start_mark.index]:
            return True
        start = max(start, token.end_mark.index)
    return False
