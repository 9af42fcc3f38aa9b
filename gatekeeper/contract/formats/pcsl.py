"""Reads PCSL triples: a prompt definition (pd), an expectation suite (es) and an evaluation profile
(ep), in the names of prompt-contracts 0.1 to 0.4.

The evaluation profile is the contract. Its pd and es lie in the same folder and have its name with
`pd` and `es` in the place of `ep`, or else are called `pd` and `es`. Each further target is a
contract of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import basename, dirname, join
from typing import Any

from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import (
    expect_list,
    format_fields,
    from_format_fields,
    located_text,
    value_at,
)
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    ForeignSuite,
    SuiteFiles,
    build_document,
    contract_name,
    contract_path,
    copy_value,
)
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_in, unknown_keys
from gatekeeper.contract.formats.pcsl_checks import CHECK_KEYS, read_checks, tolerances
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.reading.size_limits import MOST_FIXTURE_FILES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_once
from gatekeeper.contract.values.change import prefetch
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError

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
    **CHECK_KEYS,
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


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the profile, with its pd and es. Raises ContractError."""
    definition = _beside(files, document, "pd")
    suite = _beside(files, document, "es")
    not_run: list[NotRun] = []
    for read_from, kind in ((document, "profile"), (definition, "definition"), (suite, "suite")):
        not_run += unknown_keys(read_from, (), read_from.data, KEYS[kind])
    not_run += unknown_in(document, (), KEYS, _IN_PROFILE)
    triple = _Triple(files, document, definition, suite, not_run)
    shared = triple.shared()
    prompt = triple.prompt()
    stem = triple.name()
    contracts = []
    taken: set[str] = set()
    targets = triple.targets()
    for index, target in enumerate(targets):
        name = stem if index == 0 else contract_name(f"{stem}-{target['model'].value}", stem)
        while name in taken:
            name = f"{name}-{index + 1}"
        taken.add(name)
        path = contract_path(document.path, name, single=len(targets) == 1)
        tree = {
            "contract": 1,
            "name": name,
            "template": "jinja",
            "prompt": At(f"./{basename(prompt.path)}", triple.prompt_at()),
            **target,
            **shared,
        }
        written = build_document(path, tree, document.position())
        contracts.append(ForeignContract(written, tuple(not_run), prompt, (target["model"].value,)))
    return ForeignSuite(tuple(contracts))


def _beside(files: SuiteFiles, document: Document, kind: str) -> Document:
    """Return the pd or es of a profile. Raises ContractError if there is none."""
    folder, file = dirname(document.path), basename(document.path)
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
        raise ContractError([document.problem((), what, fix)])
    path, text = files.text(document, (), found)
    read = parse_once(text, path)
    if not isinstance(read.data, dict):
        raise ContractError([read.problem((), "not a mapping", "write `key: value`")])
    return read


class _Triple:
    """The three files of one contract."""

    def __init__(
        self,
        files: SuiteFiles,
        profile: Document,
        definition: Document,
        suite: Document,
        not_run: list[NotRun],
    ) -> None:
        self._files = files
        self._profile = profile
        self._definition = definition
        self._suite = suite
        self._not_run = not_run

    def name(self) -> str:
        """Return the name of the contract: the prompt's id, or else the folder."""
        folder = basename(dirname(self._profile.path)) or "pcsl"
        stem = _PROFILE.sub("", basename(self._profile.path).rpartition(".")[0]).strip("._-")
        written = self._definition.data.get("id")
        known = written if isinstance(written, str) else folder
        return contract_name(f"{known}-{stem}" if stem else known, "pcsl")

    def _prompt_key(self) -> tuple[Document, str]:
        if "prompt_template" in self._profile.data:
            return self._profile, "prompt_template"
        return self._definition, "prompt"

    def prompt_at(self) -> Any:
        document, key = self._prompt_key()
        return document.position((key,))

    def prompt(self) -> Prompt:
        """Return the prompt as prompt-contracts sends it. Raises ContractError."""
        document, key = self._prompt_key()
        text = located_text(document, (key,))
        template = (
            from_format_fields(document, (key,), text)
            if key == "prompt_template"
            else literal(text) + _APPENDED
        )
        line = document.text_lines.get((key,), document.position((key,)).line or 1)
        message = MessageTemplate("user", template, line)
        return Prompt(document.path, (message,), _whole_text(self._files, document))

    def targets(self) -> list[dict[str, At]]:
        """Return the model and parameters of each target."""
        data = self._profile.data
        if "targets" not in data:
            return [self._plain_target()]
        found = []
        for index, item in enumerate(expect_list(self._profile, ("targets",))):
            key = ("targets", index)
            kind, model = (item.get(part) for part in ("type", "model"))
            if not isinstance(kind, str) or not isinstance(model, str):
                what, fix = "a target lacks `type` or `model`", "write both `type` and `model`"
                raise ContractError([self._profile.problem(key, what, fix)])
            at = self._profile.position((*key, "model"))
            target = {"model": At(f"{kind}/{model}", at)}
            if isinstance(item.get("params"), dict):
                target["params"] = copy_value(self._profile, (*key, "params"))
            found.append(target)
        return found

    def _plain_target(self) -> dict[str, At]:
        data = self._profile.data
        model = located_text(self._profile, ("model",))
        named = model if "/" in model else f"openai/{model}"
        params = {
            name: copy_value(self._profile, (name,))
            for name in ("temperature", "top_p", "max_tokens")
            if name in data
        }
        at = self._profile.position(("model",))
        return {"model": At(named, at), **({"params": At(params, at)} if params else {})}

    def shared(self) -> dict[str, Any]:
        """Return what the contracts of all targets have in common."""
        checks, slo = read_checks(self._definition, self._suite, self._not_run)
        names = [(check.value["name"].value, check.value) for check in checks]
        promised = tolerances(self._profile, names, self._not_run)
        if promised:
            slo["checks"] = promised
        shared: dict[str, Any] = {"fixtures": self._fixtures(), "checks": checks}
        shared |= {"slo": slo} if slo else {}
        shared |= self._execution()
        sampling = self._sampling()
        return shared | ({"sampling": sampling} if sampling else {})

    def _execution(self) -> dict[str, Any]:
        written = self._profile.data.get("execution", {})
        written = written if isinstance(written, dict) else {}
        at = self._profile.position(("execution",))
        mode = written.get("mode", "auto" if "targets" in self._profile.data else "repair")
        if mode == "enforce" and not written.get("strict_enforce"):
            mode = "auto"  # it falls back to `assist` for a model that takes no schema
        retries = written.get("max_retries", 0)
        if isinstance(retries, int) and retries > 0:
            position = self._profile.position(("execution", "max_retries"))
            why = (
                "gatekeeper can repair a failing answer, but does not ask the model for a new "
                "answer"
            )
            self._not_run.append(NotRun("max_retries", position, why))
        found: dict[str, Any] = {"mode": At(mode, at)}
        repair = self._repair(written)
        if repair and mode != "observe":
            found["repair"] = At(repair, at)
        return found

    def _repair(self, execution: Mapping[str, Any]) -> dict[str, Any]:
        policy = execution.get("repair_policy")
        if isinstance(policy, dict):
            allowed = policy.get("allowed")
            written = allowed if isinstance(allowed, list) else list(_STEPS[:1])
            steps = [step for step in written if step in _ALLOWED_STEPS]
            at = self._profile.position(("execution", "repair_policy"))
            self._not_run.extend(
                NotRun(f"repair {step}", at, f"gatekeeper has no repair `{step}`")
                for step in written
                if step not in _ALLOWED_STEPS
            )
            fields = policy.get("lowercase_fields")
            most = policy.get("max_steps", 2)
            if not policy.get("enabled", True):
                return {}
        else:
            automatic = execution.get("auto_repair", {})
            automatic = automatic if isinstance(automatic, dict) else {}
            fields = automatic.get("lowercase_fields")
            steps = [*_STEPS[:2]] if automatic.get("strip_markdown_fences", True) else []
            steps += ["lowercase_fields"] if fields else []
            most = len(steps)
        fields = self._plain_fields(fields)
        if "lowercase_fields" in steps and not fields:
            steps.remove("lowercase_fields")
        named = {"lowercase_fields": fields} if "lowercase_fields" in steps else {}
        return {"steps": steps, "max_steps": most, **named} if steps else {}

    def _plain_fields(self, fields: Any) -> Any:
        """Return the fields whose paths a repair can follow, and name the others."""
        if not isinstance(fields, list):
            return fields
        plain = [field for field in fields if isinstance(field, str) and _PATH.fullmatch(field)]
        for field in fields:
            if field not in plain:
                why = f"gatekeeper cannot follow the path `{str(field)[:100]}` in a repair"
                at = self._profile.position(("execution",))
                self._not_run.append(NotRun("repair lowercase_fields", at, why))
        return plain

    def _sampling(self) -> dict[str, Any]:
        written = self._profile.data.get("sampling")
        seed = {"seed": self._profile.data["seed"]} if "seed" in self._profile.data else {}
        if not isinstance(written, dict):
            return seed
        renamed = {"n": "samples", "seed": "seed", "aggregation": "aggregate"}
        found = {
            name: copy_value(self._profile, ("sampling", key))
            for key, name in renamed.items()
            if written.get(key) is not None
        }
        if "samples" in found and "aggregate" not in found:
            found["aggregate"] = At("first", self._profile.position(("sampling",)))
        return found

    def _fixtures(self) -> list[At]:
        if "fixtures" in self._profile.data:
            rows = expect_list(self._profile, ("fixtures",))
            return [
                self._fixture(self._profile, ("fixtures", index), row)
                for index, row in enumerate(rows)
            ]
        folder = join(literal_pattern(dirname(self._profile.path)), "fixtures")
        paths = self._files.find(f"{folder}/*.json")
        if len(paths) > MOST_FIXTURE_FILES:
            what = (
                f"the folder `fixtures` has {len(paths):,} files, but the limit is "
                f"{MOST_FIXTURE_FILES:,}"
            )
            fix = "move the fixtures into the profile, under `fixtures`"
            raise ContractError([self._profile.problem((), what, fix)])
        prefetch(self._files.revision, paths)
        found = []
        for path in paths:
            _, text = self._files.text(self._profile, (), f"/{path}")
            document = parse_once(text, path)
            if isinstance(document.data, dict):
                stem = basename(path).removesuffix(".json")
                found.append(self._fixture(document, (), {"id": stem, **document.data}))
        if not found:
            what = "the profile has no fixtures"
            fix = "add `fixtures` to the profile, or JSON files to the folder `fixtures`"
            raise ContractError([self._profile.problem((), what, fix)])
        return found

    def _fixture(self, document: Document, key: KeyPath, row: Mapping[str, Any]) -> At:
        """Return the fixture of a row, and name each key that nothing reads once."""
        holder, name = self._prompt_key()
        own = format_fields(holder.data.get(name))
        named = {note.kind for note in self._not_run}
        unknown = unknown_keys(document, key, value_at(document, key), KEYS["fixture"], own=own)
        self._not_run.extend(note for note in unknown if note.kind not in named)
        return _fixture(document, key, row)


def _fixture(document: Document, key: tuple[str | int, ...], row: Mapping[str, Any]) -> At:
    variables: dict[str, Any] = {}
    fixture: dict[str, Any] = {"vars": variables}
    for name in row:
        place = (*key, name)
        value = copy_value(document, place) if name in _written(document, key) else row[name]
        if name in ("id", "category"):
            fixture[name] = value
        elif name in ("expected", "expected_output"):
            fixture["expected"] = value
        elif name == "metadata" or name == "description":
            continue
        else:
            variables[name] = value
    return At(fixture, document.position(key))


def _written(document: Document, key: tuple[str | int, ...]) -> Mapping[str, Any]:
    value: Any = document.data
    for part in key:
        value = value[part]
    return value if isinstance(value, dict) else {}


def _whole_text(files: SuiteFiles, document: Document) -> str:
    return files.text(document, (), f"/{document.path}")[1]
