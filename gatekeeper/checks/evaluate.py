"""Makes every check of a contract ready for every fixture, then evaluates samples with them.

`prepare` finds every mistake in the checks of a contract, all at once. After that, the evaluation
of a sample raises no error, whatever the output is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gatekeeper.checks.check import (
    Check,
    Files,
    Finding,
    InnerCheck,
    ParameterError,
    SampleEvaluator,
    undetermined,
)
from gatekeeper.checks.judged_check import forecast_of, judge_models_of, questions_of
from gatekeeper.checks.pair_check import compares_pairs
from gatekeeper.checks.reading.output import quote, shorten
from gatekeeper.checks.reading.pattern import compile_seconds
from gatekeeper.checks.registry import CHECKS
from gatekeeper.checks.step_views import (
    StepViews,
    filler_sample,
    no_answer,
    prompts_of_step,
    renamed_steps,
)
from gatekeeper.contract.calls.calls import count_added, ends_turn, join_turns
from gatekeeper.contract.checks.judge_settings import embedding_models
from gatekeeper.contract.models.faults import NamedModel
from gatekeeper.contract.prompts.render import evaluate_ahead, render_value
from gatekeeper.contract.syntax.schema import conforms
from gatekeeper.contract.syntax.schema_errors import closest_hint
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.plain import is_template
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    Position,
    Severity,
    Target,
)
from gatekeeper.contract.values.nested_texts import nested_texts
from gatekeeper.contract.values.trial import Arm, CheckResult, Request, Sample, Trial
from gatekeeper.errors import ContractError, Problem


@dataclass(frozen=True, slots=True)
class TurnCheck:
    """A prepared check of the answer number `turn` of `turns`, counted from 1. Its message names
    the number, so that a reader sees which answer was the first to fail."""

    check: SampleEvaluator
    turn: int
    turns: int

    @property
    def judge_models(self) -> tuple[str, ...]:
        return judge_models_of(self.check)

    def __call__(self, sample: Sample) -> Finding:
        answer = self._answer(sample)
        if answer is None:
            return undetermined(f"the conversation ended before answer {self.turn}")
        finding = self.check(answer)
        if not finding.message:
            return finding
        return replace(finding, message=f"answer {self.turn}: {finding.message}")

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        answer = self._answer(sample)
        return () if answer is None else questions_of(self.check, answer)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return forecast_of(self.check, sample)

    def _answer(self, sample: Sample) -> Sample | None:
        """Return the sample as if the conversation ended with this answer; its own steps are those
        since the answer before."""
        turns, request = sample.completion.turns if sample.completion else (), sample.trial.request
        if not turns:
            return sample if self.turn == self.turns else None
        ends = [at for at, turn in enumerate(turns) if ends_turn(request, turn)]
        first = (-1, *ends)[self.turn - 1] + 1 if self.turn <= len(ends) + 1 else len(turns)
        last = ends[self.turn - 1] if self.turn <= len(ends) else len(turns) - 1
        if first > last:
            return None
        state = next((t.state for t in turns[last::-1] if t.state is not None), None)
        own = join_turns((*turns[first:last], replace(turns[last], state=state)))
        if self.turn == self.turns:
            return replace(sample, completion=own)
        kept = len(request.messages) - count_added(request, turns[last:-1])
        messages = request.messages[:kept]
        trial = replace(sample.trial, request=replace(request, messages=messages))
        return replace(sample, trial=trial, completion=own, output=own.text, repairs=(), ledger=())


@dataclass(frozen=True, slots=True)
class NegatedCheck:
    """A prepared check with the opposite result, and 1 less the score. What could not be applied
    stays so."""

    check: SampleEvaluator

    @property
    def judge_models(self) -> tuple[str, ...]:
        return judge_models_of(self.check)

    def __call__(self, sample: Sample) -> Finding:
        finding = self.check(sample)
        if finding.passed is None:
            return finding
        score = None if finding.score is None else 1 - finding.score
        message = ""
        if finding.passed:
            message = (
                "the output meets the condition that `not: true` forbids; "
                f"got {quote(sample.output)}"
            )
        return replace(finding, passed=not finding.passed, message=message, score=score)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return questions_of(self.check, sample)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        return forecast_of(self.check, sample)


# A longer template is not parsed for a better message alone.
_PARSED_HERE = 20_000


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """One check of one fixture, ready to evaluate."""

    name: str
    severity: Severity
    evaluate: SampleEvaluator
    position: Position | None = None
    weight: float = 1.0
    must_pass: bool = False
    step: str | None = None
    """The step of a chain that it evaluates; None for the last."""

    def result(self, finding: Finding) -> CheckResult:
        return CheckResult(
            self.name,
            finding.passed,
            finding.message,
            self.severity,
            finding.score,
            finding.votes,
            self.weight,
            self.must_pass,
            self.step,
        )


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The checks of a contract, ready for each of its fixtures."""

    checks: Mapping[str, tuple[PreparedCheck, ...]]
    contract_path: str = ""
    new_step_names: Mapping[str, str] = field(default_factory=dict)
    embedding_models: tuple[str, ...] = ()
    """The models that compare texts outside the checks."""
    judge_models: tuple[NamedModel, ...] = field(init=False)
    """Every model that is asked about samples, with the place that names it."""

    def __post_init__(self) -> None:
        named = (
            (check.position or Position(self.contract_path), model)
            for check in {id(c): c for checks in self.checks.values() for c in checks}.values()
            for model in judge_models_of(check.evaluate)
        )
        others = ((Position(self.contract_path), model) for model in self.embedding_models)
        object.__setattr__(self, "judge_models", tuple(dict.fromkeys((*named, *others))))

    @property
    def has_judges(self) -> bool:
        """Whether any check asks a judge."""
        return bool(self.judge_models)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what judges are still to be asked about the sample, given the judge answers that
        it carries; nothing if the model gave no answer or refused the request."""
        if not self.has_judges or sample.completion is None or no_answer(sample):
            return ()
        views = StepViews(sample, self.new_step_names)
        asking = ((c.evaluate, views.of(c.step)) for c in self.checks[sample.trial.fixture])
        return tuple(q for check, seen in asking if seen for q in questions_of(check, seen))

    def forecast(self, trial: Trial, characters: int) -> tuple[Request, ...]:
        """Return what judges would be asked about an answer of so many characters."""
        if not self.has_judges:
            return ()
        views = StepViews(filler_sample(trial, characters), self.new_step_names)
        asking = ((c.evaluate, views.of(c.step)) for c in self.checks[trial.fixture])
        return tuple(q for check, seen in asking if seen for q in forecast_of(check, seen))

    def evaluate(self, sample: Sample) -> tuple[CheckResult, ...]:
        """Return the outcome of each check for a sample; none if its call failed.

        Raises KeyError for a fixture that the contract does not have: a missing evaluation must
        never count as a pass.
        """
        checks = self.checks[sample.trial.fixture]
        if sample.completion is None:
            return ()
        views = StepViews(sample, self.new_step_names)
        found = ((check, views.apply(check.evaluate, check.step)) for check in checks)
        return tuple(check.result(finding) for check, finding in found if finding is not None)


def prepare(
    contract: Contract,
    checks: Mapping[str, Check] = CHECKS,
    targets: Mapping[Arm, Target] | None = None,
) -> Evaluator:
    """Prepare every check for every fixture. Raises ContractError with every problem found.

    `targets` are those of the arms; the contract's own counts for an arm that is left out.
    """
    own = contract.target
    bench = _Bench(contract.path, checks, {"base": own, "head": own, **(targets or {})})
    by_fixture = {
        fixture.id: bench.ready(contract.checks_for(fixture), fixture)
        for fixture in contract.fixtures
    }
    problems = bench.problems()
    if problems:
        raise ContractError(problems)
    renamed = renamed_steps(own, bench.targets["head"])
    return Evaluator(by_fixture, contract.path, renamed, embedding_models(contract))


@dataclass(frozen=True, slots=True)
class _Complaint:
    """A mistake in one check, wherever it is used."""

    spec: CheckSpec
    what: str
    fix: str

    def problem(self, fixtures: Sequence[Fixture], contract_path: str) -> Problem:
        at = self.spec.position or Position(contract_path)
        used = f" (for {_listed(fixtures)})" if fixtures else ""
        field = f"check `{self.spec.name}`"
        return at.problem(f"{self.what}{used}", self.fix, field)


class _Bench:
    """Prepares checks. Work that does not depend on the fixture is done once."""

    def __init__(
        self, contract_path: str, checks: Mapping[str, Check], targets: Mapping[Arm, Target]
    ) -> None:
        self._contract_path = contract_path
        self.targets = targets
        self._checks = checks
        self._budget = Budget()
        self._fixture: Fixture | None = None
        self._known: dict[str, Any] = {}
        self._done: dict[int, PreparedCheck | None] = {}
        self._complaints: dict[tuple[int, str, str], tuple[_Complaint, list[Fixture]]] = {}

    def ready(self, specs: Iterable[CheckSpec], fixture: Fixture) -> tuple[PreparedCheck, ...]:
        specs = list(specs)
        if self._fixture is not fixture:
            self._fixture, self._known = fixture, {}
        templates = [spec.params for spec in specs if id(spec) not in self._done]
        self._known |= evaluate_ahead(templates, fixture, self._budget)
        prepared = [self._ready_one(spec, fixture) for spec in specs]
        return tuple(check for check in prepared if check is not None)

    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            complaint.problem(fixtures, self._contract_path)
            for complaint, fixtures in self._complaints.values()
        )

    def _ready_one(self, spec: CheckSpec, fixture: Fixture) -> PreparedCheck | None:
        check = self._checks.get(spec.type)
        if check is None:
            known = ", ".join(self._checks)
            self._complain(spec, f"there is no check `{spec.type}`", f"use one of {known}", None)
            return None
        answers = len(fixture.turns) + 1
        if spec.turn is not None and fixture.user is not None:
            what = (
                "`turn` cannot be used with a simulated user, because each conversation is "
                "different"
            )
            self._complain(
                spec, what, "remove `turn`, so that the check evaluates the last answer", fixture
            )
            return None
        if spec.turn is not None and spec.turn > answers:
            what = (
                f"`turn` is {spec.turn}, but the last answer of the fixture's conversation is "
                f"answer {answers}"
            )
            fix = "write a lower `turn`, or use `when` to apply the check only to other fixtures"
            self._complain(spec, what, fix, fixture)
            return None
        found = self._prepared_for(spec, check, fixture)
        if found is None or spec.turn is None:
            return found
        return replace(found, evaluate=TurnCheck(found.evaluate, spec.turn, answers))

    def _prepared_for(
        self, spec: CheckSpec, check: Check, fixture: Fixture
    ) -> PreparedCheck | None:
        if id(spec) in self._done:
            return self._done[id(spec)]
        if spec.parts or check.per_fixture or _has_template(_templates(spec, check)):
            return self._attempt(spec, check, fixture)
        found = self._done[id(spec)] = self._attempt(spec, check, None)
        return found

    def _attempt(
        self, spec: CheckSpec, check: Check, fixture: Fixture | None
    ) -> PreparedCheck | None:
        try:
            params = spec.params if fixture is None else self._rendered(spec, check, fixture)
            if spec.parts and fixture is not None:
                inner = self._inner(spec.parts, fixture)
                if inner is None:
                    return None
                params = {**params, "checks": inner}
            else:
                _require_shape(params, check)
            written_in = spec.position.path if spec.position else self._contract_path
            prompts = prompts_of_step(self.targets, spec.step)
            files = Files(spec.files, written_in, prompts, spec.code, fixture)
            evaluate = self._prepared(check, params, files)
            _require_pairs_alone(spec, evaluate, params)
        except ParameterError as error:
            self._complain(spec, error.what, error.fix, fixture, error.mistake)
        except ContractError as error:
            for problem in error.problems:
                self._complain(spec, problem.what, problem.fix, fixture)
        else:
            evaluate = NegatedCheck(evaluate) if spec.negated else evaluate
            given = (spec.position, spec.weight, spec.must_pass, spec.step)
            return PreparedCheck(spec.name, spec.severity, evaluate, *given)
        return None

    def _rendered(self, spec: CheckSpec, check: Check, fixture: Fixture) -> Mapping[str, Any]:
        templates = _templates(spec, check)
        if fixture.expected is None and any(map(_refers_to_expected, nested_texts(templates))):
            hint = closest_hint("expected", fixture.vars)
            raise ParameterError(
                "the check uses `expected`, but the fixture has no `expected`",
                (f"{hint} If not, " if hint else "") + "add `expected` to the fixture, or move the "
                "check to the fixtures with `expected`",
            )
        at = spec.position
        rendered = {
            name: render_value(value, fixture, at, self._budget, self._known)
            for name, value in templates.items()
            if _has_template(value)
        }
        return {**spec.params, **rendered}

    def _inner(self, specs: Sequence[CheckSpec], fixture: Fixture) -> tuple[InnerCheck, ...] | None:
        """Prepare the checks inside another one; None if one of them has a mistake."""
        prepared = self.ready(specs, fixture)
        if len(prepared) < len(specs):
            return None
        return tuple(InnerCheck(check.name, check.evaluate, check.weight) for check in prepared)

    def _prepared(self, check: Check, params: Mapping[str, Any], files: Files) -> SampleEvaluator:
        """Charge the time: a pattern or schema of each fixture's own takes some, and a contract
        may have many."""
        exceeded = self._budget.exceeded()
        if exceeded:
            raise ParameterError(f"preparing the checks takes {exceeded}", "write simpler checks")
        before = time.process_time() + compile_seconds()
        try:
            return check.prepare(params, files)
        finally:
            after = time.process_time() + compile_seconds()
            self._budget.spend(seconds=after - before)

    def _complain(
        self, spec: CheckSpec, what: str, fix: str, fixture: Fixture | None, mistake: str = ""
    ) -> None:
        key = (id(spec), mistake or what, fix)
        _, fixtures = self._complaints.setdefault(key, (_Complaint(spec, what, fix), []))
        if fixture is not None:
            fixtures.append(fixture)


def _require_pairs_alone(
    spec: CheckSpec, evaluate: SampleEvaluator, params: Mapping[str, Any]
) -> None:
    """Refuse a comparison in pairs if it could not gate: it passes every single output."""
    inner = params["checks"] if spec.parts else ()
    if any(compares_pairs(part.evaluate) for part in inner):
        raise ParameterError(
            "another check cannot contain `judge: prefer`",
            "write `judge: prefer` as a separate check",
        )
    if spec.step and compares_pairs(evaluate):
        raise ParameterError(
            "`judge: prefer` compares only the outputs of the last step",
            "move this check from the step to the `checks` of the contract",
        )
    if (spec.negated or spec.severity == "warn") and compares_pairs(evaluate):
        key = "not: true" if spec.negated else "severity: warn"
        raise ParameterError(f"`judge: prefer` does not take `{key}`", f"remove `{key}`")


def _templates(spec: CheckSpec, check: Check) -> Mapping[str, Any]:
    """Return the parameters that may hold templates: all except the paths of files."""
    return {
        name: value
        for name, value in spec.params.items()
        if not (name in check.paths and isinstance(value, str))
    }


def _has_template(value: Any) -> bool:
    return any(map(is_template, nested_texts(value)))


@lru_cache(maxsize=2048)
def _refers_to_expected(text: str) -> bool:
    from jinja2 import Environment, TemplateSyntaxError, meta

    if "expected" not in text or len(text) > _PARSED_HERE:
        return False
    try:
        # Parsed only; rendering, in its sandbox, is the business of contract/prompts/render.py.
        tree = Environment(autoescape=True).parse(text)
        return "expected" in meta.find_undeclared_variables(tree)
    except (TemplateSyntaxError, RecursionError):
        return False


def _require_shape(params: Mapping[str, Any], check: Check) -> None:
    """Require that rendered values conform to the schema too: the loader saw only their
    templates."""
    if conforms(params, check.parameters):
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(check.parameters).iter_errors(params))
    if error is None:
        return
    message = shorten(error.message, 200)
    properties = check.parameters["properties"]
    if not error.absolute_path:
        raise ParameterError(message, f"its parameters are {', '.join(properties) or 'none'}")
    description = properties[error.absolute_path[0]]["description"]
    at = error.json_path.removeprefix("$.")
    raise ParameterError(
        f"{at}: {message}",
        f"write {description[0].lower()}{description[1:].rstrip('.')}",
        f"{at}: {error.validator}",
    )


def _listed(fixtures: Sequence[Fixture]) -> str:
    """Write the first fixture with its position, and the number of the others."""
    first = fixtures[0]
    place = first.position
    at = f" at {place.path}:{place.line}" if place and place.line else ""
    more = f" and {len(fixtures) - 1} more" if len(fixtures) > 1 else ""
    return f"fixture `{first.id}`{at}{more}"
