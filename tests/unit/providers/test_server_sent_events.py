"""Events are read as the HTML standard says, however their bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.providers.http import answer_stream
from gatekeeper.providers.http.answer_stream import Event, EventReader
from gatekeeper.providers.http.response_body import UnreadableAnswer, UnreadableBody


def read(*parts: bytes) -> list[Event]:
    reader = EventReader()
    return [event for part in parts for event in reader.feed(part)]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data\n\ndata\ndata\n\ndata:", ["", "\n"]),
        (b": comment\n\ndata: a\n\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", ["a", "b", "c"]),
        (b"id: 1\nretry: 5\nweather: fine\ndata: a\n\n", ["a"]),
        (b"event: lonely\n\ndata: a\n\n", ["a"]),
        (b"data: never ends\n", []),
        ("data: Grüße 🙂\n\n".encode(), ["Grüße 🙂"]),
    ],
)
def test_what_the_standard_says(stream: bytes, data: list[str]) -> None:
    assert [event.data for event in read(stream)] == data
    assert [event.data for event in read(*(bytes([byte]) for byte in stream))] == data


def test_an_event_names_its_type() -> None:
    assert read(b"event: ping\ndata: 1\n\ndata: 2\n\n") == [
        Event("ping", "1"),
        Event("message", "2"),
    ]


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))


@given(
    st.lists(st.lists(LINES, min_size=1)),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 200)),
)
def test_data_comes_back_however_it_is_cut(
    events: list[list[str]], end: str, cuts: list[int]
) -> None:
    written = "".join(
        "".join(f"data: {line}{end}" for line in lines) + end for lines in events
    ).encode()
    places = sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    parts = [written[a:b] for a, b in pairwise(places)]
    assert [event.data for event in read(*parts)] == ["\n".join(lines) for lines in events]


@given(st.lists(st.binary()))
def test_rubbish_is_read_or_refused(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    try:
        found = read(*parts)
    except UnreadableAnswer:
        with pytest.raises(UnicodeDecodeError):
            whole.decode()
    else:
        assert found == read(whole)


def test_a_character_may_be_cut_but_not_broken() -> None:
    assert read(b"data: \xc3", b"\xbc\n\n") == [Event("message", "ü")]
    with pytest.raises(UnreadableAnswer):
        read(b"data: \xc3\n\n")


@pytest.mark.parametrize("part", [b"data: " + b"x" * 90, b"data: x\n", b": comment\n"])
def test_an_event_has_a_limit(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_EVENT", 200)
    with pytest.raises(UnreadableBody):
        read(*[part] * 100)


def test_the_limit_is_of_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_EVENT", 20)
    assert len(read(b"data: 12345\n\n" * 50)) == 50
