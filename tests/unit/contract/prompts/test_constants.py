"""Constants of Python and TypeScript as prompts: what is read, with its lines, and what is not."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from support.constants_here import read_here
from support.edited_text import edited

from gatekeeper.contract.prompts.load import has_prompt, load_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Prompt, TemplateStyle
from gatekeeper.errors import ContractError, Problem


@pytest.fixture(autouse=True)
def without_child(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile file is read by the child, which has limits."""
    if "hostile" not in request.node.name:
        read_here(monkeypatch)


PYTHON = '''\
import textwrap
from textwrap import dedent
from settings import LIMIT
TONE = "kind"
MOST = 3
PLAIN = """
Be brief.

Be kind.
"""
PARTS = ("one "
    "two\\n"
    # a note
    'three ' + TONE)
HOLES: str = f"Hi {name}\\n{TONE} {MOST} {LIMIT} {user.id} {{x}}"
FORMAT = "Return {{\\"id\\": 1}} for {x}"
JINJA = r"Read {{ x }} \\d"
SHORT = textwrap.dedent("""\\
    a
      b
    """).strip()
class Prompts(object):
    """A note."""
    BASE = "é\\n"
    FULL = BASE + f"{BASE}{z}"
    class Inner:
        DEEP = dedent("  x")
def build(article, *, TONE):
    """A note."""
    return (f"""
 {article}
 {TONE}""")
'''

TYPESCRIPT = """\
// a note
const TONE = 'kind';
export const HOLES = `Hi ${name} ${TONE}
second \\n third` + "b\\u{1F600}";
export const build = ({ article }: { article: string }) => `
S ${article.lines} {{x}}`;
export function returned(TONE: string) { return `x ${TONE}`; }
const trimmed = (" a\\n").trim() satisfies string;
"""


def load(path: str, text: str, name: str, style: TemplateStyle | None = None) -> Prompt:
    return load_prompt(MemoryRevision({path: text.encode()}), f"{path}:{name}", style)


def problem(path: str, text: str, name: str) -> Problem:
    with pytest.raises(ContractError) as caught:
        load(path, text, name)
    return caught.value.problems[0]


def seen(prompt: Prompt, values: dict[str, Any]) -> tuple[str, list[int]]:
    (template,) = prompt.messages
    (message,) = render_messages(prompt, values)
    count = prompt.text.count("\n") + 1
    return message.content, [template.line_at(number) for number in range(1, count + 1)]


VALUES = {
    "name": "Ann {x}",
    "LIMIT": 9,
    "user": {"id": 7},
    "x": "X",
    "z": "{{ x }}",
    "article": "A",
    "TONE": "rude",
}


@pytest.mark.parametrize(
    ("name", "style", "text", "lines"),
    [
        ("PLAIN", "text", "\nBe brief.\n\nBe kind.", [6, 7, 8, 9, 9]),
        ("PARTS", "text", "one two\nthree kind", [11, 13]),
        ("HOLES", "fstring", "Hi Ann {x}\nkind 3 9 7 {x}", [15, 15]),
        ("FORMAT", "fstring", 'Return {"id": 1} for X', [16]),
        ("JINJA", "text", "Read X \\d", [17]),
        ("SHORT", "text", "a\n  b", [19, 20]),
        ("Prompts.FULL", "fstring", "é\né\n{{ x }}", [25, 25, 25]),
        ("Prompts.Inner.DEEP", "text", "x", [27]),
        ("build", "fstring", "\n A\n rude", [30, 31, 32]),
    ],
)
def test_python(name: str, style: str, text: str, lines: list[int]) -> None:
    prompt = load("a.py", PYTHON, name)
    assert (prompt.style, prompt.part) == (style, f":{name}")
    assert seen(prompt, VALUES) == (text, lines)
    assert prompt.text_lines == tuple(lines)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("HOLES", "Hi Ann {x} kind\nsecond \n thirdb😀", [3, 4, 4]),
        ("build", "\nS 0 {{x}}", [5, 6]),
        ("returned", "x true", [7]),
        ("trimmed", "a", [8]),
    ],
)
def test_typescript(name: str, text: str, lines: list[int]) -> None:
    values = VALUES | {"article": {"lines": 0}, "TONE": True}
    assert seen(load("a.ts", TYPESCRIPT, name), values) == (text, lines)


def test_javascript() -> None:
    source = "export const P = `Hi ${name}`;\nconst jsx = <b>{x}</b>;\n"
    for path in ("a.js", "a.tsx"):
        assert seen(load(path, source, "P"), VALUES)[0] == "Hi Ann {x}"


def test_a_declared_style_fills_the_text_between_holes() -> None:
    source = 'P = f"{x} {{z}} {{{{y}}}}"\n'
    assert seen(load("a.py", source, "P"), VALUES)[0] == "X {z} {{y}}"
    assert seen(load("a.py", source, "P", "fstring"), VALUES)[0] == "X {{ x }} {y}"
    with pytest.raises(ContractError):
        load("a.py", source, "P", "nunjucks")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("P = open('x').read()", 1),
        ("\nP = 'x' % 3", 2),
        ("P = 1", 1),
        ("P = ('a',)", 1),
        ("P = f'{x:.2f}'", 1),
        ("P = f'{x!r}'", 1),
        ("P = f'{len(x)}'", 1),
        ("Q = x()\nP = 'a' + Q", 1),
        ("if a:\n  P = 'x'", 2),
        ("P = 'x'\nP = 'y'", 2),
        ("P = 'x'\nP += 'y'", 2),
        ("P = 'x'\ndef f():\n  global P\n  P = 'y'", 3),
        ("P = 'x'\nfrom evil import *", 2),
        ("P = 'x'\nprint(P := 'y')", 2),
        ("P = 'x'\n@(P := str)\ndef f(): pass", 2),
        ("P = 'x'\nfor P in a: pass", 2),
        ("P = 'x'\nglobals()['P'] = 'y'", 2),
        ("P = 'x'\nimport q as P", 2),
        ("P = 'x'\ndel P", 2),
        ("(P, Q) = 'xy'", 1),
        ("from other import P", 1),
        ("def P():\n  x = 1\n  return 'a'", 1),
        ("@cache\ndef P():\n  return 'a'", 2),
        ("Q = P\nP = Q", 1),
        ("def dedent(x): return 'evil'\nP = dedent('a')", 2),
        ("P = ' {x}'\nP2 = 1\nb = '", 3),
        ("from textwrap import dedent\nP = dedent(f' {x}')", 2),
        ("P = f' {x}'.rstrip()", 1),
        ("P = '\\ud800'", 1),
        ("P = ' '", 1),
        ("P = '{% include \"a.md\" %}'", 1),
        ("A = 'x' * 9\n\nP = A + 'y'", 1),
        ("# a note\n# -*- coding: unknown -*-\nP = 'x'", 1),
        ("P = 'x'\nglobals().update(P='y')", 2),
        ("P = 'x'\n\uff30 = 'y'", 2),
    ],
)
def test_what_python_computes_is_refused(source: str, line: int) -> None:
    found = problem("a.py", source, "P")
    assert (found.path, found.line) == ("a.py", line)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("class C:\n  P = 'x'\nC.P = 'y'", 3),
        ("class C:\n  P = 'x'\n  def f(self):\n    self.P = 'y'", 4),
        ("class C:\n  P = 'x'\nsetattr(C, 'P', 'y')", 3),
        ("class C:\n  P = 'x'\nclass C: pass", 3),
        ("C = 1", 1),
        ("class C:\n  Q = 'x'", 1),
    ],
)
def test_members_that_change_are_refused(source: str, line: int) -> None:
    assert problem("a.py", source, "C.P").line == line


@pytest.mark.parametrize(
    ("source", "name", "line"),
    [
        ("\nconst P = dedent`x`;", "P", 2),
        ("const P = read('x');", "P", 1),
        ("const P = `a ${f(x)}`;", "P", 1),
        ("const P = `a ${x ?? 'b'}`;", "P", 1),
        ("const P = 'a' - 'b';", "P", 1),
        ("let P = 'a';\nP = 'b';", "P", 2),
        ("let P = 'a';\n[P] = ['b'];", "P", 2),
        ("let P = 'a';\nfor (P of x) {}", "P", 2),
        ("var P = 'a';\nvar P = 'b';", "P", 2),
        ("const P = { a: 'x' };\nP.a = 'y';", "P.a", 1),
        ("const P = { a: 'x' } as const;", "P.a", 1),
        ("\nexport const P = [{ role: 'user', content: 'x' }];", "P", 2),
        ("const P = { a: 'x' };", "P.b", 1),
        ("\nclass K { static a = 'x'; }", "K.a", 2),
        ("function P() {\n const a = 1; return 'x'; }", "P", 1),
        ("const P = '\\ud800';", "P", 1),
        ("const P = 'x'\nconst = ;", "P", 2),
        ("import { P } from './b';", "P", 1),
        ("var P = 'a';\n\\u0050 = 'b';", "P", 1),
        ("var P = 'a';\nif (x) { var P = 'b'; }", "P", 2),
        ("var P = 'a';\nvar { P } = x;", "P", 2),
        ("const P = '\\ud83d\\ude00';", "P", 1),
    ],
)
def test_what_typescript_computes_is_refused(source: str, name: str, line: int) -> None:
    assert problem("a.ts", source, name).line == line


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "P = " + "(" * 100_000 + "'x'" + ")" * 100_000),
        ("a.py", "P = " + "-" * 300_000 + "1"),
        ("a.py", "P = " + "'x'" + " + 'y'" * 100_000 + "\n"),
        ("a.py", "A = 'x' * 1\nP = " + "f(" * 5_000 + ")" * 5_000),
        ("a.py", "#" * 1_000_001),
        ("a.py", "P0 = 'x'\n" + "".join(f"P{n + 1} = P{n} + P{n}\n" for n in range(40))),
        pytest.param("a.ts", "const P = " + "(" * 100_000 + "'x'" + ")" * 100_000, marks=LONG),
        pytest.param("a.ts", "const P = " + "`${" * 20_000 + "x" + "}`" * 20_000, marks=LONG),
        ("a.ts", "const P = " + "(" * 9_000 + "'x'" + ")" * 9_000),
    ],
)
def test_a_hostile_file_ends_in_an_error_or_a_text(path: str, source: str) -> None:
    with suppress(ContractError):
        assert load(path, source, "P40" if "P40" in source else "P").text


def test_whether_a_file_has_a_constant() -> None:
    files = MemoryRevision(
        {
            "a.py": b"from b import MOVED\nif x:\n  SOME = f()\nclass K:\n  A = 1\n",
            "broken.py": b"(",
            "a.ts": b"import { M } from 'b';\nexport const P = { a: f() };\n",
        }
    )
    found = {name for name in ("MOVED", "SOME", "K.A", "K.B") if has_prompt(files, f"a.py:{name}")}
    assert found == {"SOME", "K.A"}
    assert has_prompt(files, "broken.py:P")
    assert not has_prompt(files, "gone.py:P")
    names = ("M", "P", "P.a", "P.b")
    assert [has_prompt(files, f"a.ts:{name}") for name in names] == [False, True, True, False]


LANGCHAIN = """\
import langchain_core.prompts as lc
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
TEXT = "Sum up {article}"
ONE = PromptTemplate.from_template("Sum up {article}")
TWO = PromptTemplate(template=TEXT, input_variables=["article"])
THREE = lc.ChatPromptTemplate.from_template(TEXT)
OTHER = PromptTemplate.from_template(TEXT, template_format="jinja2")
PARTIAL = PromptTemplate(template=TEXT, partial_variables={"article": "x"})
MINE = Mine.from_template(TEXT)
"""


@pytest.mark.parametrize("name", ["ONE", "TWO", "THREE"])
def test_the_text_of_langchains_templates_is_read(name: str) -> None:
    assert seen(load("a.py", LANGCHAIN, name), VALUES)[0] == "Sum up A"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (LANGCHAIN, "OTHER"),
        (LANGCHAIN, "PARTIAL"),
        (LANGCHAIN, "MINE"),
        (edited(LANGCHAIN, "from langchain_core.prompts", "from mine"), "ONE"),
        (LANGCHAIN + "class PromptTemplate:\n    x = 1\n", "ONE"),
    ],
)
def test_what_another_class_makes_of_a_text_is_not_known(source: str, name: str) -> None:
    assert "computes" in problem("a.py", source, name).what


FILLED = {
    "p.py": [
        "P = 'Write to %s'\ndef f(n): return P % n",
        "P = 'Write to %(n)s'\ndef f(n): return (P) % {'n': n}",
        "P = 'Write <<X>>'\ndef f(x): return P.replace('<<X>>', x)",
        "P = 'Write {x}, [[Y]]'\ndef f(y): return P.format(x=1).strip().replace('[[Y]]', y)",
        "from string import Template\nP = 'Dear $name'\nT = Template(P)",
        "import string\nP = 'Dear $name'\nT = string.Template(P)",
    ],
    "p.ts": [
        "export const P = 'Write <<X>>'; const f = (x) => P.replace('<<X>>', x);",
        "export const P = `Write <<X>>`; const f = (x) => P.replaceAll(`<<X>>`, x);",
    ],
}
READ = {
    "p.py": [
        "P = 'Write {x}'\ndef f(x): return P.replace('{x}', x) + P.format(x=x)",
        "P = 'Give 5 % off {x}'\nN = 7 % 2\nprint(P)",
        "P = 'Write {x}'\nQ = P.replace('absent', '')",
        "P = 'Costs $5 {x}'\nprint(P)",
    ],
    "p.ts": [
        "export const P = 'Write {{x}}'; const f = (x) => P.replace('{{x}}', x);",
        "export const P = 'Write {{x}}'; console.log(P.replace('absent', ''));",
    ],
}


@pytest.mark.parametrize(("path", "code"), [(path, c) for path in FILLED for c in FILLED[path]])
def test_a_text_with_marks_that_the_program_fills_in_is_refused(path: str, code: str) -> None:
    """The gate would send `%s` and `<<X>>`, and the program what it puts there."""
    with pytest.raises(ContractError, match="the program fills in"):
        load_prompt(MemoryRevision({path: code.encode()}), f"{path}:P")


@pytest.mark.parametrize(("path", "code"), [(path, c) for path in READ for c in READ[path]])
def test_a_text_whose_names_stand_in_braces_is_read(path: str, code: str) -> None:
    prompt = load_prompt(MemoryRevision({path: code.encode()}), f"{path}:P")
    assert "x" in prompt.messages[0].content
