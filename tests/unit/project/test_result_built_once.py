"""A result is whole when the gate returns it: nobody builds or rewrites one downstream."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "gatekeeper"
DOWNSTREAM = [
    path
    for room in ("action", "cli", "history", "reports", "runs")
    for path in sorted((PACKAGE / room).rglob("*.py"))
]


OWN_FIELDS = {"exit_code", "base_sha", "policy_weakened", "unaffected", "past"}
"""Fields that no other value of these rooms has."""


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name in (
            getattr(node.func, "id", None),
            getattr(node.func, "attr", None),
        ):
            yield node


def given_results(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Each function with the name of an argument that is a GateResult."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in (*node.args.args, *node.args.kwonlyargs):
                if argument.annotation and ast.unparse(argument.annotation) == "GateResult":
                    yield node, argument.arg


def rewrites(code: str) -> list[str]:
    """The calls that build a GateResult, or replace a field of one."""
    if "GateResult" not in code and "replace" not in code:
        return []
    tree = ast.parse(code)
    by_field = (c for c in calls(tree, "replace") if {k.arg for k in c.keywords} & OWN_FIELDS)
    by_name = (
        call
        for function, name in given_results(tree)
        for call in calls(function, "replace")
        if call.args and ast.unparse(call.args[0]) == name
    )
    return [ast.unparse(call) for call in (*calls(tree, "GateResult"), *by_field, *by_name)]


def test_nobody_downstream_rewrites_a_result() -> None:
    assert len(DOWNSTREAM) > 100
    found = {str(path): rewrites(path.read_text("utf-8")) for path in DOWNSTREAM}
    assert {path: calls for path, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "code",
    [
        "made = GateResult(kind='run')",
        "def told(result: GateResult) -> GateResult:\n    return replace(result, notices=())",
        "again = replace(found, exit_code=0)",
    ],
)
def test_a_rewritten_result_is_found(code: str) -> None:
    assert rewrites(code)
