"""What tries to spend beyond the cost limit: dear models, hostile counts, lost calls, forks."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.openai_server import Fault, OpenAIServer, Reply, close_connection, rubbish
from support.pull_request import FILES, HARMLESS, PROMPT
from support.pull_request import answer as say
from support.ways_in import RunGate

from gatekeeper.contract.policies.policy import POLICY_PATH, Policy, policy_in_force
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: {model}
params: {params}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: 1, mode: fixed}}
"""
O1_DOLLARS = 60e-6
"""What o1 takes for a token of its answer."""

Answer = Callable[[dict[str, Any]], str | Reply | Fault]


def revision(text: str, sha: str, model: str, params: str, policy: str) -> MemoryRevision:
    words = "".join(f"id{n},word {n}\n" for n in range(24))
    files = {
        "contracts/words.yaml": CONTRACT.format(model=model, params=params),
        "contracts/words.txt": f"{text} {{{{ word }}}}",
        "contracts/words.csv": f"id,word\n{words}",
        POLICY_PATH: policy,
    }
    return MemoryRevision({path: text.encode() for path, text in files.items()}, sha * 40)


class Spender:
    """A model that answers as it likes, and the check of a change that asks it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answer: Answer = lambda _: "ok"
        self.requests: list[dict[str, Any]] = []
        self._monkeypatch = monkeypatch

    def check(
        self,
        model: str,
        params: str = "{}",
        *,
        base_params: str | None = None,
        policy: str = "limits: {cost_usd: 2, concurrency: 16}",
        trusted: bool = True,
    ) -> GateResult:
        base = revision("Base", "b", model, base_params or params, policy)
        change = Change(base, revision("Head", "c", model, params, policy))
        work = plan_check(change, policy_in_force(change)[0])
        self._monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
        with OpenAIServer(lambda body: self.answer(body)) as server:
            self._monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            self.requests = server.requests
            return execute(
                RunPlan(work=work, revisions=(change.base, change.head), trusted=trusted)
            )


@pytest.fixture
def spender(monkeypatch: pytest.MonkeyPatch) -> Spender:
    return Spender(monkeypatch)


def limited(result: GateResult) -> bool:
    (contract,) = result.contracts
    return result.exit_code == 3 and "limit" in {reason.code for reason in contract.reasons}


@pytest.mark.parametrize("trusted", [True, False])
def test_one_call_that_can_cost_more_than_the_limit_is_not_made(
    spender: Spender, trusted: bool
) -> None:
    """48 USD were spent against 2: sixteen calls started before a price was known."""
    error = UsageError if trusted else MeasurementError
    with pytest.raises(
        error, match=r"o1 can cost 6\.\d\d USD, .*set max_tokens in `params`"
    ) as refused:
        spender.check("openai/o1", trusted=trusted)
    assert refused.value.exit_code == (2 if trusted else 3)
    assert spender.requests == []


def test_what_only_base_lacks_is_named_as_base_s(spender: Spender) -> None:
    with pytest.raises(UsageError, match="on the base branch, or raise"):
        spender.check("openai/o1", "{max_tokens: 100}", base_params="{temperature: 1}")
    assert spender.requests == []


@pytest.mark.parametrize(
    "param", ["max_completion_tokens: 10000", "max_tokens: 10000", "max_tokens: 30000"]
)
def test_answers_as_long_as_allowed_stay_within_the_limit(spender: Spender, param: str) -> None:
    tokens = int(param.split()[-1])
    lock, billed = threading.Lock(), [0.0]

    def answer(_: dict[str, Any]) -> Reply:
        with lock:
            billed[0] += tokens * O1_DOLLARS + 10 * 15e-6
        return Reply("ok", 10, tokens)

    spender.answer = answer
    result = spender.check("openai/o1", f"{{{param}}}")
    assert limited(result)
    # The limit that the contract sets is the one to lower.
    said = [result.contracts[0].reasons[0].text, *result.notices]
    assert sum(f"set a lower {param.split(':')[0]} in" in text for text in said) == 2
    assert 0 < billed[0] <= 2
    assert result.cost_usd == pytest.approx(billed[0])


def test_a_model_that_answers_with_more_than_it_was_asked_for_is_found_out_by_one_call(
    spender: Spender,
) -> None:
    """What remains possible: one answer of a server that does not keep to max_tokens."""
    spender.answer = lambda _: Reply("ok", 10, 100_000)
    result = spender.check("openai/o1", "{max_tokens: 100}")
    assert limited(result)
    assert len(spender.requests) == 1


def test_a_tiny_limit_is_legible(spender: Spender) -> None:
    tiny = "limits: {cost_usd: 0.00005}"
    with pytest.raises(UsageError, match=r"`limits\.cost_usd` is 0\.000050 USD, so"):
        spender.check("openai/gpt-4o-mini", policy=tiny)
    assert spender.requests == []
    enough = "limits: {cost_usd: 0.0002}"
    result = spender.check("openai/gpt-4o-mini", "{max_tokens: 5}", policy=enough)
    assert 1 <= len(spender.requests) < 48
    (reason,) = [r for r in result.contracts[0].reasons if r.code == "limit"]
    assert " 0.00 " not in reason.text
    assert "0.00020 USD" in reason.text


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tiny_cap_holds_whatever_the_server_bills(spender: Spender, seed: int) -> None:
    """Answers of any length that is allowed, many at a time, under a cap of few calls."""
    drawn, lock, billed = random.Random(seed), threading.Lock(), [0.0]  # noqa: S311

    def answer(_: dict[str, Any]) -> Reply:
        tokens = drawn.randint(0, 50)
        with lock:
            billed[0] += (40 * 0.15 + tokens * 0.6) * 1e-6
        return Reply("ok", 40, tokens)

    spender.answer = answer
    cap = "limits: {cost_usd: 0.00045, concurrency: 16}"
    result = spender.check("openai/gpt-4o-mini", "{max_tokens: 50}", policy=cap)
    assert 0 < billed[0] <= 0.00045
    assert result.cost_usd == pytest.approx(billed[0])
    assert result.forecast is not None
    assert result.forecast.most.cost_usd == pytest.approx(0.00045)


@pytest.mark.long
@pytest.mark.parametrize(
    "counts",
    [
        (None, None),
        (-1_000_000, -1_000_000),
        (10, -5_000_000),
        (10**30, 10**30),
        (float("nan"), 5),
        (10, float("inf")),
        (10**400, 1),
        (0, 0),
        ("many", "more"),
    ],
    ids=str,
)
def test_no_count_of_tokens_makes_room_for_more_calls(
    spender: Spender, counts: tuple[Any, Any]
) -> None:
    """None, negative, endless or no numbers at all: such a call counts with its worst price."""
    spender.answer = lambda _: Reply("ok", *counts)
    result = spender.check("openai/o1", "{max_tokens: 5000}")
    assert limited(result)
    assert 1 <= len(spender.requests) <= 2 / (5000 * O1_DOLLARS)
    assert result.cost_usd is None or result.cost_usd >= 0


@pytest.mark.parametrize("fault", [close_connection(), rubbish()], ids=["closed", "rubbish"])
def test_an_answer_that_is_lost_may_have_been_billed(spender: Spender, fault: Fault) -> None:
    spender.answer = lambda _: fault
    result = spender.check("openai/o1", "{max_tokens: 9000}")
    assert limited(result)
    assert len(spender.requests) <= 2 / (9000 * O1_DOLLARS)


def test_a_fork_s_forecast_takes_the_longest_answers(spender: Spender) -> None:
    policy = "limits: {cost_usd: 0.5}"
    with pytest.raises(MeasurementError, match="at worst"):
        spender.check("openai/gpt-4o-mini", policy=policy, trusted=False)
    assert spender.requests == []
    params = "{max_tokens: 50}"
    result = spender.check("openai/gpt-4o-mini", params, policy=policy, trusted=False)
    assert len(spender.requests) == 48
    assert result.verdict != "error"


def test_a_server_of_one_s_own_works_under_the_default_limit(spender: Spender) -> None:
    result = spender.check("openai/our-own-llama", policy="{}")
    assert len(spender.requests) == 48
    assert any("No price is known for openai/our-own-llama" in notice for notice in result.notices)


def test_a_model_that_is_not_called_needs_no_known_price(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base, head = (
        revision(text, sha, "openai/our-own-llama", "{}", "{}")
        for text, sha in (("Base", "b"), ("Head", "c"))
    )
    work = plan_check(Change(base, head), Policy())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(lambda _: "ok"):
        for calls in (48, 0):
            found = execute(
                RunPlan(work=work, revisions=(base, head), cache=tmp_path / "cache.jsonl")
            )
            assert found.calls.made == calls
            told = any("No price is known" in notice for notice in found.notices)
            assert told == bool(calls)


def test_a_fork_may_not_use_a_model_without_a_price_under_a_cost_limit(spender: Spender) -> None:
    with pytest.raises(MeasurementError, match="no price is known for openai/our-own-llama"):
        spender.check("openai/our-own-llama", policy="{}", trusted=False)
    assert spender.requests == []
    none = "limits: {cost_usd: null}"
    spender.check("openai/our-own-llama", policy=none, trusted=False)
    assert len(spender.requests) == 48


@pytest.mark.parametrize(
    ("written", "head"),
    [
        ("openai/gpt-4o-mini\nparams: {temperature: 0}", "openai/o1"),
        ("params: {", "params: {max_tokens: 9000000, "),
    ],
)
def test_a_dear_head_reaches_no_model_by_any_way(
    run_gate: RunGate, written: str, head: str
) -> None:
    """One call of it can cost more than the two dollars that nobody's policy allows."""
    contract = FILES["contracts/sentiment.yaml"].replace(written, head)
    assert head in contract
    answered = run_gate(FILES, {PROMPT: HARMLESS, "contracts/sentiment.yaml": contract}, answer=say)
    assert answered.exit_code == (3 if answered.way == "fork_stage" else 2)
    assert answered.requests == ()
    how = "set a lower" if "max_tokens" in head else "set"
    said = " ".join(answered.text.split())
    assert f": {how} max_tokens in `params` of the contract sentiment" in said


def test_a_head_without_a_price_is_for_trusted_people(run_gate: RunGate) -> None:
    contract = edited(FILES["contracts/sentiment.yaml"], "openai/gpt-4o-mini", "openai/ours")
    answered = run_gate(FILES, {PROMPT: HARMLESS, "contracts/sentiment.yaml": contract}, answer=say)
    if answered.way == "fork_stage":
        assert (answered.exit_code, answered.requests) == (3, ())
    else:
        assert answered.exit_code in (0, 1)
        assert answered.requests


def test_the_order_is_recorded_by_every_way(run_gate: RunGate) -> None:
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=say)
    assert answered.result is not None
    seed = answered.result["order_seed"]
    assert len(bytes.fromhex(seed)) == 16
    assert [contract["order_seed"] for contract in answered.result["contracts"]] == [seed]
