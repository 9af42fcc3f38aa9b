"""Reads the JSON object that a judge or a simulated user answers with.

An answer is the object and nothing else: the text that a judge was shown can contain an object of
its own, and a judge that quotes it says its verdict in prose. White space, one fence around the
object, and closed `<think>` blocks before it are not a part of the answer. `read_answer` also
refuses an answer that was cut off, and an object that stands in what the model was shown.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from gatekeeper.contract.reading.data_blocks import INVISIBLE, shown_texts
from gatekeeper.contract.reading.thoughts import without_thoughts
from gatekeeper.contract.syntax.json_positions import STRICT, RefusedJsonError
from gatekeeper.contract.values.trial import Completion, ended_early

_LONGEST_ANSWER = 50_000
_DEEPEST_ANSWER = 200
"""Levels. Newer versions of Python decode thousands, and what walks through them ends."""
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|([\[{])|([\]}])', re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL | re.IGNORECASE)
_ESCAPE = re.compile(r"\\+(?:u([0-9a-f]{4})|[nrtbf])", re.IGNORECASE)
_MOST_ESCAPES = 3
"""How often a text can be escaped, in JSON, HTML or an address, and still be compared."""
_MOST_CODES = 2
_CODE = re.compile(r"[A-Za-z0-9+/_-]{24,}")
_URL_SAFE = str.maketrans("-_", "+/")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2}){12,}")
_EMPTY = re.compile(r"\[\s*\]|\{\s*\}")
_NOT_COMPARED = re.compile(r"[^\w:]+|_")


class Unreadable(NamedTuple):
    """Why an answer is not read, as the end of a sentence that begins with `the answer`, and
    whether its `form` is to blame: a schema in the request would have prevented it."""

    why: str
    form: bool = True


def read_answer(
    completion: Completion, question: str = "", keys: Collection[str] = ()
) -> Mapping[str, Any] | Unreadable:
    """Return the object of an answer to a `question`, which is a message with blocks of data. Its
    instructions may show the object as an example, but the data may not. Only the named `keys` of
    the object are compared with the data; by default all."""
    if completion.finish_reason == "length":
        return Unreadable("was cut off at `max_tokens`", form=False)
    if ended_early(completion.finish_reason):
        return Unreadable(f"ended early, with `{completion.finish_reason}`", form=False)
    found = read_object(completion.text)
    if not isinstance(found, Unreadable) and stands_in(found, shown_texts(question), keys):
        why = "repeats a JSON object of the text that the model was shown"
        return Unreadable(why, form=False)
    return found


def read_object(text: str) -> Mapping[str, Any] | Unreadable:
    """Return the JSON object that an answer consists of. An object that writes a key twice, or a
    number that JSON does not have, is not read."""
    if len(text) > _LONGEST_ANSWER:
        return Unreadable(f"is longer than {_LONGEST_ANSWER:,} characters")
    rest = without_thoughts(text).strip()
    thoughts = text.rstrip().removesuffix(rest)
    if thoughts.count("<think") != thoughts.count("</think"):
        return Unreadable("has thoughts that do not end")
    fenced = _FENCE.fullmatch(rest)
    written = fenced[1] if fenced else rest
    if not written.startswith("{"):
        return Unreadable("is not a JSON object alone")
    if _depth(written) > _DEEPEST_ANSWER:
        return Unreadable("has a JSON object that is nested too deeply")
    try:
        found: Mapping[str, Any] = STRICT.decode(written)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return Unreadable("has more text after its JSON object")
        return Unreadable(f"has a broken JSON object: {error.msg}, character {error.pos + 1}")
    except RefusedJsonError as error:
        return Unreadable(f"has {error}")
    except ValueError:
        return Unreadable("has a JSON object with too long a number in it")
    return found


def _depth(text: str) -> int:
    """Return how many brackets of a JSON text are open at once, at most."""
    steps = (bool(found[1]) - bool(found[2]) for found in _BRACKETS.finditer(text))
    return max(accumulate(steps), default=0)


def stands_in(found: Mapping[str, Any], texts: Sequence[str], keys: Collection[str] = ()) -> bool:
    """Return whether the texts show every value of the object under its key, in any order, with
    any white space, punctuation and escapes, or in base64 or hexadecimal. Other `keys` than those
    named do not count."""
    leaves = [_compared(leaf) for leaf in _leaves(found, keys)]
    shown = _compared("\n".join((*texts, *_decoded(texts))))
    return bool(leaves) and all(leaf in shown for leaf in leaves)


def _leaves(value: Any, keys: Collection[str], key: str = "") -> Iterator[str]:
    if value and isinstance(value, Mapping):
        for name, part in value.items():
            if not keys or name in keys:
                yield from _leaves(part, keys, f"{name}:")
    elif value and isinstance(value, list):
        for part in value:
            yield from _leaves(part, keys)
    else:
        yield key + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _decoded(texts: Sequence[str]) -> list[str]:
    """Return what the texts say in base64 or hexadecimal, also twice, and some noise."""
    said: list[str] = []
    for _ in range(_MOST_CODES):
        joined = (re.sub(r"\s", "", text) for text in texts)
        runs = (run.translate(_URL_SAFE) for text in joined for run in _CODE.findall(text))
        texts = [code.decode("utf-8", "replace") for run in runs for code in _readings(run)]
        said += texts
    return said


def _readings(run: str) -> Iterator[bytes]:
    # The words before a code can look like a part of it.
    for start in range(2):
        yield from map(bytes.fromhex, _HEXADECIMAL.findall(run[start:]))
    for start in range(4):
        code = run[start:-1] if (len(run) - start) % 4 == 1 else run[start:]
        yield b64decode(code + "=" * (-len(code) % 4))


def _compared(text: str) -> str:
    for _ in range(_MOST_ESCAPES):
        text = html.unescape(unquote(_ESCAPE.sub(_unescaped, text)))
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = normalize("NFKC", INVISIBLE.sub("", text)).casefold()
    return _NOT_COMPARED.sub("", _EMPTY.sub("empty", text))


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else ""
