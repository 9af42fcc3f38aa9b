"""What the files around a prompt say of it: the call that sends it, and its inputs."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.author.onboarding.proposal import propose
from gatekeeper.author.onboarding.skeleton import DEFAULT_MODEL
from gatekeeper.author.onboarding.surroundings import MOST_ROWS
from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.syntax.yaml_positions import Row, parse_yaml
from gatekeeper.contract.values.change import MemoryRevision

LABELS = "Classify the mail into one of these categories:\n- billing: payments\n- other\n\n"
PROMPT = f"{LABELS}Answer with the category only.\n\n{{{{ text }}}}\n"
PYTHON = '''\
from openai import OpenAI

SUM_PROMPT = """Summarise the mail in a few words: {mail}"""
DEFAULT_MODEL: str = os.getenv("MODEL", "gpt-4o")


def embed(text):
    return client.embeddings.create(model="text-embedding-3-small", input=text)


def classify(text):
    prompt = Path("prompts/classify.md").read_text()
    return client.responses.create(model="gpt-4.1", temperature=0.2, input=prompt)


def shorten(mail):
    text = SUM_PROMPT.format(mail=mail)
    return client.responses.create(model=DEFAULT_MODEL, input=text)
'''


def proposed(files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the contracts that are proposed, by their names."""
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    made = propose(revision).skeletons
    return {one.name: parse_yaml(one.text, one.path).data for one in made}


def settings(files: dict[str, str], name: str = "classify") -> tuple[str, object]:
    contract = proposed(files)[name]
    return contract["model"], contract.get("params")


def test_the_nearest_call_says_model_and_temperature() -> None:
    files = {"prompts/classify.md": PROMPT, "app.py": PYTHON}
    assert settings(files) == ("openai/gpt-4.1", {"temperature": 0.2})
    assert settings(files, "app-sum-prompt") == ("openai/gpt-4o", None)


@pytest.mark.parametrize(
    ("code", "model", "params"),
    [
        ('ChatOpenAI(model_name="gpt-4o", temperature=0)', "openai/gpt-4o", {"temperature": 0}),
        ('chat({model: openai("gpt-4.1"), temperature: 1})', "openai/gpt-4.1", {"temperature": 1}),
        ('"model": "claude-sonnet-4-5"', "anthropic/claude-sonnet-4-5", None),
        ('init_chat_model(model="openai:gpt-4o")', "openai/gpt-4o", None),
        ("const A = process.env.M ?? 'gpt-4.1';\nask({ model: A })", "openai/gpt-4.1", None),
        ('model="gemini-2.0-flash"', "gemini/gemini-2.0-flash", None),
        # Nothing that could be called, or another call's temperature.
        ('model="whisper-1"', DEFAULT_MODEL, None),
        ('model="a model of ours"', DEFAULT_MODEL, None),
        ('model="nobody/knows-it"', DEFAULT_MODEL, None),
        ("model=MODEL, temperature=1", DEFAULT_MODEL, None),
        ('a(model="gpt-4.1")\nb(model="gpt-4.1-mini", temperature=1)', "openai/gpt-4.1", None),
    ],
)  # fmt: skip
def test_calls_in_many_spellings(code: str, model: str, params: object) -> None:
    for path, name in (("app.py", "classify.md"), ("src/app.ts", "prompts/classify.md")):
        files = {"prompts/classify.md": PROMPT, path: f"read('{name}')\n{code}\n"}
        assert settings(files) == (model, params)


def test_a_prompt_that_no_code_names_has_the_usual_model() -> None:
    files = {"prompts/classify.md": PROMPT, "app.py": 'ask(model="gpt-4.1")\n'}
    assert settings(files) == (DEFAULT_MODEL, None)
    files = {"prompts/classify.md": PROMPT, "tests/test_app.py": PYTHON}
    assert settings(files) == (DEFAULT_MODEL, None)


TABLE = "text,{}\nMy card,billing\nWhere,Other\n"


@pytest.mark.parametrize("path", ["prompts/inputs.csv", "data/classify.csv", "classify.test.csv"])
@pytest.mark.parametrize("column", ["expected", "label", "category"])
def test_a_table_beside_the_prompt_has_the_fixtures(path: str, column: str) -> None:
    made = proposed({"prompts/classify.md": PROMPT, path: TABLE.format(column)})["classify"]
    assert made["fixtures"] == [{"file": f"../{path}"}]
    values = [check["value"] for check in made["checks"] if check["type"] == "equals"]
    assert values == ([] if column == "category" else [f"{{{{ {column} }}}}"])
    assert ("gate" in made) == (column == "category")


def test_a_table_is_read_once_for_all_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(text: str, path: str, most: int) -> list[Row]:
        read.append(path)
        return read_rows(text, path, most)

    monkeypatch.setattr("gatekeeper.author.onboarding.surroundings.read_rows", reading)
    files = {f"prompts/{name}.md": PROMPT for name in ("a", "b", "classify")}
    made = proposed({**files, "prompts/classify.csv": TABLE.format("expected")})
    assert [one["fixtures"] for one in made.values()] == [[{"file": "../prompts/classify.csv"}]] * 3
    assert read == ["prompts/classify.csv"]


def test_rows_in_json_have_the_fixtures_too() -> None:
    rows = '{"vars": {"text": "My card"}, "expected": "billing"}\n'
    made = proposed({"prompts/classify.md": PROMPT, "prompts/rows.jsonl": rows})["classify"]
    assert made["fixtures"] == [{"file": "../prompts/rows.jsonl"}]


@pytest.mark.parametrize(
    "table",
    [
        "mail,expected\na,billing\n",  # no value for `text`
        "text,expected\n",
        "text,text\na,b\n",
        "text\n" + "a\n" * (MOST_ROWS + 1),
        "text,expected\na\n",
        '{"text": 1}',
    ],
)
def test_a_table_that_does_not_fit_is_left_alone(table: str) -> None:
    made = proposed({"prompts/classify.md": PROMPT, "prompts/classify.csv": table})["classify"]
    assert all("file" not in row for row in made["fixtures"])


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("text,expected\nMy card, please,billing\n", "prompts/classify.csv:2: the header has 2 "),
        ("text\n" + "a\n" * (MOST_ROWS + 1), "more than 500 rows"),
        ("text,expected\n", "the file has no fixture"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_fault(table: str, why: str) -> None:
    files = {"prompts/classify.md": PROMPT, "prompts/classify.csv": table}
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    (made,) = propose(revision).skeletons
    (said,) = [line for line in made.text.splitlines() if line.startswith("# Not used as fixtures")]
    assert why in said


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({".env.example": "OPENAI_BASE_URL=https://llm.example.org/v1"}, ("OPENAI_BASE_URL",)),
        ({"docker-compose.yml": "OPENAI_API_BASE: x"}, ("OPENAI_API_BASE",)),
        ({"app.py": 'OpenAI(env["OPENAI_BASE_URL"], model="gpt-4.1")'}, ("OPENAI_BASE_URL",)),
        ({"notes.txt": "OPENAI_BASE_URL"}, ()),
        ({"app.py": 'read("classify.md"); model="claude-sonnet-4-5"; OPENAI_BASE_URL'}, ()),
    ],
)  # fmt: skip
def test_the_address_of_the_models_is_a_setting(
    files: dict[str, str], names: tuple[str, ...]
) -> None:
    given = {"prompts/classify.md": PROMPT, **files}
    revision = MemoryRevision({path: text.encode() for path, text in given.items()})
    assert propose(revision).settings == names


def test_a_hostile_file_is_read_to_an_end() -> None:
    code = "classify.md\n" + "model=M,\n" * 30_000 + "M" * 10_000
    assert settings({"prompts/classify.md": PROMPT, "app.py": code})[0] == DEFAULT_MODEL
