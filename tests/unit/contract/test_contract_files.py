"""Which files are contracts, and which look like one and are not read."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.changes.affected import every_contract, find_affected
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy, load_policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.errors import ContractError

KNOWN = ("contracts/a.yaml", "contracts/deep/b.yaml")
WIDE = Policy(contracts=("contracts/**/*",))
A_THIRD = edited(contract("c", "/prompts/a.md"), "c.jsonl", "a.jsonl")


@pytest.mark.parametrize(
    ("written", "patterns"),
    [
        ("contracts: a/*.yaml", ("a/*.yaml",)),
        ("contracts: [a/*.yaml, b/*.yml]", ("a/*.yaml", "b/*.yml")),
        ("prompts: []", ("contracts/**/*.yaml", "contracts/**/*.yml")),
    ],
)
def test_the_patterns_are_one_or_a_list(written: str, patterns: tuple[str, ...]) -> None:
    assert load_policy(MemoryRevision({POLICY_PATH: written.encode()})).contracts == patterns


@pytest.mark.parametrize("written", ["contracts: []", "contracts: ['']", "contracts: [1]"])
def test_patterns_that_say_nothing_are_refused(written: str) -> None:
    with pytest.raises(ContractError, match="contracts"):
        load_policy(MemoryRevision({POLICY_PATH: written.encode()}))


def test_both_suffixes_of_yaml_are_contracts() -> None:
    files = revision({**FILES, "contracts/c.yml": A_THIRD})
    assert contract_paths(files, Policy(), SHAPES) == (
        "contracts/a.yaml",
        "contracts/c.yml",
        KNOWN[1],
    )


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"contracts/notes.md": "Notes: [", "contracts/rows.csv": "id\n"},
        {"contracts/unused.jsonl": '{"x": 1}\n{"x": 2}', "contracts/list.json": "[{}]"},
        {"contracts/Makefile": "all:\n\techo", "contracts/picture.png": "\x00"},
    ],
)
def test_a_wide_pattern_reads_no_other_file_as_a_contract(more: dict[str, str]) -> None:
    head = revision({**FILES, **more})
    assert contract_paths(head, WIDE, SHAPES) == KNOWN
    assert [c.name for c in every_contract(head, WIDE, SHAPES).contracts] == ["a", "b"]
    assert find_affected(Change(revision(FILES), head), WIDE, SHAPES).contracts == ()


def test_a_contract_that_another_one_refers_to_is_still_a_contract() -> None:
    """Whatever its suffix: otherwise a reference would take it out of action."""
    rows = edited(FILES[KNOWN[0]], "{file: a.jsonl}", "{file: a.jsonl}, {file: c}")
    head = revision({**FILES, "contracts/c": A_THIRD, KNOWN[0]: rows})
    assert contract_paths(head, WIDE, SHAPES) == (KNOWN[0], "contracts/c", KNOWN[1])


@pytest.mark.parametrize(
    ("policy", "path"),
    [(WIDE, "contracts/c.yml"), (Policy(contracts=("c/*.gate", KNOWN[0])), "c/c.gate")],
)
def test_what_is_meant_as_a_contract_and_cannot_be_read_is_an_error(
    policy: Policy, path: str
) -> None:
    with pytest.raises(ContractError, match=path):
        every_contract(revision({**FILES, path: "contract: ["}), policy, SHAPES)


def test_a_contract_cannot_hide_by_breaking_or_by_becoming_a_fixture_file() -> None:
    base = {**FILES, "contracts/c": A_THIRD}
    taken = edited(FILES[KNOWN[0]], "a.jsonl", "c")
    for change in ({"contracts/c": "contract: ["}, {"contracts/c": "x: 1", KNOWN[0]: taken}):
        head = revision({**base, **change})
        try:
            found = find_affected(Change(revision(base), head), WIDE, SHAPES).contracts
        except ContractError:
            continue  # which is no pass either
        assert "c" in [contract.name for contract in found if contract.head is None]


def test_a_file_that_looks_like_a_contract_is_named() -> None:
    policy = Policy(contracts=("contracts/**/*.yaml",))
    base = revision(FILES)
    head = revision({**FILES, "contracts/c.yml": A_THIRD, "elsewhere/c.yaml": A_THIRD})
    notices = find_affected(Change(base, head), policy, SHAPES).notices
    assert [notice.split("`")[1] for notice in notices] == ["contracts/c.yml", "elsewhere/c.yaml"]
    (told,) = every_contract(head, policy, SHAPES).notices
    assert "contracts/c.yml" in told
    # What was there before concerns nobody who changes something else.
    later = revision({**head_files(head), "README.md": "new"})
    assert find_affected(Change(head, later), policy, SHAPES).notices == ()


def test_a_contract_that_is_moved_out_of_the_patterns_is_named() -> None:
    policy = Policy(contracts=("contracts/**/*.yaml",))
    moved = "services/a/contracts/a.yaml"
    files = {path: text for path, text in FILES.items() if path != KNOWN[0]}
    head = revision({**files, moved: FILES[KNOWN[0]]})
    change = Change(revision(FILES), head, {KNOWN[0]: moved})
    (notice,) = find_affected(change, policy, SHAPES).notices
    assert moved in notice


def head_files(head: MemoryRevision) -> dict[str, str]:
    return {path: data.decode() for path, data in head.files.items()}


def test_other_yaml_is_no_near_miss() -> None:
    more = {
        "contracts/c.yml": "type: object\n",
        "deploy/app.yaml": "contract: 1\n",
        "deploy/b.yaml": "  contract: 1\n  prompt: x\n",
        "big.yaml": "\x00",
    }
    policy = Policy(contracts=("contracts/**/*.yaml",))
    head = revision({**FILES, **more})
    assert find_affected(Change(revision(FILES), head), policy, SHAPES).notices == ()


def test_a_prompt_that_a_wide_pattern_matches_is_still_uncovered() -> None:
    policy = Policy(contracts=("**",), prompts=("prompts/**",))
    head = revision({**FILES, "prompts/new.md": "New {{ x }}"})
    found = find_affected(Change(revision(FILES), head), policy, SHAPES)
    assert found.uncovered == ("prompts/new.md",)
