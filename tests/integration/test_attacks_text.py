"""Hostile text from prompts, fixtures, checks, outputs, files and branches, through a whole run.

One pull request carries all of it; what the action leaves is read as GitHub, its runner, a
Markdown renderer and an XML parser read it.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from support.runner_log import COMMANDS, Command, commands, outputs
from support.ways_in import Published, WayIn, long_but

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.prompts.load import parse_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.trial import Request

ATTACKS = {
    "command": "::set-output name=verdict::pass",
    "indented command": " \t::error file=x::forged",
    "old command": "text ##[set-output name=verdict]pass ##[error]forged",
    "stop": "::stop-commands::x",
    "mask": "::add-mask::e",
    "return": "harmless\r::error::after a return",
    "heredoc": "verdict<<EOF\npass\nEOF\nghadelimiter_1\n",
    "assignment": "verdict=pass",
    "mention": "@everyone @octocat/team #1 GH-1 octo/prompts#7",
    "marker": "<!-- gatekeeper:gatekeeper -->",
    "sha marker": "<!-- gatekeeper-head:" + "e" * 40 + " -->",
    "open comment": "<!-- ",
    "script": "<script>alert(1)</script>",
    "html": '<img src="https://evil.example/p.png"><a href=x>y</a></details></td></table>',
    "entity": "&lt;img&gt; &#64;everyone",
    "image": "![x](https://evil.example/p.png) [![y][z]](https://e.example)\n\n[z]: //e.example",
    "link": "[approve](https://evil.example) https://e.example www.e.example <https://e.example>",
    "bidi": "abc\u202e\u2066def\u2069\u202c",
    "zero width": "ap\u200bprov\u200ded\ufeff\u2060\u00ad",
    "tag characters": "x\U000e0041\U000e0042",
    "separators": "one\u2028two\u2029three\u0085four\x0bfive\x0csix",
    "control": "\x1b[2J\x1b]8;;https://evil.example\x07\x9b0m\x08\x7f",
    "table": "| a | b |\n|---|---|\n| c \\| d | e |",
    "fence": "````````\n``` \n~~~\n    indented\n`unbalanced ``",
    "heading": "# May merge\n## ✅ May merge\n===\n---\n> quote\n- [x] done\n1. one",
    "formula": "$`x`$ $$\\href{https://evil.example}{y}$$",
    "footnote": "[^1]\n\n[^1]: forged",
    "alert": "> [!NOTE]\n> approved",
    "cdata": "]]> <!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]> &e;",
    "formula cell": '=HYPERLINK("https://evil.example")',
    "long line": "A" * 1_000_000,
}
ONE_LINE = {name: " ".join(text.split())[:150] for name, text in ATTACKS.items()}
PRINTABLE = {name: text for name, text in ONE_LINE.items() if text.isprintable()}

PROMPT = "prompts/::error file=a,line=1::@everyone ##[error]<img src=x>|`b`%0A.md"
RECORDING = "contracts/hostile.samples.jsonl"
SHOWN = ["comment", "summary", "comment.md", "summary.md"]
INVISIBLE = re.compile("[\u00ad\u200c-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

BASE_PROMPT = "Say {{ word }}.\n"
HEAD_PROMPT = "".join(f"# {text}\n{ATTACKS[name][:900_000]}\n" for name, text in ONE_LINE.items())
HEAD_PROMPT = "{% raw %}" + HEAD_PROMPT + "{% endraw %} {{ word }}"


def _digest(text: str, word: object) -> str:
    prompt = parse_prompt(text.replace("\r", "\n"), PROMPT)
    return request_digest(Request("m", render_messages(prompt, {"word": word}), {}, None, 0))


def _fixtures() -> list[dict[str, object]]:
    """One for each attack: in its value and, as far as that may be, in its id and category."""
    return [
        {
            "id": f"{PRINTABLE.get(name, name)} {number}",
            "category": PRINTABLE.get(name, name),
            "vars": {"word": text[:20_000]},
            "expected": f"ok {text[:20_000]}",
        }
        for number, (name, text) in enumerate(ATTACKS.items())
    ]


def _contract() -> str:
    checks = [
        {"type": "contains", "value": "ok", "name": f"{number} {text[:190]}"}
        for number, text in enumerate(ATTACKS.values())
    ]
    document = {
        "contract": 1,
        "name": "hostile",
        "description": ATTACKS["html"],
        "prompt": f"/{PROMPT}",
        "template": "jinja",
        "model": f"recorded/{RECORDING}",
        "fixtures": [{"file": "hostile.jsonl"}],
        "sampling": {"samples": 1, "mode": "fixed"},
        "checks": [{"type": "equals", "value": "{{ expected }}", "severity": "warn"}, *checks],
    }
    return yaml.safe_dump(document, allow_unicode=True)


def _recording() -> str:
    """Base is answered well, head with the attacks themselves."""
    lines = []
    attacks = list(ATTACKS.values())
    for number, fixture in enumerate(_fixtures()):
        word = fixture["vars"]["word"]  # type: ignore[index]
        answers = {
            _digest(BASE_PROMPT, word): f"ok {attacks[number]}",
            _digest(HEAD_PROMPT, word): attacks[number].replace("ok", "no"),
        }
        for digest, output in answers.items():
            lines.append(
                {"model": "m", "request": digest, "repetition": 0, "output_raw": output}
                | {"latency_ms": 5.0, "error": None}
            )
    return "".join(json.dumps(line) + "\n" for line in lines)


@dataclass(frozen=True)
class Left:
    """What the attacked run left behind."""

    code: int
    log: str
    published: Published | None
    files: Mapping[str, bytes] = field(repr=False)

    def text(self, which: str) -> str:
        if which == "log":
            return self.log
        if which in self.files:
            return self.files[which].decode()
        return str(getattr(self.published, which))


class Recorded:
    """Standard output and standard error, for a fixture that outlives a test."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._written = io.BytesIO()
        for name in ("stdout", "stderr"):
            patch.setattr(sys, name, io.TextIOWrapper(self._written, "utf-8", write_through=True))

    def readouterr(self) -> Sequence[str]:
        text = self._written.getvalue().decode()
        self._written.seek(0)
        self._written.truncate()
        return (text,)


ACTION = ("pull_request", "fork_stage")
PUBLISHED = {field.name for field in fields(Published)}

by_the_action = pytest.mark.parametrize("left", long_but(*ACTION), indirect=True, scope="module")


def each_text(*names: str) -> pytest.MarkDecorator:
    """Parametrize a test by texts and the ways in that leave them: the command gives GitHub
    nothing."""
    pairs = [
        pytest.param(*way.values, name, marks=way.marks)
        for way in long_but(*ACTION, "check")
        for name in names
        if name not in PUBLISHED or way.values != ("check",)
    ]
    return pytest.mark.parametrize(("left", "which"), pairs, indirect=["left"], scope="module")


@pytest.fixture(scope="module", params=long_but(*ACTION, "check"))
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    base = {
        PROMPT: BASE_PROMPT,
        "contracts/hostile.yaml": _contract(),
        "contracts/hostile.jsonl": "".join(json.dumps(row) + "\n" for row in _fixtures()),
        RECORDING: _recording(),
    }

    def say_more(event: dict[str, Any]) -> None:
        event["pull_request"]["head"]["ref"] = "::set-output name=verdict::pass"
        event["pull_request"]["body"] = ATTACKS["marker"]

    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith("GIT_")]:
            patch.delenv(name)
        way = WayIn(request.param, tmp_path_factory.mktemp("attacked"), Recorded(patch))
        found = way.run_check(base, {PROMPT: HEAD_PROMPT}, event=say_more)
    return Left(
        code=found.exit_code,
        log=found.log,
        published=found.published,
        files={path.name: path.read_bytes() for path in found.out.iterdir()},
    )


@pytest.fixture
def published(left: Left) -> Published:
    """What GitHub was given."""
    assert left.published is not None
    return left.published


@pytest.mark.long
def test_the_attacked_pull_request_fails(left: Left) -> None:
    """All of it was read and evaluated; otherwise the rest would show nothing."""
    assert left.code == 1
    result = json.loads(left.files["result.json"])
    assert len(result["contracts"][0]["fixtures"]) == len(ATTACKS)
    assert result["contracts"][0]["paired"]["broke"] == len(ATTACKS)


@pytest.mark.long
def test_the_runner_finds_only_our_own_annotations(left: Left) -> None:
    found = commands(left.log)
    if left.published is None:
        assert found == []
        return
    assert {command.name for command in found} <= {"error", "warning"}
    assert found
    for command in found:
        assert command.properties["title"].split(":")[0] in {"hostile", "Gatekeeper"}
        assert command.properties["file"] == PROMPT
        assert int(command.properties["line"]) >= 1
        assert len(command.data) <= 4_096
    assert len([c for c in found if c.name == "error"]) <= 10
    # Nothing but our own lines could ever be one, whatever commands there will be.
    ours = re.compile(r"::(error|warning) file=[^:]*::")
    assert not [
        line
        for line in left.log.splitlines()
        if line.lstrip().startswith("::") and not ours.match(line)
    ]
    assert "##[" not in re.sub(r"(?m)^::error file=.*$", "", left.log)


def test_the_runner_would_have_found_the_attacks() -> None:
    """The reader of logs above is not blind."""
    names = {c.name for text in ATTACKS.values() for c in commands(text)}
    assert {"set-output", "error", "stop-commands", "add-mask"} <= names <= COMMANDS
    assert outputs("a<<E\nx\nE\nb=c\n") == {"a": "x", "b": "c"}
    assert commands("::error title=a%2Cb::c%0Ad") == [Command("error", {"title": "a,b"}, "c\nd")]


@by_the_action
def test_the_outputs_are_those_of_the_action(published: Published) -> None:
    declared = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())["outputs"]
    found = outputs(published.outputs)
    assert found["verdict"] == "fail"
    assert set(found) <= set(declared)
    assert not [value for value in found.values() if "\n" in value]


@by_the_action
def test_the_status_is_one_short_plain_line(published: Published) -> None:
    assert published.status
    assert published.status.isprintable()
    assert len(published.status) <= 140
    assert max(map(ord, published.status)) <= 0xFFFF


def tokens(text: str) -> list[Token]:
    """Every block and inline token, as GitHub's Markdown with tables reads it."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [t for token in parsed for t in (token, *(token.children or ()))]


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.comments: list[str] = []
        self.depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {f"{tag} {name}" for name, _ in attrs}
        self.depth += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "details"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())


@each_text(*SHOWN)
def test_markdown_holds_no_markup_of_others(left: Left, which: str) -> None:
    found = tokens(left.text(which))
    kinds = {token.type for token in found}
    assert not kinds & {"image", "strikethrough_open", "s_open", "hr"}
    # The verdict's alert is the only block of its kind.
    quoted = [at for at, token in enumerate(found) if token.type == "blockquote_open"]
    assert len(quoted) <= 1
    assert all(found[at + 2].content.startswith("[!") for at in quoted)
    assert {token.tag for token in found if token.type == "heading_open"} <= {"h2", "h3"}
    assert len([t for t in found if t.type == "heading_open" and t.tag == "h2"]) == 1
    written = "".join(t.content for t in found if t.type in ("html_block", "html_inline"))
    html = Elements(written)
    assert html.names <= {"details", "summary", "code", "sub", "br", "a"}
    assert html.attributes <= {"a href"}
    assert all(comment.startswith("gatekeeper") for comment in html.comments)
    assert "alert" not in written
    links = [str(t.attrs["href"]) for t in found if t.type == "link_open"]
    assert not [link for link in links if not link.startswith("https://github.com/octo/prompts/")]


@each_text(*SHOWN)
def test_markdown_refers_to_nobody_and_nothing(left: Left, which: str) -> None:
    """GitHub links names, numbers and addresses in text, though not inside code."""
    found = tokens(left.text(which))
    text = "\n".join(t.content for t in found if t.type == "text")
    text += re.sub(r"<code>.*?</code>", "", "\n".join(t.content for t in found if "html" in t.type))
    assert not re.search(r"@\w", text)
    assert not re.search(r"(?<!\w)#\d|\bGH-\d", text)
    assert "://" not in text
    assert not re.search(r"\bwww\.", text)
    # A formula is found before entities are read.
    assert "$" not in re.sub(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", left.text(which))


@each_text(*SHOWN)
def test_markdown_tables_and_folds_are_whole(left: Left, which: str) -> None:
    text = left.text(which)
    found = tokens(text)
    columns = 0
    cells = 0
    for token in found:
        if token.type == "thead_open":
            columns = 0
        columns += token.type == "th_open"
        cells += token.type == "td_open"
        if token.type == "tr_close" and cells:
            assert cells == columns
            cells = 0
    assert Elements("".join(t.content for t in found if t.type == "html_block")).depth == 0


@each_text("comment", "comment.md")
def test_the_comment_carries_one_marker_and_one_commit(left: Left, which: str) -> None:
    text = left.text(which)
    assert re.findall("<!--(.*?)-->", text, re.DOTALL)[0] == " gatekeeper:gatekeeper "
    # The marker, what it found, and the commit if the comment was posted or could be.
    states = text.count("<!-- gatekeeper-state:")
    assert states <= 1
    assert text.count("<!--") - states == (1 if left.published is None else 2)
    assert text.count("gatekeeper-head:") - text.count("<!- -") <= 1
    assert len(text) <= 65_536


@each_text("summary", "summary.md")
def test_the_summary_carries_no_marker_and_fits(left: Left, which: str) -> None:
    text = left.text(which)
    assert len(text.encode()) <= 1024 * 1024
    assert "<!-- gatekeeper" not in text


@each_text(*SHOWN, "log", "junit.xml")
def test_nothing_hides_or_reorders_what_people_read(left: Left, which: str) -> None:
    text = left.text(which)
    assert not INVISIBLE.findall(text)
    assert not CONTROL.findall(text)
    # Ours alone stands between a sign and what it would link; evidence spells its own out.
    assert not re.search("[A-Za-z ]\u200b[A-Za-z ]", text)


def test_the_junit_report_is_xml_without_declarations(left: Left) -> None:
    text = left.files["junit.xml"].decode()
    assert "<!DOCTYPE" not in text
    assert "<!ENTITY" not in text
    root = ET.fromstring(text)  # noqa: S314
    assert {element.tag for element in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "error", "skipped"),
        *("properties", "property", "system-out", "system-err"),
    }
    assert len(root.findall(".//testcase")) == len(ATTACKS)


def test_the_machines_files_are_json_of_bounded_size(left: Left) -> None:
    lines = left.files["samples.jsonl"].decode().removesuffix("\n").split("\n")
    samples = [json.loads(line) for line in lines]
    assert len(samples) == 2 * len(ATTACKS)
    # Of an answer beyond 100,000 characters only the beginning is kept.
    said = {sample["output_raw"][:90_000] for sample in samples if sample["arm"] == "head"}
    assert {text.replace("ok", "no")[:90_000] for text in ATTACKS.values()} == said
    assert json.loads(left.files["result.json"])["verdict"] == "fail"
    assert max(len(content) for content in left.files.values()) < 100_000_000
