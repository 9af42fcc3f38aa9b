"""Proposes fixtures of a contract from request logs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.logs.choose import Chosen, choose_inputs
from gatekeeper.author.logs.formats import LoggedInput, UnreadLine
from gatekeeper.author.logs.personal_data import (
    TooMuchPersonalDataError,
    without_personal_data,
)
from gatekeeper.author.logs.variables import filled
from gatekeeper.contract.meaning.digests import canonical, digest
from gatekeeper.contract.values.definition import Contract

MOST_INPUTS = 20_000
"""The most distinct inputs that are compared. If there are more, this number of them is
chosen at random."""
MOST_CHARACTERS = 200_000
"""Of an input. Longer ones are left out."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed `rows` of a fixture file, and what they were chosen from.

    Of the `requests` in the logs, `other` are not of this prompt. `inputs` are distinct, and
    `compared` those that were looked at. `replaced` personal data and secrets were replaced, and
    `left_out` inputs are
    too long, or have too many to look at. `covered` is the share of the compared inputs that
    are near a fixture of the suite, `covered_then` with the proposed ones too. `unread` are the
    lines of the logs without a request. The prompt uses the variables `sent`; `missing` are others
    of the fixtures that a proposed row lacks.
    """

    rows: tuple[dict[str, Any], ...]
    requests: int
    other: int
    inputs: int
    compared: int
    replaced: int
    left_out: int
    covered: float
    covered_then: float
    unread: tuple[UnreadLine, ...] = ()
    sent: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def propose_fixtures(
    contract: Contract,
    logged: Iterable[LoggedInput | UnreadLine],
    most: int,
    countries: Sequence[str] = (),
) -> Proposal:
    """Choose at most `most` inputs that the contract's fixtures do not cover."""
    reader = filled(contract)
    requests = 0
    found: dict[str, dict[str, Any]] = {}
    other = left_out = 0
    unread: list[UnreadLine] = []
    for one in logged:
        if isinstance(one, UnreadLine):
            unread.append(one)
            continue
        requests += 1
        values = reader.values(one)
        if values is None:
            other += 1
        else:
            text = canonical(dict(values))
            if len(text) > MOST_CHARACTERS:
                left_out += 1
            else:
                found.setdefault(text, dict(values))
    inputs = list(found.values())
    if len(inputs) > MOST_INPUTS:
        inputs = random.Random(0).sample(inputs, MOST_INPUTS)  # noqa: S311  # the same each time
    cleaned: list[dict[str, Any]] = []
    replaced = 0
    for one_input in inputs:
        try:
            clean = {
                name: without_personal_data(value, countries) for name, value in one_input.items()
            }
        except TooMuchPersonalDataError:
            left_out += 1
            continue
        cleaned.append({name: value for name, (value, _) in clean.items()})
        replaced += sum(count for _, count in clean.values())
    known = [reader.input_of(fixture.vars) for fixture in contract.fixtures]
    chosen = choose_inputs(known, list(map(reader.input_of, cleaned)), most)
    rows = tuple(_rows(chosen, cleaned))
    return Proposal(
        rows=rows,
        requests=requests,
        other=other,
        inputs=len(found),
        compared=len(cleaned),
        replaced=replaced,
        left_out=left_out,
        covered=chosen.covered,
        covered_then=chosen.covered_then,
        unread=tuple(unread),
        sent=tuple(sorted(reader.sent)),
        missing=tuple(n for n in reader.names if any(n not in row["vars"] for row in rows)),
    )


def _rows(chosen: Chosen, inputs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the fixture file."""
    for position, cluster in zip(chosen.positions, chosen.clusters, strict=True):
        values = inputs[position]
        row = {"id": f"log-{digest(values)[:10]}", "vars": values}
        yield {**row, "cluster": f"log-{cluster}"} if cluster else row
