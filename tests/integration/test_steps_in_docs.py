"""The example of docs/contracts.md, Steps, run as it is written, against a worse first step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check

DOCS = Path(__file__).parents[2] / "docs" / "contracts.md"
NUMBERS = range(4711, 4719)
MAILS = "id,mail,expected\n" + "".join(f"m{n},Where is order {n}?,{n}\n" for n in NUMBERS)


def answer(body: dict) -> str:
    said = body["messages"][-1]["content"]
    if said.startswith("Write"):
        return "Dear customer, your order is on its way."
    found = re.findall(r"\d+", said)[0]
    return found if "number alone" in said else f"The mail is about order {found}."


def test_the_documented_example_fails_at_the_documented_step(
    git_repository: Callable[..., GitRepository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = re.split(r"\n##+ ", DOCS.read_text("utf-8").partition("### Steps\n")[2])[0]
    contract, order, reply, said = re.findall(r"```(?:yaml)?\n(.*?)```", section, re.DOTALL)
    made = git_repository("docs")
    made.write_all(
        {
            "contracts/order-answer.yaml": contract,
            "contracts/order.md": order,
            "contracts/answer.md": reply,
            "contracts/mails.csv": MAILS,
        }
    )
    made.commit("base")
    made.branch("pr")
    made.write("contracts/order.md", edited(order, "with its number alone", "in a sentence"))
    made.commit("worse")
    with OpenAIServer(answer):
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        assert check(made, tmp_path / "out") == 1
    comment = (
        (tmp_path / "out" / "comment.md").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    )
    for line in filter(None, said.splitlines()):
        assert line in comment
