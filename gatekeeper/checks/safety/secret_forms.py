"""The forms of keys, tokens and passwords that services give out."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

_PREFIX = r"(?<![A-Za-z0-9])"

FORMS: Mapping[str, re.Pattern[str]] = {
    kind: re.compile(pattern, re.ASCII)
    for kind, pattern in {
        "private_key": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----",
        "aws": _PREFIX + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
        "azure": r"AccountKey=[A-Za-z0-9+/]{86}==",
        "anthropic": _PREFIX + r"sk-ant-[A-Za-z0-9_-]{20,200}",
        "openai": _PREFIX + r"sk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,250}",
        "google": _PREFIX + r"(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,500})",
        "github": _PREFIX + r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
        "gitlab": _PREFIX + r"gl(?:pat|rt|dt|ptt|oas)-[A-Za-z0-9_-]{20,300}",
        "slack": (
            _PREFIX + r"xox[abeoprs]-[A-Za-z0-9-]{10,250}"
            r"|hooks\.slack\.com/services/T[A-Z0-9]{5,20}/B[A-Z0-9]{5,20}/[A-Za-z0-9]{16,40}"
        ),
        "stripe": _PREFIX + r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}",
        "huggingface": _PREFIX + r"hf_[A-Za-z0-9]{30,60}",
        "npm": _PREFIX + r"npm_[A-Za-z0-9]{36}",
        "pypi": _PREFIX + r"pypi-AgE[A-Za-z0-9_-]{50,500}",
        "sendgrid": _PREFIX + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        "telegram": _PREFIX + r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9])",
        "jwt": _PREFIX
        + r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,}",
        "url_password": r"[a-z][a-z0-9+.-]{1,15}://[^\s/:@<>{}$]{1,80}:[^\s/@<>{}$*]{3,120}@",
        "assignment": (
            r"(?i:passw(?:or)?d|secret|token|api[_-]?key|access[_-]?key|credentials?)"
            r"[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?([A-Za-z0-9+/=_.~!@#%^&-]{12,200})"
        ),
    }.items()
}
"""The kinds of secrets, with a pattern for each. Every repetition in a pattern is bounded."""

_LEAST_ENTROPY = 3.3
"""The least bits of information per character. An assigned value with less counts as a word
or a placeholder."""


def find_secrets(text: str, kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each secret."""
    for kind in kinds:
        for found in FORMS[kind].finditer(text):
            secret = found[1] if found.re.groups else found[0]
            if kind != "assignment" or _looks_random(secret):
                yield kind, secret


def _looks_random(text: str) -> bool:
    """Return whether a text has letters and digits, and as many different ones as chance makes."""
    if not (any(c.isdigit() for c in text) and any(c.isalpha() for c in text)):
        return False
    counts = Counter(text).values()
    entropy = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return entropy >= _LEAST_ENTROPY
