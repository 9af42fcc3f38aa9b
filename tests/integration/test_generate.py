"""`gatekeeper generate` as its user runs it, with a scripted model on 127.0.0.1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from support.generate_fixtures import ANSWERS, CONTRACT, FIXTURES, SPEC
from support.killed_process import killed_at_second_replacement
from support.openai_server import OpenAIServer, Reply, bad_request, model_not_found
from support.scripted_author import MODEL, PROMPT, author, stage_of

from gatekeeper.cli.main import main

FILES = (SPEC, FIXTURES, CONTRACT)


def files(repository) -> dict[str, str]:
    paths = (repository.path / path for path in FILES)
    return {path.name: path.read_text("utf-8") for path in paths if path.exists()}


def test_a_prompt_gets_a_contract_that_runs_and_a_recording_that_repeats_it(
    repository, generate, capsys
):
    code, server = generate("--tests-per-rule", "2")
    assert code == 0
    assert len(server.requests) == 7
    said = capsys.readouterr()
    assert "2 rules, 1 with a check and 1 for a judge; 6 fixtures; 1 open question" in said.out
    assert "do not exist" in said.err
    assert "2 tests left out" in said.err
    assert "6 fixtures in 2 clusters cannot show a drop" in said.err
    assert "--baseline 132" in said.err
    written = files(repository)
    spec = yaml.safe_load(written["review.spec.yaml"])
    first, second = spec["rules"]
    assert first["check"] == {"type": "enum", "values": ["positive", "negative"]}
    assert (second["judge"], second["lines"]) == ("complies", [3])
    judged = yaml.safe_load(written["review.yaml"])["checks"][1]
    assert judged == {"name": second["id"], "judge": "complies", "rule": "The output is polite."}
    rows = [json.loads(line) for line in written["review.fixtures.jsonl"].splitlines()]
    assert {row["category"] for row in rows} == {"rule", "inverse_rule"}
    assert {row["cluster"] for row in rows} == {first["id"], second["id"]}
    assert not any("expected" in row for row in rows)
    assert main(["validate"]) == 0
    assert "review.spec.yaml" not in capsys.readouterr().out

    # Without a model, the recording gives the same bytes.
    for path in FILES:
        (repository.path / path).unlink()
    recording = repository.path / ANSWERS
    before = recording.read_bytes()
    replayed = ("generate", "prompts/review.txt", "--model", MODEL, "--tests-per-rule", "2")
    assert main([*replayed, "--replay", ANSWERS]) == 0
    assert files(repository) == written
    assert recording.read_bytes() == before
    assert "0 calls" in capsys.readouterr().out

    # The contract runs, and its own recording can be replayed.
    repository.commit("a contract")
    with OpenAIServer(_compliant) as model, pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENAI_BASE_URL", model.url)
        assert main(["run"]) == 0
        shown = [str(body["messages"]) for body in model.requests if stage_of(body)]
        assert shown
        assert all("The output is polite." in text for text in shown)
        assert all("Review: {{ review }}" in text for text in shown)
        inputs = [row["vars"]["review"] for row in rows]
        assert not any(given in text for given in inputs for text in shown)
    samples = Path(".gatekeeper/out/samples.jsonl").rename("samples.jsonl")
    assert main(["run", "--replay", str(samples)]) == 0


def _compliant(body) -> str:
    verdict = json.dumps({"reason": "It is polite.", "verdict": "yes"})
    return verdict if stage_of(body) else "positive"


def test_a_second_run_keeps_what_a_person_changed_added_and_removed(repository, generate, capsys):
    assert generate()[0] == 0
    spec = yaml.safe_load((repository.path / SPEC).read_text("utf-8"))
    first, second = spec["rules"]
    first["text"] = "The output is positive, negative or mixed."
    first["check"]["values"].append("mixed")
    own = {"id": "mine", "text": "The output has no emoji.", "lines": [2], "judge": "complies"}
    spec["rules"] = [first, own]
    (repository.path / SPEC).write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    rows = (repository.path / FIXTURES).read_text("utf-8").splitlines()
    changed = json.loads(rows[0])
    changed["expected"] = "positive"
    kept = [json.dumps(changed), *rows[2:], '{"vars": {"review": "by hand"}}']
    (repository.path / FIXTURES).write_text("\n".join(kept), "utf-8")
    capsys.readouterr()

    assert generate()[0] == 0
    after = yaml.safe_load((repository.path / SPEC).read_text("utf-8"))
    assert [rule["id"] for rule in after["rules"]] == [first["id"], "mine"]
    assert after["rules"][0] == first
    said = capsys.readouterr().err
    assert "not generated again" in said
    now = [json.loads(line) for line in (repository.path / FIXTURES).read_text().splitlines()]
    ids = [row.get("id") for row in now]
    assert changed in now
    assert {"vars": {"review": "by hand"}} in now
    assert json.loads(rows[1])["id"] not in ids
    assert not any(str(name).startswith(second["id"]) for name in ids)
    contract = yaml.safe_load((repository.path / CONTRACT).read_text("utf-8"))
    assert [check["name"] for check in contract["checks"]] == [first["id"], "mine"]

    # Comments stay as long as the specification says the same.
    with (repository.path / SPEC).open("a", encoding="utf-8") as file:
        file.write("# why\n")
    # A third run changes nothing, and a contract that a person wrote stays.
    files_before = files(repository)
    assert generate()[0] == 0
    assert files(repository) == files_before
    (repository.path / CONTRACT).write_text(f"{files_before['review.yaml']}# mine\n", "utf-8")
    assert generate("--tests-per-rule", "4")[0] == 0
    assert files(repository)["review.yaml"].endswith("# mine\n")
    said = capsys.readouterr().err
    assert "is kept as it is" in said
    assert "comments in" in said


@pytest.mark.parametrize("own_contract", [False, True])
def test_an_answer_without_a_rule_removes_no_rule_of_an_earlier_run(
    repository, generate, capsys, own_contract
):
    assert generate()[0] == 0
    with (repository.path / FIXTURES).open("a", encoding="utf-8") as file:
        file.write('{"vars": {"review": "by hand"}}\n')
    if own_contract:
        with (repository.path / CONTRACT).open("a", encoding="utf-8") as file:
            file.write("# mine\n")
    before = files(repository)
    capsys.readouterr()
    assert generate(answer=author({"rules": {"rules": []}}))[0] == 2
    assert "found no rule for the output" in capsys.readouterr().err
    assert files(repository) == before


@pytest.mark.parametrize(
    ("prompt", "text", "flags", "code", "named"),
    [
        ("prompts/none.txt", None, (), 2, "there is no file `prompts/none.txt`"),
        ("prompts/p.txt", " \n", (), 2, "message is empty"),
        ("prompts/p.txt", "Say yes.\n", (), 2, "has no variable"),
        ("prompts/p.py", "X = '{x}'", (), 2, "prompts/p.py:NAME"),
        ("../p.txt", None, (), 2, "choose a prompt in this repository"),
        ("prompts/p.py:1", None, (), 2, "prompts/p.py:1"),
        ("prompts/review.txt", None, ("--tests-per-rule", "0"), 2, "--tests-per-rule 0"),
        ("prompts/review.txt", None, ("--judge", "nobody/x"), 2, "--judge"),
        ("prompts/review.txt", None, ("--replay", "none.jsonl"), 2, "--replay none.jsonl"),
        ("prompts/review.txt", None, ("--out", "prompts/review.txt/x"), 3, "review.txt"),
    ],
)
def test_bad_input_is_refused_before_any_call(
    repository, generate, capsys, prompt, text, flags, code, named
):
    if text is not None:
        repository.write(prompt, text)
    found, server = generate(*flags, prompt=prompt)
    assert (found, server.requests) == (code, [])
    assert named in capsys.readouterr().err
    assert files(repository) == {}


def refused(body):
    return Reply(None, refusal="I cannot help with that.")


@pytest.mark.parametrize(
    ("answer", "code", "named"),
    [
        (author({"rules": "I would rather talk about the weather."}), 3, "stage rules"),
        (author({"rules": '{"rules": [{"text": 1, "lines": []}]}'}), 3, "two attempts"),
        (author({"tests": '{"rule_tests": []}'}), 3, "stage tests"),
        (author({"tests": {"rule_tests": [], "inverse_tests": []}}), 3, "no usable test"),
        (author({"rules": {"rules": []}}), 2, "found no rule for the output"),
        (lambda _: bad_request("no such thing"), 3, "no such thing"),
        (lambda _: model_not_found(), 2, MODEL),
        (refused, 3, "no usable answer"),
    ],
)
def test_a_model_that_gives_no_usable_answer_changes_no_file(
    repository, generate, capsys, answer, code, named
):
    before = {SPEC: "version: 1\nprompt: review.txt\n", CONTRACT: "# mine\n"}
    repository.write_all(before)
    found, _ = generate(answer=answer)
    assert found == code
    said = capsys.readouterr().err
    assert named in said
    assert "Traceback" not in said
    assert {path: (repository.path / path).read_text() for path in before} == before
    assert not (repository.path / FIXTURES).exists()


def test_an_answer_that_contradicts_its_schema_is_asked_for_once_more(repository, generate):
    seen = []

    def answer(body):
        seen.append(stage_of(body))
        first = stage_of(body) == "rules" and seen.count("rules") == 1
        return "no JSON" if first else author()(body)

    assert generate(answer=answer)[0] == 0
    assert seen.count("rules") == 2
    # What was paid for is in the recording, without the key.
    lines = (repository.path / ANSWERS).read_text("utf-8").splitlines()
    assert len(lines) == len(seen)
    assert not any("sk-not-a-real" in line for line in lines)


def test_a_file_that_cannot_be_written_leaves_all_as_it_is(repository, generate, capsys):
    (repository.path / FIXTURES).mkdir(parents=True)
    assert generate()[0] == 3
    assert "review.fixtures.jsonl" in capsys.readouterr().err
    assert not (repository.path / SPEC).exists()
    assert not (repository.path / CONTRACT).exists()


def test_more_rules_than_any_prompt_has_are_refused_before_they_cost_calls(
    repository, generate, capsys
):
    rules = [{"text": f"Rule {number} says {number**3}.", "lines": [1]} for number in range(101)]
    code, server = generate(answer=author({"rules": {"rules": rules}}))
    assert (code, len(server.requests)) == (3, 2)
    assert "101 items" in capsys.readouterr().err
    assert files(repository) == {}


def test_a_file_that_git_ignores_is_refused_before_any_call(repository, generate, capsys):
    repository.write(".gitignore", "*.spec.yaml\n")
    repository.write(SPEC, "a person's\n")
    code, server = generate()
    assert (code, server.requests) == (2, [])
    assert SPEC in capsys.readouterr().err
    assert files(repository) == {"review.spec.yaml": "a person's\n"}


def test_what_a_model_wrote_cannot_steer_the_terminal(repository, generate, capsys):
    asked = {"kind": "ambiguity", "text": "What \x9b2J is \u061c this?", "lines": [1]}
    assert generate(answer=author({"open_questions": {"questions": [asked]}}))[0] == 0
    said = capsys.readouterr().out
    assert "What" in said
    assert all(line.isprintable() for line in said.splitlines())


def test_a_run_after_a_killed_one_finishes_its_files(repository, generate, capsys):
    with killed_at_second_replacement([Path(path).name for path in FILES]):
        generate()
    assert len(files(repository)) == 1
    capsys.readouterr()
    code, server = generate("--estimate")
    assert (code, server.requests) == (0, [])
    assert "interrupted" in capsys.readouterr().err
    written = files(repository)
    assert len(written) == 3
    # They are of one run: the next one changes nothing and takes none of it for a person's edit.
    assert generate()[0] == 0
    assert files(repository) == written
    assert "you changed" not in capsys.readouterr().err


def test_checks_are_proved_on_outputs_of_the_prompts_own_model(repository, generate):
    found = author()
    chatty = lambda body: found(body) if stage_of(body) else "It is positive."  # noqa: E731
    assert generate("--prove-with", "openai/gpt-4o", answer=chatty)[0] == 0
    spec = yaml.safe_load((repository.path / SPEC).read_text("utf-8"))
    assert not any("check" in rule for rule in spec["rules"])


def test_an_estimate_calls_no_model(repository, generate, capsys):
    code, server = generate("--estimate", "--prove-with", MODEL)
    assert (code, server.requests, files(repository)) == (0, [], {})
    said = capsys.readouterr().out
    assert "10 rules (assumed): at most 25 calls" in said
    assert "Cost: about 0.0" in said


def test_a_persons_mistake_in_the_specification_is_named_with_its_line(
    repository, generate, capsys
):
    rule = "  - id: a\n    text: t\n    check: {type: regex, pattern: '('}\n"
    repository.write(SPEC, f"version: 1\nprompt: review.txt\nrules:\n{rule}")
    assert generate()[0] == 2
    assert f"{SPEC}:4: rule a" in capsys.readouterr().err
    repository.write(SPEC, "version: 1\nprompt: other.txt\n")
    assert generate()[0] == 2
    assert "other.txt" in capsys.readouterr().err


def test_a_file_that_is_edited_meanwhile_is_not_overwritten(repository, generate, capsys):
    def answer(body):
        repository.write(SPEC, "version: 1\nprompt: review.txt\nintent: mine\n")
        return author()(body)

    assert generate(answer=answer)[0] == 3
    assert f"{SPEC} was changed" in capsys.readouterr().err
    assert list(files(repository)) == ["review.spec.yaml"]
    assert "intent: mine" in files(repository)["review.spec.yaml"]


def test_a_replay_of_another_prompt_says_so(repository, generate, capsys):
    assert generate()[0] == 0
    repository.write("prompts/review.txt", "Other words: {{ review }}\n")
    assert generate("--replay", ANSWERS)[0] == 3
    assert "same prompt" in capsys.readouterr().err


def test_a_specification_is_neither_a_prompt_nor_a_contract(repository, generate, capsys):
    repository.write("contracts/prompts/review.txt", PROMPT)
    assert generate(prompt="contracts/prompts/review.txt")[0] == 0
    assert (repository.path / "contracts/prompts/review.spec.yaml").exists()
    assert generate()[0] == 0
    repository.branch("pr")
    repository.commit("specifications")
    capsys.readouterr()
    assert main(["validate"]) == 0
    assert main(["affected", "--base", "main"]) == 0
    assert ".spec.yaml" not in capsys.readouterr().out


def test_whatever_a_model_writes_can_be_read_again(repository, generate):
    odd = "The output is \\ud800 \\u0000 {{ word }} {% if %} '\\u2028': #x"
    rules = f'{{"rules": [{{"text": "{odd}", "lines": [2]}}]}}'
    made = '"kind": "edge", "scenario": "\\ud800", "reason": "r"'
    row = f'{{{made}, "vars": {{"review": "\\udfff\\u0000{{{{"}}}}'
    written = f'{{"rule_tests": [{row}], "inverse_tests": []}}'
    answer = author({"rules": rules, "tests": written, "inverse_rules": {"inverses": []}})
    assert generate(answer=answer)[0] == 0
    before = files(repository)
    assert generate(answer=answer)[0] == 0
    assert files(repository) == before
    assert main(["validate"]) == 0


def test_a_key_that_a_model_repeats_is_in_no_file(repository, generate):
    rules = {"rules": [{"text": "The output is sk-not-a-real-key-0123456789.", "lines": [2]}]}
    assert generate(answer=author({"rules": rules}))[0] == 0
    written = files(repository)
    assert not any("sk-not-a-real" in text for text in written.values())
    assert generate("--replay", ANSWERS)[0] == 0
    assert files(repository) == written


def test_a_test_that_the_prompt_cannot_be_rendered_with_is_left_out(repository, generate, capsys):
    repository.write("prompts/review.txt", PROMPT + "{{ review[40] }}\n")
    assert generate()[0] == 0
    assert "cannot render the prompt" in capsys.readouterr().err
    rows = map(json.loads, (repository.path / FIXTURES).read_text("utf-8").splitlines())
    assert all(len(row["vars"]["review"]) > 40 for row in rows)
