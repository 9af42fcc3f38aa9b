"""Finds constants in Python and TypeScript files that are plainly prompts, and prompts inside
functions, which no contract can name until they are moved. No code is run."""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

FEWEST_CHARACTERS = 20
"""The fewest characters of a prompt. A shorter text that is named like a prompt is a label, a
path or a version."""

_NAMED_AS_PROMPT = re.compile(
    r"(?:^|_)(?:PROMPTS?|INSTRUCTIONS?)(?:_|$)|(?:^|_)SYSTEM$"
    r"|(?:^|_)(?:SYSTEM|USER)_(?:MESSAGE|TEMPLATE|TEXT|CONTENT)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAY_HOLD_ONE = ("prompt", "system", "instruction", "user_message")
_NAMED_AS_TEMPLATE = re.compile(r"(?:^|_)TEMPLATE$", re.IGNORECASE)
_HOLE = re.compile(r"\{\s*[A-Za-z_]\w*\s*\}")
_TEMPLATE_CLASS = re.compile(r"(?:Prompt|Message)Template$")
_TYPESCRIPT = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<name>[A-Za-z_$][\w$]*)[^=\n]{0,80}="
    # the tag of a template may stand before it
    r"[ \t\n]*(?:[A-Za-z_$][\w$.]{0,40}(?=`)|\w{0,20}[dD]edent\(\s{0,20}(?=`))?"
    r"(?P<quote>[`\"'])(?P<text>(?:\\[\s\S]|(?!(?P=quote))[^\\])*)(?P=quote)",
    re.MULTILINE,
)
_TYPESCRIPT_OBJECT = re.compile(
    r"^(?:export[ \t]+)?const[ \t]+(?P<name>[A-Za-z_$][\w$]*)[^=\n]{0,80}=\s{0,9}"
    r"(?:Object\.freeze\(\s{0,9})?(?=\{)",
    re.MULTILINE,
)
_COMMENT = r"//[^\n]*|/\*.*?\*/"
_STRING = r"`(?:\\.|[^`\\])*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_IN_OBJECT = re.compile(
    rf"{_COMMENT}|(?P<open>[{{\[(])|(?P<close>[}}\])])|(?P<key>[A-Za-z_$][\w$]*)\s*:"
    rf"|(?P<text>{_STRING})(?P<colon>\s*:)?",
    re.DOTALL,
)
_TYPESCRIPT_MESSAGES = re.compile(
    r"^[ \t]*(?:export[ \t]+)?const[ \t]+(?P<name>[A-Za-z_$][\w$]*)[^=\n]{0,80}=\s{0,9}\["
    r"\s{0,99}\{\s{0,99}(?=[\"']?(?:role|content)[\"']?\s{0,9}:)(?P<item>[^}]{1,2000})",
    re.MULTILINE,
)
_CONTENT = re.compile(r"\bcontent[\"']?\s{0,9}:\s{0,99}[`\"'](?P<text>.{1,2000})", re.DOTALL)
# `Enter your name: `: what a program in a terminal asks.
_QUESTION_TO_A_PERSON = re.compile(r"(?!You\b)[^\n{}]{1,100}[:?>\])]", re.IGNORECASE)
_MOST_CHARACTERS = 300_000
_DEEPEST = 3
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTION = re.compile(
    r"^(?P<indent>[ \t]*)(?:export[ \t]+)?(?:default[ \t]+)?(?:async[ \t]+)?"
    r"(?:function\*?[ \t]+(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?:const|let|var)[ \t]+(?P<arrow>[A-Za-z_$][\w$]*)[^=\n]{0,80}="
    r"(?:[^\n]{0,200}(?:=>|function)|[ \t]*(?:async[ \t]*)?\([^\n()]{0,200}$)"
    r"|(?:(?:public|private|protected|static|async)[ \t]+){0,3}(?!if|for|while|switch|catch)"
    r"(?P<method>[A-Za-z_$#][\w$]*)[ \t]*\([^\n]{0,200}\{[ \t]*$)",
    re.MULTILINE,
)
_CALLS_A_MODEL = re.compile(
    r"\b(?:(?:generate|stream)(?:Text|Object)|completions\.create|messages\.create"
    r"|responses\.create|generateContent|new Agent)\b"
)
_PROPERTY = re.compile(
    r"^[ \t]*(?:[^\n`\"'/*]{0,200}[{,(][ \t]*)?(?P<name>[A-Za-z_$][\w$]*)[ \t]*:[ \t\n]{0,99}"
    r"(?P<quote>[`\"'])(?P<text>(?:\\[\s\S]|(?!(?P=quote))[^\\])*)(?P=quote)",
    re.MULTILINE,
)
_DECLARED = re.compile(
    r"^(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<name>[A-Za-z_$][\w$]*)", re.MULTILINE
)
_CLOSED = re.compile(r"^\}[;)]{0,3}[ \t]*$", re.MULTILINE)
_RETURNED = re.compile(
    r"(?:=>|\breturn\b)[ \t\n(]{0,99}(?P<quote>[`\"'])"
    r"(?P<text>(?:\\[\s\S]|(?!(?P=quote))[^\\])*)(?P=quote)"
)
_TOKENS = re.compile(f"{_COMMENT}|{_STRING}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PromptConstant:
    """A constant of a source file, its first line, and the text that shows its start."""

    name: str
    line: int
    text: str


def python_prompts(source: str) -> Iterator[PromptConstant]:
    """Yield the constants of a module that are plainly prompts; none of a file with mistakes."""
    if len(source) > _MOST_CHARACTERS or not _may_hold_one(source):
        return
    module = _parsed(source)
    with suppress(RecursionError):
        yield from _prompts_of(module) if module is not None else ()


def dspy_signatures(source: str) -> Iterator[PromptConstant]:
    """Yield the signatures of DSPy in a module: each class whose docstring says what to do."""
    if len(source) > _MOST_CHARACTERS or "Signature" not in source or "dspy" not in source:
        return
    module = _parsed(source)
    for node in module.body if module else ():
        if isinstance(node, ast.ClassDef) and any(map(_is_signature, node.bases)):
            text = ast.get_docstring(node)
            if text and _is_prose(text):
                yield PromptConstant(node.name, node.lineno, text)


def _is_signature(base: ast.expr) -> bool:
    name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
    return name == "Signature"


def _parsed(source: str) -> ast.Module | None:
    """Parse a module; None for one with mistakes."""
    try:
        with warnings.catch_warnings():  # such as one about an escape in a string
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _may_hold_one(source: str) -> bool:
    lower = source.lower()
    return any(word in lower for word in _MAY_HOLD_ONE)


def _prompts_of(module: ast.Module) -> list[PromptConstant]:
    """Return the prompts of a module, without texts that are only parts of other prompts."""
    reading = _Reading(_texts_of(module), _imports_langchain(module))
    found = [*reading.prompts(module, "")]
    for statement in module.body:
        if isinstance(statement, ast.ClassDef):
            found += reading.prompts(statement, f"{statement.name}.")
            for inner in statement.body:
                found += reading.inside(inner, f"{statement.name}.")
        found += reading.inside(statement, "")
    return [prompt for prompt in found if prompt.name not in reading.parts]


def _imports_langchain(module: ast.Module) -> bool:
    named: list[str | None] = []
    for node in module.body:
        named += [node.module] if isinstance(node, ast.ImportFrom) else []
        named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return any((name or "").startswith("langchain") for name in named)


def _texts_of(module: ast.Module) -> dict[str, ast.Constant]:
    """Return the module's own texts by the names that it assigns them to."""
    found: dict[str, ast.Constant] = {}
    for statement in _statements(module):
        name, value = _assigned(statement)
        if name is None or value is None or isinstance(value, ast.JoinedStr):
            continue
        if isinstance(value, ast.BinOp | ast.Call):
            value = _Filling(found).visit(copy.deepcopy(value))
        text = _text(value)
        if text is not None:
            found[name] = ast.Constant(text)
    return found


@dataclass
class _Reading:
    """Reads the prompts of one module. `parts` are the texts that other prompts are made of."""

    texts: Mapping[str, ast.Constant]
    has_langchain: bool
    parts: set[str] = field(default_factory=set)

    def prompts(self, holder: ast.AST, scope: str) -> Iterator[PromptConstant]:
        """Yield the prompts of a module or a class. `scope` is the class with a dot; empty for
        none."""
        in_prompts = is_named_as_prompt(scope.removesuffix("."))
        direct = {id(inner) for inner in ast.iter_child_nodes(holder)}
        for statement in _statements(holder):
            own, value = _assigned(statement)
            if own is None or value is None:
                continue
            filling = _Filling(self.texts)
            for name, inner in _entries(own, filling.visit(value)):
                text = self._prompt_text(name, inner, in_prompts)
                if text is None or not _is_prose(text):
                    continue
                is_certain = id(statement) in direct and not isinstance(value, ast.IfExp)
                if is_certain and not isinstance(statement, ast.AugAssign):
                    self.parts |= filling.used - {own}
                line = statement.lineno if name == own else inner.lineno
                yield PromptConstant(f"{scope}{name}", line, text)

    def _prompt_text(self, name: str, value: ast.expr, in_prompts: bool) -> str | None:
        """Return the text of what is plainly a prompt, by its name or its form."""
        text = _template_text(value)
        if text is None and (in_prompts or is_named_as_prompt(name)):
            text = _text(value)
        if text is None and self.has_langchain and _NAMED_AS_TEMPLATE.search(name):
            plain = _text(value) or ""
            text = plain if _HOLE.search(plain) else None
        return _messages_text(value) if text is None else text

    def inside(self, function: ast.stmt, scope: str) -> Iterator[PromptConstant]:
        """Yield the prompts inside a function: those that it names, gives to a call, or returns."""
        if not isinstance(function, _FUNCTIONS):
            return
        for node in ast.walk(function):
            name, value = _assigned(node) if isinstance(node, ast.stmt) else (None, None)
            if isinstance(node, ast.keyword):
                name, value = node.arg, node.value
            elif isinstance(node, ast.Return):
                name, value = function.name, node.value
            if name is None or value is None:
                continue
            text = _text(value) if is_named_as_prompt(name) else None
            text = _messages_text(value) if text is None else text
            if text is not None and _is_prose(text):
                inner = "" if isinstance(node, ast.Return) else f".{name}"
                yield PromptConstant(f"{scope}{function.name}{inner}", value.lineno, text)


class _Filling(ast.NodeTransformer):
    """Puts a module's texts where an expression names them."""

    def __init__(self, texts: Mapping[str, ast.Constant]) -> None:
        self.texts = texts
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.texts:
            return node
        self.used.add(node.id)
        return ast.copy_location(ast.Constant(self.texts[node.id].value), node)


def typescript_prompts(source: str) -> Iterator[PromptConstant]:
    """Yield the constants of a TypeScript or JavaScript file that are plainly prompts."""
    if len(source) > _MOST_CHARACTERS or not _may_hold_one(source):
        return
    functions = [*_FUNCTION.finditer(source)]
    patterns = [_TYPESCRIPT, *([_PROPERTY] if _CALLS_A_MODEL.search(source) else [])]
    for found in (each for pattern in patterns for each in pattern.finditer(source)):
        if is_named_as_prompt(found["name"]) and _is_prose(found["text"]):
            yield _typescript_prompt(source, found, found["text"], functions)
    for found in _TYPESCRIPT_MESSAGES.finditer(source):
        content = _CONTENT.search(found["item"])
        if content and _is_prose(content["text"]):
            yield _typescript_prompt(source, found, content["text"], functions)
    yield from _typescript_returns(source, functions)
    for found in _TYPESCRIPT_OBJECT.finditer(source):
        if is_named_as_prompt(found["name"]):
            yield from _typescript_entries(source, found)


def _typescript_entries(source: str, found: re.Match[str]) -> Iterator[PromptConstant]:
    """Yield the texts of an object that is named as prompts, by their keys; none of a list."""
    around: list[tuple[str, str | None]] = []
    key: str | None = found["name"]
    for token in _IN_OBJECT.finditer(source, found.end()):
        if token["open"]:
            around.append((token["open"], key))
            key = None
        elif token["close"]:
            mark, before = around.pop()
            key = before if mark == "(" else None  # a function's parameters stand before its text
            if not around:
                return
        elif token["key"] or token["colon"]:
            key = token["key"] or token["text"][1:-1]
        elif token["text"] and key:
            text = token["text"][1:-1]
            if all(mark == "{" for mark, _ in around) and _is_prose(text.replace("\\n", "\n")):
                name = ".".join([*(outer for _, outer in around if outer), key])
                yield PromptConstant(name, source.count("\n", 0, token.start()) + 1, text)
            key = None


def _typescript_returns(
    source: str, functions: Sequence[re.Match[str]]
) -> Iterator[PromptConstant]:
    """Yield the functions of a module that are named as prompts and return a text."""
    outer = [found for found in functions if not found["indent"]]
    ends = [*(found.start() for found in outer[1:]), len(source)]
    for function, end in zip(outer, ends, strict=False):
        name = function["name"] or function["arrow"] or ""
        if not is_named_as_prompt(name):
            continue
        close = _CLOSED.search(source, function.end(), end)
        last = close.start() if close else end
        for found in _RETURNED.finditer(source, function.start()):
            if found.start() >= last:
                break
            if _is_prose(found["text"].replace("\\n", "\n")):
                line = source.count("\n", 0, function.start("indent")) + 1
                yield PromptConstant(name, line, found["text"])
                break


def _typescript_prompt(
    source: str, found: re.Match[str], text: str, functions: Sequence[re.Match[str]]
) -> PromptConstant:
    """Return the prompt under its name, or that of the function around it and its own."""
    start = found.start("name")
    indent = found[0][: len(found[0]) - len(found[0].lstrip(" \t"))]
    around = [f for f in functions if f.end() <= start and len(f["indent"]) < len(indent)]
    named = around[-1]["name"] or around[-1]["arrow"] or around[-1]["method"] if around else ""
    if indent and (not around or _CLOSED.search(source, around[-1].end(), start)):
        outer = [*_DECLARED.finditer(source, around[-1].end() if around else 0, start)]
        named = outer[-1]["name"] if outer else named
    name = f"{named}.{found['name']}" if named else found["name"]
    return PromptConstant(name, source.count("\n", 0, start) + 1, text)


def holds_prose(path: str, source: str) -> bool:
    """Return whether a source file holds a text of several words, which may be a prompt; also True
    if it cannot be read."""
    if not path.endswith(".py"):
        found = (token[0] for token in _TOKENS.finditer(source))
        return any(len(token.split()) > 2 for token in found if token[0] != "/")
    module = _parsed(source)
    nodes = [*ast.walk(module)] if module is not None else []
    notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return module is None or any(
        id(node) not in notes and len((_text(node) or "").split()) > 2
        for node in nodes
        if isinstance(node, ast.Constant | ast.JoinedStr)
    )


def is_named_as_prompt(name: str) -> bool:
    """Return whether the name of a constant says that it is a prompt."""
    return _NAMED_AS_PROMPT.search(_CAMEL.sub("_", name).replace(".", "_")) is not None


def _statements(holder: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a module or class, also those in a condition or a loop. What they
    assign cannot be read, and is listed with the cause."""
    for inner in ast.iter_child_nodes(holder):
        if isinstance(inner, ast.stmt):
            yield inner
        is_block = isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case)
        if is_block and not isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
            yield from _statements(inner)


def _assigned(statement: ast.AST) -> tuple[str | None, ast.expr | None]:
    targets = statement.targets[:1] if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return None, None
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return (names[0], statement.value) if names else (None, None)


def _entries(name: str, value: ast.expr, depth: int = 0) -> Iterator[tuple[str, ast.expr]]:
    """Yield a value with its name; of a dictionary, the values with their keys."""
    if not isinstance(value, ast.Dict) or depth == _DEEPEST:
        yield name, value
        return
    for key, inner in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield from _entries(f"{name}.{key.value}", inner, depth + 1)


def _text(value: ast.expr) -> str | None:
    """Return the text of a string constant; a hole of an f-string counts as a blank."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else None
    if isinstance(value, ast.JoinedStr):
        return "".join(_text(part) or " " for part in value.values)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        left, right = _text(value.left), _text(value.right)
        return None if left is None or right is None else left + right
    if isinstance(value, ast.IfExp):
        return _text(value.body) or _text(value.orelse)
    return _wrapped_text(value) if isinstance(value, ast.Call) else None


def _wrapped_text(call: ast.Call) -> str | None:
    """Return the text inside `dedent("…")`, `"…".strip()` and the like."""
    if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
        return _text(call.func.value) if call.func.attr == "strip" else None
    name = _called(call)[-1]
    if name in ("dedent", "cleandoc") and len(call.args) == 1:
        return _text(call.args[0])
    return None


def _template_text(value: ast.expr) -> str | None:
    """Return the text given to `PromptTemplate.from_template` and its relatives."""
    if not isinstance(value, ast.Call):
        return None
    names = _called(value)
    if not any(map(_TEMPLATE_CLASS.search, names)):
        return None
    named = [word.value for word in value.keywords if word.arg in ("template", "messages")]
    for given in (*value.args[:1], *named):
        return _text(given) or _messages_text(given)
    return None


def _messages_text(value: ast.expr) -> str | None:
    """Return the text of a list of messages, as mappings or as pairs of role and text."""
    if not isinstance(value, ast.List | ast.Tuple) or not value.elts:
        return None
    found = [_message_text(item) for item in value.elts]
    texts = [text for text in found if text is not None]
    return "\n".join(texts) if len(texts) == len(found) else None


def _message_text(item: ast.expr) -> str | None:
    if isinstance(item, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in item.keys]
        if "role" in keys and "content" in keys:
            return _text(item.values[keys.index("content")])
    if isinstance(item, ast.Tuple) and len(item.elts) == 2:
        role, content = item.elts
        if isinstance(role, ast.Constant) and role.value in ("system", "human", "user", "ai"):
            return _text(content)
    return None


def _called(call: ast.Call) -> list[str]:
    """Return the names in `a.b.c(…)`: `a`, `b` and `c`."""
    names: list[str] = []
    part = call.func
    while isinstance(part, ast.Attribute):
        names.insert(0, part.attr)
        part = part.value
    return [part.id, *names] if isinstance(part, ast.Name) else names or [""]


def _is_prose(text: str) -> bool:
    stripped = text.strip()
    if len(stripped) < FEWEST_CHARACTERS or len(stripped.split()) < 3:
        return False
    return _QUESTION_TO_A_PERSON.fullmatch(stripped) is None
