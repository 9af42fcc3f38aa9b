"""Head's contract cannot hide a worse prompt: not by how it calls the model, not by its inputs.

Every attack brings the same worse prompt, to which the model answers with a sentence instead of
one word. Each changes something else so that the worse prompt looks as good as the old one: how
the model is called, which values the variables have, or how much work the evaluation takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.edited_text import edited
from support.proposed_change import Files
from support.ways_in import RunGate

CONTRACT = "contracts/mood.yaml"
FIXTURES = "contracts/mood.jsonl"
PROMPT = "prompts/mood.md"

GOOD = "Answer with one word, positive or negative.\n\nReview: {{ review }}\n"
REWORDED = "Answer with just one word: positive or negative.\n\nReview: {{ review }}\n"
WORSE = "What do you think of it?\n\nReview: {{ review }}\n"

BASE = """\
contract: 1
name: mood
prompt: ../prompts/mood.md
model: openai/gpt-4o-mini
params: {temperature: 0, seed: 1}
fixtures: [{file: mood.jsonl}]
checks:
  - {type: equals, value: "{{ expected }}"}
sampling: {samples: 1}
"""
WORD = """\
{type: json_schema, schema: {type: object, required: [mood],
     properties: {mood: {enum: [positive, negative]}}}}"""
"""A check of outputs in JSON."""
ENUM = 'type: equals, value: "{{ expected }}"'

Change = dict[str, Any]


def row(number: int, **more: Any) -> Change:
    word, expected = ("love", "positive") if number % 2 else ("hate", "negative")
    variables = {"review": f"I {word} item {number}."}
    return {"id": f"review-{number}", "vars": variables, "expected": expected, **more}


def jsonl(rows: list[Change]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


ROWS = [row(number) for number in range(12)]
BASE_FILES: Files = {CONTRACT: BASE, PROMPT: GOOD, FIXTURES: jsonl(ROWS)}


def mood(text: str) -> str:
    return "positive" if "love" in text else "negative"


def model(helps: Callable[[Mapping[str, Any]], bool]) -> Callable[[Mapping[str, Any]], str]:
    """A model that answers the worse prompt well if the request has what `helps` it."""

    def answer(body: Mapping[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        if "one word" in text or helps(body):
            return mood(text)
        return f"{mood(text)}, I would say."

    return answer


def contract(*changes: tuple[str, str], of: str = BASE) -> str:
    """A contract with texts replaced, each of which it must have."""
    for old, new in changes:
        assert old in of, old
        of = of.replace(old, new)
    return of


@dataclass(frozen=True)
class Attack:
    """What head writes beside the worse prompt, and what of it helps the model."""

    name: str
    writes: Files
    helps: Callable[[Mapping[str, Any]], bool] = lambda _: False
    base: Files = field(default_factory=lambda: BASE_FILES)

    @property
    def head(self) -> Files:
        return {PROMPT: WORSE, **self.writes}


def param(name: str, value: str, sent: Any) -> Attack:
    """The contract sets one parameter of the model, or another value of it."""
    kept = {"temperature": "0", "seed": "1"} | {name: value}
    params = ", ".join(f"{key}: {text}" for key, text in kept.items())
    written = contract(("{temperature: 0, seed: 1}", f"{{{params}}}"))
    return Attack(f"params: {name}", {CONTRACT: written}, lambda body: body.get(name) == sent)


def stronger(body: Mapping[str, Any]) -> bool:
    return bool(body["model"] == "gpt-4o")


STRONGER = ("openai/gpt-4o-mini", "openai/gpt-4o")
LENIENT = (ENUM, 'type: contains, value: "{{ expected }}"')
NO_MODEL = contract(("model: openai/gpt-4o-mini\n", ""))
FRONT = "---\nmodel: openai/gpt-4o{}\n---\n"

SETTINGS = [
    Attack("a stronger model", {CONTRACT: contract(STRONGER)}, stronger),
    param("stop", '[","]', [","]),
    param("max_tokens", "1", 1),
    param("response_format", "{type: json_object}", {"type": "json_object"}),
    param("seed", "7", 7),
    param("temperature", "1", 1),
    param("top_p", "0.1", 0.1),
    Attack(
        "a parameter left out",
        {CONTRACT: contract(("params: {temperature: 0, seed: 1}\n", ""))},
        lambda body: "temperature" not in body,
    ),
    Attack(
        "the stronger model moves from the contract to the prompt file",
        {CONTRACT: NO_MODEL, PROMPT: FRONT.format("") + WORSE},
        stronger,
    ),
    Attack(
        "the stronger model moves from the prompt file to the contract",
        {CONTRACT: contract(STRONGER), PROMPT: WORSE},
        stronger,
        {**BASE_FILES, CONTRACT: NO_MODEL, PROMPT: FRONT.format("-mini") + GOOD},
    ),
    Attack(
        "the contract overrides the model that the prompt file keeps",
        {CONTRACT: contract(STRONGER), PROMPT: FRONT.format("-mini") + WORSE},
        stronger,
        {**BASE_FILES, CONTRACT: NO_MODEL, PROMPT: FRONT.format("-mini") + GOOD},
    ),
    Attack(
        "a stronger model and a weaker check",
        {CONTRACT: contract(STRONGER, LENIENT)},
        stronger,
    ),
    Attack(
        "a stronger model and fewer fixtures",
        {CONTRACT: contract(STRONGER), FIXTURES: jsonl(ROWS[:2])},
        stronger,
    ),
    Attack(
        "a stronger model and other fixtures",
        {CONTRACT: contract(STRONGER), FIXTURES: jsonl([row(n + 50) for n in range(12)])},
        stronger,
    ),
    Attack(
        "a stronger model in a contract of another name and path",
        {CONTRACT: None, "contracts/feeling.yaml": contract(STRONGER, ("mood\n", "feeling\n"))},
        stronger,
    ),
    Attack(
        "a stronger model by a merge key",
        {
            CONTRACT: contract(
                ("params: {temperature: 0, seed: 1}\n", ""),
                ("model: openai/gpt-4o-mini\n", "<<: {model: openai/gpt-4o, params: {seed: 1}}\n"),
            )
        },
        stronger,
    ),
    Attack(
        "a stronger model for a second contract of the same prompt",
        {
            CONTRACT: contract(STRONGER, ("mood\n", "first\n")),
            "contracts/second.yaml": contract(STRONGER, ("mood\n", "second\n")),
        },
        stronger,
    ),
]

SHAPE = contract((f"{{{ENUM}}}", WORD))


def in_json(body: Mapping[str, Any]) -> str:
    """A model that is asked for JSON by its prompt, or is made to answer in it."""
    text = body["messages"][-1]["content"]
    if "one word" in text or "response_format" in body:
        return json.dumps({"mood": mood(text)})
    return f"{mood(text)}, I would say."


TERM = edited(WORSE, "review }}", "term }}")


def renamed(values: Callable[[int], str], **more: Any) -> str:
    """The fixtures with `term` instead of `review`."""
    rows = [{**r, "vars": {"term": values(n), **more}} for n, r in enumerate(ROWS)]
    return jsonl(rows)


def easy(number: int) -> str:
    word = "love" if number % 2 else "hate"
    return f"I {word} one word."


REVIEWS = [str(r["vars"]["review"]) for r in ROWS]
HINTED = [{**r, "vars": {**r["vars"], "hint": "Say one word."}} for r in ROWS]

LENT = [
    Attack("a new name and easy values", {PROMPT: TERM, FIXTURES: renamed(easy)}),
    Attack(
        "a new name and the easiest value everywhere",
        {PROMPT: TERM, FIXTURES: renamed(lambda n: easy(n % 2))},
    ),
    Attack(
        "a new name beside the old value",
        {
            PROMPT: TERM,
            FIXTURES: jsonl(
                [{**r, "vars": {**r["vars"], "term": easy(n)}} for n, r in enumerate(ROWS)]
            ),
        },
    ),
    Attack(
        "an added variable that tells the model what to do",
        {PROMPT: WORSE + "{{ hint }}\n", FIXTURES: jsonl(HINTED)},
    ),
    Attack(
        "a default of the template",
        {
            PROMPT: edited(WORSE, "review }}", "term | default(review) }}"),
            FIXTURES: jsonl(
                [{**r, "vars": {**r["vars"], "term": easy(n)}} for n, r in enumerate(ROWS)]
            ),
        },
    ),
    Attack(
        "a condition of the template",
        {
            PROMPT: edited(
                WORSE,
                "{{ review }}",
                "{% if term is defined %}{{ term }}{% else %}{{ review }}{% endif %}",
            ),
            FIXTURES: renamed(easy),
        },
    ),
    Attack(
        "values that are alike once they are text",
        {
            PROMPT: "{{ a }} is it? {{ b }} {{ c }}\n",
            FIXTURES: jsonl(
                [{**r, "vars": {"a": "one word", "b": r["vars"]["review"], "c": ""}} for r in ROWS]
            ),
        },
    ),
    Attack(
        "new names, easy values and new ids",
        {PROMPT: TERM, FIXTURES: edited(renamed(easy), "review-", "case-")},
    ),
]

STRICT_AND_LENIENT = [
    {**r, "checks": [{"type": "length", "unit": "words", "max": 1 if n < 6 else 50}]}
    for n, r in enumerate(ROWS)
]
NO_CHECKS = contract((f"checks:\n  - {{{ENUM}}}\n", ""))

HEAVY = "{% if heavy is defined %}" + "{{ range(99999) | length }}" * 9 + "{% endif %}"
"""Almost all the work that one rendering may take, in no time at all."""
COSTLY = jsonl([{**r, "vars": {**r["vars"], "heavy": 1}} for r in ROWS])


ZEROS = json.dumps([0] * 99_000, separators=(",", ":"))
"""An expected value as long as one may be. Together they are more than an evaluation may look at.
"""
LONG = [json.dumps({**row(1), "id": f"long-{n}", "expected": None}) for n in range(100)]
LONG_LINES = "".join(ZEROS.join(one.rsplit("null", 1)) + "\n" for one in LONG)

WORK = [
    Attack("of expected values", {FIXTURES: jsonl(ROWS) + LONG_LINES}),
    Attack("of the prompt", {PROMPT: WORSE + HEAVY, FIXTURES: COSTLY}),
    Attack(
        "of a check",
        {
            FIXTURES: COSTLY,
            CONTRACT: contract(
                (
                    f"{{{ENUM}}}",
                    "{type: not_contains, value: '" + HEAVY + "z'}",
                )
            ),
        },
    ),
    Attack(
        "of a pattern",
        {CONTRACT: contract((f"{{{ENUM}}}", "{type: regex, pattern: '^(((\\w+,?)+ ?)+)+[.]?$'}"))},
    ),
    Attack(
        "of a schema",
        {
            CONTRACT: contract(
                (
                    f"{{{ENUM}}}",
                    "{type: json_schema, schema: {$ref: '#/$defs/a', $defs: {a: {not: {allOf: ["
                    "{$ref: '#/$defs/b'}, {$ref: '#/$defs/b'}]}}, b: {not: {}}}}}",
                )
            )
        },
    ),
]


def not_passed(answered: Any) -> None:
    assert answered.exit_code in (1, 2, 3) or answered.verdict == "inconclusive", answered.text
    assert answered.verdict in (None, "fail", "error", "inconclusive"), answered.text


@pytest.mark.parametrize("attack", SETTINGS, ids=lambda attack: attack.name)
def test_settings_of_heads_contract_hide_no_worse_prompt(attack: Attack, run_gate: RunGate) -> None:
    """The base contract calls the model as it did, so the worse prompt fails there."""
    # A fork would be refused the stronger model's longest answers before any call.
    dear = "limits: {cost_usd: 50}\n"
    answered = run_gate(attack.base, attack.head, answer=model(attack.helps), policy=dear)
    assert (answered.exit_code, answered.verdict) == (1, "fail"), answered.text


def test_enforced_outputs_hide_no_worse_prompt(run_gate: RunGate) -> None:
    head = {PROMPT: WORSE, CONTRACT: SHAPE + "mode: enforce\n"}
    answered = run_gate({**BASE_FILES, CONTRACT: SHAPE}, head, answer=in_json)
    assert (answered.exit_code, answered.verdict) == (1, "fail"), answered.text


@pytest.mark.parametrize("attack", LENT, ids=lambda attack: attack.name)
def test_values_of_heads_fixtures_hide_no_worse_prompt(attack: Attack, run_gate: RunGate) -> None:
    not_passed(run_gate(attack.base, attack.head, answer=model(attack.helps)))


@pytest.mark.parametrize("shift", [1, 6])
def test_values_that_change_places_hide_no_worse_prompt(shift: int, run_gate: RunGate) -> None:
    """The hard reviews go to the fixtures whose checks ask for little."""
    base = {**BASE_FILES, CONTRACT: NO_CHECKS, FIXTURES: jsonl(STRICT_AND_LENIENT)}
    moved = [
        {**r, "vars": {"term": REVIEWS[(n + shift) % 12]}} for n, r in enumerate(STRICT_AND_LENIENT)
    ]
    not_passed(
        run_gate(base, {PROMPT: TERM, FIXTURES: jsonl(moved)}, answer=model(lambda _: False))
    )


@pytest.mark.long
@pytest.mark.parametrize("attack", WORK, ids=lambda attack: attack.name)
def test_work_of_heads_contract_leaves_the_base_contract_enough(
    attack: Attack, run_gate: RunGate
) -> None:
    not_passed(run_gate(attack.base, attack.head, answer=model(attack.helps)))


HONEST: dict[str, Files] = {
    "only another model": {CONTRACT: contract(STRONGER)},
    "another model and a reworded prompt": {CONTRACT: contract(STRONGER), PROMPT: REWORDED},
    "another parameter": {CONTRACT: contract(("seed: 1", "seed: 2"))},
    "a limit of tokens": {CONTRACT: contract(("seed: 1", "seed: 1, max_tokens: 5"))},
    "the same model in the prompt file": {
        CONTRACT: NO_MODEL,
        PROMPT: FRONT.format("-mini") + REWORDED,
    },
    "a variable with another name": {
        PROMPT: edited(REWORDED, "review }}", "term }}"),
        FIXTURES: renamed(lambda n: REVIEWS[n]),
    },
    "a variable with another name and more fixtures": {
        PROMPT: edited(REWORDED, "review }}", "term }}"),
        FIXTURES: renamed(lambda n: REVIEWS[n])
        + jsonl([{"id": "more", "vars": {"term": "I love it."}, "expected": "positive"}]),
    },
    "a reworded prompt": {PROMPT: REWORDED},
}


@pytest.mark.parametrize("head", HONEST.values(), ids=HONEST)
def test_an_honest_change_passes(head: Files, run_gate: RunGate) -> None:
    # A fork's head may not cost more at worst than the policy allows, and this model is dear.
    dear = "limits: {cost_usd: 50}\n"
    answered = run_gate(BASE_FILES, head, answer=model(lambda _: False), policy=dear)
    assert (answered.exit_code, answered.verdict) == (0, "pass"), answered.text
    assert answered.requests
