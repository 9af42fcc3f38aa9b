"""Each parser that reads files of a pull request has a limit: a child process, or a size.

The table is the whole list. Whoever imports a parser in another module finds this test failing, and
writes down what bounds it there.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import gatekeeper

PACKAGE = Path(gatekeeper.__file__).parent
PARSERS = frozenset(
    [
        "ast",
        "bz2",
        "cbor2",
        "configparser",
        "csv",
        "defusedxml",
        "email",
        "gzip",
        "html.parser",
        "html5lib",
        "jinja2",
        "json_repair",
        "jsonpath",
        "lxml",
        "lzma",
        "markdown",
        "markdown_it",
        "marshal",
        "msgpack",
        "nbformat",
        "orjson",
        "pickle",
        "plistlib",
        "pyarrow",
        "pyexpat",
        "ruamel",
        "shelve",
        "sqlglot",
        "tarfile",
        "tokenize",
        "toml",
        "tomli",
        "tomlkit",
        "tomllib",
        "tree_sitter",
        "xml",
        "yaml",
        "zipfile",
        "zlib",
    ]
)
BOUNDED = """
author/mutation/mutants.py OURS markdown_it
author/onboarding/example_values.py OURS jinja2
checks/evaluate.py SIZE jinja2
checks/reading/json_path_worker.py CHILD jsonpath
checks/repairs/loose_json.py SIZE json_repair
checks/text/document_worker.py CHILD ast csv markdown_it sqlglot xml yaml
checks/text/html_tags.py SIZE html.parser
checks/text/sql_statements.py CHILD sqlglot
cli/starter/__init__.py OURS yaml
contract/discovery/prompt_constants.py SIZE ast
contract/fixtures/fixtures.py SIZE csv
contract/fixtures/near_duplicates.py OURS zlib
contract/calls/prompt_steps.py SIZE jinja2
contract/prompts/code/ CHILD ast tree_sitter
contract/syntax/parsing_worker.py CHILD ast tomllib
contract/syntax/toml_positions.py CHILD tomllib
contract/syntax/yaml_positions.py SIZE yaml
contract/syntax/yaml_text.py OURS yaml
contract/templates/client.py SIZE jinja2
contract/tools/matching.py CHILD jinja2 jsonpath
contract/templates/environment.py CHILD jinja2
contract/templates/rendering.py CHILD jinja2
contract/templates/role_marks.py CHILD jinja2
contract/templates/structure.py SIZE jinja2
contract/tools/matching.py CHILD jinja2 jsonpath
gate/calibration/labels.py SIZE csv
gate/sweep/grid.py OURS yaml
providers/failures.py OURS email
providers/http/response_body.py SIZE zlib
reports/formats/csv_parquet.py OURS pyarrow
reports/formats/junit.py OURS xml
reports/html/markup.py OURS markdown_it
reports/html/page.py OURS jinja2
reports/html/samples.py OURS gzip
reports/write.py OURS markdown_it
reports/words/prompt_diff.py SIZE markdown_it
reports/site/contract_page.py OURS gzip
runs/ray_cluster.py REFUSED pickle
"""
"""A module, or all modules of a folder. CHILD: it parses in a child process with limits. SIZE: the
text's size, and where needed its depth, is looked at first. OURS: it reads texts that Gatekeeper
made or shortened itself, writes them, or runs for people at their own machines. REFUSED: it only
keeps another library from it."""


def parsers_of(module: Path) -> Iterator[str]:
    """Yield the parsers that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        yield from (p for name in names for p in PARSERS if name == p or name.startswith(f"{p}."))


def listed() -> dict[str, tuple[str, list[str]]]:
    rows = (line.split() for line in BOUNDED.strip().splitlines())
    return {path: (bound, parsers) for path, bound, *parsers in rows}


def test_every_parser_has_a_bound() -> None:
    found: dict[str, set[str]] = {}
    folders = [row for row in listed() if row.endswith("/")]
    for module in PACKAGE.rglob("*.py"):
        path = module.relative_to(PACKAGE).as_posix()
        row = next((folder for folder in folders if path.startswith(folder)), path)
        parsers = set(parsers_of(module))
        if parsers:
            found.setdefault(row, set()).update(parsers)
    assert found == {row: set(parsers) for row, (_, parsers) in listed().items()}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("gatekeeper.contract.prompts.code.constant", "gatekeeper.contract.prompts.code.reading"),
        ("gatekeeper.contract.syntax.parsing", "gatekeeper.contract.syntax.parsing_worker"),
        ("gatekeeper.contract.templates.client", "gatekeeper.contract.templates.worker"),
        ("gatekeeper.checks.text.documents", "gatekeeper.checks.text.document_worker"),
        ("gatekeeper.checks.reading.json_path", "gatekeeper.checks.reading.json_path_worker"),
    ],
)
def test_the_child_processes_have_limits(module: str, name: str) -> None:
    child = importlib.import_module(module)._CHILD
    assert child._service == f"{name}:answer"
    assert child._limits.memory <= 512_000_000
    assert child._limits.cpu <= 6
