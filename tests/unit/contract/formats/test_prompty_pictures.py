"""Pictures that a Prompty file sends become files of the fixtures, or are named."""

from __future__ import annotations

import pytest
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.formats.prompty_pictures import has_markdown
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

PATH = "evals/shop.prompty"
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 20
PICTURES = {f"evals/pics/{name}": PNG + name.encode() for name in ("a.png", "b.png", "c.png")}
PICTURES["evals/pics/d.jpg"] = b"\xff\xd8\xff\xe0" + b"j" * 20
PICTURES["evals/data/a.png"] = PNG
FIRST = """\
---
name: shop
model:
  api: chat
  configuration: {type: openai, name: openai/gpt-4o-mini}
sample: {shop: Spar, image: pics/a.png, other: pics/b.png}
---
system:
You read receipts.

user:
What does {{shop}} say?
![receipt]({{image}})
"""
SECOND = """\
---
name: shop
model: {id: gpt-4o-mini, provider: openai}
inputs:
  - {name: shop, kind: string, sample: Spar}
  - {name: image, kind: image, sample: pics/a.png}
---
system:
You read receipts.

user:
What does {{shop}} say?
{{image}}
"""


def files_of(text: str) -> dict[str, bytes]:
    return {PATH: text.encode(), **PICTURES}


def loaded(text: str) -> Contract:
    return load_contract(MemoryRevision(files_of(text)), PATH, SHAPES)


def sent(contract: Contract) -> list[list[tuple[str, str, list[str]]]]:
    trials = plan_trials(contract, contract.target, None, {}).trials
    return [
        [(m.role, m.content, [f.path for f in m.files]) for m in trial.request.messages]
        for trial in trials
    ]


def of(*files: str) -> list[tuple[str, str, list[str]]]:
    asked = ("user", "What does Spar say?", [f"evals/{file}" for file in files])
    return [("system", "You read receipts.", []), asked]


def body(text: str, written: str) -> str:
    """Return the file with another message of the user."""
    return text[: text.index("user:\n")] + f"user:\n{written}\n"


ASKED = "What does {{shop}} say?"


@pytest.mark.parametrize(
    ("written", "files"),
    [
        (f"{ASKED}\n![receipt]({{{{image}}}})", ["pics/a.png"]),
        (f"![]({{{{ image }}}})\n\n{ASKED}", ["pics/a.png"]),
        (f"{ASKED} ![b]({{{{other}}}}) ![a]({{{{ image }}}})", ["pics/b.png", "pics/a.png"]),
        (f"![c](pics/c.png)![a]({{{{image}}}})\n{ASKED}", ["pics/c.png", "pics/a.png"]),
        (f'{ASKED}\n![d](pics/d.jpg "a title")', ["pics/d.jpg"]),
        (f"{ASKED}\n![d](../evals/pics/d.jpg)", ["../evals/pics/d.jpg"]),
    ],
)
def test_markdown_images_of_version_1_are_sent(written: str, files: list[str]) -> None:
    contract = loaded(body(FIRST, written))
    found = [file.replace("../evals/", "") for file in files]
    assert sent(contract) == [of(*found)]
    assert contract.not_run == ()


@pytest.mark.parametrize(
    "written", [f"{ASKED}\n{{{{image}}}}", f"{{{{ image }}}}\n{ASKED}", f"{ASKED} {{{{-image-}}}}"]
)
def test_an_input_of_the_kind_image_is_sent(written: str) -> None:
    contract = loaded(body(SECOND, written))
    assert sent(contract) == [of("pics/a.png")]
    assert [dict(fixture.vars) for fixture in contract.fixtures] == [{"shop": "Spar"}]


@pytest.mark.parametrize("written", ["{{image}}", "{{{image}}}", "{{& image}}"])
def test_a_picture_in_mustache_is_sent(written: str) -> None:
    second = edited(SECOND, "inputs:\n", "template: {format: {kind: mustache}}\ninputs:\n")
    assert sent(loaded(body(second, f"{ASKED}\n{written}"))) == [of("pics/a.png")]
    first = edited(FIRST, "model:\n", "template: mustache\nmodel:\n")
    assert sent(loaded(body(first, f"![a]({written})\n{ASKED}"))) == [of("pics/a.png")]


def test_two_inputs_keep_the_order_of_the_prompt_and_have_defaults() -> None:
    more = "  - {name: z, kind: image, default: pics/d.jpg, sample: pics/d.jpg}\n---\nsystem"
    text = edited(SECOND, "---\nsystem", more)
    assert sent(loaded(body(text, f"{{{{z}}}}{{{{image}}}}\n{ASKED}"))) == [
        of("pics/d.jpg", "pics/a.png")
    ]


def test_each_row_of_a_sample_has_its_pictures() -> None:
    rows = "sample: [{shop: Spar, image: pics/a.png}, {shop: Spar, image: pics/d.jpg}]\n---\n"
    one = "sample: {shop: Spar, image: pics/a.png, other: pics/b.png}\n---\n"
    found = sorted(files for _, (_, _, files) in sent(loaded(edited(FIRST, one, rows))))
    assert found == [["evals/pics/a.png"], ["evals/pics/d.jpg"]]


def test_a_message_keeps_its_line_in_the_file() -> None:
    messages = loaded(body(FIRST, f"![a]({{{{image}}}})\n\n{ASKED}")).target.prompt.messages
    assert [message.line for message in messages] == [9, 14]


def test_a_markdown_image_is_text_for_version_2() -> None:
    text = edited(SECOND, "  - {name: image, kind: image, sample: pics/a.png}\n", "")
    contract = loaded(body(text, f"{ASKED} ![a](pics/a.png)"))
    ((_, asked),) = sent(contract)
    assert asked == ("user", "What does Spar say? ![a](pics/a.png)", [])


@pytest.mark.parametrize(
    "written",
    [
        f"{ASKED}\n![a]({{{{image}}}})\nAnd now?",
        "![a]({{image}})",
        f"{ASKED}\n![a]({{{{image}}}}) ![a]({{{{image}}}})",
        f"{ASKED} {{{{image}}}} ![a]({{{{image}}}})",
        f"{ASKED}\n![a](pics/{{{{image}}}})",
        f"{ASKED}\n![a]({{{{image | upper}}}})",
        f"{ASKED}\n![a](https://example.com/a.png)",
        f"{ASKED}\n![a](data:image/png;base64,iVBORw0KGgo=)",
        f"{ASKED}\n![a](data/a.png)",
        f"{ASKED}\n![a](/evals/pics/a.png)",
        f"{ASKED}\n![a](pics/a.svg)",
        f"{ASKED}\n![a]({{{{shop}}}})",
        f"{ASKED}\n![a]({{{{nothing}}}})",
        f"{{% if shop %}}{ASKED}{{% endif %}}\n![a]({{{{image}}}})",
        f"![a]({{{{image}}}})\n\nassistant:\nYes.\n\nuser:\n{ASKED}",
        f"{ASKED}\n![a]({{{{image}}}})\n\nassistant:\n![b](pics/b.png)",
    ],
)
def test_another_markdown_image_of_version_1_is_refused(written: str) -> None:
    with pytest.raises(ContractError) as raised:
        loaded(body(FIRST, written))
    (problem,) = raised.value.problems
    assert problem.path == PATH
    assert problem.line in (6, 9, 12)  # of the sample, or of a message
    assert "image" in problem.what or "picture" in problem.what
    assert "`files`" in problem.fix


@pytest.mark.parametrize(
    ("sample", "written"),
    [
        ("pics/a.png", f"{ASKED}\n![a]({{{{image}}}})"),
        ("pics/a.png", f"{ASKED}\n{{{{image}}}} {{{{image}}}}"),
        ("pics/a.png", f"Here is {{{{image}}}}: {ASKED}"),
        ("pics/a.png", ASKED),
        ("https://example.com/a.png", f"{ASKED}\n{{{{image}}}}"),
        ("'data:image/png;base64,iVBORw0KGgo='", f"{ASKED}\n{{{{image}}}}"),
        ("pics/paper.pdf", f"{ASKED}\n{{{{image}}}}"),
        ("''", f"{ASKED}\n{{{{image}}}}"),
        ("[pics/a.png]", f"{ASKED}\n{{{{image}}}}"),
    ],
)
def test_another_input_of_the_kind_image_is_refused(sample: str, written: str) -> None:
    text = edited(SECOND, "kind: image, sample: pics/a.png", f"kind: image, sample: {sample}")
    with pytest.raises(ContractError) as raised:
        loaded(body(text, written))
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == (PATH, 6)
    assert "`image`" in problem.what


def test_a_sample_that_version_1_would_send_as_a_picture_is_refused() -> None:
    for written in ("'![x](pics/a.png)'", "'See ![x](https://example.com/a.png).'"):
        text = edited(FIRST, "shop: Spar", f"shop: {written}")
        with pytest.raises(ContractError) as raised:
            loaded(body(text, ASKED))
        assert "Markdown image" in raised.value.problems[0].what


@pytest.mark.parametrize("start", ["![", "![](", "![]({{", "![](}}{{"])
def test_many_starts_of_an_image_are_read_quickly(start: str) -> None:
    assert not has_markdown(start * 100_000)
    assert has_markdown(start * 100_000 + "]" + "![a](b.png)")


def test_a_missing_picture_is_an_error_that_names_it() -> None:
    for text in (FIRST, SECOND):
        with pytest.raises(ContractError) as raised:
            loaded(edited(text, "pics/a.png", "pics/none.png"))
        (problem,) = raised.value.problems
        assert (problem.path, problem.line) == (PATH, 6)
        assert "evals/pics/none.png" in problem.what


@pytest.mark.parametrize("text", [FIRST, SECOND, body(FIRST, f"{ASKED} ![a](pics/a.png)")])
def test_a_changed_picture_affects_the_contract(text: str) -> None:
    base = files_of(text)
    policy = Policy(contracts=("evals/**/*",), prompts=("evals/**/*",))
    for name, affected in (("a.png", [PATH]), ("c.png", [])):
        head = {**base, f"evals/pics/{name}": PNG + b"other"}
        change = Change(MemoryRevision(base), MemoryRevision(head), {})
        found = find_affected(change, policy, SHAPES)
        assert [contract.path for contract in found.contracts] == affected


def test_a_changed_text_beside_a_picture_affects_the_contract() -> None:
    base = files_of(FIRST)
    head = files_of(edited(FIRST, "What does", "What did"))
    policy = Policy(contracts=("evals/**/*",), prompts=("evals/**/*",))
    found = find_affected(Change(MemoryRevision(base), MemoryRevision(head), {}), policy, SHAPES)
    assert [contract.path for contract in found.contracts] == [PATH]
