"""Answers `gatekeeper generate` with what PromptPex extracted from the prompts of its paper.

Rules, inverse rules, input specifications and tests are the recorded ones. A rule's lines are those
that share the most words with it, because PromptPex recorded none. The check of one rule of
`speech-tag` is written here; its example outputs are recorded outputs and verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from support.promptpex_repository import PromptPexData
from support.scripted_author import no_check, stage_of

_TAGS = """
CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB Unknown CantAnswer
"""
_KINDS = ("typical", "boundary", "edge")
_BLOCK = re.compile(r"<data (\w+) (\w+)>\n(.*?)\n</data \1 \2>", re.DOTALL)
_NUMBERED = re.compile(r" *(\d+) \| (.*)")
_WORD = re.compile(r"[a-z<>/]{2,}")


class PromptPexAuthor:
    """A model that knows what PromptPex extracted from one prompt. `reworded` maps rules to what
    they are called after an edit of the prompt."""

    def __init__(self, found: PromptPexData, variable: str) -> None:
        self.reworded: dict[str, str] = {}
        self._found = found
        self._variable = variable

    def __call__(self, body: dict[str, Any]) -> str:
        stage = stage_of(body)
        data = {name: text for name, _, text in _BLOCK.findall(body["messages"][1]["content"])}
        return json.dumps(getattr(self, f"_{stage}")(data))

    def _input_specification(self, data: Mapping[str, str]) -> dict[str, Any]:
        rows = [{"text": text, "lines": _lines(text, data)} for text in self._read("input_spec")]
        return {"intent": " ".join(self._read("intent")), "constraints": rows}

    def _rules(self, data: Mapping[str, str]) -> dict[str, Any]:
        texts = [self.reworded.get(text, text) for text in self._read("rules")]
        return {"rules": [{"text": text, "lines": _lines(text, data)} for text in texts]}

    def _inverse_rules(self, data: Mapping[str, str]) -> dict[str, Any]:
        inverses = {self.reworded.get(k, k): v for k, v in self._inverses().items()}
        rows = [
            {"number": number, "inverse": inverses.get(rule, "")}
            for number, rule in _rules_of(data)
        ]
        return {"inverses": rows}

    def _rule_checks(self, data: Mapping[str, str]) -> dict[str, Any]:
        return {"checks": [self._check(number, rule) for number, rule in _rules_of(data)]}

    def _open_questions(self, _: Mapping[str, str]) -> dict[str, Any]:
        return {"questions": []}

    def _tests(self, data: Mapping[str, str]) -> dict[str, Any]:
        original = {v: k for k, v in self.reworded.items()}
        rule = original.get(data["rule"], data["rule"])
        renamed = "" if rule == data["rule"] else "After the edit: "
        return {
            "rule_tests": self._rows("rule", rule, renamed),
            "inverse_tests": self._rows("inverse_rule", data.get("inverse", ""), renamed),
        }

    def _rows(self, kind: str, rule: str, prefix: str) -> list[dict[str, Any]]:
        inputs = dict.fromkeys(
            row["input"]
            for row in self._found.rows
            if row["kind"] == kind and row["rule"].strip() == rule
        )
        return [
            {
                "kind": _KINDS[number % 3],
                "scenario": "recorded",
                "reason": "PromptPex wrote it for this rule",
                "vars": {self._variable: prefix + text},
            }
            for number, text in enumerate(inputs)
        ]

    def _check(self, number: int, rule: str) -> dict[str, Any]:
        examples = {"complying": self._outputs(True), "breaking": self._outputs(False)}
        check = no_check()
        if self._found.name == "speech-tag" and "single part of speech tag" in rule:
            check |= {"type": "enum", "values": _TAGS.split()}
        return {"number": number, "check": check, **examples}

    def _outputs(self, compliant: bool) -> list[str]:
        outputs = (out for row in self._found.rows for out in row["outputs"].values())
        texts = (out["text"].strip() for out in outputs if out["compliant"] is compliant)
        return list(dict.fromkeys(texts))[:3]

    def _inverses(self) -> dict[str, str]:
        clusters: dict[str, str] = {}
        for row in self._found.rows:
            if row["kind"] == "inverse_rule":
                clusters[str(self._found.cluster(row))] = row["rule"].strip()
        rules = self._read("rules")
        return {
            rule: clusters[f"rule-{number}"]
            for number, rule in enumerate(rules, start=1)
            if f"rule-{number}" in clusters
        }

    def _read(self, part: str) -> list[str]:
        path = self._found.data / f"{self._found.name}.{part}.txt"
        return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]


def _rules_of(data: Mapping[str, str]) -> list[tuple[int, str]]:
    rows = (row.partition(". ") for row in data["rules"].splitlines())
    return [(int(number), rule) for number, _, rule in rows]


def _lines(text: str, data: Mapping[str, str]) -> list[int]:
    """The line that shares the most words with the text."""
    words = set(_WORD.findall(text.lower()))
    rows = [m.groups() for m in map(_NUMBERED.fullmatch, data["prompt"].splitlines()) if m]
    shared = {int(n): len(words & set(_WORD.findall(line.lower()))) for n, line in rows if line}
    return [max(shared, key=lambda number: shared[number])]
