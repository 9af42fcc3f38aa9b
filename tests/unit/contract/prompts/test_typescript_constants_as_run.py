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
OBJECT = 'const P = { system: "Good", other: "else", get() { return this.system; } };\n'
DEEP = 'const P = { a: { system: "Good", other: "else" } };\n'
LIST = 'const P = [{ role: "system", content: "Good" }, { role: "user", content: "x" }];\n'
KLASS = 'class P { static system = "Good"; get() { return this; } }\n'
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

# Each changes the object's `P.system`, unless its comment says otherwise.
OF_OBJECTS = [
    'P.system = "Worse";',
    'P["system"] = "Worse";',
    "P[`system`] = 'Worse';",
    'P["sys" + "tem"] = "Worse";',
    'const k = "system"; P[k] = "Worse";',
    'P.system += "Worse";',
    'P.system ??= "Worse"; P.system &&= "Worse";',
    '[P.system] = ["Worse"];',
    '({ x: P.system } = { x: "Worse" });',
    '({ x: P.system = "Worse" } = {});',
    "({ ...P.system } = {});",
    'for (P.system of ["Worse"]) {}',
    "for (P.system in { Worse: 1 }) {}",
    "delete P.system;",
    'const Q = P; Q.system = "Worse";',
    'let Q; Q = P; Q.system = "Worse";',
    'const [Q] = [P]; Q.system = "Worse";',
    'const { Q } = { Q: P }; Q.system = "Worse";',
    'const { Q = P } = {}; Q.system = "Worse";',
    'const Q = { P }; Q.P.system = "Worse";',
    'const Q = [P]; Q[0].system = "Worse";',
    'for (const q of [P]) q.system = "Worse";',
    '[P].forEach((q) => { q.system = "Worse"; });',
    '(P || {}).system = "Worse";',
    '(true ? P : {}).system = "Worse";',
    '(0, P).system = "Worse";',
    'Object.assign(P, { system: "Worse" });',
    'Object.assign({}, { P }).P.system = "Worse";',
    'Object.defineProperty(P, "system", { value: "Worse" });',
    'Reflect.set(P, "system", "Worse");',
    'P.__defineGetter__("system", () => "Worse");',
    'P["__defineGetter__"]("system", () => "Worse");',
    'P["__define" + "Getter__"]("system", () => "Worse");',
    'function f(q) { q.system = "Worse"; } f(P);',
    'function f({ q }) { q.system = "Worse"; } f({ q: P });',
    'const f = (q) => { q.system = "Worse"; }; f(P);',
    'function f() { arguments[0].system = "Worse"; } f(P);',
    'function f(...q) { q[0].system = "Worse"; } f(P);',
    'function f() { this.system = "Worse"; } f.call(P);',
    'function f() { this.system = "Worse"; } f.apply(P, []);',
    'const b = function () { this.system = "Worse"; }.bind(P); b();',
    'Object.values({ P })[0].system = "Worse";',
    'Object.entries({ P }).forEach(([k, v]) => { v.system = "Worse"; });',
    'function f() { return P; } f().system = "Worse";',
    'const f = () => P; f().system = "Worse";',
    'class D { q = P; } new D().q.system = "Worse";',
    'class D { constructor(q) { this.q = q; this.q.system = "Worse"; } } new D(P);',
    'const m = new Map([["a", P]]); m.get("a").system = "Worse";',
    'const q = Object.create(P); q.other; Object.getPrototypeOf(q).system = "Worse";',
    'try { throw P; } catch (q) { q.system = "Worse"; }',
    'function* f() { yield P; } f().next().value.system = "Worse";',
    "eval(\"P.system = 'Worse'\");",
    'with (P) { system = "Worse"; }',
    'switch (P) { default: P.system = "Worse"; }',
    'P.set = function () { this.system = "Worse"; }; P.set();',
    'exports.P = P; exports.P.system = "Worse";',
    'module.exports = { P }; module.exports.P.system = "Worse";',
    'exports.P = P; require("./self").P.system = "Worse";',
    'const q = structuredClone(P); q.system = "mine"; // stays',
    'const q = { ...P }; q.system = "mine"; // stays',
    "const { system } = P; console.log(system, P.system.length, P.get()); // stays",
]
# Each changes `P.a.system` by a key that only the running program knows.
OF_KEYS = [
    'const k = "a"; P[k].system = "Worse";',
    'const k = "a"; const q = P[k]; q.system = "Worse";',
    'const system = "a"; P[system].system = "Worse";',
    'const system = "a"; const q = P[system]; q["system"] = "Worse";',
    'const k = "a"; for (const q of [P[k]]) q.system = "Worse";',
    'for (const k in P) P[k].system = "Worse";',
    'for (const k of Object.keys(P)) { const q = P[k]; q.system = "Worse"; }',
    'const f = (k) => P[k]; f("a").system = "Worse";',
    'const f = (k) => { return P[k]; }; const q = f("a"); q.system = "Worse";',
    'const k = `a`; const { [k]: q } = P; q.system = "Worse";',
    'const k = { toString: () => "a" }; P[k].system = "Worse";',
    'P[["a"]].system = "Worse";',
    'P["a" + ""].system = "Worse";',
    'P[`${"a"}`].system = "Worse";',
    'P?.["a"] && (P["a"].system = "Worse");',
    'const k = "a"; console.log(P[k].system); // stays',
]
LISTED = 'const P = { a: [{ role: "user", content: "Good" }], b: [] };\n'
OF_LISTED = [
    "P.a.pop();",
    'const k = "a"; P[k].pop();',
    "Object.values(P)[0].pop();",
    "for (const v of Object.values(P)) v.pop();",
    "Object.entries(P).forEach(([k, v]) => { v.pop(); });",
    "for (const k in P) P[k].pop();",
    "const q = { ...P }; q.a.pop();",
    'const q = { ...P }; const k = "a"; q[k].pop();',
    "const { a: q } = P; q.pop();",
    "const { ...q } = P; q.a.pop();",
    'const f = (k) => P[k]; f("a").pop();',
    "const q = { content: P }; q.content.a.pop();",
    "const q = { content: P.a }; q.content.pop();",
    "const { content } = { content: P.a }; content.pop();",
    "const q = [(r = P.a)]; var r; q[0].pop();",
    "console.log(P.a[0].content, P.a.length); // stays",
    "const q = [...P.a, { role: 'user', content: 'x' }]; q.push(1); // stays",
]
MADE = [
    ('const P = { s: { s: "Good", o: "x" } }; const q = P.s; q.s = "Worse";', "P.s.s"),
    ('const P = { s: "Good" }; const q = { s: P }; q.s.s = "Worse";', "P.s"),
    ('const P = { s: "Good" }; const { s } = { s: P }; s.s = "Worse";', "P.s"),
    ('const P = { system: "Good", system: "Worse" };', "P.system"),
    ('const P = { system: "Good", ["system"]: "Worse" };', "P.system"),
    ('const P = { system: "Good", get system() { return "Worse"; } };', "P.system"),
    ('const P = { system: "Good", ...{ system: "Worse" } };', "P.system"),
    ('const P = { system: "Good", set() { this.system = "Worse"; } }; P.set();', "P.system"),
    (
        'const P = { system: "Good", set() { const t = this; t.system = "Worse"; } }; P.set();',
        "P.system",
    ),
    ('const P = { "system": "Good", \'other\': "x" };', "P.system"),
    ('const P = Object.freeze({ system: "Good" });', "P.system"),
    (
        'const Object = { freeze: () => ({ system: "Worse" }) };\n'
        'const P = Object.freeze({ system: "Good" });',
        "P.system",
    ),
    ('const P = { __proto__: { system: "Worse" } };', "P.system"),
    ('const T = "Good"; const P = { system: T };', "P.system"),
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
OF_CLASSES = [
    'P.system = "Worse";',
    'new P().constructor.system = "Worse";',
    'new P()["constructor"].system = "Worse";',
    'const { constructor: c } = new P(); c.system = "Worse";',
    'Object.getPrototypeOf(new P()).constructor.system = "Worse";',
    'P.prototype.constructor.system = "Worse";',
    'P.prototype.get.call(P).system = "Worse";',
    'new P().get.call(P).system = "Worse";',
    'const Q = P; Q.system = "Worse";',
    'class D extends P { static f() { super.constructor; P.system = "Worse"; } } D.f();',
    'Reflect.ownKeys(P); Reflect.set(P, "system", "Worse");',
    'class D extends P {} D.system = "mine";',
    "console.log(P.system, new P() instanceof P); // stays",
]
INSIDE = [
    'static { this.system = "Worse"; }',
    'static { P.system = "Worse"; }',
    'static set() { this.system = "Worse"; } static x = this.set();',
    'static x = (this.system = "Worse");',
    'static x = (() => { this.system = "Worse"; })();',
    'static get system() { return "Worse"; }',
    'static ["system"] = "Worse";',
    'static system = "Worse";',
    "x = 1; // stays",
]

# Each changes the array `P`, unless its comment says otherwise.
OF_LISTS = [
    'P[0].content = "Worse";',
    'P[0]["content"] = "Worse";',
    'P[0] = { role: "user", content: "Worse" };',
    'P.at(0).content = "Worse";',
    'P.push({ role: "user", content: "Worse" });',
    'P["push"]({ role: "user", content: "Worse" });',
    'P.splice(0, 1, { role: "user", content: "Worse" });',
    'P.unshift({ role: "user", content: "Worse" });',
    "P.length = 1;",
    "P.length--;",
    "P.reverse();",
    "P.pop();",
    "P.sort((a, b) => a.content.length - b.content.length);",
    'P.fill({ role: "user", content: "Worse" });',
    "P.copyWithin(0, 1);",
    'P.forEach((m) => { m.content = "Worse"; });',
    'P.forEach(function (m) { m.content = "Worse"; });',
    'P.forEach(function () { arguments[0].content = "Worse"; });',
    'P.forEach((...m) => { m[0].content = "Worse"; });',
    'P.forEach((m, i) => { P[i].content = "Worse"; });',
    'P.forEach((m, i, all) => { all[i] = { role: "user", content: "Worse" }; });',
    'P.map((m) => (m.content = "Worse"));',
    'P.map((m) => m)[0].content = "Worse";',
    'P.filter((m) => m)[0].content = "Worse";',
    'P.find((m) => m.role).content = "Worse";',
    'P.reduce((a, m) => m).content = "Worse";',
    'P.reduce((a, m) => { m.content = "Worse"; return a; }, 0);',
    'P.some((m) => (m.content = "Worse"));',
    'const set = (m) => { m.content = "Worse"; }; P.forEach(set);',
    'for (const m of P) m.content = "Worse";',
    'for (const i in P) P[i].content = "Worse";',
    'for (const [i, m] of P.entries()) m.content = "Worse";',
    'for (let i = 0; i < P.length; i++) P[i].content = "Worse";',
    'for (const m of [...P]) m.content = "Worse";',
    'for (const m of P.slice(1)) m.content = "Worse";',
    'const [m] = P; m.content = "Worse";',
    'const [, ...m] = P; m[0].content = "Worse";',
    'const { 0: m } = P; m.content = "Worse";',
    'const m = P[0]; m.content = "Worse";',
    'const q = P; q.push({ role: "user", content: "Worse" });',
    'const q = [...P]; q[0].content = "Worse";',
    'const q = P.slice(); q[0].content = "Worse";',
    'const q = P.concat([]); q[0].content = "Worse";',
    'const q = Array.from(P); q[0].content = "Worse";',
    'const q = []; q.push(...P); q[0].content = "Worse";',
    'const q = []; q.push(P[0]); q[0].content = "Worse";',
    'const q = { messages: P }; q.messages.push({ role: "user", content: "Worse" });',
    "const q = Object.assign({}, { P }); q.P.pop();",
    'Object.assign(P[0], { content: "Worse" });',
    'function f(m) { m.push({ role: "user", content: "Worse" }); } f(P);',
    'function f(m) { m[0].content = "Worse"; } f([...P]);',
    'function f({ messages }) { messages[0].content = "Worse"; } f({ messages: P });',
    "function f(a, m = P) { m.pop(); } f();",
    "Array.prototype.pop.call(P);",
    "[].pop.apply(P);",
    "const o = { cb(m) { m.pop(); } }; o.cb(P);",
    "const o = { cb: (m) => m.pop() }; o.cb(P);",
    "const o = {}; o.cb = (m) => m.pop(); o.cb(P);",
    'const push = P.push.bind(P); push({ role: "user", content: "Worse" });',
    'const { push } = P; push.call(P, { role: "user", content: "Worse" });',
    "(P ?? []).pop();",
    "P?.pop();",
    'P?.[0] && (P[0].content = "Worse");',
    'P[0].content += " Worse";',
    'const q = [...P]; q.push({ role: "user", content: "more" }); // stays',
    'const q = P.map((m) => ({ ...m, content: "mine" })); console.log(q, P.length); // stays',
    "client.chat.completions.create({ messages: [...P, P[0]] }); // stays",
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
MORE_OF_CLASSES = [
    'P["system"] = "Worse";',
    'const k = "system"; P[k] = "Worse";',
    '[P][0].system = "Worse";',
    'const o = { P }; o.P.system = "Worse";',
    'class Q { static s = P; } Q.s.system = "Worse";',
    'function f(c) { c["system"] = "Worse"; } f(P);',
    'const c = new P()["const" + "ructor"]; const k = "system"; c[k] = "Worse";',
    'const k = "constructor".slice(0); const k2 = "system"; new P()[k][k2] = "Worse";',
    'P = class { static system = "Worse"; };',
    '[P] = [class { static system = "Worse"; }];',
    'for (P of [class { static system = "Worse"; }]) {}',
    'try { P.system = "Worse"; } finally {}',
]
MORE_OF_LISTS = [
    "[...P].sort((a, b) => { a.content = 'Worse'; return 0; });",
    "P.slice().sort((a) => { a.content = 'Worse'; return 0; });",
    "Array.prototype.map = function () { this[0].content = 'Worse'; }; P.map((m) => m);",
    "Array.prototype.at = function () { this[0].content = 'Worse'; }; P.at(0);",
    "class E { static [Symbol.hasInstance](m) { m[0].content = 'Worse'; } } P instanceof E;",
    "P.with(0, 1); P.toSorted();",
    'P.flat()[0].content = "Worse";',
    'P.values().next().value.content = "Worse";',
    '[...P.entries()][0][1].content = "Worse";',
    'P.keys(); P.includes(1); P.indexOf(2); P.join("");',
    'P.flatMap((m) => [m])[0].content = "Worse";',
    'P.map((m) => ({ m }))[0].m.content = "Worse";',
    'P.map(({ ...m }) => { m.content = "mine"; return m; });',
    'P.map(({ role, content }) => `${role}: ${content}`).join("");',
    'P.findLast((m) => m).content = "Worse";',
    'P.every((m) => (m.content = "Worse"));',
    'P.forEach((m, i, { 0: first }) => { first.content = "Worse"; });',
    'P.forEach((m = {}) => { m.content = "Worse"; });',
    'P.forEach(async (m) => { m.content = "Worse"; });',
    'P.forEach((m) => { const n = m; n.content = "Worse"; });',
    'P.forEach((m) => { (() => { m.content = "Worse"; })(); });',
    'P.forEach((m) => change(m)); function change(m) { m.content = "Worse"; }',
    'P.forEach(change); function change(m) { m.content = "Worse"; }',
    'P.forEach((m) => Object.assign(m, { content: "Worse" }));',
    'P.forEach((m) => Reflect.set(m, "content", "Worse"));',
    'P["forEach"]((m) => { m.content = "Worse"; });',
    'P?.forEach((m) => { m.content = "Worse"; });',
    'Array.prototype.forEach.call(P, (m) => { m.content = "Worse"; });',
    'const { forEach } = P; forEach.call(P, (m) => { m.content = "Worse"; });',
    'const each = P.forEach.bind(P); each((m) => { m.content = "Worse"; });',
    'Array.from(P, (m) => { m.content = "Worse"; });',
    'Object.values(P)[0].content = "Worse";',
    'Object.entries(P)[0][1].content = "Worse";',
    "for (const { content } of P) console.log(content);",
    'for (let m of P) { m = { content: "mine" }; }',
    'for (P[0].content of ["Worse"]) {}',
    'let m; for (m of P) m.content = "Worse";',
    'let m; for ({ m } of [{ m: P[0] }]) m.content = "Worse";',
    'const it = P[Symbol.iterator](); it.next().value.content = "Worse";',
    "const f = (x) => x; f(P).pop();",
    'const f = (x) => { return x; }; f(P)[0].content = "Worse";',
    "function f(x) { const y = x; return y; } f(P).pop();",
    "const f = async (x) => x; f(P).then((x) => x.pop());",
    "async function f() { return P; } f().then((x) => x.pop());",
    "const o = { f(x) { return x; } }; o.f(P).pop();",
    "class A { constructor() { this.m = P; } } new A().m.pop();",
    'class A { m = [...P]; go() { this.m[0].content = "Worse"; } } new A().go();',
    'class A { m = [...P]; go() { this.m.push({ role: "user", content: "x" }); } } new A().go();',
    'const s = { messages: [...P] }; s.messages[0].content = "Worse";',
    'const s = { messages: [...P] }; s.messages.push({ role: "user", content: "x" });',
    "const s = { ...{ messages: P } }; s.messages.pop();",
    "const { messages } = { messages: P }; messages.pop();",
    "const { messages: m = [] } = { messages: P }; m.pop();",
    "let m = null; m ??= P; m.pop();",
    "let m = null; m = m || P; m.pop();",
    "let m; (m = P).pop();",
    "let m; [m] = [P]; m.pop();",
    "let m; ({ m } = { m: P }); m.pop();",
    "const m = true && P; m.pop();",
    "const m = (0, P); m.pop();",
    "const m = new Array(P); m[0].pop();",
    'const m = new Array(...P); m[0].content = "Worse";',
    'const m = [P].flat(); m[0].content = "Worse";',
    "const m = [[P]]; m[0][0].pop();",
    'const m = new Map(); m.set("a", P); m.get("a").pop();',
    "const m = new Set(); m.add(P); [...m][0].pop();",
    "const m = []; m.unshift(P); m[0].pop();",
    "const m = []; m[0] = P; m[0].pop();",
    'const m = []; m.push(...P.slice(0, 1)); m[0].content = "Worse";',
    'const m = [].concat(P); m[0].content = "Worse";',
    'const m = JSON.parse(JSON.stringify(P)); m[0].content = "mine";',
    'const m = structuredClone(P); m[0].content = "mine";',
    "setTimeout(() => P.pop(), 0);",
    "queueMicrotask(() => { P.length = 0; });",
    "function f() { f.m = P; } f(); f.m.pop();",
    "function f(...a) { a[0].pop(); } f(P);",
    "function f(a, b) { b.pop(); } f(1, P);",
    "function f(a) { arguments[0].pop(); } f(P);",
    "function f({ m }) { m.pop(); } f({ m: P });",
    "function f({ m: n }) { n.pop(); } f({ m: P });",
    "function f([m]) { m.pop(); } f([P]);",
    'function f([m]) { m.content = "Worse"; } f(P);',
    "new (class { constructor(m) { m.pop(); } })(P);",
    "(function (m) { m.pop(); })(P);",
    "((m) => m.pop())(P);",
    "`${P.pop()}`;",
    'P.toString = () => ""; P.x = 1;',
    "tag`${P}`; function tag(s, m) { m.pop(); }",
    "switch (P.pop()) { }",
    "throw_(P); function throw_(m) { try { throw m; } catch (e) { e.pop(); } }",
    'Promise.all(P.map(async (m) => { m.content = "Worse"; }));',
    "[P, 1].at(0).pop();",
    'P.at(-1).role = "system";',
    'P.concat()[0].content = "Worse";',
    'P[P.length - 1].content = "Worse";',
    'P[0]["con" + "tent"] = "Worse";',
    'const k = "content"; P[0][k] = "Worse";',
    '[P[0].content] = ["Worse"];',
    '({ x: P[0].content } = { x: "Worse" });',
    'P[0] &&= { role: "user", content: "Worse" };',
    'Object.defineProperty(P[0], "content", { value: "Worse" });',
    'Object.defineProperty(P, 0, { value: { role: "user", content: "Worse" } });',
    "exports.P = P; exports.P.pop();",
    'module.exports = { P }; module.exports.P[0].content = "Worse";',
    'exports.P = P; require("./self").P.pop();',
    'exports.P = P; const { P: Q } = require("./self"); Q.pop();',
    'exports.P = P; const s = require("./self"); s.P.pop();',
    'exports.P = P; const s = require("./self"); s["P"].pop();',
    "module.exports = P; module.exports.pop();",
]
MORE: list[Case] = [
    (
        'function P(a) { "use strict"; return `Good ${a}`; }',
        "P",
    ),
    (
        "const P = function (a) { return `Good ${a}`; };",
        "P",
    ),
    (
        "const P = function P(a) { return `Good ${a}`; };",
        "P",
    ),
    (
        "const P = async (a) => `Good ${a}`;",
        "P",
    ),
    (
        "async function P(a) { return `Good ${a}`; }",
        "P",
    ),
    (
        "function* P(a) { return `Good ${a}`; }",
        "P",
    ),
    (
        "const P = (a) => { return `Good ${a}`; };",
        "P",
    ),
    (
        "const P = (a) => ({ x: `Good ${a}` }).x;",
        "P",
    ),
    (
        "const P = (a) => (a, `Good ${a}`);",
        "P",
    ),
    (
        'const b = "x"; const P = (a, c = b) => `Good ${b}`;',
        "P",
    ),
    (
        'const b = "x"; const P = (a, b) => `Good ${b}`;',
        "P",
    ),
    (
        "const N = 3; const P = `Good ${N}`;",
        "P",
    ),
    (
        "const N = 0x10; const P = `Good ${N}`;",
        "P",
    ),
    (
        "const N = 1e21; const P = `Good ${N}`;",
        "P",
    ),
    (
        "const N = true; const P = `Good ${N}`;",
        "P",
    ),
    (
        'const N = ["a"]; const P = `Good ${N[0]}`;',
        "P",
    ),
    (
        'const N = { a: "b" }; const P = `Good ${N.a}`;',
        "P",
    ),
    (
        'const N = { a: "b" }; N.a = "Worse"; const P = `Good ${N.a}`;',
        "P",
    ),
    (
        'const N = "a" + "b"; const P = `${N}${N}`;',
        "P",
    ),
    (
        "const N = `x`; const P = `Good ${`${N}`}`;",
        "P",
    ),
    (
        'const P = `Good ${"x"}`;',
        "P",
    ),
    (
        "const P = `Good ${1}`;",
        "P",
    ),
    (
        'const P = `Good ${(x)}`; var x = "Worse";',
        "P",
    ),
    (
        'var x = "y"; const P = `Good ${x}`; x = "Worse";',
        "P",
    ),
    (
        'let x = "y"; x = "Worse"; const P = `Good ${x}`;',
        "P",
    ),
    (
        "const P = /Good/.source;",
        "P",
    ),
    (
        'const P = "Good".toUpperCase();',
        "P",
    ),
    (
        'const P = ["Good", "x"].join("\\n");',
        "P",
    ),
    (
        'const P = "Good".concat("x");',
        "P",
    ),
    (
        'const P = dedent`Good`; function dedent() { return "Worse"; }',
        "P",
    ),
    (
        'const P = true ? "Good" : "Worse";',
        "P",
    ),
    (
        'const P = "" || "Worse";',
        "P",
    ),
    (
        'const P = null ?? "Good";',
        "P",
    ),
    (
        'const P = "a\\\n  b";',
        "P",
    ),
    (
        "const P = `a\\\n  b`;",
        "P",
    ),
    (
        'const P = "\\u{110000}";',
        "P",
    ),
    (
        "const P = `\\u00e9\\x41`;",
        "P",
    ),
    (
        'const P = "\\u00";',
        "P",
    ),
    (
        'const P = "<!-- a -->";',
        "P",
    ),
    (
        '<!-- const P = "Worse"\nconst P = "Good";',
        "P",
    ),
    (
        'const P = "Good" <!-- + "Worse"\n;',
        "P",
    ),
    (
        '#!/usr/bin/env node\nconst P = "Good";',
        "P",
    ),
    (
        "const P = `\n  Good\n`.trim();",
        "P",
    ),
    (
        'const T = " Good "; const P = T.trim() + `!`;',
        "P",
    ),
    (
        'const P = " a ".trim().trim();',
        "P",
    ),
    (
        'const P = "a\\tb".trimEnd();',
        "P",
    ),
    (
        'const P = ` ${x} `.trim(); var x = " y ";',
        "P",
    ),
    (
        '"".trim.call; String["prototype"].trim = () => "Worse"; const P = " a ".trim();',
        "P",
    ),
    (
        'const S = String; const k = "proto" + "type"; S[k].trim = () => "Worse"; '
        'const P = " a ".trim();',
        "P",
    ),
    (
        'Reflect.set(Reflect.getPrototypeOf(""), "trim", () => "Worse"); const P = " a ".trim();',
        "P",
    ),
    (
        'const P = { a: "x", "a": "Worse" };',
        "P.a",
    ),
    (
        'const P = { a: "x", a() { return "Worse"; } };',
        "P.a",
    ),
    (
        'const P = { a: "x", async *a() {} };',
        "P.a",
    ),
    (
        'const k = "a"; const P = { a: "x", [k]: "Worse" };',
        "P.a",
    ),
    (
        'const P = { [`a`]: "Worse", a: "x" };',
        "P.a",
    ),
    (
        'const P = { a: "x", 1: "y" };',
        "P.1",
    ),
    (
        'const a = "Good"; const P = { a };',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const Q = { P }; Q.P.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const { P: Q } = { P }; Q.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const { P: { a } } = { P }; console.log(a);',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const [{ ...q }] = [P]; q.a = "mine";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const Q = [...[P]]; Q[0].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; new Set([P]).forEach((q) => { q.a = "Worse"; });',
        "P.a",
    ),
    (
        'const P = { a: "x" }; Promise.resolve(P).then((q) => { q.a = "Worse"; });',
        "P.a",
    ),
    (
        'const P = { a: "x" }; Array.of(P)[0].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; Array(P)[0].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; [].concat(P)[0].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; Object(P).a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; P.valueOf().a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const Q = new Proxy(P, {}); Q.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const f = (q = P) => { q.a = "Worse"; }; f();',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const f = function () { return P; }; f().a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const o = { get p() { return P; } }; o.p.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const o = { p: P }; o["p"].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const o = { p: P }; const k = "p"; o[k].a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const o = {}; o.p = P; o.p.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; const o = {}; o["p"] = P; o.p.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; class A { static p = P; } A.p.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; class A { get p() { return P; } } new A().p.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; class A { #p = P; s() { this.#p.a = "Worse"; } } new A().s();',
        "P.a",
    ),
    (
        'const P = { a: "x" }; label: { P.a = "Worse"; break label; }',
        "P.a",
    ),
    (
        'const P = { a: "x" }; do { P.a = "Worse"; } while (false);',
        "P.a",
    ),
    (
        'const P = { a: "x" }; P.a++;',
        "P.a",
    ),
    (
        'const P = { a: "x" }; P?.a && (P.a = "Worse");',
        "P.a",
    ),
    (
        'const P = { a: "x" }; P.b = P; P.b.a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x", self() { return this; } }; P.self().a = "Worse";',
        "P.a",
    ),
    (
        'const P = { a: "x", s: () => { P.a = "Worse"; } }; P.s();',
        "P.a",
    ),
    (
        'const P = { a: "x", s: function () { this["a"] = "Worse"; } }; P.s();',
        "P.a",
    ),
    (
        'const P = { a: "x", s() { const k = "a"; this[k] = "Worse"; } }; P.s();',
        "P.a",
    ),
    (
        'const P = { a: "x", s() { Object.assign(this, { a: "Worse" }); } }; P.s();',
        "P.a",
    ),
    (
        'const P = { a: "x", s() { const f = () => { this.a = "Worse"; }; f(); } }; P.s();',
        "P.a",
    ),
    (
        'const P = { a: "x", o: { s() { return this; } } }; P.o.s().a = "mine";',
        "P.a",
    ),
    (
        'const P = { a: "x" }; P.toString = function () { this.a = "Worse"; return ""; }; `${P}`;',
        "P.a",
    ),
    (
        'const P = Object.freeze({ a: "x" }); P.a = "Worse";',
        "P.a",
    ),
    (
        'const P = Object.freeze({ a: "x" }); f(P); function f(q) { q.a = "Worse"; }',
        "P.a",
    ),
    (
        'class B { static s() { this.system = "Worse"; } }\n'
        'class P extends B { static system = "Good"; }\nP.s();',
        "P.system",
    ),
    (
        'class B { static set system(v) {} static get system() { return "Worse"; } }\n'
        'class P extends B { static system = "Good"; }',
        "P.system",
    ),
    (
        "class B { static x = new.target; }\n"
        'class P extends B { static system = "Good"; static { super.system = "Worse"; '
        "} }",
        "P.system",
    ),
    (
        'class P { static system = "Good"; static s = () => { this.system = "Worse"; }; }\nP.s();',
        "P.system",
    ),
    (
        'class P { static system = "Good"; '
        'static s = function () { this.system = "Worse"; }; }\nP.s();',
        "P.system",
    ),
    (
        'class P { static system = "Good"; static #x = (P.system = "Worse"); }',
        "P.system",
    ),
    (
        'const P = class { static system = "Good"; };',
        "P.system",
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
    *((OBJECT + code, "P.system") for code in OF_OBJECTS),
    *(
        (DEEP + code.replace("P.", "P.a.").replace("P[", "P.a["), "P.a.system")
        for code in OF_OBJECTS
        if "exports" not in code
    ),
    *((DEEP + code, "P.a.system") for code in OF_OBJECTS),
    *((DEEP + code, "P.a.system") for code in OF_KEYS),
    *((LISTED + code, "P.a") for code in OF_LISTED),
    *MADE,
    *((FUNCTION + code, "P") for code in EXPORTS),
    *((KLASS + code, "P.system") for code in OF_CLASSES),
    *((f'class P {{ static system = "Good";\n{code}\n}}', "P.system") for code in INSIDE),
    *((LIST + code, "P") for code in OF_LISTS),
    *(
        (
            "const C = { P: [{ role: 'user', content: 'Good' }, { role: 'user', content: 'x' }] };"
            f"\n{code}".replace("P.", "C.P.").replace("P[", "C.P["),
            "C.P",
        )
        for code in OF_LISTS
    ),
    *((f"{LIST}function change() {{ {code}\n}}\nchange();", "P") for code in OF_LISTS),
    *((TEXT + code, "P") for code in MORE_EXPORTS),
    *((TEXT + code, "P") for code in BY_TEXT),
    *((FUNCTION + code, "P") for code in MORE_OF_FUNCTIONS),
    *((KLASS + code, "P.system") for code in MORE_OF_CLASSES),
    *((LIST + code, "P") for code in MORE_OF_LISTS),
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
    assert len(CASES) > 900
    assert refused > 780
    assert changed > 300


ORDINARY = [
    "module.exports = { P };",
    "console.log(P, `${P} and more`);",
    "const Q = P + ' more'; const R = { p: P, q: [P] };",
    "async function f(q) { return client.create({ messages: [{ role: 'system', content: P }] }); }",
    "const f = (P) => P; f(1);",
    "const { OpenAI } = require('openai'); const c = new OpenAI(); c.run(P);",
    "if (require.main === module) { console.log(P); }",
    "class A { constructor() { this.P = P; } get p() { return this.P; } }",
    "const f = ({ prompt = P } = {}) => prompt.replace('a', 'b'); f();",
    "const lines = P.split('\\n').map((line) => line.trim());",
    "switch (P) { case 'a': break; default: }",
    "Object.prototype.hasOwnProperty.call({}, 'a');",
    "process.env.PROMPT = P;",
]
PLAIN = 'const P = { system: "Good", other: "else" };\n'
CLIENT = "const client = require('openai');\n"
ORDINARY_OBJECTS = [
    "module.exports = { P };",
    "console.log(P.system, P['system'], Object.keys(P));",
    "const { system, other } = P; console.log(system.length);",
    "client.create({ system: P.system, messages: [] });",
    "const f = (kind) => P[kind]; f('system');",
    "const q = { ...P, system: 'mine' };",
    "for (const [name, text] of Object.entries(P)) console.log(name, text);",
    "const f = () => `${P.system} ${P.other}`; f();",
]
ORDINARY_LISTS = [
    "module.exports = { P };",
    "client.chat.completions.create({ model: 'm', messages: P });",
    "const f = (q) => client.create({ messages: [...P, { role: 'user', content: q }] }); f('a');",
    "const messages = P.concat([{ role: 'user', content: 'b' }]); client.create({ messages });",
    "for (const m of P) console.log(m.role, m.content);",
    "console.log(JSON.stringify(P), P.length, P[0].content);",
]
ACCEPTED: list[Case] = [
    *((TEXT + code, "P") for code in ORDINARY),
    *((FUNCTION + code, "P") for code in ORDINARY[:4]),
    *((PLAIN + code, "P.system") for code in ORDINARY_OBJECTS),
    *((f"{CLIENT}{LIST}{code}", "P") for code in ORDINARY_LISTS),
]


@NODE.mark
def test_ordinary_modules_are_read() -> None:
    assert len(ACCEPTED) > 30
    for (source, name), ran in zip(ACCEPTED, run_node(ACCEPTED), strict=True):
        try:
            said = said_by(source, name)
        except CodeFault as fault:
            pytest.fail(f"{source}\n{fault.what} (line {fault.line})")
        assert all(same(said, value) for value in ran.get("values", [])), (source, ran)
