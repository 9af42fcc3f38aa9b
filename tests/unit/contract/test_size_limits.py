"""Hard bounds: what multiplies is counted while it is read, and refused before it is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import every_contract, find_affected
from gatekeeper.contract.fixtures.fixtures import MOST_PROBLEMS, read_rows
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading import size_limits as sizes
from gatekeeper.contract.reading.size_limits import Tally, require_few_trials
from gatekeeper.contract.syntax import json_positions
from gatekeeper.contract.syntax import yaml_positions as positions
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.tools import Tools
from gatekeeper.errors import ContractError, Problem

PATH = "contracts/c.yaml"
CHECK = "  - {type: contains, value: a}\n"


def text(fixtures: str = "[{file: f.jsonl}]", checks: int = 1, samples: int = 1) -> str:
    named = "".join(f"  - {{type: contains, name: c{n}, value: a}}\n" for n in range(checks))
    return (
        "contract: 1\nname: c\nprompt: ../prompts/p.md\nmodel: openai/a\n"
        f"fixtures: {fixtures}\nchecks:\n{named}sampling: {{samples: {samples}}}\n"
    )


def rows(count: int, first: int = 0) -> str:
    return "".join(f'{{"word": {n}}}\n' for n in range(first, first + count))


def revision(contract: str, **files: str) -> MemoryRevision:
    named = {f"contracts/{name.replace('_', '.')}": content for name, content in files.items()}
    each = {PATH: contract, "prompts/p.md": "Say {{ word }}.", **named}
    return MemoryRevision({path: content.encode() for path, content in each.items()})


def load(contract: str, **files: str) -> Contract:
    return load_contract(revision(contract, **files), PATH, SHAPES)


def refused(contract: str, **files: str) -> Problem:
    with pytest.raises(ContractError) as caught:
        load(contract, **files)
    (problem,) = caught.value.problems
    return problem


TWO_FILES = "[{file: f.jsonl}, {file: g.jsonl}]"
INLINE = "[{vars: {word: x}}, {vars: {word: y}}, {file: f.jsonl}]"


@pytest.mark.parametrize(
    ("fixtures", "files", "field"),
    [
        ("[{file: f.jsonl}]", {"f_jsonl": rows(11)}, "fixtures[0].file"),
        (TWO_FILES, {"f_jsonl": rows(6), "g_jsonl": rows(5, 6)}, "fixtures[1].file"),
        (INLINE, {"f_jsonl": rows(9)}, "fixtures[2].file"),
        ("[{file: f.csv}]", {"f_csv": "word\n" + "a\n" * 11}, "fixtures[0].file"),
        ("[{file: f.json}]", {"f_json": json.dumps([{"word": n} for n in range(11)])}, None),
    ],
)
def test_more_fixtures_than_the_bound_are_refused_where_they_are_named(
    fixtures: str, files: dict[str, str], field: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURES", 10)
    problem = refused(text(fixtures), **files)
    assert (problem.path, problem.line) == (PATH, 5)
    assert problem.field == (field or "fixtures[0].file")
    assert problem.fix


def test_as_many_fixtures_as_the_bound_are_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURES", 10)
    assert len(load(text(TWO_FILES), f_jsonl=rows(5), g_jsonl=rows(5, 5)).fixtures) == 10


def test_reading_ends_at_the_bound() -> None:
    """What comes behind it is not even looked at."""
    assert len(read_rows(rows(5) + "broken\n", "f.jsonl", 4)) == 5
    assert len(read_rows("word\n" + "a\n" * 5 + '"broken\n', "f.csv", 4)) == 5
    with pytest.raises(ContractError):
        read_rows(rows(5) + "broken\n", "f.jsonl")


def test_of_a_file_of_broken_lines_a_hundred_are_named() -> None:
    with pytest.raises(ContractError) as caught:
        read_rows("broken\n" * 1_000, "f.jsonl")
    assert len(caught.value.problems) == MOST_PROBLEMS


def test_after_the_bound_no_further_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURES", 10)
    assert "50" not in refused(text(TWO_FILES), f_jsonl=rows(11), g_jsonl="broken").what


@pytest.mark.parametrize("own", [False, True])
def test_fixtures_times_checks_are_counted_before_checks_are_made(
    own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_APPLIED", 100)
    line = json.dumps({"vars": {"word": "a"}, "checks": [{"type": "unknown"}] * (9 if own else 0)})
    lines = "".join(f"{line}\n" for _ in range(11))
    problem = refused(text(checks=1 if own else 10), f_jsonl=lines)
    assert (problem.path, problem.field) == (PATH, "fixtures[0].file")


def test_a_list_of_checks_has_a_bound() -> None:
    problem = refused(text(checks=sizes.MOST_CHECKS + 1), f_jsonl=rows(1))
    assert (problem.path, problem.field) == (PATH, "checks")
    assert len(load(text(checks=sizes.MOST_CHECKS), f_jsonl=rows(1)).checks) == sizes.MOST_CHECKS


def test_fixture_files_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURE_FILES", 1)
    monkeypatch.setattr("gatekeeper.contract.files.references.MOST_FIXTURE_FILES", 1)
    assert refused(text(TWO_FILES), f_jsonl=rows(1), g_jsonl=rows(1, 1)).field == "fixtures[1].file"
    made = revision(text(TWO_FILES), f_jsonl=rows(1), g_jsonl=rows(1, 1))
    with pytest.raises(ContractError):
        every_contract(made, Policy(), SHAPES)


def test_their_text_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_FIXTURE_TEXT", 100)
    assert refused(text(), f_jsonl=rows(1) + " " * 100).field == "fixtures[0].file"


@pytest.mark.parametrize("side", ["base", "head"])
def test_contracts_have_a_bound_at_base_and_head(
    side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MOST_CONTRACTS", 3)
    few = revision(text(), f_jsonl=rows(1))
    more = {f"contracts/c{n}.yaml": edited(text(), "name: c", f"name: c{n}") for n in range(4)}
    many = revision(
        text(), f_jsonl=rows(1), **{p[10:].replace(".", "_"): t for p, t in more.items()}
    )
    change = Change(many, few) if side == "base" else Change(few, many)
    with pytest.raises(ContractError) as caught:
        find_affected(change, Policy(), SHAPES)
    assert [problem.field for problem in caught.value.problems] == ["contracts"]


def test_trials_of_a_run_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST_TRIALS", 100)
    contract = load(text(samples=10), f_jsonl=rows(5))
    require_few_trials([(contract, 2)])
    require_few_trials([(contract, 1), (contract, 1)])
    looped = replace(contract, tools=Tools(max_steps=2))
    require_few_trials([(looped, 1)])
    with pytest.raises(ContractError):
        require_few_trials([(looped, 2)])
    talking = tuple(replace(fixture, turns=("And?",)) for fixture in contract.fixtures)
    with pytest.raises(ContractError):
        require_few_trials([(replace(looped, fixtures=talking), 1)])
    for counted in ([(contract, 3)], [(contract, 2), (contract, 1)]):
        with pytest.raises(ContractError) as caught:
            require_few_trials(counted)
        assert [(p.path, p.field) for p in caught.value.problems] == [(PATH, "sampling.samples")]


def test_an_honest_large_suite_is_within_all_bounds() -> None:
    """10,000 fixtures x 10 samples x 20 checks, evaluated by base and head on both arms."""
    contract = load(text(checks=20, samples=10), f_jsonl=rows(10_000))
    require_few_trials([(contract, 2), (contract, 2)])


@pytest.mark.parametrize(
    "write",
    [
        lambda n: "- a\n" * n,
        lambda n: "[" + "a," * n + "]",
        lambda n: "- - " * 3 + "a\n" + "- - - a\n" * (n // 3),
        lambda n: "".join(f"k{i}: v\n" for i in range(n)),
        lambda n: "? a\n" * n,
    ],
    ids=["list", "flow", "nested", "mapping", "keys"],
)
def test_yaml_of_many_values_is_refused_before_it_is_composed(
    write: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "MAX_VALUES", 100)
    monkeypatch.setattr("yaml.compose", lambda *_, **__: pytest.fail("composed"))
    with pytest.raises(ContractError) as caught:
        positions.parse_yaml(write(300), "a.yaml")
    assert caught.value.problems[0].line is not None


def test_yaml_of_many_commas_and_few_values_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_VALUES", 100)
    assert len(positions.parse_yaml("a: |\n" + "  so, so: so\n" * 500, "a.yaml").data["a"]) == 5_500


def test_json_of_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_positions, "MOST_VALUES", 100)
    assert len(positions.parse_json("[" + "1," * 98 + "1]", "a.json").data) == 99
    with pytest.raises(ContractError) as caught:
        positions.parse_json("[" + "1," * 99 + "1]", "a.json")
    assert caught.value.problems[0].line == 1


def test_thousands_of_equal_rows_are_numbered() -> None:
    made = load(text(), f_jsonl='{"word": 1}\n' * 20_000)
    stem = made.fixtures[0].id
    assert [f.id for f in made.fixtures[1:4]] == [f"{stem}-2", f"{stem}-3", f"{stem}-4"]
    assert len({fixture.id for fixture in made.fixtures}) == 20_000
    taken = json.dumps({"id": f"{stem}-2", "vars": {"word": 2}})
    again = load(text(), f_jsonl='{"word": 1}\n' * 3 + taken + "\n")
    assert [f.id for f in again.fixtures] == [stem, f"{stem}-3", f"{stem}-4", f"{stem}-2"]


def test_a_tally_says_how_many_may_come() -> None:
    tally = Tally(positions.Document(PATH, {}), 1)
    tally.add(10, 0, ())
    assert tally.left == sizes.MOST_FIXTURES - 10
    assert not tally.exceeded
