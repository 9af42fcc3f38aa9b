"""Every weakening has its sentence, and what is stricter has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.digests import evaluation_meaning
from gatekeeper.contract.values.definition import (
    CheckShape,
    CheckSpec,
    Contract,
    Fixture,
    GatePolicy,
    Prompt,
    RepairMode,
    RepairPolicy,
    SamplingPolicy,
    Severity,
    Target,
)
from gatekeeper.contract.values.objectives import read_limits, read_objectives
from gatekeeper.contract.weakening.weakening import weakenings


def objectives(rate: float, latency: float, cost: float | None, window: str = "28d"):
    written = {"success_rate": rate, "latency_p95_ms": latency, "cost_per_call_usd": cost}
    return read_objectives({**written, "window": window})


LENGTH = CheckSpec("length", "short", {"max": 10, "min": 2}, shape=SHAPES["length"])
FIELDS = CheckSpec("json_required", "fields", {"fields": ["a", "b"]}, shape=SHAPES["json_required"])
SCHEMA = CheckSpec(
    "json_schema", "schema", {"schema": "s.json"}, files={"s.json": "{}", "t.json": "{}"}
)
OWN = CheckSpec("equals", "own", {"value": 1})
FIXTURES = (Fixture("a", {"x": 1}, "y", checks=(OWN,)), Fixture("b", {"x": 2}))
BASE = Contract(
    name="n",
    path="c.yaml",
    target=Target(Prompt("p", (), ""), "m", {}),
    fixtures=FIXTURES,
    checks=(LENGTH, FIELDS, SCHEMA),
    repair=RepairPolicy(("strip",), 2),
    sampling=SamplingPolicy(5, "adaptive", "majority"),
    slo=objectives(0.9, 1000, 0.01),
    gate=GatePolicy(0.05, 0.05, 0.8),
)


def checks(*specs: CheckSpec) -> Contract:
    return replace(BASE, checks=specs)


def length(**params: object) -> Contract:
    return checks(replace(LENGTH, params=params), FIELDS, SCHEMA)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (replace(BASE, fixtures=FIXTURES[1:]), ["fixture `a` removed"]),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], vars={"x": 9}), FIXTURES[1])),
            ["fixture `a`: the variables changed"],
        ),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], expected="z", checks=()), FIXTURES[1])),
            ['fixture `a`: `expected` changed from "y" to "z"', "fixture `a`: check `own` removed"],
        ),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], expected="z" * 58), FIXTURES[1])),
            ['fixture `a`: `expected` changed from "y" to "' + "z" * 58 + '"'],
        ),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], expected="z" * 59), FIXTURES[1])),
            ['fixture `a`: `expected` changed from "y" to "' + "z" * 56 + "..."],
        ),
        (checks(LENGTH, FIELDS), ["check `schema` removed"]),
        (
            checks(replace(LENGTH, severity="warn"), FIELDS, SCHEMA),
            ["check `short`: severity lowered from error to warn"],
        ),
        (length(max=20, min=2), ["check `short`: `max` weakened from 10 to 20"]),
        (length(max=10, min=1), ["check `short`: `min` weakened from 2 to 1"]),
        (length(max=10), ["check `short`: `min` removed; the value was 2"]),
        (length(max="{{ n }}", min=2), ['check `short`: `max` changed from 10 to "{{ n }}"']),
        (
            length(max=10, min=2, unit="words"),
            ['check `short`: `unit` changed from "characters" to "words"'],
        ),
        (
            checks(LENGTH, replace(FIELDS, name="x", params={"fields": ["a"]}), SCHEMA),
            ['check `fields`: `fields` weakened from ["a", "b"] to ["a"]'],
        ),
        (
            checks(LENGTH, FIELDS, replace(SCHEMA, files={"s.json": "true", "t.json": "{}"})),
            ["check `schema`: `schema`: the file `s.json` changed"],
        ),
        (
            checks(LENGTH, FIELDS, replace(SCHEMA, files={"s.json": "{}", "t.json": "true"})),
            ["check `schema`: the change edits a file that the schema refers to"],
        ),
        (
            replace(BASE, slo=objectives(0.8, 2000, None, "1d")),
            [
                "slo.success_rate lowered from 0.9 to 0.8",
                "slo.success_rate: window changed from 28d to 1d",
                "slo.latency_p95_ms raised from 1000 to 2000",
                "slo.latency_p95_ms: window changed from 28d to 1d",
                "slo.cost_per_call_usd removed; the value was 0.01",
            ],
        ),
        (
            replace(BASE, gate=GatePolicy(0.01, 0.1, None)),
            [
                "gate.alpha lowered from 0.05 to 0.01",
                "gate.margin raised from 0.05 to 0.1",
                "gate.tolerance removed; the value was 0.8",
            ],
        ),
        *(
            (replace(BASE, gate=replace(BASE.gate, claim=claim)), [f"gate.claim changed {change}"])
            for claim, change in (
                ("inputs", "from both to inputs"),
                ("fixtures", "from both to fixtures"),
            )
        ),
        (
            replace(BASE, gate=replace(BASE.gate, allow_broken=1)),
            ["gate.allow_broken raised from 0 to 1"],
        ),
        (
            replace(BASE, gate=replace(BASE.gate, allow_broken=0.5)),
            ["gate.allow_broken raised from 0 to 0.5"],
        ),
        # Of two fixtures, this share allows none.
        (replace(BASE, gate=replace(BASE.gate, allow_broken=0.4)), []),
        (
            replace(BASE, sampling=SamplingPolicy(2, "adaptive", "any")),
            [
                "sampling.samples lowered from 5 to 2",
                "sampling.aggregate weakened from majority to any",
            ],
        ),
        (
            replace(BASE, sampling=SamplingPolicy(5, "fixed", "first")),
            ["sampling.aggregate changed from majority to first"],
        ),
        (
            replace(BASE, mode="enforce", repair=RepairPolicy(("strip", "lower"), 3)),
            [
                "repair step `lower` added",
                "repair.max_steps raised from 2 to 3",
                "mode changed from repair to enforce",
            ],
        ),
        (
            replace(BASE, target=replace(BASE.target, model="recorded/a.jsonl")),
            ["`model` now takes the answers from the recording a.jsonl"],
        ),
        (
            replace(BASE, repair=RepairPolicy(), mode="enforce"),
            ["mode changed from repair to enforce"],
        ),
    ],
)
def test_loosenings(head: Contract, told: list[str]) -> None:
    assert list(weakenings(BASE, head)) == told


@pytest.mark.parametrize(
    "head",
    [
        BASE,
        replace(BASE, fixtures=(*FIXTURES, Fixture("c", {}))),
        checks(SCHEMA, LENGTH, FIELDS, OWN),
        checks(replace(LENGTH, name="renamed"), FIELDS, SCHEMA),
        length(max=9, min=3),
        length(max=9, min=2),
        checks(LENGTH, replace(FIELDS, params={"fields": ["b", "a", "c"]}), SCHEMA),
        checks(
            LENGTH,
            FIELDS,
            replace(SCHEMA, params={"schema": "z.json"}, files={"z.json": "{ }", "y.json": "{}"}),
        ),
        replace(BASE, slo=objectives(0.95, 900, 0.001)),
        replace(BASE, gate=GatePolicy(0.1, 0, 0.9)),
        replace(BASE, sampling=SamplingPolicy(9, "fixed", "all")),
        replace(BASE, repair=RepairPolicy((), 9), mode="repair"),
    ],
)
def test_what_is_as_strict_or_stricter_is_not_told(head: Contract) -> None:
    assert weakenings(BASE, head) == ()


def recorded(path: str, digest: str | None) -> Contract:
    target = replace(BASE.target, model=f"recorded/{path}")
    return replace(BASE, target=target, dependencies={path: digest} if digest else {})


def test_another_recording_is_told_and_a_moved_one_is_not() -> None:
    base = recorded("a.jsonl", "1")
    assert weakenings(base, recorded("b.jsonl", "1")) == ()
    for other in ("2", None):
        (told,) = weakenings(base, recorded("b.jsonl", other))
        assert told == "`model` now takes the answers from the recording b.jsonl instead of a.jsonl"
    assert weakenings(recorded("a.jsonl", None), recorded("b.jsonl", None)) != ()
    assert weakenings(base, BASE) == ()


@pytest.mark.parametrize(("before", "now"), [("enforce", "observe"), ("repair", "enforce")])
def test_enforce_is_told_without_any_repair(before: RepairMode, now: RepairMode) -> None:
    plain = replace(BASE, repair=RepairPolicy())
    (told,) = weakenings(replace(plain, mode=before), replace(plain, mode=now))
    assert told == f"mode changed from {before} to {now}"
    assert weakenings(replace(plain, mode="repair"), replace(plain, mode="observe")) == ()


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (("a", "b"), ("b", "a"), ["repair steps reordered from a, b to b, a"]),
        (("a", "b"), ("b",), []),
        (("a", "b"), ("a", "c", "b"), ["repair step `c` added"]),
        (("a", "b", "c"), ("c", "a"), ["repair steps reordered from a, b, c to c, a"]),
    ],
)
def test_the_order_of_repairs_counts(
    before: tuple[str, ...], now: tuple[str, ...], told: list[str]
) -> None:
    base, head = (replace(BASE, repair=RepairPolicy(steps)) for steps in (before, now))
    assert list(weakenings(base, head)) == told


def limited(**limits: str) -> Contract:
    return replace(BASE, gate=replace(BASE.gate, limits=read_limits(limits)))


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (limited(cost="+20%"), []),
        (limited(cost="+10%", tokens="+5%"), []),
        (limited(cost="+25.5%"), ["gate.cost raised from +20% to +25.5%"]),
        (limited(tokens="+1%"), ["gate.cost removed; the value was +20%"]),
    ],
)
def test_a_limit_that_is_raised_or_removed_is_told(head: Contract, told: list[str]) -> None:
    assert list(weakenings(limited(cost="+20%"), head)) == told
    assert weakenings(BASE, head) == ()


def test_a_new_objective_is_no_loosening() -> None:
    assert weakenings(replace(BASE, slo=(), gate=GatePolicy()), BASE) == ()


EVERY_OBJECTIVE = {
    "success_rate": (0.9, 0.8, 0.95),
    "latency_p50_ms": (100, 200, 50),
    "latency_p90_ms": (100, 200, 50),
    "latency_p95_ms": (100, 200, 50),
    "latency_p99_ms": (100, 200, 50),
    "cost_per_call_usd": (0.1, 0.2, 0.05),
    "tokens_per_call": (100, 200, 50),
    "repair_rate": (0.1, 0.2, 0.05),
    "judge_score": (0.9, 0.8, 0.95),
}


@pytest.mark.parametrize("place", ["slo", "category"])
@pytest.mark.parametrize("name", [*EVERY_OBJECTIVE, "checks"])
def test_each_objective_weakened_removed_or_over_another_window_is_told(place, name):
    own, looser, stricter = EVERY_OBJECTIVE.get(name, (0.9, 0.8, 0.95))
    shown = "checks.short" if name == "checks" else name
    shown = shown if place == "slo" else f"categories.x.{shown}"

    def contract(value):
        written = {name: {"short": value} if name == "checks" else value}
        written = written if place == "slo" else {"categories": {"x": written}}
        return replace(BASE, slo=read_objectives(written))

    def told(value):
        return weakenings(contract(own), contract(value))

    way = "lowered" if looser < own else "raised"
    assert told(looser) == (f"slo.{shown} {way} from {own:g} to {looser:g}",)
    assert told(None) == (f"slo.{shown} removed; the value was {own:g}",)
    changed = f"slo.{shown}: window changed from 28d to 1d"
    assert told({"target": own, "window": "1d"}) == (changed,)
    assert told(stricter) == told(own) == ()


@pytest.mark.parametrize(("before", "now"), [("x", "other"), ("other", "x"), ("x", None)])
def test_a_fixture_that_leaves_or_joins_a_category_with_an_objective_is_told(before, now):
    def contract(category, slo):
        fixture = Fixture("a", {"x": 1}, category=category)
        return replace(BASE, fixtures=(fixture,), slo=read_objectives(slo))

    evaluated = {"categories": {"x": {"success_rate": 0.9}}}
    change = f"from {before} to {now or 'none'}"
    assert weakenings(contract(before, evaluated), contract(now, evaluated)) == (
        f"fixture `a`: category changed {change}",
    )
    assert weakenings(contract(before, {}), contract(now, {})) == ()


LIKE_SHAPE = CheckShape(
    {
        "properties": {
            "min": {"default": 0.8, "x-looser": "down"},
            "ignore_case": {"default": False},
        }
    },
    scores=True,
)


def like(name: str = "like", severity: Severity = "error", **params: object) -> CheckSpec:
    return CheckSpec("similarity", name, params, severity, shape=LIKE_SHAPE)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({}, {"min": 0.5}, ["check `like`: `min` weakened from 0.8 to 0.5"]),
        ({"min": 0.9}, {}, ["check `like`: `min` weakened from 0.9 to 0.8"]),
        ({"min": 0.5}, {}, []),
        ({}, {"min": 0.8}, []),
        ({}, {"ignore_case": False}, []),
        ({}, {"ignore_case": True}, ["check `like`: `ignore_case` changed from false to true"]),
    ],
)
def test_a_parameter_that_is_not_written_counts_as_its_default(before, now, told):
    assert list(weakenings(checks(like(**before)), checks(like(**now)))) == told


def test_another_score_changes_what_the_mean_score_asks():
    score = read_objectives({"judge_score": 0.9})
    base = replace(checks(like()), slo=score)
    head = replace(checks(like(), like("easy", "warn", min=0)), slo=score)
    assert weakenings(base, head) == (
        "check `easy` added; the score of the check counts in `slo.judge_score`, so other "
        "checks count less",
    )
    assert weakenings(checks(like()), checks(like(), like("easy", min=0))) == ()
    own = replace(FIXTURES[1], checks=(like("easy", min=0),))
    head = replace(base, fixtures=(FIXTURES[0], own))
    assert weakenings(base, head) == (
        "check `easy` added; the score of the check counts in `slo.judge_score`, so other "
        "checks count less",
    )
    new = replace(base, fixtures=(*FIXTURES, replace(own, id="c")))
    assert weakenings(base, new) == ()


def test_a_check_that_scores_may_change_its_name():
    score = read_objectives({"judge_score": 0.9})
    base, head = (replace(checks(like(name)), slo=score) for name in ("like", "alike"))
    assert weakenings(base, head) == ()


SHORT = CheckSpec("length", "a", {"max": 10})
LONG = CheckSpec("length", "b", {"max": 99})


@pytest.mark.parametrize(
    ("specs", "named", "elsewhere"),
    [
        ([SHORT, LONG], "a", False),
        ([LONG, SHORT], "a", False),
        ([replace(SHORT, name="c"), LONG], "c", False),
        ([replace(SHORT, params={"max": 9}), LONG], "a", False),
        ([replace(SHORT, name="b"), replace(LONG, name="a")], "a", True),
        # the strict check becomes stricter still, and leaves its name to the other one
        ([replace(SHORT, name="b", params={"max": 9}), replace(LONG, name="a")], "a", True),
        # a new check takes the name
        ([replace(SHORT, name="b"), replace(LONG, name="a", params={"max": 50})], "a", True),
        ([replace(SHORT, name="b"), LONG, replace(FIELDS, name="a")], "a", True),
        ([replace(SHORT, params={"max": 9}, name="b"), replace(FIELDS, name="a")], "a", True),
    ],
)
@pytest.mark.parametrize("place", ["contract", "fixture"])
def test_an_objective_stands_for_the_check_that_it_names(place, specs, named, elsewhere):
    def contract(specs, name):
        own = replace(FIXTURES[0], checks=tuple(specs))
        fixtures = (own,) if place == "fixture" else FIXTURES
        found = checks(*specs) if place == "contract" else BASE
        return replace(found, fixtures=fixtures, slo=read_objectives({"checks": {name: 0.9}}))

    base, head = contract([SHORT, LONG], "a"), contract(specs, named)
    sentence = "slo.checks.a now refers to another check"
    found = [said for said in weakenings(base, head) if said.startswith("slo")]
    assert found == ([sentence] if elsewhere else [])
    assert not elsewhere or evaluation_meaning(base) != evaluation_meaning(head)


def test_a_check_that_leaves_a_fixture_leaves_its_objective():
    def contract(name):
        own = replace(FIXTURES[0], checks=(SHORT,))
        other = replace(FIXTURES[1], checks=(replace(SHORT, name=name),))
        slo = read_objectives({"checks": {"a": 0.9}})
        return replace(BASE, fixtures=(own, other), slo=slo)

    (said,) = weakenings(contract("a"), contract("b"))
    assert said == "slo.checks.a now refers to another check"
