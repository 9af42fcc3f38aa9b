"""A page takes what fits, whole, in the order it comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.reports.markdown.page import Page, byte_length, fold


@given(st.lists(st.text("aä💥", max_size=20), max_size=20), st.integers(0, 120))
def test_no_page_is_larger_than_its_limit(blocks: list[str], limit: int) -> None:
    for size in (len, byte_length):
        page = Page(limit, size)
        kept = [block for block in blocks if page.add(block)]
        page.add_rows("opening\n", blocks, total=50, closing="\nclosing")
        assert size(page.text()) <= limit
        assert page.cut or len(kept) == len(blocks)


def test_rows_say_how_many_are_missing() -> None:
    page = Page(100)
    assert page.add_rows("| a |\n", [f"| {n} |" for n in range(100)])
    assert page.cut
    last = page.text().splitlines()[-1]
    assert last == f"…and {100 - page.text().count('|') // 2 + 1} more"


def test_rows_that_do_not_fit_at_all_are_left_out() -> None:
    page = Page(30)
    assert not page.add_rows("opening", ["x" * 50])
    assert page.cut
    assert page.text("ending") == "ending"


def test_a_fold_opens_and_closes() -> None:
    assert "".join(fold("more")) == "<details><summary>more</summary>\n\n\n\n</details>"
