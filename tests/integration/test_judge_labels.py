"""`gatekeeper judge label` and `gatekeeper judge agreement`, as a person uses them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support.recorded_repository import WORDS, write_contract

from gatekeeper.cli.main import main
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Completion, Outcome, Request, Sample, Trial
from gatekeeper.reports.formats.samples import sample_document

HOSTILE = "</pre><script>window.owned = 1</script>\x1b[31m ok"


@pytest.fixture
def run(git_repository, tmp_path: Path) -> tuple[str, Path]:
    """A repository, and the folder of a run on both arms whose outputs differ."""
    made = git_repository("labels")
    write_contract(made)
    made.commit("base")
    out = tmp_path / "out"
    out.mkdir()
    outputs = [(word, arm, f"{word} {arm[:1]}") for word in WORDS[1:] for arm in ("base", "head")]
    outputs += [(WORDS[0], "base", "ok"), (WORDS[0], "head", HOSTILE)]
    lines = [sample_line(*found) for found in (*outputs, outputs[0])]
    (out / "samples.jsonl").write_text("".join(lines), encoding="utf-8")
    return str(made.path), out


def sample_line(fixture: str, arm: Arm, output: str) -> str:
    request = Request("m", (Message("user", fixture),), {}, None, 0)
    sample = Sample(Trial("words", fixture, arm, 0, request), Completion(output), output=output)
    return json.dumps(sample_document(Outcome(sample))) + "\n"


def label(run: tuple[str, Path], labels: Path, *more: str) -> int:
    command = ["judge", "--repo", run[0], "label", "words", "--run", str(run[1])]
    return main([*command, "--labels", str(labels), *more])


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def rows(labels: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in labels.read_text().splitlines()]


def test_labels_are_kept_at_once_and_a_second_session_goes_on(run, tmp_path, monkeypatch, capsys):
    labels = tmp_path / "labels.jsonl"
    typed(monkeypatch, "p\nwhat?\nf 2\nf x\nf nan\nf 0.25\ns\nq\n")
    assert label(run, labels, "--annotator", "ada") == 0
    shown = capsys.readouterr().out
    assert "base" not in shown
    assert "head" not in shown
    assert "\x1b" not in shown
    assert max(len(line) for line in shown.splitlines() if "─" in line and "?" not in line) <= 80
    assert [row["verdict"] for row in rows(labels)] == ["pass", "fail"]
    assert [row.get("score") for row in rows(labels)] == [None, 0.25]
    # Six fixtures with an output of base and one of head each.
    typed(monkeypatch, "p\n" * 20)
    assert label(run, labels, "--annotator", "ada") == 0
    given = {(row["fixture"], row["output"]) for row in rows(labels)}
    assert len(given) == len(rows(labels)) == 12
    assert (WORDS[0], HOSTILE) in given
    typed(monkeypatch, "p\n" * 20)
    assert label(run, labels, "--annotator", "ben") == 0
    assert len(rows(labels)) == 24
    capsys.readouterr()
    assert main(["judge", "agreement", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["annotators"]
    assert (found["names"], found["outputs"], found["tied"]) == (["ada", "ben"], 12, 1)


def test_the_outputs_of_one_fixture_follow_each_other(run, tmp_path, monkeypatch):
    labels = tmp_path / "labels.jsonl"
    typed(monkeypatch, "p\n" * 12)
    assert label(run, labels, "--annotator", "ada") == 0
    fixtures = [row["fixture"] for row in rows(labels)]
    assert fixtures[0::2] == fixtures[1::2]
    assert sorted(fixtures[0::2]) == sorted(WORDS)


def test_people_who_stop_early_label_the_same_outputs(run, tmp_path, monkeypatch):
    labels = tmp_path / "labels.jsonl"
    for annotator in ("ada", "ben"):
        typed(monkeypatch, "p\np\np\nq\n")
        assert label(run, labels, "--annotator", annotator) == 0
    given = [(row["fixture"], row["output"]) for row in rows(labels)]
    assert given[:3] == given[3:]


@pytest.mark.parametrize(
    "more",
    [["--labels", "labels.csv"], ["--run", "nowhere"]],
    ids=["csv", "no run"],
)
def test_bad_input_is_refused(run, tmp_path, more, capsys):
    assert label(run, tmp_path / "labels.jsonl", *more) == 2
    assert more[1] in capsys.readouterr().err


def test_answers_that_call_tools_are_refused(run, tmp_path, capsys):
    lines = (run[1] / "samples.jsonl").read_text("utf-8").splitlines()
    called = {**json.loads(lines[0]), "tool_calls": [{"name": "t", "arguments": "{}", "id": "1"}]}
    text = "\n".join([json.dumps(called), *lines[1:]])
    (run[1] / "samples.jsonl").write_text(text, encoding="utf-8")
    assert label(run, tmp_path / "labels.jsonl") == 2
    assert "answers of words call tools" in capsys.readouterr().err
    assert not (tmp_path / "labels.jsonl").exists()


def test_an_unknown_contract_is_refused(run, capsys):
    assert main(["judge", "--repo", run[0], "label", "none", "--run", str(run[1])]) == 2
    assert "none" in capsys.readouterr().err


def test_agreement_of_pairs_is_printed_without_a_model(tmp_path, capsys):
    file = tmp_path / "pairs.csv"
    file.write_text(
        "judge,pair_id,label,decision,decision_swapped,chars_a,chars_b\n"
        "x/one,1,A>B,A>B,B>A,9,5\nx/one,2,B>A,A>B,A>B,9,5\n"
        "y/two,1,A>B,A>B,B>A,9,5\ny/two,2,B>A,B>A,A>B,9,5\n"
    )
    assert main(["judge", "agreement", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "x/one" in printed
    assert main(["judge", "agreement", str(file), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["judges"][0]
    assert first["position"]["contradictory"]["value"] == 0.5
