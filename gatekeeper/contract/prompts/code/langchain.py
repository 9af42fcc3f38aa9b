"""Finds the text that LangChain's template classes are given.

`PromptTemplate.from_template("…")`, `PromptTemplate(template="…", input_variables=[…])`, and the
same of `ChatPromptTemplate` and `HumanMessagePromptTemplate`, which send it as the user's message;
`ChatPromptTemplate.from_messages([…])` is given a list of messages.
"""

from __future__ import annotations

import ast

from gatekeeper.contract.prompts.code.tree import Node

CLASSES = ("PromptTemplate", "ChatPromptTemplate", "HumanMessagePromptTemplate")


def template_argument(call: Node) -> Node | None:
    """Return the text that the call makes a template of; None if it is no such call, or if another
    argument may change what is sent."""
    names = call.parts[0].dotted() if call.kind == "call" else []
    from_text = len(names) > 1 and names[-1] == "from_template" and names[-2] in CLASSES
    if not from_text and names[-1:] not in [[name] for name in CLASSES]:
        return None
    given = call.all("argument")
    named = {part.text: part.parts[0] for part in given if part.kind == "keyword"}
    if from_text and len(given) == 1 and given[0].kind not in ("keyword", "spread"):
        return given[0]
    is_plain = len(named) == len(given) and named.keys() <= {"template", "input_variables"}
    return named.get("template") if is_plain else None


def messages_argument(call: Node) -> Node | None:
    """Return the list that `ChatPromptTemplate.from_messages([…])` makes a template of; None if it
    is no such call."""
    names = call.parts[0].dotted() if call.kind == "call" else []
    given = call.all("argument")
    is_chat = names[-2:] == ["ChatPromptTemplate", "from_messages"] and len(given) == 1
    return given[0] if is_chat and given[0].kind not in ("keyword", "spread") else None


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
