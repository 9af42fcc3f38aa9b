"""Reads the tests of a promptfoo file: `tests`, `scenarios` and `defaultTest`, merged as there, and
the rows of CSV files (src/csv.ts)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.fixtures.fixtures import csv_rows
from gatekeeper.contract.formats.promptfoo.assertion import split_values
from gatekeeper.contract.formats.promptfoo.assertion_types import (
    ALL_TYPES,
    AT_LEAST,
    LIST,
    RED_TEAM,
    SET,
    has,
)
from gatekeeper.contract.formats.promptfoo.keys import note_keys, note_keys_of_assertion
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources, is_program
from gatekeeper.contract.formats.promptfoo.variables import names_in
from gatekeeper.contract.formats.reader import CannotRunError, Node, Notes, meant, root_of
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_json
from gatekeeper.errors import ContractError, Problem

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_THRESHOLDS = re.compile(r"__config:__expected(\d*):threshold")
_TYPES = "|".join(sorted(map(re.escape, ALL_TYPES), key=len, reverse=True))
_LIKE_A_TYPE = re.compile(r"(not-)?([A-Za-z][A-Za-z-]{2,40})(?:\([\d.]+\))?(?:(:)|$)")
_COLUMNS = (
    *("__expected", "__prefix", "__suffix", "__description", "__providerOutput", "__metric"),
    *("__threshold", "__metadata", "__config"),
)
_ASSERTION = re.compile(rf"(not-)?({_TYPES})(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?")


@dataclass(frozen=True, slots=True)
class Case:
    """One test with everything that `defaultTest` and scenarios add to it. `parts` are the default
    test, the scenario's data and the test itself, the later ones more important."""

    node: Node
    parts: tuple[Node, ...]

    def field(self, name: str) -> Node | None:
        """Return the value of a key: that of the last part that has it."""
        for part in reversed(self.parts):
            if isinstance(part.value, dict) and part.get(name) is not None:
                return part.child(name)
        return None

    def option(self, name: str) -> Node | None:
        """Return the value of a key of `options`."""
        for part in reversed(self.parts):
            options = part.child("options")
            if isinstance(options.value, dict) and options.get(name) is not None:
                return options.child(name)
        return None

    def asserts(self) -> list[Node]:
        """Return the assertions of the test and its scenario, without those of `defaultTest`."""
        return [node for part in self.parts[1:] for node in _assertions(part)]

    def default_asserts(self) -> list[Node]:
        """Return the assertions of `defaultTest`, unless the test does without them."""
        disabled = self.option("disableDefaultAsserts")
        without = disabled is not None and disabled.value is True
        return [] if without else list(_assertions(self.parts[0]))

    def threshold(self) -> float | None:
        """Return the score that the test has to reach; None if every assertion has to pass.

        Raises ContractError if it is not a number.
        """
        node = self.field("threshold")
        if node is None:
            return None
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise node.problem("the threshold is not a number", "write a number such as 0.8")
        return float(node.value)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of all parts."""
        found: dict[str, Any] = {}
        for part in self.parts:
            own = part.get("metadata")
            found |= own if isinstance(own, dict) else {}
        return found

    def variables(self, sources: Sources) -> dict[str, Node]:
        """Return the variables with their places. Raises ContractError."""
        found: dict[str, Node] = {}
        for part in self.parts:
            found |= _variables(sources, part)
        return found


def _assertions(part: Node) -> Iterator[Node]:
    node = part.child("assert")
    if node.value is not None and not isinstance(node.value, list):
        raise node.problem("`assert` is not a list", "write `- type: …` items")
    yield from node.each()


def _variables(sources: Sources, part: Node) -> dict[str, Node]:
    node = part.child("vars")
    if isinstance(node.value, dict):
        return dict(node.items())
    references = [node] if isinstance(node.value, str) else list(node.each())
    found: dict[str, Node] = {}
    for reference in references:
        if not isinstance(reference.value, str):
            raise node.problem("`vars` is not a mapping", "write `{name: value}`")
        for path in sources.find(reference, reference.value, part.document.path):
            whole = sources.document(reference, path)
            if not isinstance(whole.value, dict):
                raise whole.problem("the variables are not a mapping", "write `name: value`")
            found |= dict(whole.items())
    return found


def read_cases(sources: Sources, root: Node, notes: Notes) -> list[Case]:
    """Return every test of the file. Raises ContractError; what cannot be run goes to `notes`."""
    default = default_test(sources, root)
    found: list[Case] = []
    tests = _tests(sources, root.child("tests"), notes)
    for node in tests:
        found.append(Case(node, (default, node)))
        _require_few(root, found)
    for scenario in _listed(sources, root.child("scenarios")):
        found += _scenario(sources, scenario, default, notes)
        _require_few(root, found)
    if not found and root.get("tests") is None and root.get("scenarios") is None:
        found.append(Case(root.child("defaultTest"), (default, _empty(root, ()))))
    misspelt: dict[Problem, None] = {}
    for case in found:
        for part in case.parts:
            _name_unknown(part, notes)
            misspelt |= dict.fromkeys(_misspelt_types(_assertions(part)))
        if case.node.document.path.lower().endswith(".csv"):
            _name_misspelt_cells(case.node, notes)
    if misspelt:
        raise ContractError([*misspelt])
    return _without_stored(found, notes)


def _without_stored(cases: list[Case], notes: Notes) -> list[Case]:
    """Leave out the tests whose variables name an answer that another test stores."""
    options = [case.option("storeOutputAs") for case in cases]
    stored = {str(option.value) for option in options if option is not None}
    kept: list[Case] = []
    for case in cases if stored else ():
        values = [node for part in case.parts for _, node in part.child("vars").items()]
        used = [v for v in values if isinstance(v.value, str) and names_in(v.value) & stored]
        if used:
            why = "the value uses the answer to another test, which gatekeeper does not store"
            notes.add(used[0].not_run("vars", why))
        else:
            kept.append(case)
    return kept if stored else cases


def _empty(node: Node, key: KeyPath) -> Node:
    return Node(node.document, key, {}, node.follows)


def _require_few(root: Node, found: list[Case]) -> None:
    if len(found) > MOST_FIXTURES:
        what = f"the file has more than {MOST_FIXTURES:,} tests"
        raise root.child("tests").problem(what, "keep fewer tests")


def default_test(sources: Sources, root: Node) -> Node:
    """Return `defaultTest`, which may be a file; an empty mapping if there is none."""
    node = root.child("defaultTest")
    if isinstance(node.value, str) and node.value.startswith(FILE):
        return sources.document(node, node.value)
    if node.value is None:
        return _empty(root, node.key)
    if not isinstance(node.value, dict):
        raise node.problem("`defaultTest` is not a mapping", "write `assert:` or `vars:` in it")
    return node


def _tests(sources: Sources, node: Node, notes: Notes) -> Iterator[Node]:
    """Yield the tests of a list, with those of the files that it names."""
    whole = isinstance(node.value, str | dict)
    for item in [node] if whole else node.each():
        reference = item.get("path") if isinstance(item.value, dict) else item.value
        try:
            if isinstance(reference, str):
                note_keys(item, "tests of a file", notes)
                yield from _cases_of_files(sources, item, reference)
            elif isinstance(item.value, dict):
                yield item
            else:
                fix = "write `vars:` and `assert:`, or the path of a file"
                raise item.problem("a test is not a mapping", fix)
        except CannotRunError as error:
            notes.add(*error.notes)


def _cases_of_files(sources: Sources, node: Node, reference: str) -> Iterator[Node]:
    """Yield the test cases of the test files that a reference names.

    Raises ContractError for a file that cannot be read, CannotRunError for a program.
    """
    plain = reference.removeprefix(FILE)
    _refuse_program(node, plain, plain[:200])
    for path in sources.find(node, plain):
        yield from _cases_of_file(sources, node, path)


def _refuse_program(node: Node, path: str, shown: str) -> None:
    if is_program(path):
        why = "gatekeeper does not run programs that write tests; write the tests into a file"
        raise node.cannot_run("tests", f"`{shown}`: {why}")


def _cases_of_file(sources: Sources, node: Node, reference: str) -> Iterator[Node]:
    lower = reference.lower()
    _refuse_program(node, reference, reference)
    path, text = sources.text(node, reference)
    if lower.endswith(".csv"):
        for line, row in csv_rows(text.removeprefix("\ufeff"), path, distinct=False):
            yield row_case(row, path, line)
    elif lower.endswith(".jsonl"):
        for number, line_text in enumerate(text.split("\n"), start=1):
            if line_text.strip():
                yield root_of(parse_json(line_text, path, number), follows=True)
    elif lower.endswith((".yaml", ".yml", ".json")):
        yield from sources.items(node, reference)
    else:
        fix = "use a file of the type .csv, .jsonl, .json or .yaml"
        raise node.problem(f"gatekeeper cannot read tests from `{path}`", fix)


def _scenario(sources: Sources, scenario: Node, default: Node, notes: Notes) -> Iterator[Case]:
    if not isinstance(scenario.value, dict):
        raise scenario.problem("a scenario is not a mapping", "write `config:` and `tests:`")
    note_keys(scenario, "scenario", notes)
    tests = list(_tests(sources, scenario.child("tests"), notes))
    if scenario.get("tests") is None:
        tests = [_empty(scenario, scenario.key)]
    settings = list(_listed(sources, scenario.child("config")))
    if len(settings) * len(tests) > MOST_FIXTURES:
        what = f"the scenario makes {len(settings) * len(tests):,} tests"
        raise scenario.problem(what, f"keep at most {MOST_FIXTURES:,} tests")
    for data in settings:
        for test in tests:
            yield Case(test, (default, data, test))


def _listed(sources: Sources, node: Node) -> Iterator[Node]:
    """Yield the items of a list, with those of the files that it names."""
    for item in [node] if isinstance(node.value, str) else node.each():
        if not isinstance(item.value, str):
            yield item
            continue
        if is_program(item.value):
            fix = "write the values into a data file"
            raise item.problem(f"gatekeeper does not run the program `{item.value[:100]}`", fix)
        for path in sources.find(item, item.value):
            yield from sources.items(item, path)


def _name_unknown(part: Node, notes: Notes) -> None:
    note_keys(part, "test", notes)
    options = part.child("options")
    note_keys(options, "options", notes)
    note_keys(options.child("provider"), "grader", notes)
    for node in _assertions(part):
        note_keys_of_assertion(node, notes)


def _misspelt_types(assertions: Iterable[Node]) -> Iterator[Problem]:
    """Yield a problem for each assertion whose type is likely a misspelt one."""
    for node in assertions:
        kind = node.get("type")
        base = kind.removeprefix("not-") if isinstance(kind, str) else SET
        if base not in ALL_TYPES and not base.startswith(RED_TEAM):
            fix = nearest(base, ALL_TYPES)
            what = f"promptfoo has no assertion type `{base[:100]}`"
            if "did you mean" in fix:
                yield from node.child("type").problem(what, fix).problems
        yield from _misspelt_types(node.child("assert").each() if kind == SET else ())


def _name_misspelt_cells(row: Node, notes: Notes) -> None:
    """Name the cells of a CSV row that are compared as a whole and likely mean another check."""
    for node in row.child("assert").each():
        value = node.get("value")
        if node.get("type") != "equals" or not isinstance(value, str):
            continue
        found = misspelt_type(value)
        if found is not None:
            written, other = found
            why = f"this is no assertion type, but expected text; did you mean `{other}`?"
            notes.add(node.not_run(written, why))


def category_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the category that the metadata names, if it is a short text."""
    category = metadata.get("category")
    short = isinstance(category, str) and 0 < len(category) <= 200 and category.isprintable()
    return category if short and str(category).strip() else None


def row_case(row: Mapping[str, str], path: str, line: int) -> Node:
    """Return the row as a test case. Raises ContractError."""
    case: dict[str, Any] = {"vars": {}, "assert": [], "options": {}, "metadata": {}}
    metric: str | None = None
    thresholds: dict[int, float] = {}
    for column, cell in row.items():
        if column.startswith("__expected"):
            if cell.strip():
                case["assert"].append(assertion_of_text(cell.strip()))
        elif column in ("__prefix", "__suffix"):
            if cell:
                case["options"][column[2:]] = cell
        elif column in ("__description", "__providerOutput"):
            if cell:
                case[column[2:]] = cell
        elif column == "__metric":
            metric = cell or None
        elif column == "__threshold":
            if _number(cell) is not None:
                case["threshold"] = _number(cell)
        elif column.startswith("__metadata:"):
            case["metadata"].update(_metadata(column.removeprefix("__metadata:"), cell))
        elif column.startswith("__config:"):
            thresholds.update(_threshold(column, cell, path, line))
        elif column != "__metadata":
            _require_spelt(column, path)
            case["vars"][column] = cell
    for index, assertion in enumerate(case["assert"]):
        if metric:
            assertion["metric"] = metric
        if index in thresholds:
            assertion["threshold"] = thresholds[index]
    return Node(Document(path, case, {(): (line, 1)}), (), case, follows=True)


def _require_spelt(column: str, path: str) -> None:
    """Raise ContractError for a variable whose name is likely a misspelt column of promptfoo."""
    if not column.startswith(("__", "_expected")):
        return
    stem, mark, rest = column.partition(":")
    other = meant(stem.rstrip("0123456789"), _COLUMNS)
    if other is not None:
        what = f"unknown column `{column[:100]}`"
        raise ContractError([Problem(path, what, f"did you mean `{other}{mark}{rest[:100]}`?", 1)])


def misspelt_type(cell: str) -> tuple[str, str] | None:
    """Return the word that a cell, compared as a whole, begins with if it is likely a misspelt
    assertion type, and that type; else None."""
    match = _LIKE_A_TYPE.match(cell)
    if match is None:
        return None
    inverse, kind, mark = match.groups()
    other = meant(kind, ALL_TYPES) if mark or "-" in kind else None
    return (f"{inverse or ''}{kind}", f"{inverse or ''}{other}") if other else None


def assertion_of_text(expected: str) -> dict[str, Any]:
    """Return the assertion that a cell of a column `__expected` writes."""
    for mark in ("javascript:", "fn:", "eval:"):
        if expected.startswith(mark):
            return {"type": "javascript", "value": expected.removeprefix(mark).strip()}
    if expected.startswith("file://"):
        if re.search(r"\.(?:[cm]?js|[cm]?ts)$", expected):
            return {"type": "javascript", "value": expected}
        if expected.endswith(".py") or ".py:" in expected:
            return {"type": "python", "value": expected}
    for mark in ("grade:", "llm-rubric:"):
        if expected.startswith(mark):
            return {"type": "llm-rubric", "value": expected.removeprefix(mark)}
    if expected.startswith("python:"):
        return {"type": "python", "value": expected.removeprefix("python:").strip()}
    match = _ASSERTION.fullmatch(expected)
    if match is None:
        return {"type": "equals", "value": expected}
    inverse, kind, threshold, value = match.groups()
    made: dict[str, Any] = {"type": f"{inverse or ''}{kind}"}
    if value is not None:
        made["value"] = (split_values(value) or value) if has(kind, LIST) else value
        if kind not in ("contains-json", "is-json") and not has(kind, LIST):
            made["value"] = value.strip()
    if has(kind, AT_LEAST):
        default = 0.8 if kind == "similar" else 0.75
        made["threshold"] = default if threshold is None else float(threshold)
    return made


def _number(cell: str) -> float | None:
    text = cell.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def _metadata(name: str, cell: str) -> Iterator[tuple[str, Any]]:
    if not cell.strip():
        return
    if name.endswith("[]"):
        parts = re.split(r"(?<!\\),", cell)
        yield name[:-2], [part.strip().replace("\\,", ",") for part in parts]
    else:
        yield name, cell


def _threshold(column: str, cell: str, path: str, line: int) -> Iterator[tuple[int, float]]:
    match = _THRESHOLDS.fullmatch(column)
    number = _number(cell)
    if match is None or number is None:
        what = f"gatekeeper cannot read the column `{column[:100]}`"
        fix = "name the column `__config:__expected1:threshold` and write a number in each row"
        raise ContractError([Problem(path, what, fix, line)])
    yield int(match[1] or 1) - 1, number
