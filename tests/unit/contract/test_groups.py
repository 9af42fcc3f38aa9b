"""Contracts that a person names."""

from __future__ import annotations

import pytest

from gatekeeper.contract.changes.affected import Affected
from gatekeeper.contract.changes.groups import narrowed
from gatekeeper.errors import UsageError

KNOWN = ("order-id", "speech-tag")


@pytest.mark.parametrize(
    ("written", "known", "hint"),
    [
        ("order-di", KNOWN, "did you mean 'order-id'?"),
        ("contracts/speech-tag.yaml", KNOWN, "did you mean 'speech-tag'?"),
        (
            "zzz",
            KNOWN,
            "the known names are: order-id, speech-tag; if the contract is new, commit the "
            "contract first",
        ),
        ("zzz", (), "there is no contract yet; if the contract is new, commit the contract first"),
    ],
)
def test_an_unknown_name_gets_a_hint(written: str, known: tuple[str, ...], hint: str) -> None:
    with pytest.raises(UsageError, match="no contract has the name") as caught:
        narrowed(Affected((), len(known), others=known), [written])
    assert str(caught.value).endswith(hint)
