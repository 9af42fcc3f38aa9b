"""What a judge may answer, how it is asked for, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

NO_CLAIMS = "there are no claims"
"""The verdict about an output that says nothing which the context could support."""
_MOST_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer: `label` in its own words, `score` from 0 to 1, and its reason."""

    label: str
    score: float
    reason: str


class AnswerForm(Protocol):
    """The form of a judge's answer."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the answer, in the order in which it is to be written."""
        ...

    @property
    def keys(self) -> Collection[str]:
        """The keys of the answer's objects."""
        ...

    @property
    def instruction(self) -> str:
        """What to write, in a sentence, for a judge that cannot be given a schema."""
        ...

    @property
    def listed(self) -> str:
        """The possible verdicts as a list, for the prompt."""
        ...

    def read(self, answer: Mapping[str, Any]) -> Verdict | None:
        """Return the verdict; None if the answer does not have this form."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible verdict, and what it means."""

    label: str
    score: float
    meaning: str = ""


class ChoiceForm:
    """A reason, and then one of several verdicts."""

    keys = ("reason", "verdict")

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._by_label = {choice.label.casefold(): choice for choice in choices}
        labels = [choice.label for choice in choices]
        self.schema = _object(reason={"type": "string"}, verdict={"type": "string", "enum": labels})
        named = " or ".join(json.dumps(label, ensure_ascii=False) for label in labels)
        self.instruction = f'{{"reason": "…", "verdict": …}}, the verdict being {named}'
        self.listed = "\n".join(
            f"- {choice.label}{': ' if choice.meaning else ''}{choice.meaning}"
            for choice in choices
        )

    def read(self, answer: Mapping[str, Any]) -> Verdict | None:
        reason, given = answer.get("reason"), answer.get("verdict")
        if isinstance(given, int) and not isinstance(given, bool):
            given = str(given)  # a level of a scale
        if not isinstance(reason, str) or not isinstance(given, str):
            return None
        choice = self._by_label.get(given.strip().casefold())
        return None if choice is None else Verdict(choice.label, choice.score, _shown(reason))


class ClaimForm:
    """Every claim of the output, each with its evidence and whether it is supported. The score is
    the share of supported claims; 1 for an output that claims nothing."""

    keys = ("claims", "claim", "evidence", "supported")

    def __init__(self) -> None:
        claim = _object(
            claim={"type": "string"}, evidence={"type": "string"}, supported={"type": "boolean"}
        )
        self.schema = _object(claims={"type": "array", "items": claim})
        self.instruction = (
            '{"claims": [{"claim": "…", "evidence": "…", "supported": true or false}, …]}, '
            "the evidence being a quotation from the context, or why there is none"
        )
        self.listed = ""

    def read(self, answer: Mapping[str, Any]) -> Verdict | None:
        claims = answer.get("claims")
        if not isinstance(claims, list) or not all(map(_is_claim, claims)):
            return None
        wrong = [claim for claim in claims if not claim["supported"]]
        supported = len(claims) - len(wrong)
        score = supported / len(claims) if claims else 1.0
        reason = "; ".join(f"{claim['claim']} ({claim['evidence']})" for claim in wrong)
        label = f"{supported} of {len(claims)} claims are supported" if claims else NO_CLAIMS
        return Verdict(label, score, _shown(reason))


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _is_claim(claim: Any) -> bool:
    if not isinstance(claim, dict) or not isinstance(claim.get("supported"), bool):
        return False
    return isinstance(claim.get("claim"), str) and isinstance(claim.get("evidence"), str)


def _shown(reason: str) -> str:
    text = " ".join(reason.encode("utf-8", "replace").decode("utf-8").split())
    return text if len(text) <= _MOST_REASON else text[:_MOST_REASON] + "…"
