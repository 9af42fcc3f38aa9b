"""Reuses pairs of answers that an earlier run measured, so that they cost nothing again. Pure.

A second push, a repeated job and the merge queue send the same requests as before. Four rules keep
old answers from misleading:

1. Both arms of a pair come from one run. If base were older than head, a change of the provider's
   model would look like an effect of the prompt. So a pair is the unit, and a trial without a
   partner has none: a run on the default branch, which watches for drift, finds nothing here. A
   fresh answer whose partner was not asked for (confirmation.py) is kept alone, because it only
   names suspects. If the partner was lost, both are asked for again.
2. A pair is sampled once. A repeated request within MOST_AGE gets the first answer, so that nobody
   can repeat a job until it passes by chance. Only evidence is kept: of the answers that were under
   way when a run ended, only the fast ones would be there.
3. A contract is found and kept as a whole. If one request changed, all of it is measured again.
   Otherwise a push could change the failing fixtures to get new answers for them, and keep the
   answers that passed by chance. All samples of a contract are one entry, so that anyone who
   removes the failing ones loses the passing ones as well.
4. A contract keeps its first order: its entry holds the order's seed. With a new order for the same
   answers, a repeated job would be a new chance that sampling ends before the failing fixtures.
   With the old order, the same answers lead to the same decision. An author knows that seed, and
   cannot use it: it applies to exactly these requests, whose answers are known, and the order
   depends on nothing else of the files (sampling/trials.py). A pull request with other
   requests is sampled again in a new order. So a lucky order lasts as long as its answers.

If a run ends too early, its complete pairs are kept and the next run continues after them: the
entry grows at its end, and expires as a whole MOST_AGE after its first pairs.

The answers that `generate` and `mutate` ask for before anything is compared belong to no contract
and decide nothing about a merge. So each of them is an entry of its own (`answer_entry`).

Of an answer that is too long to be kept, the entry holds the beginning, the digest and the outcome
of its checks. The outcome counts again as long as the checks are the same; with other checks it is
unknown whether the answer passes. To sample the contract again would be a new chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gatekeeper.contract.checks.judge_settings import question_key
from gatekeeper.contract.meaning.digests import digest, request_digest
from gatekeeper.contract.values.trial import (
    Arm,
    Completion,
    ContractFrom,
    Evaluated,
    Request,
    Sample,
    Trial,
)

MOST_AGE = timedelta(days=7)

_Place = tuple[ContractFrom, str, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """The answers of both arms in one run. `key` names their two requests. One answer is None if
    it was not asked for."""

    key: str
    base: Completion | None
    head: Completion | None

    @property
    def answers(self) -> Mapping[Arm, Completion]:
        """Return the answers that there are."""
        both: tuple[tuple[Arm, Completion | None], ...] = ("base", self.base), ("head", self.head)
        return {arm: answer for arm, answer in both if answer is not None}


@dataclass(frozen=True, slots=True)
class Entry:
    """The pairs of one contract's plan, in the order in which runs sampled them.

    `plan` identifies all requests of the contract, `measured` is the time of its first pairs, and
    `order_seed` gave its trials their order.
    """

    plan: str
    contract: str
    order_seed: str
    measured: datetime
    pairs: tuple[Pair, ...]
    judged: Mapping[str, Completion] = field(default_factory=dict)
    """What judges answered about the samples, by `question_key`: the first answer stands too. In an
    entry without a contract, the answer to the one request of its plan."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """All requests of one contract: `pairs` has the key of each by evaluation, fixture and
    repetition.

    It is the same for equal requests: model, messages, parameters, seed and repetition, of base and
    of head. Two contracts never share an answer, as in any run.
    """

    contract: str
    pairs: Mapping[_Place, str]

    @property
    def key(self) -> str:
        return digest([self.contract, sorted(set(self.pairs.values()))])


def recall(
    trials: Sequence[Trial], entries: Mapping[str, Entry], planned: Sequence[Trial] = ()
) -> dict[int, Completion]:
    """Return the known samples of the trials, by their index. `entries` are by their plan, which is
    that of the `planned` trials for fresh ones."""
    if not entries:
        return {}
    plans = _plans(trials)
    measured: dict[tuple[str, str, Arm], Completion] = {}
    for plan in _plans(planned or trials).values():
        for pair in entries[plan.key].pairs if plan.key in entries else ():
            for arm, answer in pair.answers.items():
                measured.setdefault((plan.contract, pair.key, arm), answer)
    known: dict[int, Completion] = {}
    for index, trial in enumerate(trials):
        key = plans[trial.contract].pairs[_place(trial)]
        found = measured.get((trial.contract, key, trial.arm))
        if found is not None:
            known[index] = replace(found, replayed=True)
    return known


def recall_judge_answers(
    trials: Sequence[Trial], entries: Mapping[str, Entry]
) -> dict[str, Completion]:
    """Return what judges answered about the known samples of the trials, by `question_key`."""
    if not any(entry.judged for entry in entries.values()):
        return {}
    keys = {plan.key for plan in _plans(trials).values()}
    known = (entries[key].judged for key in keys if key in entries)
    return {key: answer for judged in known for key, answer in judged.items()}


def answer_entry(request: Request, answer: Completion, now: datetime) -> Entry:
    """Return the entry of an answer that belongs to no contract."""
    plan = _answer_plan(request)
    return Entry(plan, "", "", now, (), {plan: answer})


def recall_answer(request: Request, entries: Mapping[str, Entry]) -> Completion | None:
    """Return the known answer to a request that belongs to no contract; None if there is none.
    `entries` are by their plan."""
    plan = _answer_plan(request)
    known = entries[plan].judged.get(plan) if plan in entries else None
    return None if known is None else replace(known, replayed=True)


def _answer_plan(request: Request) -> str:
    return digest(["answer", *_meaning(request)])


def earlier_order_seeds(trials: Sequence[Trial], entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the order seed of each contract with an entry, by the contract's name."""
    if not entries:
        return {}
    plans = _plans(trials).values()
    return {p.contract: entries[p.key].order_seed for p in plans if p.key in entries}


def measured(
    trials: Sequence[Trial],
    samples: Sequence[Sample],
    now: datetime,
    order_seeds: Mapping[str, str],
) -> list[Entry]:
    """Return each contract's pairs for which this run has both answers from a model and as
    evidence, and the fresh answers whose partner was not asked for.

    `order_seeds` gave each contract its order, by its name. An answer that was cut comes with the
    outcomes of each evaluation that used it.
    """
    arms: dict[tuple[str, _Place], dict[Arm, Completion]] = defaultdict(dict)
    lost: set[tuple[str, _Place]] = set()
    for sample in _evidence(trials, samples):
        trial, answer = sample.trial, sample.completion
        if answer is None:
            lost.add((trial.contract, _place(trial)))
        elif not answer.replayed:
            arms[trial.contract, _place(trial)][trial.arm] = answer
    plans = _plans(trials)
    fresh = _plans(_fresh_trials(trials, samples))
    judged = _judge_answers(trials, samples)
    measured: dict[str, dict[str, Pair]] = defaultdict(dict)
    for (contract, place), both in arms.items():
        planned = plans[contract].pairs.get(place)
        if len(both) == 2 or not (planned or (contract, place) in lost):
            key = planned or fresh[contract].pairs[place]
            pair = Pair(key, both.get("base"), both.get("head"))
            measured[contract][key] = _joined(pair, measured[contract].get(key))
    # An entry without pairs has new answers of judges about pairs that were known before.
    contracts = dict.fromkeys((*measured, *judged))
    return [
        Entry(
            plans[contract].key,
            contract,
            order_seeds[contract],
            now,
            tuple(measured[contract].values()),
            judged.get(contract, {}),
        )
        for contract in contracts
    ]


def _joined(pair: Pair, same: Pair | None) -> Pair:
    """Return the pair with the outcomes of the same requests in another evaluation."""
    if same is None:
        return pair
    return replace(
        pair,
        base=_with_outcomes(pair.base, same.base),
        head=_with_outcomes(pair.head, same.head),
    )


def _with_outcomes(answer: Completion | None, same: Completion | None) -> Completion | None:
    if answer is None or same is None:
        return answer or same
    return replace(answer, kept=(*same.kept, *answer.kept))


def continued(earlier: Entry | None, new: Entry) -> Entry:
    """Return the earlier entry with the pairs of the new one added, for the same plan."""
    if earlier is None:
        return new
    judged = {**new.judged, **earlier.judged}
    return replace(earlier, pairs=(*earlier.pairs, *new.pairs), judged=judged)


def live_entries(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the entry that counts for each plan: the oldest, or one that continues its pairs.

    Of two that are as old, or go on in two ways, it is the one that comes first.
    """
    stands: dict[str, Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.measured):
        first = stands.get(entry.plan)
        if first is None or _goes_on_behind(first, entry):
            stands[entry.plan] = entry
    return stands


def _goes_on_behind(first: Entry, entry: Entry) -> bool:
    if not first.contract:
        return False  # one answer, to which nothing is added
    same_order = entry.order_seed == first.order_seed
    return same_order and entry.pairs[: len(first.pairs)] == first.pairs


def _plans(trials: Sequence[Trial]) -> dict[str, _Plan]:
    """Return the plan of each contract. An arm without a partner is a part of it too."""
    requests: dict[str, dict[_Place, dict[Arm, Any]]] = defaultdict(lambda: defaultdict(dict))
    for trial in trials:
        requests[trial.contract][_place(trial)][trial.arm] = _meaning(trial.request)
    return {
        contract: _Plan(contract, {place: digest(arms) for place, arms in places.items()})
        for contract, places in requests.items()
    }


def _fresh_trials(trials: Sequence[Trial], samples: Sequence[Sample]) -> list[Trial]:
    """Return the fresh trials of both arms, also if one was left out."""
    planned: dict[tuple[Evaluated, str], dict[Arm, Trial]] = defaultdict(dict)
    for trial in trials:
        key = (trial.contract, trial.contract_from), trial.fixture
        planned[key].setdefault(trial.arm, trial)
    fresh = [sample.trial for sample in samples if sample.trial.confirms]
    places = {(((t.contract, t.contract_from), t.fixture), t.repetition) for t in fresh}
    return [arm.again(repetition) for key, repetition in places for arm in planned[key].values()]


def _place(trial: Trial) -> _Place:
    return trial.contract_from, trial.fixture, trial.repetition


def _meaning(request: Request) -> list[Any]:
    content = request_digest(request)
    meaning = [request.model, content, request.seed, request.repetition]
    # Only if it is set, so that entries of earlier versions stay valid.
    return [*meaning, "streamed"] if request.streamed else meaning


def _evidence(trials: Sequence[Trial], samples: Sequence[Sample]) -> Iterator[Sample]:
    """Return the samples of each evaluation up to its first gap, as monitor.py does, and the
    fresh ones, of which confirmation.py leaves out what follows a gap."""
    planned: dict[Evaluated, list[Trial]] = defaultdict(list)
    for trial in reversed(trials):
        planned[trial.contract, trial.contract_from].append(trial)
    for sample in samples:
        if sample.trial.confirms:
            yield sample
            continue
        key = sample.trial.contract, sample.trial.contract_from
        evaluation = planned[key]
        if evaluation and evaluation.pop() is sample.trial:
            yield sample
        else:
            evaluation.clear()


def _judge_answers(
    trials: Sequence[Trial], samples: Sequence[Sample]
) -> dict[str, dict[str, Completion]]:
    """Return the judges' answers about the evidence of each contract, by `question_key`."""
    found: dict[str, dict[str, Completion]] = defaultdict(dict)
    for sample in _evidence(trials, samples):
        for answer in sample.judge_answers:
            if answer.completion is not None and answer.completion.cut is None:
                own = found[sample.trial.contract]
                own[question_key(answer.asked)] = answer.completion
    return found
