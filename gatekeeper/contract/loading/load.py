"""Loads a contract file and everything it refers to, or reports every problem in them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from gatekeeper.contract.calls.prompt_steps import Steps, chain_problems, read_steps
from gatekeeper.contract.checks.check_specs import CheckReader, place_unreadable, with_own_names
from gatekeeper.contract.checks.conditions import apply_conditions
from gatekeeper.contract.checks.gate_problems import gate_problems, ungated_fixtures
from gatekeeper.contract.checks.judge_calibration import read_calibration
from gatekeeper.contract.checks.judge_settings import embedding_models, judges_of, similar_problems
from gatekeeper.contract.files.contract_document import ContractDocument, read_contract_document
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.fixtures.attachments import Attachments
from gatekeeper.contract.fixtures.fixtures import (
    fixture_from,
    identified,
    own_checks,
    read_rows,
)
from gatekeeper.contract.fixtures.other_data_sets import FIXTURE_FORMATS, convert_rows
from gatekeeper.contract.fixtures.quarantine import read_quarantine
from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.loading.tool_settings import (
    LOOP_KEYS,
    loop_problems,
    read_loop,
    tool_files,
    with_tools,
)
from gatekeeper.contract.meaning.digests import (
    contract_digest,
    digest,
    evaluation_meaning,
    file_meaning,
    fixture_meaning,
    groups_meaning,
    prompt_file_digests,
    target_digest,
)
from gatekeeper.contract.meaning.repair_policy import read_repairs, repair_problems
from gatekeeper.contract.meaning.schemas import contract_schema
from gatekeeper.contract.models.params import param_problems
from gatekeeper.contract.prompts.instructions import read_task
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.reference import locate_prompt, written_prompt
from gatekeeper.contract.prompts.skills import NO_ROUTING, unknown_skills
from gatekeeper.contract.prompts.styles.evidence import declared_style
from gatekeeper.contract.prompts.unfilled_names import require_filled
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.reading.size_limits import Tally
from gatekeeper.contract.simulated_user.settings import read_contract_user, user_files, with_users
from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.schema_errors import nearest, schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, Row
from gatekeeper.contract.values.change import ReadFiles, Revision
from gatekeeper.contract.values.clusters import cluster_meaning
from gatekeeper.contract.values.definition import (
    POLICY_NAME,
    CheckShape,
    CheckSpec,
    Contract,
    Fixture,
    GatePolicy,
    MessageTemplate,
    Position,
    Prompt,
    SamplingPolicy,
    Target,
    TemplateStyle,
)
from gatekeeper.contract.values.objectives import CATEGORIES, CHECKS, read_limits, read_objectives
from gatekeeper.errors import ContractError, Problem

_TYPE = "goal_reached"


def require_users(contract: Contract) -> None:
    """Raise ContractError if a check `goal_reached` applies to no fixture with a simulated user."""
    problems: dict[Problem, None] = {}
    for part in contract.parts:
        problems |= dict.fromkeys(_problems(part))
    if problems:
        raise ContractError([*problems])


def _problems(contract: Contract) -> Iterator[Problem]:
    for spec in contract.checks:
        yield from _without_user(contract, spec, contract.fixtures)
    for fixture in contract.fixtures:
        for spec in fixture.checks:
            yield from _without_user(contract, spec, [fixture])


def _without_user(
    contract: Contract, spec: CheckSpec, fixtures: Sequence[Fixture]
) -> Iterator[Problem]:
    goals = list(_goal_checks(spec))
    if not goals or any(f.user for f in fixtures if spec.name not in f.left_out):
        return
    for found in goals:
        at = found.position or spec.position or Position(contract.path)
        what = f"check `{found.name}` applies to no fixture with a simulated user"
        fix = "add `user: {model: …, goal: …}` to the contract, or remove the check"
        if any(fixture.user for fixture in contract.fixtures):
            fix = "give the fixtures of this check a `user` with a `goal`, or remove the check"
        yield at.problem(what, fix, _TYPE)


def _goal_checks(spec: CheckSpec) -> Iterator[CheckSpec]:
    if spec.type == _TYPE:
        yield spec
    for part in spec.parts:
        yield from _goal_checks(part)


LONGEST_MODEL = 500
"""The most characters of a model's name, because every sample repeats it."""


def load_contract(revision: Revision, path: str, shapes: Mapping[str, CheckShape]) -> Contract:
    """Load the contract at the path. Raises ContractError with every problem found."""
    files = ReadFiles(revision)
    read = read_contract_document(files, path)
    contract = _Loading(files, read, shapes).contract()
    require_known_files(path, files.paths, contract.dependencies.keys())
    known = read_calibration(revision, path)
    require_filled(contract)
    require_users(contract)
    if not known:
        return contract
    groups = tuple(replace(group, calibrations=known) for group in contract.groups)
    return replace(contract, calibrations=known, groups=groups)


def require_known_files(path: str, used: Set[str], known: Set[str]) -> None:
    """Require that the files a contract is made of are among those that it is known to depend on.
    A change of any other would be merged without a test.

    Raises AssertionError: this is a mistake in Gatekeeper, which no author of a contract can mend.
    """
    unknown = sorted(used - known)
    if unknown:
        raise AssertionError(f"{path} is made of {', '.join(unknown)}, but does not depend on it")


class _Loading:
    """One contract on its way in: gathers problems, and the rows of each fixture file."""

    def __init__(
        self, revision: Revision, read: ContractDocument, shapes: Mapping[str, CheckShape]
    ) -> None:
        self._revision = revision
        self._read = read
        self._document = document = read.document
        judge = document.data.get("judge") if isinstance(document.data, dict) else None
        self._checks = CheckReader(revision, shapes, judge if isinstance(judge, dict) else {})
        self._routing = read.routing or NO_ROUTING
        self._problems: list[Problem] = [*self._routing.problems]
        self._fixture_files: dict[str, list[Fixture]] = {}
        self._attachments = Attachments(revision)

    def contract(self) -> Contract:
        data, document = self._document.data, self._document
        self._problems += schema_problems(document, contract_schema(), data)
        if not isinstance(data, dict):
            raise ContractError(self._problems)
        tools = read_loop(self._revision, document, self._problems)
        data = with_tools(self._revision, document, self._problems)
        self._problems += repair_problems(document, data)
        self._problems += similar_problems(document, data)
        self._require_free_name(data)
        steps, of_steps = read_steps(self._revision, document, self._checks, self._problems)
        last = self._checks_of(data)
        checks = (*of_steps, *last)
        fixtures = self._fixtures(data.get("fixtures"), Tally(document, len(checks)))
        prompt = self._prompt(written_prompt(data), declared_style(data))
        task = read_task(document, self._problems)
        self._require_model_and_params(data, prompt)
        fixtures = with_own_names(fixtures, checks)
        user = read_contract_user(self._revision, document, self._problems)
        fixtures = with_users(user, fixtures, document.path, self._problems)
        self._require_distinct_names(checks, fixtures)
        if not self._problems:
            fixtures = apply_conditions(checks, fixtures, document.path, self._problems)
        if not self._problems:
            self._problems += ungated_fixtures(document, ("checks",), last, fixtures)
        self._require_measurable(data.get("slo"), checks, fixtures)
        if not self._problems:
            self._problems += gate_problems(document, fixtures)
        fixtures = read_quarantine(document, fixtures, self._problems)
        if not self._problems and prompt is not None:
            target = _target(data, prompt, steps, task)
            self._problems += chain_problems(document, target, checks, fixtures)
            self._problems += loop_problems(document, tools, fixtures, target)
        if self._problems or prompt is None:
            raise ContractError(distinct_problems(self._problems))
        contract = Contract(
            name=data["name"],
            path=document.path,
            target=_target(data, prompt, steps, task),
            fixtures=fixtures,
            checks=checks,
            description=data.get("description", ""),
            mode=data.get("mode", "repair"),
            repair=read_repairs(data.get("repair", {})),
            sampling=SamplingPolicy(**whole(data.get("sampling", {}), "samples", "seed")),
            slo=read_objectives(data.get("slo", {})),
            gate=_gate(data.get("gate", {})),
            own_model=data.get("model") or None,
            own_params=data.get("params", {}),
            model_at=_model_at(document, data, prompt),
            pass_score=data.get("pass_score"),
            template=declared_style(data),
            not_run=self._read.not_run,
            tools=tools,
        )
        found = self._groups(contract, data)
        contract = replace(contract, groups=found) if found else contract
        depends = self._dependencies(contract, document.data)
        groups = tuple(replace(group, dependencies=depends) for group in contract.groups)
        return replace(contract, dependencies=depends, groups=groups)

    def _groups(self, contract: Contract, data: Mapping[str, Any]) -> tuple[Contract, ...]:
        """Read the groups of a contract that is otherwise sound. Raises ContractError."""
        found = read_groups(contract, data, self._document, self._checks, self._problems)
        for group, written in found:
            self._require_measurable(written.get("slo"), group.checks, group.fixtures)
        if self._problems:
            raise ContractError(distinct_problems(self._problems))
        return tuple(group for group, _ in found)

    def _checks_of(self, data: Mapping[str, Any]) -> tuple[CheckSpec, ...]:
        if not isinstance(data.get("checks"), list):
            return ()
        return self._checks.read(self._document, ("checks",), data["checks"], self._problems)

    def _fixtures(self, written: Any, tally: Tally) -> tuple[Fixture, ...]:
        if not isinstance(written, list):
            return ()
        found: list[Fixture] = []
        for index, item in enumerate(written):
            if not isinstance(item, dict):
                continue  # the schema has said so
            if tally.exceeded:
                break
            if "file" in item and "vars" not in item:
                found += self._fixture_file(index, item, tally)
            else:
                row = Row(self._document, ("fixtures", index), item)
                try:
                    found += self._fixtures_of([row], row.key, tally)
                except ContractError as error:
                    self._problems += error.problems
        fixtures = identified(found, self._problems)
        self._problems += unknown_skills(self._routing, fixtures)
        return fixtures

    def _fixtures_of(self, rows: list[Row], key: KeyPath, tally: Tally) -> list[Fixture]:
        """Build the fixtures of the rows, after counting them."""
        tally.add(len(rows), sum(map(own_checks, rows)), key)
        found = []
        for row in rows:
            made = fixture_from(row, self._checks.read, self._problems)
            files = self._attachments.of(row.document, row.key, row.data, self._problems)
            if made:
                found.append(replace(made, files=files) if files else made)
        return found

    def _fixture_file(self, index: int, item: Mapping[str, Any], tally: Tally) -> Sequence[Fixture]:
        key = ("fixtures", index, "file")
        reference, kind = item["file"], item.get("format")
        if not isinstance(reference, str) or kind not in (None, *FIXTURE_FORMATS):
            return []  # the schema has said so
        try:
            path = locate(reference, self._document.path)
            if path in self._fixture_files:
                what = f"`{path}` is named twice"
                self._problems.append(self._document.problem(key, what, "keep one of them"))
                return []
            text = read_text(self._revision, path)
            tally.add_text(len(text), key)
            rows = read_rows(text, path, tally.left)
            rows = convert_rows(rows, kind, item.get("columns")) if kind else rows
            found = self._fixture_files[path] = self._fixtures_of(rows, key, tally)
        except UnreadableError as error:
            self._problems.append(unreadable_problem(self._document, key, error, reference))
            return []
        except ContractError as error:
            self._problems += error.problems
            return []
        return found

    def _prompt(self, reference: Any, style: TemplateStyle | None) -> Prompt | None:
        if not isinstance(reference, str) or not reference:
            return None
        if self._read.routing:
            return self._read.prompt
        try:
            place = locate_prompt(reference, self._document.path)
            return self._read.prompt or load_prompt(self._revision, str(place), style)
        except UnreadableError as error:
            key = "prompt" if style != "instructions" else style
            self._problems.append(unreadable_problem(self._document, (key,), error, reference))
        except ContractError as error:
            self._problems += error.problems
        return None

    def _require_model_and_params(self, data: Mapping[str, Any], prompt: Prompt | None) -> None:
        model = data.get("model") or (prompt.model if prompt else None)
        if isinstance(model, str) and len(model) > LONGEST_MODEL:
            what = f"the model's name has {len(model):,} characters; the limit is {LONGEST_MODEL}"
            problem = self._document.problem(("model",), what, "write provider/model")
            self._problems.append(problem)
        if prompt is not None and "model" not in data and not prompt.model:
            what = f"neither this contract nor `{prompt.path}` sets a model"
            fix = "add a model, such as `model: openai/gpt-5.4-mini`"
            self._problems.append(self._document.problem((), what, fix))
        written = data.get("params") or {}
        if prompt and isinstance(model, str) and isinstance(written, dict):
            self._problems += param_problems(model, self._document, written, prompt)

    def _require_distinct_names(
        self, checks: tuple[CheckSpec, ...], fixtures: tuple[Fixture, ...]
    ) -> None:
        """Require distinct names of checks, because outcomes are found by name, also for
        `must_pass` and objectives."""
        names = {spec.name for spec in checks}
        for fixture in fixtures:
            taken = set(names) if fixture.checks else names
            for spec in fixture.checks:
                if spec.name in taken:
                    at = spec.position or Position(self._document.path)
                    what = (
                        f"two checks that apply to the fixture `{fixture.id}` are named "
                        f"`{spec.name}`"
                    )
                    fix = "give each check of the contract and of the fixture its own name"
                    self._problems.append(at.problem(what, fix, "name"))
                taken.add(spec.name)

    def _require_free_name(self, data: Mapping[str, Any]) -> None:
        """Refuse the policy's name, which waivers and results use in place of a contract's name."""
        name = data.get("name")
        if isinstance(name, str) and name.casefold() == POLICY_NAME:
            what = f"the name `{POLICY_NAME}` is reserved for the policy"
            self._problems.append(self._document.problem(("name",), what, "use another name"))

    def _require_measurable(
        self, slo: Any, checks: tuple[CheckSpec, ...], fixtures: tuple[Fixture, ...]
    ) -> None:
        """Require that every check and category of an objective exists, because the objective could
        never be decided otherwise."""
        if self._problems or not isinstance(slo, dict):
            return
        self._require_measures(("slo",), slo, checks, fixtures)
        categories = {fixture.category for fixture in fixtures if fixture.category}
        for name, own in (slo.get(CATEGORIES) or {}).items():
            key = ("slo", CATEGORIES, name)
            members = tuple(fixture for fixture in fixtures if fixture.category == name)
            if "." in name:
                what = (
                    f"the category `{name}` contains a dot, so the names of "
                    "its objectives are ambiguous"
                )
                self._complain_of_key(key, what, "remove the dot from the category's name")
            elif not members:
                what = f"no fixture has the category `{name}`"
                self._complain_of_key(key, what, nearest(name, categories))
            else:
                self._require_measures(key, own, checks, members)

    def _require_measures(
        self,
        key: KeyPath,
        written: Mapping[str, Any],
        checks: tuple[CheckSpec, ...],
        fixtures: tuple[Fixture, ...],
    ) -> None:
        specs = [*checks, *(spec for fixture in fixtures for spec in fixture.checks)]
        names = {spec.name for spec in specs}
        for name in written.get(CHECKS) or {}:
            if name not in names:
                what = f"no check is named `{name}`"
                self._complain_of_key((*key, CHECKS, name), what, nearest(name, names))
        if written.get("judge_score") is not None and not any(spec.shape.scores for spec in specs):
            what = "this contract has no check that gives a score"
            fix = "remove the objective, or add a check with a score, such as `similarity`"
            self._complain_of_key((*key, "judge_score"), what, fix)
        taken = self._document.data.get("sampling", {}).get("samples", 1)
        for objective in read_objectives({**written, CATEGORIES: None}):
            if (needed := objective.samples_needed) > taken:
                what = f"`{objective.name}` needs {needed} samples of each fixture, not {taken}"
                fix = f"set `sampling: {{samples: {needed}}}`, or a higher number"
                self._complain_of_key((*key, *objective.name.split(".", 1)), what, fix)

    def _complain_of_key(self, key: KeyPath, what: str, fix: str) -> None:
        self._problems.append(self._document.problem(key, what, fix, at_key=True))

    def _dependencies(self, contract: Contract, data: Mapping[str, Any]) -> dict[str, str]:
        """Return a digest of meaning for every path.

        The contract's own leaves out paths, so that a rename alone changes nothing.
        """
        steps = [step.name for step in contract.target.steps]
        inline = [item for item in data["fixtures"] if "file" not in item or "vars" in item]
        own = {
            "evaluation": evaluation_meaning(contract),
            "model": data.get("model"),
            "params": data.get("params", {}),
            "inline": inline,
            **{key: data[key] for key in ("user", "quarantine", "task", *LOOP_KEYS) if key in data},
            **({"groups": groups_meaning(contract)} if contract.groups else {}),
            **({"steps": steps} if steps else {}),
        }
        shown = {path: digest(text) for path, text in self._read.shown.items()}
        # A prompt that is made of skills is in no file of its own.
        digests = shown or prompt_file_digests(contract.target.prompts)
        digests |= user_files(data, contract)
        digests |= {path: self._content_digest(path) for path in self._read.paths}
        digests |= {path: _file_digest(found) for path, found in self._fixture_files.items()}
        digests |= {file.path: file.sha256 for f in contract.fixtures for file in f.files}
        for spec in (spec for part in contract.parts for spec in part.every_check()):
            for path, text in spec.files.items():
                digests[path] = digest(file_meaning(path, text))
        digests |= {path: self._content_digest(path) for path in recordings_of(contract)}
        for key in ("tools", "tool_results"):
            for path in tool_files(data.get(key), self._document.path):
                digests[path] = digest(file_meaning(path, read_text(self._revision, path)))
        file = self._read.file
        with_prompt = [digest(own), digests[file]] if file in digests else own
        return {**digests, file: digest(with_prompt)}

    def _content_digest(self, path: str) -> str:
        """Return the digest of the file's bytes.

        A missing recording is reported when the model is called.
        """
        entry = self._revision.entries.get(path)
        return entry.id if entry and entry.kind == "file" else "missing"


def _file_digest(fixtures: Sequence[Fixture]) -> str:
    """Return the digest of what a file's fixtures give the model, and of what is expected."""
    clusters = cluster_meaning(fixtures)
    rows = [fixture_meaning(fixture) for fixture in fixtures]
    return digest([*rows, clusters] if clusters else rows)


def _target(
    data: Mapping[str, Any], prompt: Prompt, steps: Steps, task: MessageTemplate | None
) -> Target:
    params = {**prompt.params, **data.get("params", {})}
    model = data.get("model") or prompt.model or ""
    return Target(prompt, model, params, steps=steps, task=task)


def _gate(data: Mapping[str, Any]) -> GatePolicy:
    names = ("alpha", "margin", "tolerance", "repairs", "claim", "allow_broken", "slices", "on")
    plain = {name: data[name] for name in names if name in data}
    weights = data.get("weights", {})
    mix = sorted((str(name), int(weight)) for name, weight in weights.items())
    return GatePolicy(**plain, limits=read_limits(data), weights=tuple(mix))


def _model_at(document: Document, data: Mapping[str, Any], prompt: Prompt) -> Position:
    if data.get("model"):
        return document.position(("model",))
    return Position(prompt.path, prompt.model_line)


def unreadable_problem(
    document: Document, key: tuple[str | int, ...], error: UnreadableError, reference: str
) -> Problem:
    """Return the problem in the file itself if a line is faulty, else at the place that names the
    file."""
    if error.line is None:
        return place_unreadable(document, key, error)
    path = locate_prompt(reference, document.path).path
    return Problem(posixpath.normpath(path), error.what, error.fix, error.line)


def distinct_problems(problems: list[Problem]) -> list[Problem]:
    """Keep one problem for each field at its place: the schema and a reader may both report it."""
    places = {
        (problem.path, problem.line, problem.column, problem.field or problem.what): problem
        for problem in reversed(problems)
    }
    return list(reversed(places.values()))


def differs(base: Contract, head: Contract) -> bool:
    """Return whether head runs or evaluates anything else, or its prompt file alone would: a
    contract that overrides the prompt's front matter must not hide a change of it."""
    # What takes least to digest comes first.
    target = target_digest(base.target)
    return (
        target != target_digest(head.target)
        or target != target_digest(base.target_for(head.target))
        or _recorded_answers(base) != _recorded_answers(head)
        or digest(evaluation_meaning(base)) != digest(evaluation_meaning(head))
        or contract_digest(base) != contract_digest(head)
    )


def models_of(contract: Contract) -> tuple[str, ...]:
    """Return the models of the contract, its judges, its simulated users and its embeddings."""
    parts = contract.parts
    judges = (model for part in parts for spec in part.every_check() for model in judges_of(spec))
    users = [fixture.user.model for fixture in contract.fixtures if fixture.user]
    if contract.tools and contract.tools.simulator:
        users.append(contract.tools.simulator.model)
    similar = (model for part in parts for model in embedding_models(part))
    return (contract.target.model, *judges, *users, *similar)


def recordings_of(contract: Contract) -> set[str]:
    """Return the files that answer instead of a model."""
    models = models_of(contract)
    return {path for path in map(recording_path, models) if path}


def _recorded_answers(contract: Contract) -> dict[str, str | None]:
    return {path: contract.dependencies.get(path) for path in recordings_of(contract)}


def load_contracts(
    revision: Revision, paths: Sequence[str], shapes: Mapping[str, CheckShape]
) -> tuple[dict[str, Contract], dict[str, ContractError]]:
    """Return each contract by its path, and the error of each that cannot be loaded."""
    loaded: dict[str, Contract] = {}
    failed: dict[str, ContractError] = {}
    for path in paths:
        try:
            loaded[path] = load_contract(revision, path, shapes)
        except ContractError as error:
            failed[path] = error
    return loaded, failed


def every_problem(failed: Mapping[str, ContractError]) -> list[Problem]:
    """Return the problems of contracts that cannot be loaded, each once."""
    return list(dict.fromkeys(p for error in failed.values() for p in error.problems))


class SharedNameError(ContractError):
    """Contracts that have the same name, so that no result and no waiver can tell them apart."""


def shared_names(names: Mapping[str, Sequence[str]]) -> dict[str, SharedNameError]:
    """Return an error for each contract whose name another one has. `names` maps each name to the
    paths of its contracts."""
    fix = "give each contract its own name"
    found = {}
    for name, paths in names.items():
        for path in paths if len(paths) > 1 else ():
            first = path == paths[0]
            other = f"`{paths[1]}` also has" if first else f"`{paths[0]}` already has"
            what = f"{other} the name `{name}`"
            problem = Problem(file_of_contract(path), what, fix, field="name")
            found[path] = SharedNameError([problem])
    return found


Written = Mapping[str, Any]


def read_groups(
    contract: Contract,
    data: Written,
    document: Document,
    reader: CheckReader,
    problems: list[Problem],
) -> list[tuple[Contract, Written]]:
    """Return each group as a contract, with what the file writes of it. Every mistake in its checks
    and parameters is added to `problems`.

        checks: [{type: json_schema, schema: order.json}]
        groups:
          tone: {checks: [{judge: tone}], sampling: {samples: 10}, params: {temperature: 0.7}}

    Each group becomes a contract of its own, `orders.tone`, with the prompt and the fixtures of the
    whole. So it has its own samples, comparison and verdict, and shares the level with the others.
    Requests that a group and its contract both need are sent once.
    """
    found = []
    for name, written in (data.get("groups") or {}).items():
        key = ("groups", str(name))
        checks = reader.read(document, (*key, "checks"), written["checks"], problems)
        # The fixtures' own checks are evaluated with the contract's.
        bare = tuple(replace(f, checks=(), left_out=frozenset()) for f in contract.fixtures)
        fixtures = apply_conditions(checks, bare, document.path, problems)
        problems += ungated_fixtures(document, (*key, "checks"), checks, fixtures)
        params = written.get("params", {})
        target = contract.target
        found_in = param_problems(target.model, document, params, target.prompt, target.params)
        for problem in found_in:
            problems.append(replace(problem, field=f"groups.{name}.params"))
        group = replace(
            contract,
            name=f"{contract.name}.{name}",
            checks=checks,
            fixtures=fixtures,
            sampling=replace(
                contract.sampling, **whole(written.get("sampling", {}), "samples", "seed")
            ),
            slo=read_objectives(written.get("slo", {})),
            own_params={**contract.own_params, **params},
            target=replace(target, params={**target.params, **params}),
            pass_score=written.get("pass_score"),
            part_of=contract.name,
            # The application sends one request, whatever is checked in the answer.
            checks_of_mode=contract.checks,
        )
        found.append((group, written))
    return found


def part_named(contract: Contract, name: str) -> Contract:
    """Return the group of that name, or the contract itself."""
    return next((group for group in contract.groups if group.name == name), contract)
