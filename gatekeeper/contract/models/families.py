"""Which family a model is of: models that were trained by the same maker and share their taste.

A judge prefers the answers of its own family: Panickssery, A., Bowman, S. R. and Feng, S. (2024),
LLM Evaluators Recognize and Favor Their Own Generations, NeurIPS 37.
"""

from __future__ import annotations

import re

_FAMILIES = (
    ("GPT", re.compile(r"(?:^|[/._:-])(?:gpt|chatgpt|o\d(?:-|$)|davinci|codex)", re.IGNORECASE)),
    ("Claude", re.compile(r"claude", re.IGNORECASE)),
    ("Gemini", re.compile(r"gemini|gemma|palm-", re.IGNORECASE)),
    ("DeepSeek", re.compile(r"deepseek", re.IGNORECASE)),
    ("Qwen", re.compile(r"qwen|qwq", re.IGNORECASE)),
    ("Mistral", re.compile(r"mi[sx]tral|pixtral|magistral|codestral|ministral", re.IGNORECASE)),
    ("Llama", re.compile(r"(?<!o)llama(?!file|fil|_)", re.IGNORECASE)),
    ("Grok", re.compile(r"grok", re.IGNORECASE)),
    ("Command", re.compile(r"(?:^|[/.])command(?:-|$)", re.IGNORECASE)),
    ("Nova", re.compile(r"nova-(?:micro|lite|pro|premier)", re.IGNORECASE)),
    ("Phi", re.compile(r"(?:^|[/._-])phi-?\d", re.IGNORECASE)),
    ("SmolLM", re.compile(r"smollm", re.IGNORECASE)),
)


def family_of(model: str) -> str | None:
    """Return the family that a model's name says it is of; None if it says none, as that of a
    recording, and for an embedding model, which has no taste.

    A name such as `deepseek-r1-distill-llama-70b` is of the family that is named first here.
    """
    if model.startswith("recorded/") or "embed" in model.lower():
        return None
    return next((name for name, pattern in _FAMILIES if pattern.search(model)), None)
