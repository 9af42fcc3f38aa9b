"""Says what changed since the verdict of an earlier push, which the comment before remembers.

A comment keeps its own findings in a hidden line: digests, numbers and a commit, but no text of a
pull request. Whoever may edit the comment can change this line, so it decides nothing, and a line
of another form counts as none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from annotated_types import Interval, Predicate

from gatekeeper import numbers
from gatekeeper.contract.meaning.digests import short_digest
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult, Verdict
from gatekeeper.reports.markers import find_state, state_marker
from gatekeeper.reports.words.headline import ICONS
from gatekeeper.reports.words.ranking import broken_fixtures, failing_fixtures

ROOM = 400
"""Characters of the sentence at most."""
_MOST = 200
"""Fixtures that a state names. Of more, it says nothing."""
_Sha = Annotated[str, Predicate(re.compile(r"[0-9a-f]{40,64}").fullmatch)]
_Key = Annotated[str, Predicate(re.compile(r"[0-9a-f]{10}").fullmatch)]
_Keys = dict[_Key, list[_Key]]


@dataclass(frozen=True, slots=True)
class _State:
    """What a comment keeps: `failing` and `unknown` fixtures by contract, None for too many, and
    the state of the push `before`."""

    sha: _Sha
    verdict: Verdict
    calls: Annotated[int, Interval(ge=0, lt=1e15)]
    cost: Annotated[float, Interval(ge=0, lt=1e15)] | None
    failing: _Keys | None
    unknown: _Keys | None
    before: _State | None = None


def state_line(result: GateResult) -> str:
    """Return the hidden line with what `result` found; nothing for a result without contracts."""
    if result.kind != "check" or not result.contracts:
        return ""
    return _line(
        _State(
            result.head_sha,
            result.verdict,
            result.calls.made,
            result.cost_usd,
            _keys(result, _failing),
            _keys(result, _open),
        )
    )


def since_last_push(body: str, before: str, limit: int) -> str:
    """Return a comment that says what changed since the comment `before`, which it replaces.

    A text without findings of its own, such as an error or the progress of a run, keeps those of
    the comment before. Nothing is added beyond `limit` characters.
    """
    then, found = _read(before), find_state(body)
    now = _read(body)
    if then is None or (found and found[0] in before):  # it is the comment before, and more
        return body
    if now is None or found is None:
        return _within(f"{body}\n{_line(then)}\n", body, limit)
    earlier = then.before if then.sha == now.sha else then  # the same push was tested again
    if earlier is None:
        return body
    earlier = replace(earlier, before=None)
    said = f"{_line(replace(now, before=earlier))}\n\n{_sentence(earlier, now)}"
    return _within(f"{body[: found.start()]}{said}{body[found.end() :]}", body, limit)


def _sentence(then: _State, now: _State) -> str:
    parts = _changes(then, now)
    parts.append(f"calls {then.calls:,} → {now.calls:,}")
    if then.cost is not None and now.cost is not None:
        parts.append(f"cost {numbers.transition(then.cost, now.cost, 'usd')}")
    verdict = f"{ICONS[then.verdict]} {then.verdict}"
    return f"**Since `{then.sha[:10]}`** ({verdict}): {', '.join(parts)}."


def _changes(then: _State, now: _State) -> list[str]:
    """Return how many fixtures fail no longer, newly, and still. What was not measured now is not
    called passing."""
    if then.failing is None or now.failing is None:
        return []
    counts = dict.fromkeys(
        ("no longer", "newly", "still", "not measured again", "no longer affected"), 0
    )
    for contract, failed in then.failing.items():
        again = set(now.failing.get(contract, ()))
        open_ = failed if now.unknown is None else now.unknown.get(contract, ())
        rest = set(failed) - again
        lost = rest & set(open_)
        counts["still"] += len(set(failed) & again)
        counts["not measured again"] += len(lost)
        counts["no longer" if contract in now.failing else "no longer affected"] += len(rest - lost)
    for contract, failed in now.failing.items():
        counts["newly"] += len(set(failed) - set(then.failing.get(contract, ())))
    told = [f"{number:,} {words}" for words, number in counts.items() if number]
    if not told:
        return ["no fixture failed then or fails now"]
    return [f"fixtures that fail: {told[0]}", *told[1:]]


def _failing(contract: ContractResult) -> tuple[FixtureResult, ...]:
    """Return the fixtures that broke; all that fail if nothing is compared."""
    return broken_fixtures(contract) + (() if contract.base else failing_fixtures(contract))


def _open(contract: ContractResult) -> list[FixtureResult]:
    return [f for f in contract.fixtures if f.head_passed is None and not f.quarantine]


def _keys(
    result: GateResult, chosen: Callable[[ContractResult], Iterable[FixtureResult]]
) -> _Keys | None:
    keys = {
        _key(c.name): [_key(f"{c.name}\n{fixture.id}") for fixture in chosen(c)]
        for c in result.contracts
    }
    return keys if sum(map(len, keys.values())) <= _MOST else None


def _key(name: str) -> str:
    return short_digest(name)[:10]


def _line(state: _State) -> str:
    return state_marker(json.dumps(asdict(state), separators=(",", ":")))


def _within(text: str, other: str, limit: int) -> str:
    return text if len(text) <= limit else other


def _read(body: str) -> _State | None:
    """Return the state that a comment keeps; None without one of the right form."""
    found = find_state(body.replace("\r\n", "\n"))
    if found is None:
        return None
    from pydantic import TypeAdapter, ValidationError

    try:
        state = TypeAdapter(_State).validate_json(found[1], strict=True)
    except ValidationError:
        return None
    return replace(state, before=state.before and replace(state.before, before=None))
