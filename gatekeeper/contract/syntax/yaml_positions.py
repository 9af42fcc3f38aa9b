"""Parses YAML and JSON text to plain data with the position of every value.

Scalars follow the YAML 1.2 core schema, as in editors: `no`, `on`, `2024-01-01`, `12:30` and `007`
stay text, so that a fixture's expected label is never changed to something else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

import yaml

from gatekeeper.contract.syntax import json_positions
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import ContractError, Problem

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]

MAX_VALUES = 250_000
MAX_DEPTH = 100
MAX_DIGITS = 1_000
"""The most decimal digits of a number: Python does not write numbers with more."""
_SAFE_DEPTH = 1_000
_ODD_BREAK = re.compile("[\u0085\u2028\u2029]")

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_KEYS = frozenset({_TAG + "str", _TAG + "int", _TAG + "float"})
"""Keys stay texts as they are written, so that 1 in `{1: useless, 2: helps}` is the text "1"."""


class _Loader(_Base):  # type: ignore[misc]
    """The YAML 1.2 core schema, and merge keys."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    # PyYAML calls these three for every value. No tag depends on the path of a value here.
    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a value, as PyYAML's own method does in twice the time."""
        if kind is not yaml.ScalarNode:
            return _TAG + ("map" if kind is yaml.MappingNode else "seq")
        if implicit[0]:
            for tag, pattern in self.yaml_implicit_resolvers.get(value[:1], ()):
                if pattern.match(value):
                    return tag
        return _TAG + "str"

    def descend_resolver(self, *_: Any) -> None:
        """Do nothing."""

    def ascend_resolver(self) -> None:
        """Do nothing."""


for _tag, _pattern, _first in (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+)$", list("-+0123456789")),
    (
        "float",
        r"^[-+]?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.?)(?:[eE][-+]?[0-9]+)?$",
        list("-+0123456789."),
    ),
    ("merge", r"^<<$", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _tag, re.compile(_pattern), _first)


def core_schema_resolvers() -> Mapping[str, list[tuple[str, re.Pattern[str]]]]:
    """Return which plain texts are no texts here, by their first character, as PyYAML keeps it."""
    return _Loader.yaml_implicit_resolvers


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed text. `places` holds the start of each value, `keys` the start of each mapping key,
    `text_lines` the first line of the text of each block scalar, and `last_lines` the last line of
    each scalar whose lines are joined to others. All count from 1."""

    path: str
    data: Any
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    keys: Mapping[KeyPath, Place] = field(default_factory=dict)
    text_lines: Mapping[KeyPath, int] = field(default_factory=dict)
    last_lines: Mapping[KeyPath, int] = field(default_factory=dict)

    def position(self, key: KeyPath = ()) -> Position:
        """Return the position of the value, or of the nearest value around it if it is not in the
        text."""
        line, column = self._place(self.places, key)
        return Position(self.path, line, column)

    def problem(self, key: KeyPath, what: str, fix: str, *, at_key: bool = False) -> Problem:
        places = self.keys if at_key and key in self.keys else self.places
        line, column = self._place(places, key)
        return Problem(self.path, what, fix, line, column, field_name(key) or None)

    @staticmethod
    def _place(places: Mapping[KeyPath, Place], key: KeyPath) -> Place:
        while key and key not in places:
            key = key[:-1]
        return places.get(key, (1, 1))


@dataclass(frozen=True, slots=True)
class Row:
    """One row as data, with its position in the document."""

    document: Document
    key: KeyPath
    data: Any


def field_name(key: KeyPath) -> str:
    """Write `("checks", 0, "pattern")` as a person does: `checks[0].pattern`."""
    name = ""
    for part in key:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def parse(text: str, path: str) -> Document:
    """Parse the text, as JSON if the path has that suffix and as YAML otherwise."""
    if path.lower().endswith(".json"):
        return parse_json(text, path)
    return parse_yaml(text, path)


@lru_cache(maxsize=1024)
def parse_once(text: str, path: str) -> Document:
    """Parse the text and keep the result: a contract is read briefly before it is loaded, and
    base's is often the same as head's. Nobody may change its data."""
    return parse(text, path)


def parse_json(text: str, path: str, first_line: int = 1) -> Document:
    """Parse JSON. Raises ContractError if the text is not one JSON value with distinct keys."""
    places: dict[KeyPath, Place] = {}
    keys: dict[KeyPath, Place] = {}
    try:
        data = json_positions.scan(text, places, keys, MAX_DEPTH, first_line)
    except json_positions.BrokenJsonError as broken:
        raise ContractError(
            [Problem(path, broken.what, broken.fix, broken.line, broken.column)]
        ) from None
    return Document(path, data, places, keys)


def parse_yaml(text: str, path: str, first_line: int = 1) -> Document:
    """Parse YAML. Raises ContractError if the text is not one YAML document of plain data."""
    _refuse_odd_breaks(text, path, first_line)
    try:
        if _may_be_large(text):
            _refuse_large(text, path, first_line)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ContractError([_syntax_problem(error, text, path, first_line)]) from None
    walk = _Walk(path, first_line)
    if node is not None and "*" in text:
        walk.refuse_multiplied(node)
    data = None if node is None else walk.value(node, ())
    if walk.problems:
        raise ContractError(walk.problems)
    return Document(path, data, walk.places, walk.keys, walk.text_lines, walk.last_lines)


def _refuse_odd_breaks(text: str, path: str, first_line: int) -> None:
    """Refuse characters that end a line in YAML 1.1 and do not in YAML 1.2: with one of them in a
    comment, another program could read other values from the same file."""
    found = _ODD_BREAK.search(text)
    if found is None:
        return
    before = text[: found.start()]
    line, column = before.count("\n") + first_line, len(before) - before.rfind("\n")
    name = f"U+{ord(found[0]):04X}"
    what = f"some programs read the character {name} as a line break, and others do not"
    escape = f"\\u{ord(found[0]):04x}"
    fix = f"remove the character, or write `{escape}` in a text in double quotes"
    raise ContractError([Problem(path, what, fix, line, column)])


def _may_be_large(text: str) -> bool:
    """Return whether the text could nest thousands of levels, each of which takes a bracket or a
    column, or hold more values than are read, each of which takes one of these characters."""
    longest = max(map(len, text.split("\n")))
    deep = text.count("[") + text.count("{") + 2 * longest > _SAFE_DEPTH
    return deep or sum(map(text.count, "\n,:-?[{")) > MAX_VALUES // 2


def _refuse_large(text: str, path: str, first_line: int) -> None:
    """Refuse a large text: libyaml's composer recurses in C, where 100,000 open brackets would end
    the process, and makes a node of a kilobyte of each value before one of them can be counted."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        values += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH or values > MAX_VALUES:
            mark: Any = event.start_mark
            place = mark.line + first_line, mark.column + 1
            raise ContractError([(_too_deep if depth > MAX_DEPTH else _too_many)(path, *place)])


def _too_many(path: str, line: int, column: int) -> Problem:
    what = f"the file has more than {MAX_VALUES:,} values, counting each use of an alias"
    fix = "use fewer aliases; large sets of fixtures belong in a .jsonl file"
    return Problem(path, what, fix, line, column)


def _too_deep(path: str, line: int, column: int) -> Problem:
    return Problem(
        path,
        f"the file is nested deeper than {MAX_DEPTH} levels, or an alias contains itself",
        "flatten the file",
        line,
        column,
    )


def _syntax_problem(error: yaml.YAMLError, text: str, path: str, first_line: int) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    fix = (
        "correct the YAML; put text in quotes if it contains `:`, `#` or `{`, or "
        "begins with `*`, `&` or a quote"
    )
    if "another document" in what:
        what = "the file has a second YAML document"
        fix = "keep one document in the file, without `---`"
    if mark is not None:
        return Problem(path, f"not YAML: {what}", fix, mark.line + first_line, mark.column + 1)
    offset = min(max(int(getattr(error, "position", 0) or 0), 0), len(text))
    before = text[:offset]
    line = before.count("\n") + first_line
    return Problem(path, f"not YAML: {what}", fix, line, len(before) - before.rfind("\n"))


class _Walk:
    """Nodes to plain data."""

    def __init__(self, path: str, first_line: int) -> None:
        self._path = path
        self._first_line = first_line
        self.places: dict[KeyPath, Place] = {}
        self.keys: dict[KeyPath, Place] = {}
        self.text_lines: dict[KeyPath, int] = {}
        self.last_lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []

    def refuse_multiplied(self, node: yaml.Node) -> None:
        """Refuse aliases that would make too many values, before any of them is made.

        Raises ContractError. Each node is looked at once: an anchor stands before its aliases.
        """
        sizes: dict[int, int] = {}

        def size(node: yaml.Node, depth: int) -> int:
            if id(node) in sizes or isinstance(node, yaml.ScalarNode):
                return sizes.get(id(node), 1)
            if depth > MAX_DEPTH:
                raise ContractError([_too_deep(self._path, *self._place(node))])
            sizes[id(node)] = 1  # for an alias of what it stands in, which the walk refuses
            parts = node.value if isinstance(node, yaml.SequenceNode) else chain(*node.value)
            sizes[id(node)] = total = 1 + sum(size(part, depth + 1) for part in parts)
            if total > MAX_VALUES:
                raise ContractError([_too_many(self._path, *self._place(node))])
            return total

        size(node, 0)

    def value(self, node: yaml.Node, key: KeyPath) -> Any:
        place = self._place(node)
        if len(key) > MAX_DEPTH:
            raise ContractError([_too_deep(self._path, *place)])
        self.places.setdefault(key, place)
        if isinstance(node, yaml.ScalarNode):
            if node.style in ("|", ">"):
                self.text_lines[key] = place[0] + 1
            if node.style != "|" and node.end_mark.line > node.start_mark.line:
                self.last_lines[key] = node.end_mark.line + self._first_line
            return self._scalar(node, key)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.value(item, (*key, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, key)
        self._report(
            key, place, f"gatekeeper does not know the tag {node.tag}", "leave the tag out"
        )
        return None

    def _mapping(self, node: yaml.MappingNode, key: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                if merged:
                    what, fix = "the mapping has `<<` twice", "write one key: `<<: [*one, *other]`"
                    self._report((*key, "<<"), self._place(key_node), what, fix)
                merged.append(value_node)
                continue
            name = self._key(key_node, key)
            if name is None:
                continue
            place = self._place(key_node)
            if name in data:
                first = self.keys[(*key, name)][0]
                what = f"the key occurs twice, first on line {first}"
                self._report((*key, name), place, what, "keep one of the two keys")
                continue
            self.keys[(*key, name)] = place
            data[name] = self.value(value_node, (*key, name))
        for source in merged:
            for name, value in self._merge(source, key):
                data.setdefault(name, value)
        return data

    def _merge(self, source: yaml.Node, key: KeyPath) -> Iterator[tuple[str, Any]]:
        mappings = source.value if isinstance(source, yaml.SequenceNode) else [source]
        for mapping in mappings:
            if not isinstance(mapping, yaml.MappingNode):
                place = self._place(mapping)
                self._report((*key, "<<"), place, "`<<` can only merge mappings", "name a mapping")
                continue
            found = self.value(mapping, (*key, "<<"))
            yield from found.items() if isinstance(found, dict) else ()

    def _key(self, node: yaml.Node, parent: KeyPath) -> str | None:
        place = self._place(node)
        if isinstance(node, yaml.ScalarNode) and node.tag in _KEYS:
            return str(node.value)
        if isinstance(node, yaml.ScalarNode):
            fix = f'put the key in quotes: "{node.value}"'
            self._report(parent, place, f"the key {node.value or 'null'} is not text", fix)
        else:
            self._report(parent, place, "a key is not text", "write a plain word as the key")
        return None

    def _scalar(self, node: yaml.ScalarNode, key: KeyPath) -> Any:
        kind = node.tag.removeprefix(_TAG)
        text = str(node.value)
        try:
            if kind in ("str", "merge"):
                return text
            if kind == "null":
                return None
            if kind == "bool":
                return {"true": True, "false": False}[text.lower()]
            if kind == "int" and len(text) <= MAX_DIGITS:
                return int(text, 0 if text[:2] in ("0x", "0o") else 10)
            if kind == "float":
                return _finite(float(text))
        except (ValueError, KeyError):
            pass
        if kind in ("bool", "int", "float"):
            self._report(key, self._place(node), f"not a valid {kind}", "write another value")
            return None
        what = f"gatekeeper does not know the tag {node.tag}"
        self._report(key, self._place(node), what, "leave the tag out")
        return None

    def _place(self, node: yaml.Node) -> Place:
        return node.start_mark.line + self._first_line, node.start_mark.column + 1

    def _report(self, key: KeyPath, place: Place, what: str, fix: str) -> None:
        self.problems.append(Problem(self._path, what, fix, *place, field_name(key) or None))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number
