"""Where the files of a prompt are, and what is read of those that are there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatekeeper.author.generation import files
from gatekeeper.author.generation.files import find_places, read_fixture_rows, read_present
from gatekeeper.author.specification.spec_file import read_specification, write_specification
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Entry, MemoryRevision
from gatekeeper.errors import ContractError

CONTRACT = b"contract: 1\nname: a\nprompt: ../%s\nmodel: local/x\nfixtures: []\nchecks: []\n"


def places(reference: str, **contracts: bytes):
    revision = MemoryRevision({f"contracts/{name}.yaml": text for name, text in contracts.items()})
    return find_places(revision, Policy(), reference)


def test_a_prompt_has_its_specification_beside_it_and_its_contract_with_the_others():
    found = places("prompts/tone/Reply.md")
    assert found.name == "reply"
    assert found.specification == "prompts/tone/reply.spec.yaml"
    assert found.fixtures == "contracts/reply.fixtures.jsonl"
    assert found.contract == "contracts/reply.yaml"


def test_a_part_of_a_file_has_files_of_its_own():
    assert places("app.py:ASK").specification == "app-ask.spec.yaml"
    assert places("prompts/all.yaml#b.ask").specification == "prompts/all-b-ask.spec.yaml"


def test_the_contract_that_a_prompt_has_is_its_own():
    own = places("prompts/a.md", other=CONTRACT % b"prompts/a.md")
    assert (own.contract, own.fixtures) == (
        "contracts/other.yaml",
        "contracts/other.fixtures.jsonl",
    )
    taken = places("prompts/a.md", other=CONTRACT % b"prompts/b.md")
    assert taken.contract == "contracts/prompts-a.yaml"
    assert taken.specification == "prompts/a.spec.yaml"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[1]",
        "[" * 100_000,
        '{"id": "a"}',
        '{"id": "b", "x": NaN}',
        '{"id": "b", "id": "c"}',
        '{"id": "\\ud800"}',
    ],
)
def test_a_line_that_is_no_fixture_is_named(line):
    with pytest.raises(ContractError) as raised:
        read_fixture_rows(f'{{"id": "a"}}\n\n{line}\n', "f.jsonl")
    assert raised.value.problems[0].line == 3


@pytest.mark.parametrize("link", ["contracts", "contracts/a.yaml", "prompts/a.spec.yaml"])
def test_nothing_is_read_or_written_through_a_link(link):
    found = places("prompts/a.md")
    revision = SimpleNamespace(entries={link: Entry("1", "symlink")})
    with pytest.raises(ContractError) as raised:
        read_present(revision, found, "prompts/a.md")
    assert raised.value.problems[0].path == link


def test_a_file_of_more_fixtures_than_a_contract_can_have_is_refused(monkeypatch):
    monkeypatch.setattr(files, "MOST_FIXTURES", 2)
    assert len(read_fixture_rows("{}\n{}\n", "f.jsonl")) == 2
    with pytest.raises(ContractError) as raised:
        read_fixture_rows("{}\n{}\n{}\n", "f.jsonl")
    assert raised.value.problems[0].line == 3


RULES = b"The output is one word.\n\nThe output is a tag. \n"
SPEC = b"The input is a sentence.\n"


@pytest.mark.parametrize(
    ("files", "rules", "inverse"),
    [
        ({"p/tag.rules.txt": RULES, "p/tag.input_spec.txt": SPEC}, 2, ""),
        (
            {"p/tag/rules.txt": RULES, "p/tag/inverse_rules.txt": b"Two words.\nNo tag.\n"},
            2,
            "No tag.",
        ),
        ({"p/rules.txt": RULES, "p/input_spec.txt": SPEC, "p/intent.txt": b"Tag.\n"}, 2, ""),
        ({"p/rules.txt": RULES}, 0, None),
        ({"p/other.rules.txt": RULES, "q/tag.rules.txt": RULES}, 0, None),
    ],
)
def test_rules_and_input_of_promptpex_are_the_first_specification(files, rules, inverse):
    revision = MemoryRevision({"p/tag.prompty": b"x", **files})
    found = places("p/tag.prompty")
    specification = read_present(revision, found, "p/tag.prompty").specification
    assert len(specification.rules) == rules
    if rules:
        assert specification.rules[1].id == "rule-2"
        assert specification.rules[1].text == "The output is a tag."
        assert specification.rules[1].inverse == inverse
    assert len(specification.input) == any("input_spec" in path for path in files)
    text = write_specification(specification)
    assert read_specification(text, "p/tag.spec.yaml") == specification


def test_an_own_specification_replaces_that_of_promptpex():
    own = b"version: 1\nprompt: tag.prompty\nintent: Own.\nrules: []\n"
    files = {"p/tag.prompty": b"x", "p/tag.rules.txt": RULES, "p/tag.spec.yaml": own}
    found = read_present(MemoryRevision(files), places("p/tag.prompty"), "p/tag.prompty")
    assert (found.specification.intent, found.specification.rules) == ("Own.", ())
