"""Finds the rules that a check without a model can decide, and proves each check on outputs.

A check is taken if it passes all outputs that obey the rule and fails those that break it: examples
that the model gives with the check, and samples of the prompt's own model if there are any. A rule
without such a check is graded by a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.items import numbered_rules
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.spec_file import Rule
from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.styles.literal import as_parameter
from gatekeeper.contract.syntax.yaml_positions import parse_json
from gatekeeper.contract.syntax.yaml_text import write_yaml
from gatekeeper.contract.values.change import MemoryRevision, Overlay, Revision
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial
from gatekeeper.errors import ContractError

_ANY_OF = ("enum", "contains", "not_contains", "starts_with", "ends_with", "language")
_ONE_OF = ("regex", "not_regex")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A check that the model proposes for a rule, with the outputs to prove it on."""

    rule: Rule
    check: Mapping[str, Any] | None
    complying: tuple[str, ...] = ()
    breaking: tuple[str, ...] = ()


async def propose_checks(
    asker: Asker, prompt: NumberedPrompt, rules: Sequence[Rule]
) -> tuple[Proposal, ...]:
    """Return a proposal for each rule, in order. Raises as `Asker.ask` does."""
    if not rules:
        return ()
    data = {**prompt.data, "rules": numbered_rules(rules)}
    answer = await asker.ask("rule_checks", data)
    rows = {row["number"]: row for row in answer["checks"]}
    return tuple(_proposal(rule, rows.get(n)) for n, rule in enumerate(rules, start=1))


def prove_checks(proposals: Sequence[Proposal], samples: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Return the rules, with a check if it is proven. `samples` are outputs of the prompt's own
    model: a check that fails on one of them is not taken, because nobody knows which is wrong."""
    return tuple(
        replace(proposal.rule, check=proposal.check if is_proven(proposal, samples) else None)
        for proposal in proposals
    )


def require_sound_check(check: Mapping[str, Any], revision: Revision, path: str) -> None:
    """Raise ContractError if a contract at the path cannot have the check."""
    _prepared(check, revision, path)


def prepare_rule_check(
    check: Mapping[str, Any], revision: Revision, path: str
) -> Callable[[str], bool | None]:
    """Return what says whether an output passes the check as the contract at the path has it; None
    if that is open. Raises ContractError."""
    evaluator = _prepared(check, revision, path)
    return lambda output: _passes(evaluator, output)


def is_proven(proposal: Proposal, samples: Sequence[str] = ()) -> bool:
    """Return whether the proposed check can be prepared, passes every output that obeys the rule
    and fails every one that breaks it. There has to be one of each."""
    check, complying = proposal.check, (*proposal.complying, *samples)
    if check is None or not complying or not proposal.breaking:
        return False
    try:
        evaluator = _prepared(check)
    except ContractError:
        return False
    passed = [_passes(evaluator, output) for output in complying]
    failed = [_passes(evaluator, output) for output in proposal.breaking]
    return all(found is True for found in passed) and all(found is False for found in failed)


def _proposal(rule: Rule, row: Mapping[str, Any] | None) -> Proposal:
    if row is None:
        return Proposal(rule, None)
    return Proposal(rule, _written(row["check"]), tuple(row["complying"]), tuple(row["breaking"]))


def _written(proposed: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the check as a contract writes it; None if it has no meaning."""
    kind, values = proposed["type"], [value for value in proposed["values"] if value]
    if kind in _ANY_OF and values:
        name = "value" if kind == "language" else "values"
        return {"type": kind, name: as_parameter(values)}
    if kind in _ONE_OF and len(values) == 1:
        return {"type": kind, "pattern": as_parameter(values[0])}
    if kind == "length":
        limits = {name: proposed[name] for name in ("min", "max") if proposed[name] >= 0}
        return {"type": kind, **limits, "unit": proposed["unit"]} if limits else None
    if kind == "json_valid":
        return {"type": kind}
    if kind == "json_schema" and len(values) == 1:
        try:
            schema = parse_json(values[0], "rule_checks").data
        except ContractError:
            return None
        return {"type": kind, "schema": as_parameter(schema)} if isinstance(schema, dict) else None
    return None


_PATH, _PROMPT = "proof.yaml", "proof.txt"
_MODEL, _FIXTURE = "local/proof", "output"


def _prepared(
    check: Mapping[str, Any], below: Revision | None = None, path: str = _PATH
) -> Evaluator:
    """Return the check as the project's own loader understands it. Raises ContractError."""
    contract = {
        "contract": 1,
        "name": "proof",
        "prompt": f"/{_PROMPT}",
        "model": _MODEL,
        "judge": {"model": _MODEL},
        "fixtures": [{"id": _FIXTURE, "vars": {}}],
        "checks": [dict(check)],
    }
    revision = Overlay(below or MemoryRevision({}), {path: write_yaml(contract), _PROMPT: "proof"})
    return prepare(load_contract(revision, path, SHAPES))


def _passes(evaluator: Evaluator, output: str) -> bool | None:
    request = Request(_MODEL, (), {}, None, 0)
    trial = Trial("proof", _FIXTURE, "head", 0, request)
    sample = Sample(trial, Completion(output), output=output)
    (result,) = evaluator.evaluate(sample)
    return result.passed
