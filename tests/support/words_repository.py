"""A contract for a prompt of one variable, `word`: the answer to each of 20 words is `ok`."""

from __future__ import annotations

from support.git_repository import GitRepository
from support.recorded_repository import csv

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.txt
model: openai/gpt-4o-mini
params: {temperature: 0}
fixtures: [{file: words.csv}]
checks: [{type: equals, value: ok}]
"""
WITH_OBJECTIVE = f"{CONTRACT}slo: {{success_rate: 0.99}}\n"


def commit_words(made: GitRepository, prompt: str, contract: str = CONTRACT) -> GitRepository:
    """Commit the prompt, the contract and its fixtures."""
    made.write("contracts/words.yaml", contract)
    made.write("contracts/words.csv", csv(tuple(f"word{n:02}" for n in range(20))))
    made.write("prompts/words.txt", prompt)
    made.commit("sound")
    return made
