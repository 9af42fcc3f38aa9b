"""Pull requests on the repository of `samples.py`: what they write, and how they are evaluated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.edited_text import edited
from support.git_repository import GitRepository
from support.past_runs import line
from support.proposed_change import MAIN, Content, import_commits, one_commit
from support.recorded_repository import GOOD, PROMPT, answers, check, contract_files, result_of
from support.ways_in import Answered, RunGate

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request

CONTRACT = "contracts/words.yaml"
FIXTURES = "contracts/words.csv"
PROMPT_FILE = "prompts/words.txt"
POLICY = ".github/gatekeeper.yml"
PR = "refs/heads/pr"

OTHER = "Please say {{ word }}.\n"
MANY = tuple(f"word{number}" for number in range(40))
NO_SLO = edited(GOOD, "slo: {success_rate: 0.5}\n", "")
SAYS_OK = "{type: regex, pattern: ok}"

Answers = Mapping[str, str | list[str]]


def all_say(output: str | list[str], prompt: str = OTHER) -> Answers:
    """Every word is answered with the same under the prompt."""
    return answers(prompt, dict.fromkeys(MANY, output))


def some_say(output: str, count: int, prompt: str = OTHER) -> Answers:
    """The first words are answered with `output` under the prompt, all others with `ok`."""
    return answers(prompt, {w: output if i < count else "ok" for i, w in enumerate(MANY)})


HALF_BREAK = some_say("no", 20)


@dataclass(frozen=True)
class Proposal:
    """A pull request: `writes` over what is at base, where None deletes the file.

    Base is a contract, its prompt, its fixtures, its recording and the files `before`.
    """

    name: str
    why: str
    writes: Mapping[str, Content]
    code: int = 1
    reason: str | None = None
    contract: str = NO_SLO
    recorded: Answers = field(default_factory=lambda: HALF_BREAK)
    before: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def base(self) -> dict[str, Content]:
        """The files of the branch that is merged into."""
        return {**contract_files(self.contract, MANY, self.recorded), **self.before}

    def run_check(self, run_gate: RunGate, **more: Any) -> Answered:
        """Have it run by a way in; `more` is for `WayIn.run_check`."""
        return run_gate(self.base, self.writes, **more)

    def propose(self, create: Callable[..., GitRepository]) -> GitRepository:
        """A repository with the base on `main` and the pull request on `pr`."""
        made = create("words")
        base = {path: content for path, content in self.base.items() if content is not None}
        proposal = one_commit(PR, 2, self.writes, parent=MAIN, title="proposal")
        import_commits(made, [one_commit(MAIN, 1, base, title="base"), proposal])
        made.commits = 2
        made.switch("pr")
        return made


def run_check(
    proposal: Proposal, create: Callable[..., GitRepository], out: Path, *more: str
) -> tuple[int, dict[str, Any] | None]:
    """The exit code of `gatekeeper check`, and the result where there is one."""
    code = check(proposal.propose(create), out, *more)
    return code, result_of(out) if (out / "result.json").exists() else None


def reasons(result: Mapping[str, Any], verdict: str = "fail") -> set[str]:
    """The codes of the reasons of a verdict, over all contracts."""
    found = [reason for contract in result["contracts"] for reason in contract["reasons"]]
    return {reason["code"] for reason in found if reason["verdict"] == verdict}


def rows(
    ids: Callable[[int, str], str], words: Callable[[int, str], str], names: str = "id,word"
) -> str:
    """A CSV of fixtures, a row for each word."""
    lines = [f"{ids(i, word)},{words(i, word)}\n" for i, word in enumerate(MANY)]
    return f"{names}\n" + "".join(lines)


def only_head_passes(words: Iterable[str]) -> str:
    """A JSONL of fixtures whose check asks for what the new prompt alone is answered with."""
    please = [{"type": "contains", "value": "please"}]
    fixtures = [{"id": word, "vars": {"word": word}, "checks": please} for word in words]
    return "".join(json.dumps(fixture) + "\n" for fixture in fixtures)


def only_head_answers(words: Iterable[str]) -> Answers:
    """What both prompts are answered with on these fixtures."""
    said = (PROMPT, "ok"), (OTHER, "ok, please")
    return {
        text: output
        for prompt, answer in said
        for text, output in answers(prompt, dict.fromkeys(words, answer)).items()
    }


def recorded_with(params: Mapping[str, Any], output: str, prompt: str = PROMPT) -> str:
    """Lines of a recording whose requests had parameters, as `enforce` sends them."""
    lines = []
    for text in answers(prompt, dict.fromkeys(MANY, output)):
        digest = request_digest(Request("m", (Message("user", text),), params, None, 0))
        line = {"contract": "words", "fixture": text, "arm": "head", "repetition": 0}
        line |= {"model": "test", "request": digest, "output_raw": output, "output": output}
        lines.append(json.dumps(line | {"latency_ms": 5.0, "error": None}) + "\n")
    return "".join(lines)


def spent_lines(failed: int = 40, past: timedelta = timedelta(hours=2)) -> str:
    """A history of ten nights in which the contract failed that often."""
    latest = datetime.now(UTC) - past
    times = [(latest - timedelta(days=d)).isoformat() for d in range(10)]
    return "".join(
        line(time=time, contract="words", samples=40, failed=failed) + "\n" for time in times
    )


def spent_budget(folder: Path, failed: int = 40, past: timedelta = timedelta(hours=2)) -> str:
    """The path of a file of `spent_lines`."""
    file = folder / "history.jsonl"
    file.write_text(spent_lines(failed, past), "utf-8")
    return str(file)
