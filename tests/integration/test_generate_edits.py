"""`gatekeeper generate` after a person edited rules, or with less effort, with a scripted model."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from support.generate_fixtures import FIXTURES, SPEC
from support.scripted_author import PROMPT, author, stage_of
from support.scripted_author import test_row as row_of

from gatekeeper.cli.main import main

LABEL, POLITE = "either-positive-negative", "polite"
ADDED = {"id": "mine", "text": "The output has no emoji.", "lines": [2], "judge": "complies"}
EDITED = "The output is friendly and warm."


def answer(body):
    """Write an inverse and tests that say which rule they are for."""
    question = body["messages"][1]["content"]
    if stage_of(body) == "inverse_rules":
        rules = re.findall(r"^(\d+)\. (.+)$", question, re.MULTILINE)
        found = [{"number": int(n), "inverse": f"Not so: {text}"} for n, text in rules]
        return json.dumps({"inverses": found})
    if stage_of(body) == "tests" and _edited(question):
        (about,) = _edited(question)
        words = {"rule": "Delivered on a sunny Tuesday morning", "inverse": "Kettle broke, twice"}
        return json.dumps(
            {
                f"{which}_tests": [
                    row_of("edge", f"{about}: {text if about == 'warm' else text[::-1]}")
                ]
                for which, text in words.items()
            }
        )
    return author()(body)


def _edited(question: str) -> list[str]:
    return [name for name, text in (("warm", EDITED), ("emoji", ADDED["text"])) if text in question]


@pytest.fixture
def run(repository, generate):
    def stages(*flags: str, answer=answer) -> list[str]:
        code, server = generate(*flags, answer=answer)
        assert code == 0
        return sorted(stage_of(body) for body in server.requests)

    stages()
    stages.path = repository.path
    return stages


def edit(run, change) -> None:
    path = run.path / SPEC
    spec = yaml.safe_load(path.read_text("utf-8"))
    change(spec["rules"])
    path.write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")


def rules(run) -> dict[str, dict]:
    return {r["id"]: r for r in yaml.safe_load((run.path / SPEC).read_text("utf-8"))["rules"]}


def fixtures_of(run, *which: str) -> dict[str, str]:
    """The fixture lines by their ids: those that begin so."""
    lines = (run.path / FIXTURES).read_text("utf-8").splitlines()
    return {name: row for row in lines if (name := json.loads(row)["id"]).startswith(which)}


def reword(found) -> None:
    found[1]["text"] = EDITED


@pytest.mark.parametrize("flags", [("--update",), ()])
def test_an_edited_and_an_added_rule_get_an_inverse_and_tests(run, flags, capsys):
    def change(found):
        reword(found)
        found.append(dict(ADDED))

    before, untouched = rules(run), fixtures_of(run, LABEL)
    edit(run, change)
    stages = run(*flags)
    if flags:
        assert stages == ["inverse_rules", "tests", "tests"]
    now = rules(run)
    assert now[LABEL] == before[LABEL]
    assert now[POLITE] == before[POLITE] | {"text": EDITED, "inverse": f"Not so: {EDITED}"}
    assert now["mine"] == ADDED | {"inverse": f"Not so: {ADDED['text']}"}
    assert fixtures_of(run, LABEL) == untouched
    for rule, about in ((POLITE, "warm"), ("mine", "emoji")):
        names = [f"{rule}.1", f"{rule}.inverse.1"]
        found = fixtures_of(run, rule)
        assert list(found) == names
        assert all(f"{about}: " in row for row in found.values())
    assert f"{POLITE}, mine: new inverse" in capsys.readouterr().err
    assert main(["validate"]) == 0

    # It is done once.
    before = rules(run), fixtures_of(run, "")
    assert run("--update") == []
    assert (rules(run), fixtures_of(run, "")) == before


@pytest.mark.parametrize("effort", ["low", "min"])
def test_an_inverse_of_a_person_stays(run, effort):
    def own(found):
        reword(found)
        found[1]["inverse"] = "The output insults."

    edit(run, own)
    assert run("--update") == ["tests"]
    assert rules(run)[POLITE]["inverse"] == "The output insults."
    assert "warm: Kettle" in fixtures_of(run, POLITE)[f"{POLITE}.inverse.1"]

    # Another text does not replace it, and has tests of its own. Those of the inverse stay.
    inverse = fixtures_of(run, f"{POLITE}.inverse")
    edit(run, lambda found: found[1].update(text=ADDED["text"]))
    assert run("--update", "--effort", effort) == ["tests"]
    assert rules(run)[POLITE]["inverse"] == "The output insults."
    assert "emoji: " in fixtures_of(run, POLITE)[f"{POLITE}.1"]
    assert fixtures_of(run, f"{POLITE}.inverse") == inverse


def test_an_inverse_that_a_person_removed_stays_removed(run):
    edit(run, lambda found: found[1].update(inverse=""))
    own = {name for name in fixtures_of(run, POLITE) if "inverse" not in name}
    assert run("--update") == []
    assert set(fixtures_of(run, POLITE)) == own
    assert "inverse_rules" in run()  # of the other rule
    assert rules(run)[POLITE]["inverse"] == ""
    assert set(fixtures_of(run, POLITE)) == own
    edit(run, reword)
    assert run("--update") == ["tests"]
    assert rules(run)[POLITE]["inverse"] == ""
    assert not fixtures_of(run, f"{POLITE}.inverse")


def test_tests_that_a_person_removed_with_the_earlier_text_do_not_prevent_new_ones(run):
    edit(run, reword)
    rest = fixtures_of(run, LABEL, f"{POLITE}.inverse").values()
    (run.path / FIXTURES).write_text("".join(f"{row}\n" for row in rest), "utf-8")
    run("--update")
    assert f"{POLITE}.1" in fixtures_of(run, POLITE)


def test_less_effort_keeps_the_tests_and_more_effort_writes_them_again(run, capsys):
    before = fixtures_of(run, "")
    capsys.readouterr()
    assert run("--effort", "min", "--estimate") == []
    assert "min 5, low 7" in capsys.readouterr().out
    stages = run("--effort", "min")
    assert "tests" not in stages
    assert fixtures_of(run, "") == before
    assert run("--tests-per-rule", "1").count("tests") == 0

    # An edited rule has the effort of its run, the other ones still that of theirs.
    edit(run, reword)
    stages = run("--effort", "min")
    assert stages.count("tests") == 1
    assert fixtures_of(run, LABEL).items() <= before.items()
    assert set(fixtures_of(run, POLITE)) == {f"{POLITE}.1", f"{POLITE}.inverse.1"}
    assert run().count("tests") == 2


def test_tests_that_cannot_be_sent_any_more_are_written_with_less_effort(run):
    (run.path / "prompts/review.txt").write_text(PROMPT + "Shop: {{ shop }}\n", "utf-8")
    tests = {
        f"{which}_tests": [row_of("edge", f"{which} of a shop", shop="a")]
        for which in ("rule", "inverse")
    }
    stages = run("--effort", "min", answer=author({"tests": tests}))
    assert stages.count("tests") == 2
    assert all("shop" in json.loads(row)["vars"] for row in fixtures_of(run, "").values())


def test_a_rule_for_which_no_test_was_written_is_tried_again(run, capsys):
    edit(run, lambda found: found.append(dict(ADDED)))
    none = {"rule_tests": [], "inverse_tests": []}
    run("--update", answer=author({"tests": none, "inverse_rules": {"inverses": []}}))
    assert "mine: no test" in capsys.readouterr().err
    assert run("--update") == ["inverse_rules", "tests"]
    assert fixtures_of(run, "mine")
    assert run("--update") == []


def test_baseline_tests_can_be_added_without_a_judge(run, capsys):
    rows = [{"scenario": "s", "vars": {"review": text}} for text in ("Superb.", "It broke.")]
    run("--as-is", "--baseline", "2", answer=author({"baseline_tests": {"tests": rows}}))
    assert len(fixtures_of(run, "baseline.")) == 2
    assert "in 4 clusters cannot show a drop" in capsys.readouterr().err
