"""The recorded outputs of the PromptPex paper as a repository and a recording for `--replay`.

Each prompt becomes a contract with one check, `judge: complies`. The fixtures are the paper's tests
with their categories; a rule and its opposite are one cluster. The judge's answers are the paper's
verdicts. The judge sees the prompt and the output only, so that equal outputs are one question:
its answer is what most of the paper's verdicts about that output say (`no` if there are as many).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from support.git_repository import GitRepository

from gatekeeper.checks.evaluate import prepare
from gatekeeper.cli.arguments import named_contract
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Outcome, QuestionId, Sample
from gatekeeper.gate.measuring.monitor import judge_questions
from gatekeeper.gate.sweep.grid import Axis, settings_of
from gatekeeper.gate.sweep.measure import plan_sweep
from gatekeeper.git import Repository
from gatekeeper.reports.formats.samples import sample_document

PROMPTS = ("speech-tag", "text-to-p", "extract-names", "elements", "classify-input-text")
MODELS = {
    "openai/gpt-4o-mini": "gpt-4o-mini",
    "ollama/gemma2:9b": "gemma2:9b",
    "ollama/qwen2.5:3b": "qwen2.5:3b",
    "ollama/llama3.2:1b": "llama3.2:1b",
}
"""The recorded name of each model, by the name in the contract and on the command line."""
VARIABLES = {
    "speech-tag": "sentenceword",
    "text-to-p": "text",
    "extract-names": "input",
    "elements": "text",
    "classify-input-text": "text",
}
_INVERTED = {"text-to-p": (1, 2, 3, 5, 6, 7)}
"""Which rule each inverse rule inverts, if not the rule of the same number: for one rule of
`text-to-p` there is no opposite."""
_CONTRACT = """\
contract: 1
name: {name}
prompt: ../prompts/{name}.prompty
model: openai/gpt-4o-mini
params: {{temperature: 1.0}}
fixtures: [{{file: {name}.fixtures.jsonl}}]
checks: [{{name: complies, judge: complies, model: openai/gpt-4o}}]
sampling: {{samples: {samples}, mode: fixed}}
"""
_POLICY = "limits: {calls: 5000}\n"


@dataclass(frozen=True)
class PromptPexData:
    """The recordings of one prompt. `data` is the folder of all."""

    data: Path
    name: str

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        lines = (self.data / f"{self.name}.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @cached_property
    def recordings(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The recorded outputs of each fixture, one a repetition, by its id."""
        numbers: Counter[str] = Counter()
        ids: dict[tuple[str, str | None, str], str] = {}
        found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in self.rows:
            key = (row["kind"], row["rule"], row["input"])
            if key not in ids:
                stem = self._stem(row)
                numbers[stem] += 1
                ids[key] = f"{stem}.{numbers[stem]}"
            found[ids[key]].append(row)
        return found

    @property
    def samples(self) -> int:
        """How many outputs of each test are recorded."""
        return max(len(rows) for rows in self.recordings.values())

    def cluster(self, row: Mapping[str, Any]) -> str | None:
        """The rule that the test was made from, or whose opposite it was made from."""
        if row["kind"] == "baseline":
            return None
        kind = "rules" if row["kind"] == "rule" else "inverse_rules"
        lines = (self.data / f"{self.name}.{kind}.txt").read_text("utf-8").splitlines()
        number = [line.strip() for line in lines].index(row["rule"].strip())
        inverted = _INVERTED.get(self.name) if kind == "inverse_rules" else None
        return f"rule-{inverted[number] if inverted else number + 1}"

    def _stem(self, row: Mapping[str, Any]) -> str:
        cluster = self.cluster(row) or "baseline"
        return f"{cluster}.inverse" if row["kind"] == "inverse_rule" else cluster

    def fixtures(self) -> Iterator[dict[str, Any]]:
        for fixture, rows in self.recordings.items():
            row = rows[0]
            cluster = self.cluster(row)
            yield {
                "id": fixture,
                "vars": {VARIABLES[self.name]: row["input"]},
                "category": row["kind"],
                **({"cluster": cluster, "metadata": {"rule": row["rule"]}} if cluster else {}),
            }


def write_repository(repository: GitRepository, found: PromptPexData) -> None:
    """Write the prompt, its fixtures and its contract into the work tree."""
    name = found.name
    fixtures = "".join(json.dumps(fixture) + "\n" for fixture in found.fixtures())
    prompt = (found.data / f"{name}.prompty").read_text("utf-8")
    repository.write(f"prompts/{name}.prompty", prompt)
    repository.write(f"contracts/{name}.fixtures.jsonl", fixtures)
    contract = _CONTRACT.format(name=name, samples=found.samples)
    repository.write(f"contracts/{name}.yaml", contract)
    repository.write(".github/gatekeeper.yml", _POLICY)


def write_recording(repository: GitRepository, found: PromptPexData, path: Path) -> None:
    """Write the samples.jsonl that answers a sweep of the contract over all models."""
    with Repository.open(repository.path) as opened:
        revision = opened.worktree()
        contract = named_contract(revision, load_policy(revision), found.name)
        settings = settings_of(contract, [Axis("model", tuple(MODELS))], revision)
        trials = plan_sweep(contract, settings)
    evaluator = prepare(contract)
    verdicts: dict[QuestionId, list[bool | None]] = defaultdict(list)
    samples = []
    for trial in trials:
        model = MODELS[trial.request.model]
        recorded = found.recordings[trial.fixture][trial.repetition]["outputs"][model]
        sample = Sample(trial, Completion(recorded["text"], None), output=recorded["text"])
        (question,) = judge_questions(sample, contract, evaluator)
        asked = question_id(question)
        verdicts[asked].append(recorded["compliant"])
        samples.append((sample, asked))
    lines = (
        sample_document(Outcome(replace(sample, judge_answers=(_answer(asked, verdicts),)), ()))
        for sample, asked in samples
    )
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def _answer(asked: QuestionId, verdicts: Mapping[QuestionId, Sequence[bool | None]]) -> JudgeAnswer:
    """Return what the judge says; without a recorded verdict it gives no answer."""
    votes = Counter(verdict for verdict in verdicts[asked] if verdict is not None)
    if not votes:
        return JudgeAnswer(asked, None, "no verdict")
    verdict = "yes" if votes[True] > votes[False] else "no"
    text = json.dumps({"reason": "as recorded", "verdict": verdict})
    return JudgeAnswer(asked, Completion(text, None))
