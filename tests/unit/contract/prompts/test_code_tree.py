"""The small tree that source code is lowered to has every name of the parser's tree."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gatekeeper.contract.prompts.code.python_source import python_names
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.typescript_source import typescript_names

PYTHON = """
import a.b as c, d
from e import f as g, h
x = y = (z, *w) = [u, [v]] = 1
x.m = x[n] = 2
o: int = 3
p += 1
del q, r.s, t[0]
for aa, (ab, ac) in ad: ae
else: af
with ag as ah, ai as (aj, ak), al: am
try: an
except ao as ap: aq
except (ar, at): au
finally: av
while aw: ax
if (ay := az): ba
elif bb: bc
assert bd, be
raise bf from bg
match bh:
    case [bi, *bj] if bk: bl
    case {"k": bm, **bn}: bo
    case bp(bq, k=br) | (bs as bt): bu
    case bv.bw: bx
@by(bz)
async def ca(cb, /, cc: cd = ce, *cf: cg, ch=ci, **cj) -> ck:
    global cl
    async for cm in cn: await co
    yield cp
    return lambda cq, cr=cs: ct
class cu(cv, metaclass=cw):
    cx = [cy for cz in da if db for dc in dd]
    de = {df: dg for dh, df in di}
    dj = {dk, *dl}, {**dm, dn: do}, (dp async for dp in dq)
dr(ds, *dt, du=dv, **dw)[dx:dy:dz, ...]
f"{ea!r:{eb}} {ec=}" "x"
ed if ee else ef, eg and eh or not ei, ej < ek in el, -em, en @ eo | ep + eq
"""
TYPESCRIPT = """
import a, { b as c, d } from "e";
import * as f from "g";
const { h, i: j, k = l, m: { n }, ...o } = p, [q, , r = s, ...t] = u;
let v; var w = x as y; export const z = aa!, ab = <ac>ad, ae = af satisfies ag;
[ah.b, ai] = aj; ({ ak, al: am.c = an } = ao); ap ??= aq; ar += at; au++; delete av.aw;
for (const ax of ay) az; for (ba in bb) { bc } for (let bd = be; bf < bg; bh--) bi;
function bj(bk, { bl = bm }: bn = bo, ...bp): bq { return br; }
async function* bs() { yield bt; await bu; throw bv; }
const bw = (bx = by) => bz, ca = cb => ({ cc, cd: ce, [cf]: cg, ch() { return ci; }, ...cj });
class ck extends cl<cm> implements cn { static co = cp; cq = cr; #cs = ct; static { cu; }
  constructor(private cv: cw) { super(cx); } get cy() { return this.cz; } }
try { da } catch (db) { dc } finally { dd }
switch (de) { case df: dg; default: dh }
if (di) dj; else dk; while (dl) dm; do { dn } while (dq); label: dr;
ds?.dt?.[du]?.(dv, ...dw); new dx(dy); dz`a${ea}b`; `c${eb}`; ec ? ed : ee; (ef, eg); typeof eh;
enum ei { ej = ek } export { el, em as en }; export default eo; type ep = typeof eq;
"""


def names_of(nodes: list[Node]) -> set[str]:
    return {node.text for node in nodes}


@pytest.mark.parametrize(
    "source", [PYTHON, *(path.read_text() for path in sorted(Path(__file__).parent.glob("*.py")))]
)
def test_each_name_that_python_stores_is_a_target(source: str) -> None:
    nodes = python_names(source, "").nodes
    found = {id(n.source): n for n in nodes if n.kind == "name" and isinstance(n.source, ast.Name)}
    for node in found.values():
        assert node.is_target() == (not isinstance(node.source.ctx, ast.Load)), node.text
    bare = [n for n in ast.walk(nodes[0].source) if isinstance(n, ast.AnnAssign) and not n.value]
    count = sum(isinstance(node, ast.Name) for node in ast.walk(nodes[0].source))
    assert count == len(found) + sum(isinstance(node.target, ast.Name) for node in bare)


def test_names_that_python_writes_as_text_are_targets() -> None:
    nodes = python_names(PYTHON, "").nodes
    targets = names_of([node for node in nodes if node.kind == "name" and node.is_target()])
    assert targets >= {"ap", "bi", "bj", "bm", "bn", "bq", "br", "bt", "cb", "cc", "cf", "ch", "cq"}
    assert names_of([node for node in nodes if node.kind == "alias"]) == {"c", "d", "g", "h"}


def test_each_name_of_typescript_is_in_the_tree() -> None:
    nodes = typescript_names(TYPESCRIPT, "", "typescript").nodes
    waiting, written = [nodes[0].source], set[str]()
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type == "identifier" or node.type.startswith("shorthand"):
            written.add(node.text.decode())
    known = {text for node in nodes for text in (node.text, node.text.removeprefix("as "))}
    assert written - known == set()
    targets = names_of([node for node in nodes if node.kind == "name" and node.is_target()])
    wanted = "h j k n o q r t v w z ab ae ai ak au ax ba bd bh bk bl bp bw bx ca cb"
    assert targets >= {*wanted.split()}
    members = names_of([node for node in nodes if node.kind == "member" and node.is_target()])
    assert members == {"b", "c"}
