"""Where the files of a prompt are, and what is read of those that are there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatekeeper.author.generation import files
from gatekeeper.author.generation.files import find_places, read_fixture_rows, read_present
from gatekeeper.contract.change import Entry, MemoryRevision
from gatekeeper.contract.policy import Policy
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
