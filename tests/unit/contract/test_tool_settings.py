"""`tools`, `tool_results` and the other keys of a tool loop: what is read, refused and weaker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import canonical, contract_digest, tools_meaning
from gatekeeper.contract.tools.answers import tools_for
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.tools import Simulator, ToolAnswer, ToolRow
from gatekeeper.contract.weakening.weakening import setting_changes, weakenings
from gatekeeper.errors import ContractError

FIND = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
SCHEMA = {"type": "object", "required": ["id"]}
MCP = {"name": "refund", "description": "Pays.", "inputSchema": SCHEMA, "title": "x"}
ROW = {"tool": "find", "returns": "ok"}
FIXTURE = {"id": "a", "vars": {"x": "1"}}
FOUND = {"id": 7, "status": "paid"}


def load(files: dict[str, str] | None = None, **keys: Any) -> Contract:
    written = {
        "contract": 1,
        "name": "agent",
        "prompt": "p.md",
        "model": "openai/m",
        "tools": [FIND],
        "tool_results": [ROW],
        "fixtures": [FIXTURE],
        "checks": [{"type": "contains", "value": "a"}],
    } | keys
    written = {key: value for key, value in written.items() if value is not None}
    texts = {"p.md": "Say {{ x }}.", "c.json": json.dumps(written), **(files or {})}
    revision = MemoryRevision({path: text.encode() for path, text in texts.items()})
    return load_contract(revision, "c.json", SHAPES)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([FIND, MCP]),
        json.dumps({"tools": [FIND, MCP]}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [FIND, MCP]}}),
    ],
)
def test_tools_are_functions_inline_in_files_and_of_mcp_servers(text: str) -> None:
    refund = {
        "type": "function",
        "function": {"name": "refund", "description": "Pays.", "parameters": SCHEMA},
    }
    assert load({"t.json": text}, tools="t.json").target.params["tools"] == [FIND, refund]
    assert load(tools=[FIND, MCP]).target.params["tools"] == [FIND, refund]
    of_anthropic = {"input_schema" if k == "inputSchema" else k: v for k, v in MCP.items()}
    assert load(tools=[FIND, of_anthropic]).target.params["tools"] == [FIND, refund]
    single = load(tools=[MCP], tool_results=None)
    assert (single.tools, single.target.params["tools"]) == (None, [refund])


def test_rows_are_read_from_lists_and_files_in_order() -> None:
    files = {
        "rows.csv": 'tool,when,returns,error,delay_ms\nfind,"{""id"": 7}",a,,\nfind,,,gone,20\n',
        "rows.jsonl": '{"tool": "find", "when": {"path": "$.x"}, "returns": {"n": 1}}\n',
        "rows.yaml": "- {tool: find, when: {path: /a}, returns: [1], then: [{error: late}]}\n",
    }
    tools = load(files, tool_results=["rows.csv", "rows.jsonl", ROW, "rows.yaml"]).tools

    assert tools is not None
    assert tools.rows == (
        ToolRow("find", (ToolAnswer("a"),), {"equals": {"id": 7}}),
        ToolRow("find", (ToolAnswer("gone", is_error=True, delay_ms=20.0),)),
        ToolRow("find", (ToolAnswer({"n": 1}),), {"path": "$.x"}),
        ToolRow("find", (ToolAnswer("ok"),)),
        ToolRow(
            "find",
            (ToolAnswer([1]), ToolAnswer("late", is_error=True)),
            {"equals": {"path": "/a"}},
        ),
    )
    assert (tools.unanswered, tools.max_steps) == ("fail", 10)


def test_a_fixture_has_rows_of_its_own_first_and_a_state() -> None:
    own = {"tool": "find", "returns": "mine"}
    fixtures = [{**FIXTURE, "tool_results": [own], "state": {"n": 1}}, {"id": "b", "state": "TX"}]
    found = load({"p.md": "Say {{ x }} {{ state }}."}, fixtures=[fixtures[0]])
    tools = tools_for(found.tools, found.fixtures[0])

    assert tools is not None
    assert [row.answers[0].value for row in tools.rows] == ["mine", "ok"]
    assert (tools.state, tools.variables) == ({"n": 1}, {"x": "1"})
    # In a row without `vars`, as in a table of addresses, a state is a variable.
    assert load({"p.md": "{{ state }}"}, fixtures=[fixtures[1]]).fixtures[0].vars == {"state": "TX"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"params": {"tools": [FIND]}}, "both `tools` and `params.tools` are set"),
        ({"tools": None}, "offers the model no tool"),
        ({"tools": [FIND, FIND]}, "two tools are named `find`"),
        ({"tools": "none.json"}, "there is no file `none.json`"),
        ({"tools": "p.md"}, "p.md:1"),
        (
            {"tools": [MCP | {"parameters": {"type": "object"}}]},
            "a tool has `inputSchema` and `param",
        ),
        ({"tools": "two.json"}, r"two.json:1:\d+: .*two lists of tools"),
        ({"tools": [{"type": "web_search"}]}, "a tool of the type 'web_search'"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "of the type 'bash_20250124'"),
        ({"tool_results": [{"tool": "fidn", "returns": ""}]}, "there is no tool `fidn`.*`find`"),
        ({"tool_results": [{"tool": "find"}]}, r"tool_results\[0\]"),
        ({"tool_results": [ROW | {"error": "x"}]}, "both `returns` and `error`"),
        ({"tool_results": [ROW | {"retruns": "x"}]}, "did you mean `returns`"),
        ({"tool_results": [ROW | {"when": {"pattern": "("}}]}, "`pattern` in `when`"),
        ({"tool_results": [ROW | {"when": {"path": "$.[?"}}]}, "`path` in `when`"),
        ({"tool_results": [ROW | {"when": {"schema": {"type": "txt"}}}]}, "`schema` in `when`"),
        (
            {"tool_results": [ROW | {"when": {"schema": {"$ref": "http://127.0.0.1:1/s.json"}}}]},
            "`schema` in `when`: .*127.0.0.1",  # nothing is fetched
        ),
        ({"tool_results": [ROW | {"sets": [{"op": "ad", "path": "/a"}]}]}, "row of `find`"),
        ({"tool_results": [ROW | {"returns": "{{ a b }}"}]}, "row of `find`"),
        ({"tool_results": "p.md"}, "cannot read rows from a file of this type"),
        ({"tool_results": [ROW] * 2001}, "more than 2,000 rows"),
        ({"max_steps": 51}, "max_steps"),
        ({"unanswered": "simulate"}, "needs `simulator`"),
        ({"simulator": {"model": "openai/m"}}, "needs `simulator`"),
        (
            {"unanswered": "simulate", "simulator": {"model": "openai/m", "params": {"n": 2}}},
            "does not use the parameter `n`",
        ),
        (
            {
                "unanswered": "simulate",
                "simulator": {"model": "openai/m"},
                "user": {"model": "openai/m", "goal": "g"},
            },
            "cannot work beside a simulated user",
        ),
        ({"steps": [{"name": "one", "prompt": "p.md"}]}, "cannot run a tool loop"),
        ({"fixtures": [{**FIXTURE, "state": "x" * 1_000_001}]}, "more than 1,000,000 characters"),
        ({"fixtures": [{**FIXTURE, "tool_results": ["rows.csv"]}]}, "fixtures"),
        ({"fixtures": [{**FIXTURE, "tool_results": 5}]}, "tool_results"),
        (
            {"tool_results": None, "fixtures": [{**FIXTURE, "tool_results": [ROW]}]},
            "fixture `a` has `tool_results`, but nothing answers .*add `tool_results`",
        ),
        (
            {"tool_results": None, "fixtures": [{**FIXTURE, "state": 0}]},
            "fixture `a` has `state`, but nothing answers",
        ),
    ],
)
def test_mistakes_are_named_with_the_way_to_fix_them(keys: dict[str, Any], said: str) -> None:
    two = json.dumps({"tools": [FIND], "result": {"tools": [FIND]}})
    with pytest.raises(ContractError, match=f"(?s){said}"):
        load({"two.json": two}, **keys)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, ()),
        ({"tool_results": [ROW, ROW, ROW | {"returns": "x"}]}, ("row 3 of `find` was added",)),
        # Base does not offer the tool, so none of its calls was a failure there.
        ({"tools": [FIND, MCP], "tool_results": [ROW, ROW, {**ROW, "tool": "refund"}]}, ()),
        ({"tool_results": [ROW, ROW | {"returns": "2"}]}, ("row 2 of `find` was changed",)),
        ({"tool_results": [ROW]}, ("row 2 of `find` was removed",)),
        ({"tool_results": [ROW, ROW | {"delay_ms": 1}]}, ("row 2 of `find` was changed",)),
        (
            {"tool_results": None, "max_steps": None, "fixtures": [FIXTURE]},
            ("the tool loop was removed",),
        ),
        ({"max_steps": 5}, ("max_steps raised from 4 to 5",)),
        ({"max_steps": 3}, ()),
        ({"unanswered": "error"}, ("unanswered changed from fail to error",)),
        (
            {"unanswered": "simulate", "simulator": {"model": "openai/m"}},
            ("unanswered changed from fail to simulate", "simulator changed"),
        ),
        ({"fixtures": [{**FIXTURE, "state": 2}]}, ("`state` changed",)),
        (
            {"fixtures": [{**FIXTURE, "state": 1, "tool_results": [ROW]}]},
            ("fixture `a`: `tool_results` changed",),
        ),
    ],
)
def test_what_loosens_a_loop_is_a_weakening(keys: dict[str, Any], said: tuple[str, ...]) -> None:
    before = {
        "tool_results": [ROW, ROW],
        "max_steps": 4,
        "fixtures": [{**FIXTURE, "state": 1}],
    }
    found = weakenings(load(**before), load(**{**before, **keys}))

    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))


@pytest.mark.parametrize("key", ["returns", "when"])
def test_a_row_with_true_in_place_of_1_is_another_row(key: str) -> None:
    rows = [ROW | {key: {"n": value}} for value in (1, True)]
    before, now = (load(tool_results=[row]) for row in rows)
    assert weakenings(before, now) == ("tool_results: the row 1 of `find` was changed",)
    own = [load(fixtures=[FIXTURE | {"tool_results": [row]}]) for row in rows]
    assert weakenings(*own) == ("fixture `a`: `tool_results` changed",)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([FIND, {**MCP, "description": "Pays at once."}], "`refund` (description)"),
        ([FIND, {"name": "refund"}], "`refund` (description, parameters)"),
        ([MCP | {"name": "pay"}, FIND], "`pay` added, `refund` removed"),
        ([MCP, FIND], "their order"),
    ],
)
def test_the_note_on_changed_tools_names_them(tools: list[Any], said: str) -> None:
    found = setting_changes(load(tools=[FIND, MCP]), load(tools=tools))
    assert found == (f"tools changed: {said}",)


@pytest.mark.parametrize("state", [{}, [], 0, False, ""])
def test_an_empty_state_is_another_contract_than_none(state: Any) -> None:
    """A patch can add to an empty state alone."""
    digests = {contract_digest(load(fixtures=[FIXTURE | s])) for s in ({}, {"state": state})}
    assert len(digests) == 2


@pytest.mark.parametrize(
    "keys",
    [
        {"tool_results": [ROW | {"returns": FOUND}]},
        {"tool_results": [ROW | {"then": [{"returns": {"orders": [FOUND]}}]}]},
        {"tool_results": [ROW | {"sets": [{"op": "add", "path": "/x", "value": FOUND}]}]},
        {"fixtures": [FIXTURE | {"tool_results": [ROW | {"returns": [FOUND]}]}]},
        {"fixtures": [FIXTURE | {"state": FOUND}]},
    ],
)
def test_the_order_of_what_a_tool_answers_counts(keys: dict[str, Any]) -> None:
    """The model reads the keys of an answer in this order."""
    turned = json.loads(json.dumps(keys), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
    assert turned == keys
    before, now = load(**keys), load(**turned)
    assert contract_digest(before) != contract_digest(now)
    loops = [tools_for(each.tools, each.fixtures[0]) for each in (before, now)]
    assert len({canonical(tools_meaning(loop)) for loop in loops if loop}) == 2


def test_the_order_of_a_condition_does_not_count() -> None:
    whens = ({"id": 7, "by": {"a": 1, "b": 2}}, {"by": {"b": 2, "a": 1}, "id": 7})
    rows = [{"returns": "ok", "when": when, "tool": "find"} for when in whens]
    assert len({contract_digest(load(tool_results=[row])) for row in rows}) == 1


def test_a_simulator_is_read() -> None:
    params = {"temperature": 1}
    found = load(unanswered="simulate", simulator={"model": "openai/m", "params": params}).tools
    assert found is not None
    assert found.simulator == Simulator("openai/m", params)
