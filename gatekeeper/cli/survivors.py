"""`gatekeeper generate PROMPT --for-survivors`: fixtures for parts that no test protects."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.author.forecast import USUAL_TOKENS, cost_lines
from gatekeeper.author.mutation.mutants import Part
from gatekeeper.author.mutation.survivors import (
    ProtectedPart,
    planned_requests,
    protect,
    read_survivors,
)
from gatekeeper.author.session import ANSWERS, AnswerFile, ask_models
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.output import print_error, print_lines, write_new_files
from gatekeeper.errors import UsageError
from gatekeeper.numbers import count
from gatekeeper.reports.redact import environment_redactor

if TYPE_CHECKING:
    from gatekeeper.author.generation.run import GenerateOptions, GenerationPlan
    from gatekeeper.contract.values.definition import Contract


def write_for_survivors(
    plan: GenerationPlan, options: GenerateOptions, arguments: argparse.Namespace, root: Path
) -> int:
    """Write NAME.survivors.jsonl beside the contract. Raises GatekeeperError."""
    path: Path = arguments.for_survivors
    text = _read(path)
    prompt = plan.prompt.prompt
    mutants = read_survivors(text, str(path), prompt)
    contract = named_contract(plan.revision, plan.policy, str(json.loads(text).get("contract")))
    if contract.target.steps:
        raise UsageError(f"{contract.path}: --for-survivors cannot test a contract with steps")
    out = root / Path(contract.path).parent / f"{contract.name}.survivors.jsonl"
    if out.exists():
        raise UsageError(
            f"{out} exists already; move this file, or add its fixtures to another file"
        )
    if not mutants:
        return _say([f"{path}: every part of {prompt.reference} is protected; nothing to do"])
    if arguments.estimate:
        planned = (
            plan.prompt,
            contract.target,
            mutants,
            options.model,
            options.effort.tests_per_rule,
        )
        usual, most = planned_requests(*planned, USUAL_TOKENS), planned_requests(*planned)
        said = f"{count(len(mutants), 'part')}, at most {count(len(most), 'call')}"
        return _say([said, *cost_lines([(request, 1.0) for request in usual], most)])
    parts, calls_made, notices = ask_models(
        lambda asker: protect(
            asker,
            plan.prompt,
            contract.target,
            mutants,
            contract.fixtures,
            options.effort.tests_per_rule,
        ),
        plan,
        options,
        AnswerFile(arguments.out / ANSWERS, arguments.replay, arguments.resume, arguments.cache),
    )
    for notice in notices:
        print_error(notice)
    rows = [row for part in parts for row in part.rows]
    if rows:
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        write_new_files({out: environment_redactor().text(text)})
    return _say([*_found(parts), *_next(parts, rows, out, contract), calls_made])


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--for-survivors {path}: {error}; run `gatekeeper mutate` first"
        ) from error


def _found(parts: Sequence[ProtectedPart]) -> Iterator[str]:
    for part in parts:
        text = " ".join(part.mutant.part.text.split())[:60]
        left_out = part.proposed - part.tried
        found = (
            f"for {part.proven} of {count(part.tried, 'input')}, the output depends on this part"
            if part.tried
            else "not tried"
        )
        more = f"; {count(left_out, 'input')} left out, because fixtures with similar inputs exist"
        yield f"{_lines_of(part.mutant.part)} ({text}): {found}{more if left_out else ''}"


def _lines_of(part: Part) -> str:
    return f"line{'' if part.line == part.last_line else 's'} {part.place}"


def _next(
    parts: Sequence[ProtectedPart], rows: Sequence[object], out: Path, contract: Contract
) -> Iterator[str]:
    if not rows:
        yield (
            "No fixture was written, because gatekeeper found no input whose output depends on "
            "an unprotected part."
        )
        if any(part.tried for part in parts):
            yield "If no other input needs an unprotected part, consider deleting this part."
        if not all(part.tried for part in parts):
            yield "For the parts that were not tried, choose a stronger model with --model."
        return
    yield f"{count(len(rows), 'fixture')} written to {out}."
    yield (
        "Next: read the new fixtures, add `expected` if a check needs it, and add this line under "
        f"`fixtures` in {contract.path}:"
    )
    yield f"  - file: {out.name}"


def _say(lines: Sequence[str]) -> int:
    print_lines(lines)
    return 0
