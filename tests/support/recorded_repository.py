"""A small repository whose model is a recording, so that the whole gate runs without one.

The prompt `Say {{ word }}.` is answered with `ok` for every word; what a changed prompt is
answered with, a test says itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.edited_text import edited
from support.git_repository import GitRepository

from gatekeeper.cli.main import main
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request

WORDS = ("tree", "house", "river", "stone", "cloud", "bread")
PROMPT = "Say {{ word }}.\n"
RECORDING = "contracts/words.samples.jsonl"

GOOD = f"""\
# what the prompt promises
contract: 1
name: words
prompt: ../prompts/words.txt
template: jinja
model: recorded/{RECORDING}
fixtures:
  - file: words.csv
checks:
  - {{type: regex, pattern: ok}}
slo: {{success_rate: 0.5}}
"""


def under_name(contract: str, name: str, *suffixes: str) -> str:
    """The contract under another name, with files of its own of these suffixes."""
    for suffix in suffixes:
        contract = contract.replace(f"words.{suffix}", f"{name}.{suffix}")
    return edited(contract, "name: words", f"name: {name}")


def csv(words: Iterable[str] = WORDS) -> str:
    return "id,word\n" + "".join(f"{word},{word}\n" for word in words)


def recording(answers: Mapping[str, str | list[str]]) -> str:
    """A samples.jsonl of rendered user messages and their answers, one or one a repetition."""
    lines = []
    for text, answer in answers.items():
        outputs = [answer] if isinstance(answer, str) else answer
        digest = request_digest(Request("m", (Message("user", text),), {}, None, 0))
        for repetition, output in enumerate(outputs):
            lines.append(
                {
                    "contract": "words",
                    "fixture": text,
                    "arm": "head",
                    "repetition": repetition,
                    "model": "test",
                    "request": digest,
                    "output_raw": output,
                    "output": output,
                    "latency_ms": 5.0,
                    "error": None,
                }
            )
    return "".join(json.dumps(line) + "\n" for line in lines)


def answers(prompt: str, outputs: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """What the recording says for each word under a prompt."""
    text = prompt.rstrip("\n")
    return {text.replace("{{ word }}", word): output for word, output in outputs.items()}


def contract_files(
    contract: str = GOOD,
    words: Iterable[str] = WORDS,
    recorded: Mapping[str, str | list[str]] | None = None,
) -> dict[str, str]:
    """The sound contract, its prompt, fixtures and recording; more answers may be recorded."""
    words = tuple(words)
    known = answers(PROMPT, dict.fromkeys(words, "ok")) | dict(recorded or {})
    return {
        "contracts/words.yaml": contract,
        "contracts/words.csv": csv(words),
        "prompts/words.txt": PROMPT,
        RECORDING: recording(known),
    }


def write_contract(
    repository: GitRepository,
    contract: str = GOOD,
    words: Iterable[str] = WORDS,
    recorded: Mapping[str, str | list[str]] | None = None,
) -> None:
    """Write what `contract_files` holds into the work tree."""
    repository.write_all(dict(contract_files(contract, words, recorded)))


def check(repository: GitRepository, out: Path, *more: str) -> int:
    """`gatekeeper check` of the branch `pr` against `main`."""
    arms = ["--repo", str(repository.path), "--base", "main", "--head", "pr"]
    return main(["check", *arms, "--out", str(out), *more])


def result_of(out: Path) -> dict[str, Any]:
    """The result.json that a run left."""
    document: dict[str, Any] = json.loads((out / "result.json").read_text("utf-8"))
    return document
