"""Where contract files that are named on the command line lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatekeeper.contract.change import MemoryRevision
from gatekeeper.contract.models.faults import ModelFault
from gatekeeper.contract.policy import Policy
from gatekeeper.errors import UsageError
from gatekeeper.gate.validate import repository_path, validate_contracts

CONTRACT = """\
contract: 1
name: {name}
prompt: ../prompts/words.md
model: openai/gpt-4o-mini
gate: {{margin: 0.9}}
checks: [{checks}]
fixtures:
{rows}"""


def written(name: str, checks: int = 1, more: str = "") -> str:
    specs = ", ".join(f"{{type: contains, name: n{n}, value: v{n}}}" for n in range(checks))
    rows = "".join(f"  - {{id: f{n}, vars: {{word: w{n}}}}}\n" for n in range(9))
    return CONTRACT.format(name=name, checks=specs, rows=rows) + more


def refuse_gone(model: str) -> ModelFault | None:
    return ModelFault("it is gone", "name another", certain=True) if "gone" in model else None


def validated(**contracts: str) -> tuple[list[str], list[str]]:
    """The lines, and the problems as text, of contracts by the name of their file."""
    files = {f"contracts/{name}.yaml": text for name, text in contracts.items()}
    files |= {"prompts/words.md": "Say {{ word }}."}
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    lines, problems = validate_contracts(revision, Policy(), find_fault=refuse_gone)
    return lines, [str(problem) for problem in problems]


def test_each_sound_contract_is_a_line() -> None:
    assert validated(a=written("first"), b=written("second", checks=2)) == (
        [
            "contracts/a.yaml: first: 9 fixtures, 1 check, openai/gpt-4o-mini",
            "contracts/b.yaml: second: 9 fixtures, 2 checks, openai/gpt-4o-mini",
        ],
        [],
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("mode: observe\nrepair: {steps: [strip_whitespace]}\n", "`repair` has no effect"),
        ("repair: {steps: [strip_whitespace]}\n", None),
        ("checks: [{type: tool_call, tool: search}]\n", "is offered no tools"),
        ("checks: [{type: tool_call, tool: search, not: true}]\n", None),
        ("checks: [{type: tool_call, none: true}]\n", None),
        (
            "checks: [{type: tool_call, order: [a, b]}]\n"
            "params: {tools: [{type: function, function: {name: a}}]}\n",
            None,
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(more: str, said: str | None) -> None:
    text = written("first")
    if "checks:" in more:
        text = "".join(line for line in text.splitlines(True) if not line.startswith("checks:"))
    (line,), problems = validated(a=text + more)
    assert not problems
    assert ("warning: " in line) == (said is not None)
    assert (said or "") in line


def test_a_broken_contract_hides_no_other() -> None:
    lines, problems = validated(
        a=written("first", more="nonsense: 1\n"),
        b=written("second"),
        c=written("second"),
        d=written("fourth"),
        e=written("fifth", more="rubbish: 1\n"),
        f=written("sixth").replace("gpt-4o-mini", "gone"),
        g=written("seventh"),
    )
    assert [line.split(": ")[1] for line in lines] == ["second", "fourth", "seventh"]
    assert [problem.split(":")[0] for problem in problems] == [
        "contracts/a.yaml",
        "contracts/c.yaml",
        "contracts/e.yaml",
        "contracts/f.yaml",
    ]
    assert "'second' is already the name of contracts/b.yaml" in problems[1]


def test_paths_are_told_from_the_repository_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contracts").mkdir()
    monkeypatch.chdir(tmp_path / "contracts")
    assert repository_path(Path("a.yaml"), tmp_path) == "contracts/a.yaml"
    assert repository_path(tmp_path / "b.yaml", Path("..")) == "b.yaml"


def test_a_path_outside_is_the_authors_mistake(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    with pytest.raises(UsageError, match=r"x\.yaml is not in the repository.*--repo"):
        repository_path(tmp_path / "x.yaml", root)
