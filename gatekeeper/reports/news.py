"""News of a run for people who do not look at the pull request, and its text for a chat.

There are six kinds: a prompt change made things worse, an error budget is overspent so that its
prompt is frozen, a nightly run missed an objective, a model or judge drifted although the prompt
did not change, nightly runs could not measure a contract, the policy's limit of the month is nearly
or wholly spent. News says only what happened.

The author of a pull request writes parts of it, so mentions are broken up and invisible characters
are made visible. The services receive it as text, not as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.words.catalogue import REASONS, NewsKind

NEWS_KINDS: tuple[NewsKind, ...] = get_args(NewsKind)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class News:
    """An event of one contract, or of a key of the policy.

    `text` may contain text of a pull request.
    """

    kind: NewsKind
    contract: str
    text: str


def news_of(result: GateResult) -> tuple[News, ...]:
    """Return the news of a check, contract by contract, without waived ones."""
    return tuple(
        News(kind, contract.name, reason.text)
        for contract in result.contracts
        for reason in contract.reasons
        if contract.verdict == reason.verdict == "fail"
        and (kind := REASONS[reason.code].news) is not None
    )


def wanted(news: Sequence[News], kinds: Sequence[str]) -> tuple[News, ...]:
    """Return the news of these kinds, in the order of `NEWS_KINDS`."""
    ordered = sorted(news, key=lambda found: NEWS_KINDS.index(found.kind))
    return tuple(found for found in ordered if found.kind in kinds)


TITLES = {
    "regression": "a change made a prompt worse",
    "freeze": "an error budget is spent",
    "objective": "a nightly run missed an objective",
    "drift": "a model or judge drifted",
    "unmeasured": "nightly runs cannot measure",
    "spending": "the spending limit of the month is nearly reached",
}
TEMPLATE = """\
{% for found in news -%}
{{ found.contract }}: {{ found.text }}
{% endfor -%}
{% if pull_request %}{{ pull_request }}
{% endif %}{% if commit %}Commit {{ commit }}
{% endif %}{% if url %}{{ url }}{% endif %}"""
LONGEST = 3_000
"""The most characters of a body. Slack accepts 40,000; Discord accepts 2,000, and apprise shortens
the text for it."""
_LONGEST_PART = 600


def notification_title(news: Sequence[News], repository: str) -> str:
    """Return one line: the repository, and the worst news."""
    others = f" (and {len(news) - 1} more)" if len(news) > 1 else ""
    return f"{_unmentioned(repository, 140)}: {TITLES[news[0].kind]}{others}"


def notification_body(
    news: Sequence[News],
    *,
    commit: str | None = None,
    url: str | None = None,
    pull_request: str | None = None,
    template: str | None = None,
) -> tuple[str, str | None]:
    """Return the text, and what is wrong with the template if the built-in one replaced it.

    A template is Jinja2 and sees `news` (each with `kind`, `contract`, `text`), `commit`, `url` and
    the address of the `pull_request`; it is bounded and sandboxed like a prompt.
    """
    variables = {
        "news": [
            {
                "kind": found.kind,
                "contract": _unmentioned(found.contract, 120),
                "text": _unmentioned(found.text, _LONGEST_PART),
            }
            for found in news
        ],
        "commit": commit and commit[:10],
        "url": url,
        "pull_request": pull_request,
    }
    if template is not None:
        try:
            return _rendered(template, variables), None
        except Exception as error:  # besides Jinja2's own, whatever its filters raise
            wrong = f"the template for notifications cannot be rendered: {error}"
            return _rendered(TEMPLATE, variables), wrong
    return _rendered(TEMPLATE, variables), None


def _rendered(template: str, variables: dict[str, Any]) -> str:
    from gatekeeper.contract.templates.environment import compiled, environment_for, rendered

    environment = environment_for(())
    text = rendered(environment, compiled(environment, template, "notification"), variables)
    return clip(text.strip(), LONGEST)


def _unmentioned(text: str, limit: int) -> str:
    """Escape mentions and links: `@channel`, Slack's `<!here>` and links with other texts are
    markup even in plain text."""
    shown = " ".join(visible(clip(text, limit)).split())
    return shown.replace("<", "‹").replace(">", "›").replace("@", "@\u200b")
