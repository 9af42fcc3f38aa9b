"""Reads the one JSON object that a judge or a simulated user answers with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_LONGEST_ANSWER = 50_000
_MOST_OBJECTS = 50
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def read_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object of an answer: the whole text, or the only object in it.

    None if there are several: one of them may be a quotation of the text that the model was shown,
    which can contain an answer of its own. None, too, for an object that writes a key twice.
    """
    if len(text) > _LONGEST_ANSWER:
        return None
    rest = _without_thoughts(text)
    found: list[Mapping[str, Any]] = []
    at = rest.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(rest, at)
            found.append(value)
        except _TwiceError:
            return None
        except (ValueError, RecursionError):
            end = at + 1
        at = rest.find("{", end)
    return found[0] if len(found) == 1 and at < 0 else None


def find_object_fault(text: str) -> str | None:
    """Return why an answer cannot be read as a JSON object, although it begins one; None if its
    first object can be read, or there is none."""
    if len(text) > _LONGEST_ANSWER:
        return f"the answer is longer than {_LONGEST_ANSWER:,} characters"
    rest = _without_thoughts(text)
    start = rest.find("{")
    if start < 0:
        return None
    try:
        _DECODER.raw_decode(rest, start)
    except _TwiceError:
        return "the answer's JSON object has a key twice"
    except json.JSONDecodeError as error:
        return f"the answer's JSON object is broken: {error.msg}, character {error.pos - start + 1}"
    except (ValueError, RecursionError):
        return "the answer's JSON object is nested too deeply, or has too long a number"
    return None


def _without_thoughts(text: str) -> str:
    thoughts = _THOUGHTS.match(text)
    return text[thoughts.end() :] if thoughts else text


class _TwiceError(Exception):
    """A key is written twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _TwiceError
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
