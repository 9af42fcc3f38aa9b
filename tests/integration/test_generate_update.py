"""`gatekeeper generate --update`, with a scripted model on 127.0.0.1."""

from __future__ import annotations

import json

import pytest
import yaml
from support import scripted_author
from support.generate_fixtures import ANSWERS, CONTRACT, FIXTURES, SPEC
from support.scripted_author import MODEL, PROMPT, author, no_check, stage_of

from gatekeeper.author.specification.merge import content_digest
from gatekeeper.cli.main import main

LABEL, POLITE = "either-positive-negative", "polite"
NO_NEWS = {"known": [], "new": []}
NEUTRAL = PROMPT.replace("positive or negative", "positive, negative or neutral")


def known(verdict: str, text: str, *lines: int) -> dict:
    return {"number": 1, "verdict": verdict, "text": text, "lines": list(lines)}


def updating(**changes):
    """Answers of the stages of an update: rules as given, nothing else changes."""
    script = {
        "update_rules": NO_NEWS,
        "update_input_specification": {"intent": "Classify a review by its sentiment.", **NO_NEWS},
        "update_open_questions": NO_NEWS,
        "rule_checks": {"checks": [{"number": 1, "check": no_check()} | PROOF]},
    }
    return author({**script, **changes})


PROOF = {"complying": ["positive"], "breaking": ["no"]}
REWORDED = {
    "known": [known("reword", "The output is either positive, negative or neutral.", 1)],
    "new": [],
}


@pytest.fixture
def run(generate):
    def ask(*flags: str, answer=None, model=MODEL) -> tuple[int, list[str]]:
        code, server = generate(*flags, answer=answer, model=model)
        return code, [stage_of(body) for body in server.requests]

    assert ask()[0] == 0
    return ask


def texts(repository) -> dict[str, str]:
    return {
        path: (repository.path / path).read_text("utf-8") for path in (SPEC, FIXTURES, CONTRACT)
    }


def rules(repository) -> dict[str, dict]:
    found = yaml.safe_load((repository.path / SPEC).read_text("utf-8"))["rules"]
    return {rule["id"]: rule for rule in found}


def lines_of(repository, rule: str) -> list[str]:
    rows = (repository.path / FIXTURES).read_text("utf-8").splitlines()
    return [row for row in rows if json.loads(row)["metadata"]["rule"] == rule]


def test_an_edit_that_touches_one_rule_changes_that_rules_tests_only(repository, run, capsys):
    assert list(rules(repository)) == [LABEL, POLITE]
    polite, others = rules(repository)[POLITE], lines_of(repository, POLITE)
    before = lines_of(repository, LABEL)
    first_run = texts(repository)
    repository.write("prompts/review.txt", f"Be brief.\n{NEUTRAL}")
    capsys.readouterr()

    answer = {"known": [known("reword", "The output is either positive or neutral.", 2)], "new": []}
    code, stages = run("--update", answer=updating(update_rules=answer), model="openai/gpt-4o")
    assert code == 0
    assert sorted(stages) == [
        "inverse_rules",
        "rule_checks",
        "tests",
        "update_input_specification",
        "update_open_questions",
        "update_rules",
    ]
    now = rules(repository)
    assert now[POLITE] == polite | {"lines": [4]}
    assert now[LABEL]["text"] == "The output is either positive or neutral."
    assert (now[LABEL]["lines"], now[LABEL]["judge"]) == ([2], "complies")
    assert lines_of(repository, POLITE) == others
    assert len(lines_of(repository, LABEL)) == len(before)
    contract = yaml.safe_load(texts(repository)[CONTRACT])
    # The models of the contract stay those of the first run.
    assert (contract["model"], contract["judge"]["model"]) == (MODEL, MODEL)
    assert main(["validate"]) == 0
    assert f"{LABEL}: reworded" in capsys.readouterr().err

    # The recording repeats it, and a second update has nothing to do.
    written = texts(repository)
    for path, text in first_run.items():
        repository.write(path, text)
    assert run("--update", "--replay", ANSWERS, model="openai/gpt-4o") == (0, [])
    assert texts(repository) == written
    assert run("--update") == (0, [])
    assert texts(repository) == written
    assert "no change" in capsys.readouterr().out


def test_an_unchanged_prompt_needs_no_call_and_no_key(repository, run, monkeypatch, capsys):
    before = texts(repository)
    monkeypatch.delenv("OPENAI_API_KEY")
    recording = (repository.path / ANSWERS).read_bytes()
    assert run("--update") == (0, [])
    assert run("--update", "--estimate") == (0, [])
    assert "no change" in capsys.readouterr().out
    assert texts(repository) == before
    assert (repository.path / ANSWERS).read_bytes() == recording


def test_lines_that_only_move_get_new_numbers_without_a_call(repository, run):
    first, second, *rest = PROMPT.split("\n")
    repository.write("prompts/review.txt", "\n".join(["", second, first, *rest]))
    fixtures = texts(repository)[FIXTURES]
    assert run("--update") == (0, [])
    found = yaml.safe_load(texts(repository)[SPEC])
    assert [rule["lines"] for rule in found["rules"]] == [[3], [4]]
    assert (found["input"][0]["lines"], found["questions"][0]["lines"]) == ([6], [3])
    assert texts(repository)[FIXTURES] == fixtures
    after = texts(repository)
    assert run("--update") == (0, [])
    assert texts(repository) == after


def test_a_rule_that_is_obsolete_is_retired_with_its_tests(repository, run, capsys):
    repository.write("prompts/review.txt", PROMPT.replace("Stay polite, whatever", "Whatever"))
    first, second, *rest = lines_of(repository, POLITE)
    others = lines_of(repository, LABEL)
    mine = json.dumps(json.loads(first) | {"expected": "positive"})
    rows = [*others, mine, *rest, '{"vars": {"review": "by hand"}}']
    (repository.path / FIXTURES).write_text("\n".join(rows), "utf-8")
    new = {"text": "The output rhymes.", "lines": [3]}
    elsewhere = {"text": "The output is short.", "lines": [2]}
    answer = {"known": [known("obsolete", "")], "new": [new, elsewhere]}
    capsys.readouterr()
    assert run("--update", answer=updating(update_rules=answer))[0] == 0
    assert list(rules(repository)) == [LABEL, "rhymes"]
    now = texts(repository)[FIXTURES].splitlines()
    assert set(others) < set(now)
    assert {mine, '{"vars": {"review": "by hand"}}'} < set(now)
    assert not [row for row in now if row != mine and json.loads(row).get("cluster") == POLITE]
    said = capsys.readouterr().err
    assert f"{POLITE}: removed, because" in said
    edited, removed, retired = (json.loads(row)["id"] for row in (first, second, rest[0]))
    assert f"{retired}: removed, because the rule" in said or f"{retired}, " in said
    assert f"{edited}: kept" in said
    assert "1 item left out" in said
    spec = yaml.safe_load(texts(repository)[SPEC])
    assert removed in spec["made"]  # a person did that
    assert retired not in spec["made"]
    assert POLITE not in spec["made"]


def test_a_deleted_line_asks_only_about_what_followed_from_it(repository, run):
    first, _, *rest = PROMPT.split("\n")
    repository.write("prompts/review.txt", "\n".join([first, *rest]))
    assert run("--update") == (0, [])
    assert rules(repository)[POLITE]["lines"] == [2]
    repository.write("prompts/review.txt", "\n".join(rest))
    answer = updating(update_rules={"known": [known("keep", "", 1)], "new": []})
    code, stages = run("--update", answer=answer)
    assert (code, sorted(stages)) == (0, ["update_open_questions", "update_rules"])


def test_the_same_sentence_as_a_new_rule_is_the_rule_that_was_there(repository, run):
    repository.write("prompts/review.txt", NEUTRAL)
    before = texts(repository)[FIXTURES]
    same = {"text": "The output is either positive or negative.", "lines": [1]}
    assert run("--update", answer=updating(update_rules={"known": [], "new": [same]}))[0] == 0
    assert texts(repository)[FIXTURES] == before
    assert list(rules(repository)) == [LABEL, POLITE]


def test_what_a_person_changed_or_removed_stays_so(repository, run, capsys):
    spec = yaml.safe_load(texts(repository)[SPEC])
    spec["rules"] = [spec["rules"][0] | {"text": "The output is one of two words."}]
    spec["questions"] = []
    (repository.path / SPEC).write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    repository.write("prompts/review.txt", f"{NEUTRAL}Be kind.\n")
    new = {"text": "The output is polite!", "lines": [6]}
    again = {"kind": "ambiguity", "text": "A neutral review has no answer.", "lines": [1]}
    answer = updating(
        update_rules={"known": [], "new": [new]},
        update_open_questions={"known": [], "new": [again]},
    )
    fixtures = texts(repository)[FIXTURES]
    capsys.readouterr()
    assert run("--update", answer=answer)[0] == 0
    (rule,) = rules(repository).values()
    assert (rule["text"], rule["lines"]) == ("The output is one of two words.", [])
    assert yaml.safe_load(texts(repository)[SPEC])["questions"] == []
    assert texts(repository)[FIXTURES] == fixtures
    said = capsys.readouterr().err
    assert f"{LABEL}: kept" in said
    assert f"{POLITE}, question-neutral-review-has-no: not generated again" in said


def test_a_question_that_the_change_settles_and_a_rule_that_stays_true(repository, run, capsys):
    repository.write("prompts/review.txt", NEUTRAL)
    before = rules(repository)
    fixtures = texts(repository)[FIXTURES]
    answer = updating(
        update_rules={"known": [known("keep", "anything", 1, 2)], "new": []},
        update_open_questions={
            "known": [known("obsolete", "") | {"kind": "ambiguity"}, known("keep", "", 1) | OTHER],
            "new": [],
        },
    )
    assert run("--update", answer=answer)[0] == 0
    assert rules(repository) == before | {LABEL: before[LABEL] | {"lines": [1, 2]}}
    assert texts(repository)[FIXTURES] == fixtures
    assert yaml.safe_load(texts(repository)[SPEC])["questions"] == []
    settled = "question-neutral-review-has-no: removed, because the changed lines answer the open"
    said = capsys.readouterr().err
    assert f"{settled} question" in said
    assert "no longer states the item" not in said


OTHER = {"number": 7, "kind": "ambiguity"}


def test_another_variable_makes_the_tests_anew_that_cannot_be_sent(repository, run):
    repository.write("prompts/review.txt", PROMPT + "Shop: {{ shop }}\n")
    tests = {
        f"{which}_tests": [
            scripted_author.test_row("edge", f"{which} of a shop {n}", shop="a") for n in "123"
        ]
        for which in ("rule", "inverse")
    }
    input_ = {"text": "The shop is a name.", "lines": [6]}
    changed = {"intent": "Classify.", "known": [], "new": [input_]}
    answer = updating(tests=tests, update_input_specification=changed)
    code, stages = run("--update", answer=answer)
    assert (code, stages.count("tests")) == (0, 2)
    rows = map(json.loads, texts(repository)[FIXTURES].splitlines())
    assert all("shop" in row["vars"] for row in rows)
    spec = yaml.safe_load(texts(repository)[SPEC])
    assert spec["intent"] == "Classify."
    assert [item["id"] for item in spec["input"]][1:] == ["input-shop-name"]


@pytest.mark.parametrize(
    ("prepare", "code", "named"),
    [
        (lambda path: (path / SPEC).unlink(), 2, f"no specification {SPEC}"),
        (
            lambda path: (path / SPEC).write_text(
                (path / SPEC).read_text("utf-8").replace("  prompt: ", "  prompt: x "), "utf-8"
            ),
            2,
            "once without --update",
        ),
    ],
)
def test_an_update_without_a_known_text_is_refused(repository, run, capsys, prepare, code, named):
    prepare(repository.path)
    assert run("--update") == (code, [])
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("other", ["--as-is", "--for-survivors"])
def test_an_update_is_no_other_kind_of_run(run, capsys, other):
    assert run("--update", other) == (2, [])
    assert f"--update and {other}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code", "named"),
    [
        (updating(update_rules="no"), 3, "stage update_rules"),
        (updating(update_rules={"known": [known("reword", "x", 99)], "new": []}), 0, "left out"),
    ],
)
def test_a_poor_answer_loses_nothing_of_other_rules(repository, run, capsys, answer, code, named):
    before, polite = texts(repository), rules(repository)[POLITE]
    repository.write("prompts/review.txt", NEUTRAL)
    assert run("--update", answer=answer)[0] == code
    assert named in capsys.readouterr().err
    assert rules(repository)[POLITE] == polite
    assert (texts(repository) == before) is (code != 0)


def test_no_rule_left_is_said_and_changes_no_file(repository, run, capsys):
    before = texts(repository)
    repository.write("prompts/review.txt", "{{ review }}\n")
    assert run("--update", answer=updating(rules={"rules": []}))[0] == 2
    assert "found no rule for the output" in capsys.readouterr().err
    assert texts(repository) == before


def test_a_persons_wishes_stay_and_reach_the_stages(repository, run):
    spec = (repository.path / SPEC).read_text("utf-8")
    wish = "instructions:\n  rules: Look at the tone.\n"
    (repository.path / SPEC).write_text(spec.replace("made:\n", f"{wish}made:\n"), "utf-8")
    repository.write("prompts/review.txt", NEUTRAL)
    asked = []
    scripted = updating(update_rules=REWORDED)

    def answer(body):
        asked.append((stage_of(body), "Look at the tone." in body["messages"][0]["content"]))
        return scripted(body)

    assert run("--update", answer=answer)[0] == 0
    assert [stage for stage, told in asked if told] == ["update_rules"]
    assert wish in texts(repository)[SPEC]


def test_an_estimate_of_an_update_counts_what_changed(repository, run, capsys):
    repository.write("prompts/review.txt", NEUTRAL)
    capsys.readouterr()
    assert run("--update", "--estimate") == (0, [])
    said = capsys.readouterr().out
    assert "2 rules (assuming 1 new rule, one for each changed line): at most 7 calls" in said


@pytest.mark.parametrize("edit", ["", "# mine\n"])
def test_a_judge_of_an_earlier_version_learns_the_prompt_unless_a_person_edited_it(
    repository, run, capsys, edit
):
    """Earlier contracts gave a rule to its judge as `instructions`, without the prompt."""
    new = texts(repository)[CONTRACT]
    assert "rule: The output is polite." in new
    earlier = new.replace("rule: The output", "instructions: The output")
    spec = yaml.safe_load(texts(repository)[SPEC])
    spec["made"]["contract"] = content_digest(earlier)
    repository.write(SPEC, yaml.safe_dump(spec, sort_keys=False))
    repository.write(CONTRACT, earlier + edit)
    capsys.readouterr()

    assert run("--update") == (0, [])
    assert texts(repository)[CONTRACT] == (earlier + edit if edit else new)
    assert ("is kept as it is, because you changed it" in capsys.readouterr().err) is bool(edit)
