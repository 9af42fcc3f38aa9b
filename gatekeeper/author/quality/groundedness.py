"""Has judges say whether a rule follows from the lines of the prompt that it names."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.author.generation.ask import ask_together
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.quality.judges import Panel, Verdict
from gatekeeper.author.specification.records import Rule

STAGE = "rule_grounded"


async def judge_groundedness(
    panel: Panel, prompt: NumberedPrompt, rules: Sequence[Rule]
) -> dict[str, Verdict]:
    """Return the verdict on each rule, by its id. Raises as `Panel.ask` does."""
    found = await ask_together(*(panel.ask(STAGE, question(prompt, rule)) for rule in rules))
    return {rule.id: verdict for rule, verdict in zip(rules, found, strict=True)}


def question(prompt: NumberedPrompt, rule: Rule) -> dict[str, str]:
    """Return what the judges see. A rule that a person wrote may name no lines."""
    lines = ", ".join(map(str, rule.lines)) or "any"
    return {**prompt.data, "rule": rule.text, "lines": lines}
