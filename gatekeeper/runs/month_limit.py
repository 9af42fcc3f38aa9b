"""The policy's `limits.month_usd`: full suites do not start when the month's money is spent.

It never holds back the check of a pull request.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.contract.policies.policy import POLICY_PATH
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.providers.models.cost_estimate import FREE

if TYPE_CHECKING:
    from gatekeeper.gate.work import Work
    from gatekeeper.history.month_spending import MonthSpending
    from gatekeeper.history.store import Past


def require_month_limit(work: Work, past: Past | None, now: datetime) -> tuple[str, ...]:
    """Refuse a full suite if the base policy's limit of the month is reached.

    Returns what to say of the limit. `past` is the history; None if the run has none. Raises
    UsageError if the limit is reached, and MeasurementError if nobody knows what was spent.
    """
    limit = work.policy.limits.month_usd
    if limit is None or not any(not m.startswith(FREE) for m in work.called_models):
        return ()
    if past is None:
        return (
            (
                "limits.month_usd has no effect on this run: without a history, "
                "gatekeeper does not know what was spent this month."
            ),
        )
    if past.unread:
        faults = "; ".join(past.faults)
        raise MeasurementError(
            "gatekeeper does not know what was spent this month, so it cannot "
            f"apply limits.month_usd of {POLICY_PATH}, and no model was called: "
            f"{faults}"
        )
    from gatekeeper.history.month_spending import month_spending

    spent = month_spending(past.records, now)
    reached = spent.reached(limit)
    if reached == 1:
        raise UsageError(f"{_limit_reached(spent, limit)}. No model was called")
    return tuple(_notices(spent, limit, damaged=bool(past.faults)))


def describe_reached(spent: MonthSpending, limit: float) -> str | None:
    """Say that the warning level or the limit is reached; None if neither is."""
    reached = spent.reached(limit)
    if reached is None:
        return None
    text = _limit_reached(spent, limit) if reached == 1 else _limit_near(spent, limit)
    return f"{text[0].upper()}{text[1:]}."


def _notices(spent: MonthSpending, limit: float, *, damaged: bool) -> list[str]:
    said = describe_reached(spent, limit)
    notices = [said] if said else []
    if damaged:
        notices.append(
            "A part of the history cannot be read, so the real amount of this month may be higher."
        )
    if spent.unpriced:
        records = numbers.count(spent.unpriced, "record")
        notices.append(
            f"The cost of {records} of this month is not known, so limits.month_usd "
            f"counts only {numbers.dollars(spent.usd)}, but the real amount is higher."
        )
    return notices


def _limit_near(spent: MonthSpending, limit: float) -> str:
    return (
        f"{_spent(spent, limit)}, so {numbers.percent(spent.usd / limit)} of the limit is used. "
        f"If the limit is reached, full suites do not start until {numbers.moment(spent.ends)}"
    )


def _limit_reached(spent: MonthSpending, limit: float) -> str:
    return (
        f"{_spent(spent, limit)}, so full suites do not start until {numbers.moment(spent.ends)}; "
        "gatekeeper checks pull requests as before. To run full suites sooner, raise "
        f"limits.month_usd in {POLICY_PATH} of the base branch"
    )


def _spent(spent: MonthSpending, limit: float) -> str:
    least = "at least " if spent.unpriced else ""
    return (
        f"{least}{numbers.dollars(spent.usd)} were spent this month, and limits.month_usd is "
        f"{numbers.dollars(limit)}"
    )
