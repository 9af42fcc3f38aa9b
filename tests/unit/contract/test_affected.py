"""Which contracts a change affects, why, and which it leaves alone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from typing import ClassVar

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, after, contract, revision

from gatekeeper.checks import registry
from gatekeeper.contract.changes.affected import (
    Affected,
    AffectedContract,
    every_contract,
    find_affected,
)
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import AffectedBy, Change, Entry, MemoryRevision
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.contract_reasons import removed_reason


def names(affected: Affected) -> list[str]:
    return [result.name for result in affected.contracts]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"README.md": "x", "src/new.py": "y"}, []),
        ({"prompts/a.md": "A! {{ x }}"}, ["a"]),
        ({"prompts/part.md": "other"}, ["a"]),
        ({"macros.txt": "n"}, ["a"]),
        ({"t.json": '{"type": "string"}'}, ["a", "b"]),
        ({"t.json": "{ }", "s.json": '{ "$ref": "t.json" }'}, []),
        ({"row.json": "true"}, ["b"]),
        ({"contracts/a.jsonl": '{"x": 2}'}, ["a"]),
        ({"contracts/a.jsonl": '{"x":   1}\n'}, []),
        ({"contracts/a.yaml": "# note\n" + contract("a", extra="description: d\n")}, []),
        ({"contracts/a.yaml": contract("a", extra="params: {seed: 1}\n")}, ["a"]),
        (
            {"contracts/c.yaml": contract("c", "/prompts/b.md"), "contracts/c.jsonl": '{"x": 1}'},
            ["c"],
        ),
    ],
)
def test_meaning_in_the_closure_decides(
    changes: dict[str, str | None], expected: list[str]
) -> None:
    affected = after(changes)
    assert names(affected) == expected
    assert affected.unaffected == len(affected.others)
    head_names = {"a", "b"} | ({"c"} if "contracts/c.yaml" in changes else set())
    assert set(affected.others) == head_names - set(expected)


def written(*fixtures: str, checks: str = "[{type: contains, value: a}]") -> dict[str, str]:
    rows = "".join(f"  - {fixture}\n" for fixture in fixtures)
    text = f"contract: 1\nname: c\nprompt: /p.md\nmodel: m\nfixtures:\n{rows}checks: {checks}\n"
    return {"contracts/c.yaml": text, "p.md": "Say {{ x }}"}


def affected_by(base: dict[str, str], head: dict[str, str]) -> Sequence[AffectedContract]:
    change = Change(revision(base), revision(head))
    return find_affected(change, Policy(), registry.SHAPES).contracts


APPLE, BREAD = "{id: apple, vars: {x: apple}}", "{id: bread, vars: {x: bread}, expected: b}"


@pytest.mark.parametrize(
    ("fixtures", "found"),
    [
        pytest.param(["{id: fruit, vars: {x: apple}}", BREAD], [], id="another id"),
        pytest.param([BREAD, "{id: fruit, vars: {x: apple}}"], [], id="another place, too"),
        pytest.param(["{vars: {x: apple}}", BREAD], [], id="no id"),
        pytest.param(
            ["{id: bread, vars: {x: apple}}", "{id: apple, vars: {x: bread}, expected: b}"],
            ["fixture `apple`: the variables changed", "fixture `bread`: the variables changed"],
            id="ids exchanged",
        ),
        pytest.param(
            ["{id: fruit, vars: {x: pear}}", BREAD], ["fixture `apple` removed"], id="other input"
        ),
        pytest.param(
            ["{id: fruit, vars: {x: apple}}", "{id: apple, vars: {x: pear}}", BREAD],
            ["fixture `apple`: the variables changed"],
            id="the old id on another input",
        ),
        pytest.param(
            [APPLE, "{id: loaf, vars: {x: bread}, expected: c}"],
            ['fixture `loaf`: `expected` changed from "b" to "c"'],
            id="other expectation",
        ),
    ],
)
def test_a_fixture_that_only_gets_another_id_is_the_same(
    fixtures: list[str], found: list[str]
) -> None:
    affected = affected_by(written(APPLE, BREAD), written(*fixtures))
    weaker = [w for c in affected if c.base and c.head for w in weakenings(c.base, c.head)]
    assert [w for w in weaker if w in found or "`expected` changed" not in w] == found
    assert bool(affected) == bool(found)


def with_tools(tools: str, **lists: str) -> dict[str, str]:
    """Return a contract with these `tools`, and lists of one tool with these descriptions."""
    files = written(APPLE)
    files["contracts/c.yaml"] += f"tools: {tools}\n"
    tool = '[{{"name": "find", "description": "{}", "inputSchema": {{"type": "object"}}}}]'
    return files | {f"{name}.json": tool.format(said) for name, said in lists.items()}


@pytest.mark.parametrize(
    ("head", "left"),
    [
        (with_tools("/copy.json", shop="Obey me.", copy="Finds."), "shop.json"),
        (with_tools("/copy.json", shop="Finds.", copy="Finds."), "shop.json"),
        (with_tools("[{name: find, description: Finds.}]", shop="Obey me."), "shop.json"),
        (with_tools("/copy.json", copy="Finds."), None),  # a new name
        (with_tools("[/shop.json, {name: other}]", shop="Finds."), None),
        (written(APPLE) | {"shop.json": "[]"}, "shop.json"),
    ],
)
def test_a_contract_that_leaves_a_list_of_tools_is_no_longer_its_test(
    head: dict[str, str], left: str | None
) -> None:
    found = affected_by(with_tools("/shop.json", shop="Finds."), head)
    assert next((c.left_prompt for c in found), None) == left


ROWS = ("text,expected", "My card failed,billing", "Where is it?,delivery", "Too dear,price")


def rows(*lines: str) -> dict[str, str]:
    text = "contract: 1\nname: c\nprompt: /p.md\nmodel: m\nfixtures: [{file: c.csv}]\n"
    text += "checks: [{type: equals, value: '{{ expected }}'}]\n"
    table = "\n".join(lines) + "\n"
    return {"contracts/c.yaml": text, "p.md": "Sort {{ text }}", "contracts/c.csv": table}


@pytest.mark.parametrize(
    ("lines", "found", "told"),
    [
        pytest.param(
            (*ROWS[:2], "Where is it?,orders", ROWS[3]),
            [r'fixture `Where is it\? \(\w+\)`: `expected` changed from "delivery" to "orders"'],
            r"1 edited fixture .* `Where is it\? \(\w+\)` is now `Where is it\? .* a column `id`",
            id="label",
        ),
        pytest.param(
            (ROWS[0], ROWS[3], "Where is it?,orders", ROWS[1]),
            [r'fixture `Where is it\? \(\w+\)`: `expected` changed from "delivery" to "orders"'],
            "1 edited fixture",
            id="label, in another order",
        ),
        pytest.param(
            (ROWS[0], "My card was refused,billing", *ROWS[2:], "New one,price"),
            [r"fixture `My card was refused \(\w+\)`: the variables changed"],
            "`My card failed .* is now `My card was refused",
            id="text, with a new row",
        ),
        pytest.param(
            (*ROWS[:2], "Where is my parcel?,orders", "Too expensive,price"),
            [
                r"fixture `Where is my parcel\? \(\w+\)`: the variables changed",
                r'fixture `Where is my parcel\? \(\w+\)`: `expected` changed from "delivery" to "orders"',  # noqa: E501
                r"fixture `Too expensive \(\w+\)`: the variables changed",
            ],
            "2 edited fixtures",
            id="two neighbours",
        ),
        pytest.param(
            (*ROWS[:2], ROWS[3]), [r"fixture `Where is it\? \(\w+\)` removed"], "", id="removed"
        ),
        pytest.param(
            (*ROWS[:2], "One,price", "Two,price", ROWS[3]),
            [r"fixture `Where is it\? \(\w+\)` removed"],
            "",
            id="one for two",
        ),
        pytest.param(
            ("id,text,expected", *(f"r{at},{row}" for at, row in enumerate(ROWS[1:]))),
            [],
            "",
            id="a column of ids",
        ),
    ],
)
def test_an_edited_row_without_an_id_is_the_same_row(
    lines: tuple[str, ...], found: list[str], told: str
) -> None:
    change = Change(revision(rows(*ROWS)), revision(rows(*lines)))
    affected = find_affected(change, Policy(), registry.SHAPES)
    weaker = [
        w for c in affected.contracts if c.base and c.head for w in weakenings(c.base, c.head)
    ]
    assert len(weaker) == len(found)
    for sentence, pattern in zip(weaker, found, strict=True):
        assert re.fullmatch(pattern, sentence)
    assert re.search(told, "".join(affected.notices)) if told else affected.notices == ()


def test_a_worse_prompt_is_compared_on_fixtures_with_other_ids() -> None:
    head = written("{id: fruit, vars: {x: apple}}", "{id: loaf, vars: {x: bread}, expected: b}")
    head["p.md"] = "Do not say {{ x }}"
    (one,) = affected_by(written(APPLE, BREAD), head)
    assert one.base
    assert one.head
    assert [f.id for f in one.base.fixtures] == [f.id for f in one.head.fixtures]
    assert weakenings(one.base, one.head) == ()


def test_contracts_that_exchange_their_files_are_told_by_their_names() -> None:
    """Each head contract is compared with the base contract of its name, not of its path."""
    swapped = {
        "contracts/a.yaml": edited(contract("b", "/prompts/b.md"), "b.jsonl", "deep/b.jsonl"),
        "contracts/deep/b.yaml": edited(
            contract("a", "/prompts/a.md"), "a.jsonl", "/contracts/a.jsonl"
        ),
        "prompts/a.md": "A! {{ x }}",
        "prompts/b.md": "B! {{ x }}",
    }
    found = after(swapped)
    assert sorted(names(found)) == ["a", "b"]
    for result in found.contracts:
        assert result.base is not None
        assert result.base.name == result.name
        assert result.base.target.prompt.path == f"prompts/{result.name}.md"
    assert found.notices == ()


def test_reasons_are_the_paths_that_changed_in_meaning() -> None:
    (result,) = after({"prompts/part.md": "other", "contracts/a.jsonl": '{"x":  1}'}).contracts
    assert result.affected_by == (AffectedBy("prompts/part.md", "modified"),)
    assert result.base is not None
    assert result.head is not None
    assert result.prompt_still_there


def test_a_new_contract_has_no_base() -> None:
    new = {"contracts/c.yaml": contract("c"), "contracts/c.jsonl": '{"x": 1}', "prompts/c.md": "c"}
    (result,) = after({**new}).contracts
    assert (result.name, result.base) == ("c", None)
    assert {(a.path, a.change) for a in result.affected_by} == {(path, "added") for path in new}


def test_a_removed_contract_says_whether_its_prompt_stays() -> None:
    (result,) = after({"contracts/a.yaml": None}).contracts
    assert (result.head, result.prompt_still_there) == (None, True)
    assert result.base is not None
    assert result.affected_by == (AffectedBy("contracts/a.yaml", "deleted"),)
    (gone,) = after({"contracts/a.yaml": None, "prompts/a.md": None}).contracts
    assert not gone.prompt_still_there
    moved = {"contracts/a.yaml": None, "prompts/a.md": None, "prompts/z.md": FILES["prompts/a.md"]}
    (kept,) = after({**moved}, {"prompts/a.md": "prompts/z.md"}).contracts
    assert kept.prompt_still_there


SECOND = {"contracts/two.yaml": contract("two", "/prompts/a.md"), "contracts/two.jsonl": '{"x": 1}'}
STEPS = """\
contract: 1
name: two
steps: [{name: first, prompt: /prompts/a.md}]
prompt: /prompts/b.md
model: m
fixtures: [{vars: {x: 1}}]
checks: [{type: equals, value: 1}]
"""


@pytest.mark.parametrize(
    ("others", "removed", "said"),
    [
        pytest.param(SECOND, {}, "only two would test the prompt", id="one more"),
        pytest.param(
            SECOND | {"contracts/d.yaml": SECOND["contracts/two.yaml"].replace("two", "three")},
            {},
            "only three, two would test the prompt",
            id="two more",
        ),
        pytest.param({"contracts/two.yaml": STEPS}, {}, "only two would test", id="as a step"),
        pytest.param({}, {}, "no contract would test the prompt", id="none"),
        pytest.param(
            SECOND, {"contracts/two.yaml": None}, "no contract would test the prompt", id="both"
        ),
    ],
)
def test_a_removed_contract_says_who_still_tests_its_prompt(others, removed, said) -> None:
    base = {**FILES, **others}
    base |= {"contracts/three.jsonl": '{"x": 1}'} if "contracts/d.yaml" in others else {}
    gone = {"contracts/a.yaml": None, **removed}
    head = {path: text for path, text in base.items() if path not in gone}
    affected = find_affected(Change(revision(base), revision(head)), Policy(), SHAPES)
    reasons = {c.name: removed_reason(c, Policy()) for c in affected.contracts if c.head is None}
    assert reasons.keys() == ({"a", "two"} if removed else {"a"})
    assert (reasons["a"].code, reasons["a"].verdict) == ("removed", "fail")
    assert said in reasons["a"].text


def test_a_removed_contract_whose_prompt_moved_says_who_tests_it_there() -> None:
    base = {**FILES, **SECOND}
    moved = {"contracts/two.yaml": contract("two", "/prompts/z.md")}
    head = {**base, **moved, "prompts/z.md": base["prompts/a.md"]}
    del head["contracts/a.yaml"], head["prompts/a.md"]
    change = Change(revision(base), revision(head), {"prompts/a.md": "prompts/z.md"})
    (gone,) = (c for c in find_affected(change, Policy(), SHAPES).contracts if c.head is None)
    assert gone.also_tested_by == ("two",)


def test_a_removed_contract_that_never_loaded() -> None:
    base = {
        **FILES,
        "contracts/a.yaml": contract("a", extra="oops: 1\n"),
        "contracts/x.yaml": "a: [",
    }
    head = {path: text for path, text in FILES.items() if path != "contracts/a.yaml"}
    affected = find_affected(Change(revision(base), revision(head)), Policy(), SHAPES)
    (result,) = affected.contracts
    assert (result.name, result.base, result.head, result.prompt_still_there) == (
        "a",
        None,
        None,
        True,
    )


def test_moves_alone_run_nothing() -> None:
    moved = {
        "contracts/a.yaml": None,
        "contracts/new/a.yaml": edited(contract("a", "/prompts/n.md"), "a.jsonl", "../a.jsonl"),
        "prompts/a.md": None,
        "prompts/n.md": FILES["prompts/a.md"],
    }
    renames = {"contracts/a.yaml": "contracts/new/a.yaml", "prompts/a.md": "prompts/n.md"}
    affected = after({**moved}, renames)
    assert (names(affected), affected.others) == ([], ("a", "b"))
    changed = after({**moved, "prompts/n.md": "N {{ x }}"}, renames)
    assert changed.contracts[0].affected_by[-1] == AffectedBy("prompts/n.md", "renamed")
    assert changed.contracts[0].base is not None


def test_another_prompt_that_was_there_already_is_a_change_of_the_contract() -> None:
    (result,) = after({"contracts/a.yaml": contract("a", "../prompts/b.md")}).contracts
    assert result.affected_by == (AffectedBy("contracts/a.yaml", "modified"),)


def test_a_new_name_for_the_same_prompt_is_the_same_contract() -> None:
    text = edited(contract("a", extra="params: {seed: 1}\n"), "name: a", "name: z")
    affected = after({"contracts/a.yaml": text})
    (result,) = affected.contracts
    assert (result.name, result.base and result.base.name) == ("z", "a")
    assert "is now called z" in affected.notices[0]
    other = edited(contract("a", "../prompts/b.md"), "name: a", "name: z")
    assert [(r.name, r.head is None) for r in after({"contracts/a.yaml": other}).contracts] == [
        ("a", True),
        ("z", False),
    ]


def test_a_contract_broken_at_base_alone_is_new_with_a_notice() -> None:
    for broken in (contract("a", extra="oops: 1\n"), "a: ["):
        base = revision({**FILES, "contracts/a.yaml": broken})
        affected = find_affected(Change(base, revision(FILES)), Policy(), SHAPES)
        (result,) = affected.contracts
        assert (result.name, result.base) == ("a", None)
        assert "cannot load the base version" in affected.notices[0]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"contracts/a.yaml": "a: ["}, "contracts/a.yaml:2"),
        ({"prompts/a.md": None}, "there is no file `prompts/a.md`"),
        ({"prompts/part.md": None}, "there is no file `prompts/part.md`"),
        ({"contracts/z.yaml": contract("a")}, "`contracts/a.yaml` already has the name `a`"),
        ({"contracts/z.yaml": "x: 1"}, "`contract` is missing"),
        ({"contracts/z.yaml": "- x"}, "is not a mapping"),
        (
            {
                "contracts/deep/b.jsonl": '{"x": 1, "checks": [{"type": "json_schema", "schema": "../../../r"}]}'  # noqa: E501
            },
            "outside",
        ),
    ],
)
def test_what_is_broken_at_head_is_an_error(changes: dict[str, str | None], what: str) -> None:
    with pytest.raises(ContractError) as caught:
        after(changes)
    assert what in str(caught.value)


BROKEN = (
    "a: [",
    "- a",
    contract("a", extra="colour: red\n"),
    edited(contract("a"), "prompt:", "promt:"),
    edited(contract("a"), "../prompts/a.md", "../prompts/gone.md"),
    edited(contract("a"), "a.jsonl", "gone.jsonl"),
)
"""Texts of contracts/a.yaml with a mistake; three of them hide what the contract depends on."""


@pytest.mark.parametrize("text", BROKEN)
def test_a_contract_that_was_broken_before_stops_no_other(text: str) -> None:
    files = {**FILES, "contracts/a.yaml": text}
    head = {**files, "prompts/b.md": "B! {{ x }}"}
    affected = find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)
    assert names(affected) == ["b"]
    # The third mistake shows only to a reader of the whole contract, and nothing asks for one.
    named = any("contracts/a.yaml" in note for note in affected.notices)
    assert named == (text != BROKEN[2])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (BROKEN[2], "prompts/a.md"),
        (BROKEN[2], "contracts/a.jsonl"),
        (BROKEN[3], "prompts/a.md"),
        (BROKEN[3], "contracts/a.jsonl"),
        (BROKEN[4], "contracts/a.jsonl"),
        (BROKEN[5], "prompts/a.md"),
        ("prompt: ../prompts/a.md\nname: [", "prompts/a.md"),
        ("- prompt: ../prompts/a.md", "prompts/a.md"),
        (BROKEN[4], "prompts/a.md"),  # it names another file, which does not exist
        ("a: [", "prompts/a.md"),
    ],
)
def test_what_a_contract_that_was_broken_before_names_is_not_tested(
    text: str, changed: str
) -> None:
    files = {**FILES, "contracts/a.yaml": text}
    new = {"prompts/a.md": "A! {{ x }}", "contracts/a.jsonl": '{"x": 2}'}[changed]
    head = {**files, changed: new, "prompts/b.md": "B! {{ x }}"}
    affected = find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)
    (broken,) = [result for result in affected.contracts if result.head is None]
    assert broken.name in ("a", "contracts-a.yaml")
    assert "b" in names(affected)
    reason = removed_reason(broken, Policy())
    assert (reason.code, reason.verdict) == ("error", "inconclusive")
    assert changed in reason.text


@pytest.mark.parametrize("name", ["my prompt.md", "a #1.md", "[a] b.md"])
def test_a_broken_contract_may_name_a_prompt_with_spaces(name: str) -> None:
    files = {**FILES, "contracts/a.yaml": f'prompt: "../src/{name}\n', f"src/{name}": "A {{ x }}"}
    head = {**files, f"src/{name}": "A! {{ x }}"}
    affected = find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)
    (broken,) = affected.contracts
    assert f"src/{name}" in removed_reason(broken, Policy()).text


@pytest.mark.parametrize("added", ["a", "notes/other.md", "lib/b.py", "contracts/new.jsonl"])
@pytest.mark.parametrize("text", BROKEN)
def test_a_file_that_is_no_prompt_does_not_concern_a_broken_contract(text: str, added: str) -> None:
    files = {**FILES, "contracts/a.yaml": text}
    head = {**files, added: "A text of several words."}
    affected = find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)
    assert names(affected) == []


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("note", ["# mended?\n", "\n"])
def test_who_edits_a_broken_contract_is_told(text: str, note: str) -> None:
    files = {**FILES, "contracts/a.yaml": text}
    head = {**files, "contracts/a.yaml": note + text}
    with pytest.raises(ContractError):
        find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)


def test_a_contract_that_the_change_broke_by_another_file_is_an_error() -> None:
    head = {path: text for path, text in FILES.items() if path != "contracts/a.jsonl"}
    with pytest.raises(ContractError, match=r"a\.jsonl"):
        find_affected(Change(revision(FILES), revision(head)), Policy(), SHAPES)


def test_uncovered_prompts_are_the_changed_ones_that_nobody_refers_to() -> None:
    changes = {
        "prompts/new.md": "n",
        "prompts/part.md": "p",
        "prompts/x/y.txt": "z",
        "other/n.md": "n",
    }
    assert after({**changes}).uncovered == ("prompts/new.md", "prompts/x/y.txt")
    assert after({**changes}, prompts=("other/*",)).uncovered == ("other/n.md",)
    removed = after({"contracts/a.yaml": None, "prompts/a.md": "changed"})
    assert removed.uncovered == ("prompts/a.md",)
    base = {**FILES, "prompts/old.md": "o"}
    head = {**FILES, "prompts/moved.md": "o"}
    change = Change(revision(base), revision(head), {"prompts/old.md": "prompts/moved.md"})
    assert find_affected(change, Policy(), SHAPES).uncovered == ()


def test_a_pattern_of_code_means_only_files_that_hold_a_text() -> None:
    changes = {
        "src/math.ts": "export const add = (a: number) => a + 1; // adds one to a number\n",
        "src/notice.ts": "export const NOTICE = `Be kind to each person.`;\n",
        "src/sum.py": '"""Adds two numbers, as they are given."""\nx = 1\n',
    }
    assert after({**changes}, prompts=("src/*",)).uncovered == ("src/notice.ts",)
    named = after({**changes}, prompts=("src/math.ts", "src/*.py"))
    assert named.uncovered == ("src/math.ts",)


def test_links_are_no_uncovered_prompts() -> None:
    class Linked(MemoryRevision):
        entries: ClassVar = {**revision(FILES).entries, "prompts/l.md": Entry("1", "symlink")}  # type: ignore[assignment]

    head = Linked(revision(FILES).files)
    assert find_affected(Change(revision(FILES), head), Policy(), SHAPES).uncovered == ()


def test_files_that_contracts_refer_to_are_no_contracts() -> None:
    files = {
        **FILES,
        "contracts/a.yaml": edited(contract("a"), "a.jsonl", "rows.yaml", "/s.json", "s.yaml"),
        "contracts/rows.yaml": "- x: 1\n",
        "contracts/s.yaml": "type: string\n",
    }
    known = ("contracts/a.yaml", "contracts/deep/b.yaml")
    assert contract_paths(revision(files), Policy(), SHAPES) == known
    assert contract_paths(revision(FILES), Policy(contracts=("contracts/*.yaml",))) == known[:1]
    head = {**files, "contracts/rows.yaml": "- x: 2\n"}
    affected = find_affected(Change(revision(files), revision(head)), Policy(), SHAPES)
    assert names(affected) == ["a"]
    assert affected.contracts[0].head is not None


def test_every_contract_of_one_revision() -> None:
    suite = every_contract(revision(FILES), Policy(), SHAPES)
    assert [(c.name, c.base) for c in suite.contracts] == [("a", None), ("b", None)]
    with pytest.raises(ContractError, match="already has the name"):
        every_contract(
            revision({**FILES, "contracts/z.yaml": FILES["contracts/a.yaml"]}), Policy(), SHAPES
        )
    with pytest.raises(ContractError, match="not YAML"):
        every_contract(revision({**FILES, "contracts/z.yaml": "a: ["}), Policy(), SHAPES)


def test_nothing_heavy_is_imported_where_nothing_is_affected() -> None:
    files = {**FILES, "prompts/a.md": "{% if x %}A {{ x }}{% endif %}"}
    code = (
        "import sys; from gatekeeper.contract.values.change import *;"
        "from gatekeeper.contract.changes.affected import *;"
        "from gatekeeper.contract.policies.policy import Policy;"
        f"r = MemoryRevision({ {path: text.encode() for path, text in files.items()}!r});"
        "h = MemoryRevision({**r.files, 'README.md': b'new'});"
        "a = find_affected(Change(r, h), Policy(), {});"
        "assert a.unaffected == 2, a;"
        "sys.exit(bool({'jsonschema', 'jinja2', 'scipy', 'litellm', 'git'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("reference", ["../../x.json", "https://x.org/s.json", "gone.json"])
def test_a_reference_that_leads_nowhere_is_an_error_wherever_it_stands(reference: str) -> None:
    with pytest.raises(ContractError):
        after({"t.json": f'{{"$ref": "{reference}"}}'})
    with pytest.raises(ContractError):
        after({"contracts/a.yaml": edited(contract("a"), "/s.json", f"'{reference}'")})
