"""PCSL's table of modes, measured with the embedded model on the paper's own tasks.

    python -m benchmarks.modes [--data ../shared/data/pcsl] [--inputs 12] [--task NAME] [--check]

Each task's distinct inputs are answered three times: with the prompt as it is (`observe` and
`repair` evaluate the same answers), with the constraints as text (`assist`), and with a JSON Schema
that the model follows as a grammar (`enforce`). `--check` fails if an enforced output breaks what
its schema says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    MessageTemplate,
    Prompt,
    RepairMode,
    RepairPolicy,
    Target,
)
from gatekeeper.contract.values.trial import Completion, Outcome, Sample, Trial
from gatekeeper.gate.measuring.monitor import evaluate_sample
from gatekeeper.gate.plan.plan import as_sent
from gatekeeper.providers.local import MODEL, LocalClient
from gatekeeper.sampling.trials import plan_trials
from gatekeeper.stats.intervals.intervals import wilson

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "pcsl"
MODES: tuple[RepairMode, ...] = ("observe", "repair", "assist", "enforce")
PARAMS = {"temperature": 0, "max_tokens": 200}
STEPS = ("strip_markdown_fences", "extract_json", "json_loose_parse", "lowercase_fields")
INTENT = (
    "Classify the intent of the customer's message. Reply only with JSON with the fields intent "
    "and confidence."
)
ENTITIES = (
    "Extract the named entities of the text. Reply only with JSON with the field entities: a list "
    "of objects with the fields type ({types}) and value (as it stands in the text)."
)
EXTRACTION = "extraction_finance.jsonl"
QUESTION = (
    "Answer the question from the context alone. Reply only with JSON with the fields answer and "
    "confidence (from 0 to 1)."
)


@dataclass(frozen=True)
class Task:
    """One of the paper's tasks: the prompt, its inputs with the expected output, and the checks of
    the form. `is_right` compares an output with the expected one; None if none is known. `examples`
    are inputs with answers, as turns before the input."""

    name: str
    prompt: str
    inputs: Mapping[str, Mapping[str, Any] | None]
    checks: Sequence[Mapping[str, Any]]
    lowercase: tuple[str, ...]
    is_right: Callable[[Any, Any], bool] | None = None
    examples: tuple[tuple[str, str], ...] = ()


def tasks(data: Path, most: int) -> Iterator[Task]:
    """Yield the tasks with at most so many distinct inputs each."""
    yield from _classification(data, most)
    yield _extraction(data, most)
    yield _questions(data, most)
    for folder in ("email_classification", "support_ticket", "extraction"):
        yield _artefact(data / "artefacts" / folder, most)


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _classification(data: Path, most: int) -> Iterator[Task]:
    rows = _rows(data / "classification_en.jsonl")
    known: dict[str, Any] = {}
    for row in rows:
        known.setdefault(row["input_text"], row["expected_output"])
    intents = sorted({row["expected_output"]["intent"] for row in rows})
    checks = (
        {"type": "json_required", "fields": ["intent", "confidence"]},
        {"type": "enum", "field": "intent", "values": intents},
    )
    examples = tuple((text, json.dumps(known.pop(text))) for text in list(known)[:2])
    inputs = dict(list(known.items())[:most])
    plain = Task("classification_en", INTENT, inputs, checks, ("intent",), _same_intent)
    yield plain
    yield replace(plain, name="classification_en, two examples", examples=examples)


def _extraction(data: Path, most: int) -> Task:
    known = {row["input_text"]: row["expected_output"] for row in _rows(data / EXTRACTION)}
    types = sorted({e["type"] for expected in known.values() for e in expected["entities"]})
    text = {"type": "string"}
    entity = {"type": {"enum": types}, "value": text}
    items = {"type": "object", "properties": entity, "required": ["type", "value"]}
    listed = {"type": "array", "items": items}
    schema = {"type": "object", "properties": {"entities": listed}, "required": ["entities"]}
    prompt = ENTITIES.format(types=", ".join(types))
    checks = ({"type": "json_schema", "schema": schema},)
    inputs = dict(list(known.items())[:most])
    return Task("extraction_finance", prompt, inputs, checks, (), _same_entities)


def _questions(data: Path, most: int) -> Task:
    inputs = {
        f"Context: {row['input_context']}\n\nQuestion: {row['input_question']}": row[
            "expected_output"
        ]
        for row in _rows(data / "rag_qa_wiki.jsonl")
    }
    checks = ({"type": "json_required", "fields": ["answer", "confidence"]},)
    first = dict(list(inputs.items())[:most])
    return Task("rag_qa_wiki", QUESTION, first, checks, (), _has_answer)


def _same_intent(output: Any, expected: Any) -> bool:
    return bool(output["intent"] == expected["intent"])


def _same_entities(output: Any, expected: Any) -> bool:
    found, wanted = (
        {(e["type"], e["value"].strip()) for e in value["entities"]} for value in (output, expected)
    )
    return found == wanted


def _has_answer(output: Any, expected: Any) -> bool:
    """Return whether the expected answer stands in the answer, whatever its case."""
    return expected["answer"].strip().lower() in str(output["answer"]).lower()


def _artefact(folder: Path, most: int) -> Task:
    profiles = sorted(folder.glob("ep*.json"))
    definition, suite, profile = (
        json.loads(file.read_text("utf-8"))
        for file in (folder / "pd.json", folder / "es.json", profiles[0])
    )
    inputs = {fixture["input"]: None for fixture in profile["fixtures"][:most]}
    checks = tuple(filter(None, map(_check, suite["checks"])))
    lowercase = tuple(check["field"] for check in checks if check["type"] == "enum")
    return Task(folder.name, definition["prompt"], inputs, checks, lowercase)


def _check(written: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a check of PCSL as one of gatekeeper's; None for budgets, which are no form."""
    match written["type"].removeprefix("pc.check."):
        case "json_valid":
            return {"type": "json_valid"}
        case "json_required":
            return {"type": "json_required", "fields": written["fields"]}
        case "enum":
            field = written["field"].removeprefix("$.")
            return {"type": "enum", "field": field, "values": written["allowed"]}
        case "regex_absent":
            return {"type": "not_contains", "value": written["pattern"]}
        case "regex_present":
            return {"type": "regex", "pattern": written["pattern"]}
        case "contains_any":
            values = {"values": written["options"], "match": "any", "ignore_case": True}
            return {"type": "contains", **values}
    return None


def contract_of(task: Task, mode: RepairMode) -> Contract:
    """Return the task as a contract in a mode."""
    said = [("system", task.prompt)]
    for text, answer in task.examples:
        said += [("user", text), ("assistant", answer)]
    said.append(("user", "{{ text }}"))
    messages = tuple(MessageTemplate(role, text, 1) for role, text in said)
    specs = tuple(
        CheckSpec(
            check["type"],
            f"{check['type']} {number}",
            {name: value for name, value in check.items() if name != "type"},
            shape=SHAPES[check["type"]],
        )
        for number, check in enumerate(task.checks)
    )
    fixtures = tuple(Fixture(f"input-{n}", {"text": text}) for n, text in enumerate(task.inputs))
    steps = STEPS if task.lowercase else STEPS[:-1]
    return Contract(
        name=task.name,
        path="contracts/task.yaml",
        target=Target(Prompt("prompts/task.md", messages, task.prompt), MODEL, PARAMS),
        fixtures=fixtures,
        checks=specs,
        mode=mode,
        repair=RepairPolicy(steps, len(steps), task.lowercase),
    )


async def measure(task: Task, client: LocalClient) -> dict[RepairMode, list[Outcome]]:
    """Ask the model and return the evaluated answers by mode."""
    answers: dict[str, Completion] = {}
    found: dict[RepairMode, list[Outcome]] = {}
    for mode in MODES:
        contract = contract_of(task, mode)
        trials = plan_trials(contract, as_sent(contract), None, {}).trials
        keyed = [(request_digest(t.request), t) for t in trials]
        new = {key: trial for key, trial in keyed if key not in answers}
        got = await asyncio.gather(*(client.complete(trial.request) for trial in new.values()))
        answers |= dict(zip(new, got, strict=True))
        found[mode] = [_evaluated(contract, trial, answers[key]) for key, trial in keyed]
    return found


def _evaluated(contract: Contract, trial: Trial, answer: Completion) -> Outcome:
    return evaluate_sample(Sample(trial, answer), contract, prepare(contract))


def rows(task: Task, found: Mapping[RepairMode, Sequence[Outcome]]) -> Iterator[list[str]]:
    """Yield a row of the table for each mode."""
    for mode, outcomes in found.items():
        passed, total = sum(o.passed is True for o in outcomes), len(outcomes)
        interval = wilson(passed, total)
        repaired = sum(bool(o.sample.ledger) for o in outcomes)
        times = [o.sample.completion.latency_ms or 0 for o in outcomes if o.sample.completion]
        yield [
            task.name,
            mode,
            f"{passed} of {total}",
            f"{interval.low:.2f} to {interval.high:.2f}",
            f"{repaired} of {total}",
            _right(task, outcomes),
            f"{statistics.median(times) / 1000:.1f} s",
        ]


def _right(task: Task, outcomes: Sequence[Outcome]) -> str:
    """Return how many outputs have the expected answer; a dash if none is known."""
    if task.is_right is None:
        return "–"
    by_fixture = {o.sample.trial.fixture: o.sample.output for o in outcomes}
    right = sum(
        _is_right(task.is_right, by_fixture[f"input-{n}"], expected)
        for n, expected in enumerate(task.inputs.values())
    )
    return f"{right} of {len(task.inputs)}"


def _is_right(same: Callable[[Any, Any], bool], output: str, expected: Any) -> bool:
    try:
        return same(json.loads(output), expected)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def broken_form(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the failures of checks that a schema can express, of answers that came to an end."""
    for outcome in outcomes:
        completion = outcome.sample.completion
        if completion is None or completion.finish_reason == "length":
            continue
        for found in outcome.check_results:
            if found.passed is False and found.check.startswith(("json_", "enum")):
                yield f"{outcome.sample.trial.fixture}: {found.check}: {found.message}"


TITLES = ["task", "mode", "outputs that pass", "95 % interval of the pass rate"]
TITLES += ["outputs that were repaired", "right answers", "median time"]


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--inputs", type=int, default=12)
    parser.add_argument("--task", action="append", help="only this task; may be repeated")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    client = LocalClient()
    faults: list[str] = []
    print(f"| {' | '.join(TITLES)} |")
    print(f"| {' | '.join(['---'] * len(TITLES))} |")
    try:
        for task in tasks(arguments.data, arguments.inputs):
            if arguments.task and task.name not in arguments.task:
                continue
            found = await measure(task, client)
            for row in rows(task, found):
                print(f"| {' | '.join(row)} |", flush=True)
            faults += broken_form(found["enforce"])
    finally:
        await client.aclose()
    if arguments.check and faults:
        print("\n".join(faults), file=sys.stderr)
    return int(arguments.check and bool(faults))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
