"""Reads the tests of a promptfoo file: `tests`, `scenarios` and `defaultTest`, merged as there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.formats.promptfoo.csv_tests import misspelt_type
from gatekeeper.contract.formats.promptfoo.keys import note_keys, note_keys_of_assertion
from gatekeeper.contract.formats.promptfoo.nodes import Node, Notes, root_of
from gatekeeper.contract.formats.promptfoo.sources import (
    FILE,
    CannotRunError,
    Sources,
    is_program,
)
from gatekeeper.contract.formats.promptfoo.variables import names_in
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES


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
    yield from node.list()


def _variables(sources: Sources, part: Node) -> dict[str, Node]:
    node = part.child("vars")
    if isinstance(node.value, dict):
        return dict(node.items())
    references = [node] if isinstance(node.value, str) else list(node.list())
    found: dict[str, Node] = {}
    for reference in references:
        if not isinstance(reference.value, str):
            raise node.problem("`vars` is not a mapping", "write `{name: value}`")
        for path in sources.find(reference, reference.value, part.document.path):
            whole = root_of(sources.document(reference, path))
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
        found.append(Case(root.child("defaultTest"), (default, Node(root.document, (), {}))))
    for case in found:
        for part in case.parts:
            _name_unknown(part, notes)
        if case.node.document.path.lower().endswith(".csv"):
            _name_misspelt_types(case.node, notes)
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
            why = "the value has the answer of another test, which gatekeeper does not store"
            notes.add(used[0].not_run("vars", why))
        else:
            kept.append(case)
    return kept if stored else cases


def _require_few(root: Node, found: list[Case]) -> None:
    if len(found) > MOST_FIXTURES:
        what = f"the file has more than {MOST_FIXTURES:,} tests"
        raise root.child("tests").problem(what, "keep fewer tests")


def default_test(sources: Sources, root: Node) -> Node:
    """Return `defaultTest`, which may be a file; an empty mapping if there is none."""
    node = root.child("defaultTest")
    if isinstance(node.value, str) and node.value.startswith(FILE):
        return root_of(sources.document(node, node.value))
    if node.value is None:
        return Node(root.document, node.key, {})
    if not isinstance(node.value, dict):
        raise node.problem(
            "`defaultTest` is not a mapping", ("write `assert:` or `vars:` in `defaultTest`")
        )
    return node


def _tests(sources: Sources, node: Node, notes: Notes, base: str | None = None) -> Iterator[Node]:
    """Yield the tests of a list, with those of the files that it names."""
    whole = isinstance(node.value, str | dict)
    for item in [node] if whole else node.list():
        reference = item.get("path") if isinstance(item.value, dict) else item.value
        try:
            if isinstance(reference, str):
                note_keys(item, "tests of a file", notes)
                yield from sources.cases(item, reference, base)
            elif isinstance(item.value, dict):
                yield item
            else:
                fix = "write `vars:` and `assert:`, or the path of a file"
                raise item.problem("a test is not a mapping", fix)
        except CannotRunError as error:
            notes.add(error.note)


def _scenario(sources: Sources, scenario: Node, default: Node, notes: Notes) -> Iterator[Case]:
    if not isinstance(scenario.value, dict):
        raise scenario.problem("a scenario is not a mapping", "write `config:` and `tests:`")
    note_keys(scenario, "scenario", notes)
    tests = list(_tests(sources, scenario.child("tests"), notes))
    if scenario.get("tests") is None:
        tests = [Node(scenario.document, scenario.key, {})]
    settings = list(_listed(sources, scenario.child("config")))
    if len(settings) * len(tests) > MOST_FIXTURES:
        what = f"the scenario makes {len(settings) * len(tests):,} tests"
        raise scenario.problem(what, f"keep at most {MOST_FIXTURES:,} tests")
    for data in settings:
        for test in tests:
            yield Case(test, (default, data, test))


def _listed(sources: Sources, node: Node) -> Iterator[Node]:
    """Yield the items of a list, with those of the files that it names."""
    for item in [node] if isinstance(node.value, str) else node.list():
        if not isinstance(item.value, str):
            yield item
            continue
        if is_program(item.value):
            fix = "write the values into a data file"
            raise item.problem(f"gatekeeper does not run the program `{item.value[:100]}`", fix)
        for path in sources.find(item, item.value):
            whole = root_of(sources.document(item, path))
            yield from whole.list() if isinstance(whole.value, list) else (whole,)


def _name_unknown(part: Node, notes: Notes) -> None:
    note_keys(part, "test", notes)
    options = part.child("options")
    note_keys(options, "options", notes)
    note_keys(options.child("provider"), "grader", notes)
    for node in _assertions(part):
        note_keys_of_assertion(node, notes)


def _name_misspelt_types(row: Node, notes: Notes) -> None:
    """Name the cells of a CSV row that are compared as a whole and likely mean another check."""
    for node in row.child("assert").list():
        value = node.get("value")
        if node.get("type") != "equals" or not isinstance(value, str):
            continue
        found = misspelt_type(value)
        if found is not None:
            written, other = found
            why = (
                "this is not an assertion type, so the whole cell is the expected text; "
                f"did you mean `{other}`?"
            )
            notes.add(node.not_run(written, why))


def category_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the category that the metadata names, if it is a short text."""
    category = metadata.get("category")
    short = isinstance(category, str) and 0 < len(category) <= 200 and category.isprintable()
    return category if short and str(category).strip() else None
