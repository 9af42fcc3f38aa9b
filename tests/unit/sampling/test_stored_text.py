"""What is stored of long texts: the beginning, and what the whole was."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_client import FakeClient, FakeWatch, content, heads, run, trial

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    CutText,
    Outcome,
    Request,
    Sample,
)
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.stored_text import (
    MOST_CHARACTERS,
    MOST_OF_FINGERPRINT,
    MOST_OF_MESSAGE,
    shorten,
    stored_completion,
    stored_outcome,
)

MARK = len("... [cut: only the first 100,000 characters are stored]")
LONG = "é" * (MOST_CHARACTERS + 1)


@given(text=st.text(max_size=300), most=st.integers(0, 300))
def test_a_text_keeps_its_beginning(text: str, most: int) -> None:
    kept = shorten(text, most)
    assert kept[:most] == text[:most]
    assert (kept == text) == (len(text) <= most)
    assert len(kept) <= most + MARK


@pytest.mark.parametrize("whole", [LONG, "\ud800" * (MOST_CHARACTERS + 1)])
def test_of_a_long_answer_length_and_digest_are_kept(whole: str) -> None:
    kept = stored_completion(Completion(whole, latency_ms=3.5))
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    assert kept.cut == CutText(MOST_CHARACTERS + 1, digest)
    assert (kept.text[:MOST_CHARACTERS], kept.latency_ms) == (whole[:MOST_CHARACTERS], 3.5)
    assert stored_completion(kept) is kept


def test_what_is_short_is_kept_as_it_is() -> None:
    completion = Completion("x" * MOST_CHARACTERS, fingerprint="f" * MOST_OF_FINGERPRINT)
    assert stored_completion(completion) is completion


def test_every_text_of_a_sample_has_its_limit() -> None:
    check_result = CheckResult("c", False, "m" * 10**6)
    answered = Sample(
        trial(0), Completion(LONG, fingerprint="f" * 10**6), output=LONG + "!", repairs=("r",)
    )
    kept = stored_outcome(Outcome(answered, (check_result,)))
    failed = stored_outcome(Outcome(Sample(trial(0), None, error="e" * 10**6)))
    assert kept.sample.completion is not None
    assert len(kept.sample.completion.fingerprint or "") <= MOST_OF_FINGERPRINT + MARK
    assert len(kept.sample.output) <= MOST_CHARACTERS + MARK
    assert len(kept.check_results[0].message) <= MOST_OF_MESSAGE + MARK
    assert len(failed.sample.error or "") <= MOST_OF_MESSAGE + MARK


def test_of_an_answer_without_repairs_one_text_is_kept() -> None:
    kept = stored_outcome(Outcome(Sample(trial(0), Completion(LONG), output=LONG)))
    assert kept.sample.completion is not None
    assert kept.sample.output is kept.sample.completion.text


class _Lengths(FakeWatch):
    """Remembers how much of each answer it was given to evaluate."""

    def __init__(self, enough: int | None = None) -> None:
        super().__init__(enough)
        self.evaluated: list[int] = []

    def evaluate(self, sample: Sample) -> Outcome:
        self.evaluated.append(len(sample.output))
        return super().evaluate(sample)


def test_long_answers_that_wait_for_their_turn_do_not_stay_in_memory() -> None:
    """A hundred of two megabytes are there before the first, which comes last."""
    others = asyncio.Event()

    async def answer(request: Request) -> Completion:
        if content(request) == "head 0":
            await others.wait()
            return Completion("ok")
        if content(request) == "head 99":
            others.set()
        return Completion(content(request) + "x" * 2_000_000)

    watch = _Lengths()
    tracemalloc.start()
    result = run(heads(100), FakeClient(answer), watch, Limits(None, None, None, concurrency=16))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert min(length for length in watch.evaluated if length > 2) > 1_000_000
    assert [s.trial.fixture for s in result.samples] == [f"f{n}" for n in range(100)]
    assert most < 110_000_000  # of 200 MB


def test_a_long_answer_that_nobody_wants_any_more_is_not_checked() -> None:
    first = asyncio.Event()

    async def answer(request: Request) -> Completion:
        if content(request) == "head 1":
            first.set()
            return Completion(LONG)
        if content(request) == "head 0":
            return Completion("ok")
        await first.wait()
        return Completion(LONG)

    watch = _Lengths(enough=1)
    run(heads(2), FakeClient(answer), watch, Limits(None, None, None, concurrency=2))
    assert len(watch.samples) == 1
    assert watch.evaluated.count(len(LONG)) <= 1


def test_the_message_of_a_failed_call_has_its_limit() -> None:
    client = FakeClient(lambda request: CallFailed("x" * 10**6))
    result = run(heads(1), client)
    assert len(result.samples[0].error or "") <= MOST_OF_MESSAGE + MARK
