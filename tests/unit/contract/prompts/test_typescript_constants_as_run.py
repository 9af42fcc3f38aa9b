"""Runs JavaScript modules and compares their constants with what the reader says of the source: the
reader says the same, or refuses."""

from __future__ import annotations

from typing import Any

import pytest
from support.constants_as_run import Case, run_node
from support.machine_needs import NODE

from gatekeeper.contract.prompts.code.reading import Reading
from gatekeeper.contract.prompts.code.typescript_source import typescript_names
from gatekeeper.contract.prompts.code.written import CodeFault, Messages

TEXT = 'const P = "Good";\n'
FUNCTION = "function P(a) { return `Good ${a}`; }\n"

# Each exports another text than `P` has, unless its comment says otherwise.
EXPORTS = [
    'module.exports = { P: "Worse" };',
    'module.exports = { "P": "Worse" };',
    'module.exports = { ["P"]: "Worse" };',
    'const k = "P"; module.exports = { [k]: "Worse" };',
    'module.exports = { P() { return "Worse"; } };',
    'module.exports = { get P() { return "Worse"; } };',
    'module.exports = { P, P: "Worse" };',
    'const more = { P: "Worse" }; module.exports = { P, ...more };',
    'module.exports = { P, ...{ P: "Worse" } };',
    'const more = { P: "Worse" }; module.exports = more;',
    'exports = module.exports = { P: "Worse" };',
    'module.exports = exports = { P: "Worse" };',
    'module.exports = Object.assign({ P }, { P: "Worse" });',
    'exports.P = "Worse";',
    'exports["P"] = "Worse";',
    "exports[`P`] = 'Worse';",
    'exports["\\x50"] = "Worse";',
    'exports[["P"]] = "Worse";',
    'const k = "P"; exports[k] = "Worse";',
    'module.exports.P = "Worse";',
    'module["exports"].P = "Worse";',
    'module["exports"]["P"] = "Worse";',
    'module.exports["P"] = "Worse";',
    'module?.exports && (module.exports.P = "Worse");',
    'exports.P ??= "Worse";',
    'exports.P = P; exports.P += " Worse";',
    'exports.Q = exports.P = "Worse";',
    '[exports.P] = ["Worse"];',
    '({ a: exports.P } = { a: "Worse" });',
    'for (exports.P of ["Worse"]) {}',
    'Object.assign(exports, { P: "Worse" });',
    'Object.assign(module.exports, { P: "Worse" });',
    'Object.defineProperty(exports, "P", { value: "Worse" });',
    'Object.defineProperties(exports, { P: { value: "Worse" } });',
    'Reflect.set(exports, "P", "Worse");',
    'Reflect.defineProperty(module.exports, "P", { value: "Worse" });',
    'const e = exports; e.P = "Worse";',
    'const { exports: e } = module; e.P = "Worse";',
    'this.P = "Worse";',
    'this["P"] = "Worse";',
    '(() => { this.P = "Worse"; })();',
    'const me = this; me.P = "Worse";',
    'Object.assign(this, { P: "Worse" });',
    'require("./self").P = "Worse";',
    'const me = require("./self"); me.P = "Worse";',
    'const me = require("./self"); Object.assign(me, { P: "Worse" });',
    'Object.assign(require("./self"), { P: "Worse" });',
    'function set(e) { e.P = "Worse"; } set(exports);',
    'function set(e) { e["P"] = "Worse"; } set(module.exports);',
    "eval(\"exports.P = 'Worse'\");",
    '(0, eval)("1"); exports["P"] = "Worse";',
    'with (exports) { P; } exports.P = P; with (module) { exports.P = "Worse"; }',
    'module.exports = new Proxy({ P }, { get: () => "Worse" });',
    'module.exports = new (class { P = "Worse"; })();',
    'module.exports = class { static P = "Worse"; };',
    'function api() {} api.P = "Worse"; module.exports = api;',
    "exports.P = P; // stays",
    "module.exports = { P }; // stays",
    "module.exports = { ...{}, P, other: 1 }; // stays",
    "module.exports.P = P; module.exports.other = 1; // stays",
    "exports = module.exports = { P }; // stays",
    'Object.defineProperty(exports, "__esModule", { value: true }); exports.P = P; // stays',
]

MADE = [
    ('const T = "Good"; { const T = "Worse"; } const P = T + "!";', "P"),
    ('const T = "Good"; const P = `${T}`; function f(T) { return T; }', "P"),
    ('var P = "Good"; { var P = "Worse"; }', "P"),
    ('var P = "Good"; for (var P of ["Worse"]) {}', "P"),
    ('let P = "Good"; (() => { P = "Worse"; })();', "P"),
    ('function P() { return "Good"; }\n{ function P() { return "Worse"; } }', "P"),
    ('function P() { return "Good"; }\nif (true) { function P() { return "Worse"; } }', "P"),
    ('function P() { return "Good"; }\nfunction P() { return "Worse"; }', "P"),
    ('function P() { return "Good"; }\nP = () => "Worse";', "P"),
    ('function P() { return "Good"; }\n[P] = [() => "Worse"];', "P"),
    ('function P() { return "Good"; }\nfor (P of [() => "Worse"]) {}', "P"),
    ('function P() { return "Good"; }\nvar P = () => "Worse";', "P"),
    ('{ function P() { return "Worse"; } }\nfunction P() { return "Good"; }', "P"),
    (
        'switch (1) { case 1: function P() { return "Worse"; } }\nfunction P() { return "Good"; }',
        "P",
    ),
    ('const T = "Good"; function P(T) { return `${T}`; }', "P"),
    ('const T = "Good"; function P(a) { return `${T} ${a}`; }', "P"),
    ('const T = "Good"; const P = (a = T) => `${T}`;', "P"),
    ('const T = "Good"; const P = (a) => { const T = "Worse"; return `${T}`; };', "P"),
    ('const P = "\\101\\102";', "P"),
    ('const P = "\\1";', "P"),
    ('const P = "\\0a";', "P"),
    ('const P = "\\01";', "P"),
    ('const P = "\\08";', "P"),
    ('const P = "\\8\\9";', "P"),
    ('const P = "\\x41\\u0042\\u{43}\\u{1F600}\\ud83d\\ude00";', "P"),
    ('const P = "a\\\nb\\\r\nc";', "P"),
    ('const P = "\\q\\\'\\"\\`\\b\\f\\v\\t\\r\\n";', "P"),
    ("const P = `a\r\nb\rc`;", "P"),
    ("const P = `a\\\r\nb\\`\\${x}`;", "P"),
    ("const P = `a\u2028b\u2029`;", "P"),
    ("const P = String.raw`a\\n`;", "P"),
    ('const P = "a"\n`x`;', "P"),
    ('const P = "a"\n+ "b" + `c`;', "P"),
    ('const P = "a" + 1;', "P"),
    ('const P = ("a", "b");', "P"),
    ('const P = "\\x1c a \\x85\\ufeff\\u200b\\u3000".trim();', "P"),
    ('const P = " \\ufeff a ".trimStart() + " b ".trimEnd();', "P"),
    ('String.prototype.trim = () => "Worse"; const P = " Good ".trim();', "P"),
    ('"".__proto__.trim = () => "Worse"; const P = " Good ".trim();', "P"),
    ('Object.getPrototypeOf("").trim = () => "Worse"; const P = " Good ".trim();', "P"),
    ('"".constructor["prototype"].trim = () => "Worse"; const P = " Good ".trim();', "P"),
    ('const P = "Good" /* a */ // b\n;', "P"),
    ('const q = 1, P = "Good";', "P"),
    ('const { P } = { P: "Good" };', "P"),
    ('const [P] = ["Good"];', "P"),
    ('const P = "Good"; const Q = { P: 1, f(P) { P = "mine"; return P; } }; Q.f();', "P"),
]


MORE_EXPORTS = [
    'module.exports = { "\\u0050": "Worse" };',
    'module.exports = { P: P || "Worse" };',
    'module.exports = { P: P + " Worse" };',
    'module.exports = { P: (P, "Worse") };',
    'module.exports = { async P() { return "Worse"; } };',
    'module.exports = { set P(x) {}, get P() { return "Worse"; } };',
    'module.exports = { P }; module.exports = { P: "Worse" };',
    'module.exports = { P }; ({ P: module.exports.P } = { P: "Worse" });',
    'module.exports = { P }; module.exports = { ...module.exports, P: "Worse" };',
    'module.exports = { P }; delete module.exports.P; module.exports.P = "Worse";',
    'module.exports = { P }; const { exports: { ...x } } = module; x.P = "mine";',
    'module.exports = { P }; const x = module.exports; x.P = "Worse";',
    'module.exports = { P }; [module.exports].forEach((x) => { x.P = "Worse"; });',
    'module.exports = { P }; (() => module)().exports.P = "Worse";',
    'module.exports = { P }; (module).exports.P = "Worse";',
    'module.exports = { P }; (module.exports).P = "Worse";',
    'module.exports = { P }; (exports || module.exports).P = "mine"; '
    '(module.exports || exports).P = "Worse";',
    'exports.P = P; { const exports2 = exports; exports2["P"] = "Worse"; }',
    'exports.P = P; void (exports.P = "Worse");',
    'exports.P = P; exports.P = "Worse", 1;',
    'exports.P = P; function f(e = exports) { e.P = "Worse"; } f();',
    'exports.P = P; const f = () => exports; f().P = "Worse";',
    'exports.P = P; class A { e = exports; } new A().e.P = "Worse";',
    'exports.P = P; const o = { exports }; o.exports.P = "Worse";',
    'exports.P = P; Object.entries({ a: exports }).forEach(([k, v]) => { v.P = "Worse"; });',
    'exports.P = P; module.exports.__proto__ = { P: "x" };',
    "exports.P = P; Object.setPrototypeOf(exports, {});",
    "exports.P = P; Object.freeze(exports);",
    'exports.P = P; exports.__defineGetter__("P", () => "Worse");',
    'exports.P = P; exports["__defineGetter__"]("P", () => "Worse");',
    'exports.P = P; module.exports.__defineGetter__.call(exports, "P", () => "Worse");',
    "exports.P = P; const { defineProperty } = Object; "
    'defineProperty(exports, "P", { value: "Worse" });',
    'exports.P = P; const O = Object; O.assign(exports, { P: "Worse" });',
    'exports.P = P; Object["assign"](exports, { P: "Worse" });',
    'exports.P = P; Object.assign.call(null, exports, { P: "Worse" });',
    'exports.P = P; module.children; module.id; const e = module["exp" + "orts"]; e.P = "Worse";',
    "exports.P = P; require.cache;",
    'exports.P = P; const r = require; r("./self").P = "Worse";',
    'exports.P = P; require("./self")["P"] = "Worse";',
    'exports.P = P; const k = "P"; require("./self")[k] = "Worse";',
    'exports.P = P; const s = require("./self"); const k = "P"; s[k] = "Worse";',
    'exports.P = P; const s = require("./self"); for (const k in s) s[k] = "Worse";',
    'exports.P = P; const s = require("./self"); '
    'Object.keys(s).forEach((k) => { s[k] = "Worse"; });',
    'exports.P = P; (function () { this.P = "Worse"; }).call(exports);',
    'exports.P = P; (function () { this.P = "Worse"; }).call(require("./self"));',
    'exports.P = P; (function (e) { e["P"] = "Worse"; })(this);',
    'exports.P = P; const f = () => this; f().P = "Worse";',
    'exports.P = P; with (this) { P = "Worse"; }',
    "exports.P = P; class A { static x = this.y; } ",
    'exports.P = P; ((P) => { P = "x"; })("a");',
    'try { P = "Worse"; } catch {} exports.P = P;',
    '{ const P = "mine"; exports.P = P; }',
    'function f() { const P = "Worse"; exports.P = P; } f();',
    '((P) => { exports.P = P; })("Worse");',
    '((P) => { module.exports = { P }; })("Worse");',
    'for (const P of ["Worse"]) exports.P = P;',
    'const f = ({ P }) => { exports.P = P; }; f({ P: "Worse" });',
    'try { throw "Worse"; } catch (P) { exports.P = P; }',
    'class A { static P = "Worse"; } exports.P = P;',
]
MORE_OF_FUNCTIONS = [
    '{ const P = () => "mine"; exports.P = P; }',
    '((P) => { exports.P = P; })(() => "Worse");',
    'P.toString = () => "x"; P.x = 1;',
    'const Q = P; Q.call(null, "a");',
    'class A { P() { return "mine"; } }',
]
MORE: list[Case] = [
    ('function P(a) { "use strict"; return `Good ${a}`; }', "P"),
    ("const P = function (a) { return `Good ${a}`; };", "P"),
    ("const P = function P(a) { return `Good ${a}`; };", "P"),
    ("const P = async (a) => `Good ${a}`;", "P"),
    ("async function P(a) { return `Good ${a}`; }", "P"),
    ("function* P(a) { return `Good ${a}`; }", "P"),
    ("const P = (a) => { return `Good ${a}`; };", "P"),
    ("const P = (a) => ({ x: `Good ${a}` }).x;", "P"),
    ("const P = (a) => (a, `Good ${a}`);", "P"),
    ('const b = "x"; const P = (a, c = b) => `Good ${b}`;', "P"),
    ('const b = "x"; const P = (a, b) => `Good ${b}`;', "P"),
    ("const N = 3; const P = `Good ${N}`;", "P"),
    ("const N = 0x10; const P = `Good ${N}`;", "P"),
    ("const N = 1e21; const P = `Good ${N}`;", "P"),
    ("const N = true; const P = `Good ${N}`;", "P"),
    ('const N = ["a"]; const P = `Good ${N[0]}`;', "P"),
    ('const N = { a: "b" }; const P = `Good ${N.a}`;', "P"),
    ('const N = { a: "b" }; N.a = "Worse"; const P = `Good ${N.a}`;', "P"),
    ('const N = "a" + "b"; const P = `${N}${N}`;', "P"),
    ("const N = `x`; const P = `Good ${`${N}`}`;", "P"),
    ('const P = `Good ${"x"}`;', "P"),
    ("const P = `Good ${1}`;", "P"),
    ('const P = `Good ${(x)}`; var x = "Worse";', "P"),
    ('var x = "y"; const P = `Good ${x}`; x = "Worse";', "P"),
    ('let x = "y"; x = "Worse"; const P = `Good ${x}`;', "P"),
    ("const P = /Good/.source;", "P"),
    ('const P = "Good".toUpperCase();', "P"),
    ('const P = ["Good", "x"].join("\\n");', "P"),
    ('const P = "Good".concat("x");', "P"),
    ('const P = dedent`Good`; function dedent() { return "Worse"; }', "P"),
    ('const P = true ? "Good" : "Worse";', "P"),
    ('const P = "" || "Worse";', "P"),
    ('const P = null ?? "Good";', "P"),
    ('const P = "a\\\n  b";', "P"),
    ("const P = `a\\\n  b`;", "P"),
    ('const P = "\\u{110000}";', "P"),
    ("const P = `\\u00e9\\x41`;", "P"),
    ('const P = "\\u00";', "P"),
    ('const P = "<!-- a -->";', "P"),
    ('<!-- const P = "Worse"\nconst P = "Good";', "P"),
    ('const P = "Good" <!-- + "Worse"\n;', "P"),
    ('#!/usr/bin/env node\nconst P = "Good";', "P"),
    ("const P = `\n  Good\n`.trim();", "P"),
    ('const T = " Good "; const P = T.trim() + `!`;', "P"),
    ('const P = " a ".trim().trim();', "P"),
    ('const P = "a\\tb".trimEnd();', "P"),
    ('const P = ` ${x} `.trim(); var x = " y ";', "P"),
    ('"".trim.call; String["prototype"].trim = () => "Worse"; const P = " a ".trim();', "P"),
    (
        'const S = String; const k = "proto" + "type"; S[k].trim = () => "Worse"; '
        'const P = " a ".trim();',
        "P",
    ),
    (
        'Reflect.set(Reflect.getPrototypeOf(""), "trim", () => "Worse"); const P = " a ".trim();',
        "P",
    ),
]

# A text runs as code, or the file finds its own exports.
BY_TEXT = [
    "exports.P = P; (() => {}).constructor('e', 'e.exports[\"P\"] = \"Worse\"')(module);",
    "exports.P = P; const k = 'P'; (() => require)()('./self')[k] = 'Worse';",
    "exports.P = P; const k = 'P'; const o = { s: require('./self') }; o.s[k] = 'Worse';",
    "exports.P = P; const f = (s, k) => { s[k] = 'Worse'; }; f(require('./self'), 'P');",
    "exports.P = P; const f = (s, k) => { s[k] = 'Worse'; }; f(require('./se' + 'lf'), 'P');",
    "exports.P = P; const k = 'P'; const at = './self'; require(at)[k] = 'Worse';",
    "exports.P = P; const k = 'P'; module['exp' + 'orts'][k] = 'Worse';",
    "exports.P = P; Reflect.get(module, 'exports')['P'] = 'Worse';",
    "exports.P = P; new Function('e', 'e.P = \"Worse\"')(require('./self'));",
]

CASES: list[Case] = [
    *((TEXT + code, "P") for code in EXPORTS),
    *MADE,
    *((FUNCTION + code, "P") for code in EXPORTS),
    *((TEXT + code, "P") for code in MORE_EXPORTS),
    *((TEXT + code, "P") for code in BY_TEXT),
    *((FUNCTION + code, "P") for code in MORE_OF_FUNCTIONS),
    *MORE,
]


def said_by(source: str, name: str) -> list[Any]:
    """Return what the reader says, with the program's values in the holes of a function."""
    messages: Messages = Reading(typescript_names(source, "self.js", "tsx")).constant(name)
    return [
        [role, "".join(p if isinstance(p, str) else str(p[0]).upper() for p in written.parts)]
        for role, written in messages
    ]


def same(said: list[Any], value: Any) -> bool:
    return said == (value if isinstance(value, list) else [["user", value]])


@NODE.mark
def test_the_reader_says_what_the_program_has_or_refuses() -> None:
    wrong, refused, changed = [], 0, 0
    for (source, name), ran in zip(CASES, run_node(CASES), strict=True):
        values = ran.get("values", [])
        changed += "Worse" in str(values)
        try:
            said = said_by(source, name)
        except CodeFault:
            refused += 1
            continue
        if not all(same(said, value) for value in values):
            wrong.append((source, name, said, values))
    assert wrong == []
    assert len(CASES) > 280
    assert refused > 180
    assert changed > 100


ORDINARY = [
    "console.log(P, `${P} and more`);",
    "const Q = P + ' more'; const R = { p: P, q: [P] };",
    "async function f(q) { return client.create({ messages: [{ role: 'system', content: P }] }); }",
    "const f = (P) => P; f(1);",
    "const { OpenAI } = require('openai'); const c = new OpenAI(); c.run(P);",
    "class A { constructor() { this.P = P; } get p() { return this.P; } }",
    "const f = ({ prompt = P } = {}) => prompt.replace('a', 'b'); f();",
    "const lines = P.split('\\n').map((line) => line.trim());",
    "switch (P) { case 'a': break; default: }",
    "Object.prototype.hasOwnProperty.call({}, 'a');",
    "process.env.PROMPT = P;",
]
ACCEPTED: list[Case] = [
    *((TEXT + code, "P") for code in ORDINARY),
    *((FUNCTION + code, "P") for code in ORDINARY[:3]),
]


@NODE.mark
def test_ordinary_modules_are_read() -> None:
    assert len(ACCEPTED) > 10
    for (source, name), ran in zip(ACCEPTED, run_node(ACCEPTED), strict=True):
        try:
            said = said_by(source, name)
        except CodeFault as fault:
            pytest.fail(f"{source}\n{fault.what} (line {fault.line})")
        assert all(same(said, value) for value in ran.get("values", [])), (source, ran)
