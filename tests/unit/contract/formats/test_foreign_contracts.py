"""Contracts in files of other tools are found, compared and explained like native ones."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.foreign_files import EVERYTHING, GITHUB, changed, loaded, revision, triple

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import every_contract
from gatekeeper.contract.checks.judge_calibration import calibration_path
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.formats.foreign_suite import contract_name, file_of_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError

CITY = {"evals/city.prompt.yml": GITHUB}
MAIL = triple()
FIRST, SECOND = "evals/mail/ep.json#mail.v1", "evals/mail/ep.json#mail.v1-openai-gpt-4o-mini"


def test_a_file_is_a_contract_by_its_content_and_only_where_the_policy_says() -> None:
    files = revision(CITY | MAIL | {"evals/notes.json": '{"a": 1}', "other/ep.json": "{}"})
    assert contract_paths(files, EVERYTHING, SHAPES) == ("evals/city.prompt.yml", FIRST, SECOND)
    assert contract_paths(files, Policy(), SHAPES) == ()


def test_the_contracts_of_one_file_have_its_name_and_their_own() -> None:
    found = {c.name: c.head for c in every_contract(revision(MAIL), EVERYTHING, SHAPES).contracts}
    assert sorted(found) == ["mail.v1", "mail.v1-openai-gpt-4o-mini"]
    with pytest.raises(ContractError, match="several contracts") as caught:
        loaded(MAIL, "evals/mail/ep.json")
    assert FIRST in caught.value.problems[0].fix
    with pytest.raises(ContractError, match="no contract"):
        loaded(MAIL, "evals/mail/ep.json#other")


@pytest.mark.parametrize("path", ["evals/mail/pd.json", "evals/mail/es.json", "evals/mail/ep.json"])
def test_a_change_of_any_file_that_was_read_affects_every_contract_of_the_suite(path: str) -> None:
    text = MAIL[path].replace("Label", "Sort").replace("spam", "junk").replace("You won", "Won")
    assert text != MAIL[path]
    affected = changed(MAIL | CITY, {path: text})
    assert [found.path for found in affected.contracts] == [FIRST, SECOND]
    assert {a.path for found in affected.contracts for a in found.affected_by} <= {
        path,
        "evals/mail/ep.json",
    }
    assert affected.others == ("city-facts",)


def test_layout_alone_affects_nothing() -> None:
    spaced = {path: text.replace("\n", "\n\n") for path, text in MAIL.items()}
    commented = "# reviewed\n" + edited(GITHUB, "  temperature: 0.2", "  temperature: 0.20")
    affected = changed(MAIL | CITY, {**spaced, "evals/city.prompt.yml": commented})
    assert affected.contracts == ()
    assert affected.unaffected == 3


def test_the_base_contract_finds_what_head_weakens() -> None:
    lost = edited(
        GITHUB, "  - input: Japan\n    expected: Tokyo\n", "", "{equals: Paris}", "{contains: Par}"
    )
    (found,) = changed(CITY, {"evals/city.prompt.yml": lost}).contracts
    assert found.base is not None
    assert found.head is not None
    said = " ".join(weakenings(found.base, found.head))
    assert "removed" in said
    assert "`exact`" in said


def test_a_target_that_is_removed_is_a_contract_that_is_removed() -> None:
    affected = changed(MAIL, {"evals/mail/ep.json": triple(1)["evals/mail/ep.json"]})
    gone = {found.name: found.head for found in affected.contracts}
    assert gone == {"mail.v1-openai-gpt-4o-mini": None}
    added = changed(MAIL, {"evals/mail/ep.json": triple(3)["evals/mail/ep.json"]})
    assert [(found.name, found.base) for found in added.contracts] == [
        ("mail.v1-openai-gpt-4o", None)
    ]


def test_a_suite_that_moves_keeps_its_contracts() -> None:
    moved = {edited(path, "mail", "post"): text for path, text in MAIL.items()}
    renames = dict(zip(MAIL, moved, strict=True))
    affected = changed(MAIL, {**dict.fromkeys(MAIL), **moved}, renames)
    assert affected.contracts == ()


def test_a_foreign_file_stays_a_contract_when_another_contract_uses_it() -> None:
    native = (
        "contract: 1\nname: city\nprompt: city.prompt.yml\n"
        "fixtures:\n  - {vars: {input: Peru}}\nchecks:\n  - {type: contains, value: Lima}\n"
    )
    affected = changed(CITY, {"evals/city.yaml": native})
    assert [found.name for found in affected.contracts] == ["city"]
    assert affected.others == ("city-facts",)


def test_a_prompt_without_evaluators_is_no_contract() -> None:
    plain = GITHUB[: GITHUB.index("testData")]
    texts = {"evals/a.prompt.yml": plain, "evals/b.prompty": "---\nname: b\n---\nHi"}
    parts = {path: text for path, text in MAIL.items() if not path.endswith("ep.json")}
    patterns = ("evals/*.yml", "evals/*.prompty", "evals/**/*.json")
    assert contract_paths(revision({**texts, **parts}), Policy(contracts=patterns)) == ()


def test_a_mistake_is_reported_at_its_line_in_the_foreign_file() -> None:
    broken = edited(GITHUB, "{equals: Paris}", "{is: Paris}")
    with pytest.raises(ContractError) as caught:
        every_contract(revision({"evals/city.prompt.yml": broken}), EVERYTHING, SHAPES)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("evals/city.prompt.yml", 21)
    mistyped = edited(GITHUB, "temperature: 0.2", "temperature: 0.2\n  typo_p: 1")
    with pytest.raises(ContractError) as caught:
        loaded({"evals/city.prompt.yml": mistyped}, "evals/city.prompt.yml")
    assert [problem.line for problem in caught.value.problems] == [6]


def test_a_suite_with_a_mistake_in_its_syntax_is_reported_whatever_the_pattern_is() -> None:
    broken = MAIL["evals/mail/ep.json"].rstrip().removesuffix("}") + ",\n"
    other = {"evals/mail/rows.json": '[{"a": 1},'}  # may be anything
    files = revision(MAIL | {"evals/mail/ep.json": broken} | other)
    everything = Policy(contracts=("evals/**",))
    assert contract_paths(files, everything, SHAPES) == ("evals/mail/ep.json",)
    with pytest.raises(ContractError) as caught:
        every_contract(files, everything, SHAPES)
    assert [problem.path for problem in caught.value.problems] == ["evals/mail/ep.json"]


def test_a_file_of_which_nothing_can_be_run_is_an_error() -> None:
    lines = GITHUB[: GITHUB.index("evaluators")] + "evaluators:\n  - uses: acme/grader\n"
    with pytest.raises(ContractError, match="can run nothing in this file") as caught:
        loaded({"evals/city.prompt.yml": lines}, "evals/city.prompt.yml")
    assert "`acme/grader`" in caught.value.problems[0].what
    assert caught.value.problems[0].line == 18


def test_a_folder_may_have_characters_of_patterns_in_its_name() -> None:
    files = {edited(path, "mail", "[m]ail *?"): text for path, text in MAIL.items()}
    other = {edited(path, "mail", "mail x"): "[]" for path in MAIL}
    [first, _] = contract_paths(revision({**other, **files}), EVERYTHING, SHAPES)[:2]
    assert loaded({**other, **files}, first).name == "mail.v1"


def test_an_unchanged_suite_is_read_again_if_a_file_beside_it_changes() -> None:
    """The translation is kept, but only as long as every file that it was made of is the same."""
    before = loaded(MAIL, FIRST)
    other = MAIL | {"evals/mail/es.json": edited(MAIL["evals/mail/es.json"], "spam", "junk")}
    now = loaded(other, FIRST)
    assert before.checks != now.checks
    assert loaded(MAIL, FIRST).checks == before.checks


@pytest.mark.parametrize(
    ("path", "file", "calibration"),
    [
        ("a/b.yaml", "a/b.yaml", "a/b.judge.json"),
        ("a/b.yaml#mail.v1", "a/b.yaml", "a/b.mail.v1.judge.json"),
        ("a/b#c.yaml", "a/b#c.yaml", "a/b#c.judge.json"),
        ("a/x.prompt.yml", "a/x.prompt.yml", "a/x.prompt.judge.json"),
    ],
)
def test_the_file_of_a_contract_is_known_by_its_path(
    path: str, file: str, calibration: str
) -> None:
    assert file_of_contract(path) == file
    assert calibration_path(path) == calibration


def test_any_text_becomes_a_name() -> None:
    assert contract_name("  Größe & Co: (v2)! ", "x") == "gr-e-co-v2"
    assert contract_name("…", "otherwise") == "otherwise"


def test_a_suite_reads_a_bounded_amount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatekeeper.contract.formats.reader.MOST_FIXTURE_TEXT", 100)
    # Another text: what was read before is kept.
    files = {path: f"{text}\n" for path, text in MAIL.items()}
    with pytest.raises(ContractError, match="more than 100 characters"):
        loaded(files, FIRST)
