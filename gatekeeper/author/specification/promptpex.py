"""Reads the rules, the input specification and the intent that PromptPex wrote for a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from gatekeeper.author.specification.records import InputConstraint, Rule, Specification
from gatekeeper.contract.change import Revision
from gatekeeper.contract.load import load_text

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
            return {kind: load_text(revision, path) for kind, path in found.items()}
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
