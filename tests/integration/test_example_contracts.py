"""The example contracts are ones to learn from: they load, are evaluated, and run."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.recorded_repository import result_of

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.checks.repairs.steps import repair
from gatekeeper.cli.main import main
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial
from gatekeeper.gate.validate import validate_contracts
from gatekeeper.providers.local import MODEL, LocalClient

ROOT = Path(__file__).parents[2]
EMBEDDED = ("grounded-answer", "order-extraction", "sentiment")
NAMES = (*EMBEDDED, "grounded-judged", "order-facts", "order-lookup")
ONE_BY_DEFAULT = [
    *(pytest.param(name, marks=pytest.mark.long) for name in EMBEDDED[:2]),
    EMBEDDED[2],
]
FOLDERS = (
    "contracts",
    ".github",
    "gatekeeper/author/generation/prompts",
    "gatekeeper/checks/judges/prompts",
    "gatekeeper/contract/simulated_user",
)
OTHERS = ("generate-*", "judge-*", "simulated-user*")
"""The contracts of this project's own prompts: see test_generation_contracts.py and
test_judge_prompt_contracts.py."""


def copied(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A repository with the examples and what they need."""
    repository = git_repository("examples")
    for folder in FOLDERS:
        shutil.copytree(
            ROOT / folder, repository.path / folder, ignore=shutil.ignore_patterns(*OTHERS)
        )
    repository.commit("examples")
    return repository


@pytest.fixture(scope="module")
def revision() -> MemoryRevision:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    kept = [path for path in files if not any(map(path.match, OTHERS))]
    return MemoryRevision({path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept})


@pytest.fixture(params=NAMES)
def contract(request: pytest.FixtureRequest, revision: MemoryRevision) -> Contract:
    return load_contract(revision, f"contracts/{request.param}.yaml", SHAPES)


def test_validate_accepts_them_all_under_the_projects_own_policy(
    revision: MemoryRevision,
) -> None:
    found = validate_contracts(revision, load_policy(revision))
    assert not found.findings
    assert [contract.name for contract in found.contracts] == sorted(NAMES)


def test_the_inputs_are_many_and_distinct(contract: Contract) -> None:
    rendered = {render_messages(contract.target.prompt, f.vars) for f in contract.fixtures}
    assert len(contract.fixtures) >= 20
    assert len(rendered) == len(contract.fixtures)


def test_no_example_in_the_prompt_is_also_a_fixture(contract: Contract) -> None:
    texts = [
        value for f in contract.fixtures for value in f.vars.values() if isinstance(value, str)
    ]
    assert not [text for text in texts if len(text) > 12 and text in contract.target.prompt.text]


def test_every_fixture_states_what_is_expected_and_can_be_checked(contract: Contract) -> None:
    prepare(contract)
    assert all(f.expected for f in contract.fixtures)


def test_the_file_kinds_differ(revision: MemoryRevision) -> None:
    contracts = [load_contract(revision, f"contracts/{name}.yaml", SHAPES) for name in NAMES]
    prompts = {Path(contract.target.prompt.path).suffix for contract in contracts}
    fixtures = {
        Path(path).suffix
        for contract in contracts
        for path in contract.dependencies
        if ".fixtures." in path
    }
    assert prompts == {".txt", ".yml", ".prompty"}
    assert fixtures == {".csv", ".json", ".jsonl"}


@pytest.mark.parametrize("contract", ONE_BY_DEFAULT, indirect=True)
def test_the_embedded_model_answers_the_first_fixture(contract: Contract) -> None:
    fixture = contract.fixtures[0]
    messages = render_messages(contract.target.prompt, fixture.vars)
    request = Request(MODEL, messages, contract.target.params, contract.sampling.seed, 0)
    trial = Trial(contract.name, fixture.id, "head", 0, request)

    completion = asyncio.run(_answer(request))

    assert contract.target.model == MODEL
    found = repair(completion.text, contract.repair, contract.mode)
    sample = Sample(trial, completion, None, found.output, found.names)
    check_results = prepare(contract).evaluate(sample)
    assert [
        check_result.passed for check_result in check_results if check_result.severity == "error"
    ]
    assert None not in [check_result.passed for check_result in check_results]


def test_the_checks_of_tool_calls_run_on_their_recording(
    git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    repository = copied(git_repository)
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", "--contract", "order-lookup", *where]) == 0
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["unrecorded"]) == (0, 0)
    assert result["contracts"][0]["head"]["samples"] == 30
    rows = (tmp_path / "out" / "samples.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(row)["tool_calls"][0]["name"] == "find_order" for row in rows)


@pytest.mark.long
def test_the_check_in_python_runs_on_its_recording(
    git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    repository = copied(git_repository)
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", "--contract", "order-facts", *where]) == 0
    (contract,) = result_of(tmp_path / "out")["contracts"]
    assert (contract["head"]["passed"], contract["head"]["samples"]) == (27, 30)
    (failed, *_) = [f for f in contract["fixtures"] if not f["head_passed"]]
    assert failed["failures"][0]["message"].startswith("contracts/order_facts.py:")


def test_the_judge_runs_on_its_recording(
    git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    repository = copied(git_repository)
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    sweep = ["sweep", "--contract", "grounded-judged", "--param", "temperature=0", *where]
    assert main(sweep) == 0
    swept = json.loads((tmp_path / "out" / "sweep.json").read_text("utf-8"))
    assert (swept["calls"]["made"], swept["calls"]["cached"]) == (0, 30)
    assert main(["run", "--contract", "grounded-judged", *where]) == 0
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["unrecorded"]) == (0, 0)
    # One of the 30 verdicts was malformed twice, so it was asked for twice and never read.
    judge = result["calls"]["judge"]
    assert (judge["made"], judge["cached"], judge["samples"]) == (0, 31, 30)


async def _answer(request: Request) -> Completion:
    client = LocalClient()
    try:
        return await client.complete(request)
    finally:
        await client.aclose()
