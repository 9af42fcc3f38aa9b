"""TOML and Python that would take gigabytes are refused with the line."""

from __future__ import annotations

import resource

import pytest

from gatekeeper.contract.syntax.parsing import BrokenTextError, read_functions
from gatekeeper.contract.syntax.toml_positions import parse_toml
from gatekeeper.errors import ContractError

DEEP = {
    "a dotted key": "a" + ".a" * 20_000 + " = 1",
    "the name of a table": "[a" + " . a" * 20_000 + "]\nb = 1",
    "the name of an array of tables": "[[a" + ".'a'" * 20_000 + "]]\nb = 1",
    "a quoted key in a table in an array": 'x = [1, {"a"' + ' . "a"' * 20_000 + " = 1}]",
    "keys in tables in keys": ("a" + ".a" * 90 + " = {") * 90 + "a = 1" + "}" * 90,
    "arrays": "a = " + "[" * 20_000 + "]" * 20_000,
    "a key behind another line end": "b = 1\r\na" + ".a" * 20_000 + " = 1",
}


@pytest.mark.parametrize("what", DEEP)
def test_toml_that_nests_deeply(what: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ContractError, match="nested deeper than 100 levels"):
        parse_toml(DEEP[what], "p.toml")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_toml_is_read_with_its_lines() -> None:
    text = 'day = 2024-01-01\n[a]\nb.c = """\nx"""\n[[d]]\ne = [inf, 1.5, {f = "g"}]\n'
    document = parse_toml(text, "p.toml")
    assert document.data == {
        "day": 0,
        "a": {"b": {"c": "x"}},
        "d": [{"e": [0, 1.5, {"f": "g"}]}],
    }
    assert document.position(("a", "b", "c")).line == 3
    assert document.position(("d", 0, "e", 2, "f")).line == 6
    assert document.text_lines == {("a", "b", "c"): 4}


@pytest.mark.parametrize(
    ("text", "line"), [("a = 1\nb = ", 2), ("a = 1\na = 2", 2), ('"\\q" = 1', 1), ("[a\n", 1)]
)
def test_broken_toml(text: str, line: int) -> None:
    with pytest.raises(ContractError, match=f"^p.toml:{line}:"):
        parse_toml(text, "p.toml")


@pytest.mark.parametrize("source", ["-" * 200_000 + "a", "a" + ".a" * 200_000, "(" * 90_000])
def test_python_that_nests_deeply(source: str) -> None:
    with pytest.raises(BrokenTextError):
        read_functions(source)


def test_python_of_ten_megabytes() -> None:
    """It would take 3.7 GB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BrokenTextError, match="memory"):
        read_functions("x = [" + "a," * 5_000_000 + "]")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_the_functions_of_a_file() -> None:
    source = "def f(a, /, b=1, *c, d): ...\nclass C:\n    def g(self): ...\ndef h(): ...\n"
    first, second = read_functions(source)
    assert (first.name, first.only_by_position, first.by_position_or_name) == ("f", ("a",), ("b",))
    assert (first.only_by_name, first.defaults) == (("d",), 1)
    assert (first.requires_names, first.takes_any_number) == (True, True)
    assert second.name == "h"


def test_python_with_a_mistake_names_the_line() -> None:
    with pytest.raises(BrokenTextError) as raised:
        read_functions("a = 1\ndef f(:\n")
    assert raised.value.line == 2
