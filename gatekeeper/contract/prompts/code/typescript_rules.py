"""What a TypeScript or JavaScript file may do with its constants, its classes and its exports.

No syntax can assign a text that `const` declares. Its module may still export another value under
the name, and a class may change through `this`.
"""

from __future__ import annotations

from gatekeeper.contract.prompts.code.names import Names, changed, may_change_any, words
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import MOVE, CodeFault

_RUNNING = words("inspector module repl vm worker_threads")
"""The modules of Node that run a text as code, or find what a file exports."""
_ANY = words("Function eval getBuiltinModule mainModule")
_HIDDEN = words("__proto__ constructor getPrototypeOf prototype setPrototypeOf")
_GLOBALS = words("global globalThis self window")
_ASSIGNED = words("= += del for in")


class TypescriptRules:
    """The short lists of harmless uses, and what else may change a constant or its export."""

    end = words(
        ".every .findIndex .forEach .includes .indexOf .join .keys .some Array.isArray"
        " JSON.stringify Object.keys structuredClone console.debug console.error console.info"
        " console.log console.warn"
    )
    copy = words(
        ".concat .entries .filter .flatMap .map .slice .values Array.from Object.entries"
        " Object.values"
    )
    item = words(".at .find .reduce")
    same = words("Object.freeze")
    fresh = words(".fill .push .reverse .shift .sort .splice .unshift")
    taking = words("add fill push reverse set shift sort splice unshift")
    each = words(".every .filter .find .findIndex .flatMap .forEach .map .reduce .some")
    keys = words("content length role")
    has_members = True

    def refuse_file(self, names: Names) -> None:
        """Refuse code that can reach the names of its own module other than by writing them."""
        for node in names.nodes:
            shown = self._reflects(names, node)
            if shown:
                raise may_change_any(shown, node)

    def _reflects(self, names: Names, node: Node) -> str:
        kind, text = node.kind, node.text
        if kind == "name" and "\\" in text:
            fix = "write the name without the escape sequence"
            raise CodeFault("a name contains an escape sequence", fix, node.line)
        if kind == "statement" and node.source.type == "with_statement":
            return "with"
        if kind in ("name", "member") and text in _ANY:
            return text
        if kind in ("member", "text", "pair") and text in _HIDDEN:
            use = node.around.text if kind == "member" else ""
            is_text = kind == "text" and node.parent is not None and node.parent.kind == "import"
            return "" if use in ("name", "hasOwnProperty") or is_text else text
        if kind == "item" and node.parts[-1].kind == "sum":
            inner = [part for part in node.parts[-1].walk() if part.kind != "sum"]
            is_hidden = all(part.kind == "text" for part in inner)
            return "".join(part.text for part in inner) if is_hidden else ""
        path = node.text if kind == "import" else _required(node) if kind == "call" else ""
        if not path:
            return ""
        is_running = path == "?" or path.removeprefix("node:") in _RUNNING
        return path if is_running or names.is_itself(path) else ""

    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None:
        """Refuse a declaration that leaves the name or its class open to change."""
        if bound.kind == "name":
            store = bound.enclosing("store", "parameter", "default")
            if store is not None and store.text not in ("const", "static"):
                what = f"`{name}` is not a constant, so the program can assign it again"
                raise CodeFault(what, "declare it with `const`", store.line)
            return
        for node in names.named.get(name, []):
            store = node.enclosing("store") if node.kind == "name" and node.is_target() else None
            is_assigned = store is not None and store.text in _ASSIGNED
            if store is not None and is_assigned and not store.source.child_by_field_name("kind"):
                raise changed(name, node)
        for node in bound.walk() if bound.kind == "class" else ():
            if node.role == "decorator" or names.module.get("decorator"):
                raise CodeFault(f"a decorator may change the class `{name}`", MOVE, bound.line)
            if node.kind == "name" and not node.text and node.is_target():
                what = f"the class `{name}` computes the name of a member while the program runs"
                raise CodeFault(what, "write the name as plain text", node.line)

    def own_names(self, made: Node) -> list[Node]:
        """Return `this` in an object, or in what is static in a class."""
        own = [n for n in made.walk() if n.kind == "name" and n.text in ("this", "super")]
        return [node for node in own if made.kind != "class" or _this_of(node) != "instance"]

    def changes(self, names: Names, node: Node, name: str, around: Node | None) -> bool:
        """Return whether the node stores another value as a member of that name, which may be the
        module's export, or gives the exports to other code."""
        kind, use = node.kind, node.parent
        if kind == "member" and node.text == name and node.is_target():
            owner = _this_of(node) if node.parts[0].inside().text == "this" else "module"
            is_own = owner == "instance" or (owner == "function" and around is None)
            return not is_own and not _gets_same(node, name)
        if around is not None or kind not in ("export", "name"):
            return False
        if kind == "export":
            foreign = [n for n in (use, use and use.parent) if n is not None and n.text == "from"]
            given = node.get("value")
            is_same = given is not None and given.text == name and not foreign
            return node.text == "=" or (node.text == f"as {name}" and not is_same)
        if node.text == "this":
            is_plain = node.around.kind == "compare" or node.around.text.startswith("__")
            return _this_of(node) == "module" and (not is_plain or node.around.is_target())
        if node.text == "require":
            is_main = node.around.text == "main" and node.around.around.kind == "compare"
            return node.role != "function" and not is_main and node.around.text != "resolve"
        is_module = node.text == "module"
        is_plain = is_module and (node.around.kind in ("compare", "end") or node.role == "test")
        is_plain = is_plain or (node.around.kind == "either" and is_module)
        return node.text in ("exports", "module") and not (
            is_plain or self._is_plain_export(names, node, name)
        )

    def _is_plain_export(self, names: Names, node: Node, name: str) -> bool:
        """Return whether a use of `exports`, or of `module`, leaves the exported name."""
        if node.text == "module":
            node = node.around
            if node.text != "exports" or node.kind != "member":
                return node.kind == "member" and node.text in ("hot", "id")
        around = node.around
        if around.kind == "call":
            return any(part.text == "__esModule" for part in around.parts)
        if around.kind != "store" or around.text != "=":
            return around.kind == "member" and not around.text.startswith("__")
        value = _last_value(around)
        if node.role == "value" or value is None or value.dotted() == ["module", "exports"]:
            return node.role == "value" or value is not None
        if value.kind == "object":
            return _is_at_top(node) and _exports_same(value, name)
        made = names.defined.get(value.text, []) if value.kind == "name" else []
        is_known = bool(made) and not any(
            part.text == name and part.is_target() for each in made for part in each.walk()
        )
        is_value = value.kind in ("text", "function") or value.text == name
        is_definition = all(each.kind in ("class", "function") for each in made)
        return _is_at_top(node) and (is_value or (is_known and is_definition))

    def is_elsewhere(self, names: Names, call: Node) -> bool:
        """Return whether the function belongs to something other than the language itself."""
        root = call.parts[0].root()
        if root.kind != "name":
            return False
        is_global = root.text in _GLOBALS or not root.text[:1].islower()
        return not is_global or root.text in names.imported or root.text in names.bound

    def has_operators(self, names: Names) -> bool:
        """Return whether `instanceof` may be given a list by the file itself."""
        return bool(names.named.get("hasInstance"))


def _required(call: Node) -> str:
    """Return the path that `require` or `import` is given; `?` if only the program knows it."""
    function = call.parts[0] if call.parts else call
    if function.source.type != "import" and function.dotted() != ["require"]:
        return ""
    given = call.all("argument")
    return (given[0].text if given[0].kind == "text" else "") or "?" if given else ""


def _last_value(store: Node) -> Node | None:
    """Return the value of `a = b = value`."""
    value = store.get("value")
    while value is not None and value.inside().kind == "store":
        value = value.inside().get("value")
    return value.inside() if value is not None else None


def _gets_same(member: Node, name: str) -> bool:
    """Return whether the member gets the module's constant of the same name."""
    store = member.around
    value = _last_value(store) if store.kind == "store" and store.text == "=" else None
    is_name = value is not None and value.kind == "name" and value.text == name
    return is_name and _is_at_top(member)


def _this_of(node: Node) -> str:
    """Return what `this` of the node is: the `module`, an `instance` of a class, or whatever calls
    the `function`, which may be the class itself."""
    below, above = node, node.parent
    while above is not None:
        if above.kind == "class":
            static = any(part.type == "static" for part in below.source.children)
            is_block = below.source.type == "class_static_block"
            return "function" if static or is_block else "instance"
        is_own = above.kind == "function" and above.source.type != "arrow_function"
        if is_own and (above.source.type != "method_definition" or above.role == "item"):
            return "function"
        below, above = above, above.parent
    return "module"


def _is_at_top(node: Node) -> bool:
    """Return whether the node is part of a statement of the module, in no block or function that
    may have a variable of the same name."""
    above = node.parent
    while above is not None and above.kind != "module":
        if above.kind in ("block", "class", "function") or above.text in ("for", "in"):
            return False
        above = above.parent
    return True


def _exports_same(made: Node, name: str) -> bool:
    """Return whether the last member of that name in an object is the constant of that name."""
    for part in reversed(made.parts):
        if part.kind == "spread" or not part.text:
            return False
        if part.text == name:
            value = part.parts[-1] if part.kind == "pair" else part
            return value.kind == "name" and value.text == name
    return True
