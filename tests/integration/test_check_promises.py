"""`gatekeeper check` says in its comment what a prompt promises now, as the action does."""

from __future__ import annotations

from typing import Any

from support.edited_text import edited
from support.proposals import MANY, NO_SLO
from support.recorded_repository import contract_files

SPEC = "prompts/words.spec.yaml"
POLITE = "version: 1\nprompt: words.txt\nrules:\n- {id: a, text: Kind words., lines: [1]}\n"


def test_the_comment_of_a_check_has_the_promises_that_changed(check_of: Any) -> None:
    head = {SPEC: edited(POLITE, "Kind words.", "Very kind words.")}
    found = check_of({**contract_files(NO_SLO, MANY), SPEC: POLITE}, head)
    assert found.code == 0
    (promises,) = found.result["promises"]
    assert (promises["specification"], promises["state"]) == (SPEC, "changed")
    assert "Very kind words." in found.comment
