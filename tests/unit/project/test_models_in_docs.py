"""The examples of the documentation name models that do not retire.

The price list of the installed litellm says so, not the calendar: a run that passed passes again,
until a newer list is installed.
"""

from __future__ import annotations

import re
from pathlib import Path

from gatekeeper.contract.models.names import is_hosted
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.models.retirement import find_retirement

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("gatekeeper/cli/starter/*.y*ml")]
MODELS = re.compile(r"\bmodels?: *\[?(?P<names>[a-z_]+/[\w.:-]+(?:, *[a-z_]+/[\w.:-]+)*)")


def named() -> dict[str, set[str]]:
    """The models of the examples, each with the pages that name it."""
    found: dict[str, set[str]] = {}
    for page in PAGES:
        for match in MODELS.finditer(page.read_text("utf-8")):
            for name in re.split(", *", match["names"]):
                found.setdefault(name.rstrip("."), set()).add(page.name)
    return {name: pages for name, pages in found.items() if is_hosted(name)}


def test_no_example_names_a_model_that_retires() -> None:
    found = named()
    assert {"README.md", "contract.yaml", "checks.md"} <= set().union(*found.values())
    ends = {name: find_retirement(name) for name in found}
    assert {name: (str(end.day), sorted(found[name])) for name, end in ends.items() if end} == {}, (
        "write a model without an end in the price list"
    )


def test_the_examples_have_a_price() -> None:
    """A model that the list does not know has no end in it, either."""
    unknown = {name for name in named() if name.startswith(("openai/", "anthropic/", "gemini/"))}
    assert {name for name in unknown if price_entry(name) is None} == set()
