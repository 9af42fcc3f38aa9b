"""A prompt in source code is made worse, and the change hides it in the program's file."""

from __future__ import annotations

import re

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, NO_SLO, PROMPT_FILE, Proposal, all_say, some_say
from support.recorded_repository import RECORDING, recording
from support.ways_in import by_the_action

RULES = "".join(f"Rule {n}: be precise about item {n}. " for n in range(12))
GOOD = f"{RULES}Say {{{{ word }}}}."
WORSE = f"{RULES}Never say {{{{ word }}}}."
UNFILLED = f"{RULES}Say {{word}}."
STRICT = "require_contract: true\non_inconclusive: fail\n"
APP = "src/app.py"


def source(text: str, name: str = "PROMPT") -> str:
    """A program whose constant has the text as a format string."""
    written = edited(text, "{{ word }}", "{word}")
    return f'import model\n\n{name} = """\\\n{written}"""\n\n\ndef ask(word):\n    return 1\n'


def contract(reference: str, extra: str = "") -> str:
    before, _, after = NO_SLO.partition("prompt: ../prompts/words.txt\ntemplate: jinja\n")
    assert after
    return f"{before}prompt: /{reference}\n{after}{extra}"


BASE = {path: text for path, text in Proposal("base", "", {}).base.items() if path != PROMPT_FILE}
BASE |= {
    CONTRACT: contract(f"{APP}:PROMPT"),
    APP: source(GOOD),
    RECORDING: recording(all_say("ok", GOOD) | some_say("no", 20, WORSE) | {UNFILLED: "no"}),
}


@pytest.fixture
def check(run_gate):
    def run(writes):
        return run_gate(BASE, writes, policy=STRICT)

    return run


def test_the_program_around_the_constant_affects_nothing(check):
    changed = edited(source(GOOD), "return 1", "return model.ask(PROMPT.format(word=word))")
    answered = check({APP: f"# A note.\n{changed}", "src/new.py": "x = 1\n"})
    assert answered.exit_code == 0
    assert answered.result is not None
    assert answered.result["contracts"] == []


def test_code_that_changes_the_constant_is_an_error_at_its_line(check):
    answered = check({APP: f"{source(GOOD)}\n\nsys.modules[__name__].PROMPT = 'Never.'\n"})
    assert answered.exit_code == 2
    assert f"{APP}:{source(GOOD).count(chr(10)) + 3}" in answered.log


@pytest.mark.long
@by_the_action
def test_a_worse_constant_is_found_at_its_line(check):
    answered = check({APP: f"# A note.\n{source(WORSE)}"})
    assert (answered.exit_code, answered.reasons()) == (1, {"regression"})
    assert re.search(rf"::error [^:]*file={APP},[^:]*line=5\b", answered.log)


@pytest.mark.parametrize(
    ("writes", "reason"),
    [
        # The contract turns to a copy, and the program's constant stays.
        ({CONTRACT: contract("src/copy.py:PROMPT"), "src/copy.py": source(GOOD)}, "removed"),
        # The constant gets another name in its file.
        ({CONTRACT: contract("src/copy.py:PROMPT"), "src/copy.py": source(GOOD)}, "replaced"),
        # The constant is computed from now on.
        ({}, "error"),
        # The contract follows to the worse text.
        ({CONTRACT: contract("src/new.py:PROMPT"), "src/new.py": source(WORSE)}, "regression"),
        # The contract says that the text is filled in otherwise.
        ({CONTRACT: contract(f"{APP}:PROMPT", "template: jinja\n")}, "regression"),
    ],
    ids=["copied", "renamed", "computed", "moved", "style"],
)
def test_a_worse_constant_is_not_hidden(check, writes, reason, request):
    app = {
        "copied": source(WORSE),
        "renamed": source(WORSE, "OTHER"),
        "computed": "PROMPT = open('worse.txt').read()\n",
        "moved": None,
        "style": edited(source(GOOD), "{word}", "{{word}}"),
    }
    name = request.node.callspec.id.rpartition("-")[2]
    answered = check({APP: app[name], **writes})
    assert answered.exit_code in (1, 2)
    assert reason == "error" or reason in answered.reasons() | answered.reasons("inconclusive")
