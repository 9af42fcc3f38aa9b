"""Writes a variable of Nunjucks as an expression of Jinja that has the same value, or is an error.

JavaScript and Python disagree about the truth of lists, the text of lists, objects and some
numbers, and the attributes of every value. What they disagree about is an error of the rendering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.contract.templates.value_faults import fault_expression

_LIST = "({0} is sequence and {0} is not string and {0} is not mapping)"


@dataclass(frozen=True, slots=True)
class Path:
    """A variable, or a part of one. `steps` are the keys in quotes and the indexes."""

    name: str
    steps: tuple[str | int, ...] = ()

    @property
    def value(self) -> str:
        """Return the expression, which holds only if `has_parent` and `exists` do."""
        return self._up_to(len(self.steps))

    @property
    def has_parent(self) -> str:
        """Return the condition that every step but the last is there, and fits its value."""
        made = [f"{self.name} is defined"]
        for count, step in enumerate(self.steps):
            above = self._up_to(count)
            if count:
                made.append(self._has(count - 1))
            made.append(f"{above} is mapping" if isinstance(step, str) else _LIST.format(above))
        return "(" + " and ".join(made) + ")" if self.steps else "true"

    @property
    def exists(self) -> str:
        """Return the condition that the last step is there."""
        return self._has(len(self.steps) - 1) if self.steps else f"{self.name} is defined"

    def _has(self, index: int) -> str:
        above, step = self._up_to(index), self.steps[index]
        return f"{step} in {above}" if isinstance(step, str) else f"{above}|length > {step}"

    def _up_to(self, count: int) -> str:
        return self.name + "".join(f"[{step}]" for step in self.steps[:count])

    def __str__(self) -> str:
        return self.value.replace("'", "").replace('"', "")


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter, with its constant texts in quotes."""

    name: str
    texts: tuple[str, ...] = ()


def shown(path: Path, filters: Sequence[Filter]) -> str:
    """Return the expression of an output tag."""
    value = _read(path, filters)
    rest = filters[1:] if filters and filters[0].name == "default" else filters
    if not rest:
        return _printed(value, path)
    for index, part in enumerate(rest):
        value = _filtered(value, part, path, is_text=index > 0)
    return value


def stored(path: Path) -> str:
    """Return the expression of a value that is kept or looped over, of any type."""
    return _read(path, ())


def looped(path: Path) -> str:
    """Return the expression of a list."""
    value = path.value if not path.steps else _read(path, ())
    wrong = fault_expression(f"`{path}` is not a list, so a loop cannot go over it")
    missing = path.name
    return (
        f"({value} if {_LIST.format(value)} else {missing} if {missing} is undefined else {wrong})"
    )


def is_true(path: Path) -> str:
    """Return the condition that JavaScript counts the variable as true."""
    p = path.value
    truth = f"({p} is mapping or {_LIST.format(p)} or ({p} == {p} and {p}))"
    if not path.steps:
        return f"({path.name} is defined and {truth})"
    return f"(({path.exists} and {truth}) if {path.has_parent} else {_unreachable(path)})"


def has_items(path: Path) -> str:
    """Return the condition that a list, which is read with `.length`, is not empty."""
    return f"({_counted(_read(path, ()), path)} > 0)"


def length(path: Path) -> str:
    """Return the expression of a list's length."""
    return _counted(_read(path, ()), path)


def is_text(path: Path, sign: str, text: str) -> str:
    """Return the comparison of a variable with a text in quotes."""
    return f"({_text(_read(path, ()), path)} {sign} {text})"


def _unreachable(path: Path) -> str:
    what = fault_expression(f"`{path}` does not exist in the variables of the fixture")
    return f"({path.name} if {path.name} is undefined else {what})"


def _read(path: Path, filters: Sequence[Filter]) -> str:
    """Return the value, or the text of the filter `default` if it is not there."""
    if filters and filters[0].name == "default":
        text = filters[0].texts[0]
        if not path.steps:
            return f"({path.name}|default({text}))"
        found = f"({path.value} if {path.exists} else {text})"
        return f"({found} if {path.has_parent} else {_unreachable(path)})"
    if not path.steps:
        return path.name
    there = f"{path.has_parent} and {path.exists}"
    return f"({path.value} if {there} else {_unreachable(path)})"


def _printed(value: str, path: Path) -> str:
    """Return the value as JavaScript prints it. It writes no `.0`, and huge and tiny numbers in
    another way."""
    whole = f"{value} is integer and -9007199254740992 < {value} < 9007199254740992"
    broken = f"{value} is float and 0.001 <= {value}|abs < 1000000000000000"
    what = (
        f"Nunjucks and Jinja print `{path}` differently, because the value is a list, an "
        "object or a special number; use `| dump`"
    )
    return (
        f"{value} if {value} is string or {value} is undefined else '' if {value} is none"
        f" else ('true' if {value} else 'false') if {value} is boolean"
        f" else {value} if {whole}"
        f" else ({value}|int if {value} == {value}|int else {value}) if {broken}"
        f" else {fault_expression(what)}"
    )


def _filtered(value: str, part: Filter, path: Path, *, is_text: bool) -> str:
    if part.name == "dump":
        return f"{value}|tojson"
    if part.name == "length":
        return _counted(value, path)
    if part.name == "join":
        wrong = fault_expression(f"`{path}` is not a list of texts")
        texts = f"{value}|select('string')|list|length == {value}|length"
        joined = f"{value}|join({', '.join(part.texts)})"
        return f"({joined} if {_LIST.format(value)} and {texts} else {wrong})"
    text = value if is_text else _text(value, path)
    given = f"({', '.join(part.texts)})" if part.texts else ""
    return f"{text}|{part.name}{given}"


def _text(value: str, path: Path) -> str:
    wrong = fault_expression(f"`{path}` is not text")
    return f"({value} if {value} is string or {value} is undefined else {wrong})"


def _counted(value: str, path: Path) -> str:
    wrong = fault_expression(
        f"`{path}` is not a list, and the length of other values differs between Nunjucks and Jinja"
    )
    return f"({value}|length if {_LIST.format(value)} or {value} is undefined else {wrong})"
