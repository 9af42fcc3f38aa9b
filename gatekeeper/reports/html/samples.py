"""Every sample, packed for the browser: JSON, gzip, base64. Texts are kept once.

Base64 has no character that means anything in HTML, whatever a model wrote. What does not fit
is left out from the end of an order that begins with what failed or changed.

The document is made of tables, because ten thousand objects repeat their keys ten thousand times:

| key | holds |
| --- | --- |
| `texts` | every text once; the others are indices into it, -1 for none |
| `cut` | index of a text that was too long -> how many characters are missing |
| `evaluations` | one for each contract that evaluated |

An evaluation has `name`, `prompts` (base, head), `checks`, `runs` (the days of past runs) and
`fixtures`. A check is `[name, severity]`. A fixture is `[id, category, change, base tally, head
tally, base passed, head passed, notes, input of base, input of head, errors, cells, past, files,
samples]`. A cell is `[check, passed and measured samples of base, the same of head]`; `past` has a
letter for each past run: `p` passed, `f` failed, `m` both, `-` not measured. A file is `[path,
digest]`; pictures are beside the document, by digest. A sample is `[arm, repetition, passed,
output, raw output, facts, error, repairs, check_results]`, a check_result `[check, passed, message,
severity, votes of judges]`.
"""

from __future__ import annotations

import base64
import gzip
import json
import os.path
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from gatekeeper import numbers
from gatekeeper.contract.calls.calls import known_messages, spoken, step_names
from gatekeeper.contract.values.definition import Attachment, Message, Severity
from gatekeeper.contract.values.trial import Arm, CheckResult, ContractFrom, Outcome, Sample
from gatekeeper.gate.results.parts import FixtureResult, Tally
from gatekeeper.gate.results.result import (
    ArmResult,
    ContractResult,
    GateResult,
    PastRun,
    UnderBase,
)
from gatekeeper.history.flickering import state_of
from gatekeeper.history.record import fixture_key
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.words.check_tallies import CheckTally, check_tallies
from gatekeeper.reports.words.comparison_text import base_contract_label
from gatekeeper.reports.words.evidence import prompt_texts
from gatekeeper.reports.words.ranking import by_loss, by_severity
from gatekeeper.sampling.stored_text import answer_text

Messages = Sequence[Message]


def distinct_parts(inputs: Mapping[str, Messages]) -> dict[str, str]:
    """Map each fixture to the texts in which it differs from the others, one paragraph per message.

    Whole lines are kept: what all values begin with, such as the mark of a document, still
    belongs to them. Of a single fixture, and if the conversations differ in shape, it is the last
    message.
    """
    shapes = {tuple(message.role for message in messages) for messages in inputs.values()}
    if len(inputs) < 2 or len(shapes) != 1:
        return {name: found[-1].content if found else "" for name, found in inputs.items()}
    columns = zip(*inputs.values(), strict=True)
    cuts = [_common([message.content for message in column]) for column in columns]
    return {
        name: "\n\n".join(
            part
            for message, (start, end) in zip(messages, cuts, strict=True)
            if (part := message.content[start : len(message.content) - end])
        )
        for name, messages in inputs.items()
    }


def _common(texts: Sequence[str]) -> tuple[int, int]:
    """Count the characters at the beginning and at the end that all texts share, in whole lines."""
    beginning = _shared(texts)
    if all(text == beginning for text in texts):
        return len(beginning), 0
    start = beginning.rfind("\n") + 1
    # What is taken from the beginning cannot be taken from the end once more.
    ending = _shared([text[start:][::-1] for text in texts])[::-1]
    line = ending.find("\n")
    return start, 0 if line < 0 else len(ending) - line


def _shared(texts: Sequence[str]) -> str:
    """Return the characters with which all texts begin."""
    return os.path.commonprefix(list(texts))  # noqa: RUF071


TEXT_LIMIT = 20_000
"""Characters of an output or a message; the rest is in samples.jsonl."""
PROMPT_LIMIT = 100_000
MOST_OF_A_PICTURE = 300_000
"""Bytes of a picture in the page. A larger one is named."""
_AROUND_A_PICTURE = 50
_NAME_LIMIT = 200
_EARLIER_ANSWER = 200
"""Characters of an answer before the last one of a conversation."""
_ROWS_SHARE = 0.5
"""The largest share of the room that rows of fixtures without samples may take."""
# A first guess that is too large is made smaller until it fits, never by less than this.
_SMALLER = 0.97

Clean = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Packed:
    """`text` is what the browser unpacks; `shown` of `total` samples are in it."""

    text: str
    shown: int
    total: int

    @property
    def left_out(self) -> int:
        return self.total - self.shown


@dataclass(frozen=True, slots=True)
class ReportedEvaluation:
    """One contract's or its base's eyes on the change: a list of fixtures to choose from."""

    contract: str
    label: str
    base: ArmResult | None
    head: ArmResult | None
    fixtures: tuple[FixtureResult, ...]
    outcomes: Mapping[str, Sequence[Outcome]]
    """By fixture, in the order sampled."""
    past: tuple[PastRun, ...] = ()
    """The latest runs of the default branch, oldest first."""


_Item = tuple[int, int, int, Sequence[Outcome]]
"""A unit that is kept or left out: its rank, the evaluation, the fixture, and its samples of one
repetition on both arms."""


def evaluations(result: GateResult) -> tuple[ReportedEvaluation, ...]:
    """Return evaluations in the order of the report: the worst contract first, then those of its
    base contract."""
    groups: dict[tuple[str, ContractFrom], dict[str, list[Outcome]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for outcome in result.outcomes:
        trial = outcome.sample.trial
        groups[trial.contract, trial.contract_from][trial.fixture].append(outcome)
    past = result.past_by_contract
    each = (
        _evaluations_of(contract, groups, past[contract.name])
        for contract in by_severity(result.contracts)
    )
    return tuple(evaluation for found in each for evaluation in found if evaluation.fixtures)


def worst_first(fixtures: Sequence[FixtureResult]) -> tuple[FixtureResult, ...]:
    """Sort fixtures: broken, failing, unknown, fixed, and the rest."""
    return tuple(sorted(by_loss(fixtures), key=_place))


def _place(fixture: FixtureResult) -> int:
    if fixture.change == "broke":
        return 0
    if fixture.head_passed is not True:
        return 1 if fixture.head_passed is False else 2
    return 3 if fixture.change == "fixed" else 4


def pack(evaluated: Sequence[ReportedEvaluation], room: int, clean: Clean = str) -> Packed:
    """Pack as many samples as fit into `room` bytes; if none fits, no text at all.

    Fixtures without a sample that fits have their row nevertheless, unless the rows alone take too
    much. `clean` is applied to the input of a sample, which only this report shows.
    """
    items = sorted(_items(evaluated), key=itemgetter(0))
    total = sum(len(outcomes) for *_, outcomes in items)
    rows = [_rows(evaluation, clean) for evaluation in evaluated]
    kept = len(items)
    every = True
    while kept and room > 0:
        if every and kept < len(items):
            every = len(_encode(_document(evaluated, (), rows, every=True))) <= room * _ROWS_SHARE
        text = _encode(_document(evaluated, items[:kept], rows, every=every))
        if len(text) <= room:
            shown = sum(len(outcomes) for *_, outcomes in items[:kept])
            return Packed(text, shown, total)
        kept = int(kept * min(_SMALLER, room / len(text)))
    return Packed("", 0, total)


def _evaluations_of(
    contract: ContractResult,
    groups: Mapping[tuple[str, ContractFrom], Mapping[str, Sequence[Outcome]]],
    past: Sequence[PastRun],
) -> Iterator[ReportedEvaluation]:
    found: list[tuple[str, ContractFrom, ContractResult | UnderBase]] = [("", "head", contract)]
    before = contract.under_base
    if before is not None:
        found.append((f", {base_contract_label(before)}", before.contract_from, before))
    for label, contract_from, of in found:
        yield ReportedEvaluation(
            contract.name,
            f"{contract.name}{label}",
            of.base,
            of.head,
            worst_first(of.fixtures),
            groups.get((contract.name, contract_from), {}),
            tuple(run for run in past if run.by_fixture) if of is contract else (),
        )


def _items(evaluated: Sequence[ReportedEvaluation]) -> Iterator[_Item]:
    for at, evaluation in enumerate(evaluated):
        for number, fixture in enumerate(evaluation.fixtures):
            pairs: dict[int, list[Outcome]] = defaultdict(list)
            for outcome in evaluation.outcomes.get(fixture.id, ()):
                pairs[outcome.sample.trial.repetition].append(outcome)
            for pair in pairs.values() or [[]]:
                yield _rank(fixture, pair), at, number, pair


def _rank(fixture: FixtureResult, pair: Sequence[Outcome]) -> int:
    """Return the order of a fixture: 0 changed, failed or without an answer, 1 answered
    differently, 2 the rest."""
    if fixture.change in ("broke", "fixed") or not all(outcome.passed for outcome in pair):
        return 0
    return 1 if len({answer_text(outcome.sample) for outcome in pair}) > 1 else 2


@dataclass(slots=True)
class _Texts:
    """Each text once, safe to look at, and how much of it is missing."""

    index: dict[tuple[str, int], int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    cut: dict[int, int] = field(default_factory=dict)

    def at(self, text: str | None, limit: int = TEXT_LIMIT) -> int:
        if text is None:
            return -1
        known = self.index.get((text, limit))
        if known is not None:
            return known
        place = self.index[text, limit] = len(self.texts)
        self.texts.append(visible(text[:limit]))
        if len(text) > limit:
            self.cut[place] = len(text) - limit
        return place


class _Rows(NamedTuple):
    """The inputs of an evaluation by arm and fixture, its files and the tallies of checks by
    fixture, and each check's place and severity."""

    inputs: Mapping[Arm, Mapping[str, str]]
    files: Mapping[str, Sequence[Attachment]]
    tallies: Mapping[str, Mapping[str, CheckTally]]
    checks: Mapping[str, tuple[int, Severity]]


def _rows(evaluation: ReportedEvaluation, clean: Clean) -> _Rows:
    outcomes = evaluation.outcomes
    tallies = {f.id: check_tallies(outcomes.get(f.id, ())) for f in evaluation.fixtures}
    severities = {check: t.severity for each in tallies.values() for check, t in each.items()}
    checks = {check: (at, severity) for at, (check, severity) in enumerate(severities.items())}
    return _Rows(_inputs(evaluation, clean), _files(evaluation), tallies, checks)


def _files(evaluation: ReportedEvaluation) -> dict[str, tuple[Attachment, ...]]:
    """Return the files that each fixture sends."""
    return {
        name: outcomes[0].sample.trial.request.files
        for name, outcomes in evaluation.outcomes.items()
    }


def pictures(evaluated: Sequence[ReportedEvaluation], room: int) -> dict[str, str]:
    """Return addresses that hold the pictures, by their digests: as many as fit into `room` bytes,
    those of the fixtures that the report shows first."""
    found: dict[str, str] = {}
    for evaluation in evaluated:
        files = _files(evaluation)
        for file in (file for fixture in evaluation.fixtures for file in files.get(fixture.id, ())):
            size = len(file.data) * 4 // 3 + len(file.sha256) + _AROUND_A_PICTURE
            is_new = file.sha256 not in found and file.media_type.startswith("image/")
            if is_new and size <= min(room, MOST_OF_A_PICTURE):
                room -= size
                found[file.sha256] = file.data_url
    return found


def _document(
    evaluated: Sequence[ReportedEvaluation],
    items: Sequence[_Item],
    rows: Sequence[_Rows],
    *,
    every: bool,
) -> dict[str, Any]:
    texts = _Texts()
    samples: dict[tuple[int, int], list[Outcome]] = defaultdict(list)
    for _, at, number, outcomes in items:
        samples[at, number] += outcomes
    return {
        "evaluations": [
            {
                "name": clip(visible(evaluation.label), _NAME_LIMIT),
                "prompts": [
                    texts.at(prompt_texts(arm) if arm else None, PROMPT_LIMIT)
                    for arm in (evaluation.base, evaluation.head)
                ],
                "checks": [
                    [texts.at(check, _NAME_LIMIT), severity]
                    for check, (_, severity) in rows[at].checks.items()
                ],
                "runs": [run.time.date().isoformat() for run in evaluation.past],
                "fixtures": [
                    _fixture(fixture, samples.get((at, number)), rows[at], evaluation.past, texts)
                    for number, fixture in enumerate(evaluation.fixtures)
                    if every or (at, number) in samples
                ],
            }
            for at, evaluation in enumerate(evaluated)
        ],
        "texts": texts.texts,
        "cut": texts.cut,
    }


def _cells(rows: _Rows, fixture: FixtureResult) -> list[list[int]]:
    found = []
    for check, tally in rows.tallies[fixture.id].items():
        base, head = (tally.counts.get(arm, Tally(0, 0)) for arm in ("base", "head"))
        place, _ = rows.checks[check]
        found.append([place, base.passed, base.samples, head.passed, head.samples])
    return found


def _past(fixture: FixtureResult, runs: Sequence[PastRun]) -> str:
    key = fixture_key(fixture.id) if runs else ""
    return "".join((state_of(run.by_fixture.get(key)) or "-")[0] for run in runs)


def _fixture(
    fixture: FixtureResult,
    outcomes: Sequence[Outcome] | None,
    rows: _Rows,
    past: Sequence[PastRun],
    texts: _Texts,
) -> list[Any]:
    """Return the row; without an input if no sample of the fixture is shown."""
    before, after = (
        rows.inputs[arm].get(fixture.id) if outcomes is not None else None
        for arm in ("base", "head")
    )
    return [
        texts.at(fixture.id, _NAME_LIMIT),
        texts.at(fixture.category, _NAME_LIMIT),
        fixture.change,
        str(fixture.base or numbers.NONE),
        str(fixture.head or numbers.NONE),
        fixture.base_passed,
        fixture.head_passed,
        texts.at(_notes(fixture)),
        texts.at(before),
        texts.at(after),
        [texts.at(error) for error in fixture.errors],
        _cells(rows, fixture),
        _past(fixture, past),
        [[texts.at(f.path, _NAME_LIMIT), f.sha256] for f in rows.files.get(fixture.id, ())],
        [_sample(outcome, texts) for outcome in outcomes or ()],
    ]


def _notes(fixture: FixtureResult) -> str:
    notes = [str(each) for each in (fixture.quarantine, fixture.confirmation) if each]
    if fixture.p_value is not None:
        notes.append(f"test of this fixture alone: adjusted p {numbers.p_value(fixture.p_value)}")
    if fixture.duplicate_of is not None:
        notes.append(f"the same input as {fixture.duplicate_of}")
    if fixture.cluster is not None:
        notes.append(f"in the cluster {fixture.cluster}")
    return " · ".join(notes)


def _sample(outcome: Outcome, texts: _Texts) -> list[Any]:
    sample = outcome.sample
    said = sample.completion.text if sample.completion else None
    return [
        int(sample.trial.arm == "head"),
        sample.trial.repetition,
        outcome.passed,
        texts.at(answer_text(sample) if sample.completion else None),
        texts.at(said if said != sample.output else None),
        texts.at(_facts(outcome)),
        texts.at(sample.error),
        [texts.at(repair) for repair in _repairs(sample)],
        [
            [
                texts.at(j.check, _NAME_LIMIT),
                j.passed,
                texts.at(j.message or None),
                j.severity,
                texts.at(_votes(j)),
            ]
            for j in outcome.check_results
        ],
    ]


def _repairs(sample: Sample) -> tuple[str, ...]:
    """Return the repairs, with what they did to the meaning if that is not the same."""
    if not sample.ledger:
        return sample.repairs
    said = {"same": "", "changed": " (changed the meaning)", "unknown": " (meaning unknown)"}
    return tuple(f"{applied.step}{said[applied.meaning]}" for applied in sample.ledger)


def _votes(check_result: CheckResult) -> str | None:
    """Return what each judge said, one a line; None if no judge was asked."""
    lines = [
        f"{vote.model}: {vote.verdict or 'not measured'}. {vote.reason}".strip()
        for vote in check_result.votes
    ]
    return "\n".join(lines) or None


def _earlier(sample: Sample) -> list[str]:
    """Return what was said before the last answer of a conversation, or made by earlier steps."""
    turns = sample.completion.turns[:-1] if sample.completion else ()
    if sample.trial.request.tools:
        turns = ()  # the answer's text has them
    steps = [f"step {name}" for name in step_names(sample.trial.request)]
    labels = steps or [f"answer {number}" for number in range(1, len(turns) + 1)]
    said = [(who, t.completion.text) for who, t in zip(labels, turns, strict=False)]
    if sample.completion and sample.completion.users:
        written = len(sample.trial.request.messages)
        messages = spoken(sample).trial.request.messages[written:]
        said = [(message.role, message.content) for message in messages]
    return [f"{who}: {clip(' '.join(text.split()), _EARLIER_ANSWER)}" for who, text in said]


def _facts(outcome: Outcome) -> str:
    """Return what a sample took, as far as it is known."""
    completion = outcome.sample.completion
    facts = []
    if completion:
        if completion.latency_ms is not None:
            facts.append(numbers.milliseconds(completion.latency_ms))
        if completion.ttft_ms is not None:
            facts.append(f"first token after {numbers.milliseconds(completion.ttft_ms)}")
        facts += _earlier(outcome.sample)
        if completion.prompt_tokens is not None and completion.completion_tokens is not None:
            tokens = f"{completion.prompt_tokens:,} → {completion.completion_tokens:,}"
            reasoned = completion.reasoning_tokens
            facts.append(
                f"{tokens} tokens" + (f" ({reasoned:,} for reasoning)" if reasoned else "")
            )
        if completion.cached_tokens:
            facts.append(f"{completion.cached_tokens:,} prompt tokens from the provider's cache")
        if completion.cost_usd is not None:
            facts.append(numbers.dollars(completion.cost_usd))
        if completion.finish_reason not in (None, "stop"):
            facts.append(f"ended with {completion.finish_reason}")
        if completion.replayed:
            facts.append("from a recording")
    if outcome.pass_score is not None and outcome.grade is not None:
        pass_score = numbers.score(outcome.pass_score)
        facts.append(f"grade {numbers.score(outcome.grade)} (pass score {pass_score})")
    if outcome.score is not None:
        facts.append(f"score {numbers.score(outcome.score)}")
    if outcome.sample.shared and outcome.sample.trial.part_of:
        facts.append("the same request was sent before, so the earlier answer counts here too")
    elif outcome.sample.shared:
        facts.append("base and head sent the same request, so one answer counts for both")
    return " · ".join(facts)


def _inputs(evaluation: ReportedEvaluation, clean: Clean) -> dict[Arm, dict[str, str]]:
    """Return the parts of the inputs that distinguish the fixtures, by arm."""
    found: dict[Arm, dict[str, str]] = {}
    for arm in ("base", "head"):
        requests = {
            name: known_messages(outcome.sample.trial.request)
            for name, outcomes in evaluation.outcomes.items()
            for outcome in outcomes
            if outcome.sample.trial.arm == arm
        }
        found[arm] = {name: clean(text) for name, text in distinct_parts(requests).items()}
    return found


def _encode(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
