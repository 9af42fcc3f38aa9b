"""Finds the text that LangChain's template classes are given.

`PromptTemplate.from_template("…")`, `PromptTemplate(template="…", input_variables=[…])`, and the
same of `ChatPromptTemplate` and `HumanMessagePromptTemplate`, which send it as the user's message;
`ChatPromptTemplate.from_messages([…])` is given a list of messages.
"""

from __future__ import annotations

import ast

from gatekeeper.contract.prompts.code.tree import Node

_CLASSES = [["PromptTemplate"], ["ChatPromptTemplate"], ["HumanMessagePromptTemplate"]]


def template_argument(call: Node) -> Node | None:
    """Return what the call makes a template of; None if it is no such call, or if another argument
    may change what is sent."""
    names, given = call.parts[0].dotted() if call.kind == "call" else [], call.all("argument")
    makes = names[-1:] in (["from_template"], ["from_messages"])
    if names[-2:-1] not in _CLASSES if makes else names[-1:] not in _CLASSES:
        return None
    if makes and len(given) == 1 and given[0].kind not in ("keyword", "spread"):
        return given[0]
    named = {part.text: part.parts[0] for part in given if part.kind == "keyword"}
    is_plain = len(named) == len(given) and named.keys() <= {"template", "input_variables"}
    return named.get("template") if is_plain else None


def langchain_imports(tree: ast.Module) -> list[ast.alias]:
    """Return what the module imports from LangChain's packages."""
    found: list[ast.alias] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and _is_langchain(node.module):
            found += node.names
        elif isinstance(node, ast.Import):
            found += [alias for alias in node.names if _is_langchain(alias.name)]
    return found


def _is_langchain(module: str | None) -> bool:
    return (module or "").partition(".")[0].startswith("langchain")
