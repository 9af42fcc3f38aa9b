"""The child's service: reads a document that a model wrote, and says what is wrong with it or what
is in it. See `gatekeeper/sandbox`.

No parser here has limits of its own on time, memory and depth that can be relied on.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gatekeeper.checks.text.html_tags import html_problem
from gatekeeper.checks.text.sql_statements import sql_problem
from gatekeeper.sandbox.process_limits import allow_cpu, cpu_limit

if TYPE_CHECKING:
    from markdown_it.token import Token

READ_SECONDS = 1.2
"""The seconds of processor time that reading may take. A document of 10,000 characters takes
a few hundredths of a second."""
_GRACE_SECONDS = 0.5
# Deeper than any document worth reading.
_MAX_DEPTH = 200

Problem = str | None


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: `problem` says why the text is not a document of the format, or is null;
    `found` is what a Markdown document has; `fault` says what reading took too much of."""
    if request["format"] == "sql":
        import sqlglot.optimizer.scope  # noqa: F401 - takes longer than reading, and counts apart
    allow_cpu(READ_SECONDS + _GRACE_SECONDS)
    try:
        with cpu_limit(READ_SECONDS):
            response = _read(request["format"], request["text"], request)
    except TimeoutError:
        response = {"fault": "time"}
    except MemoryError:
        response = {"fault": "memory"}
    except RecursionError:
        response = {"problem": "the document is nested too deeply"}
    yield response


def _read(kind: str, text: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    if kind == "markdown":
        return {"found": _markdown(text)}
    return {"problem": _READERS[kind](text, request)}


def _xml(text: str, _request: Mapping[str, Any]) -> Problem:
    from xml.parsers import expat

    class _EntityError(Exception):
        pass

    def refuse(*_: object) -> None:
        raise _EntityError

    parser = expat.ParserCreate("utf-8", " ")
    # Entities can grow without end, or name files.
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8"), True)
    except _EntityError:
        return "the document declares entities, which gatekeeper does not read"
    except expat.ExpatError as error:
        return f"{expat.ErrorString(error.code)} at {error.lineno}:{error.offset + 1}"
    except UnicodeEncodeError:
        return "the document contains an incomplete character (half of a surrogate pair)"
    return None


def _html(text: str, _request: Mapping[str, Any]) -> Problem:
    return html_problem(text)


def _yaml(text: str, _request: Mapping[str, Any]) -> Problem:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MAX_DEPTH:
                return "the document is nested too deeply"
        documents = list(yaml.load_all(text, loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f" at {mark.line + 1}:{mark.column + 1}" if mark else ""
        return f"{error.problem}{at}"
    except (yaml.YAMLError, ValueError) as error:
        return " ".join(str(error).split())[:200]
    if not documents or not all(isinstance(value, dict | list) for value in documents):
        return "the document must be a mapping or a list"
    return None


def _csv(text: str, request: Mapping[str, Any]) -> Problem:
    columns = request["columns"]
    reader = csv.reader(
        io.StringIO(text.strip("\r\n"), newline=""), delimiter=request["delimiter"], strict=True
    )
    width = columns if isinstance(columns, int) else None
    try:
        for number, row in enumerate(reader):
            if number == 0 and isinstance(columns, list) and row != columns:
                return f"the first row is {row[:20]} instead of {columns}"
            if number == 0 and width is None:
                width = len(row)
                if width < 2 and columns is None:
                    return (
                        "the document has only one column; columns must be separated by "
                        f"`{reader.dialect.delimiter}`"
                    )
            if len(row) != width:
                return f"row {number + 1} has {len(row)} columns instead of {width}"
    except csv.Error as error:
        return f"{error} at line {reader.line_num}"
    return None if width is not None else "the document is empty"


def _python(text: str, _request: Mapping[str, Any]) -> Problem:
    if not text.strip():
        return "the document is empty"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes such as "\\d"
            ast.parse(text)
    except SyntaxError as error:
        at = f" at {error.lineno}:{error.offset}" if error.lineno else ""
        return f"{error.msg}{at}"
    except ValueError as error:  # a null character; half a surrogate pair
        return str(error)
    return None


def _sql(text: str, request: Mapping[str, Any]) -> Problem:
    return sql_problem(text, request["dialect"], request.get("statements"), request.get("tables"))


_READERS: Mapping[str, Callable[[str, Mapping[str, Any]], Problem]] = {
    "xml": _xml,
    "html": _html,
    "yaml": _yaml,
    "csv": _csv,
    "python": _python,
    "sql": _sql,
}


def _markdown(text: str) -> Mapping[str, Any]:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    headings, code, lists = [], [], set()
    links: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            headings.append([int(token.tag[1:]), tokens[at + 1].content])
        elif token.type in ("fence", "code_block"):
            code.append(token.info.split()[0] if token.info.split() else "")
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            lists.add(token.type.split("_")[0])
        links += _addresses(token.children or ())
    return {
        "tables": sum(token.type == "table_open" for token in tokens),
        "lists": sorted(lists),
        "headings": headings,
        "code": sorted(set(code)),
        "links": [[link, parser.normalizeLinkText(link)] for link in dict.fromkeys(links)],
    }


_PLAIN_ADDRESS = re.compile(r"""(?<!\w)https?://[^\s<>"“”、。，；：！？）」』】]+""")


def _addresses(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the addresses of links and images, and those that stand in the text without a link."""
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type in ("link_open", "image"):
            yield str(token.attrGet("href") or token.attrGet("src") or "")
        elif token.type == "text" and not depth:
            yield from map(_without_punctuation, _PLAIN_ADDRESS.findall(token.content))


def _without_punctuation(address: str) -> str:
    """Return the address without the end of the sentence or the bracket around it."""
    while True:
        shorter = address.rstrip("?!.,:;*_~'")
        for opens, closes in ("()", "[]"):
            if shorter.endswith(closes) and shorter.count(closes) > shorter.count(opens):
                shorter = shorter[:-1]
        if shorter == address:
            return address
        address = shorter
