"""Code that gives a prompt's constant another value in its own file is refused."""

from __future__ import annotations

from types import ModuleType

import pytest
from support.constants_here import read_here

from gatekeeper.contract.prompts.code import constant, python_source, typescript_source
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError


@pytest.fixture(autouse=True)
def without_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the constants in this process, so that coverage measures it."""
    read_here(monkeypatch)


PYTHON = "class C:\n    P = 'x'\n"


def read(path: str, source: str, name: str) -> str:
    return load_prompt(MemoryRevision({path: source.encode()}), f"{path}:{name}", None).text


def line_of_refusal(path: str, source: str, name: str) -> int | None:
    with pytest.raises(ContractError) as caught:
        read(path, source, name)
    return caught.value.problems[0].line


@pytest.mark.parametrize(
    "added",
    [
        "let P = 'x';",
        "export let P = 'x';",
        "var P = 'x';",
        "let P = 'x'; (P) = 'y';",
        "let P = 'x'; (P as any) = 'y';",
        "let P = 'x'; (P!) = 'y';",
        "let P = 'x'; (<any>P) = 'y';",
        "let P = 'x'; (P satisfies any) = 'y';",
        "let P = 'x'; P++;",
        "const P = 'x'; export { Q as P };",
        "const P = 'x'; export { Q as 'P' };",
        "const P = 'x'; export { P } from './other';",
        "const P = 'x'; export * as P from './other';",
        "const P = 'x'; exports.P = Q;",
        "const P = 'x'; module.exports = { P: Q };",
        "function P() { return 'x'; } (P as any) = () => 'y';",
        "let Q = 'x'; const P = Q + 'a';",
    ],
)
def test_a_text_that_can_be_assigned_or_exported_anew_is_refused(added: str) -> None:
    assert line_of_refusal("a.ts", added, "P") == 1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("const P = { system: 'x' };", "P.system"),
        ("const P = Object.freeze({ system: 'x' } as const);", "P.system"),
        ("const P = { a: [{ role: 'user', content: 'x' }] };", "P.a"),
        ("let P = { system: 'x' };", "P.system"),
        ("class P { static system = 'x'; }", "P.system"),
        ("const P = 'x'; module.exports = { P };", "P"),
        ("const P = 'x'; exports.P = P;", "P"),
        ("const P = 'x'; this.P = 'y';", "P"),
        ("const P = 'x'; import me = require('./other');", "P"),
    ],
)
def test_what_other_javascript_can_change_is_refused(source: str, name: str) -> None:
    assert line_of_refusal("a.ts", source, name) == 1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("const P = 'x';\nexport { P, P as Q };\nexport default P;\nf(P);", "P"),
        ("export function P() { return 'x'; }\nf(P);", "P"),
    ],
)
def test_reads_and_exports_change_nothing(source: str, name: str) -> None:
    assert read("a.ts", source, name) == "x"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class B(metaclass=M): pass\nclass C(B):\n    P = 'x'", "C.P"),
        ("class C:\n    P = 'x'\n    def f(cls): evil(cls)", "C.P"),
        ("class C:\n    class D:\n        P = 'x'\nq = C.D", "C.D.P"),
        ("import sys\nP = 'x'\nsys.modules[__name__].P = 'y'", "P"),
        ("P = 'x'\nload(__name__).P = 'y'", "P"),
        ("import textwrap\nt = textwrap\nt.dedent = f\nP = textwrap.dedent('x')", "P"),
    ],
)
def test_python_that_changes_how_the_constant_is_made_is_refused(source: str, name: str) -> None:
    assert line_of_refusal("a.py", source, name)


TEXT = "P = 'x'\n"


@pytest.mark.parametrize(
    "added",
    [
        "import timeit",
        "import cProfile as c",
        "from doctest import testmod",
        "import pickle",
        "from code import interact",
        "import runpy",
        "from pkgutil import resolve_name",
        "import pydoc",
        "import trace, json",
        "from importlib import import_module",
        "import importlib.util",
        "from importlib.metadata import entry_points",
        "import logging.config",
        "from logging import config",
        "import multiprocessing.connection",
        "from typing import get_type_hints",
        "import string; string.Formatter()",
        "import typing; typing._eval_type",
        "import unittest.mock",
        "compile('1', '', 'eval')",
        "getattr(f, '__glo' + 'bals__')",
        "import json; json.codecs.sys",
        "from . import a",
        "from .a import P as Q",
        "from src import a as me",
        "import src.a",
        "from src.a import P as Q",
        "from .. import src; from ..src import a",
    ],
)
def test_python_that_may_run_a_text_or_find_its_own_names_is_refused(added: str) -> None:
    assert line_of_refusal("src/a.py", TEXT + added, "P") == 2


@pytest.mark.parametrize(
    "added",
    [
        "import logging, logging.handlers, os.path, concurrent.futures, xml.etree.ElementTree",
        "from importlib.metadata import PackageNotFoundError, version",
        "from importlib.resources import files",
        "import importlib.resources\nx = importlib.resources.files('a')",
        "import re\nfrom re import compile\ncompile('a'), re.compile('b')",
        "from typing import Annotated, Literal\nx: Literal['a (b)']\n"
        "y: Annotated['str', 'a note (of no use)']",
        "from . import b\nfrom .b import c\nfrom a import c\nimport b.a",
        "import a",
        "x: 'list[str] | None'",
    ],
)
def test_ordinary_imports_and_types_are_harmless(added: str) -> None:
    assert read("src/a.py", TEXT + added, "P") == "x"


@pytest.mark.parametrize(
    "added",
    [
        "require('./a')[k] = 1;",
        "const me = require('../src/a.js');",
        "import * as me from './a';",
        "import { P as Q } from './a.js';",
        "import me from '@/src/a';",
        "const me = await import('./a.js');",
        "require(k);",
        "import(k);",
        "require(`./${k}`);",
        "require('./' + 'a');",
        "const vm = require('vm');",
        "import { runInThisContext } from 'node:vm';",
        "import { createRequire } from 'module';",
        "require('node:repl').start();",
        "new Function('exports.P = 1')();",
        "(() => {}).constructor('return 1')();",
        "const c = (() => {})['constructor'];",
        "setTimeout(eval, 0, 'P');",
        "process.mainModule.exports[k] = 1;",
        "process.getBuiltinModule('vm');",
        "module.children[0].exports[k] = 1;",
        "require.main.exports[k] = 1;",
    ],
)
def test_javascript_that_may_run_a_text_or_find_its_own_exports_is_refused(added: str) -> None:
    assert line_of_refusal("src/a.ts", "const P = 'x';\n" + added, "P") == 2


@pytest.mark.parametrize(
    "added",
    [
        "import { a } from './b'; import c from 'a'; import d from '../a';",
        "const x = require('./b'); const { y } = require('fs');",
        "const b = await import('./b.js');",
        "class A { constructor() { this.b = this.constructor.name; } }",
        "const x = y['a' + b];",
    ],
)
def test_ordinary_modules_of_javascript_are_harmless(added: str) -> None:
    assert read("src/a.ts", "const P = 'x';\n" + added, "P") == "x"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("prompts/index.ts", "const P = 'x';\nimport * as me from '../prompts';"),
        ("prompts/index.js", "const P = 'x';\nrequire('.').Q;"),
        ("app/prompts/__init__.py", "P = 'x'\nfrom app import prompts"),
    ],
)
def test_the_index_of_a_folder_is_the_folder(path: str, source: str) -> None:
    assert line_of_refusal(path, source, "P") == 2


@pytest.mark.parametrize(
    ("path", "source", "name"),
    [
        ("a.py", "P = {'a': {'b': 'x', 'c': 'y'}}\nprint(P['a']['c'], P.keys())", "P.a.b"),
        ("a.py", "P: dict = {'a': 'x', 'b': 'y'}\ndef f(k): return P[k] + P['b']", "P.a"),
        ("a.py", "class C:\n    P = {'a': 'x'}\nprint(C.P['a'])", "C.P.a"),
    ],
)
def test_a_text_inside_a_literal_is_read(path: str, source: str, name: str) -> None:
    assert read(path, source, name) == "x"


def test_reads_of_a_class_change_nothing() -> None:
    used = "def f(c: C, d: 'C') -> list[C]:\n    return isinstance(c, C) and C.P + C().P\n"
    assert read("a.py", f"{PYTHON}{used}class D(C): pass\n", "C.P") == "x"
    assert read("a.py", "import enum\nclass C(str, enum.Enum):\n    P = 'x'\n", "C.P") == "x"
    made = "import textwrap\nP = textwrap.dedent('x')\nq = textwrap.indent(P, ' ')\n"
    assert read("a.py", made, "P") == "x"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.ts", "const P = 'x'; const Q = 'y'; export { R as P };"),
        ("a.py", "P = 'x'\nQ = 'y'\ndef f():\n    global P\n    P = 'z'"),
        ("a.py", "P = [('user', 'x')]\nQ = 'y'\nP[0] = 1"),
    ],
)
def test_what_was_refused_is_refused_again(path: str, source: str) -> None:
    constant._ask.cache_clear()
    for _ in range(3):
        assert line_of_refusal(path, source, "P")
        assert read(path, source, "Q") == "y"
        constant._ask.cache_clear()


@pytest.mark.parametrize(
    ("reader", "path", "source"),
    [
        (typescript_source, "a.ts", "const P = 'one'; const Q = 'two'; // once"),
        (python_source, "a.py", "P = 'one'\nQ = 'two'  # once"),
    ],
)
def test_a_file_is_parsed_once_for_all_its_constants(
    monkeypatch: pytest.MonkeyPatch, reader: ModuleType, path: str, source: str
) -> None:
    parsed, parse = [], reader._parse
    monkeypatch.setattr(reader, "_parse", lambda *given: parsed.append(1) or parse(*given))
    assert [read(path, source, name) for name in "PQ"] == ["one", "two"]
    assert len(parsed) == 1


@pytest.mark.parametrize("key", ["0x1", "1.0", "1e0", "0b1", "1n"])
def test_a_number_that_is_another_key_is_refused(key: str) -> None:
    assert line_of_refusal("a.ts", f"const C = {{ a: 'x', {key}: 'y' }};", "C.a") == 1
