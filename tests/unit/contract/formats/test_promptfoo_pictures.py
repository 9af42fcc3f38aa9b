"""Pictures that a promptfoo prompt sends become files of the fixtures, or are named."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.promptfoo_suite import PATH, suite

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

PNG, JPEG = b"\x89PNG\r\n\x1a\n" + b"p" * 20, b"\xff\xd8\xff\xe0" + b"j" * 20
PICTURES = {f"evals/pics/{name}": PNG + name.encode() for name in ("a.png", "b.png", "c.png")}
PICTURES["evals/pics/d.jpg"] = JPEG
EQUALS = [{"type": "equals", "value": "yes"}]
TEXT = {"type": "text", "text": "What does {{ shop }} say in this image?"}


def part(name: str = "image", before: str = "data:image/png;base64,", **more: str) -> Any:
    return {"type": "image_url", "image_url": {"url": before + f"{{{{ {name} }}}}", **more}}


def chat(*parts: Any, system: str = "You read receipts.") -> list[Any]:
    roles = (("system", system), ("user", [*parts]))
    return [{"role": role, "content": content} for role, content in roles]


def files_of(messages: Any, *tests: dict[str, Any], **more: Any) -> dict[str, bytes]:
    rows = [test if "vars" in test else {"vars": test} for test in tests]
    data = suite(*({"assert": EQUALS, **row} for row in rows), **more)
    data["prompts"] = more.get("prompts") or ["file://chat.json"]
    written = {"evals/chat.json": json.dumps(messages, indent=2).encode()}
    return {PATH: json.dumps(data).encode(), **written, **PICTURES}


def loaded(messages: Any, *tests: dict[str, Any], **more: Any) -> Contract:
    return load_contract(MemoryRevision(files_of(messages, *tests, **more)), PATH, SHAPES)


def sent(contract: Contract) -> list[list[tuple[str, str, list[str]]]]:
    trials = plan_trials(contract, contract.target, None, {}).trials
    return [
        [(m.role, m.content, [f.path for f in m.files]) for m in trial.request.messages]
        for trial in trials
    ]


ONE = {"shop": "Spar", "image": "file://pics/a.png"}
SENT = [
    ("system", "You read receipts.", []),
    ("user", "What does Spar say in this image?", ["evals/pics/a.png"]),
]


@pytest.mark.parametrize(
    "parts",
    [
        (TEXT, part()),
        (part(), TEXT),
        (TEXT, part(before="", detail="auto")),
        (TEXT, part(before="data:image/jpeg;base64,")),
        (TEXT | {"type": "input_text"}, {"type": "input_image", "image_url": "{{image}}"}),
        (TEXT, {"type": "image", "source": {
            "type": "base64", "media_type": "image/png", "data": "{{ image }}"}}),
    ],
)  # fmt: skip
def test_a_picture_is_sent_with_the_text(parts: Any) -> None:
    contract = loaded(chat(*parts), ONE)
    assert sent(contract) == [SENT]
    assert contract.not_run == ()
    assert [fixture.vars for fixture in contract.fixtures] == [{"shop": "Spar"}]


@pytest.mark.parametrize("form", ["inline JSON", "inline YAML", "yaml file", "text file"])
def test_the_prompt_may_stand_in_the_suite_or_in_yaml(form: str) -> None:
    messages = chat(TEXT, part())
    text = yaml.safe_dump(messages, sort_keys=False)
    raw = {"inline JSON": json.dumps(messages, indent=2), "inline YAML": text}.get(form)
    named = {"yaml file": "file://p.yaml", "text file": "file://p.txt"}.get(form)
    files = files_of(messages, ONE, prompts=[raw or named])
    others = {"evals/p.yaml": text.encode(), "evals/p.txt": f"\n{text}".encode()}
    contract = load_contract(MemoryRevision({**files, **others}), PATH, SHAPES)
    assert sent(contract) == [SENT]


def test_two_pictures_keep_their_order_and_lists_and_patterns_make_fixtures() -> None:
    messages = chat(part("second"), part("first"), TEXT)
    named = {"shop": "Spar", "first": "file://pics/a.png", "second": "file://pics/b.png"}
    ((_, (_, _, files)),) = sent(loaded(messages, named))
    assert files == ["evals/pics/b.png", "evals/pics/a.png"]
    listed = named | {"first": ["file://pics/a.png", "file://pics/d.jpg"]}
    listed["second"] = "file://pics/[bc].png"
    found = [messages[1][2] for messages in sent(loaded(messages, listed))]
    assert sorted(found, key=lambda files: files[::-1]) == [
        [f"evals/pics/{second}.png", f"evals/pics/{first}"]
        for first in ("a.png", "d.jpg")
        for second in "bc"
    ]


@pytest.mark.parametrize(
    "test",
    [
        {"shop": "Spar", "image": "https://example.com/a.png"},
        {"shop": "Spar", "image": "iVBORw0KGgo="},
        {"shop": "Spar", "image": "file://pics/film.mp4"},
        {"shop": "Spar", "image": "file://pics/{{ shop }}.png"},
        {"shop": "Spar", "image": ["file://pics/a.png", "file://pics/paper.pdf"]},
        {"shop": "Spar"},
        {"shop": "{{ image }}", "image": "file://pics/a.png"},
        {"vars": ONE, "assert": [{"type": "equals", "value": "{{ image }}"}]},
        {"vars": ONE, "assert": [{"type": "javascript", "value": "output == context.vars.image"}]},
    ],
    ids=json.dumps,
)
def test_a_test_whose_picture_is_not_certain_is_named(test: dict[str, Any]) -> None:
    contract = loaded(chat(TEXT, part()), ONE, test)
    assert sent(contract) == [SENT]
    assert len(contract.not_run) == 1


@pytest.mark.parametrize(
    "messages",
    [
        chat(TEXT, part(detail="high")),
        chat(TEXT, part(before="https://example.com/")),
        chat(TEXT, part(), {"type": "text", "text": "And now?"}, part("image")),
        chat(TEXT, part(), part()),
        chat(TEXT | {"text": "{{ image }} {{ shop }}"}, part()),
        chat(TEXT | {"text": "{{ shop }} {% if image %}x{% endif %}"}, part()),
        chat(TEXT | {"cache_control": {"type": "ephemeral"}}, part()),
        chat(TEXT, part(), {"type": "file", "file": {"file_id": "x"}}),
        chat(part()),
        [*chat(TEXT, part()), {"role": "user", "content": "Thanks."}],
        chat(TEXT, part(), system="Here is {{ image }}."),
    ],
)
def test_other_prompts_with_pictures_are_not_run(messages: Any) -> None:
    with pytest.raises(ContractError) as raised:
        loaded(messages, ONE)
    assert "`pics/a.png` is not text" in raised.value.problems[0].what


def test_a_missing_picture_is_an_error_that_names_it() -> None:
    with pytest.raises(ContractError) as raised:
        loaded(chat(TEXT, part()), ONE | {"image": "file://pics/none.png"})
    (problem,) = raised.value.problems
    assert problem.path == PATH
    assert "evals/pics/none.png" in problem.what


def test_a_changed_picture_affects_the_suite() -> None:
    base = files_of(chat(TEXT, part()), ONE)
    head = {**base, "evals/pics/a.png": PNG + b"other"}
    policy = Policy(contracts=("evals/**/*",), prompts=("evals/**/*",))
    found = find_affected(Change(MemoryRevision(base), MemoryRevision(head), {}), policy, SHAPES)
    assert [contract.path for contract in found.contracts] == [PATH]
    still = {**base, "evals/pics/c.png": PNG + b"other"}
    found = find_affected(Change(MemoryRevision(base), MemoryRevision(still), {}), policy, SHAPES)
    assert found.contracts == ()
