"""The quality steps of `gatekeeper generate` as their user runs them, with scripted models."""

from __future__ import annotations

import json

import pytest
import yaml
from support import scripted_author
from support.edited_text import edited
from support.generate_fixtures import CONTRACT, FIXTURES, PROMPT_FILE, SPEC
from support.openai_server import Reply, bad_request, unauthorized
from support.scripted_author import MODEL, PROMPT, author, stage_of
from support.scripted_judges import EMBEDDER, INPUTS, JUDGES, quality_author, verdict

from gatekeeper.author.quality.judges import EXAMPLE
from gatekeeper.cli.main import main

OUT = ".gatekeeper/generate"
CHECKED = ("--as-is", "--check-quality", "--judges", JUDGES[0])


@pytest.fixture
def generate(generate):
    """Return the exit code, and the stages or models that were asked."""

    def run(*flags: str, answer=None) -> tuple[int, list[str]]:
        code, server = generate(*flags, answer=answer or quality_author())
        return code, [stage_of(body) or str(body.get("model")) for body in server.requests]

    return run


@pytest.fixture
def generated(generate, repository, capsys):
    """The files of an ordinary run."""
    assert generate()[0] == 0
    capsys.readouterr()
    return repository


def rows(repository) -> dict[str, dict]:
    text = (repository.path / FIXTURES).read_text("utf-8")
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


def write_rows(repository, found) -> None:
    text = "".join(f"{json.dumps(row)}\n" for row in found.values())
    (repository.path / FIXTURES).write_text(text, "utf-8")


def report(repository) -> dict:
    return json.loads((repository.path / OUT / "quality.json").read_text("utf-8"))


def contents(repository, *more: str) -> dict[str, str]:
    paths = (SPEC, FIXTURES, CONTRACT, *more)
    return {path: (repository.path / path).read_text("utf-8") for path in paths}


def test_one_run_writes_checks_and_compares_and_its_recording_repeats_it(
    repository, generate, capsys
):
    flags = ("--check-quality", "--baseline", "5", "--judges", ",".join(JUDGES))
    flags = (*flags, "--ground-truth", "openai/gpt-4o", "--embeddings", EMBEDDER)
    code, asked = generate(*flags)
    assert code == 0
    said = capsys.readouterr().out
    assert asked.count("rule_grounded") == 2 * 2
    found = rows(repository)
    assert [r["vars"]["review"] for r in found.values() if r["category"] == "baseline"] == [
        *INPUTS[:5]
    ]
    assert found["baseline.1"].keys() == {"id", "vars", "category", "metadata"}
    assert asked.count("test_valid") == 2 * len(found)
    rejected = [name for name, row in found.items() if not row["metadata"]["valid"]]
    assert len(rejected) == 2
    assert all("again" in found[name]["vars"]["review"] for name in rejected)
    validity = found[rejected[0]]["metadata"]["validity"]
    assert validity["verdict"] == "not valid"
    assert validity["judges"] == dict.fromkeys(JUDGES, False)

    # A proposed answer is marked, is no expected output, and a rejected test has none.
    proposed = found["baseline.1"]["metadata"]["proposed"]
    assert proposed == {
        "answer": "positive",
        "model": "openai/gpt-4o",
        "score": 1.0,
        "judges": dict.fromkeys(JUDGES, True),
    }
    assert not any("proposed" in found[name]["metadata"] for name in rejected)
    assert not any("expected" in row for row in found.values())

    quality = report(repository)
    assert quality["groundedness"] == {"good": 1, "bad": 1, "total": 2}
    assert quality["validity"]["rule"] == {"good": 3, "bad": 1, "total": 4}
    assert quality["coverage"] == {"rules": 2, "rule": 2, "inverse": 2, "both": 2, "uncovered": []}
    agreement = quality["agreement"]
    assert (agreement["measure"], agreement["cosine"]) == ("embeddings", 1.0)
    assert agreement["compliance"]["both"] == 5
    assert agreement["compliance"]["p_value"] == 1.0
    assert len(quality["ground_truth"]["proposed"]) == len(found) - 2
    assert "does not follow from line 3: Line 3" in said
    assert "embeddings of" in said
    page = (repository.path / OUT / "quality.md").read_text("utf-8")
    assert "is no review" in page
    assert main(["validate"]) == 0

    reports = (f"{OUT}/quality.md", f"{OUT}/quality.json", f"{OUT}/generate.answers.jsonl")
    before = contents(repository, *reports)
    assert "sk-not-a-real" not in str(before)
    for path in (SPEC, FIXTURES, CONTRACT, *reports[:2]):
        (repository.path / path).unlink()
    replayed = ("generate", PROMPT_FILE, "--model", MODEL, *flags, "--replay", reports[2])
    assert main([*replayed]) == 0
    assert contents(repository, *reports) == before


def test_verdicts_are_no_edits_of_a_person_and_survive_the_next_run(generated, generate, capsys):
    before = contents(generated)
    assert generate(*CHECKED, "--baseline", "4")[0] == 0
    capsys.readouterr()
    checked = rows(generated)
    assert yaml.safe_load(contents(generated)[SPEC])["made"].keys() > {"baseline.1"}
    assert contents(generated)[CONTRACT] == before[CONTRACT]
    assert generate()[0] == 0
    assert rows(generated) == checked
    assert "kept" not in capsys.readouterr().err
    # A test that is another one now has lost its verdict.
    changed = {"rule_tests": [], "inverse_tests": []}
    row = {"kind": "edge", "scenario": "s", "reason": "r", "vars": {"review": "Something new."}}
    answer = author({"tests": {**changed, "rule_tests": [row]}})
    assert generate(answer=answer)[0] == 0
    now = rows(generated)
    assert any("valid" not in one["metadata"] for one in now.values())
    assert now["baseline.1"] == checked["baseline.1"]


def test_an_update_keeps_verdicts_and_baseline_tests(generated, generate, capsys):
    assert generate(*CHECKED, "--baseline", "3")[0] == 0
    before = rows(generated)
    generated.write(PROMPT_FILE, f"Be brief.\n{PROMPT}")
    none = {"known": [], "new": []}
    rule = {"text": "The output is brief.", "lines": [1]}
    news = {
        "update_rules": {"known": [], "new": [rule]},
        "update_input_specification": {"intent": "Classify a review.", **none},
        "update_open_questions": none,
        "tests": {
            "rule_tests": [scripted_author.test_row("edge", "Long ago I bought it.")],
            "inverse_tests": [],
        },
    }
    capsys.readouterr()
    assert generate("--update", answer=quality_author(news))[0] == 0
    after = rows(generated)
    assert {name: after[name] for name in before} == before
    assert [n for n, row in after.items() if "valid" not in row["metadata"]] == ["brief.1"]
    assert generate(*CHECKED)[0] == 0
    assert all("valid" in row["metadata"] for row in rows(generated).values())


def test_what_a_person_says_of_a_test_stays(generated, generate):
    assert generate(*CHECKED)[0] == 0
    found = rows(generated)
    wrong = next(name for name, row in found.items() if not row["metadata"]["valid"])
    other = next(name for name, row in found.items() if row["metadata"]["valid"])
    found[wrong]["metadata"]["valid"] = True
    found[other]["metadata"] = {"valid": False}
    found["mine"] = {"id": "mine", "vars": {"review": "by hand"}}
    write_rows(generated, found)
    code, asked = generate(*CHECKED)
    assert (code, asked.count("test_valid")) == (0, len(found) - 2)
    after = rows(generated)
    assert after[wrong] == found[wrong]
    assert after[other] == found[other]
    assert after["mine"]["metadata"]["valid"] is True
    tests = {test["id"]: test for test in report(generated)["tests"]}
    assert (tests[wrong]["valid"], tests[wrong]["by_person"]) == (True, True)
    assert tests["mine"]["category"] == "other"


def test_files_that_no_run_could_use_are_named_and_stay(generated, generate, capsys):
    generated.write(PROMPT_FILE, f"{PROMPT}Thanks.\n")
    found = rows(generated)
    assert generate(*CHECKED)[0] == 0
    assert "--update" in capsys.readouterr().err
    write_rows(generated, {**found, "odd": {"id": "odd", "vars": {"review": "\ud800"}}})
    before = contents(generated)
    assert generate(*CHECKED)[0] == 2
    assert f"{FIXTURES}:9" in capsys.readouterr().err
    assert contents(generated) == before


def test_rejected_items_are_left_out_on_demand_but_not_those_of_a_person(generated, generate):
    first = yaml.safe_load(contents(generated)[SPEC])["rules"][0]["id"]
    found = rows(generated)
    own = next(n for n in found if n.startswith(first) and "again" in found[n]["vars"]["review"])
    found[own]["expected"] = "negative"
    write_rows(generated, found)
    assert generate(*CHECKED, "--leave-out-rejected")[0] == 0
    spec = yaml.safe_load(contents(generated)[SPEC])
    assert [rule["id"] for rule in spec["rules"]] == [first]
    left = rows(generated)
    assert [name for name in left if not left[name]["metadata"]["valid"]] == [own]
    assert all(name.startswith(first) for name in left)
    contract = yaml.safe_load(contents(generated)[CONTRACT])
    assert [check["name"] for check in contract["checks"]] == [first]
    assert report(generated)["coverage"]["rules"] == 1
    assert main(["validate"]) == 0
    # No person removed them, so that they can come back.
    assert generate()[0] == 0
    assert len(yaml.safe_load(contents(generated)[SPEC])["rules"]) == 2


def test_not_everything_is_left_out(generated, generate, capsys):
    before = contents(generated)
    no = quality_author({"test_valid": verdict("no"), "rule_grounded": verdict("no")})
    assert generate(*CHECKED, "--leave-out-rejected", answer=no)[0] == 0
    assert "gatekeeper left nothing out" in capsys.readouterr().err
    assert contents(generated)[SPEC] == before[SPEC]
    assert len(report(generated)["coverage"]["uncovered"]) == 2


def refused(_):
    return Reply(None, refusal="I cannot help with that.")


@pytest.mark.parametrize("bad", ["rubbish", '{"verdict": "yes"}', refused, lambda _: bad_request()])
def test_a_judge_without_a_usable_answer_leaves_it_unknown(generated, generate, capsys, bad):
    answer = quality_author({"test_valid": bad})
    assert generate(*CHECKED, answer=answer)[0] == 0
    assert "test_valid" not in capsys.readouterr().err
    found = rows(generated)
    assert not any("valid" in row["metadata"] for row in found.values())
    quality = report(generated)
    assert quality["coverage"]["rule"] == 0
    assert quality["unusable_answers"] == len(found)
    before = contents(generated, f"{OUT}/quality.json")
    replayed = ("generate", PROMPT_FILE, "--model", MODEL, *CHECKED)
    assert main([*replayed, "--replay", f"{OUT}/generate.answers.jsonl"]) == 0
    assert contents(generated, f"{OUT}/quality.json") == before


def test_judges_decide_by_majority(generated, generate):
    def split(body):
        return verdict("yes" if "claude" in body["model"] else "unknown")

    flags = ("--as-is", "--check-quality", "--judges", ",".join(JUDGES))
    assert generate(*flags, answer=quality_author({"test_valid": split}))[0] == 0
    assert report(generated)["validity"]["rule"] == {"good": 0, "bad": 0, "total": 4}
    third = (*flags[:-1], f"{flags[-1]},openai/claude-2")
    assert generate(*third, answer=quality_author({"test_valid": split}))[0] == 0
    assert report(generated)["validity"]["rule"]["good"] == 4


@pytest.mark.parametrize(
    ("answers", "code", "named"),
    [
        ({"test_valid": "rubbish", "rule_grounded": "rubbish"}, 3, "--judges"),
        ({"test_valid": lambda _: unauthorized()}, 3, "claude-judge"),
    ],
)
def test_a_judge_that_cannot_grade_ends_the_run(generated, generate, capsys, answers, code, named):
    before = contents(generated)
    assert generate(*CHECKED, answer=quality_author(answers))[0] == code
    assert named in capsys.readouterr().err
    assert contents(generated) == before
    assert not (generated.path / OUT / "quality.json").exists()


def test_a_person_accepts_proposed_answers(generated, generate, capsys):
    flags = ("--as-is", "--ground-truth", "openai/gpt-4o", "--judges", ",".join(JUDGES))
    doubt = {"answer_correct": lambda b: verdict("no" if "as they can be" in str(b) else "yes")}
    assert generate(*flags, answer=quality_author(doubt))[0] == 0
    found = rows(generated)
    first, second = [name for name, row in found.items() if "proposed" in row["metadata"]][:2]
    assert set(report(generated)["ground_truth"]) == {"model", "proposed", "rejected", "failed"}
    accept = ("generate", PROMPT_FILE, "--accept-ground-truth")
    capsys.readouterr()
    assert main([*accept, first]) == 0
    assert "No check of contracts/review.yaml uses `expected`" in capsys.readouterr().err
    now = rows(generated)
    assert now[first]["expected"] == "positive"
    assert now[first]["metadata"]["ground_truth"]["model"] == "openai/gpt-4o"
    assert "proposed" not in now[first]["metadata"]
    assert now[second] == found[second]
    # What is accepted is a person's: it stays, and no answer is proposed again.
    assert generate()[0] == 0
    assert rows(generated)[first] == now[first]
    assert generate(*flags, answer=quality_author({"answer_correct": verdict("no")}))[0] == 0
    assert "proposed" not in rows(generated)[second]["metadata"]
    capsys.readouterr()
    assert main([*accept, "all"]) == 2
    assert main([*accept, "nothing"]) == 2
    assert "no proposed answer" in capsys.readouterr().err
    assert main(["validate"]) == 0

    # The check that the command names is one that the contract can have.
    contract = generated.path / CONTRACT
    contract.write_text(edited(contract.read_text(), "checks:\n", f"checks:\n- {EXAMPLE}\n"))
    assert main(["validate"]) == 0
    assert generate(*flags, answer=quality_author())[0] == 0
    capsys.readouterr()
    assert main([*accept, "all"]) == 0
    assert capsys.readouterr().err == ""


def test_an_empty_or_refused_answer_is_no_proposal(generated, generate):
    flags = ("--as-is", "--ground-truth", "openai/gpt-4o", "--judges", ",".join(JUDGES))
    answer = quality_author({"": lambda b: " " if "phone" in str(b) else bad_request()})
    assert generate(*flags, answer=answer)[0] == 0
    found = report(generated)["ground_truth"]
    assert (found["proposed"], len(found["failed"])) == ([], len(rows(generated)))


def test_agreement_counts_what_the_prompt_and_its_rules_do_differently(generated, generate):
    def run(body):
        is_specification = "Rules for the output" in str(body["messages"])
        return "neutral, I think" if is_specification else "positive"

    flags = (*CHECKED, "--baseline", "6")
    assert generate(*flags, answer=quality_author({"": run}))[0] == 0
    found = report(generated)["agreement"]
    assert (found["measure"], found["cosine"]) == ("word_sets", 0.0)
    assert found["compliance"]["prompt_alone"] == 6
    assert found["compliance"]["p_value"] == pytest.approx(2 / 2**6)
    missing = quality_author({"": lambda _: bad_request()})
    assert generate(*CHECKED, answer=missing)[0] == 0
    found = report(generated)["agreement"]
    assert (found["cosine"], found["compliance"]["unknown"]) == (None, 6)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--as-is",), "--as-is alone"),
        (("--as-is", "--check-quality"), "without --as-is first"),
        (("--baseline", "0"), "--baseline 0"),
        (("--ground-truth", "openai/gpt-4o"), "at least two judges"),
        (("--ground-truth", "openai/gpt-4o", "--judges", "azure/gpt-5,openai/claude-1"), "family"),
        (("--check-quality", "--judges", "nobody/x"), "--judges"),
        (("--check-quality", "--embeddings", "anthropic/x"), "--embeddings anthropic/x"),
        (("--check-quality", "--embeddings", "local/smollm2"), "--embeddings local/"),
        (("--check-quality", "--embeddings", "no model"), "--embeddings no model"),
        (("--as-is", "--update", "--baseline"), "--update and --as-is"),
        (("--accept-ground-truth", "all"), "no proposed answer"),
    ],
)
def test_bad_options_are_refused_before_any_call(repository, generate, capsys, flags, named):
    assert generate(*flags) == (2, [])
    assert named in capsys.readouterr().err


def test_a_model_has_to_be_named(repository, capsys):
    assert main(["generate", PROMPT_FILE]) == 2
    assert "--model is missing" in capsys.readouterr().err


def test_the_estimate_counts_the_calls_of_all_steps(generated, generate, capsys):
    flags = (*CHECKED, "--baseline", "6", "--embeddings", EMBEDDER)
    code, asked = generate(*flags)
    assert code == 0
    capsys.readouterr()
    write_rows(generated, {n: r for n, r in rows(generated).items() if "baseline" not in n})
    assert generate(*flags, "--estimate") == (0, [])
    assert f"at most {len(asked)} calls" in capsys.readouterr().out
    truth = ("--ground-truth", "openai/gpt-4o", "--judges", ",".join(JUDGES))
    assert generate(*truth, "--estimate") == (0, [])
    said = capsys.readouterr().out
    assert "claude-judge, openai/llama-judge is not known" in said
