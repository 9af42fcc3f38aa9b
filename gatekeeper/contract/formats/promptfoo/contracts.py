"""Translates a promptfoo file: one native contract for each prompt and provider."""

from __future__ import annotations

import itertools
import json
import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    NothingToRunError,
    build_document,
)
from gatekeeper.contract.formats.promptfoo.assertion import Grading, NeedsVariablesError, Scope
from gatekeeper.contract.formats.promptfoo.assertion_types import APART, SET, has
from gatekeeper.contract.formats.promptfoo.assertions import Translation, distinct_names
from gatekeeper.contract.formats.promptfoo.cases import Case, category_of, read_cases
from gatekeeper.contract.formats.promptfoo.javascript import Transform, read_transform
from gatekeeper.contract.formats.promptfoo.keys import note_keys, referred_keys
from gatekeeper.contract.formats.promptfoo.pictures import is_used, picture_choices
from gatekeeper.contract.formats.promptfoo.prompts import PromptEntry, read_prompts, slug
from gatekeeper.contract.formats.promptfoo.providers import (
    ProviderEntry,
    grading_of,
    prompt_parameters,
    read_providers,
    tools_of,
)
from gatekeeper.contract.formats.promptfoo.sources import Sources
from gatekeeper.contract.formats.promptfoo.variables import combinations
from gatekeeper.contract.formats.reader import (
    CannotRunError,
    Node,
    Notes,
    SuiteFiles,
    meant,
    root_of,
)
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.values.unique_name import take_name

_MOST_SAMPLES = 1_000
_LONGEST_ID = 150
_EXPECTED = "expected"
_NO_JUDGE = (
    "the file names no model that grades; add `provider: openai:gpt-4.1` or another model to the "
    "assertion, or `options: {provider: …}` to `defaultTest`"
)
_NOT_RUN = {
    "providerOutput": "the test contains a fixed output, so gatekeeper has no model to call",
    "provider": "gatekeeper runs no test that has a `provider`; write the provider in `providers`",
    "options.prefix": "gatekeeper adds no text before the prompt; write the text into the prompt",
    "options.suffix": "gatekeeper adds no text after the prompt; write the text into the prompt",
    "options.transformVars": "`transformVars` is JavaScript, which gatekeeper does not run",
}
"""Why a test with one of these keys is not run."""
_MOST_CONTRACTS = 500
_LONGEST_NAME = 100
_NAME = "promptfooconfig"
_PROVIDERS = ("providers", "targets")


def recognises(path: str, data: object) -> bool:
    """Return whether the data is a configuration of promptfoo."""
    if not isinstance(data, dict):
        return False
    if not ("providers" in data or "targets" in data or _is_misspelt(path, data)):
        return False
    parts = ("prompts", "tests", "scenarios", "defaultTest")
    return any(part in data for part in parts) and "messages" not in data


def _is_misspelt(path: str, data: dict[Any, Any]) -> bool:
    """Return whether the file has promptfoo's name and a key that is likely its providers."""
    named = posixpath.basename(path).startswith(_NAME)
    return named and any(meant(str(key), _PROVIDERS) for key in data)


def read(files: SuiteFiles, whole: Node) -> tuple[ForeignContract, ...]:
    """Translate the file. Raises ContractError."""
    document = whole.document
    root, sources = root_of(document, follows=True), Sources(files, document)
    notes = Notes()
    note_keys(root, "suite", notes, own=frozenset(referred_keys(document.data)))
    for name in ("evaluateOptions", "commandLineOptions"):
        note_keys(root.child(name), name, notes)
    prompts = read_prompts(sources, root, notes)
    for prompt in prompts if root.get("prompts") else ():
        note_keys(prompt.node, "prompt", notes)
    providers, left_out = read_providers(sources, root)
    notes.add(*left_out)
    cases = read_cases(sources, root, notes)
    pairs = [
        (prompt, provider)
        for prompt in prompts
        for provider in providers
        if prompt.is_named(provider.prompts)
    ]
    if len(pairs) > _MOST_CONTRACTS:
        what = f"the file makes {len(pairs):,} contracts, but the limit is {_MOST_CONTRACTS}"
        raise root.problem(what, "remove prompts or providers, or split the file")
    return _translated(sources, root, notes, pairs, cases)


def _translated(
    sources: Sources,
    root: Node,
    notes: Notes,
    pairs: Sequence[tuple[PromptEntry, ProviderEntry]],
    cases: Sequence[Case],
) -> tuple[ForeignContract, ...]:
    single, common, left_out = len(pairs) == 1, notes, notes.copy()
    prompts = {prompt.short for prompt, _ in pairs}
    providers = {provider.short for _, provider in pairs}
    stem = _stem(root.document.path)
    made: list[ForeignContract] = []
    for prompt, provider in pairs:
        parts = [stem]
        parts += [prompt.short] if len(prompts) > 1 else []
        parts += [provider.short] if len(providers) > 1 else []
        name = "-".join(parts)[:_LONGEST_NAME].rstrip("-._")
        own = common.copy()
        try:
            data = ContractWriter(sources, root, own, prompt, provider).data(name, cases)
        except CannotRunError as error:
            own.add(*error.notes)
            data = None
        if data is None:
            left_out.add(*own.found.values())
            continue
        short = "-".join(parts[1:]) or name
        path = root.document.path if single else f"{root.document.path}#{short}"
        translated = build_document(path, data, root.position)
        called = (prompt.short, provider.label or provider.model)
        made.append(ForeignContract(translated, own.all(), prompt.made, called))
    if not made:
        raise _nothing(root, left_out)
    others = [note for key, note in left_out.found.items() if key not in common.found]
    return tuple(
        replace(one, not_run=tuple(dict.fromkeys((*one.not_run, *others)))) for one in made
    )


def _nothing(root: Node, notes: Notes) -> NothingToRunError:
    found = notes.all()
    named = "; ".join(f"line {n.position.line}: `{n.kind}`: {n.why}" for n in found[:5])
    what = "gatekeeper can run none of the tests in this file" + (f" ({named})" if named else "")
    fix = "correct one of these parts, or add a test with an assertion that gatekeeper can run"
    problem = root.child("tests").problem(what, fix if named else fix.partition(", or ")[2])
    return NothingToRunError(problem.problems)


def _stem(path: str) -> str:
    """Return a name for the suite: its folders, and the file's own name if it is not the usual."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0]
    parts = [part for part in folder.split("/") if part]
    if not stem.startswith(_NAME):
        parts.append(stem)
    elif stem != _NAME:
        parts.append(stem.removeprefix(_NAME).strip("-._"))
    return slug("-".join(parts), 60) or "promptfoo"


@dataclass(frozen=True, slots=True)
class _Fixture:
    """The variables of one input, of the case that they come from."""

    case: Case
    variables: Mapping[str, Any]
    label: str | None
    files: Sequence[str] = ()


@dataclass
class ContractWriter:
    """Writes one contract. What is not run goes to `notes`."""

    sources: Sources
    root: Node
    notes: Notes
    prompt: PromptEntry
    provider: ProviderEntry

    def data(self, name: str, cases: Sequence[Case]) -> dict[str, Any] | None:
        """Return the data of the contract; None if none of its tests can be run."""
        self.notes.add(*self.provider.notes)
        try:
            params, notes = prompt_parameters(self.sources, self.provider, self.prompt)
        except CannotRunError as error:
            self.notes.add(*error.notes)
            return None
        self.notes.add(*notes)
        fixtures = self._fixtures(cases)
        shared = self._shared_transform(fixtures)
        checks, pass_score, rows = self._checked(fixtures)
        if not rows:
            return None
        description, judge = self.root.copied_text("description"), self.provider.grades()
        asks = judge is not None and _asks_without_model([*checks, *rows])
        steps, samples = list(shared.repairs), self._samples(fixtures)
        data = {
            "contract": 1,
            "name": name,
            "description": description if description and description.value.strip() else None,
            "prompt": self.prompt.node.at(self.prompt.reference),
            "template": None if self.prompt.made else "nunjucks",
            "model": self.provider.node.at(self.provider.model),
            "params": params or None,
            "fixtures": rows,
            "checks": checks or None,
            "pass_score": pass_score,
            "repair": {"steps": steps, "max_steps": len(steps)} if steps else None,
            "judge": {"model": judge} if asks else None,
            "sampling": {"samples": samples} if samples > 1 else None,
        }
        return {key: value for key, value in data.items() if value is not None}

    def _samples(self, fixtures: Sequence[_Fixture]) -> int:
        options = self.root.child("evaluateOptions").get("repeat")
        options = options or self.root.child("commandLineOptions").get("repeat") or 1
        wanted = {_repeat(f.case.option("repeat"), options) for f in fixtures}
        if len(wanted) > 1:
            why = f"gatekeeper repeats all tests the same number of times, here {max(wanted)} times"
            self.notes.add(self.root.child("tests").not_run("repeat", why))
        return min(max(wanted, default=1), _MOST_SAMPLES)

    def _fixtures(self, cases: Sequence[Case]) -> list[_Fixture]:
        made: list[_Fixture] = []
        for case in cases:
            allowed = case.field("prompts")
            if allowed is not None and not self.prompt.is_named(allowed.value):
                continue
            providers = case.field("providers")
            if providers is not None and not self.provider.is_named(providers.value):
                continue
            try:
                made += self._of_case(case)
            except CannotRunError as error:
                self.notes.add(*error.notes)
            if len(made) > MOST_FIXTURES:
                what = f"the lists in `vars` make more than {MOST_FIXTURES:,} tests"
                raise case.node.problem(what, "shorten the lists in `vars`")
        return made

    def _of_case(self, case: Case) -> list[_Fixture]:
        self._require_plain(case)
        expansion = case.option("disableVarExpansion")
        multiply = expansion is None or expansion.value is not True
        variables = case.variables(self.sources)
        files = self._pictures(case, variables, multiply=multiply)
        found = combinations(
            self.sources, case.node, variables, multiply=multiply, in_json=self.prompt.is_json
        )
        if len(files) * len(found) > MOST_FIXTURES:
            what = f"the lists in `vars` make more than {MOST_FIXTURES:,} tests"
            raise case.node.problem(what, "shorten the lists in `vars`")
        description = case.node.get("description")
        label = " ".join(description.split())[:_LONGEST_ID] if isinstance(description, str) else ""
        label = label if label.isprintable() else ""
        return [_Fixture(case, v, label or None, own) for own in files for v in found]

    def _pictures(
        self, case: Case, variables: dict[str, Node], *, multiply: bool
    ) -> list[tuple[str, ...]]:
        """Take the pictures that the prompt sends out of the variables, and return the paths of
        each fixture's, in order. Raises CannotRunError, and ContractError if no file matches."""
        names = self.prompt.pictures
        written = [variables.pop(name, case.node.child("vars")) for name in names]
        rest = [*variables.values(), *case.default_asserts(), *case.asserts()] if names else []
        for node in rest:
            if is_used(node.value, names):
                why = "it reads a picture as text; a picture can only be sent"
                raise node.cannot_run(str(node.get("type") or "vars"), why)
        choices = [picture_choices(self.sources, node, multiply=multiply) for node in written]
        if math.prod(map(len, choices)) > MOST_FIXTURES:
            what = f"the lists in `vars` make more than {MOST_FIXTURES:,} tests"
            raise case.node.problem(what, "shorten the lists in `vars`")
        return [*itertools.product(*choices)]

    def _require_plain(self, case: Case) -> None:
        """Raise CannotRunError if the test needs what gatekeeper does not do."""
        for name, why in _NOT_RUN.items():
            option = name.removeprefix("options.")
            node = case.field(name) if option == name else case.option(option)
            if node is not None and (node.value or option == name):
                raise node.cannot_run(name, why)

    def _transform_of(self, case: Case) -> Transform:
        """Return what is done to an output before the test's assertions.

        Raises CannotRunError if gatekeeper does not do it.
        """
        known: list[Transform] = []
        own = case.option("transform") or case.option("postprocess")
        for node in filter(None, (self.provider.transform, own)):
            found = read_transform(node.value)
            if found is None:
                why = f"gatekeeper does not run the transform: {str(node.value)[:100]}"
                raise node.cannot_run("transform", why)
            known.append(found)
        fields = [one.field for one in known if one.field]
        if len(fields) > 1:
            why = "two transforms select a part of JSON, but gatekeeper supports only one"
            raise (own or case.node).cannot_run("transform", why)
        steps = dict.fromkeys(step for one in known for step in one.repairs)
        return Transform(fields[0] if fields else None, tuple(steps))

    def _shared_transform(self, fixtures: list[_Fixture]) -> Transform:
        """Return the transform of all tests, and leave out those whose own is not run. A contract
        has one list of repairs, so a test with other steps is left out, too."""
        first: Transform | None = None
        for fixture in list(fixtures):
            try:
                found = self._transform_of(fixture.case)
                first = found if first is None else first
                if found.repairs != first.repairs:
                    node = fixture.case.option("transform") or fixture.case.node
                    why = "it differs from that of the first test; use a separate file"
                    raise node.cannot_run("transform", why)
            except CannotRunError as error:
                self.notes.add(*error.notes)
                fixtures.remove(fixture)
        return first or Transform()

    def _checked(self, fixtures: Sequence[_Fixture]) -> tuple[list[At], float | None, list[At]]:
        """Return the checks of all fixtures, their pass score, and the fixtures with theirs."""
        thresholds = {fixture.case.threshold() for fixture in fixtures}
        pass_score = next(iter(thresholds), None)
        per_test = (
            len(thresholds) > 1
            or (pass_score is not None and not 0 < pass_score <= 1)
            or any(_needs_own_score(fixture.case) for fixture in fixtures)
        )
        common, left = ([], None) if per_test else self._common(fixtures)
        names = {check.value["name"] for check in common if "name" in check.value}
        rows: list[At] = []
        taken: set[str] = set()
        for fixture in fixtures:
            try:
                own = self._own_checks(fixture, left, scored=per_test)
            except CannotRunError as error:
                self.notes.add(*error.notes)
                continue
            gating = [c for c in (*common, *own) if c.value.get("severity") != "warn"]
            if not gating:
                why = "none of its assertions can be run, so the prompt is not sent"
                self.notes.add(fixture.case.node.not_run("test", why))
                continue
            rows.append(self._row(fixture, own, names, taken))
        return common, None if per_test else pass_score, rows

    def _common(self, fixtures: Sequence[_Fixture]) -> tuple[list[At], list[Node] | None]:
        """Return the checks of `defaultTest` that apply to all fixtures alike, and its assertions
        that have to be translated for each; None if that is all of them."""
        cases = {id(f.case): f.case for f in fixtures}.values()
        lists = {tuple(node.key for node in case.default_asserts()) for case in cases}
        fields = {self._transform_of(case).field for case in cases}
        gradings = {_grading_key(case) for case in cases}
        if len(lists) != 1 or len(fields) > 1 or len(gradings) > 1:
            return [], None
        texts = _text_variables(fixtures)
        checks: list[At] = []
        left: list[Node] = []
        case = fixtures[0].case
        for node in case.default_asserts():
            scope = self._scope(case, None, texts)
            try:
                checks += Translation(self.notes).checks([node], scope)
            except NeedsVariablesError:
                left.append(node)
        named = distinct_names([check.value for check in checks])
        done = [replace(check, value=value) for check, value in zip(checks, named, strict=True)]
        return done, left

    def _own_checks(self, fixture: _Fixture, left: list[Node] | None, *, scored: bool) -> list[At]:
        case = fixture.case
        default = case.default_asserts() if left is None else left
        asserts = [*default, *case.asserts()]
        scope = self._scope(case, fixture.variables, _text_variables([fixture]))
        threshold = case.threshold()
        scoring = _scoring_function(case)
        translation = Translation(self.notes)
        if scoring is None and (not scored or threshold is None):
            return translation.checks(asserts, scope)
        apart = [node for node in asserts if has(node.get("type"), APART)]
        counted = [node for node in asserts if not has(node.get("type"), APART)]
        checks = translation.checks(apart, scope)
        if counted and scoring is not None:
            checks.append(translation.scoring_check(scoring, counted, threshold, scope))
        elif counted and threshold is not None:
            node = case.field("threshold") or case.node
            checks.append(translation.scored(node, counted, threshold, scope))
        return checks

    def _scope(
        self, case: Case, variables: Mapping[str, Any] | None, texts: frozenset[str]
    ) -> Scope:
        grading = Grading(
            own_prompt=case.option("rubricPrompt") is not None,
            judge_fault=None if self.provider.grades() else _NO_JUDGE,
        )
        provider = case.option("provider")
        if provider is not None:
            grading = grading_of(provider, grading)
        return Scope(
            sources=self.sources,
            grading=grading,
            variables=variables,
            texts=texts,
            tools=tools_of(self.provider, self.prompt),
            field=self._transform_of(case).field,
        )

    def _row(self, fixture: _Fixture, own: list[At], names: set[str], taken: set[str]) -> At:
        row: dict[str, Any] = {}
        if fixture.label:
            row["id"] = take_name(fixture.label, taken)
        row["vars"] = dict(fixture.variables)
        if fixture.files:
            row["files"] = [*fixture.files]
        if _EXPECTED in fixture.variables:
            # A check reads this name from the fixture itself.
            row[_EXPECTED] = fixture.variables[_EXPECTED]
            if not self.prompt.names(_EXPECTED):
                del row["vars"][_EXPECTED]
        metadata = fixture.case.metadata()
        category = category_of(metadata)
        if category:
            row["category"] = category
        if metadata:
            row["metadata"] = metadata
        if own:
            values = distinct_names([check.value for check in own], names)
            row["checks"] = [replace(c, value=v) for c, v in zip(own, values, strict=True)]
        return fixture.case.node.at(row)


def _scoring_function(case: Case) -> Node | None:
    node = case.field("assertScoringFunction")
    return node if node is not None and node.value else None


def _needs_own_score(case: Case) -> bool:
    """Return whether something else than the mean of the scores of all checks decides the test."""
    asserts = (*case.default_asserts(), *case.asserts())
    kinds = [node.get("type") for node in asserts]
    other = any(kind == SET or has(kind, APART) for kind in kinds)
    return _scoring_function(case) is not None or (other and case.threshold() is not None)


def _text_variables(fixtures: Sequence[_Fixture]) -> frozenset[str]:
    """Return the variables that are text in every fixture."""
    found: set[str] | None = None
    for fixture in fixtures:
        own = {name for name, value in fixture.variables.items() if isinstance(value, str)}
        found = own if found is None else found & own
    return frozenset(found or ())


def _grading_key(case: Case) -> str:
    nodes = (case.option("provider"), case.option("rubricPrompt"))
    return json.dumps([node.value if node else None for node in nodes], default=str)


def _repeat(node: Node | None, default: Any) -> int:
    value = default if node is None else node.value
    sound = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if sound else 1


def _asks_without_model(value: Any) -> bool:
    """Return whether a judge is asked that names no model."""
    if isinstance(value, At):
        return _asks_without_model(value.value)
    if isinstance(value, list):
        return any(map(_asks_without_model, value))
    if not isinstance(value, dict):
        return False
    if "judge" in value:
        return "model" not in value
    return _asks_without_model(value.get("checks", []))
