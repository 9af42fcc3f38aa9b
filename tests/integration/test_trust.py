"""A pull request that breaks its prompt must not pass by changing its contract, by any way in.

Half the fixtures break under the prompt that the attacks write, unless a row says otherwise.
"""

from __future__ import annotations

import json
import shutil

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    HALF_BREAK,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    SAYS_OK,
    Proposal,
    all_say,
    only_head_answers,
    only_head_passes,
    recorded_with,
    rows,
)
from support.proposed_change import Link
from support.recorded_repository import GOOD, PROMPT, RECORDING, answers, csv, recording, under_name

from gatekeeper.cli.main import main

NEW = tuple(f"new{number}" for number in range(40))
WITH_MORE = edited(NO_SLO, "checks:\n", "  - file: more.jsonl\nchecks:\n")
WITH_REPAIR = "repair: {steps: [strip_markdown_fences]}\n"
VALID_JSON = NO_SLO.replace(SAYS_OK, "{type: json_valid}")
SHORT = NO_SLO.replace(SAYS_OK, "{type: length, unit: characters, max: 5}")
ANY_TEXT = edited(NO_SLO, "pattern: ok", "pattern: '.'")
ONLY_WARNS = edited(NO_SLO, "pattern: ok", "pattern: ok, severity: warn")
OBJECT = NO_SLO.replace(SAYS_OK, "{type: json_schema, schema: {type: object}}")
OBJECT_FORMAT = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": {"type": "object"}},
    }
}
BROKEN = NO_SLO.replace(SAYS_OK, "{type: contains, value: '{{ expected }}'}")
LAX = under_name(ANY_TEXT, "lax", "txt")
SECOND = under_name(NO_SLO, "second", "csv")

ATTACKS = [
    Proposal(
        "alpha is lowered",
        "at a level of 1e-6 no difference is significant",
        {CONTRACT: NO_SLO + "gate: {alpha: 1.0e-6}\n", PROMPT_FILE: OTHER},
        reason="regression",
    ),
    Proposal(
        "the inputs of fixtures are replaced under their ids",
        "the ids stay, the words that broke go",
        {
            FIXTURES: rows(lambda _, word: word, lambda i, _: MANY[20 + i % 20]),
            PROMPT_FILE: OTHER,
        },
        reason="regression",
    ),
    Proposal(
        "the inputs get new ids",
        "what has no fixture of its name at base is still the same input",
        {FIXTURES: rows(lambda i, _: f"new{i}", lambda _, word: word), PROMPT_FILE: OTHER},
        reason="regression",
    ),
    Proposal(
        "the prompt forgets its variable",
        "all fixtures are one input then, and one input shows nothing",
        {PROMPT_FILE: "Say it.\n"},
        recorded={"Say it.": "no"},
        reason="regression",
    ),
    Proposal(
        "a check that nothing passes is added",
        "what fails at base too cannot break",
        {
            CONTRACT: edited(NO_SLO, "checks:\n", "checks:\n  - {type: contains, value: zzz}\n"),
            PROMPT_FILE: OTHER,
        },
        reason="regression",
    ),
    Proposal(
        "a limit of length is tightened until nothing passes",
        "what fails at base too cannot break",
        {CONTRACT: edited(SHORT, "max: 5", "max: 1"), PROMPT_FILE: OTHER},
        contract=SHORT,
        recorded=all_say("okok", PROMPT) | all_say("far too long"),
        reason="regression",
    ),
    Proposal(
        "the aggregate is tightened until nothing passes",
        "with `all` the base fails every fixture, so none can break",
        {
            CONTRACT: NO_SLO + "sampling: {samples: 3, aggregate: all}\n",
            PROMPT_FILE: OTHER,
        },
        contract=NO_SLO + "sampling: {samples: 3}\n",
        recorded=all_say(["no"] * 3) | all_say(["ok", "ok", "no"], PROMPT),
        reason="regression",
    ),
    Proposal(
        "the repair is removed that the base needs",
        "without it the base fails every fixture, so none can break",
        {CONTRACT: VALID_JSON, PROMPT_FILE: OTHER},
        contract=VALID_JSON + WITH_REPAIR,
        recorded=all_say("```json\n{}\n```", PROMPT) | all_say("rubbish"),
        reason="regression",
    ),
    Proposal(
        "a repair is added that makes the outputs pass",
        "the base contract does not repair",
        {CONTRACT: GOOD + "repair: {steps: [lowercase]}\n", PROMPT_FILE: OTHER},
        contract=GOOD,
        recorded=all_say("OK"),
        reason="regression",
    ),
    Proposal(
        "fixtures are added that only the new prompt passes",
        "as many are fixed as break, which is no difference",
        {
            CONTRACT: WITH_MORE,
            "contracts/more.jsonl": only_head_passes(NEW),
            RECORDING: recording(all_say("ok", PROMPT) | HALF_BREAK | only_head_answers(NEW)),
            PROMPT_FILE: OTHER,
        },
        reason="regression",
    ),
    Proposal(
        "more samples make one good one enough",
        "the base contract asks once, so it must not become any of five",
        {
            CONTRACT: ANY_TEXT + "sampling: {samples: 5, aggregate: any}\n",
            PROMPT_FILE: OTHER,
        },
        recorded=all_say(["no", "no", "no", "no", "ok"]) | all_say(["ok"] * 5, PROMPT),
        reason="regression",
    ),
    Proposal(
        "all checks become warnings",
        "a contract that nothing can fail is none",
        {CONTRACT: ONLY_WARNS, PROMPT_FILE: OTHER},
        code=2,
    ),
    Proposal(
        "all checks are warnings already",
        "a contract that nothing can fail is none, at base as at head",
        {PROMPT_FILE: OTHER},
        contract=ONLY_WARNS,
        code=3,
    ),
    Proposal(
        "the contract points to a copy of its prompt",
        "the prompt that the product uses is the one that stays",
        {
            CONTRACT: edited(NO_SLO, "words.txt", "copy.txt"),
            "prompts/copy.txt": PROMPT,
            PROMPT_FILE: OTHER,
        },
        reason="removed",
    ),
    Proposal(
        "the contract moves to where no contract is looked for",
        "a contract that is not run is a removed one",
        {CONTRACT: None, "specs/words.yaml": NO_SLO, PROMPT_FILE: OTHER},
        reason="removed",
    ),
    Proposal(
        "the contract gets another name and loses a fixture",
        "the name of a contract is not what ties it to its base",
        {
            CONTRACT: edited(NO_SLO, "name: words", "name: texts"),
            FIXTURES: csv(MANY[1:]),
            PROMPT_FILE: OTHER,
        },
        reason="regression",
    ),
    Proposal(
        "the contract is split into two that see too little",
        "four fixtures cannot show what eight do",
        {
            FIXTURES: csv(MANY[:4]),
            "contracts/second.csv": csv(MANY[4:8]),
            "contracts/second.yaml": SECOND,
            PROMPT_FILE: OTHER,
        },
        recorded=answers(OTHER, dict.fromkeys(MANY[:8], "no")),
        before={FIXTURES: csv(MANY[:8])},
        reason="regression",
    ),
    Proposal(
        "two contracts swap their prompts",
        "the broken prompt is evaluated by the contract that asks for nothing",
        {
            CONTRACT: edited(NO_SLO, "words.txt", "lax.txt"),
            "contracts/lax.yaml": edited(LAX, "lax.txt", "words.txt"),
            PROMPT_FILE: OTHER,
        },
        recorded=all_say("no") | all_say("ok", "Lax {{ word }}.\n"),
        before={"contracts/lax.yaml": LAX, "prompts/lax.txt": "Lax {{ word }}.\n"},
        reason="removed",
    ),
    Proposal(
        "the recording is forged",
        "the base's answers count as they were recorded at base",
        {RECORDING: recording(all_say("ok") | all_say("no", PROMPT)), PROMPT_FILE: OTHER},
        reason="regression",
    ),
    Proposal(
        "the model becomes a forged recording",
        "a recording answers whatever its author wrote into it",
        {
            CONTRACT: edited(NO_SLO, "words.samples.jsonl", "forged.jsonl"),
            "contracts/forged.jsonl": recording(all_say("ok")),
            PROMPT_FILE: OTHER,
        },
        reason="weakened",
    ),
    Proposal(
        "enforced outputs are enforced no longer",
        "the prompt stays, but what is asked of the model does not",
        {CONTRACT: OBJECT + "mode: observe\n"},
        contract=OBJECT + "mode: enforce\n",
        before={RECORDING: recorded_with(OBJECT_FORMAT, "{}") + recorded_with({}, "no")},
        reason="regression",
    ),
    Proposal(
        "a contract that did not load at base is mended along the way",
        "the prompt was there at base, so there is something to compare with",
        {CONTRACT: NO_SLO, PROMPT_FILE: OTHER},
        contract=NO_SLO + "typo: 1\n",
        reason="regression",
    ),
    Proposal(
        "the contract is new and the prompt is not",
        "the prompt was there at base, so there is something to compare with",
        {CONTRACT: NO_SLO, PROMPT_FILE: OTHER},
        before={CONTRACT: None},
        reason="regression",
    ),
    Proposal(
        "only an included file changes",
        "what the model is sent counts, wherever it is written",
        {"prompts/tone.md": "Bad."},
        contract=edited(NO_SLO, "words.txt", "words.md"),
        recorded=all_say("ok", "Good. Say {{ word }}.") | all_say("no", "Bad. Say {{ word }}."),
        before={
            "prompts/words.md": "{% include 'tone.md' %} Say {{ word }}.\n",
            "prompts/tone.md": "Good.",
        },
        reason="regression",
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_does_not_pass(attack, run_gate):
    answered = attack.run_check(run_gate)
    assert answered.exit_code == attack.code, attack.why
    if attack.reason is not None:
        assert attack.reason in answered.reasons()


def test_a_base_contract_that_cannot_apply_a_new_prompt_is_no_pass(run_gate):
    """Who mends such a contract and changes its prompt at once is asked to do one at a time."""
    mended = rows(lambda _, word: word, lambda _, word: f"{word},ok", "id,word,expected")
    writes = {FIXTURES: mended, PROMPT_FILE: OTHER}
    both = Proposal("both", "", writes, contract=BROKEN, recorded=all_say("ok"))
    answered = both.run_check(run_gate)
    assert answered.exit_code == 3
    assert answered.reasons("error") == {"error"}


@pytest.mark.parametrize(
    ("writes", "policy", "code", "reason"),
    [
        ({CONTRACT: ANY_TEXT, PROMPT_FILE: OTHER}, "", 3, "error"),
        ({CONTRACT: NO_SLO, PROMPT_FILE: OTHER}, "", 1, "regression"),
        ({CONTRACT: ANY_TEXT}, "on_weakening: require_waiver\n", 1, "weakened"),
        ({CONTRACT: NO_SLO}, "", 0, None),
    ],
)
def test_who_mends_a_contract_that_cannot_be_read_does_not_loosen_it_unseen(
    writes, policy, code, reason, run_gate
):
    mended = Proposal("mended", "", writes, contract=f"{NO_SLO}colour: red\n")
    answered = mended.run_check(run_gate, policy=policy)
    assert answered.exit_code == code
    assert reason is None or reason in answered.reasons("error" if code == 3 else "fail")
    assert "cannot load the base version" in str(answered.result["notices"])


def test_a_prompt_that_becomes_a_link_is_refused(run_gate):
    """What a link shows is not what is in the commit, so it is never followed."""
    link = {PROMPT_FILE: Link("../elsewhere.txt"), "elsewhere.txt": OTHER}
    assert Proposal("link", "", link).run_check(run_gate).exit_code == 2


def test_a_folder_of_contracts_that_becomes_a_link_hides_none(run_gate):
    """The contracts are gone from the folder in which they are looked for."""

    def move(made):
        shutil.move(made.path / "contracts", made.path / "specs")
        made.symlink("contracts", "specs")

    assert Proposal("link", "", {PROMPT_FILE: OTHER}).run_check(run_gate, work=move).exit_code in {
        1,
        2,
    }


def test_a_policy_that_main_got_since_counts(run_gate):
    """A branch that parted earlier does not keep the policy of that day."""
    stray = Proposal("stray", "", {"prompts/new.txt": "New {{ word }}.\n"})
    assert stray.run_check(run_gate).exit_code == 0
    assert stray.run_check(run_gate, since={POLICY: "require_contract: true\n"}).exit_code == 1


def test_what_the_base_contract_found_is_in_the_result(run_gate):
    """Head's contract sees nothing; the numbers of the decision are the base contract's."""
    answered = Proposal("loose", "", {CONTRACT: ANY_TEXT, PROMPT_FILE: OTHER}).run_check(run_gate)
    assert answered.result is not None
    (contract,) = answered.result["contracts"]
    paired = contract["under_base"]["paired"]
    broken = [f for f in contract["under_base"]["fixtures"] if f["change"] == "broke"]
    assert answered.exit_code == 1
    assert contract["paired"]["broke"] == 0
    assert paired["broke"] > paired["fixed"] == 0
    assert paired["p_value"] <= paired["alpha"]
    assert len(broken) == paired["broke"]


def test_a_fixture_that_no_check_can_fail_does_not_count_as_passed(git_repository, tmp_path):
    """A single row with a check must not carry the others over an objective."""
    fixtures = [{"id": word, "vars": {"word": word}} for word in MANY]
    fixtures[0]["checks"] = [{"type": "contains", "value": "ok"}]
    unchecked = edited(GOOD, "words.csv", "words.jsonl", f"checks:\n  - {SAYS_OK}\n", "")
    lines = "".join(json.dumps(fixture) + "\n" for fixture in fixtures)
    base = Proposal(
        "unchecked", "", {}, contract=unchecked, before={"contracts/words.jsonl": lines}
    )
    made = base.propose(git_repository)
    assert main(["run", "--repo", str(made.path), "--out", str(tmp_path)]) == 2


def numbered(words: tuple[str, ...]) -> str:
    """Fixtures whose ids are the numbers of their rows."""
    lines = [f"{i},{word},{word.upper()}\n" for i, word in enumerate(words)]
    return "id,word,expected\n" + "".join(lines)


HONEST = [
    Proposal(
        "fewer samples",
        "what the base's own number of samples says still holds",
        {CONTRACT: NO_SLO + "sampling: {samples: 3}\n", PROMPT_FILE: OTHER},
        contract=NO_SLO + "sampling: {samples: 5}\n",
        recorded=all_say(["ok"] * 5) | all_say(["ok"] * 5, PROMPT),
    ),
    Proposal(
        "one sample",
        "what the base's own number of samples says still holds",
        {CONTRACT: NO_SLO + "sampling: {samples: 1}\n", PROMPT_FILE: OTHER},
        contract=NO_SLO + "sampling: {samples: 5}\n",
        recorded=all_say(["ok"] * 5) | all_say(["ok"] * 5, PROMPT),
    ),
    Proposal(
        "numbered fixtures in another order",
        "the prompt stays, and every input has the answer that it had",
        {FIXTURES: numbered(tuple(reversed(MANY)))},
        contract=GOOD.replace(SAYS_OK, "{type: equals, value: '{{ expected }}'}"),
        recorded=answers(PROMPT, {word: word.upper() for word in MANY}),
        before={FIXTURES: numbered(MANY)},
    ),
    Proposal(
        "a contract that could not be run is mended",
        "at base no fixture had the value that a check needs",
        {
            FIXTURES: rows(lambda _, word: word, lambda _, word: f"{word},ok", "id,word,expected"),
        },
        contract=BROKEN,
        recorded=all_say("ok"),
    ),
    Proposal(
        "another name and a fixture less",
        "the base contract applies, and finds nothing worse",
        {
            CONTRACT: edited(NO_SLO, "name: words", "name: texts"),
            FIXTURES: csv(MANY[1:]),
            PROMPT_FILE: OTHER,
        },
        recorded=all_say("ok"),
    ),
    Proposal(
        "a variable renamed in the prompt and its fixtures",
        "rows without ids are all new then, but their inputs are the same",
        {FIXTURES: "term\n" + "".join(f"{w}\n" for w in MANY), PROMPT_FILE: "Say {{ term }}.\n"},
        before={FIXTURES: "word\n" + "".join(f"{w}\n" for w in MANY)},
    ),
]


@pytest.mark.parametrize("proposal", HONEST, ids=lambda proposal: proposal.name)
def test_an_honest_pull_request_may_merge(proposal, run_gate):
    assert proposal.run_check(run_gate).exit_code == 0, proposal.why
