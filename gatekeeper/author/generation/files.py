"""Reads and renders the files of a prompt: specification, fixtures and contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import relpath
from typing import Any

from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.generation.rule_checks import require_sound_check
from gatekeeper.author.onboarding.skeleton import contract_folder, propose_name
from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.spec_file import (
    HEAD_LINES,
    GeneratedTest,
    InputConstraint,
    Metric,
    Rule,
    Specification,
    read_specification,
)
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_files import find_contracts
from gatekeeper.contract.files.references import References
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.prompts.styles.literal import as_parameter
from gatekeeper.contract.reading.read import require_text
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.reading.specification_path import SUFFIX
from gatekeeper.contract.syntax.yaml_positions import parse_json, parse_yaml
from gatekeeper.contract.syntax.yaml_text import has_comment, write_yaml
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError, MeasurementError, Problem, UsageError

_KINDS = ("rules", "inverse_rules", "input_spec", "intent")


def find_promptpex(revision: Revision, reference: str) -> dict[str, str]:
    """Return the text of each of PromptPex's files for the prompt, by its kind: beside the prompt
    as `NAME.rules.txt`, in the folder `NAME`, or in the folder of the prompt. Raises
    ContractError."""
    folder, _, file = reference.partition("#")[0].rpartition("/")
    beside, name = f"{folder}/" if folder else "", file.split(".")[0]
    for start in (f"{beside}{name}.", f"{beside}{name}/", beside):
        paths = {kind: f"{start}{kind}.txt" for kind in _KINDS}
        found = {kind: path for kind, path in paths.items() if path in revision.entries}
        # Any project may have a `rules.txt`.
        if found and (start != beside or {"rules", "input_spec"} <= found.keys()):
            return {kind: require_text(revision, path) for kind, path in found.items()}
    return {}


def read_promptpex(prompt: str, texts: Mapping[str, str]) -> Specification:
    """Return the specification that the files say. Each line is a rule, or true of the input."""
    inverse = _lines(texts.get("inverse_rules", ""))
    rules = _lines(texts.get("rules", ""))
    paired = inverse if len(inverse) == len(rules) else [""] * len(rules)
    return Specification(
        prompt,
        intent=" ".join(_lines(texts.get("intent", ""))),
        input=tuple(
            InputConstraint(f"input-{number}", line)
            for number, line in enumerate(_lines(texts.get("input_spec", "")), start=1)
        ),
        rules=tuple(
            Rule(f"rule-{number}", line, opposite)
            for number, (line, opposite) in enumerate(zip(rules, paired, strict=True), start=1)
        ),
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


SUCCESS_RATE = 0.9
BASELINE = "baseline."
"""What the ids of tests begin with that were written without the rules."""
RESULTS = ("valid", "validity", "proposed")
"""The keys of a fixture's metadata that quality/ writes: they are no part of what was made."""


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of a prompt's files from the repository root, and the contract's name."""

    name: str
    specification: str
    fixtures: str
    contract: str

    @property
    def paths(self) -> tuple[str, str, str]:
        """Return the paths of the three files."""
        return (self.specification, self.fixtures, self.contract)


@dataclass(frozen=True, slots=True)
class FixtureRow:
    """A line of the fixture file. `id` is its own, or made from its number if it has none."""

    id: str
    line: str

    @property
    def data(self) -> dict[str, Any]:
        """Return the fixture."""
        found: dict[str, Any] = json.loads(self.line)
        return found

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the fixture's metadata; empty if it has none."""
        found = self.data.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def vars(self) -> dict[str, Any]:
        """Return the values of its variables; empty if it has none."""
        found = self.data.get("vars")
        return found if isinstance(found, dict) else {}

    @property
    def rule(self) -> str:
        """Return the id of the rule that the fixture tests; empty if it names none."""
        rule = self.metadata.get("rule")
        return rule if isinstance(rule, str) else ""

    @property
    def is_baseline(self) -> bool:
        """Return whether the test was written without the rules."""
        return self.id.startswith(BASELINE)

    @property
    def digest(self) -> str:
        """Return the digest of what the line means, without its spaces and without results."""
        data = self.data
        metadata = data.get("metadata")
        if isinstance(metadata, dict):
            rest = {name: value for name, value in metadata.items() if name not in RESULTS}
            data = {**data, "metadata": rest}
        return content_digest(data)


@dataclass(frozen=True, slots=True)
class Present:
    """What is there before a run. `contract` is None if there is no contract. `contents` are the
    files as they were read, None for one that is not there."""

    specification: Specification
    fixtures: tuple[FixtureRow, ...] = ()
    contract: str | None = None
    contents: Mapping[str, bytes | None] = field(default_factory=dict)


def find_places(revision: Revision, policy: Policy, reference: str) -> Places:
    """Return where the files of a prompt are or belong. Raises ContractError."""
    own, others = "", set()
    for sketch in find_contracts(References(revision, SHAPES), policy):
        if sketch.prompt == reference and not sketch.is_foreign and not own:
            own = sketch.path
        elif sketch.name:
            others.add(sketch.name)
    folder = prompt_file(reference).rpartition("/")[0]
    contracts = contract_folder(policy.contracts)
    name = propose_name(reference, others)
    if own:  # what an earlier run wrote for this prompt
        at, _, file = own.rpartition("/")
        name, contracts = file.rsplit(".", 1)[0], at
    beside = f"{folder}/" if folder else ""
    inside = f"{contracts}/" if contracts else ""
    return Places(
        name,
        f"{beside}{propose_name(reference.removeprefix(beside), set())}{SUFFIX}",
        f"{inside}{name}.fixtures.jsonl",
        own or f"{inside}{name}.yaml",
    )


def read_present(revision: Revision, places: Places, reference: str) -> Present:
    """Return what earlier runs and people wrote. Raises ContractError, with the line."""
    for path in places.paths:
        _require_folders(revision, path)
    prompt = specification_prompt(places, reference)
    specification = read_promptpex(prompt, find_promptpex(revision, reference))
    if places.specification in revision.entries:
        text = require_text(revision, places.specification)
        specification = read_specification(text, places.specification)
        if specification.prompt != prompt:
            what = f"this is the specification of `{specification.prompt}`, not of `{prompt}`"
            fix = (
                "correct `prompt` if the prompt was moved; otherwise rename one of the two prompts"
            )
            raise ContractError([Problem(places.specification, what, fix, field="prompt")])
        _require_sound_checks(revision, places, specification, text)
    rows: tuple[FixtureRow, ...] = ()
    if places.fixtures in revision.entries:
        rows = read_fixture_rows(require_text(revision, places.fixtures), places.fixtures)
    known = places.contract in revision.entries
    contract = require_text(revision, places.contract) if known else None
    contents = {p: revision.read(p) if p in revision.entries else None for p in places.paths}
    return Present(specification, rows, contract, contents)


def _require_folders(revision: Revision, path: str) -> None:
    """Refuse a path below a link, which can lead out of the repository, or below a file."""
    for folder in map(str, PurePosixPath(path).parents):
        if folder in revision.entries:
            what = f"`{folder}` is not a folder of this repository, so `{path}` cannot be written"
            fix = f"replace `{folder}` with a folder, or rename `{folder}`"
            raise ContractError([Problem(folder, what, fix)])


def specification_prompt(places: Places, reference: str) -> str:
    """Return the prompt as its specification names it: from the folder that both are in."""
    folder = places.specification.rpartition("/")[0]
    return reference.removeprefix(f"{folder}/") if folder else reference


def read_fixture_rows(text: str, path: str) -> tuple[FixtureRow, ...]:
    """Return the lines that are not blank. Raises ContractError for one that a contract could not
    have as a fixture, such as one with a key twice: it could not be written back as it is."""
    rows: list[FixtureRow] = []
    first: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        found = parse_json(line, path, number).data
        if not isinstance(found, dict):
            what, fix = "this line is not a JSON object", "correct this line, or remove it"
            raise ContractError([Problem(path, what, fix, number)])
        name = found.get("id")
        name = name if isinstance(name, str) else f"line {number}"
        if name in first:
            what = f"the id `{name}` is already used on line {first[name]}"
            raise ContractError(
                [Problem(path, what, "give this fixture another id", number, field="id")]
            )
        first[name] = number
        if len(rows) == MOST_FIXTURES:
            what = f"the file has more than {MOST_FIXTURES:,} fixtures"
            fix = "remove some fixtures"
            raise ContractError([Problem(path, what, fix, number)])
        rows.append(FixtureRow(name, line.strip()))
    return tuple(rows)


def fixture_row(test: GeneratedTest) -> FixtureRow:
    """Return the line of a generated test."""
    return FixtureRow(test.id, json.dumps(test.fixture, ensure_ascii=False))


def as_tests(rows: Iterable[FixtureRow]) -> list[GeneratedTest]:
    """Return fixtures as tests, for comparing and sending their inputs."""
    return [GeneratedTest(row.id, row.rule, "rule", "typical", "", "", row.vars) for row in rows]


def with_results(
    rows: Sequence[FixtureRow], present: Sequence[FixtureRow]
) -> tuple[FixtureRow, ...]:
    """Return the rows, each with the results that it has in the file if it is the same test."""
    known = {row.id: row for row in present}
    return tuple(
        known[row.id] if row.id in known and known[row.id].digest == row.digest else row
        for row in rows
    )


def write_fixture_rows(rows: Sequence[FixtureRow]) -> str:
    """Return the text of the fixture file."""
    return "".join(f"{row.line}\n" for row in rows)


def write_contract(
    places: Places,
    prompt: NumberedPrompt,
    specification: Specification,
    model: str,
    judge: str,
) -> str:
    """Return the text of a contract that checks every rule and every metric.

    `model` runs the prompt if its file names none; `judge` grades the metrics and the rules without
    a check.
    """
    rules, metrics = specification.rules, specification.wishes.metrics
    folder = places.contract.rpartition("/")[0]
    reference = relpath(prompt.reference, folder or ".")
    own: dict[str, Any] = {"contract": 1, "name": places.name, "prompt": reference}
    if prompt.style:
        own["template"] = prompt.style
    if not prompt.prompt.model:
        own["model"] = model
    if metrics or any(rule.check is None for rule in rules):
        own["judge"] = {"model": judge}
    own["fixtures"] = [{"file": relpath(places.fixtures, folder or ".")}]
    own["checks"] = [*map(contract_check, rules), *map(_metric_check, metrics)]
    own["slo"] = {"success_rate": SUCCESS_RATE}
    head = (
        "# Written by `gatekeeper generate` from the rules in "
        f"{' '.join(relpath(places.specification, folder or '.').split())}.\n"
        "# If you change this file, the next run leaves it as it is.\n"
    )
    return head + write_yaml(own)


def contract_models(text: str | None) -> tuple[str | None, str | None]:
    """Return the model and the judge that a contract's text names; None for one that it does not
    name."""
    try:
        data = parse_yaml(text or "", "contract").data
    except ContractError:
        return None, None
    found = data if isinstance(data, dict) else {}
    model, judge = found.get("model"), found.get("judge")
    judge = judge.get("model") if isinstance(judge, dict) else None
    return (model if isinstance(model, str) else None, judge if isinstance(judge, str) else None)


def contract_check(rule: Rule) -> dict[str, Any]:
    """Return the check of a rule as a contract writes it."""
    if rule.check is not None:
        return {"name": rule.id, **{k: v for k, v in rule.check.items() if k != "name"}}
    return {"name": rule.id, "judge": "complies", "rule": as_parameter(rule.text)}


def _metric_check(metric: Metric) -> dict[str, Any]:
    """Return the check of a person's metric: a judge that grades it by its criteria."""
    return {"name": metric.id, "judge": "rubric", "criteria": as_parameter(metric.text)}


def _require_sound_checks(
    revision: Revision, places: Places, specification: Specification, text: str
) -> None:
    problems = []
    for rule in specification.rules:
        if rule.check is None:
            continue
        try:
            require_sound_check(contract_check(rule), revision, places.contract)
        except ContractError as error:
            line = _line_of(text, rule.id)
            fault = error.problems[0]
            problems.append(
                Problem(places.specification, fault.what, fault.fix, line, field=f"rule {rule.id}")
            )
    if problems:
        raise ContractError(problems)


def has_comments(present: Present, path: str) -> bool:
    """Return whether a person wrote comments into a specification: those of its head are not."""
    text = (present.contents.get(path) or b"").decode("utf-8", "replace")
    return has_comment(text, HEAD_LINES)


def _line_of(text: str, name: str) -> int | None:
    lines = enumerate(text.split("\n"), start=1)
    return next((n for n, line in lines if line.strip(" -\"'").endswith(f"id: {name}")), None)


def differing(texts: Mapping[str, str], present: Present) -> Iterator[tuple[str, str]]:
    """Yield the files whose text is not there yet."""
    for path, text in texts.items():
        if present.contents.get(path) != text.encode("utf-8", "replace"):
            yield path, text


def require_visible(present: Present, root: Path) -> None:
    """Raise UsageError if there is a file that was not read because git ignores it: it would be
    replaced."""
    for path, content in present.contents.items():
        if content is None and (root / path).is_file():
            raise UsageError(
                f"{path} exists, but git ignores it, so gatekeeper did not read the file; remove "
                "the file from .gitignore, or move the file away"
            )


def require_unchanged(contents: Mapping[str, bytes | None], root: Path) -> None:
    """Raise MeasurementError if a file was changed after it had these contents: a person's edit
    would be lost."""
    for path, content in contents.items():
        try:
            now: bytes | None = (root / path).read_bytes()
        except FileNotFoundError:
            now = None
        except OSError:
            continue  # writing it says why
        if now != content:
            raise MeasurementError(
                f"{path} was changed while the model was answering, so no file was written; run "
                "the command again"
            )
