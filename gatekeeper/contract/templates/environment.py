"""The Jinja2 environment: sandboxed, strict, without a file system, with limits on its results.

Templates come from pull requests, so none may read a file, reach an internal attribute of Python,
or run for ever: loop turns, calls, sizes and the length of the text are all counted. Anything that
these counts do not cover ends at the limits of the child process.

Programs render their prompts with ordinary Jinja2. A template that can distinguish the two could
show the gate a good prompt and the program another one. Names that are not allowed here are
therefore defined, and refused as soon as they are used; nothing is left out or left undefined.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import lru_cache, wraps
from types import CodeType
from typing import Any, NoReturn

from jinja2 import FunctionLoader, StrictUndefined, TemplateNotFound, Undefined, nodes
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.sandbox import MAX_RANGE, ImmutableSandboxedEnvironment

from gatekeeper.contract.reading.read import UnreadableError, locate

MAX_TEXT = 1_000_000
MAX_WORK = 1_000_000
MAX_ITEMS = 100_000
MAX_BITS = 10_000

# A loop turn costs 1. A call of a macro or method is about ten times as slow.
_CALL_WORK = 10
# Files that include the next one twice double the work with every file.
_INCLUDE_WORK = 100

_SIZED_FILTERS = ("batch", "center", "indent", "round", "slice", "tojson", "truncate", "wordwrap")
# Filters of our own. No template can write these names, nor pass them to `map` as a guess.
_COUNTED, _JOINED, _HIDDEN = (f"{name} {secrets.token_hex(8)}" for name in "cjh")


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Sandboxed and counted. One per set of includes, which it alone can load."""

    intercepted_binops = frozenset(("+", "*", "**", "%", "<<"))

    def __init__(self, includes: Mapping[str, str]) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            # Each under its own name, which errors then say.
            loader=FunctionLoader(lambda n: (includes[n], n, None) if n in includes else None),
            finalize=_bounded,
        )
        self.work = 0
        self.filters["tojson"] = _tojson
        # `format` multiplies a few characters into any number of them; the other two are
        # random, and a fixture must always make the same prompt.
        for name in ("format", "random"):
            self.filters[name] = _Refused(f"the filter `{name}`")
        self.globals["lipsum"] = _Refused("`lipsum`")
        # The sandbox's own is a function and says so as text; `call` keeps to its limit.
        self.globals["range"] = range
        # What the environment of a program has is its own affair, and no prompt needs to ask.
        for name in ("filter", "test"):
            self.tests[name] = _Refused(f"the test `is {name}`")  # type: ignore[assignment]
        for name, function in list(self.filters.items()):
            self.filters[name] = self._guarded(name, function)
        self.filters[_COUNTED] = self._counted
        self.filters[_JOINED] = _bounded
        # As text it names the template's file, for which a program may have another name.
        self.filters[_HIDDEN] = _Refused("the template uses `self` without the name of a block")

    def get_template(self, *args: Any, **kwargs: Any) -> Template:
        """Count the work of an include, and return its template."""
        self._spend(_INCLUDE_WORK)
        return super().get_template(*args, **kwargs)

    def join_path(self, template: str, parent: str) -> str:
        try:
            return locate(template, parent)
        except UnreadableError:
            raise TemplateNotFound(template) from None

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr in ("format", "format_map", "translate", "expandtabs"):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Raise at once: as an undefined value, `is defined` would tell it from a program's."""
        what = f"the template reads the attribute `{attribute}` of a {type(obj).__name__}"
        raise SecurityError(what)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return None, so that `is_safe_attribute` decides about the attribute, as about any
        other."""
        del value
        return None

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._spend(_CALL_WORK)
        if obj is range and len(range(*args)) > MAX_RANGE:
            raise SecurityError(f"a range has more than {MAX_RANGE:,} numbers")
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str):
            _refuse_large((*args, *kwargs.values()))
            _refuse_multiplying(getattr(obj, "__name__", ""), owner, args)
        return _bounded(super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse operations with very large results: repeating text and lists, and powers of
        powers."""
        if operator in ("**", "<<") and not _are_small(left, right):
            raise SecurityError("a power is too large")
        if operator == "%" and isinstance(left, str):
            raise SecurityError(
                "the template formats a text with `%` instead of joining texts with `~`"
            )
        if operator == "*" and _length(left) * _length(right) > MAX_TEXT:
            raise SecurityError("a repetition is too long")
        return _bounded(super().call_binop(context, operator, left, right))

    def parse_unguarded(self, source: str) -> nodes.Template:
        """Parse a template that is only looked at, and never rendered.

        Raises:
            jinja2.TemplateSyntaxError: The source is no template.
        """
        return super()._parse(source, None, None)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in list(tree.find_all(nodes.For)):
            loop.iter = self._through(_COUNTED, loop.iter)
        for parent in list(tree.find_all(nodes.Node)):
            self._guard_parts(parent)
        return tree

    def _guard_parts(self, parent: nodes.Node) -> None:
        for field, value in list(parent.iter_fields()):
            if isinstance(value, list):
                setattr(parent, field, [self._guarded_part(parent, item) for item in value])
            else:
                setattr(parent, field, self._guarded_part(parent, value))

    def _guarded_part(self, parent: nodes.Node, value: Any) -> Any:
        if isinstance(value, nodes.Concat):
            return self._through(_JOINED, value)
        if isinstance(value, nodes.Name) and (value.name, value.ctx) == ("self", "load"):
            named = isinstance(parent, nodes.Getattr | nodes.Getitem)
            return value if named else self._through(_HIDDEN, value)
        return value

    def _through(self, name: str, value: Any) -> nodes.Filter:
        node = nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)
        node.set_environment(self)
        return node

    def _guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        # Filters that take the environment or the context get it first, before the value.
        skip = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            given = (*args[skip:], *kwargs.values())
            for value in given:
                _bounded(value)
            self._spend(_CALL_WORK + sum(_size(value) for value in given))
            if name in _SIZED_FILTERS:
                _refuse_large(given[1:])
            if given:
                _refuse_multiplying(name, given[0], given[1:])
            return _bounded(function(*args, **kwargs))

        return guarded

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._spend(1)
            yield item

    def _spend(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise SecurityError("the template has too many loop steps and calls")


class _Refused:
    """Replaces a filter, test or function that is not allowed: it is defined but cannot be used."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise SecurityError(self._what)

    def __str__(self) -> NoReturn:
        raise SecurityError(self._what)

    __repr__ = __str__


@lru_cache(maxsize=128)
def environment_for(includes: tuple[tuple[str, str], ...]) -> PromptEnvironment:
    return PromptEnvironment(dict(includes))


@lru_cache(maxsize=2048)
def compiled(environment: PromptEnvironment, source: str, path: str) -> Template:
    """Return the template under its path's name, so that its includes are relative to it."""
    code = _code(source, path)
    return Template.from_code(environment, code, environment.make_globals(None))


@lru_cache(maxsize=2048)
def _code(source: str, path: str) -> CodeType:
    """Return the compiled code, which is the same for all includes: they are looked up when it is
    rendered."""
    environment = environment_for(())
    environment.work = 0
    return environment.compile(source, path, path)


def rendered(
    environment: PromptEnvironment, template: Template, variables: Mapping[str, Any]
) -> str:
    """Return the rendered text.

    Raises the errors of Jinja2, and SecurityError if the text grows too long.
    """
    environment.work = 0
    parts: list[str] = []
    length = 0
    for part in template.generate(dict(variables)):
        length += len(part)
        if length > MAX_TEXT:
            raise SecurityError(f"the rendered text has more than {MAX_TEXT:,} characters")
        parts.append(part)
    return "".join(parts)


@lru_cache(maxsize=2048)
def included_names(
    source: str, environment: PromptEnvironment
) -> tuple[tuple[str | None, int], ...]:
    """Return every template that the source includes, imports or extends, with its line.

    None means that the name is only known when rendering.
    """
    if "{%" not in source:
        return ()
    tree = environment.parse_unguarded(source)
    kinds: tuple[Any, ...] = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    found: list[Any] = sorted(tree.find_all(kinds), key=lambda node: kinds.index(type(node)))
    return tuple((name, node.lineno) for node in found for name in _names(node.template))


def _names(template: nodes.Expr) -> list[str | None]:
    parts = template.items if isinstance(template, nodes.List | nodes.Tuple) else [template]
    return [
        part.value if isinstance(part, nodes.Const) and isinstance(part.value, str) else None
        for part in parts
    ]


def template_line(error: BaseException, paths: Iterable[str]) -> tuple[str, int] | None:
    """Return the innermost template file and line of an error.

    Jinja2 rewrites the traceback so that its frames name the template.
    """
    known, found = set(paths), None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in known:
            found = (name, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _tojson(value: Any, indent: int | None = None) -> str:
    """Return plain JSON: Jinja2's own escapes `<` and `'` for HTML, which a prompt is not."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse_large(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, int) and value > MAX_ITEMS:
            raise SecurityError(f"a number is larger than {MAX_ITEMS:,}")


def _refuse_multiplying(name: str, value: Any, args: tuple[Any, ...]) -> None:
    """Refuse large results of `replace` and `join`, which make n times m characters of n and m."""
    if name == "replace" and isinstance(value, str) and len(args) > 1:
        old, new = str(args[0]), str(args[1])
        if len(value) + value.count(old) * len(new) > MAX_TEXT:
            raise SecurityError("a replacement is too long")
    if name == "join" and args:
        separator, items = (value, args[0]) if isinstance(value, str) else (args[0], value)
        if isinstance(separator, str) and _size(items) * len(separator) > MAX_TEXT:
            raise SecurityError("a joined text is too long")


def _bounded(value: Any) -> Any:
    """Return the value. Raises SecurityError if it is large, or would be large as text because of
    nesting."""
    budget = MAX_ITEMS
    length = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        budget -= 1
        if isinstance(item, str):
            length += len(item)
        elif isinstance(item, int):
            length += item.bit_length() // 3
            if item.bit_length() > MAX_BITS:
                raise SecurityError("a number is too large")
        elif isinstance(item, Mapping):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            waiting.extend(item)
        if budget < 0 or length > MAX_TEXT or len(waiting) > 2 * MAX_ITEMS:
            raise SecurityError(f"a value has more than {MAX_TEXT:,} characters or too many items")
    return value


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) // 100
    # An undefined value has a length that raises; the filter `default` is what replaces it.
    return len(value) if isinstance(value, Sized) and not isinstance(value, Undefined) else 0


def _are_small(base: Any, exponent: Any) -> bool:
    numbers = isinstance(base, int | float) and isinstance(exponent, int | float)
    return numbers and abs(exponent) <= 1000 and abs(base) <= 1e9


def _length(value: Any) -> int:
    if isinstance(value, str | list | tuple):
        return max(len(value), 1)
    return abs(value) if isinstance(value, int) and value.bit_length() < 64 else 1


@lru_cache(maxsize=2048)
def native(environment: PromptEnvironment, text: str) -> Callable[[Mapping[str, Any]], Any] | None:
    """Return the expression of a text that is one `{{ expression }}` and nothing else, else
    None."""
    body = environment.parse(text).body
    if len(body) != 1 or not isinstance(body[0], nodes.Output) or len(body[0].nodes) != 1:
        return None
    if isinstance(body[0].nodes[0], nodes.TemplateData):
        return None
    inner = text[2:-2].removeprefix("-").removeprefix("+").removesuffix("-")
    expression = environment.compile_expression(inner, undefined_to_none=False)

    def evaluate(variables: Mapping[str, Any]) -> Any:
        environment.work = 0
        value = expression(dict(variables))
        if isinstance(value, Undefined):
            str(value)  # a strict undefined raises its own message
        value = list(value) if isinstance(value, Iterator) else value
        json.dumps(value, allow_nan=False)  # a function, or infinity, is no value of a check
        return value

    return evaluate
