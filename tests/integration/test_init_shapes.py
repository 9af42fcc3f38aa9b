"""What `gatekeeper init` writes in repositories of several shapes is valid and runs as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.edited_text import edited
from support.git_repository import GitRepository
from support.record_all import record_all
from support.recorded_repository import result_of

from gatekeeper.cli.main import main
from gatekeeper.contract.values.definition import Contract, Fixture

POLICY = ".github/gatekeeper.yml"
GITHUB_PROMPT = """\
name: Sentiment
model: openai/gpt-4o-mini
messages:
  - {role: system, content: "Answer with positive or negative."}
  - {role: user, content: "{{input}}"}
testData:
  - {input: I love it, expected: positive}
  - {input: It broke after a day, expected: negative}
"""
EVALUATORS = "evaluators:\n  - {name: label, string: {equals: '{{expected}}'}}\n"
PYTHON = '''\
from langchain_core.prompts import PromptTemplate
TITLE_PROMPT = f"Write a title of at most 9 words for {article}."
SYSTEM_PROMPT = "You are the assistant of a bank. Answer in at most 50 words."
mail_prompt = PromptTemplate.from_template("""Classify the mail into one of: refund, other.

Mail: {mail}
""")
'''
PCSL: Mapping[str, Any] = {
    "pd.json": {
        "pcsl": "0.3.0",
        "id": "contact",
        "version": "1.0.0",
        "prompt": "Extract the contact as JSON with the fields name and email.",
        "io": {"channel": "text", "expects": "structured/json"},
    },
    "es.json": {
        "pcsl": "0.3.0",
        "id": "contact.suite",
        "version": "1.0.0",
        "checks": [{"type": "pc.check.json_valid"}],
    },
    "ep.json": {
        "pcsl": "0.3.0",
        "id": "contact.eval",
        "version": "1.0.0",
        "targets": [{"type": "openai", "model": "gpt-4o-mini", "params": {"temperature": 0}}],
        "execution": {"mode": "observe"},
        "fixtures": [{"id": "one", "input": "I am Ann, ann@example.org"}],
    },
}
PROMPTFOO = """\
prompts: ["Summarise in one sentence: {{article}}", file://../prompts/title.txt]
providers: [openai:gpt-4o-mini]
tests:
  - vars: {article: The council met on Monday.}
    assert: [{type: icontains, value: council}]
"""
SHAPES: dict[str, tuple[dict[str, str], set[str]]] = {
    "promptfoo": (
        {
            "evals/promptfooconfig.yaml": PROMPTFOO,
            "prompts/title.txt": "Write a title: {{article}}\n",
            "prompts/other.txt": "Write a poem about {{topic}}\n",
        },
        {
            "evals/promptfooconfig.yaml#prompt-1",
            "evals/promptfooconfig.yaml#title",
            "contracts/other.yaml",
        },
    ),
    "github": (
        {
            "ai/label.prompt.yml": GITHUB_PROMPT + EVALUATORS,
            "ai/plain.prompt.yml": edited(GITHUB_PROMPT, "Sentiment", "Plain"),
        },
        {"ai/label.prompt.yml", "contracts/plain.yaml"},
    ),
    "pcsl": (
        {f"pcsl/{name}": json.dumps(data, indent=2) for name, data in PCSL.items()},
        {"pcsl/ep.json"},
    ),
    "files": (
        {
            "prompts/mail.md": "Return JSON with the fields kind and urgency.\n\n"
            "{% for m in mails %}{{ m.sender }}: {{ m.text }}{% endfor %}\n",
            "prompts/README.md": "What these are.\n",
            "prompts/title.txt": "Write a title of at most 9 words: {article}\n",
            "config/prompts.yaml": "greet:\n  long: Greet {{ name }} warmly in at most 20 words.\n",
        },
        {
            "contracts/mail.yaml",
            "contracts/prompts-greet-long.yaml",
            "contracts/title.yaml",
        },
    ),
    "langchain": (
        {
            "src/bank/app.py": PYTHON,
            "web/prompt.ts": "export const systemPrompt = `You help customers of ${company}.`;\n",
        },
        {
            "contracts/app-mail-prompt.yaml",
            "contracts/app-system-prompt.yaml",
            "contracts/app-title-prompt.yaml",
            "contracts/prompt-system-prompt.yaml",
        },
    ),
    "empty": ({"README.md": "# New\n"}, {"contracts/review-sentiment.yaml"}),
}


def answer(contract: Contract, fixture: Fixture) -> str:
    """An answer that all of the contract's checks accept."""
    types = {spec.type for spec in contract.checks}
    if fixture.expected is not None:
        return str(fixture.expected)
    if types & {"json_valid", "json_required"}:
        return '{"name": "Ann", "email": "a@example.org", "kind": "a", "urgency": 1}'
    labels = [spec.params["values"] for spec in contract.checks if spec.type == "enum"]
    return labels[0][0] if labels else "The council met."


@pytest.mark.parametrize("shape", SHAPES)
def test_what_init_writes_is_valid_and_runs_green(
    shape: str, git_repository: Callable[..., GitRepository], tmp_path: Path, capsys
) -> None:
    files, expected = SHAPES[shape]
    made = git_repository(shape)
    made.commit("before", files)
    where = ["--repo", str(made.path)]

    assert main(["init", *where]) == 0
    table = capsys.readouterr().out
    for path in files:
        assert (made.path / path).read_text("utf-8") == files[path]
    assert main(["validate", *where]) == 0
    said = capsys.readouterr().out
    assert "warning: " not in said, said
    assert all(path in said for path in expected), said
    assert ("example values" in said) == ("to replace" in table)

    recording = tmp_path / "recording.jsonl"
    assert set(record_all(made.path, recording, answer)) == expected
    made.commit("gate")
    out = tmp_path / "out"
    assert main(["run", *where, "--replay", str(recording), "--out", str(out)]) == 0
    result = result_of(out)
    # Nothing is known of real inputs while a fixture is an example.
    examples = "to replace" in table
    codes = {reason["code"] for c in result["contracts"] for reason in c["reasons"]}
    verdicts = {contract["verdict"] for contract in result["contracts"]}
    assert ("examples" in codes, "inconclusive" in verdicts) == (examples, examples)
    assert verdicts <= {"pass", "inconclusive"}
    assert result["calls"]["unrecorded"] == 0

    # Once more: nothing is left to propose, and nothing is changed.
    assert main(["init", *where]) == 0
    again = capsys.readouterr().out
    assert "written" not in again
    assert shape == "empty" or " none " not in table


def test_a_second_run_names_the_keys_of_all_models(git_repository, capsys) -> None:
    made = git_repository("keys")
    for model in ("openai/gpt-4o-mini", "mistral/mistral-small-latest"):
        name = model.partition("/")[0]
        text = edited(GITHUB_PROMPT, "openai/gpt-4o-mini", model, "Sentiment", name)
        made.write(f"ai/{name}.prompt.yml", text + EVALUATORS)
    made.commit("before")
    assert main(["init", "--repo", str(made.path)]) == 0
    capsys.readouterr()
    workflow = made.path / ".github/workflows/gatekeeper.yml"
    workflow.write_text(edited(workflow.read_text("utf-8"), "MISTRAL_API_KEY", "OTHER"), "utf-8")
    assert main(["init", "--repo", str(made.path)]) == 0
    said = capsys.readouterr().out
    assert "set MISTRAL_API_KEY, OPENAI_API_KEY and run" in said
    [lacking] = [line for line in said.splitlines() if "secrets.MISTRAL_API_KEY" in line]
    assert lacking.startswith(".github/workflows/gatekeeper.yml ")
    assert "secrets.OPENAI_API_KEY" not in lacking


def test_a_single_file_is_proposed_on_request(git_repository, capsys) -> None:
    made = git_repository("one")
    made.commit("before", SHAPES["files"][0])
    where = ["--repo", str(made.path)]

    assert main(["init", *where, "--from", str(made.path / "prompts/mail.md")]) == 0
    assert [path.name for path in (made.path / "contracts").iterdir()] == ["mail.yaml"]
    assert main(["init", *where, "--from", str(made.path / "prompts/README.md")]) == 2
    assert "README.md" in capsys.readouterr().err


def test_an_existing_policy_is_kept_and_its_missing_patterns_are_named(
    git_repository, capsys
) -> None:
    made = git_repository("kept")
    policy = "contracts: [gates/*.yaml]\n"
    prompts = {"prompts/mail.md": "Answer this mail: {{ mail }}\n"}
    made.commit("before", {POLICY: policy, **SHAPES["pcsl"][0], **prompts})

    assert main(["init", "--repo", str(made.path)]) == 0
    assert (made.path / POLICY).read_text("utf-8") == policy
    assert [path.name for path in (made.path / "gates").iterdir()] == ["mail.yaml"]
    said = capsys.readouterr().out
    assert '`contracts` in .github/gatekeeper.yml: "pcsl/ep.json".' in said


def test_the_workflows_name_the_keys_of_the_models_in_use(git_repository) -> None:
    made = git_repository("keys")
    prompt = edited(GITHUB_PROMPT, "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5")
    made.commit("before", {"ai/label.prompt.yml": prompt + EVALUATORS})

    assert main(["init", "--repo", str(made.path)]) == 0
    for name in ("gatekeeper.yml", "gatekeeper-nightly.yml"):
        text = (made.path / ".github/workflows" / name).read_text("utf-8")
        assert "ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}" in text
        assert "OPENAI_API_KEY" not in text
        assert "GATEKEEPER_API_KEY" not in text
        yaml.safe_load(text)
    assert yaml.safe_load((made.path / POLICY).read_text("utf-8"))["models"] == ["anthropic/*"]


def test_a_model_of_github_models_is_named_with_what_has_it_now(git_repository, capsys) -> None:
    made = git_repository("closed")
    prompt = edited(GITHUB_PROMPT, "openai/gpt-4o-mini", "meta/Llama-3.3-70B-Instruct")
    made.commit("before", {"ai/label.prompt.yml": prompt + EVALUATORS})
    where = ["--repo", str(made.path)]

    for command, code in (("init", 0), ("validate", 2), ("run", 2)):
        assert main([command, *where]) == code
        said = "".join(capsys.readouterr())
        assert "GitHub Models, which closed on 2026-07-30" in said
        assert "`deepinfra/meta-llama/Llama-3.3-70B-Instruct`" in said
        made.commit("policy", {POLICY: 'contracts: ["ai/*.prompt.yml"]\n'})


def test_a_prompt_of_a_project_gets_its_contract_there(git_repository) -> None:
    repository = git_repository("projects")
    project = f"services/mail/{POLICY}"
    repository.write_all(
        {project: "prompts: [templates/**]\n", "services/mail/prompts/tag.md": "Tag {{ mail }}."}
    )
    repository.commit("start")
    assert main(["init", "--repo", str(repository.path)]) == 0
    assert (repository.path / "services/mail/contracts/tag.yaml").exists()
    policy = yaml.safe_load((repository.path / POLICY).read_text("utf-8"))
    assert not any(pattern.startswith("services/") for pattern in policy["contracts"])


@pytest.mark.parametrize(
    ("model", "keys", "settings"),
    [
        (
            "vertex_ai/gemini-2.0-flash",
            ["VERTEXAI_CREDENTIALS"],
            ["VERTEXAI_PROJECT", "VERTEXAI_LOCATION"],
        ),
        ("gemini/gemini-2.0-flash", ["GEMINI_API_KEY"], []),
        (
            "bedrock/anthropic.claude-3-haiku-20240307-v1:0",
            ["AWS_BEARER_TOKEN_BEDROCK"],
            ["AWS_REGION_NAME"],
        ),
        ("azure/prod-4o", ["AZURE_API_KEY"], ["AZURE_API_BASE"]),
        ("hosted_vllm/llama", [], ["HOSTED_VLLM_API_BASE"]),
        ("ollama/llama3.2", [], []),
    ],
)
def test_the_workflows_pass_what_the_models_need(git_repository, model, keys, settings, capsys):
    repository = git_repository("keys")
    text = f"---\nmodel: {model}\n---\nGreet {{{{ name }}}} in one kind sentence.\n"
    repository.commit("prompt", {"prompts/greet.md": text})
    assert main(["init", "--repo", str(repository.path)]) == 0
    told = capsys.readouterr().out
    for name in ("gatekeeper.yml", "gatekeeper-nightly.yml"):
        workflow = (repository.path / ".github/workflows" / name).read_text("utf-8")
        step = yaml.safe_load(workflow)["jobs"].popitem()[1]["steps"]
        [env] = [one["env"] for one in step if "env" in one]
        assert [key for key in keys if env[key] == f"${{{{ secrets.{key} }}}}"] == keys
        assert [name for name in settings if env[name] == f"${{{{ vars.{name} }}}}"] == settings
        assert "OPENAI_API_KEY" not in workflow
    needed = ", ".join([*keys, *settings])
    assert f"Then {f'set {needed} and ' if needed else ''}run `gatekeeper run`" in told
    for kind, names in (("secret", keys), ("variable", settings)):
        assert all(f"add the {kind}" in told and name in told for name in names)


def test_a_text_for_agents_gets_a_contract_if_it_is_named(git_repository, capsys):
    repository = git_repository("skills")
    skill = ".claude/skills/review/SKILL.md"
    files = {skill: "Review the code {{ code }}.\n", "prompts/a.md": "Greet {{ name }} kindly.\n"}
    repository.commit("prompts", files)
    place = ["--repo", str(repository.path)]
    assert main(["init", *place]) == 0
    assert f"1 text for agents that work here, such as {skill}." in capsys.readouterr().out
    assert main(["init", *place, "--from", str(repository.path / skill)]) == 0
    capsys.readouterr()
    assert main(["validate", *place]) == 0
    told = capsys.readouterr().out
    assert ".claude/skills/review" in told
    assert "for agents" not in told


PROPOSED = {
    "AGENTS.md": "# Rules\nUse {curly} and {{ double }} braces. Answer in at most 72 characters.\n",
    "packages/app/CLAUDE.md": "Never push.\n",
    ".claude/agents/reader.md": "---\nname: reader\nmodel: sonnet\n---\nRead the code.\n",
}


@pytest.mark.parametrize("path", PROPOSED)
def test_instructions_for_agents_get_a_contract_with_tasks_if_they_are_named(
    git_repository, path, capsys
):
    repository = git_repository("agents")
    repository.commit("rules", PROPOSED | {"src/a.go": "package a\n"})
    place = ["--repo", str(repository.path)]
    assert main(["init", *place]) == 0
    assert "3 texts for agents that work here" in capsys.readouterr().out
    assert not (repository.path / "contracts").exists()
    assert main(["init", *place, "--from", str(repository.path / path)]) == 0
    (file,) = (repository.path / "contracts").iterdir()
    contract = yaml.safe_load(file.read_text("utf-8"))
    assert contract["instructions"] == f"../{path}"
    assert [[*row["vars"]] for row in contract["fixtures"]] == [["task"]] * 3
    assert [check["type"] for check in contract["checks"]] == ["length"]
    assert "max" not in contract["checks"][0]
    capsys.readouterr()
    assert main(["validate", *place]) == 0
    assert "1 of 1 prompt with a contract" in capsys.readouterr().out


def test_skills_and_system_messages_get_contracts_with_tasks(git_repository, capsys):
    repository = git_repository("skills")
    skill = "---\nname: pdf\nmodel: opus\n---\nUse `{{ tool }}`.\n"
    files = {
        "skills/pdf/SKILL.md": skill,
        "agents/reader.agent.md": skill,
        "patterns/sum/system.md": "Summarise the talk.\n",
        "patterns/ask/system.md": "Answer {{ question }}.\n",
        "prompts/shop-system.md": "You help the customers of a shop.\n",
        "prompts/system_prompt.txt": "You help the customers of a bank.\n",
        "src/config/agents.yaml": "w: {role: W, goal: Write now., backstory: You write.}\n",
    }
    repository.commit("prompts", files)
    place = ["--repo", str(repository.path)]
    assert main(["init", *place]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "crewAI puts this prompt together when it runs; name one text of it by its key" in told
    made = [yaml.safe_load(f.read_text("utf-8")) for f in (repository.path / "contracts").iterdir()]
    assert {c.get("instructions") or c["prompt"]: [*c["fixtures"][0]["vars"]] for c in made} == {
        "../skills/pdf/SKILL.md": ["task"],
        "../agents/reader.agent.md": ["task"],
        "../patterns/sum/system.md": ["task"],
        "../prompts/shop-system.md": ["task"],
        "../prompts/system_prompt.txt": ["task"],
        "../patterns/ask/system.md": ["question"],
    }
    assert sum("instructions" in contract for contract in made) == 5
    assert main(["validate", *place]) == 0
    assert "6 of 7 prompts with a contract" in capsys.readouterr().out


UNCLEAR = 'SYSTEM = "You are kind. Answer {{number}} questions of {name} in one sentence."\n'


def test_validate_says_why_a_prompt_cannot_have_a_contract_as_it_is(git_repository, capsys):
    repository = git_repository("unclear")
    repository.commit("prompt", {"src/app.py": UNCLEAR})
    place = ["--repo", str(repository.path)]
    assert main(["init", *place]) == 0
    proposed = capsys.readouterr()
    assert main(["validate", *place]) == 0
    told = " ".join(capsys.readouterr().out.split())
    why = "in a contract for this prompt, write `template: fstring`"
    assert why in " ".join((proposed.out + proposed.err).split())
    assert "note: src/app.py:1" in told
    assert why in told
    contract = (
        "contract: 1\nname: a\nprompt: ../src/app.py:SYSTEM\ntemplate: fstring\nmodel: openai/x\n"
        "fixtures: [{vars: {name: Ann}}]\nchecks: [{type: length, max: 90}]\n"
    )
    repository.write("contracts/a.yaml", edited(contract, "openai/x", "openai/gpt-4o-mini"))
    main(["validate", *place])
    assert why not in " ".join(capsys.readouterr().out.split())
