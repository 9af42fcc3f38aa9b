"""Files of a pull request made to exhaust, escape or reach the gate: each is refused in words.

Every attack ends with its documented exit code, within bounded time and memory, before any
model is called; no connection is opened and no file outside the revisions is read.
"""

from __future__ import annotations

import json
import resource
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    SAYS_OK,
    Proposal,
    all_say,
)
from support.ways_in import RunGate

"""Of this process; what is unbounded would take hours, or all memory."""
MEGABYTES = 700

SCHEMA = "contracts/schema.json"
WITH_SCHEMA = NO_SLO.replace(SAYS_OK, "{type: json_schema, schema: schema.json}")


def nested(levels: int, width: int, item: str) -> str:
    """A file of YAML in which each anchor holds the one before it several times."""
    above = "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]\n"
        for level in range(1, levels)
    )
    return f"a0: &a0 [{item}]\n{above}"


def fan_out(levels: int, width: int, line: str) -> dict[str, str]:
    """Files each of which names the next several times."""
    files = {
        f"prompts/level{level}.txt": line.format(f"level{level + 1}.txt") * width
        for level in range(levels)
    }
    return files | {f"prompts/level{levels}.txt": "x"}


def doubling(levels: int) -> str:
    """A schema each of whose parts refers to the next one twice."""
    parts: dict[str, object] = {
        f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}, {"$ref": f"#/$defs/p{n + 1}"}]}
        for n in range(levels)
    }
    return json.dumps({"$ref": "#/$defs/p0", "$defs": parts | {f"p{levels}": {}}})


@dataclass(frozen=True)
class Attack:
    name: str
    writes: dict[str, str]
    said: str
    code: int = 2
    recorded: dict[str, str] = field(default_factory=dict)


def template(name: str, text: str, said: str = "") -> Attack:
    return Attack(f"template: {name}", {PROMPT_FILE: f"Say {{{{ word }}}}.{text}"}, said)


def schema(name: str, text: str, said: str) -> Attack:
    return Attack(f"schema: {name}", {SCHEMA: text, CONTRACT: WITH_SCHEMA}, said)


def contract(name: str, old: str, new: str, said: str) -> Attack:
    assert old in NO_SLO
    return Attack(
        f"contract: {name}", {CONTRACT: NO_SLO.replace(old, new), PROMPT_FILE: OTHER}, said
    )


LOOP = "{% for i in range(99999) %}"
TEMPLATES = [
    template("loops in loops", LOOP * 5 + "x" + "{% endfor %}" * 5, "too many loop steps"),
    template("a long text", "{{ 'x' * 999999999 }}", "a repetition is too long"),
    template(
        "a text that doubles",
        "{% set ns = namespace(x='xxxxxxxx') %}"
        + LOOP
        + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "more than 1,000,000",
    ),
    template(
        "a list that doubles",
        "{% set ns = namespace(x=[1,2]) %}" + LOOP + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "does not allow this",
    ),
    template("a power", "{{ 9 ** 9 ** 9 ** 9 }}", "a power is too large"),
    template("a shift of text", "{{ '%999999999d' % 1 }}", "formats a text with"),
    template("a wide field", "{{ 'x'.center(999999999) }}", "a number is larger than"),
    template("a filter's wide field", "{{ 'x' | center(999999999) }}", "a number is larger than"),
    template("a long range", "{{ range(999999999) | list }}", "a range has more than 100,000"),
    template(
        "a macro without end",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "calls itself without end",
    ),
    template(
        "a macro that forks",
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "too many loop steps",
    ),
    template("a recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", ""),
    template("parentheses", "{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}", ""),
    template("signs", "{{ " + "-" * 50_000 + "1 }}", ""),
    template("sums", "{{ 1" + "+1" * 50_000 + " }}", ""),
    template("conditions", "{% if 1 %}" * 500 + "x" + "{% endif %}" * 500, ""),
    template("a class", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "does not allow this"),
    template(
        "globals of a function",
        "{{ cycler.__init__.__globals__.os.environ }}",
        "does not allow this",
    ),
    template("globals of itself", "{{ self.__init__.__globals__ }}", "does not allow this"),
    template(
        "attribute filter",
        "{{ '' | attr('__class__') | attr('mro') }}",
        "does not allow this",
    ),
    template("a format string", "{{ '{0.__class__}'.format(1) }}", "does not allow this"),
    template(
        "a file of the machine", "{% include '/etc/passwd' %}", "there is no file `etc/passwd`"
    ),
    template("a file above", "{% include '../../../etc/passwd' %}", "is outside the repository"),
    template(
        "a file by address", "{% include 'file:///etc/passwd' %}", "not a path in the repository"
    ),
    template(
        "a name made up while rendering", "{% include word %}", "the template computes which file"
    ),
    template(
        "a regular expression",
        "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
        "does not allow this",
    ),
    Attack(
        "template: includes that fork",
        {
            PROMPT_FILE: "Say {{ word }}.{% include 'level0.txt' %}",
            **fan_out(12, 12, "{{% include '{}' %}}"),
        },
        "",
    ),
    Attack(
        "template: includes in a circle",
        {PROMPT_FILE: "Say {{ word }}.{% include 'words.txt' %}"},
        "includes itself",
    ),
]

BOMB = nested(9, 10, "lol")
YAML = [
    Attack("YAML: a contract of aliases", {CONTRACT: NO_SLO + BOMB}, "each use of an alias"),
    Attack(
        "YAML: fixtures of aliases",
        {CONTRACT: edited(NO_SLO, "words.csv", "bomb.yaml"), "contracts/bomb.yaml": BOMB},
        "each use of an alias",
    ),
    Attack("YAML: a policy of aliases", {POLICY: BOMB, PROMPT_FILE: OTHER}, "each use of an alias"),
    Attack(
        "YAML: a schema of aliases",
        {
            CONTRACT: edited(WITH_SCHEMA, "schema.json", "schema.yaml"),
            "contracts/schema.yaml": BOMB,
        },
        "each use of an alias",
    ),
    Attack(
        "YAML: a prompt of aliases",
        {
            CONTRACT: edited(NO_SLO, "words.txt", "p.prompt.yml"),
            "prompts/p.prompt.yml": BOMB + "messages: *a8\n",
        },
        "each use of an alias",
    ),
    Attack(
        "YAML: an alias of itself", {CONTRACT: NO_SLO + "x: &x [*x]\n"}, "deeper than 100 levels"
    ),
    Attack("YAML: brackets", {CONTRACT: NO_SLO + "x: " + "[" * 100_000}, "deeper than 100 levels"),
    Attack(
        "YAML: a tag that runs code",
        {CONTRACT: NO_SLO + "x: !!python/object/apply:os.system [id]\n"},
        "does not know the tag",
    ),
    contract(
        "a number of a million digits",
        "name: words\n",
        f"name: words\nsampling: {{samples: {'9' * 1_000_000}}}\n",
        "",
    ),
    contract(
        "a hexadecimal number without end",
        "  - file: words.csv",
        f"  - vars: {{word: 0x{'f' * 100_000}}}",
        "",
    ),
    contract(
        "a check that is code",
        SAYS_OK,
        "{type: python, file: ../check.py}",
        "`python` is missing",
    ),
    contract(
        "a check that is code outside of the repository",
        SAYS_OK,
        "{python: '../../check.py:passes'}",
        "is outside the repository",
    ),
    contract(
        "a check by the name of a module", SAYS_OK, "{type: gatekeeper.cli.main}", "no check type"
    ),
]

JSON = [
    Attack(
        "JSON: brackets",
        {CONTRACT: edited(NO_SLO, "words.csv", "b.json"), "contracts/b.json": "[" * 100_000},
        "deeper than 100 levels",
    ),
    Attack(
        "JSON: a number too large",
        {
            CONTRACT: edited(NO_SLO, "words.csv", "b.jsonl"),
            "contracts/b.jsonl": '{"word": 1e999}\n',
        },
        "a number too large",
    ),
    Attack(
        "JSON: brackets in a line",
        {
            CONTRACT: edited(NO_SLO, "words.csv", "b.jsonl"),
            "contracts/b.jsonl": '{"word": ' + "[" * 100_000 + "\n",
        },
        "deeper than 100 levels",
    ),
    Attack("CSV: a cell without end", {FIXTURES: 'id,word\n1,"' + "x" * 1_000_000}, "not CSV"),
    schema(
        "a network address",
        '{"$ref": "https://evil.example/schema.json"}',
        "not a path in the repository",
    ),
    schema(
        "a metadata service",
        '{"$ref": "http://169.254.169.254/latest/meta-data"}',
        "not a path in the",
    ),
    schema("a file by address", '{"$ref": "file:///etc/passwd"}', "not a path in the repository"),
    schema("a file above", '{"$ref": "../../../etc/passwd"}', "is outside the repository"),
    schema("a file of the machine", '{"$ref": "/etc/passwd"}', "there is no file `etc/passwd`"),
    schema(
        "a dynamic reference",
        '{"$dynamicRef": "https://evil.example/s"}',
        "not a path in the repository",
    ),
    schema(
        "a name that makes references remote",
        '{"$id": "https://evil.example/a.json", "$ref": "b.json"}',
        "there is no file `contracts/b.json`",
    ),
    schema(
        "a meta-schema of its own",
        '{"$schema": "https://evil.example/meta"}',
        "not a known version",
    ),
    schema("a circle", '{"$ref": "#"}', "refers to itself in a circle"),
    schema("parts that double", doubling(40), "more than 500,000 steps"),
    schema("brackets", '{"not": ' * 50_000, "deeper than 100 levels"),
]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub is on 127.0.0.1, and so is the model, whose server counts what reaches it."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connect_here(self: socket.socket, address: tuple[str, int]) -> None:
        assert address[0] == "127.0.0.1", f"a connection was opened to {address}"
        connect(self, address)

    def look_up_here(host: str, *more: Any, **options: Any) -> Any:
        assert host == "127.0.0.1", f"{host} was looked up"
        return look_up(host, *more, **options)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setattr(socket, "getaddrinfo", look_up_here)


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Fails a test that takes too much memory."""
    memory = _peak()
    yield
    assert _peak() - memory < MEGABYTES


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("attack", [*TEMPLATES, *YAML, *JSON], ids=lambda attack: attack.name)
def test_a_hostile_file_is_refused_in_words(attack: Attack, run_gate: RunGate) -> None:
    answered = Proposal(attack.name, "", attack.writes, recorded=all_say("ok")).run_check(run_gate)
    assert answered.exit_code == attack.code, answered.text[:1000]
    assert answered.verdict is None
    assert answered.requests == ()
    assert attack.said in answered.text
    said = answered.text + answered.log
    assert "bug in gatekeeper" not in said
    assert "Traceback" not in said
    assert "root:" not in said
    assert len(answered.text) < 25_000
