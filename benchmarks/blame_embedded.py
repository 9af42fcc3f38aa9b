"""Does `gatekeeper blame` name the harmful edits of a change that the embedded model answers?

    python -m benchmarks.blame_embedded

Each change makes ten edits to a prompt that labels reviews, or to its settings, on the 40 fixtures
of contracts/sentiment. One edit does harm, or two do, or two that do harm only together: a higher
limit of tokens, and no stop sequence. A row says which edits `blame` named, and how many calls the
search took, as a share of the calls that testing each edit alone on every fixture would take. The
program ends with an error if `blame` named a harmless edit, or none. benchmarks/blame.py has the
error rates, by simulation.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import git

from benchmarks.decisions.table import markdown_table
from gatekeeper.cli.main import main as gatekeeper

CONTRACTS = Path(__file__).parents[1] / "contracts"
EDITS = 10
BASE = """\
Label each review as positive or negative.
Customers of a web shop wrote these reviews.
Each review is about one product.
Read the whole review before you decide.
Ignore spelling mistakes in the review.
Ignore what the product costs.
The last sentence often matters most.
Some reviews are very short.

Review: Clear sound, and the battery lasts for days.
Sentiment: positive

Review: It stopped working within a week and nobody answered my letters.
Sentiment: negative

Review: {{ review }}
Sentiment:"""
HARMLESS = {
    "Customers of a web shop wrote these reviews.": "Customers of a web shop sent these reviews.",
    "Each review is about one product.": "Every review is about one product.",
    "Read the whole review before you decide.": "Read the entire review before you decide.",
    "Ignore spelling mistakes in the review.": "Ignore spelling errors in the review.",
    "Ignore what the product costs.": "Ignore the price of the product.",
    "The last sentence often matters most.": "The last sentence is often the most important.",
    "Some reviews are very short.": "Some reviews are quite short.",
    "Clear sound, and the battery lasts": "Clear sound, and the battery holds",
    "It stopped working within a week": "It stopped working after a week",
    "Label each review as": "Label every review as",
}
"""Ten edits, by the text that each one replaces."""


_CUE = {"{{ review }}\nSentiment:": "{{ review }}\nSentiment: The review is"}
_LABEL = {"my letters.\nSentiment: negative": "my letters.\nSentiment: positive"}
_ENDS = {"max_tokens: 2,": "max_tokens: 20,", ', stop: ["\\n"]}': "}"}
HARMFUL = {"one edit": _CUE, "two edits": _CUE | _LABEL, "two edits together": _ENDS}
"""The harmful edits of each change. Harmless ones make ten of them."""
TO_NAME = {
    "one edit": {"Sentiment: The review is"},
    "two edits": {"Sentiment: The review is", "Sentiment: positive"},
    "two edits together": {"max_tokens", "stop"},
}
"""The changed line or setting of each harmful edit."""


def head_of(harmful: dict[str, str]) -> tuple[str, str]:
    """Return the prompt and its contract with ten edits."""
    prompt, contract = BASE, base_contract()
    for old, new in (*harmful.items(), *list(HARMLESS.items())[: EDITS - len(harmful)]):
        if (prompt + contract).count(old) != 1:
            raise ValueError(f"{old!r} is not once in the prompt and its contract")
        prompt, contract = prompt.replace(old, new), contract.replace(old, new)
    return prompt, contract


def base_contract() -> str:
    """Return the contract with a limit of tokens that ends an answer after the label, too."""
    contract = (CONTRACTS / "sentiment.yaml").read_text("utf-8")
    return contract.replace("max_tokens: 4", "max_tokens: 2")


def blame(head: tuple[str, str], folder: Path) -> dict[str, Any]:
    """Run `gatekeeper blame` on a repository with the change, and return its report."""
    contracts = folder / "contracts"
    (contracts / "prompts").mkdir(parents=True)
    shutil.copy(CONTRACTS / "sentiment.fixtures.csv", contracts)
    with git.Repo.init(folder, initial_branch="main") as repository:
        for branch, (prompt, contract) in (("main", (BASE, base_contract())), ("change", head)):
            if branch != "main":
                repository.git.checkout("-q", "-b", branch)
            (contracts / "prompts" / "sentiment.txt").write_text(prompt, "utf-8")
            (contracts / "sentiment.yaml").write_text(contract, "utf-8")
            repository.git.add("--all")
            repository.git.execute(
                ["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.com",
                 "commit", "-q", "-m", branch]
            )  # fmt: skip
    out = folder / "out"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        gatekeeper(["blame", f"--repo={folder}", "--base=main", "--head=change", f"--out={out}"])
    contracts_blamed = json.loads((out / "blame.json").read_text("utf-8"))["contracts"]
    if len(contracts_blamed) != 1:
        raise SystemExit("the check did not find that the prompt got worse")
    found: dict[str, Any] = contracts_blamed[0]
    return found


def name_of(edit: dict[str, Any]) -> str:
    """Return the setting that an edit changes, or its new text."""
    return str(edit["setting"] or edit["after"].strip())


def main() -> None:
    """Print a row for each change; end with an error if a harmless edit is named, or none."""
    rows, wrong = [], []
    for name, harmful in HARMFUL.items():
        with tempfile.TemporaryDirectory() as folder:
            found = blame(head_of(harmful), Path(folder))
        named = {name_of(edit) for cause in found["causes"] for edit in cause["edits"]}
        if not named or named - TO_NAME[name]:
            wrong.append(name)
        share = found["calls"] / (EDITS * len(fixture_rows()))
        revert = found["revert"] or {"passed": 0, "measured": 0}
        rows.append(
            (
                name,
                "; ".join(sorted(named)),
                str(len(found["harmless"])),
                f"{revert['passed']} of {revert['measured']}",
                f"{found['calls']} ({share:.0%})",
            )
        )
    head = ("change", "named", "harmless", "pass again after the revert", "calls (share)")
    print(markdown_table(head, rows))
    if wrong:
        sys.exit(f"not named rightly: {', '.join(wrong)}")


def fixture_rows() -> list[str]:
    """Return the fixtures of contracts/sentiment, one a line."""
    return (CONTRACTS / "sentiment.fixtures.csv").read_text("utf-8").splitlines()[1:]


if __name__ == "__main__":
    main()
