"""`gatekeeper generate`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gatekeeper.author.forecast import (
    cost_lines,
    estimate_lines,
    quality_estimate_lines,
)
from gatekeeper.author.generation.files import contract_models
from gatekeeper.author.generation.replace_files import finish_replacements
from gatekeeper.author.generation.run import (
    Generated,
    GenerateOptions,
    GenerationPlan,
    plan_generation,
)
from gatekeeper.author.generation.tests import DEFAULT_EFFORT, EFFORTS, MOST_BASELINE_TESTS
from gatekeeper.author.mutation.model_mutants import (
    ProtectedPart,
    planned_requests,
    protect,
    read_survivors,
)
from gatekeeper.author.mutation.mutants import Part
from gatekeeper.author.quality.judges import (
    accept_proposals,
    require_other_families,
    unused_notice,
)
from gatekeeper.author.quality.run import QualityOptions, QualitySteps, quality_lines
from gatekeeper.author.session import ANSWERS, AnswerFile, ask_models, generate_files
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.options import Option, options
from gatekeeper.cli.output import print_error, print_lines, write_new_files
from gatekeeper.contract.discovery.prompt_files import CODE_SUFFIXES
from gatekeeper.contract.models.names import is_hosted, read_model_name
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.prompts.reference import read_reference
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import UsageError
from gatekeeper.gate.validate import repository_path
from gatekeeper.git import Repository
from gatekeeper.numbers import count, lines
from gatekeeper.providers.native.dialects import DIALECTS
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.answers.kept import require_untracked
from gatekeeper.runs.library.suite import tracked_by

_DEFAULT_BASELINE = 20


def read_quality(arguments: argparse.Namespace, plan: GenerationPlan) -> QualityOptions | None:
    """Return the steps to take; None if there are none. Raises UsageError."""
    count = arguments.baseline
    if count is not None and not 1 <= count <= MOST_BASELINE_TESTS:
        raise UsageError(f"--baseline {count}: give a number from 1 to {MOST_BASELINE_TESTS}")
    names = [name.strip() for name in (arguments.judges or "").split(",") if name.strip()]
    if arguments.embeddings:
        _require_embeddings(arguments.embeddings)
    # A contract that is there knows which model runs the prompt, and who grades it.
    model, judge = contract_models(plan.present.contract)
    has_baseline = any(row.is_baseline for row in plan.present.fixtures)
    options = QualityOptions(
        judges=tuple(dict.fromkeys(names)) or (arguments.judge or judge or arguments.model,),
        model=arguments.prove_with or plan.prompt.prompt.model or model or arguments.model,
        compares=has_baseline or bool(count),
        check=arguments.check_quality or arguments.leave_out_rejected,
        leave_out=arguments.leave_out_rejected,
        baseline=count or 0,
        ground_truth=arguments.ground_truth,
        embeddings=arguments.embeddings,
    )
    if options.is_empty:
        if arguments.as_is:
            raise UsageError(
                "--as-is alone does nothing; add --check-quality, --baseline or --ground-truth"
            )
        return None
    if options.ground_truth:
        require_other_families(options.ground_truth, options.judges)
    return options


def _require_embeddings(model: str) -> None:
    """Refuse a model of which no embeddings can be had, before any call. Raises UsageError."""
    try:
        known = not model.startswith("local/") and (
            not is_hosted(model) or read_model_name(model).provider in DIALECTS
        )
    except ValueError as error:
        raise UsageError(f"--embeddings {model}: {error}") from None
    if not known:
        raise UsageError(
            f"--embeddings {model}: gatekeeper cannot get embeddings from this provider; use a "
            "model such as openai/text-embedding-3-small, or leave out --embeddings"
        )


DEFAULT_OUT = Path(".gatekeeper/generate")
DEFAULT_MUTATION = Path(".gatekeeper/mutation/mutation.json")
_MOST_TESTS = 50


def generate(arguments: argparse.Namespace) -> int:
    """Write a specification, fixtures and a contract for a prompt.

    A model says what the prompt's input is and which rules its output has to obey, and writes tests
    for each rule. Later runs keep the changes that you make in these files. Judges can check the
    rules and tests, and accept answers that another model proposes. The exit code is 0 if the files
    were written, 2 if the prompt or a file cannot be used, and 3 if the model gave no
    usable answer or a file cannot be written; then no file is changed.
    """
    effort, tests = EFFORTS[arguments.effort], arguments.tests_per_rule
    if tests is not None:
        effort = replace(effort, tests_per_rule=tests)
    if not 1 <= effort.tests_per_rule <= _MOST_TESTS:
        raise UsageError(f"--tests-per-rule {tests}: give a number from 1 to {_MOST_TESTS}")
    if not arguments.model and not arguments.accept_ground_truth:
        raise UsageError("--model is missing; name the model that writes the rules and tests")
    others = {"--as-is": arguments.as_is, "--for-survivors": arguments.for_survivors}
    for other in (flag for flag, given in others.items() if given and arguments.update):
        raise UsageError(f"--update and {other} cannot be given together; choose one of them")
    if arguments.resume and arguments.replay:
        raise UsageError("--resume and --replay cannot be given together; choose one of them")
    options = GenerateOptions(
        arguments.model or "",
        effort,
        arguments.prove_with,
        arguments.judge,
        arguments.update,
        arguments.as_is,
    )
    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        if arguments.resume:
            require_untracked(arguments.out / ANSWERS, tracked_by(repository))
        reference = _reference(arguments.prompt, arguments.repo, root)
        revision = repository.worktree()
        plan = plan_generation(revision, load_policy(revision), reference)
        if notices := finish_replacements(root, plan.places.paths):
            for notice in notices:
                print_error(notice)
            revision = repository.worktree()
            plan = plan_generation(revision, load_policy(revision), reference)
        if arguments.accept_ground_truth:
            return _accept(plan, arguments.accept_ground_truth, root)
        if arguments.for_survivors:
            return _write_for_survivors(plan, options, arguments, root)
        quality = read_quality(arguments, plan)
        if arguments.estimate:
            return _estimate(plan, options, quality)
        return _run(plan, options, quality, arguments, root)


def _reference(written: str, repo: Path, root: Path) -> str:
    """Return the prompt's reference from the repository root: the path is from the folder that the
    user is in, or from the repository if it is not there."""
    try:
        place = read_reference(written)
    except UnreadableError as error:
        raise UsageError(f"{written}: {error.what}; {error.fix}") from None
    if place.path.lower().endswith(CODE_SUFFIXES) and not place.constant:
        raise UsageError(
            f"{written}: the prompt in a code file is a constant; write {written}:NAME, with the "
            "name of the constant"
        )
    path = Path(place.path)
    if not path.exists():
        path = repo / place.path
    try:
        return repository_path(path, root) + place.part
    except UsageError:
        raise UsageError(
            f"{written}: this file is not in the repository {root.resolve()}; choose a prompt in "
            "this repository, or choose the repository of the file with --repo"
        ) from None


def _accept(plan: GenerationPlan, ids: list[str], root: Path) -> int:
    changed = accept_proposals(plan, ids, root)
    print_lines([f"{plan.places.fixtures}: {count(len(changed), 'answer')} accepted"])
    if notice := unused_notice(plan):
        print_error(notice)
    return 0


def _estimate(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions | None
) -> int:
    lines = [] if options.as_is else list(estimate_lines(plan, options))
    lines += quality_estimate_lines(plan, options, quality) if quality else []
    print_lines(lines)
    return 0


def _run(
    plan: GenerationPlan,
    options: GenerateOptions,
    quality: QualityOptions | None,
    arguments: argparse.Namespace,
    root: Path,
) -> int:
    steps = QualitySteps(quality) if quality else None
    path = arguments.out / ANSWERS
    answers = AnswerFile(path, arguments.replay, arguments.resume, arguments.cache)
    done = generate_files(plan, options, root, answers, steps)
    found = quality_lines(steps.report) if steps and steps.report else ()
    print_lines([*_lines(plan, done.generated, done.written), *found, done.calls])
    for notice in done.generated.notices:
        print_error(notice)
    return 0


def _lines(plan: GenerationPlan, made: Generated, written: tuple[str, ...]) -> list[str]:
    found = made.specification
    checked = len(found.rules) - len(found.judged_rules)
    said = [
        f"{plan.prompt.reference}: {count(len(found.rules), 'rule')}, {checked} with a check and "
        f"{len(found.judged_rules)} for a judge; {count(len(made.rows), 'fixture')}; "
        f"{count(len(found.questions), 'open question')}"
    ]
    for question in found.questions:
        place = lines(question.lines)
        said.append(f"  {question.kind}{place and ', '}{place}: {question.text}")
    return [*said, *(f"wrote {path}" for path in written), *([] if written else ["no change"])]


def _write_for_survivors(
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
        tests, model = options.effort.tests_per_rule, options.model
        planned = planned_requests(plan.prompt, contract.target, mutants, model, tests)
        calls = count(sum(one.number for one in planned), "call")
        return _say([f"{count(len(mutants), 'part')}, at most {calls}", *cost_lines(planned)])
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


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "generate": options(
        f"""
    PROMPT                    the prompt: FILE, FILE.yaml#key or FILE.py:CONSTANT
    --model MODEL             the model that writes the rules and tests
    --update                  update only the rules, tests and other parts that belong to changed
                              lines of the prompt
    --prove-with MODEL        let this model answer the prompt, and also test the checks on these
                              answers
    --judge MODEL             the judge of the contract (default: --model)
    --effort                  how many tests to write, and how to improve them (default:
                              {DEFAULT_EFFORT})
    --tests-per-rule N        test inputs for each rule and for each inverse rule (default: set by
                              --effort)
    --estimate                print the calls and their cost; call no model
    --for-survivors FILE      write fixtures only for the parts of the prompt that `gatekeeper
                              mutate` found to be unprotected, as listed in FILE (default:
                              {DEFAULT_MUTATION})
    --as-is                   generate nothing; use the rules and tests in the files
    --check-quality           let judges decide which tests are valid and which rules follow from
                              the prompt
    --leave-out-rejected      leave out the tests and rules that the judges of --check-quality
                              reject
    --baseline N              also write N tests directly from the prompt, for comparison
                              (default: {_DEFAULT_BASELINE})
    --ground-truth MODEL      propose answers of this model as expected outputs if the judges
                              accept them
    --accept-ground-truth ID  accept the proposed answers of these tests, or of `all`, as expected
                              outputs
    --judges MODEL,…          the judges that grade the quality and the proposed answers; the
                              majority decides (default: the contract's judge)
    --embeddings MODEL        compare outputs by the embeddings of this model (default: by their
                              words)
    --out DIR                 folder for the reports (default: {DEFAULT_OUT})
    --replay FILE             take all answers from this generate.answers.jsonl and call no model
    --resume                  continue a run that failed: request only the answers that are not in
                              its generate.answers.jsonl
    @cache
    """,  # noqa: S608  # a table of options, and no SQL
        effort={"choices": tuple(EFFORTS), "default": DEFAULT_EFFORT},
        for_survivors={"nargs": "?", "const": DEFAULT_MUTATION},
        baseline={"nargs": "?", "const": _DEFAULT_BASELINE},
        accept_ground_truth={"nargs": "+"},
        out={"default": DEFAULT_OUT},
    ),
}
