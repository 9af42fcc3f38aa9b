"""The output is Markdown (CommonMark with tables) that has the required elements and no forbidden
one.

Each parameter requires a kind of element, or forbids it if `false`. `links_in` takes the fixture's
context: every address that the output links to or names must occur there, so that the model invents
none. (`#…` and `mailto:` need not.) A text that takes more than 1.2 seconds is undetermined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper import numbers
from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.checks.text.documents import UnreadableError, read_document

_NOT_LOOKED_UP = ("#", "mailto:")
_MOST_NAMED = 5


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    if not params.keys() - {"field"}:
        raise ParameterError("no element is named", "set a parameter, such as `table: true`")

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        try:
            has = read_document("markdown", text)
        except UnreadableError as error:
            return undetermined(f"cannot be read as Markdown: {error}")
        problems = list(_problems(params, has["found"])) if "found" in has else [has["problem"]]
        if not problems:
            return PASSED
        return failed(f"{'; '.join(problems)}; got {quote(text)}")

    return on_output(params, inspect)


def _problems(params: Parameters, has: Mapping[str, Any]) -> Iterator[str]:
    if "table" in params and params["table"] != bool(has["tables"]):
        yield _missing("table", params["table"])
    if "list" in params:
        wanted = params["list"]
        present = bool(has["lists"]) if isinstance(wanted, bool) else wanted in has["lists"]
        if present != bool(wanted):
            kind = "list" if isinstance(wanted, bool) else f"{wanted} list"
            yield _missing(kind, wanted)
    if "heading" in params and not _has_heading(params["heading"], has["headings"]):
        yield _heading_problem(params["heading"], has["headings"])
    if "code" in params:
        wanted = params["code"]
        present = bool(has["code"]) if isinstance(wanted, bool) else wanted in has["code"]
        if present != bool(wanted):
            language = "" if isinstance(wanted, bool) else f" of {quote(wanted)}"
            yield _missing(f"code block{language}", wanted)
    if "links_in" in params:
        yield from _links(params["links_in"], has["links"])


def _missing(element: str, wanted: Any) -> str:
    return f"has no {element}" if wanted else f"has a {element}, which is forbidden"


def _has_heading(wanted: bool | int | str, headings: list[list[Any]]) -> bool:
    if isinstance(wanted, bool):
        return bool(headings) == wanted
    at = 0 if isinstance(wanted, int) else 1
    return any(heading[at] == wanted for heading in headings)


def _heading_problem(wanted: bool | int | str, headings: list[list[Any]]) -> str:
    if isinstance(wanted, bool):
        return _missing("heading", wanted)
    if isinstance(wanted, int):
        levels = ", ".join(str(level) for level in sorted({level for level, _ in headings}))
        return f"has no heading of level {wanted}" + (f", only of {levels}" if levels else "")
    return f"has no heading {quote(wanted)}"


def _links(context: Any, links: list[list[str]]) -> Iterator[str]:
    texts = [as_text(one) for one in (context if isinstance(context, list | tuple) else [context])]
    sought = [forms for forms in links if not forms[0].startswith(_NOT_LOOKED_UP)]
    # The context may have an address with its letters encoded (`%C3%BC`) or as they are read (`ü`).
    unknown = [
        readable
        for link, readable in sought
        if not any(_stands_in(form, text) for form in (link, readable) for text in texts)
    ]
    if unknown:
        shown = numbers.some([quote(link) for link in unknown], _MOST_NAMED)
        yield f"links to {shown}, which `links_in` does not contain"


def _stands_in(link: str, text: str) -> bool:
    """Return whether the address stands in the text as a whole, and not as a part of a longer
    one."""
    if not link:
        return False
    at = text.find(link)
    while at >= 0:
        end = at + len(link)
        before, after = text[max(at - 1, 0) : at], text[end : end + 2]
        if not re.match(r"[\w/.-]", before) and not re.match(r"[\w/?&=%#-]|[.:,;]\w", after):
            return True
        at = text.find(link, at + 1)
    return False


CHECK = Check(
    parameters(
        table={
            "type": "boolean",
            "description": "True if a table is required, false if tables are forbidden.",
        },
        list={
            "enum": [True, False, "bullet", "ordered"],
            "description": (
                "True if a list is required, false if lists are forbidden, or the "
                "required kind, bullet or ordered."
            ),
        },
        heading={
            "type": ["boolean", "integer", "string"],
            "minimum": 1,
            "maximum": 6,
            "minLength": 1,
            "description": (
                "True if a heading is required, false if headings are forbidden, or the "
                "required level or text."
            ),
        },
        code={
            "type": ["boolean", "string"],
            "minLength": 1,
            "description": (
                "True if a code block is required, false if code blocks are forbidden, or"
                " the required language."
            ),
        },
        links_in={
            "type": ["string", "array", "object"],
            "description": (
                "The text, or a list of texts, that must contain the address of every link."
            ),
        },
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            "{type: markdown, heading: 2, list: ordered, code: python}",
            "## Steps\n1. Run it\n\n```python\nprint(4)\n```",
            "## Steps\n- Run it",
        ),
        Example("{type: markdown, table: false, heading: false}", "One *short* line.", "# Title"),
        Example(
            '{type: markdown, links_in: "{{ documents }}"}',
            "See [returns](https://shop.example/returns).",
            "See [returns](https://shop.example/refunds).",
            vars={"documents": ["How to return: https://shop.example/returns.", "Opening hours"]},
        ),
    ),
)
