from __future__ import annotations

from gatekeeper.gate.result import Calls
from gatekeeper.reports.call_counts import describe_calls


def test_calls_that_did_not_happen_are_left_out() -> None:
    assert describe_calls(Calls(made=1)) == "1 call made"
    assert describe_calls(Calls(4, 3, 2)) == "4 calls made, 2 saved, 3 cached"
    assert describe_calls(Calls(4, failed=1)) == (
        "4 calls made, retries included, 1 request not answered"
    )
    assert "12 requests not answered" in describe_calls(Calls(48, failed=12))
    made = Calls(made=2_000, surplus=3, unrecorded=1)
    assert describe_calls(made) == (
        "2,000 calls made, 1 not recorded, 3 cancelled after the decision"
    )
