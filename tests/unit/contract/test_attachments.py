"""Fixtures with `files`: what is sent, what is refused, and that a changed file is a new input."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.fixtures import attachments
from gatekeeper.contract.fixtures.attachments import media_type, names_files
from gatekeeper.contract.fixtures.near_duplicates import near_duplicates
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import fixture_meaning, request_digest
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract, Message
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

PNG, JPEG = b"\x89PNG\r\n\x1a\n" + b"p" * 20, b"\xff\xd8\xff\xe0" + b"j" * 20
WEBP, WAV = b"RIFF\x10\0\0\0WEBPVP8 ", b"RIFF\x10\0\0\0WAVEfmt "
PDF, GIF = b"%PDF-1.7\n", b"GIF89a" + b"g" * 20
MP3, TAGGED = b"\xff\xfb\x90\x00" + b"m" * 20, b"ID3\x04" + b"m" * 20
CONTRACT = """\
contract: 1
name: receipts
prompt: ../prompts/total.txt
model: openai/gpt-5-mini
fixtures:
  - {id: one, vars: {shop: Spar}, files: [pictures/one.png]}
  - {id: two, vars: {shop: Aldi}, files: [/scans/two.pdf, pictures/one.png]}
checks: [{type: contains, value: "12.50"}]
"""
FILES = {
    "contracts/r.yaml": CONTRACT.encode(),
    "prompts/total.txt": b"Total of {{ shop }}?",
    "contracts/pictures/one.png": PNG,
    "scans/two.pdf": PDF,
}


def loaded(contract: str = CONTRACT, **files: bytes) -> Contract:
    given = {**FILES, "contracts/r.yaml": contract.encode(), **files}
    return load_contract(MemoryRevision(given), "contracts/r.yaml", SHAPES)


def sent(contract: Contract) -> dict[str, tuple[Message, ...]]:
    trials = plan_trials(contract, contract.target, None, {}).trials
    return {trial.fixture: trial.request.messages for trial in trials}


def problem(contract: str = CONTRACT, **files: bytes) -> str:
    with pytest.raises(ContractError) as failed:
        loaded(contract, **files)
    (found,) = failed.value.problems
    assert found.path == "contracts/r.yaml"
    assert found.line == 6
    return f"{found.what}; {found.fix}"


def test_files_are_sent_with_the_last_message_of_the_user() -> None:
    messages = sent(loaded())
    (one,), (two,) = messages["one"], messages["two"]
    assert (one.content, [file.path for file in one.files]) == (
        "Total of Spar?",
        ["contracts/pictures/one.png"],
    )
    found = [(f.path, f.media_type, f.sha256, f.data) for f in two.files]
    assert found[0] == ("scans/two.pdf", "application/pdf", hashlib.sha256(PDF).hexdigest(), PDF)
    assert found[1][1] == "image/png"


def test_a_prompt_without_a_user_gets_a_message_for_the_files() -> None:
    contract = edited(CONTRACT, "total.txt", "total.md")
    prompt = {"prompts/total.md": b"system:\nTotal of {{ shop }}?\n"}
    system, user = sent(loaded(contract, **prompt))["one"]
    assert (system.role, system.files, user.role, user.content) == ("system", (), "user", "")
    assert len(user.files) == 1


def test_the_mode_adds_its_requirements_beside_the_files() -> None:
    contract = edited(CONTRACT, "checks:", "mode: assist\nchecks:")
    (message,) = sent(loaded(contract))["one"]
    assert message.files


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        (GIF, "image/gif"),
        (PDF, "application/pdf"),
        (WAV, "audio/wav"),
        (MP3, "audio/mpeg"),
        (TAGGED, "audio/mpeg"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"<?xml version='1.0'?><svg/>", None),
        (b"RIFF\x10\0\0\0AVI ", None),
        (b"GIF88a", None),
        (b"\xff\xf1\x50\x80", None),  # AAC
        (b" %PDF-1.7", None),
        (b"", None),
    ],
)
def test_a_type_is_recognised_by_the_first_bytes(content: bytes, expected: str | None) -> None:
    assert media_type(content) == expected


@given(st.binary(max_size=40))
def test_any_bytes_have_a_type_or_none(content: bytes) -> None:
    assert media_type(content) in (None, *attachments._STARTS.values(), "image/webp", "audio/wav")


def test_a_name_may_say_another_type_than_the_bytes() -> None:
    (file,) = loaded(**{"contracts/pictures/one.png": JPEG}).fixtures[0].files
    assert file.media_type == "image/jpeg"


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<svg/>", "is no PNG, JPEG, WebP, GIF, PDF, WAV or MP3 file"),
        (b"", "is no PNG"),
        (LFS, "is a Git LFS pointer, not the file's content; store the file in git itself"),
        (PNG + b"x" * attachments.MOST_BYTES, "the limit is 10,000,000"),
    ],
)
def test_other_content_is_refused(content: bytes, said: str) -> None:
    assert said in problem(**{"contracts/pictures/one.png": content})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[pictures/none.png]", "there is no file `contracts/pictures/none.png`"),
        ("[../../one.png]", "is outside the repository"),
        ("['https://example.org/a.png']", "gatekeeper downloads nothing"),
        ("[one.svg]", "gatekeeper does not send `contracts/one.svg` to a model"),
        ("[/prompts/total.txt]", "gatekeeper does not send `prompts/total.txt` to a model"),
        ("[7]", "7 is not text; write the path of a file"),
        ("{a: b}", "files"),
        (f"[{', '.join(['pictures/one.png'] * 21)}]", "20"),
    ],
)
def test_other_paths_are_refused(written: str, said: str) -> None:
    contract = edited(CONTRACT, "files: [pictures/one.png]", f"files: {written}")
    assert said in problem(contract, **{"contracts/one.svg": b"<svg/>"})


def test_all_files_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "MOST_TOGETHER", len(PNG) + len(PDF))
    loaded()  # a file that two fixtures send counts once
    monkeypatch.setattr(attachments, "MOST_TOGETHER", len(PNG) + 1)
    with pytest.raises(ContractError, match="bytes together"):
        loaded()


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ('{"shop": "Spar", "files": ["a.png"]}\n', "f.jsonl"),
        ("shop,files\nSpar,a.png\n", "f.csv"),
        ('shop,files\nSpar,"[""a.png""]"\n', "f.csv"),
        ("- {shop: Spar, files: a.png}\n", "f.yaml"),
    ],
)
def test_rows_of_every_format_name_files(rows: str, name: str) -> None:
    contract = f"{CONTRACT.partition('fixtures:')[0]}fixtures: [{{file: {name}}}]\n"
    contract += "checks: [{type: contains, value: a}]\n"
    found = loaded(contract, **{f"contracts/{name}": rows.encode(), "contracts/a.png": PNG})
    (fixture,) = found.fixtures
    assert ([f.path for f in fixture.files], dict(fixture.vars)) == (
        ["contracts/a.png"],
        {"shop": "Spar"},
    )


@pytest.mark.parametrize("value", [["a.py", "b.png"], "src/a.py", [], 7, {"a": "b"}, None, [7]])
def test_other_values_of_a_row_without_vars_are_a_variable(value: Any) -> None:
    assert not names_files(value)


def test_a_changed_file_is_a_changed_fixture() -> None:
    base, head = loaded(), loaded(**{"contracts/pictures/one.png": PNG + b"!"})
    assert fixture_meaning(base.fixtures[0]) != fixture_meaning(head.fixtures[0])
    assert base.dependencies != head.dependencies
    digests = [
        {t.fixture: request_digest(t.request) for t in plan_trials(c, c.target, None, {}).trials}
        for c in (base, head)
    ]
    assert all(digests[0][name] != digests[1][name] for name in ("one", "two"))
    assert list(weakenings(base, head, {})) == [
        "fixture `one`: the files changed",
        "fixture `two`: the files changed",
    ]


def test_a_moved_file_is_the_same_fixture() -> None:
    contract = edited(CONTRACT, "[pictures/one.png]}", "[pictures/first.png]}")
    moved = loaded(contract, **{"contracts/pictures/first.png": PNG})
    assert list(weakenings(loaded(), moved, {})) == []
    assert fixture_meaning(moved.fixtures[0]) == fixture_meaning(loaded().fixtures[0])


def test_a_removed_file_weakens_the_contract() -> None:
    without = loaded(edited(CONTRACT, ", files: [pictures/one.png]", ""))
    assert list(weakenings(loaded(), without, {})) == ["fixture `one`: the files changed"]


def test_equal_texts_with_other_pictures_are_two_inputs() -> None:
    rows = "\n".join(
        f"  - {{vars: {{shop: {'the same long text ' * 9}}}, files: [{n}.png]}}" for n in "ab"
    )
    contract = f"{CONTRACT.partition('fixtures:')[0]}fixtures:\n{rows}\n"
    contract += "checks: [{type: contains, value: a}]\n"
    found = loaded(contract, **{"contracts/a.png": PNG, "contracts/b.png": PNG + b"!"})
    one, other = found.fixtures
    assert one.id != other.id
    assert near_duplicates(found.fixtures, {}) == []


@pytest.mark.parametrize("path", ["contracts/pictures/one.png", "scans/two.pdf"])
def test_a_change_of_a_file_affects_the_contract(path: str) -> None:
    changed = {**FILES, path: FILES[path] + b"!"}
    change = Change(MemoryRevision(FILES), MemoryRevision(changed))
    (affected,) = find_affected(change, Policy(), SHAPES).contracts
    assert [by.path for by in affected.affected_by] == [path]
