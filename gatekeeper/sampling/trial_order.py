"""Chooses the order of one evaluation's trials at random, from a seed of the run.

- Repetition is outermost, so that after an early stop every fixture has nearly the same number of
  samples. The fixtures come in a random order, the same in every repetition.
- The two arms of a fixture follow each other. A drift of the provider then affects both alike, and
  a prompt prefix that both share stays in the provider's cache.
- Which arm goes first is chosen at random for every pair. If one arm always went first, any effect
  that alternates at the provider, such as one bad replica of two, would look like a difference
  between the arms.
- Fixtures of one cluster follow each other. A cluster is compared when its last fixture is sampled,
  and a large cluster must not be compared later than a small one for that reason.

A cache of prompts needs no other order. All fixtures of an arm begin with the same messages
(sampling/shared_prefix.py), so every call after the first of its arm finds them. Fixtures that
share more than this, such as a document, do not follow each other, for two reasons:

- In the first round, the test looks after every pair (paired/sequential.py). If the pairs were
  sorted by their texts, the first ones would not be a random sample of all.
- A cache can be read only after the call that wrote it. Calls that begin alike and start together
  would each write; in a random order, nearly all of them start apart.

Two rules keep a pull request from choosing its order:

1. The seed is generated when the run is planned (`new_order_seed`), after the commits are made. It
   is not secret afterwards: `result.json` has it.
2. A place depends on the seed, on the requests and on which fixtures share a cluster, and on
   nothing else of the files. So a seed that is used again for the same requests
   (sampling/cache.py) gives the same order, whatever the order and the names of the fixtures.
"""

from __future__ import annotations

import hmac
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from gatekeeper.contract.meaning.digests import digest, request_digest
from gatekeeper.contract.values.clusters import count_as_one, members_of
from gatekeeper.contract.values.trial import Arm, Trial


def new_order_seed() -> str:
    """Return 128 random bits in hexadecimal, which nobody can know before the run."""
    return secrets.token_hex(16)


def in_order(trials: Sequence[Trial], seed: str) -> tuple[Trial, ...]:
    """Return the trials of one evaluation in the order that the seed gives them.

    The result is the same for the same trials in any order. Fixtures with equal requests on
    every arm are neighbours, sorted by their ids.
    """
    requests: dict[str, dict[Arm, str]] = defaultdict(dict)
    for trial in trials:
        if trial.arm not in requests[trial.fixture]:
            request = trial.request
            sent = request_digest(request.messages, request.params)
            requests[trial.fixture][trial.arm] = f"{request.model} {sent}"
    inputs = {fixture: digest(arms) for fixture, arms in requests.items()}
    places = {name: _draw(seed, "fixture", name) for name in set(inputs.values())}
    unit_places = _unit_places(trials, inputs, seed)

    @cache
    def is_head_first(repetition: int, name: str) -> bool:
        # Fixtures that share a request draw the same, so their one call keeps its place.
        return bool(_draw(seed, f"arms {repetition}", name)[0] & 1)

    def place(trial: Trial) -> tuple[int, bytes, bytes, str, bool]:
        name = inputs[trial.fixture]
        second = (trial.arm == "head") != is_head_first(trial.repetition, name)
        unit = unit_places.get(trial.fixture, places[name])
        return trial.repetition, unit, places[name], trial.fixture, second

    return tuple(sorted(trials, key=place))


def _unit_places(trials: Sequence[Trial], inputs: Mapping[str, str], seed: str) -> dict[str, bytes]:
    """Return the position of each unit of several inputs, by fixture."""
    clusters = {trial.fixture: trial.cluster for trial in trials if trial.cluster is not None}
    if not clusters:
        return {}
    first: dict[str, str] = {}
    same = {fixture: first.setdefault(name, fixture) for fixture, name in inputs.items()}
    repeats = {fixture: other for fixture, other in same.items() if fixture != other}
    places: dict[str, bytes] = {}
    for members in members_of(count_as_one(repeats, clusters), list(inputs)).values():
        names = sorted({inputs[fixture] for fixture in members})
        if len(names) > 1:
            places |= dict.fromkeys(members, _draw(seed, "cluster", digest(names)))
    return places


def _draw(seed: str, purpose: str, name: str) -> bytes:
    """Return 32 bytes that look random to anybody without the seed."""
    return hmac.digest(seed.encode(), f"{purpose} {name}".encode(), "sha256")
