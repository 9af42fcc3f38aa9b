"""Names the causes that failures share, across contracts, before single examples."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import commonprefix

from gatekeeper import numbers
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import code, prose
from gatekeeper.reports.formats.annotations import deciding_fixtures
from gatekeeper.reports.markdown.names import Names
from gatekeeper.reports.words.ranking import by_severity

_MOST, _MOST_CONTRACTS = 3, 3
_MESSAGE = 160
# What differs between messages of one shape: numbers, and what is quoted.
_DIFFERS = re.compile(r"\d[\d.,]*|'[^']*('|$)|\"(\\.|[^\"\\])*(\"|\\?$)|“[^”]*(”|$)|`[^`]*(`|$)")


@dataclass(frozen=True, slots=True)
class _Failure:
    """One failing fixture: the check and its message, or the message of a failed call."""

    contract: str
    check: str | None
    message: str


def shared_causes(result: GateResult) -> str:
    """Return the causes that explain two failing fixtures or more, the most frequent first; empty
    if there is none."""
    concerned = [c for c in by_severity(result.contracts) if c.verdict == result.verdict]
    if result.verdict == "pass":
        return ""
    alike: dict[tuple[str | None, str], list[_Failure]] = defaultdict(list)
    for contract in concerned:
        for failure in _failures(contract):
            alike[failure.check, _DIFFERS.sub("…", failure.message)].append(failure)
    groups = sorted(alike.values(), key=len, reverse=True)
    shown = [group for group in groups if len(group) > 1][:_MOST]
    if not shown:
        return ""
    several = len({failure.contract for group in groups for failure in group}) > 1
    said = [_said(group, result, several=several) for group in shown]
    left = sum(map(len, groups)) - sum(map(len, shown))
    if left:
        said.append(
            f"{left:,} more {'fails for another cause' if left == 1 else 'fail for others'}"
        )
    if len(said) == 1:
        return f"**Same cause:** {said[0]}"
    return "\n".join(["**Same cause:**", "", *(f"- {line}" for line in said)])


def _said(group: Sequence[_Failure], result: GateResult, *, several: bool) -> str:
    first, on = group[0], numbers.count(len(group), "fixture")
    counts = Counter(failure.contract for failure in group).most_common()
    if several and len(counts) == 1:
        on = f"{on} of {code(first.contract, 60)}"
    elif several:
        named = [f"{code(name, 60)} {count:,}" for name, count in counts]
        on = f"{on} ({numbers.some(named, _MOST_CONTRACTS)})"
    what = "calls fail"
    if first.check is not None:
        what = f"{Names(first.contract, result.links).check(first.check, 60)} fails"
    message = commonprefix([failure.message for failure in group])  # noqa: RUF071
    if any(failure.message != message for failure in group):
        message = message.rstrip(" '\"“`:([{,;\\") + "…"
        message += '"' if message.count('"') % 2 else ""
    return f"{what} on {on}" + (f": {prose(message, _MESSAGE)}" if len(message) > 1 else "")


def _failures(contract: ContractResult) -> Iterator[_Failure]:
    for fixture in deciding_fixtures(contract):
        failure = next(iter(fixture.failures_on("head")), None)
        alone = contract.base is None and fixture.head_passed is False and not fixture.quarantine
        if failure and (fixture.change == "broke" or alone):
            yield _Failure(contract.name, failure.check, failure.message)
        elif fixture.errors and contract.verdict == "error":
            yield _Failure(contract.name, None, fixture.errors[0])
