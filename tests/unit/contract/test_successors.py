"""Which files may take the place of a prompt that is gone, whatever git calls its new name."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.two_contracts import SHAPES, contract, revision

from gatekeeper.contract.changes import successors
from gatekeeper.contract.changes.affected import AffectedContract, find_affected
from gatekeeper.contract.changes.new_contracts import hold_new_contracts
from gatekeeper.contract.changes.successors import Words
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change

RULES = "".join(f"Rule {n}: be precise about item {n} of {{{{ x }}}}.\n" for n in range(12))
GOOD = f"Classify the text as positive or negative.\n{RULES}"
WORSE = edited(GOOD, "Classify", "Do not classify")
UNLIKE = "Translate {{ x }} for our guests from abroad and sign with the name of the hotel.\n"
ROW = '{"x": 1}'
BASE = {
    "contracts/a.yaml": contract("a"),
    "contracts/a.jsonl": ROW,
    "prompts/a.md": GOOD,
    "s.json": "{}",
    "t.json": "{}",
}
FOLLOWS = {
    "contracts/a.yaml": contract("a", "../prompts/c.md"),
    "prompts/a.md": None,
    "prompts/c.md": GOOD,
}
TINY = {"contracts/n.yaml": contract("n", "../prompts/n.md"), "contracts/n.jsonl": ROW}


def between(
    changes: dict[str, str | None],
    base: dict[str, str] = BASE,
    new_name: str | None = "prompts/c.md",
) -> dict[str, AffectedContract]:
    head = {path: text for path, text in {**base, **changes}.items() if text is not None}
    renames = {"prompts/a.md": new_name} if new_name else {}
    change = Change(revision(base), revision(head), renames)
    held = hold_new_contracts(find_affected(change, Policy(), SHAPES), change, Policy())
    return {found.name: found for found in held.contracts}


def successors_of(changes: dict[str, str | None], **more) -> tuple[str, ...]:
    found = between({**FOLLOWS, **changes}, **more).get("a")
    return found.successors if found else ()


ATTACKS = {
    "a new contract watches it": ({**TINY, "prompts/n.md": WORSE}, "prompts/n.md"),
    "no contract watches it": ({"prompts/n.md": WORSE}, "prompts/n.md"),
    "outside of the prompts": ({"app/n.md": WORSE}, "app/n.md"),
    "another kind of file": ({"app/n.py": f'PROMPT = """{WORSE}"""'}, "app/n.py"),
    "long additions": ({"app/n.md": WORSE + "Or be brief and say this. " * 900}, "app/n.md"),
    "in another order": (
        {"app/n.md": "".join(reversed(WORSE.splitlines(keepends=True)))},
        "app/n.md",
    ),
    "another case and layout": ({"app/n.md": WORSE.upper().replace(" ", "\n\n")}, "app/n.md"),
    "invisible characters": ({"app/n.md": WORSE.replace("e", "e\u200b")}, "app/n.md"),
    "unlike, without a contract": ({"prompts/n.md": UNLIKE}, "prompts/n.md"),
    "unlike, of the same name": (
        {
            "contracts/n.yaml": contract("n", "../prompts/a.md.j2"),
            "contracts/n.jsonl": ROW,
            "prompts/a.md.j2": UNLIKE,
        },
        "prompts/a.md.j2",
    ),
    "an include that does nothing": (
        {
            "prompts/c.md": GOOD + "{% if false %}{% include 'n.md' %}{% endif %}",
            "prompts/n.md": WORSE,
        },
        "prompts/n.md",
    ),
    "the watched file is unlike": (
        {"prompts/c.md": UNLIKE, **TINY, "prompts/n.md": "Something else for {{ x }}."},
        "prompts/n.md",
    ),
    "too large to compare": (
        {**TINY, "prompts/n.md": WORSE + "x" * successors.MOST_BYTES},
        "prompts/n.md",
    ),
}


@pytest.mark.parametrize("new_name", ["prompts/c.md", "prompts/n.md", None])
@pytest.mark.parametrize(("changes", "found"), ATTACKS.values(), ids=ATTACKS)
def test_another_file_may_take_the_place(changes, found, new_name):
    after = between({**FOLLOWS, **changes}, new_name=new_name)["a"]
    # If git calls a file that stays unwatched the new name, the contract has left its prompt.
    assert after.left_prompt or after.successors == (found,)


HONEST = {
    "moved alone": {},
    "moved and edited": {"prompts/c.md": WORSE},
    "with an unlike prompt and its contract": {**TINY, "prompts/n.md": UNLIKE},
    "edited, with an unlike prompt and its contract": {
        "prompts/c.md": WORSE,
        **TINY,
        "prompts/n.md": UNLIKE,
    },
    "with a document": {"docs/n.md": UNLIKE * 30},
    "written anew": {"prompts/c.md": UNLIKE},
    "its text is in a part": {"prompts/c.md": "{% include 'n.md' %}", "prompts/n.md": GOOD},
    "with bytes that are no text": {"logo.png": "\0" * 99},
}


@pytest.mark.parametrize("new_name", ["prompts/c.md", None])
@pytest.mark.parametrize("changes", HONEST.values(), ids=HONEST)
def test_what_takes_no_place_is_left_alone(changes, new_name):
    assert successors_of(changes, new_name=new_name) == ()


def test_a_copy_beside_the_prompt_takes_no_place():
    assert between({"prompts/n.md": WORSE}, new_name=None) == {}


FAMILY = {
    **BASE,
    "contracts/b.yaml": contract("b"),
    "contracts/b.jsonl": ROW,
    "prompts/b.md": edited(GOOD, "positive or negative", "polite or rude"),
    "prompts/other.md": edited(GOOD, "positive", "short"),
}


@pytest.mark.parametrize("added", ["", "Be kind.\n"])
def test_prompts_that_are_alike_may_move_together(added):
    moved = {
        "contracts/a.yaml": contract("a", "../prompts/x/a.md"),
        "contracts/b.yaml": contract("b", "../prompts/x/b.md"),
        **dict.fromkeys(("prompts/a.md", "prompts/b.md", "prompts/other.md")),
        "prompts/x/a.md": FAMILY["prompts/a.md"] + added,
        "prompts/x/b.md": FAMILY["prompts/b.md"] + added,
        "prompts/x/other.md": FAMILY["prompts/other.md"],
    }
    found = between(moved, base=FAMILY, new_name=None)
    assert {contract.successors for contract in found.values()} <= {()}
    # A contract whose own prompt goes does not cover for another's.
    decoy = {"contracts/b.yaml": contract("b", "../prompts/n.md"), "prompts/b.md": None}
    worse = between({**FOLLOWS, **decoy, "prompts/n.md": WORSE}, base=FAMILY)
    assert worse["a"].successors == ("prompts/n.md",)


def test_a_file_that_was_there_counts_if_it_becomes_like_the_prompt():
    there = {**BASE, "app/n.md": "An old note."}
    assert successors_of({"app/n.md": WORSE}, base=there) == ("app/n.md",)
    assert successors_of({}, base=there) == ()
    assert successors_of({"app/n.md": WORSE}, base={**BASE, "app/n.md": GOOD}) == ()


def test_a_recording_takes_no_place():
    text = edited(contract("a", "../prompts/c.md"), "model: m", "model: recorded/contracts/r.jsonl")
    assert successors_of({"contracts/a.yaml": text, "contracts/r.jsonl": GOOD}) == ()


def test_a_prompt_that_goes_with_its_contract_is_followed_anywhere():
    gone = {"contracts/a.yaml": None, "contracts/a.jsonl": None, "prompts/a.md": None}
    assert between({**gone, "app/n.md": WORSE}, new_name=None)["a"].successors == ("app/n.md",)
    assert between({**gone, "app/n.md": UNLIKE}, new_name=None)["a"].successors == ()
    named = between({**gone, **TINY, "prompts/n.md": WORSE}, new_name=None)["a"].successors
    assert named == ("n (prompts/n.md)",)


def test_a_base_contract_that_does_not_load_is_asked_too():
    broken = {**BASE, "contracts/a.yaml": contract("a", extra="oops: 1\n")}
    assert successors_of({"app/n.md": WORSE}, base=broken) == ("app/n.md",)


def test_what_is_not_compared_counts(monkeypatch):
    monkeypatch.setattr(successors, "MOST_COMPARED", -1)
    assert successors_of({"app/n.md": UNLIKE}) == ("app/n.md",)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("", "", False),
        (GOOD, "", False),
        (GOOD, GOOD, True),
        (GOOD, UNLIKE, False),
        ("A {{ x }}", "B {{ x }}", False),
        ("把文本分类为正面或负面。", "把这段文本分类为正面或者负面。", True),
        ("把文本分类为正面或负面。", "请翻译成英语。", False),
    ],
)
def test_likeness(one, other, alike):
    assert (Words.of(one).likeness(Words.of(other)) >= successors.LIKE) is alike
