"""Finds the text that LangChain's template classes are given.

`PromptTemplate.from_template("…")`, `PromptTemplate(template="…", input_variables=[…])`, and the
same of `ChatPromptTemplate` and `HumanMessagePromptTemplate`, which send it as the user's message;
`ChatPromptTemplate.from_messages([…])` is given a list of messages.
"""

from __future__ import annotations

import ast

CLASSES = ("PromptTemplate", "ChatPromptTemplate", "HumanMessagePromptTemplate")


def template_argument(call: ast.Call) -> ast.expr | None:
    """Return the text that the call makes a template of; None if it is no such call, or if another
    argument may change what is sent."""
    names = _names(call.func)
    of_class = bool(names) and names[-1] in CLASSES
    from_text = len(names) > 1 and names[-1] == "from_template" and names[-2] in CLASSES
    if from_text and len(call.args) == 1 and not call.keywords:
        return call.args[0]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if not (of_class or from_text) or call.args or "template" not in given:
        return None
    others = given.keys() - {"template", "input_variables"}
    return None if others else given["template"]


def messages_argument(call: ast.Call) -> ast.expr | None:
    """Return the list that `ChatPromptTemplate.from_messages([…])` makes a template of; None if it
    is no such call."""
    is_chat = _names(call.func)[-2:] == ["ChatPromptTemplate", "from_messages"]
    return call.args[0] if is_chat and len(call.args) == 1 and not call.keywords else None


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


def _names(called: ast.expr) -> list[str]:
    """Return the names in `a.b.c`; none if it is anything else."""
    names: list[str] = []
    while isinstance(called, ast.Attribute):
        names.insert(0, called.attr)
        called = called.value
    return [called.id, *names] if isinstance(called, ast.Name) else []
