from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.providers.http.response_body import (
    MAX_BYTES,
    MAX_CHOICES,
    MAX_NAME,
    MAX_VALUES,
    UnreadableBody,
    read_body,
    unpack,
)


def read(parts: Iterable[bytes], encoding: str = "") -> bytes:
    async def each() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return asyncio.run(read_body(each(), encoding))


def pieces(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


@given(st.binary(max_size=2000), st.integers(1, 300), st.sampled_from(["", "gzip", " X-GZIP "]))
def test_what_was_sent_is_read(content: bytes, size: int, encoding: str) -> None:
    sent = gzip.compress(content) if encoding.strip() else content
    assert read(pieces(sent, size), encoding) == content


@pytest.mark.parametrize("encoding", ["", "gzip", "identity"])
def test_the_limit_is_inclusive(encoding: str) -> None:
    def sent(size: int) -> list[bytes]:
        content = bytes(size)
        return pieces(gzip.compress(content) if encoding == "gzip" else content, 65_536)

    assert len(read(sent(MAX_BYTES), encoding)) == MAX_BYTES
    with pytest.raises(UnreadableBody, match="larger"):
        read(sent(MAX_BYTES + 1), encoding)


@pytest.mark.long
def test_a_bomb_takes_no_more_memory_than_the_limit() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    packed = b"".join(bomb.compress(bytes(10_000_000)) for _ in range(100)) + bomb.flush()
    assert len(packed) < 2_000_000
    tracemalloc.start()
    with pytest.raises(UnreadableBody, match="larger"):
        read([packed], "gzip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * MAX_BYTES


def test_unpacking_a_bomb_lets_the_time_limit_and_other_calls_go_on() -> None:
    packed = gzip.compress(bytes(MAX_BYTES))

    async def main() -> tuple[int, int]:
        async def each() -> AsyncIterator[bytes]:
            yield packed

        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(others())
        largest = max([len(piece) async for piece in unpack(each(), "gzip", MAX_BYTES)])
        other.cancel()
        return turns, largest

    turns, largest = asyncio.run(main())
    assert largest <= 65_536
    assert turns >= MAX_BYTES // 65_536


def test_much_that_unpacks_to_little_is_too_large_too() -> None:
    empty = gzip.compress(b"")
    with pytest.raises(UnreadableBody, match="larger"):
        read([empty, *[bytes(1_000_000)] * 11], "gzip")


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "\u202e"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(UnreadableBody, match="not requested"):
        read([b"x"], encoding)


def test_broken_data_is_refused() -> None:
    with pytest.raises(UnreadableBody, match="cannot be decompressed"):
        read([b"not gzip at all"], "gzip")


def test_many_answers_to_one_request_are_refused() -> None:
    def answers(count: int) -> bytes:
        return b'{"choices":[' + b",".join([b"{}"] * count) + b"]}"

    padding = b" " + b"{}" * 10_000
    assert read([answers(MAX_CHOICES)])
    assert read([b'{"x":"' + b"{" * 10_000 + b'"}'])  # braces in a text
    assert read([answers(20_000)[:-1] + padding])  # no JSON: litellm says so
    with pytest.raises(UnreadableBody, match="answers to one request"):
        read([answers(20_000)])


@pytest.mark.parametrize("value", [b"[],", b"{},"])
def test_a_body_of_countless_values_is_refused(value: bytes) -> None:
    with pytest.raises(UnreadableBody, match="objects and lists"):
        read([b"[" + value * MAX_VALUES + b"1]"])


def test_deep_nesting_is_left_to_the_reader() -> None:
    assert read([b"[" * 100_000])


@pytest.mark.parametrize("name", ["model", "id", "system_fingerprint"])
def test_a_name_of_a_megabyte_is_refused(name: str) -> None:
    """litellm would search in it for minutes, with nothing else running."""
    answer = {name: "m" * 1_000_000, "choices": []}
    with pytest.raises(UnreadableBody, match=name):
        read([json.dumps(answer).encode()])


def test_a_long_answer_with_names_of_a_usual_length_is_read() -> None:
    content = json.dumps({"model": "m" * MAX_NAME, "response": "x" * 1_000_000}).encode()
    assert read([content]) == content
