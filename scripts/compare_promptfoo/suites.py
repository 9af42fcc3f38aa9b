"""Compares gatekeeper with promptfoo on whole suites: their requests, and which tests pass.

These commands repeat the comparison that docs/formats.md reports, in about half an hour:

    cd .gatekeeper
    npm install --prefix promptfoo promptfoo@0.121.20 node-sql-parser
    git clone --filter=blob:none --no-checkout https://github.com/promptfoo/promptfoo source
    git -C source checkout eb8d7af3815964362128f08771db58f068c6b812 -- examples
    cd ..
    .venv/bin/python -m scripts.compare_promptfoo.suites \\
        .gatekeeper/promptfoo/node_modules/.bin/promptfoo .gatekeeper/source/examples

Each `promptfooconfig*` in the folder runs in both programs against one server on this machine. The
server answers with texts that the suite's own assertions name, so some tests pass and others fail.
A suite without `defaultTest` gets one assertion that every answer passes, because gatekeeper does
not send a test without an assertion. Nothing else is changed, and no model is called.

It prints one line for each suite, and each difference: a request that promptfoo does not send in
the same form, and a test that only one of the programs passes. These things do not count: the seed,
which only gatekeeper sends; the white space that promptfoo removes for Anthropic's models; requests
to models that grade, and to OpenAI's Responses API; and tests with an assertion that gatekeeper
does not run, or decides otherwise by design.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.exported import rendered
from gatekeeper.contract.formats.promptfoo.assertion_types import MAPPED
from gatekeeper.contract.formats.promptfoo.providers import model_of
from gatekeeper.contract.formats.recognise import read_suite
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.syntax.yaml_positions import parse_once
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from scripts.compare_promptfoo.model_server import (
    ADDRESSES,
    REDIRECT,
    Answers,
    Sent,
    serve_models,
)

_POLICY = """\
contracts: ["{}"]
models: ["*/*"]
limits: {{cost_usd: null}}
history: off
checks: {{python: ["**/*.py"]}}
"""
_MOST_BYTES = 2_000_000
_LONGEST_RUN = 240
_MOST_SHOWN = 4
_SERVED = "openai|anthropic|mistral|ollama|openrouter|groq|xai|cerebras|deepseek|hyperbolic"
_NOT_COMPARED = frozenset({"seed", "random_seed", "stream", "stream_options", "usage"})
_BY_DESIGN = frozenset({"select-best", "max-score", "is-refusal"})
_PASSED_BY_ALL = "\ndefaultTest:\n  assert:\n    - {type: regex, value: '^'}\n"

Key = tuple[str, str]
"""A model, and the messages as JSON."""


@dataclass
class Outcome:
    """What the comparison of one suite found."""

    same_requests: int = 0
    same_decisions: int = 0
    not_compared: int = 0
    differences: list[str] = field(default_factory=list)


def compare(program: str, source: Path, path: str) -> Outcome | str:
    """Return what the programs do differently on one suite, or why it cannot be compared."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "suite")
        shutil.copytree(source, folder)
        text = (folder / path).read_text(encoding="utf-8")
        if "defaultTest" not in text and path.endswith(("yaml", "yml")):
            (folder / path).write_text(text + _PASSED_BY_ALL, encoding="utf-8")
        try:
            contracts = _callable_contracts(folder, path)
            expected = _expected_keys(contracts)
        except ContractError as error:
            return f"not run by gatekeeper: {error.problems[0].what}"
        if not contracts:
            return "no model of this suite can be served here"
        with serve_models(Answers.of_suite(text).answer) as server:
            rows = _run_promptfoo(program, folder, path, server.environment())
            theirs = server.take()
            passed = _run_gatekeeper(folder, path, contracts, server.environment())
            ours = server.take()
    if isinstance(rows, str) or isinstance(passed, str):
        return str(rows if isinstance(rows, str) else passed)
    not_run: dict[str, set[str]] = defaultdict(set)
    for contract in contracts:
        not_run[_name(contract.target.model)].update(note.kind for note in contract.not_run)
    known = [(row, _is_comparable(row, not_run[_row_key(row)[0]])) for row in rows]
    return _compared(expected, (theirs, known), (ours, passed))


def _callable_contracts(folder: Path, path: str) -> list[Contract]:
    files = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.stat().st_size < _MOST_BYTES
    }
    revision = MemoryRevision(files)
    suite = read_suite(revision, parse_once(files[path].decode(), path))
    found = suite.contracts if suite else ()
    loaded = [load_contract(revision, one.document.path, SHAPES) for one in found]
    return [c for c in loaded if c.target.model.partition("/")[0] in ADDRESSES]


def _expected_keys(contracts: list[Contract]) -> dict[tuple[str, str], Key]:
    """Return the model and the messages of each fixture, by contract and fixture."""
    found: dict[tuple[str, str], Key] = {}
    for contract in contracts:
        sent = rendered(contract, contract.fixtures)
        for fixture, messages in zip(contract.fixtures, sent, strict=True):
            plain = [{"role": one.role, "content": one.content} for one in messages]
            found[contract.name, fixture.id] = _key(_name(contract.target.model), plain)
    return found


def _name(model: str) -> str:
    return model.partition("/")[2]


def _key(model: str, messages: Any) -> Key:
    """Return the key of a request. Promptfoo takes the white space around each line, and empty
    lines, out of a text for Anthropic's models."""
    if model.startswith("claude") and isinstance(messages, list):
        messages = [
            {
                **one,
                "content": "\n".join(
                    line.strip() for line in one["content"].splitlines() if line.strip()
                ),
            }
            if isinstance(one.get("content"), str)
            else one
            for one in messages
        ]
    return model, _json(messages)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _run_promptfoo(
    program: str, folder: Path, path: str, environment: Mapping[str, str]
) -> list[dict[str, Any]] | str:
    """Return the results of promptfoo, or why there are none."""
    with tempfile.TemporaryDirectory() as home:
        out, redirect = Path(home, "out.json"), Path(home, "redirect.cjs")
        redirect.write_text(REDIRECT, encoding="utf-8")
        own = {"PROMPTFOO_CONFIG_DIR": home, "NODE_OPTIONS": f"--require {redirect}"}
        command = [program, "eval", "-c", Path(path).name, "-o", str(out), "--no-cache"]
        # Some other providers end promptfoo if they do not reach their service.
        for chosen in ([], [f"--filter-providers={_SERVED}"]):
            done = subprocess.run(
                [*command, "--no-table", "--no-share", *chosen],
                cwd=(folder / path).parent,
                env={**_plain_environment(), **environment, **own},
                capture_output=True,
                text=True,
                check=False,
                timeout=_LONGEST_RUN,
            )
            if out.exists():
                break
        else:
            return f"not run by promptfoo: {(done.stderr or done.stdout).strip()[-200:]}"
        return list(json.loads(out.read_text(encoding="utf-8"))["results"]["results"])


def _run_gatekeeper(
    folder: Path, path: str, contracts: list[Contract], environment: Mapping[str, str]
) -> dict[tuple[str, str], bool | None] | str:
    """Return whether each fixture passes, by contract and fixture, or why there is no result."""
    with tempfile.TemporaryDirectory() as home:
        author = ["-c", "user.name=comparison", "-c", "user.email=comparison@example.org"]
        repository = Path(home, "repository")
        shutil.copytree(folder, repository)
        (repository / ".github").mkdir(exist_ok=True)
        (repository / ".github/gatekeeper.yml").write_text(_POLICY.format(path), encoding="utf-8")
        for step in (["init", "-q"], ["add", "-A", "-f"], [*author, "commit", "-qm", "suite"]):
            subprocess.run(["git", *step], cwd=repository, check=True, capture_output=True)
        chosen = [f"--contract={contract.name}" for contract in contracts]
        done = subprocess.run(
            [sys.executable, "-m", "gatekeeper", "run", "--out", f"{home}/out", *chosen],
            cwd=repository,
            env={**_plain_environment(), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_RUN,
        )
        samples = Path(home, "out", "samples.jsonl")
        if not samples.exists():
            return f"not run by gatekeeper: {(done.stderr or done.stdout).strip()[:300]}"
        return _passed(samples)


def _plain_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


def _passed(samples: Path) -> dict[tuple[str, str], bool | None]:
    found: dict[tuple[str, str], bool | None] = {}
    for line in samples.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        results = [c["passed"] for c in sample["checks"] if c["severity"] == "error"]
        known = None if sample["error"] or None in results else all(results)
        found[sample["contract"], sample["fixture"]] = known
    return found


def _compared(
    expected: Mapping[tuple[str, str], Key],
    promptfoo: tuple[list[Sent], list[tuple[dict[str, Any], bool]]],
    gatekeeper: tuple[list[Sent], Mapping[tuple[str, str], bool | None]],
) -> Outcome:
    outcome = Outcome()
    theirs, ours = (_by_key(sent) for sent in (promptfoo[0], gatekeeper[0]))
    elsewhere = {_key(s.model, s.messages) for s in promptfoo[0] if s.interface == "responses"}
    for key in sorted(set(expected.values())):
        if key in elsewhere:
            outcome.not_compared += 1
        elif key not in ours:
            outcome.differences.append(f"gatekeeper did not send {_shown(key)}")
        elif key not in theirs:
            outcome.differences.append(f"only gatekeeper sends {_shown(key)}")
        elif ours[key] != theirs[key]:
            here, there = ours[key] - theirs[key], theirs[key] - ours[key]
            what = f"gatekeeper sends {sorted(here)}, promptfoo {sorted(there)}"
            outcome.differences.append(f"{what}: {_shown(key)}")
        else:
            outcome.same_requests += 1
    _compare_decisions(outcome, expected, promptfoo[1], gatekeeper[1])
    return outcome


def _by_key(sent: list[Sent]) -> dict[Key, set[str]]:
    """Return the parameters of each request that was sent, by its model and messages."""
    found: dict[Key, set[str]] = defaultdict(set)
    for one in sent:
        found[_key(one.model, one.messages)].add(_json(_without_seed(one.parameters)))
    return found


def _without_seed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    rest = {name: _without_seed(v) for name, v in value.items() if name not in _NOT_COMPARED}
    return {name: v for name, v in rest.items() if v != {}}


def _shown(key: Key) -> str:
    model, messages = key
    short = messages if len(messages) < 300 else f"{messages[:150]} … {messages[-150:]}"
    return f"{model}: {short}"


def _compare_decisions(
    outcome: Outcome,
    expected: Mapping[tuple[str, str], Key],
    rows: list[tuple[dict[str, Any], bool]],
    passed: Mapping[tuple[str, str], bool | None],
) -> None:
    theirs: dict[Key, Counter[bool]] = defaultdict(Counter)
    reasons: dict[Key, str] = {}
    for row, is_comparable in rows:
        key = _row_key(row)
        theirs[key][bool(row["success"])] += 1
        if not is_comparable:
            reasons[key] = ""
        graded = row.get("gradingResult") or {}
        reasons.setdefault(key, str(row.get("error") or graded.get("reason"))[:200])
    ours: dict[Key, list[bool | None]] = defaultdict(list)
    for place, key in expected.items():
        ours[key].append(passed[place]) if place in passed else reasons.update({key: ""})
    for key, decided in sorted(ours.items()):
        if not reasons.get(key) or key not in theirs:
            outcome.not_compared += len(decided)
        elif Counter(decided) == theirs[key]:
            outcome.same_decisions += len(decided)
        else:
            what = f"decisions: gatekeeper {decided}, promptfoo {dict(theirs[key])}"
            outcome.differences.append(f"{what} ({reasons[key]}): {_shown(key)}")


def _is_comparable(row: Mapping[str, Any], not_run: Collection[str]) -> bool:
    """Return whether both programs ran the test, and mean the same by each of its assertions.
    `not_run` are the types of which gatekeeper does not run each assertion on the row's model."""
    reason = (row.get("gradingResult") or {}).get("reason")
    if (row.get("error") and reason is None) or str(reason).startswith("Error running Python"):
        return False
    for part in (row.get("gradingResult") or {}).get("componentResults") or ():
        assertion = part.get("assertion") or {}
        kind = str(assertion.get("type")).removeprefix("not-")
        is_file = str(assertion.get("value")).startswith("file://")
        if (
            kind not in MAPPED
            or kind in _BY_DESIGN.union(not_run)
            or (kind == "python" and not is_file)
        ):
            return False
    return True


def _row_key(row: Mapping[str, Any]) -> Key:
    raw = row["prompt"]["raw"]
    try:
        messages = json.loads(raw)
    except ValueError:
        messages = None
    if not isinstance(messages, list):
        messages = [{"role": "user", "content": raw}]
    return _key(_name(model_of(row["provider"]["id"]) or ""), messages)


def report(folder: Path, paths: list[Path], program: str) -> Iterator[str]:
    """Yield a line for each suite, and the totals."""
    total: Counter[str] = Counter()
    for path in paths:
        try:
            found = compare(program, path.parent, path.name)
        except subprocess.TimeoutExpired:
            found = f"did not end within {_LONGEST_RUN} seconds"
        except Exception as error:
            found = f"failed: {error!r}"
        name = path.relative_to(folder)
        if isinstance(found, str):
            total["suites not compared"] += 1
            yield f"{name}: {' '.join(found.split())}"
            continue
        total["suites compared"] += 1
        total["suites without a difference"] += not found.differences
        total["same requests"] += found.same_requests
        total["same decisions"] += found.same_decisions
        total["differences"] += len(found.differences)
        yield (
            f"{name}: {found.same_requests} requests and {found.same_decisions} decisions are the "
            f"same, {len(found.differences)} differences, {found.not_compared} not compared"
        )
        yield from (f"  {difference}" for difference in found.differences[:_MOST_SHOWN])
    yield from (f"{name}: {number}" for name, number in total.items())


def main(arguments: list[str]) -> int:
    """Compare the suites and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the path of promptfoo's program")
    parser.add_argument("folder", type=Path, help="a folder with suites in its subfolders")
    parser.add_argument("--only", default="", help="a part of the paths of the wanted suites")
    chosen = parser.parse_args(arguments)
    found = [
        path
        for path in sorted(chosen.folder.rglob("promptfooconfig*"))
        if path.suffix in (".yaml", ".yml", ".json") and chosen.only in str(path)
    ]
    for line in report(chosen.folder, found, str(Path(chosen.program).resolve())):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
