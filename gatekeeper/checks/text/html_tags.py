"""Finds tags of HTML that are not closed, or closed in the wrong order."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track")
) | {"wbr"}
_END_MAY_BE_LEFT_OUT = frozenset(
    ("body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p")
) | {"rp", "rt", "tbody", "td", "tfoot", "th", "thead", "tr"}
"""The elements that the next tag closes, whatever it is (HTML Living Standard, 13.1.2.4)."""


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, int]] = []
        self.count = 0
        self.problem: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.count += 1
        if tag not in _VOID:
            self.open.append((tag, self.getpos()[0]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs  # `<path/>` of SVG
        self.count += 1

    def handle_endtag(self, tag: str) -> None:
        self.count += 1
        if tag in _VOID or self.problem:
            return
        while self.open and self.open[-1][0] != tag and self.open[-1][0] in _END_MAY_BE_LEFT_OUT:
            self.open.pop()
        if not self.open:
            self.problem = f"`</{tag}>` in line {self.getpos()[0]} closes no element"
            return
        opened, line = self.open.pop()
        if opened != tag:
            self.problem = (
                f"`</{tag}>` in line {self.getpos()[0]} does not match `<{opened}>` of line {line}"
            )


def html_problem(text: str) -> str | None:
    """Return why a text is not HTML with every tag closed in order; None if it is.

    Tags whose end the standard lets authors leave out, such as `</p>` and `</li>`, may stay open.
    """
    tags = _Tags()
    tags.feed(text)
    rest = tags.rawdata
    tags.close()
    if tags.problem:
        return tags.problem
    if rest.startswith("<") and len(rest) > 1 and (rest[1].isalpha() or rest[1] in "/!"):
        return f"the document ends inside a tag, in line {tags.getpos()[0]}"
    left = [(tag, line) for tag, line in tags.open if tag not in _END_MAY_BE_LEFT_OUT]
    if left:
        tag, line = left[-1]
        return f"`<{tag}>` of line {line} is not closed"
    return None if tags.count else "the document has no tags"
