"""Says what changed since the verdict of an earlier push, which the comment before remembers.

A comment keeps its own findings in a hidden line: digests, numbers and a commit, but no text of a
pull request. Whoever may edit the comment can change this line, so it decides nothing, and a line
of another form counts as none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.markers import find_state, state_marker
from gatekeeper.reports.words.headline import ICONS

ROOM = 400
"""Characters of the sentence at most."""
_MOST = 200
"""Fixtures that a state names. Of more, it says nothing."""
_FIELDS = ("sha", "verdict", "calls", "cost", "failing", "unknown")
_KEY = re.compile(r"[0-9a-f]{10}")
_SHA = re.compile(r"[0-9a-f]{40,64}")
_ENOUGH = 1e15

_State = dict[str, Any]


def state_line(result: GateResult) -> str:
    """Return the hidden line with what `result` found; nothing for a result without contracts."""
    if result.kind != "check" or not result.contracts:
        return ""
    failing = {_key(c.name): _keys(c, filter(_fails(c), c.fixtures)) for c in result.contracts}
    unknown = {_key(c.name): _keys(c, filter(_is_open, c.fixtures)) for c in result.contracts}
    state = {
        "sha": result.head_sha,
        "verdict": result.verdict,
        "calls": result.calls.made,
        "cost": result.cost_usd,
        "failing": failing if sum(map(len, failing.values())) <= _MOST else None,
        "unknown": unknown if sum(map(len, unknown.values())) <= _MOST else None,
    }
    return _line(state)


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
    if then["sha"] == now["sha"]:  # the same push was tested again
        then = then.get("before")
    if then is None:
        return body
    earlier = {key: value for key, value in then.items() if key != "before"}
    said = f"{_line({**now, 'before': earlier})}\n\n{_sentence(earlier, now)}"
    return _within(f"{body[: found.start()]}{said}{body[found.end() :]}", body, limit)


def _sentence(then: _State, now: _State) -> str:
    parts = _changes(then, now)
    parts.append(f"calls {then['calls']:,} → {now['calls']:,}")
    if then["cost"] is not None and now["cost"] is not None:
        parts.append(f"cost {numbers.transition(then['cost'], now['cost'], 'usd')}")
    verdict = f"{ICONS[then['verdict']]} {then['verdict']}"
    return f"**Since `{then['sha'][:10]}`** ({verdict}): {', '.join(parts)}."


def _changes(then: _State, now: _State) -> list[str]:
    """Return how many fixtures fail no longer, newly, and still. What was not measured now is not
    called passing."""
    if then["failing"] is None or now["failing"] is None:
        return []
    counts = dict.fromkeys(("mended", "new", "still", "unknown", "gone"), 0)
    for contract, failed in then["failing"].items():
        again = set(now["failing"].get(contract, ()))
        open_ = failed if now["unknown"] is None else now["unknown"].get(contract, ())
        rest = set(failed) - again
        lost = rest & set(open_)
        counts["still"] += len(set(failed) & again)
        counts["unknown"] += len(lost)
        counts["mended" if contract in now["failing"] else "gone"] += len(rest - lost)
    for contract, failed in now["failing"].items():
        counts["new"] += len(set(failed) - set(then["failing"].get(contract, ())))
    if not any(counts.values()):
        return ["no fixture failed then or fails now"]
    words = {
        "mended": "no longer",
        "new": "newly",
        "still": "still",
        "unknown": "not measured again",
        "gone": "no longer affected",
    }
    told = [f"{counts[key]:,} {words[key]}" for key in counts if counts[key]]
    return [f"fixtures that fail: {told[0]}", *told[1:]]


def _fails(contract: ContractResult) -> Any:
    compared = contract.base is not None
    return lambda fixture: (
        fixture.change == "broke"
        or (not compared and fixture.head_passed is False and not fixture.quarantine)
    )


def _is_open(fixture: FixtureResult) -> bool:
    return fixture.head_passed is None and not fixture.quarantine


def _keys(contract: ContractResult, fixtures: Iterable[FixtureResult]) -> list[str]:
    return [_key(f"{contract.name}\n{fixture.id}") for fixture in fixtures]


def _key(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _line(state: _State) -> str:
    return state_marker(json.dumps(state, separators=(",", ":")))


def _within(text: str, other: str, limit: int) -> str:
    return text if len(text) <= limit else other


def _read(body: str) -> _State | None:
    """Return the state that a comment keeps; None without one of the right form."""
    found = find_state(body.replace("\r\n", "\n"))
    try:
        state: Any = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return None
    if not _is_state(state):
        return None
    # Nothing else of the line gets into the next comment.
    own = {key: state[key] for key in _FIELDS}
    before = state.get("before")
    return {**own, "before": {k: before[k] for k in _FIELDS}} if _is_state(before) else own


def _is_state(state: Any) -> bool:
    return (
        isinstance(state, dict)
        and isinstance(state.get("sha"), str)
        and _SHA.fullmatch(state["sha"]) is not None
        and state.get("verdict") in tuple(ICONS)
        and _is_amount(state.get("calls"))
        and isinstance(state["calls"], int)
        and (state.get("cost", "") is None or _is_amount(state["cost"]))
        and all(_are_keys(state.get(name, "")) for name in ("failing", "unknown"))
    )


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < _ENOUGH


def _are_keys(found: Any) -> bool:
    """Return whether this maps keys to lists of keys, or is None."""
    if not isinstance(found, Mapping):
        return found is None
    lists = [[*found], *found.values()]
    return all(isinstance(each, list) and all(map(_is_key, each)) for each in lists)


def _is_key(found: Any) -> bool:
    return isinstance(found, str) and _KEY.fullmatch(found) is not None
