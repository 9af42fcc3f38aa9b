"""Converts the checks of a contract file to CheckSpecs: validated by type, with their files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from gatekeeper.contract.checks.judge_settings import with_contract_judge
from gatekeeper.contract.meaning.schemas import COMMON_KEYS, key_problems
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.reading.size_limits import MOST_CHECKS
from gatekeeper.contract.syntax.schema_errors import nearest, schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import SHORT_FORMS, CheckShape, CheckSpec, Fixture
from gatekeeper.errors import ContractError, Problem

MOST_LEVELS = 3
"""How many levels of checks may stand inside a check."""
SCHEMA_SUFFIXES = (".json", ".yaml", ".yml")

# The meta-schemas come with the JSON Schema library.
_PUBLISHED = ("https://json-schema.org/", "http://json-schema.org/")

# Values below these keywords are data, even if it looks like a reference.
_DATA_KEYWORDS = ("const", "enum", "default", "examples")


@dataclass(frozen=True, slots=True)
class CheckReader:
    """Reads checks of one revision; the shapes say which check types there are."""

    revision: Revision
    shapes: Mapping[str, CheckShape]
    judge: Mapping[str, Any] = field(default_factory=dict)
    """The contract's `judge`: the settings of its judges, unless a check sets its own."""

    def read(
        self,
        document: Document,
        key: KeyPath,
        written: Any,
        problems: list[Problem],
        level: int = 0,
    ) -> tuple[CheckSpec, ...]:
        """Read the checks of a list at `key`; every mistake is added to `problems`. `level` is how
        many other checks hold the list."""
        if not isinstance(written, list):
            problems.append(
                document.problem(key, "not a list", "write each check as an item `- type: …`")
            )
            return ()
        if len(written) > MOST_CHECKS:
            what = f"the list has {len(written):,} checks, but the limit is {MOST_CHECKS:,}"
            problems.append(document.problem(key, what, "remove checks, or split the contract"))
            return ()
        specs: list[CheckSpec] = []
        given: list[bool] = []
        for index, item in enumerate(written):
            found: list[Problem] = []
            spec = self._check(document, (*key, index), item, found, level)
            problems.extend(found)
            if spec and not found:
                specs.append(spec)
                given.append(bool(item.get("name")))
        problems.extend(_named_twice(document, key, written))
        return _distinct(specs, given)

    def _check(
        self, document: Document, key: KeyPath, item: Any, problems: list[Problem], level: int
    ) -> CheckSpec | None:
        if not isinstance(item, dict):
            fix = "write the check like `{type: contains, value: …}`"
            problems.append(document.problem(key, "a check is not a mapping", fix))
            return None
        kind = check_type(item)
        if not isinstance(kind, str):
            fix = f"add a type; {nearest('', self.shapes)}"
            problems.append(document.problem(key, "`type` is missing or not text", fix))
            return None
        shape = self.shapes.get(kind)
        if shape is None:
            what = f"there is no check type `{kind}`"
            problems.append(
                document.problem((*key, "type"), what, hint_for_type(kind, self.shapes))
            )
            return None
        problems.extend(key_problems(document, key, item, part=level > 0))
        params = {name: value for name, value in item.items() if name not in COMMON_KEYS}
        schema = shape.schema
        if "additionalProperties" not in schema:
            schema = {"additionalProperties": False, **schema}
        problems.extend(schema_problems(document, schema, params, key, COMMON_KEYS))
        if problems:
            return None
        parts: tuple[CheckSpec, ...] = ()
        if shape.composed:
            parts = self._parts(document, (*key, "checks"), params.pop("checks"), problems, level)
            scores = shape.scores or any(part.shape.scores for part in parts)
            shape = replace(shape, scores=scores)
        files: dict[str, str] = {}
        params = self._with_files(document, key, params, shape, files, problems)
        if kind == "judge":
            params = with_contract_judge(self.judge, params)
        return CheckSpec(
            type=kind,
            name=item.get("name") or _name_of(kind, item, shape, parts),
            params=params,
            severity=item.get("severity", "error"),
            must_pass=item.get("must_pass", False),
            position=document.position(key),
            files=files,
            shape=shape,
            negated=item.get("not", False),
            when=item.get("when"),
            weight=float(item.get("weight", 1)),
            parts=parts,
            turn=None if item.get("turn") is None else int(item["turn"]),
        )

    def _parts(
        self,
        document: Document,
        key: KeyPath,
        written: Any,
        problems: list[Problem],
        level: int,
    ) -> tuple[CheckSpec, ...]:
        if level < MOST_LEVELS:
            return self.read(document, key, written, problems, level + 1)
        what = f"checks are nested deeper than {MOST_LEVELS} levels"
        fix = "move the inner checks into the outermost `checks`, as separate items"
        problems.append(document.problem(key, what, fix))
        return ()

    def _with_files(
        self,
        document: Document,
        key: KeyPath,
        params: dict[str, Any],
        shape: CheckShape,
        files: dict[str, str],
        problems: list[Problem],
    ) -> dict[str, Any]:
        """Replace paths in `params` by paths from the repository root, the keys of `files`."""
        resolved = dict(params)
        for name in shape.paths:
            value = params.get(name)
            try:
                if isinstance(value, str):
                    resolved[name] = locate(value, document.path)
                    self._add(resolved[name], files)
                elif value is not None:
                    self._follow(value, document.path, files)
            except UnreadableError as error:
                problems.append(place_unreadable(document, (*key, name), error))
            except ContractError as error:
                problems.extend(error.problems)
        try:
            resolved |= located_code(params, shape, document.path)
            for path in code_paths(resolved, shape):
                self._add(path, files)
        except UnreadableError as error:
            problems.append(place_unreadable(document, (*key, shape.code or ""), error))
        return resolved

    def _add(self, path: str, files: dict[str, str]) -> None:
        if path in files:
            return
        try:
            files[path] = read_text(self.revision, path)
        except UnreadableError as error:
            if error.line is None:
                raise
            raise ContractError([Problem(path, error.what, error.fix, error.line)]) from None
        if path.lower().endswith(SCHEMA_SUFFIXES):
            self._follow(parse(files[path], path).data, path, files)

    def _follow(self, schema: Any, path: str, files: dict[str, str]) -> None:
        own = set(schema_ids(schema))
        for reference in schema_references(schema):
            target = reference.split("#", 1)[0]
            if not target or target in own or target.startswith(_PUBLISHED):
                continue
            try:
                self._add(locate(target, path), files)
            except UnreadableError as error:
                what = f"`{path}` has the $ref `{reference}`, but {error.what}"
                raise UnreadableError(what, error.fix) from None


def check_type(item: Mapping[str, Any]) -> Any:
    """Return the type of a check as written, in its own key or as a short form."""
    short = (name for name in SHORT_FORMS if name in item)
    return item["type"] if "type" in item else next(short, None)


def place_unreadable(document: Document, key: KeyPath, error: UnreadableError) -> Problem:
    return document.problem(key, error.what, error.fix)


def schema_references(schema: Any) -> Iterator[str]:
    """Return every `$ref` and `$dynamicRef` of a JSON Schema."""
    for mapping in _mappings(schema):
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(mapping.get(keyword), str):
                yield mapping[keyword]


def schema_ids(schema: Any) -> Iterator[str]:
    """Return every `$id` that a JSON Schema gives itself or one of its parts."""
    for mapping in _mappings(schema):
        if isinstance(mapping.get("$id"), str):
            yield mapping["$id"].split("#", 1)[0]


def _mappings(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list):
        for item in schema:
            yield from _mappings(item)
    if isinstance(schema, dict):
        yield schema
        for name, value in schema.items():
            if name not in _DATA_KEYWORDS:
                yield from _mappings(value)


def _name_of(
    kind: str, item: Mapping[str, Any], shape: CheckShape, parts: Sequence[CheckSpec]
) -> str:
    written = {"checks": [part.name for part in parts]} if parts else item
    name = default_name(kind, written, shape)
    return f"not {name}" if item.get("not") is True else name


def default_name(kind: str, item: Mapping[str, Any], shape: CheckShape) -> str:
    """Return the type and its main parameter: the first required one, else the first as written.
    Of one that is switched on, such as `table: true`, it is the parameter's name."""
    required = shape.schema.get("required", ())
    names = [*required, *(key for key in item if key not in COMMON_KEYS)]
    main = next((name for name in names if name in item), None)
    value = None if main is None else item[main]
    if value is True and main not in required:
        value = main
    if isinstance(value, list):
        value = ", ".join(str(part) for part in value)
    if value is None or isinstance(value, dict):
        return kind
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return f"{kind} {text if len(text) <= 60 else text[:57] + '…'}".rstrip()


def _named_twice(document: Document, key: KeyPath, written: Sequence[Any]) -> Iterator[Problem]:
    named = [item.get("name") for item in written if isinstance(item, dict)]
    for name, count in Counter(name for name in named if isinstance(name, str)).items():
        if count > 1:
            what = f"{count} checks are named `{name}`"
            yield document.problem(key, what, "give each check its own name")


def _distinct(specs: Sequence[CheckSpec], given: Sequence[bool]) -> tuple[CheckSpec, ...]:
    """Give a number to each name that was made twice, or that an author gave to another check:
    objectives refer to checks by their names."""
    taken = {spec.name for spec, own in zip(specs, given, strict=True) if own}
    made: Counter[str] = Counter()
    distinct = []
    for spec, own in zip(specs, given, strict=True):
        name = spec.name
        while not own and name in taken:
            made[spec.name] += 1
            name = f"{spec.name} ({made[spec.name] + 1})"
        taken.add(name)
        distinct.append(spec if name == spec.name else replace(spec, name=name))
    return tuple(distinct)


def with_own_names(
    fixtures: tuple[Fixture, ...], checks: tuple[CheckSpec, ...]
) -> tuple[Fixture, ...]:
    """Return the fixtures with names for their checks that differ from the contract's, because both
    apply to the same sample."""
    taken = {spec.name for spec in checks}
    return tuple(
        replace(
            fixture,
            checks=tuple(
                replace(spec, name=f"{spec.name} (of the fixture)") if spec.name in taken else spec
                for spec in fixture.checks
            ),
        )
        if fixture.checks
        else fixture
        for fixture in fixtures
    )


CHECKS_HERE: Mapping[str, str] = {
    "one_of": "type: enum, values: [...]",
    "exact_match": "type: equals, value: ...",
    "icontains": "type: contains, value: ..., ignore_case: true",
    "contains_any": "type: contains, values: [...], match: any",
    "contains_all": "type: contains, values: [...]",
    "max_length": "type: length, max: ...",
    "word_count": "type: length, unit: words, max: ...",
    "is_json": "type: json_valid",
    "is_xml": "type: parses_as, format: xml",
    "is_html": "type: parses_as, format: html",
    "is_sql": "type: parses_as, format: sql",
    "is_refusal": "type: refusal, expect: refusal",
    "rouge_n": "type: rouge, variant: rouge1, value: ...",
    "llm_rubric": "judge: rubric, criteria: ...",
    "g_eval": "judge: rubric, criteria: ...",
    "factuality": "judge: rubric, criteria: ..., reference: ...",
    "faithfulness": "judge: faithful, context: ...",
    "context_faithfulness": "judge: faithful, context: ...",
    "answer_relevance": "judge: answers_question",
    "select_best": "judge: prefer",
}
"""How to write the check of each name here; `...` stands for what its author chooses."""
ENTRY_POINTS = "gatekeeper.checks"
"""The group of entry points by which packages bring check types."""


def hint_for_type(kind: str, known: Iterable[str]) -> str:
    """Return how to write a check of an unknown type: by its name in other tools, else by the
    installed package that has it, else the nearest known type, else all of them."""
    here = CHECKS_HERE.get(kind.lower().replace("-", "_"))
    if here:
        return f"write `{{{here}}}`"
    package = _package_with(kind)
    if package:
        return (
            f"add the package `{package}`, which has this check, to "
            "`checks.packages` in the policy "
            "on the branch to merge into"
        )
    return nearest(kind, known)


@cache
def _package_with(kind: str) -> str | None:
    """Return the installed package that brings a check of this type, with its version. None if no
    package does."""
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=kind):
        if point.dist is not None:
            return f"{point.dist.name}=={point.dist.version}"
    return None


MODULES = "modules"
"""The parameter that names further files."""


def code_paths(params: Mapping[str, Any], shape: CheckShape) -> tuple[str, ...]:
    """Return the paths from the repository root of a loaded check's code, its own file first."""
    if shape.code is None:
        return ()
    return (params[shape.code].rpartition(":")[0], *params.get(MODULES, ()))


def located_code(params: Mapping[str, Any], shape: CheckShape, written_in: str) -> dict[str, Any]:
    """Return the parameters that name code, with paths from the repository root.

    Raises UnreadableError for a path that leads out of the repository.
    """
    if shape.code is None:
        return {}
    path, _, function = params[shape.code].rpartition(":")
    modules = [locate(module, written_in) for module in params.get(MODULES, ())]
    located = {shape.code: f"{locate(path, written_in)}:{function}"}
    return located | ({MODULES: modules} if modules else {})


def named_code(item: Mapping[str, Any], shape: CheckShape | None, written_in: str) -> list[str]:
    """Return the paths of the code that a check names, if it is written as it should be.

    Raises UnreadableError for a path that leads out of the repository.
    """
    written = item.get(shape.code) if shape and shape.code else None
    modules = item.get(MODULES, ())
    if not isinstance(written, str):
        return []
    named = [written.rpartition(":")[0], *(modules if isinstance(modules, list) else ())]
    return [locate(path, written_in) for path in named if isinstance(path, str)]
