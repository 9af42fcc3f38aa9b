"""The prompts of generation are under contracts of this project: every prompt has one, which passes
on its recording and refuses broken answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from support.broken_answers import BROKEN, READS
from support.edited_text import edited
from support.git_repository import GitRepository
from support.own_contracts import ROOT, assert_can_pass_and_fail, own_files, recorded
from support.recorded_repository import result_of

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.generation.questions import DATA_INSTRUCTION, DATA_RULES
from gatekeeper.author.generation.rule_checks import propose_checks, prove_checks
from gatekeeper.author.specification.spec_file import Rule
from gatekeeper.checks.registry import SHAPES
from gatekeeper.cli.main import main
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.gate.validate import validate_contracts
from scripts.publish_schema import ANSWERS, JUDGE_SCHEMAS, STAGE_SCHEMAS, contract_name, schema_text
from scripts.rekey_recordings import rewrite

PROMPTS = "gatekeeper/author/generation/prompts"
DATA, OF_EVERY_QUESTION = "data", (DATA_RULES, DATA_INSTRUCTION)
FILES = sorted(path.stem for path in (ROOT / PROMPTS).glob("*.md"))
STAGES = [name for name in FILES if name not in OF_EVERY_QUESTION]
CONTRACTS = (*STAGES, DATA)


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return own_files()


@pytest.mark.parametrize("stage", CONTRACTS)
def test_every_prompt_has_a_contract_that_can_pass_and_fail(
    stage: str, files: Mapping[str, bytes]
) -> None:
    names = OF_EVERY_QUESTION if stage == DATA else (stage,)
    prompts = [f"{PROMPTS}/{name}.md" for name in names]
    assert_can_pass_and_fail(contract_name(stage), prompts, BROKEN[stage], files, READS)


@pytest.mark.long
def test_all_contracts_pass_on_their_recordings(
    files: Mapping[str, bytes], git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    revision = MemoryRevision(files)
    assert not validate_contracts(revision, load_policy(revision)).findings

    repository = git_repository("generation")
    for path, content in files.items():
        (repository.path / path).parent.mkdir(parents=True, exist_ok=True)
        (repository.path / path).write_bytes(content)
    repository.commit("contracts")
    names = [*map(contract_name, CONTRACTS), *JUDGE_SCHEMAS]
    named = [flag for name in names for flag in ("--contract", name)]
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", *named, *where]) == 0
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["unrecorded"]) == (0, 0)
    passed = [(c["head"]["passed"], c["head"]["samples"]) for c in result["contracts"]]
    more = {"judge-complies": 30, "judge-rubric": 28}
    fixtures = [more.get(name, 20) for name in sorted(names)]
    assert passed == [(number, number) for number in fixtures]


def test_the_schemas_of_the_contracts_are_those_of_the_code() -> None:
    assert sorted(STAGE_SCHEMAS) == STAGES
    for stage, schema in STAGE_SCHEMAS.items():
        published = (ANSWERS / f"{contract_name(stage)}.json").read_text("utf-8")
        assert published == schema_text(schema), "run `make schema`"


def test_the_policy_covers_the_prompts_and_notices_one_without_a_contract(
    files: Mapping[str, bytes],
) -> None:
    base = MemoryRevision(files)
    changed = {f"{PROMPTS}/new_stage.md": b"Write something new.\n"}
    changed[f"{PROMPTS}/rating.md"] = files[f"{PROMPTS}/rating.md"] + b"3. Be brief.\n"
    head = MemoryRevision({**files, **changed})
    policy = load_policy(base)
    found = find_affected(Change(base, head), policy, SHAPES)
    assert policy.require_contract
    assert found.uncovered == (f"{PROMPTS}/new_stage.md",)
    assert [contract.name for contract in found.contracts] == ["generate-rating"]


@pytest.mark.long
def test_generate_takes_the_checks_of_the_recording() -> None:
    """They pass the outputs that obey a rule and fail those that break it, as the answer says."""

    class Recorded:
        async def ask(self, *_: object) -> Any:
            return answer

    prompt = cast(NumberedPrompt, type("Shown", (), {"data": {}}))
    for fixture, row in recorded(contract_name("rule_checks")).items():
        answer = json.loads(row["output_raw"])
        rules = [Rule(f"rule-{n}", f"The output is {n}.") for n in range(len(answer["checks"]))]
        asker = cast(Asker, Recorded())
        proven = prove_checks(asyncio.run(propose_checks(asker, prompt, rules)))
        wanted = [one["check"]["type"] != "none" for one in answer["checks"]]
        assert [rule.check is not None for rule in proven] == wanted, fixture


def test_answers_of_a_person_follow_a_changed_prompt_and_those_of_a_model_do_not(
    files: Mapping[str, bytes], tmp_path: Path
) -> None:
    name, prompt = "generate-inverse-rules", f"{PROMPTS}/inverse_rules.md"
    for path, content in files.items():
        if path == prompt or name in path:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content)
    recording = tmp_path / f"contracts/{name}.samples.jsonl"
    before = recording.read_text("utf-8")
    assert rewrite([], tmp_path) == [name]
    assert recording.read_text("utf-8") == before

    (tmp_path / prompt).write_bytes(files[prompt] + b"4. Be brief.\n")
    rewrite([name], tmp_path)
    after = [json.loads(line) for line in recording.read_text("utf-8").splitlines()]
    old = [json.loads(line) for line in before.splitlines()]
    assert not {row["request"] for row in after} & {row["request"] for row in old}
    assert [row["output_raw"] for row in after] == [row["output_raw"] for row in old]

    measured = edited(before, '"by-hand"', '"openai/gpt-4o-mini"')
    recording.write_text(measured, "utf-8")
    assert rewrite([], tmp_path) == []
    with pytest.raises(ValueError, match="openai/gpt-4o-mini answered allergens"):
        rewrite([name], tmp_path)
    assert recording.read_text("utf-8") == measured
