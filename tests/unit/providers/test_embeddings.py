"""What is read of an answer with embeddings, and what is refused."""

from __future__ import annotations

import json

import pytest

from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.native.embeddings import read_answer

MODEL = "openai/text-embedding-3-small"


def answer(*vectors: object, usage: object = None) -> Exchange:
    data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return Exchange(body=json.dumps({"data": data, "model": "m-1", "usage": usage}).encode())


def test_the_cosine_the_tokens_and_the_price():
    found = read_answer(MODEL, answer([3, 4], [4, 3], usage={"prompt_tokens": 500}))
    assert (found.text, found.prompt_tokens, found.completion_tokens) == ("0.960000", 500, 0)
    assert found.cost_usd == pytest.approx(500 * 2e-8)
    assert found.fingerprint == "m-1"


def test_without_counts_the_price_is_unknown():
    found = read_answer(MODEL, answer([1], [1]))
    assert (found.prompt_tokens, found.cost_usd) == (None, None)


@pytest.mark.parametrize(
    "broken",
    [
        answer([10**400], [1.0]),
        Exchange(body=b"[]"),
        Exchange(body=b'{"data": null}'),
        Exchange(body=b'{"data": [1, 2]}'),
        answer([1]),
        answer([1], [1], [1]),
        answer([1], [1, 2]),
        answer([0, 0], [1, 1]),
        answer(["x"], [1]),
        answer([True], [1]),
        answer([1e308, 1e308], [1e308, 1e308]),
        answer([], []),
        answer([0.1] * 20_001, [0.1] * 20_001),
        answer("AAAA", "AAAA"),
    ],
)
def test_what_is_no_pair_of_vectors_is_refused(broken):
    with pytest.raises(UnreadableAnswer):
        read_answer(MODEL, broken)
