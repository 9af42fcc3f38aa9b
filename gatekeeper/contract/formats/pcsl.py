"""Reads PCSL triples: a prompt definition (pd), an expectation suite (es) and an evaluation profile
(ep), in the names of prompt-contracts 0.1 to 0.4.

The evaluation profile is the contract. Its pd and es lie in the same folder and have its name with
`pd` and `es` in the place of `ep`, or else are called `pd` and `es`. Each further target is a
contract of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname, join
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    contract_name,
    name_of_model,
)
from gatekeeper.contract.formats.reader import Keys, Node, SuiteFiles, keys
from gatekeeper.contract.formats.rows import (
    Check,
    checks_of,
    contract_of,
    format_fields,
    from_format_fields,
    not_run,
    refuse_unknown,
    row,
    table,
)
from gatekeeper.contract.prompts.styles.literal import as_parameter, literal
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.reading.size_limits import MOST_FIXTURE_FILES
from gatekeeper.contract.values.change import prefetch
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.contract.values.unique_name import take_name

_SUFFIXES = (".json", ".yaml", ".yml")
# A part of the file's name: `ep`, `ep_assist`, `support.ep`.
_PROFILE = re.compile(r"(?<![A-Za-z])ep(?![A-Za-z])")
_APPENDED = "\n\n[USER INPUT]\n{{ input }}"
"""The text that prompt-contracts adds to a prompt that does not say where the input goes."""
_KINDS = {"pd": "prompt definition", "es": "expectation suite"}
_PATH = re.compile(r"(?:\$\.)?[^.\[\]\"'$]+(?:\.[^.\[\]\"']+|\[(?:\d{1,6}|\*)\])*")
_STEPS = ("strip_markdown_fences", "strip_whitespace", "lowercase_fields")
_ALLOWED_STEPS = (
    "strip_whitespace",
    "normalize_newlines",
    "strip_markdown_fences",
    "extract_json",
    "json_loose_parse",
    "lowercase_fields",
)
_PREFIX = "pc.check."
_JUDGE_MODEL = "openai/gpt-4o-mini"
"""The judge that prompt-contracts uses if the check names none."""
_SEVERAL = "{name} ({number})"
Written = Mapping[str, Any]


def _of_check(names: str = "") -> Keys:
    return keys(f"type severity {names}", "name id")


def _field(item: Written) -> Any:
    return item.get("field") or None


def _allowed(item: Written) -> list[Any]:
    return [as_parameter(value) for value in item["allowed"]]


def _fields(item: Written) -> list[str]:
    return [as_parameter(str(name)) for name in item.get("fields") or item["keys"]]


def _literals(key: str) -> Callable[[Written], list[str]]:
    return lambda item: [as_parameter(str(value)) for value in item[key]]


def _any_case(item: Written) -> bool:
    return not item.get("case_sensitive", True)


def _pattern(item: Written) -> str:
    flags = "".join(sorted(set(str(item.get("flags", "")).lower()) & {*"ims"}))
    return str(as_parameter(f"(?{flags}){item['pattern']}" if flags else item["pattern"]))


def _words(item: Written) -> int:
    # prompt-contracts counts words here, whatever the check is called.
    return int(item["max_out"] if "max_out" in item else item["max_tokens"])


ROWS = table(
    row("json_valid", "json_valid", keys=_of_check()),
    row("json_required", "json_required", fields=_fields, keys=_of_check("fields keys")),
    row(
        "enum enum_value", "enum", field=_field, values=_allowed,
        ignore_case=lambda item: item.get("case_insensitive") is True,
        keys=_of_check("field allowed case_insensitive"),
    ),
    row(
        "regex_absent", "not_regex", pattern=lambda item: as_parameter(item["pattern"]),
        keys=_of_check("pattern"),
    ),
    row(
        "regex_present", "regex", pattern=_pattern, field=_field,
        keys=_of_check("pattern flags field"),
    ),
    row("token_budget", "length", max=_words, unit="words", keys=_of_check("max_out max_tokens")),
    row(
        "latency_budget", "latency", max_ms=lambda item: item["max_ms"],
        keys=_of_check("p95_ms max_ms"),
    ),
    row(
        "contains_all", "contains", values=_literals("required"), match="all",
        ignore_case=_any_case, keys=_of_check("required case_sensitive"),
    ),
    row(
        "contains_any", "contains", values=_literals("options"), match="any",
        ignore_case=_any_case, keys=_of_check("options case_sensitive"),
    ),
    row(
        "judge", "judge rubric", criteria=lambda item: as_parameter(item["criteria"]),
        model=lambda item: name_of_model(item.get("model", _JUDGE_MODEL)),
        keys=_of_check("criteria model"),
    ),
    not_run(
        "similarity",
        "PCSL computes embeddings itself, but gatekeeper gets embeddings from a provider; write a "
        "gatekeeper contract with a check `similar`",
    ),
)  # fmt: skip
_LABELS = "name title version metadata author tags"
KEYS: Mapping[str, Keys] = {
    "profile": keys(
        "pcsl targets fixtures tolerances execution sampling seed prompt_template model "
        "temperature top_p max_tokens",
        f"id {_LABELS}",
    ),
    "definition": keys("pcsl id prompt checks", f"io {_LABELS}"),
    "suite": keys("pcsl checks output_schema", f"id {_LABELS}"),
    "target": keys("type model params", "name id"),
    "execution": keys("mode strict_enforce max_retries auto_repair repair_policy"),
    "auto_repair": keys("lowercase_fields strip_markdown_fences"),
    "repair_policy": keys("enabled allowed max_steps lowercase_fields"),
    "sampling": keys("n seed aggregation", "bootstrap_samples confidence_level"),
    "fixture": keys("id category expected expected_output input", "metadata"),
    "tolerance": keys("max_fail_rate"),
    **{kind: row.keys for kind, row in ROWS.items() if row.keys},
}
_IN_PROFILE = {
    "targets.*": "target",
    "execution": "execution",
    "execution.auto_repair": "auto_repair",
    "execution.repair_policy": "repair_policy",
    "sampling": "sampling",
}


def recognises(path: str, data: object) -> bool:
    """Return whether the data is an evaluation profile."""
    if not isinstance(data, dict):
        return False
    if "pcsl" in data and "prompt" not in data and "checks" not in data:
        return "targets" in data or "fixtures" in data
    named = _PROFILE.search(basename(path)) is not None
    return named and isinstance(data.get("prompt_template"), str) and "model" in data


def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate the profile, with its pd and es. Raises ContractError."""
    definition, suite = (_beside(files, root, kind) for kind in ("pd", "es"))
    notes: list[NotRun] = []
    for node, kind in ((root, "profile"), (definition, "definition"), (suite, "suite")):
        notes += node.unknown_keys(KEYS[kind])
    notes += root.unknown_in(KEYS, _IN_PROFILE)
    written = root.child("prompt_template")
    written = written if "prompt_template" in root.mapping else definition.child("prompt")
    triple = _Triple(files, root, definition, suite, written, notes)
    shared, prompt, stem = triple.shared(), triple.prompt(), triple.name()
    targets = triple.targets()
    contracts = []
    taken: set[str] = set()
    for index, target in enumerate(targets):
        model = target["model"].value
        name = stem if index == 0 else contract_name(f"{stem}-{model}", stem)
        while name in taken:
            name = f"{name}-{index + 1}"
        taken.add(name)
        at = written.at(f"./{basename(prompt.path)}")
        tree = {"template": "jinja", "prompt": at, **target, **shared}
        single = len(targets) == 1
        made = contract_of(root, name, tree, notes, prompt, single=single, parts=(model,))
        contracts.append(made)
    return tuple(contracts)


def _beside(files: SuiteFiles, root: Node, kind: str) -> Node:
    """Return the pd or es of a profile. Raises ContractError if there is none."""
    folder, file = dirname(root.document.path), basename(root.document.path)
    stem, _, suffix = file.rpartition(".")
    twin = _PROFILE.sub(kind, stem)
    wanted = [
        f"{name}{ending}"
        for name in dict.fromkeys((twin, kind))
        for ending in dict.fromkeys((f".{suffix}", *_SUFFIXES))
    ]
    there = {basename(path) for path in files.find(join(literal_pattern(folder), f"*{kind}*"))}
    found = next((name for name in wanted if name in there), None)
    if found is None:
        what = f"this evaluation profile needs `{wanted[0]}` in the same folder"
        fix = f"add this file, or rename your {_KINDS[kind]} to `{wanted[0]}`"
        raise root.problem(what, fix)
    read = files.parsed(root, found)
    if not isinstance(read.value, dict):
        raise read.problem("not a mapping", "write `key: value`")
    return read


@dataclass(frozen=True, slots=True)
class _Triple:
    """The three files of one contract, and the text of its prompt."""

    files: SuiteFiles
    profile: Node
    definition: Node
    suite: Node
    written: Node
    notes: list[NotRun]

    def name(self) -> str:
        """Return the name of the contract: the prompt's id, or else the folder."""
        path = self.profile.document.path
        folder = basename(dirname(path)) or "pcsl"
        stem = _PROFILE.sub("", basename(path).rpartition(".")[0]).strip("._-")
        written = self.definition.get("id")
        known = written if isinstance(written, str) else folder
        return contract_name(f"{known}-{stem}" if stem else known, "pcsl")

    def prompt(self) -> Prompt:
        """Return the prompt as prompt-contracts sends it. Raises ContractError."""
        written = self.written
        text = written.text()
        in_profile = written.key == ("prompt_template",)
        template = from_format_fields(written) if in_profile else literal(text) + _APPENDED
        message = MessageTemplate("user", template, written.line)
        document = written.document
        return Prompt(document.path, (message,), self.files.own_text(document))

    def targets(self) -> list[dict[str, At]]:
        """Return the model and parameters of each target."""
        if "targets" not in self.profile.mapping:
            return [self._plain_target()]
        found = []
        for node in self.profile.child("targets").mappings():
            kind, model = node.get("type"), node.child("model")
            if not isinstance(kind, str) or not isinstance(model.value, str):
                fix = "write both `type` and `model`"
                raise node.problem("a target lacks `type` or `model`", fix)
            target = {"model": model.at(f"{kind}/{model.value}")}
            if isinstance(node.get("params"), dict):
                target["params"] = node.child("params").copy()
            found.append(target)
        return found

    def _plain_target(self) -> dict[str, At]:
        model = self.profile.child("model")
        params = self.profile.copies(("temperature", "top_p", "max_tokens"))
        named = {"model": model.at(name_of_model(model.text()))}
        return {**named, **({"params": model.at(params)} if params else {})}

    def shared(self) -> dict[str, Any]:
        """Return what the contracts of all targets have in common."""
        checks, slo = _checks(self.definition, self.suite, self.notes)
        names = [check.value["name"].value for check in checks]
        promised = _tolerances(self.profile.child("tolerances"), names, self.notes)
        if promised:
            slo["checks"] = promised
        shared: dict[str, Any] = {"fixtures": self._fixtures(), "checks": checks}
        shared |= {"slo": slo} if slo else {}
        shared |= self._execution()
        sampling = self._sampling()
        return shared | ({"sampling": sampling} if sampling else {})

    def _execution(self) -> dict[str, Any]:
        node = self.profile.child("execution")
        written = node.mapping
        mode = written.get("mode", "auto" if "targets" in self.profile.mapping else "repair")
        if mode == "enforce" and not written.get("strict_enforce"):
            mode = "auto"  # it falls back to `assist` for a model that takes no schema
        retries = node.child("max_retries")
        if isinstance(retries.value, int) and retries.value > 0:
            why = "gatekeeper repairs a failing answer, but does not ask for a new one"
            self.notes.append(retries.not_run("max_retries", why))
        found: dict[str, Any] = {"mode": node.at(mode)}
        repair = self._repair(node)
        if repair and mode != "observe":
            found["repair"] = node.at(repair)
        return found

    def _repair(self, execution: Node) -> dict[str, Any]:
        policy = execution.child("repair_policy")
        if isinstance(policy.value, dict):
            allowed = policy.get("allowed")
            written = allowed if isinstance(allowed, list) else list(_STEPS[:1])
            steps = [step for step in written if step in _ALLOWED_STEPS]
            self.notes.extend(
                policy.not_run(f"repair {step}", f"gatekeeper has no repair `{step}`")
                for step in written
                if step not in _ALLOWED_STEPS
            )
            fields = policy.get("lowercase_fields")
            most = policy.mapping.get("max_steps", 2)
            if not policy.mapping.get("enabled", True):
                return {}
        else:
            automatic = execution.child("auto_repair").mapping
            fields = automatic.get("lowercase_fields")
            steps = [*_STEPS[:2]] if automatic.get("strip_markdown_fences", True) else []
            steps += ["lowercase_fields"] if fields else []
            most = len(steps)
        fields = self._plain_fields(execution, fields)
        if "lowercase_fields" in steps and not fields:
            steps.remove("lowercase_fields")
        named = {"lowercase_fields": fields} if "lowercase_fields" in steps else {}
        return {"steps": steps, "max_steps": most, **named} if steps else {}

    def _plain_fields(self, execution: Node, fields: Any) -> Any:
        """Return the fields whose paths a repair can follow, and name the others."""
        if not isinstance(fields, list):
            return fields
        plain = [field for field in fields if isinstance(field, str) and _PATH.fullmatch(field)]
        for field in fields:
            if field not in plain:
                why = f"gatekeeper cannot follow the path `{str(field)[:100]}` in a repair"
                self.notes.append(execution.not_run("repair lowercase_fields", why))
        return plain

    def _sampling(self) -> dict[str, Any]:
        node = self.profile.child("sampling")
        if not isinstance(node.value, dict):
            seeds = self.profile.mapping
            return {"seed": seeds["seed"]} if "seed" in seeds else {}
        renamed = {"n": "samples", "seed": "seed", "aggregation": "aggregate"}
        found = {
            name: node.child(key).copy()
            for key, name in renamed.items()
            if node.get(key) is not None
        }
        if "samples" in found and "aggregate" not in found:
            found["aggregate"] = node.at("first")
        return found

    def _fixtures(self) -> list[At]:
        if "fixtures" in self.profile.mapping:
            return [self._fixture(row) for row in self.profile.child("fixtures").mappings()]
        folder = join(literal_pattern(dirname(self.profile.document.path)), "fixtures")
        paths = self.files.find(f"{folder}/*.json")
        if len(paths) > MOST_FIXTURE_FILES:
            what = f"`fixtures` has {len(paths):,} files, but the limit is {MOST_FIXTURE_FILES:,}"
            fix = "move the fixtures into the profile, under `fixtures`"
            raise self.profile.problem(what, fix)
        prefetch(self.files.revision, paths)
        rows = [self.files.parsed(self.profile, f"/{path}") for path in paths]
        found = [
            self._fixture(row, basename(row.document.path).removesuffix(".json"))
            for row in rows
            if isinstance(row.value, dict)
        ]
        if not found:
            fix = "add `fixtures` to the profile, or JSON files to the folder `fixtures`"
            raise self.profile.problem("the profile has no fixtures", fix)
        return found

    def _fixture(self, node: Node, file: str | None = None) -> At:
        """Return the fixture of a row, and name each key that nothing reads once. `file` is the
        name of a file that holds it alone."""
        named = {note.kind for note in self.notes}
        unknown = node.unknown_keys(KEYS["fixture"], own=format_fields(self.written.value))
        self.notes.extend(note for note in unknown if note.kind not in named)
        variables: dict[str, Any] = {}
        fixture: dict[str, Any] = {"id": file} if file is not None else {}
        fixture["vars"] = variables
        for name, value in node.items():
            if name in ("id", "category"):
                fixture[name] = value.copy()
            elif name in ("expected", "expected_output"):
                fixture["expected"] = value.copy()
            elif name not in ("metadata", "description"):
                variables[name] = value.copy()
        return node.at(fixture)


def _checks(definition: Node, suite: Node, notes: list[NotRun]) -> tuple[list[At], dict[str, Any]]:
    """Return the checks, and the objectives on latency. Raises ContractError.

    From 0.3 on, the checks stand in either file, and `output_schema` may stand for some.
    """
    taken: set[str] = set()
    holder = suite if "checks" in suite.mapping else definition
    items = holder.child("checks").mappings() if "checks" in holder.mapping else []
    made = checks_of(items, lambda item: _check(item, taken), notes)
    checks = [check for check in made if "p95_ms" not in check.value]
    budgets = [check.value["p95_ms"] for check in made if "p95_ms" in check.value]
    slo: dict[str, Any] = {"latency_p95_ms": budgets[-1]} if budgets else {}
    schema = suite.child("output_schema")
    if isinstance(schema.value, dict):
        notes += schema.unknown_keywords()
        name = schema.at(take_name("output_schema", taken, _SEVERAL))
        checks.append(schema.at({"name": name, "type": "json_schema", "schema": schema.copy()}))
    if not checks and not slo and not notes:
        raise suite.problem("there are no checks", "add `checks`")
    return checks, slo


def _plain_kind(kind: str) -> str:
    """Return the type of a check without its prefix, and the last of its names."""
    plain = kind.removeprefix(_PREFIX)
    return ROWS[plain].kinds[0] if plain in ROWS else plain


def _check(item: Node, taken: set[str]) -> Check:
    """Return a check of the suite; only the `p95_ms` of a latency budget is an objective."""
    kind = item.get("type")
    if not isinstance(kind, str):
        fix = f"add a type, such as `type: {_PREFIX}json_valid`"
        raise item.problem("a check has no `type`", fix)
    plain = _plain_kind(kind)
    row = ROWS.get(plain)
    if row is None or row.why:
        why = row.why if row else "gatekeeper has no equivalent of PCSL checks of this type"
        raise item.cannot_run(kind, why)
    refuse_unknown(item.unknown_keys(row.keys or _of_check(), check=kind))
    if plain == "latency_budget" and "p95_ms" in item.mapping:
        return {"p95_ms": item.child("p95_ms").copy()}
    try:
        made = row.make(item.value)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        why = f"the check's parameters do not follow the PCSL format ({error})"
        raise item.cannot_run(kind, why) from None
    field = item.get("field")
    name = take_name(f"{plain} {field}" if field else plain, taken, _SEVERAL)
    severity = {"severity": "warn"} if item.get("severity") == "warn" else {}
    return {"name": item.at(name), **made, **severity}


def _tolerances(written: Node, names: Sequence[str], notes: list[NotRun]) -> dict[str, At]:
    """Return an objective for each check whose type has a `max_fail_rate`."""
    found: dict[str, At] = {}
    for kind, tolerance in written.items():
        rate = tolerance.child("max_fail_rate")
        notes += tolerance.unknown_keys(KEYS["tolerance"])
        if not isinstance(rate.value, int | float) or not 0 <= rate.value < 1:
            what = "`max_fail_rate` must be at least 0 and less than 1"
            raise rate.problem(what, "write 0.05")
        plain = _plain_kind(kind)
        named = [name for name in names if re.fullmatch(rf"{re.escape(plain)}( .*)?", name)]
        if not named:
            why = f"the tolerance has no effect, because no check of the type `{plain}` runs"
            notes.append(rate.not_run(f"tolerance of {kind}", why))
        found |= {name: rate.at(round(1 - rate.value, 9)) for name in named}
    return found
