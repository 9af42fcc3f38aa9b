"""Which answers of `generate` the sample cache keeps, and to which requests it gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from support.fake_client import FakeClient, content

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, CutText, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers import ModelRouter
from gatekeeper.runs.answers.cache import CachedClient

ONE = Request("openai/m", (Message("user", "one"),), {"temperature": 0}, 42, 0)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")


def opened(path: Path, models: FakeClient) -> CachedClient:
    return CachedClient(path, cast("ModelRouter", models))


def ask(client: CachedClient, requests: Sequence[Request]) -> list[Any]:
    async def all_of_them() -> list[Any]:
        asked = (client.complete(request) for request in requests)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_of_them())


def test_an_answer_is_given_again_as_it_was_and_counts_as_replayed(tmp_path: Path) -> None:
    answer = Completion("a \ud800", 5.0, 10, 20, cost_usd=0.5, fingerprint="fp")
    first = opened(tmp_path / "cache", FakeClient(lambda _: answer))
    assert ask(first, [ONE]) == [answer]
    assert first.keep() == ()
    models = FakeClient()
    assert ask(opened(tmp_path / "cache", models), [ONE]) == [replace(answer, replayed=True)]
    assert models.asked == []


def test_any_other_request_is_asked(tmp_path: Path) -> None:
    first = opened(tmp_path / "cache", FakeClient())
    ask(first, [ONE])
    first.keep()
    others = [
        replace(ONE, model="openai/n"),
        replace(ONE, messages=(Message("user", "two"),)),
        replace(ONE, params={}),
        replace(ONE, seed=None),
        replace(ONE, repetition=1),
    ]
    models = FakeClient()
    ask(opened(tmp_path / "cache", models), [*others, ONE])
    assert len(models.asked) == len(others)


def test_failures_and_answers_that_were_cut_are_not_kept(tmp_path: Path) -> None:
    def answer(request: Request) -> Completion | CallFailed:
        if content(request) == "one":
            return CallFailed("no")
        return Completion("part", cut=CutText(9, "0" * 64))

    requests = [ONE, replace(ONE, messages=(Message("user", "two"),))]
    first = opened(tmp_path / "cache", FakeClient(answer))
    assert isinstance(ask(first, requests)[0], CallFailed)
    assert first.keep() == ()
    assert not (tmp_path / "cache").exists()


def test_of_two_runs_side_by_side_the_first_answer_stands(tmp_path: Path) -> None:
    answers = iter([Completion("a"), Completion("b")])
    runs = [opened(tmp_path / "cache", FakeClient(lambda _: next(answers))) for _ in "ab"]
    for client in runs:
        ask(client, [ONE])
        client.keep()
    (found,) = ask(opened(tmp_path / "cache", FakeClient()), [ONE])
    assert found.text == "a"
