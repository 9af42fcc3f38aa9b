"""Results as a gate would make them, for every kind of verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import comb

from support.edited_text import edited

from gatekeeper import numbers
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import (
    Arm,
    CheckResult,
    Completion,
    Outcome,
    Request,
    Sample,
    Trial,
)
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult, Tally
from gatekeeper.gate.results.result import (
    ArmResult,
    Calls,
    ContractResult,
    GateResult,
    PairedResult,
    Reason,
    SloResult,
)
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import ErrorBudget

BASE_PROMPT = """---
model: openai/gpt-4o-mini
---
system:
You tag one word of a sentence with its part of speech.

# Rules
- Answer with the Penn Treebank tag alone.
- Never explain.

# Examples
The quick brown fox jumps.; fox -> NN
She sings.; sings -> VBZ

user:
{{ sentenceword }}
"""
HEAD_PROMPT = edited(
    BASE_PROMPT,
    "- Answer with the Penn Treebank tag alone.\n- Never explain.",
    "- Be friendly: answer in a full sentence.\n- Name the part of speech.",
)

_OUTPUTS = {
    "NN": "The word “fox” is a noun.",
    "VBZ": "“sings” is a verb in the third person.",
    "JJ": "Here, “brown” is used as an adjective!",
    "RB": "That is an adverb.",
}


def fixture(number: int, change: str, *, head_output: str | None = None) -> FixtureResult:
    """One of the kinds `broke`, `fixed`, `same` and `failing`."""
    tag = list(_OUTPUTS)[number % len(_OUTPUTS)]
    wrong = head_output or _OUTPUTS[tag]
    message = f"the output does not match ^[A-Z]{{2,4}}\\$?$: {wrong!r}"
    base_ok = change in ("broke", "same")
    head_ok = change in ("fixed", "same")
    failures = [
        FixtureFailure(arm, "is a tag", message, wrong)
        for arm, ok in (("base", base_ok), ("head", head_ok))
        if not ok
    ]
    return FixtureResult(
        id=f"{tag.lower()}-{number:03}",
        category="noun" if tag == "NN" else "other",
        base=Tally(5 if base_ok else 0, 5),
        head=Tally(5 if head_ok else 1, 5),
        base_passed=base_ok,
        head_passed=head_ok,
        change="same" if change == "failing" else change,  # type: ignore[arg-type]
        failures=tuple(failures),
        base_output=tag if base_ok else wrong,
        head_output=tag if head_ok else wrong,
    )


def arm(passed: int, fixtures: int, *, prompt: str = BASE_PROMPT, **other: object) -> ArmResult:
    rate = passed / fixtures if fixtures else None
    made = ArmResult(
        model="openai/gpt-4o-mini",
        prompt_path="prompts/speech-tag.prompty",
        prompt_text=prompt,
        passed=passed * 5,
        samples=fixtures * 5,
        failed_calls=0,
        fixtures_passed=passed,
        fixtures=fixtures,
        success_rate=rate,
        interval=None if rate is None else ConfidenceInterval(max(0, rate - 0.05), min(1, rate)),
        latency_p95_ms=812.4,
        cost_per_call_usd=0.000021,
    )
    return replace(made, **other)  # type: ignore[arg-type]


def paired(fixtures: int, broke: int, fixed: int, p: float | None, **other: object) -> PairedResult:
    difference = (fixed - broke) / fixtures if fixtures else None
    made = PairedResult(
        method="sequential McNemar test",
        sequential=True,
        alpha=0.05,
        fixtures=fixtures,
        broke=broke,
        fixed=fixed,
        unknown=0,
        p_value=p,
        difference=difference,
        interval=None
        if difference is None
        else ConfidenceInterval(max(-1, difference - 0.083), min(1, difference + 0.071)),
        minimum_detectable_effect=0.12,
        stopped="exhausted",
        fixtures_needed=134,
        margin=0.05,
    )
    return replace(made, **other)  # type: ignore[arg-type]


BUDGET = ErrorBudget(
    window="28d",
    events=1200,
    budget=60.0,
    spent=23,
    left=37.0,
    burn_rate={"1d": None, "7d": 0.4, "28d": 0.38},
    projected_burn_rate=(3.1, 6.8),
)


def _mcnemar(broke: int, fixed: int) -> float:
    discordant = broke + fixed
    return sum(comb(discordant, k) / 2**discordant for k in range(broke, discordant + 1))


def failing_contract(
    name: str = "speech-tag", broken: int = 9, fixtures: int = 40
) -> ContractResult:
    found = [fixture(n, "broke") for n in range(broken)]
    found += [fixture(broken, "fixed"), fixture(broken + 1, "failing")]
    found += [fixture(n, "same") for n in range(broken + 2, fixtures)]
    passed = fixtures - 2
    p = _mcnemar(broken, 1)
    return ContractResult(
        name=name,
        path=f"contracts/{name}.yaml",
        verdict="fail",
        reasons=(
            Reason(
                "regression",
                f"Worse than base: {broken} of {fixtures} fixtures broke, 1 were fixed "
                f"(p {numbers.p_value(p, 0.05)}, exact McNemar).",
                "fail",
            ),
            Reason(
                "slo",
                "Objective missed: success rate 77.5 % (target: 95 %), "
                "confidence interval 72.5 % to 77.5 %.",
                "fail",
            ),
        ),
        affected_by=(AffectedBy("prompts/speech-tag.prompty", "modified"),),
        base=arm(passed, fixtures),
        head=arm(passed - broken + 1, fixtures, prompt=HEAD_PROMPT),
        paired=paired(fixtures, broken, 1, p),
        slo=(
            SloResult("success_rate", 0.95, 0.775, ConfidenceInterval(0.72, 0.83), False),
            SloResult("latency_p95_ms", 4000, 812.4, None, True),
        ),
        error_budget=BUDGET,
        error_budgets=(BUDGET,),
        fixtures=tuple(found),
    )


def passing_contract(name: str = "order-id", fixtures: int = 60) -> ContractResult:
    return ContractResult(
        name=name,
        path=f"contracts/{name}.yaml",
        verdict="pass",
        reasons=(
            Reason(
                "no_regression",
                f"No regression found: 1 of {fixtures} fixtures broke, 2 were fixed; "
                "this run could only have shown a drop of 12 points or more.",
                "pass",
            ),
        ),
        affected_by=(AffectedBy("prompts/order-id.md", "modified"),),
        base=arm(fixtures - 3, fixtures, prompt_path="prompts/order-id.md"),
        head=arm(
            fixtures - 2,
            fixtures,
            prompt=edited(BASE_PROMPT, "Never explain.", "Do not explain."),
            prompt_path="prompts/order-id.md",
        ),
        paired=paired(fixtures, 1, 2, 0.875),
        slo=(SloResult("success_rate", 0.9, 0.97, ConfidenceInterval(0.93, 0.99), True),),
        error_budget=BUDGET,
        error_budgets=(BUDGET,),
        fixtures=(
            fixture(0, "broke", head_output="I am sorry,\n\nbut `A-17` is not\nan order."),
            fixture(1, "fixed"),
            fixture(2, "fixed"),
            *(fixture(n, "same") for n in range(3, fixtures)),
        ),
    )


def undecided_contract(name: str = "support-answer") -> ContractResult:
    text = (
        "It looks 10 points worse (2 of 20 fixtures broke, 0 were fixed), but that can be chance "
        "(p = 0.25); this run could only have shown a drop of 31 points."
    )
    return replace(
        passing_contract(name, 20),
        verdict="inconclusive",
        reasons=(Reason("undecided", text, "inconclusive"),),
        head=arm(15, 20),
        paired=paired(20, 2, 0, 0.25, minimum_detectable_effect=0.31),
        fixtures=(
            fixture(0, "broke"),
            fixture(1, "broke"),
            *(fixture(n, "same") for n in range(2, 20)),
        ),
    )


def unmeasured_contract(name: str = "speech-tag") -> ContractResult:
    lost = FixtureResult(
        id="nn-000",
        category=None,
        base=Tally(5, 5),
        head=None,
        base_passed=True,
        head_passed=None,
        change=None,
        errors=("429 Too Many Requests: slow down", "429 Too Many Requests: slow down"),
        base_output="NN",
    )
    never = replace(lost, id="nn-001", errors=(), base=None, base_passed=None, base_output=None)
    return replace(
        failing_contract(name),
        verdict="error",
        reasons=(
            Reason("error", "No sample could be measured on head.", "error"),
            Reason("limit", "The measurement is incomplete: 20 minutes are over.", "error"),
        ),
        head=arm(0, 0, failed_calls=5, latency_p95_ms=None),
        paired=paired(2, 0, 0, None, unknown=2, difference=None, interval=None),
        slo=(SloResult("success_rate", 0.95, None, None, None),),
        fixtures=(lost, never),
    )


def removed_contract(name: str = "greeting") -> ContractResult:
    reason = Reason(
        "removed",
        "The contract was removed while its prompt stays: no contract would test it.",
        "fail",
    )
    by = AffectedBy(f"contracts/{name}.yaml", "deleted")
    return ContractResult(name, f"contracts/{name}.yaml", "fail", (reason,), (by,))


def weakened_contract(name: str = "order-id") -> ContractResult:
    contract = passing_contract(name)
    return replace(
        contract,
        verdict="fail",
        reasons=(
            Reason(
                "weakened", "The contract was weakened, so the base contract also applies.", "pass"
            ),
            Reason("tolerance", "Under the base contract: 50 of 60 fixtures pass.", "fail"),
        ),
        weakened=("check `is a tag` was removed", "slo.success_rate 0.95 → 0.9"),
        warnings=("2 fixtures have no base arm",),
    )


def new_contract(name: str = "fresh") -> ContractResult:
    return ContractResult(
        name=name,
        path=f"contracts/{name}.yaml",
        verdict="pass",
        reasons=(),
        head=arm(19, 20),
        fixtures=(
            replace(fixture(0, "failing"), base=None, base_passed=None, change=None, failures=()),
            *(
                replace(fixture(n, "same"), base=None, base_passed=None, change=None)
                for n in range(1, 20)
            ),
        ),
    )


def result(*contracts: ContractResult, **other: object) -> GateResult:
    verdicts = [contract.verdict for contract in contracts]
    verdict = next((v for v in ("fail", "error", "inconclusive") if v in verdicts), "pass")
    made = GateResult(
        kind="check",
        verdict=verdict,  # type: ignore[arg-type]
        exit_code={"pass": 0, "fail": 1, "inconclusive": 0, "error": 3}[verdict],
        base_sha="0f3a9c1de2b84756a0912f3c4d5e6f7081a2b3c4",
        head_sha="9be31f07c6d2e45a81b0734f2c9d8e6a5b4c3d2e",
        started=datetime(2026, 3, 2, 10, 31, 7, tzinfo=UTC),
        seconds=41.7,
        contracts=contracts,
        calls=Calls(made=400, saved=120, failed=0) if contracts else Calls(),
        cost_usd=0.0084,
        unaffected=12,
    )
    return replace(made, **other)  # type: ignore[arg-type]


def outcome(
    *, text: str | None = "NN", arm: Arm = "head", shared: bool = False, repetition: int = 0
) -> Outcome:
    request = Request(
        model="openai/gpt-4o-mini",
        messages=(Message("system", "Tag it."), Message("user", "fox")),
        params={"temperature": 0.7},
        seed=42,
        repetition=repetition,
    )
    sample = Sample(
        trial=Trial("speech-tag", "nn-000", arm, repetition, request),
        completion=None if text is None else Completion(text, 120.5, 20, 2, None),
        error="429 Too Many Requests" if text is None else None,
        output="" if text is None else text.strip(),
        repairs=("strip",) if text and text != text.strip() else (),
        shared=shared,
    )
    check_results = (
        () if text is None else (CheckResult("is a tag", text.strip() == "NN", "", "error"),)
    )
    return Outcome(sample, check_results)


FAIL = result(failing_contract(), passing_contract())
PASS = result(passing_contract())
INCONCLUSIVE = result(undecided_contract())
ERROR = result(
    unmeasured_contract(), cost_usd=None, calls=Calls(made=5, failed=10), notices=("Ended early.",)
)
REMOVED = result(removed_contract())
WEAKENED = result(weakened_contract())
NEW = result(new_contract())
QUIET = result(cost_usd=None, seconds=0.21)
UNCOVERED = result(verdict="fail", exit_code=1, uncovered=("prompts/greeting.md",), cost_usd=None)
MANY = result(
    *(failing_contract(f"tagger-{n}", 6 + n % 5) for n in range(10)),
    *(passing_contract(f"extractor-{n}") for n in range(390)),
)
HUGE = result(failing_contract("speech-tag", 3000, 4000))
RUN = result(
    replace(passing_contract(), base=None, paired=None), kind="run", base_sha=None, unaffected=0
)
EVERY = {
    "fail": FAIL,
    "pass": PASS,
    "inconclusive": INCONCLUSIVE,
    "error": ERROR,
    "removed": REMOVED,
    "weakened": WEAKENED,
    "new": NEW,
    "quiet": QUIET,
    "uncovered": UNCOVERED,
    "many": MANY,
    "huge": HUGE,
    "run": RUN,
}
