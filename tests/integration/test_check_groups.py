"""Groups of checks through whole runs: each with its own samples, no request sent twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.checked import CheckOf
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import result_of

from gatekeeper.cli.main import main

CONTRACT = """\
contract: 1
name: mail
prompt: prompt.md
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 50}
fixtures: [{file: names.csv}]
checks: [{type: contains, value: "{{ name }}"}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""
TONE = """\
groups:
  tone:
    checks: [{type: contains, value: please, ignore_case: true}]
    sampling: {samples: 3}
    params: {temperature: 0.7}
    slo: {success_rate: 0.5}
"""
SAME = edited(TONE, "temperature: 0.7", "temperature: 0", "tone:", "same:")
NAMES = tuple(f"Ann{number}" for number in range(12))
PROMPT = "Politely write to {{ name }}.\n"


def answer(body: dict) -> str:
    """A letter; impolite if the prompt does not say how."""
    said = body["messages"][-1]["content"]
    please = "Please wait" if said.startswith("Politely") else "Wait"
    return f"{please}, {said.split()[-1].rstrip('.')}!"


def files(contract: str = CONTRACT + TONE) -> dict[str, str]:
    return {
        "contracts/mail.yaml": contract,
        "contracts/prompt.md": PROMPT,
        "contracts/names.csv": "id,name\n" + "".join(f"{n},{n}\n" for n in NAMES),
    }


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return git_repository("mail")


def run(repository: GitRepository, out: Path, contract: str, *more: str) -> int:
    repository.write_all(dict(files(contract)))
    repository.commit("files")
    return main(["run", "--repo", str(repository.path), "--out", str(out), *more])


def test_each_group_has_its_own_samples_and_parameters(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    assert run(repository, tmp_path, CONTRACT + TONE, "--contract", "mail") == 0
    found = {c["name"]: c["head"]["samples"] for c in result_of(tmp_path)["contracts"]}
    assert found == {"mail": 12, "mail.tone": 36}
    temperatures = Counter(body["temperature"] for body in server.requests)
    assert temperatures == {0: 12, 0.7: 36}


def test_no_request_is_sent_twice(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    assert run(repository, tmp_path, CONTRACT + SAME) == 0
    found = {c["name"]: c["head"]["samples"] for c in result_of(tmp_path)["contracts"]}
    assert found == {"mail": 12, "mail.same": 36}
    assert len(server.requests) == 36


def test_a_group_sends_what_the_mode_of_its_contract_adds(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    contract = edited(CONTRACT, "checks: [", "mode: assist\nchecks: [{type: length, max: 30}, ")
    # No words can be made of the group's own check.
    tone = edited(TONE, "type: contains, value: please, ignore_case: true", "type: pii")
    run(repository, tmp_path, contract + tone)
    sent = [body["messages"][-1]["content"] for body in server.requests]
    assert len(sent) == 48
    assert all("30 characters" in text for text in sent)


def test_a_regression_of_one_group_is_named(check_of: CheckOf) -> None:
    head = {"contracts/prompt.md": "Write to {{ name }}.\n"}
    checked = check_of(files(), head)
    assert checked.code == 1
    assert checked.result is not None
    verdicts = {c["name"]: c["verdict"] for c in checked.result["contracts"]}
    assert verdicts == {"mail": "pass", "mail.tone": "fail"}


WORSE = {"contracts/prompt.md": "Write to {{ name }}.\n"}


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ("", "removed"),
        (edited(TONE, "tone:", "style:"), "removed"),
        (edited(TONE, "ignore_case: true", "severity: warn"), None),
        (edited(TONE, "value: please", "value: a"), "regression"),
        (edited(TONE, "samples: 3", "samples: 1"), "regression"),
        (edited(TONE, "temperature: 0.7", "temperature: 1"), "regression"),
        (SAME, "removed"),
    ],
)
def test_no_change_of_its_groups_lets_a_worse_prompt_pass(
    check_of: CheckOf, groups: str, code: str | None
) -> None:
    checked = check_of(files(), {**WORSE, "contracts/mail.yaml": CONTRACT + groups})
    if code is None:
        assert checked.code == 2
    else:
        assert checked.code == 1
        assert code in checked.codes()


def test_a_new_group_is_compared_on_both_prompts(check_of: CheckOf) -> None:
    checked = check_of(files(CONTRACT), {**WORSE, "contracts/mail.yaml": CONTRACT + TONE})
    assert checked.code == 1
    assert checked.result is not None
    (new,) = [c for c in checked.result["contracts"] if c["name"] == "mail.tone"]
    assert "regression" in {r["code"] for r in new["reasons"]}


def test_a_group_and_another_contract_cannot_have_one_name(check_of: CheckOf) -> None:
    other = edited(CONTRACT, "name: mail", "name: mail.tone")
    assert check_of(files(), {**WORSE, "contracts/other.yaml": other}).code == 2


@pytest.mark.long
def test_a_file_that_only_a_group_names_affects_the_contract(check_of: CheckOf) -> None:
    groups = edited(
        TONE,
        "type: contains, value: please, ignore_case: true",
        "{}",
        "{{}}",
        "{python: tone.py:good}",
    )
    base = {**files(CONTRACT + groups), "contracts/tone.py": "def good(output): return True\n"}
    head = {"contracts/tone.py": "def good(output): return len(output) > 0\n"}
    checked = check_of(base, head)
    assert checked.result is not None
    weakened = {c["name"]: c["weakened"] for c in checked.result["contracts"]}
    assert any("contracts/tone.py" in text for text in weakened["mail.tone"])


@pytest.mark.parametrize(
    "groups",
    [
        "groups: {tone: {}}\n",
        "groups: {tone: {checks: []}}\n",
        "groups: {tone: {checks: [{type: none}]}}\n",
        "groups: {'a b': {checks: [{type: json_valid}]}}\n",
        "groups: {tone: {checks: [{type: json_valid}], fixtures: []}}\n",
        "groups: {tone: {checks: [{type: json_valid}], params: {tempo: 1}}}\n",
        "groups: {tone: {checks: [{type: json_valid}], slo: {judge_score: 0.5}}}\n",
        "groups: {tone: {checks: [{type: contains, value: '{{ missing }}'}]}}\n",
    ],
)
def test_mistakes_in_a_group_are_found_without_a_model(
    repository: GitRepository, groups: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.write_all(dict(files(CONTRACT + groups)))
    repository.commit("files")
    assert main(["validate", "--repo", str(repository.path)]) == 2
    assert "contracts/mail.yaml:" in "".join(capsys.readouterr())


def test_validate_names_the_groups(
    repository: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.write_all(dict(files()))
    repository.commit("files")
    assert main(["validate", "--repo", str(repository.path)]) == 0
    assert "mail.tone" in capsys.readouterr().out
