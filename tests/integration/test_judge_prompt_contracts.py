"""The prompts of judges and of the simulated user are under contracts of this project, which ask
what gatekeeper asks, pass on their recordings and refuse broken answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.broken_answers import Broken, put
from support.own_contracts import assert_can_pass_and_fail, own_files, trials_of

from gatekeeper.checks.check import Files
from gatekeeper.checks.judges.judge import Judge
from gatekeeper.checks.judges.prefer import Prefer
from gatekeeper.checks.judges.presets import DATA_RULES, PRESETS
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.simulated_user.messages import RULES, question
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Message, SimulatedUser, ToolCall
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import Completion, Request, Sample, ToolResult, Turn
from scripts.publish_schema import ANSWERS, JUDGE_SCHEMAS, schema_text

JUDGES, USER = "gatekeeper/checks/judges/prompts", "gatekeeper/contract/simulated_user/user.md"
ONE_RULE, TRANSCRIPT = f"{JUDGES}/complies_rule.md", f"{JUDGES}/transcript.md"
ADDED = {"complies": [ONE_RULE], "rubric": [TRANSCRIPT]}
NO_FILES = Files({}, "contracts/c.yaml")
READS, RIGHT, SUPPORTED = "can be read", "is the right verdict", "finds what is not supported"


def _verdict(fixture: str, wrong: str) -> tuple[Broken, ...]:
    return (
        Broken(fixture, put("verdict", value=wrong), RIGHT),
        Broken(fixture, put("verdict", value="perhaps"), READS),
        Broken(fixture, put("reason", value=""), "gives its reason"),
    )


BROKEN: Mapping[str, tuple[Broken, ...]] = {
    "tone": _verdict("calm-partly", "yes"),
    "rubric": (*_verdict("apology-date", "no"), *_verdict("work-tool-asks-for-yes", "yes")),
    "complies": (*_verdict("one-word", "no"), *_verdict("rule-other-broken", "no")),
    "answers_question": _verdict("two-parts", "yes"),
    "prefer": _verdict("same", "A"),
    "faithful": (
        Broken("half", put("claims", 1, "supported", value=True), SUPPORTED),
        Broken("half", put("claims", 1, "evidence", value=""), "gives evidence"),
        Broken(
            "price", put("claims", 0, "supported", value=False), "doubts nothing that is supported"
        ),
        Broken("price", put("claims", value=[]), "lists the claims"),
        Broken(
            "greeting",
            put("claims", value=[{"claim": "hello", "evidence": "none", "supported": True}]),
            "lists no claim if there is none",
        ),
        Broken("price", put("claims", 0, "supported", value="yes"), READS),
    ),
    "simulated-user": (
        Broken("learned", put("done", value=False), "ends at the right time"),
        Broken("first-answer", put("done", value=True), "ends at the right time"),
        Broken("gives-up", put("reached", value=True), "knows whether the goal is reached"),
        Broken("first-answer", put("message", value=""), "writes one short message"),
        Broken("size", put("message", value="As an AI, I am size 40."), "stays in its role"),
        Broken("size", put("reached", value="no"), READS),
    ),
}


def contract_of(kind: str) -> str:
    return kind if kind == "simulated-user" else f"judge-{kind.replace('_', '-')}"


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return own_files()


@pytest.mark.parametrize("kind", BROKEN)
def test_every_prompt_has_a_contract_that_can_pass_and_fail(
    kind: str, files: Mapping[str, bytes]
) -> None:
    prompts = [USER] if kind == "simulated-user" else [f"{JUDGES}/{kind}.md"]
    prompts += ADDED.get(kind, [])
    assert_can_pass_and_fail(contract_of(kind), prompts, BROKEN[kind], files, READS)


def test_every_prompt_and_schema_is_covered(files: Mapping[str, bytes]) -> None:
    assert {*(f"{JUDGES}/{kind}.md" for kind in PRESETS), ONE_RULE, TRANSCRIPT} == {
        path for path in files if Path(path).parent == Path(JUDGES)
    }
    assert BROKEN.keys() == {*PRESETS, "simulated-user"}
    patterns = load_policy(MemoryRevision(files)).prompts
    assert {f"{JUDGES}/*.md", USER} <= set(patterns)
    for name, schema in JUDGE_SCHEMAS.items():
        published = (ANSWERS / f"{name}.json").read_text("utf-8")
        assert published == schema_text(schema), "run `make schema`"


@pytest.mark.parametrize("kind", [kind for kind in PRESETS if kind != "prefer"])
def test_the_contract_of_a_judge_asks_what_the_judge_asks(
    kind: str, files: Mapping[str, bytes]
) -> None:
    for trial in trials_of(contract_of(kind), files).values():
        shown = _data(trial.request.messages[1].content)
        params = {name: text for name, text in shown.items() if name != "output"}
        for name in {"criteria", "tone"} & set(PRESETS[kind].placeholders):
            params[name] = _heading(trial.request.messages[0].content)
        sample = Sample(trial, Completion(shown["output"]), output=shown["output"])
        if "transcript" in shown:
            sample, params["transcript"] = _worked(sample, shown["transcript"]), True
        judge = Judge(kind, {"judge": kind, "model": "openai/j", **params}, NO_FILES)
        (asked,) = judge.questions(sample)
        _assert_same(asked, trial.request)


def _worked(sample: Sample, transcript: str) -> Sample:
    """The sample of a model that said and did what a transcript has, up to its last answer."""
    messages: list[Message] = []
    turns: list[Turn] = []
    for line in map(json.loads, transcript.split("\n")):
        calls = tuple(ToolCall(c["name"], c["arguments"]) for c in line.get("calls", ()))
        messages.append(Message(line["role"], line["content"], calls))
        if line["role"] == "tool":
            turns[-1] = replace(turns[-1], results=(*turns[-1].results, ToolResult("")))
        elif line["role"] == "assistant" and "given" not in line:
            turns.append(Turn("", Completion(line["content"], tool_calls=calls)))
    request = replace(sample.trial.request, messages=tuple(messages), tools=Tools())
    answered = Completion(sample.output, turns=(*turns, Turn("", Completion(sample.output))))
    trial = replace(sample.trial, request=request)
    return replace(sample, trial=trial, completion=answered)


def test_the_contract_of_prefer_asks_what_the_judge_asks(files: Mapping[str, bytes]) -> None:
    for trial in trials_of("judge-prefer", files).values():
        shown = _data(trial.request.messages[1].content)
        criteria = _heading(trial.request.messages[0].content)
        params = {"judge": "prefer", "model": "openai/j", "criteria": criteria}
        judge = Prefer({**params, "question": shown["request"]}, NO_FILES)
        base, head = (
            Sample(trial, Completion(text), output=text)
            for text in (shown["answer_A"], shown["answer_B"])
        )
        _assert_same(judge.pair_questions(base, head)[0], trial.request)


def test_the_contract_of_the_simulated_user_asks_what_gatekeeper_asks(
    files: Mapping[str, bytes],
) -> None:
    for trial in trials_of("simulated-user", files).values():
        system, user = (message.content for message in trial.request.messages)
        goal, persona = _heading(system), _heading(system, 1)
        said = [
            Message("user" if name.endswith("you") else "assistant", text)
            for name, text in _data(user).items()
        ]
        _assert_same(question(SimulatedUser("openai/u", goal, 5, persona), said, 0), trial.request)


def _assert_same(asked: Request, contract: Request) -> None:
    """The contract leaves out the rules about data and the marks that protect it."""
    system, user = (message.content for message in asked.messages)
    written = contract.messages[0].content.rstrip()
    assert system in {f"{written}\n\n{rules}" for rules in (DATA_RULES, RULES)}
    assert _data(user) == _data(contract.messages[1].content)


def _data(text: str) -> dict[str, str]:
    """The blocks of data in a message, by name."""
    pattern = r"(?ms)^<data ([\w ]+?)((?: [0-9a-f]{32})?)>\n(.*?)\n</data \1\2>$"
    return {found[1]: found[3] for found in re.finditer(pattern, text)}


def _heading(system: str, number: int = 0) -> Any:
    """The text under a heading of a system message, counted from the first."""
    return re.split(r"(?m)^# .*\n", system)[number + 1].strip()
