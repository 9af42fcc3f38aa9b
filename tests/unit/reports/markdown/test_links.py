"""Where the names in a comment lead, and what no name can do to an address."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support import results as examples
from support.report_texts import comment_of

from gatekeeper.contract.policies.policy import PublishedLinks
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.definition import Position
from gatekeeper.gate.results.links import NO_LINKS, Links, links_from
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.markdown.explanation import render_explanation

SHA = "9be31f07c6d2e45a81b0734f2c9d8e6a5b4c3d2e"
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "acme/shop",
    "GITHUB_RUN_ID": "42",
}
GITLAB = {
    "CI_PROJECT_URL": "https://gitlab.example/acme/shop",
    "CI_JOB_URL": "https://gitlab.example/acme/shop/-/jobs/7",
    "CI_JOB_ID": "7",
}
PUBLISHED = PublishedLinks("https://acme.example/prompts/", "https://r.example/{run}/{sha}.html")
FILES = f"https://github.example/acme/shop/blob/{SHA}/"


def links_in(comment: str) -> dict[str, str]:
    """Return the text and the address of each link, as a reader of Markdown finds them."""
    found: dict[str, str] = {}
    for block in MarkdownIt("commonmark").enable("table").parse(comment):
        parts = block.children or []
        for at, part in enumerate(parts):
            if part.type == "link_open":
                found.setdefault(parts[at + 1].content, str(part.attrs["href"]))
    return found


def failing(links: Links) -> GateResult:
    contract = examples.failing_contract()
    placed = [
        replace(f, position=Position("contracts/a b.csv", 7 + at))
        for at, f in enumerate(contract.fixtures)
    ]
    return examples.result(replace(contract, fixtures=tuple(placed)), links=links)


def test_every_name_in_the_comment_of_a_job_leads_somewhere() -> None:
    found = links_in(comment_of(failing(links_from(GITHUB, PUBLISHED, SHA))))
    report = f"https://r.example/42/{SHA}.html"
    assert found == {
        "Report with every answer": report,
        "run": "https://github.example/acme/shop/actions/runs/42",
        "dashboard": "https://acme.example/prompts/",
        "system › # Rules": f"{FILES}prompts/speech-tag.prompty?plain=1#L8",
        "speech-tag": f"{FILES}contracts/speech-tag.yaml",
        "is a tag": f"{report}#check=speech-tag/is%20a%20tag",
        **{
            name: f"{report}#fixture=speech-tag/{name}"
            for name in (f.id for f in examples.failing_contract().fixtures)
            if name in found
        },
    }
    assert {"rb-003", "nn-000", "vbz-009"} <= found.keys()


def test_without_a_page_of_the_report_a_fixture_leads_to_its_line() -> None:
    found = links_in(comment_of(failing(links_from(GITHUB, PublishedLinks(), SHA))))
    run = "https://github.example/acme/shop/actions/runs/42"
    assert found["Download the report"] == f"{run}#artifacts"
    assert found["rb-003"] == f"{FILES}contracts/a%20b.csv?plain=1#L10"
    assert "is a tag" not in found


@pytest.mark.parametrize(
    ("environ", "published", "kept", "links"),
    [
        ({}, PublishedLinks(), "", NO_LINKS),
        ({}, PUBLISHED, "", Links(dashboard="https://acme.example/prompts/")),
        (
            GITHUB,
            replace(PUBLISHED, report=None),
            "runs/x.html",
            Links(
                "https://github.example/acme/shop/actions/runs/42",
                "https://acme.example/prompts/runs/x.html",
                True,
                "https://acme.example/prompts/",
                FILES,
            ),
        ),
        (
            GITLAB,
            PublishedLinks(),
            "",
            Links(
                "https://gitlab.example/acme/shop/-/jobs/7",
                "https://gitlab.example/acme/shop/-/jobs/7/artifacts/browse",
                files=f"https://gitlab.example/acme/shop/-/blob/{SHA}/",
            ),
        ),
        ({**GITHUB, "GITHUB_SERVER_URL": "javascript:x//"}, PublishedLinks(), "", NO_LINKS),
        (
            {**GITLAB, "CI_PROJECT_URL": "https://u:p@h", "CI_JOB_URL": "https://h/(x)"},
            PublishedLinks(),
            "",
            NO_LINKS,
        ),
    ],
)
def test_a_job_says_where_its_pages_are(
    environ: dict[str, str], published: PublishedLinks, kept: str, links: Links
) -> None:
    assert links_from(environ, published, SHA, kept) == links


def test_a_file_that_the_change_deletes_is_no_link() -> None:
    contract = examples.failing_contract()
    gone = replace(contract, affected_by=(AffectedBy(contract.path, "deleted"),))
    found = comment_of(examples.result(gone, links=links_from(GITHUB, PUBLISHED, SHA)))
    assert "| `speech-tag` |" in found


def test_an_answer_to_a_question_has_the_same_links() -> None:
    text = render_explanation(failing(links_from(GITHUB, PUBLISHED, SHA)), "speech-tag")
    assert f"https://r.example/42/{SHA}.html#fixture=speech-tag/nn-000" in text


@given(
    name=st.text(min_size=1, max_size=60) | st.sampled_from(["a](x)", "../x", "%2F`|", "\ud800"])
)
def test_no_name_leaves_its_place_in_an_address(name: str) -> None:
    links = links_from(GITHUB, PUBLISHED, SHA)
    page, path = links.anchor("fixture", "a/b", name), links.file(name, 3)
    for address, prefix in ((page, f"{links.report}#fixture=a%2Fb/"), (path, FILES)):
        assert address.startswith(prefix)
        assert re.fullmatch(r"[A-Za-z0-9._~%/:#=?-]+", address)
    seen = name.encode("utf-8", "replace").decode()
    assert unquote(page.removeprefix(f"{links.report}#fixture=a%2Fb/")) == seen
    assert urlsplit(path).query == "plain=1"
