"""Reads one tag of Nunjucks, and writes it in Jinja. The grammar is a list of what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from gatekeeper.contract.prompts.styles import nunjucks_values as values
from gatekeeper.contract.prompts.styles.literal import StyleFault
from gatekeeper.contract.prompts.styles.nunjucks_values import Filter, Path

_MOST_STEPS = 8
_MOST_FILTERS = 5
_MOST_CONDITIONS = 50
_DEEPEST = 10
# How many texts each filter takes.
_FILTERS = {"default": 1, "d": 1, "dump": 0, "join": 1, "length": 0, "lower": 0, "upper": 0}
_FILTERS |= {"trim": 0, "replace": 2}
_TEXT_FILTERS = frozenset({"lower", "upper", "trim", "replace"})
_LOOP = frozenset({"index", "index0", "first", "last", "length", "revindex", "revindex0"})
_WORDS = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "null", "True"}
    | {"False", "None", "undefined", "self", "import", "recursive"}
)
# Each is a function or a value without being a variable, in one of the two languages.
_TAKEN = frozenset(
    {"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"}
    | {"toString", "valueOf", "range", "dict", "lipsum", "cycler", "joiner", "namespace"}
    | {"caller", "super", "env"}
)
_EQUAL = {"==": "==", "===": "==", "!=": "!=", "!==": "!="}
_FIX = (
    "write only what Nunjucks and Jinja read in the same way: a variable, the filters that "
    "docs/contracts.md lists, and comparisons with a text in quotes"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign. `kind` is text, number, name, sign or end."""

    kind: str
    text: str


class Tag:
    """One tag, on a line of its text. `open_blocks` are the blocks around it, and are kept."""

    def __init__(self, tokens: list[Token], line: int, open_blocks: list[str]) -> None:
        self._tokens, self._line, self._open = tokens, line, open_blocks
        self._place = self._conditions = 0

    def output(self) -> str:
        """Return the expression of an output tag. Raises StyleFault."""
        made = self._part()
        if self._take("if"):
            condition = self._any()
            other = self._part() if self._take("else") else "''"
            made = f"(({made}) if {condition} else ({other}))"
        self._end()
        return made

    def statement(self) -> str:
        """Return the statement of a tag. Raises StyleFault."""
        name = self._next().text
        if name in ("if", "elif", "elseif"):
            if name == "if":
                self._open.append(name)
            made = f"{'if' if name == 'if' else 'elif'} {self._any()}"
        elif name == "for":
            made = self._loop()
        elif name == "set":
            made = self._set()
        elif name in ("else", "endif", "endfor"):
            made = name
            if name != "else" and (not self._open or self._open.pop() != name[3:]):
                fix = f"add `{name[3:]}` before `{name}`, or remove `{name}`"
                self._refuse(f"`{name}` has no start tag", fix)
        else:
            what = f"gatekeeper cannot translate the tag `{name[:50]}` of Nunjucks"
            self._refuse(what, "use only the tags `if`, `for` and `set`")
        self._end()
        return made

    def _loop(self) -> str:
        name = self._variable_name()
        if not self._take("in"):
            self._refuse("gatekeeper translates only loops over a list")
        path = self._path()
        self._open.append("for")
        return f"for {name} in {values.looped(path)}"

    def _set(self) -> str:
        if "for" in self._open:
            what = "`set` inside a loop changes different variables in Nunjucks and Jinja"
            self._refuse(what, "move `set` out of the loop")
        name = self._variable_name()
        if not self._take("="):
            self._refuse("`set` needs a text or a variable")
        text = self._text()
        return f"set {name} = {text or values.stored(self._path())}"

    def _part(self) -> str:
        """Return a text in quotes, or a variable with its filters."""
        text = self._text()
        if text:
            return text
        if self._peek("loop"):
            return self._loop_value()
        path = self._path()
        if self._is_length():
            return values.length(path)
        return values.shown(path, self._filters())

    def _filters(self) -> list[Filter]:
        found: list[Filter] = []
        while self._take("|"):
            name = self._next().text
            if name == "safe":  # nothing is escaped, so this filter changes nothing
                if self._peek("|"):
                    self._refuse("the filter `safe` must be the last filter")
                return found
            if name not in _FILTERS:
                what = f"gatekeeper cannot translate the filter `{name[:50]}` of Nunjucks"
                self._refuse(what, "put the finished text into the fixture")
            texts = self._arguments(_FILTERS[name])
            if name == "replace" and len(texts[0]) == 2:
                self._refuse(
                    "`replace` needs a text that is not empty", "write the text to replace"
                )
            before = found[-1].name if found else "default"
            is_text = before in _TEXT_FILTERS or before == "join"
            first = not found or (len(found) == 1 and before == "default")
            follows = first or (is_text and name in _TEXT_FILTERS)
            if not follows or len(found) == _MOST_FILTERS or (found and name in ("default", "d")):
                self._refuse(f"the filter `{name}` cannot follow another filter")
            found.append(Filter("default" if name == "d" else name, texts))
        return found

    def _arguments(self, count: int) -> tuple[str, ...]:
        texts = []
        for index in range(count):
            if not self._take("," if index else "("):
                self._refuse("a filter lacks its arguments", "write the arguments in parentheses")
            text = self._text()
            if text is None:
                what = "an argument of a filter is not a text"
                self._refuse(what, "write each argument as a text in quotes")
            texts.append(text)
        if count and not self._take(")"):
            self._refuse("a filter has too many arguments")
        return tuple(texts)

    def _any(self, depth: int = 0) -> str:
        made = [self._all(depth)]
        while self._take("or"):
            made.append(self._all(depth))
        return "(" + " or ".join(made) + ")"

    def _all(self, depth: int) -> str:
        made = [self._one(depth)]
        while self._take("and"):
            made.append(self._one(depth))
        return "(" + " and ".join(made) + ")"

    def _one(self, depth: int) -> str:
        self._conditions += 1
        if self._conditions > _MOST_CONDITIONS or depth > _DEEPEST:
            self._refuse("a condition has too many parts")
        if self._take("not"):
            made = self._one(depth + 1)
            if self._tokens[self._place - 1].kind == "text":
                # Nunjucks negates the variable alone, and compares the result.
                what = "`not` needs parentheses around the comparison"
                self._refuse(what, "write for example `not (x == 'a')`")
            return f"(not {made})"
        if self._take("("):
            made = self._any(depth + 1)
            if not self._take(")"):
                self._refuse("a condition computes a value")
            return made
        if self._peek("loop"):
            return f"({self._loop_value(shown=False)})"
        path = self._path()
        if self._is_length():
            return values.has_items(path)
        sign = _EQUAL.get(self._tokens[self._place].text) if self._more() else None
        if sign is None:
            return values.is_true(path)
        self._place += 1
        text = self._text()
        if text is None:
            self._refuse("gatekeeper translates only comparisons with a text in quotes")
        return values.is_text(path, sign, text)

    def _loop_value(self, *, shown: bool = True) -> str:
        self._place += 1
        name = self._next().text if self._take(".") else ""
        if "for" not in self._open or name not in _LOOP:
            what = "`loop` must be inside a loop and have a name, such as `loop.index`"
            self._refuse(what, "correct or remove `loop`")
        value = f"loop.{name}"
        return f"('true' if {value} else 'false')" if shown and name in ("first", "last") else value

    def _path(self) -> Path:
        name = self._variable_name()
        steps: list[str | int] = []
        while self._more() and self._tokens[self._place].text in (".", "["):
            after = self._tokens[self._place + 1 : self._place + 2]
            if self._peek(".") and after and after[0].text == "length":
                break
            steps.append(self._step())
        if len(steps) > _MOST_STEPS:
            self._refuse("a variable has too many parts")
        return Path(name, tuple(steps))

    def _step(self) -> str | int:
        is_dot = self._next().text == "."
        token = self._next()
        if is_dot and token.kind == "name":
            self._require_free(token.text)
            return f'"{token.text}"'
        if not is_dot and token.kind in ("text", "number") and self._take("]"):
            if token.kind == "number":
                if len(token.text) > 6 or str(int(token.text)) != token.text:
                    self._refuse("an index begins with 0 or has more than 6 digits")
                return int(token.text)
            self._require_free(token.text[1:-1])
            return token.text
        return self._refuse("the template computes an index")

    def _is_length(self) -> bool:
        if not self._peek("."):
            return False
        self._place += 2
        return True

    def _variable_name(self) -> str:
        token = self._next()
        if token.kind != "name" or token.text in _WORDS or token.text == "loop":
            if token.kind == "end":
                self._refuse("the name of a variable is missing", "write the name")
            self._refuse(f"`{token.text[:50]}` is not the name of a variable")
        self._require_free(token.text)
        return token.text

    def _require_free(self, name: str) -> None:
        if name in _TAKEN or name.startswith("__") or name == "length":
            what = f"Nunjucks or Jinja uses the name `{name}` for something else"
            self._refuse(what, "use another name")

    def _text(self) -> str | None:
        if self._more() and self._tokens[self._place].kind == "text":
            return self._next().text
        return None

    def _more(self) -> bool:
        return self._place < len(self._tokens)

    def _peek(self, text: str) -> bool:
        token = self._tokens[self._place] if self._more() else None
        return token is not None and token.kind != "text" and token.text == text

    def _take(self, text: str) -> bool:
        found = self._peek(text)
        self._place += found
        return found

    def _next(self) -> Token:
        token = self._tokens[self._place] if self._more() else Token("end", "the end of the tag")
        self._place += 1
        return token

    def _end(self) -> None:
        if self._more():
            what = f"`{self._tokens[self._place].text[:50]}` computes a value or calls a function"
            self._refuse(what)

    def _refuse(self, what: str, fix: str = _FIX) -> NoReturn:
        raise StyleFault(what, fix, self._line)
