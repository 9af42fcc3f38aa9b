"""Lists of messages in Python and TypeScript as prompts: what is read, and what is not."""

from __future__ import annotations

import pytest
from support.constants_here import read_here

from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Prompt
from gatekeeper.errors import ContractError, Problem


@pytest.fixture(autouse=True)
def without_child(monkeypatch: pytest.MonkeyPatch) -> None:
    read_here(monkeypatch)


SOURCE = '''\
from langchain_core.prompts import ChatPromptTemplate
CHAT = ChatPromptTemplate.from_messages([("system", "Be kind."), ("human", "{mail}")])
SYSTEM = "You sort mail."
MESSAGES: list[dict[str, str]] = [
    {"role": "system", "content": SYSTEM + """
Be brief."""},
    {"role": "user", "content": "Mail: {mail}"},
]
HOLES = (
    {"role": "developer", "content": "Use {json}."},
    {"content": f"{SYSTEM} Mail: {mail}", "role": "User"},
)
PAIRS = [("system", "Be kind."), ("human", "Hi"), ("ai", "Hello"), ("user", "{{ mail }}")]
class Prompts:
    CHAT = [{"role": "user", "content": "Sort {mail}"}]
def ask(mail):
    """A note."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"Mail: {mail}"}]
def send(client, mail):
    return client.create(messages=[*MESSAGES, MESSAGES[0], {"role": "user", "content": mail}])
'''


TYPESCRIPT = """\
const SYSTEM = "You sort mail.";
export const ask = (mail: string) => ([
  { role: "system", content: SYSTEM }, // a note
  { "role": 'user', content: `Mail: ${mail}
Bye` as string },
]);
"""


def load(name: str, source: str = SOURCE, path: str = "src/app.py") -> Prompt:
    return load_prompt(MemoryRevision({path: source.encode()}), f"{path}:{name}")


def test_an_array_of_messages_that_a_function_of_typescript_returns_is_a_prompt() -> None:
    rendered = render_messages(load("ask", TYPESCRIPT, "src/app.ts"), {"mail": "Hi"})
    wanted = [("system", "You sort mail."), ("user", "Mail: Hi\nBye")]
    assert [(message.role, message.content) for message in rendered] == wanted


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("const M = () => [];", 1, "no message"),
        ("const M = () => ['x'];", 1, "`'x'` is not a message"),
        ("const M = () => [{ role: ROLE, content: 'x' }];", 1, "`ROLE`"),
        ("const M = () => [{ role: 'user', content: 'x',\n ...more }];", 2, "`...more`"),
        ("const M = () => [{ role: 'user', content: 'x' }, ...more];", 1, "not a message"),
        ("const M = () => [{ role: 'user', content: f() }];", 1, "comput"),
        ("const M = [{ role: 'user', content: 'x' }];", 1, "may change a part of `M`"),
        ("let M = [{ role: 'user', content: 'x' }];", 1, "assign"),
    ],
)
def test_what_is_no_array_of_messages_is_named(source: str, line: int, what: str) -> None:
    with pytest.raises(ContractError) as error:
        load("M", source, "src/app.ts")
    problem: Problem = error.value.problems[0]
    assert (problem.line, what in problem.what) == (line, True), problem


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        (
            "MESSAGES",
            [("system", "You sort mail.\nBe brief."), ("user", "Mail: Hi")],
        ),
        ("HOLES", [("developer", "Use {json}."), ("user", "You sort mail. Mail: Hi")]),
        (
            "PAIRS",
            [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello"), ("user", "Hi")],
        ),
        ("Prompts.CHAT", [("user", "Sort Hi")]),
        ("CHAT", [("system", "Be kind."), ("user", "Hi")]),
        ("ask", [("system", "You sort mail."), ("user", "Mail: Hi")]),
    ],
)
def test_a_list_of_messages_is_a_prompt(name: str, messages: list[tuple[str, str]]) -> None:
    rendered = render_messages(load(name), {"mail": "Hi"})
    assert [(message.role, message.content) for message in rendered] == messages


def test_each_message_has_its_lines() -> None:
    found = load("MESSAGES").messages
    assert [(m.role, m.line, m.lines) for m in found] == [
        ("system", 5, (5, 6)),
        ("user", 7, ()),
    ]
    assert "system:\nYou sort mail." in load("MESSAGES").text


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("M = []", 1, "no message"),
        ('M = [\n "text"]', 2, '`"text"` is not a message'),
        ('M = [{"role": "tool", "content": "x"}]', 1, '`"tool"`'),
        ('M = [{"role": ROLE, "content": "x"}]', 1, "`ROLE`"),
        ('M = [{"role": "user"}]', 1, "lacks `role` or `content`"),
        ('M = [{"role": "user", "content": "x",\n "name": "y"}]', 2, '`"name"`'),
        ('M = [{"role": "user", "content": "x",\n **more}]', 2, "`more`"),
        ('M = [{"role": "user",\n "content": [{"type": "text"}]}]', 2, "computes"),
        ('M = [{"role": "user", "content": "x"}, *more]', 1, "not a message"),
        ('M = [m("x")]', 1, '`m("x")` is not a message'),
        ('M = [("user", "x")]\nM.append(1)', 2, "use of `M.append`"),
        ('M = [("user", "x")]\ndef f():\n M[0]["content"] = "y"', 3, "use of `M`"),
        ('M = [("user", "x")]\ndef f():\n M[0].update(content="y")', 3, "use of `M`"),
        ('M = [("user", "x")]\ndel M[0]', 2, "use of `M`"),
        ('M = [("user", "x")]\nM += [1]', 2, "more than once"),
        ('class A:\n M = [("user", "x")]\nA.M.clear()', 3, "use of `A.M.clear`"),
        ('def M(a):\n x = a\n return [("user", x)]', 1, "more than return"),
        ("class M: pass", 1, "not a constant"),
        ('M = ChatPromptTemplate.from_messages([("user", "x")])', 1, "comput"),
        (
            "from langchain_core.prompts import *\n"
            'M = ChatPromptTemplate.from_messages([("user", "x")])',
            2,
            "comput",
        ),
        (
            "from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder\n"
            'M = ChatPromptTemplate.from_messages([MessagesPlaceholder("history")])',
            2,
            "not a message",
        ),
    ],
)
def test_what_is_no_list_of_messages_is_named(source: str, line: int, what: str) -> None:
    name = "A.M" if source.startswith("class A") else "M"
    with pytest.raises(ContractError) as error:
        load(name, source)
    problem: Problem = error.value.problems[0]
    assert problem.line == line
    assert what in problem.what
