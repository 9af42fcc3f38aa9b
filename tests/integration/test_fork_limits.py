"""A fork's head spends nothing where it could spend more than the base policy allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.openai_server import OpenAIServer

from gatekeeper.contract.policies.policy import POLICY_PATH, policy_in_force
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.forecast.spending_limits import require_within_limits
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: openai/gpt-4o-mini
params: {params}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: {samples}}}
"""


def files(text: str, samples: int, params: str, policy: str) -> dict[str, bytes]:
    words = "".join(f"id{i},word {i}\n" for i in range(10))
    return {
        "contracts/words.yaml": CONTRACT.format(samples=samples, params=params).encode(),
        "contracts/words.txt": f"{text} {{{{ word }}}}".encode(),
        "contracts/words.csv": f"id,word\n{words}".encode(),
        POLICY_PATH: policy.encode(),
    }


def proposal(
    base_policy: str, *, samples: int = 1, params: str = "{}", head_policy: str | None = None
) -> tuple[Change, Work]:
    """A pull request that rewords the prompt, and may ask for more than base did."""
    base = MemoryRevision(files("Base", 1, "{}", base_policy), "b" * 40)
    written = files("Head", samples, params, head_policy or base_policy)
    change = Change(base, MemoryRevision(written, "a" * 40))
    policy, notices = policy_in_force(change)
    return change, plan_check(change, policy, notices=notices)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(_: Mapping[str, Any]) -> str:
        return "ok"

    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(answer) as server:
        yield server


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        ("limits: {calls: 50}", {"samples": 50}, "may take 1,000 calls, .* allows 50"),
        ("limits: {cost_usd: 0.01}", {"params": "{max_tokens: 100000}"}, r"can cost 0\.\d+ USD, "),
        ("limits: {cost_usd: 0.1}", {}, r"may cost 0\.3\d USD at worst, .* allows 0\.10 USD\."),
        (
            "limits: {calls: 50}",
            {"samples": 50, "head_policy": "limits: {calls: 1000000}"},
            "raise `limits.calls` in .github/gatekeeper.yml of the base branch",
        ),
    ],
    ids=["calls", "cost of one call", "cost", "a limit raised at head"],
)
def test_a_fork_that_could_spend_too_much_reaches_no_model(
    model: OpenAIServer, policy: str, more: dict[str, Any], message: str
) -> None:
    change, work = proposal(policy, **more)
    with pytest.raises(MeasurementError, match=message) as refused:
        execute(RunPlan(work=work, revisions=(change.base, change.head), trusted=False))
    assert refused.value.exit_code == 3
    assert model.requests == []


def test_a_trusted_head_is_stopped_at_the_limit_itself(model: OpenAIServer) -> None:
    change, work = proposal("limits: {calls: 5}")
    result = execute(RunPlan(work=work, revisions=(change.base, change.head)))
    assert result.verdict == "error"
    assert len(model.requests) == 5


def test_a_fork_within_the_limits_is_checked(model: OpenAIServer) -> None:
    change, work = proposal("limits: {calls: 20, cost_usd: 1}")
    result = execute(RunPlan(work=work, revisions=(change.base, change.head), trusted=False))
    assert result.contracts[0].paired is not None
    assert len(model.requests) == 20


def test_a_fork_that_touches_no_prompt_asks_for_nothing() -> None:
    base = MemoryRevision(files("Base", 1, "{}", "limits: {calls: 1}"), "b" * 40)
    change = Change(base, MemoryRevision({**base.files, "README.md": b"x"}, "a" * 40))
    work = plan_check(change, policy_in_force(change)[0])
    assert (
        execute(RunPlan(work=work, revisions=(change.base, change.head), trusted=False)).verdict
        == "pass"
    )


def test_without_limits_nothing_is_refused() -> None:
    _, work = proposal("limits: {calls: null, cost_usd: null}", samples=50)
    assert require_within_limits(work, lambda _: 1e9) == ()


def test_what_has_no_price_is_refused_to_a_fork_and_named_to_others() -> None:
    _, work = proposal("limits: {calls: 1000, cost_usd: 1}", samples=5)
    with pytest.raises(MeasurementError, match=r"no price is known for openai/gpt-4o-mini"):
        require_within_limits(work, lambda _: None)
    (notice,) = require_within_limits(work, lambda _: None, trusted=True)
    assert "openai/gpt-4o-mini" in notice


def test_the_sum_of_the_worst_prices_counts_for_a_fork_alone() -> None:
    _, work = proposal("limits: {calls: 1000, cost_usd: 1}", samples=5)
    with pytest.raises(MeasurementError, match=r"may cost 1\.10 USD at worst"):
        require_within_limits(work, lambda _: 0.011)
    assert require_within_limits(work, lambda _: 0.011, trusted=True) == ()
    assert require_within_limits(work, lambda _: 0.01) == ()


@pytest.mark.parametrize("price", [1.1, float("inf")])
def test_one_call_that_is_too_dear_is_refused_to_everybody(price: float) -> None:
    _, work = proposal("limits: {cost_usd: 1}")
    with pytest.raises(MeasurementError, match="set max_tokens in `params` of the contract words"):
        require_within_limits(work, lambda _: price)
    with pytest.raises(UsageError, match=r"raise `limits\.cost_usd` in \.github/gatekeeper\.yml"):
        require_within_limits(work, lambda _: price, trusted=True)


def test_a_limit_that_makes_a_run_slow_is_named() -> None:
    _, work = proposal("limits: {cost_usd: 1, concurrency: 4}")
    (notice,) = require_within_limits(work, lambda _: 0.3, trusted=True)
    assert "only 3 calls" in notice
    assert require_within_limits(work, lambda _: 0.2, trusted=True) == ()


def test_any_cost_limit_is_compared_with_any_price() -> None:
    _, work = proposal("limits: {cost_usd: 1.0e+308}")
    assert require_within_limits(work, lambda _: 1e-5, trusted=True) == ()
