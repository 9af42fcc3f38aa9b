"""How well the embedded model's vectors tell texts apart, beside a comparison of characters.

    python -m benchmarks.local_embeddings FOLDER [--rows 45] [--pairs 120]

FOLDER holds PromptPex's outputs (`NAME.jsonl`: `outputs` by model, each with `text` and
`compliant`). Two questions, for free text: is an output compliant, by how near it is to a compliant
one of gpt-4o-mini for the same input; and does it answer the same input or another one. Each row of
the table is an area under the ROC curve: 0.5 is chance, 1 tells all pairs apart. Texts are cut at
600 characters.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gatekeeper.checks.text.overlap.similarity import similarity
from gatekeeper.providers.local import model_file
from gatekeeper.stats.judges.calibration import roc_auc

PROMPTS = ("elements", "extract-names", "text-to-p")
REFERENCE = "gpt-4o-mini"
LONGEST = 600

Pair = tuple[bool, str, str]


def embedder() -> Callable[[str], tuple[float, ...]]:
    """Return a function from a text to its vector: the mean over its tokens, of length 1."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = params.n_batch = params.n_ubatch = 2048
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.verbosity = -1
    params.ui = False
    server = xllamacpp.Server(params)

    @cache
    def embed(text: str) -> tuple[float, ...]:
        vector = server.handle_embeddings({"input": text[:LONGEST]})["data"][0]["embedding"]
        length = math.hypot(*vector) or 1.0
        return tuple(x / length for x in vector)

    return embed


def pairs_of(rows: list[dict[str, Any]]) -> tuple[list[Pair], list[Pair]]:
    """Return pairs of a compliant reference with outputs that are compliant or not, and with
    compliant outputs for the same input or for another."""
    by_compliance: list[Pair] = []
    by_input: list[Pair] = []
    before = None
    for row in rows:
        reference = row["outputs"].get(REFERENCE)
        if not reference or reference["compliant"] is not True:
            continue
        for other, output in usable(row["outputs"]):
            by_compliance.append((other, reference["text"], output))
            if before is not None and other:
                by_input += [(True, reference["text"], output), (False, before, output)]
        before = reference["text"]
    return by_compliance, by_input


def usable(outputs: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for model, output in outputs.items():
        if model != REFERENCE and output["compliant"] is not None and output["text"].strip():
            yield output["compliant"], output["text"]


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rows", type=int, default=45)
    arguments.add_argument("--pairs", type=int, default=120)
    given = arguments.parse_args()
    embed = embedder()

    def cosine(one: str, other: str) -> float:
        return math.fsum(x * y for x, y in zip(embed(one), embed(other), strict=True))

    def characters(one: str, other: str) -> float:
        return similarity(plain(one), plain(other))

    print(
        "| prompt | question | pairs | vectors | characters |\n| --- | --- | ---: | ---: | ---: |"
    )
    for name in PROMPTS:
        lines = (given.folder / f"{name}.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines[: given.rows]]
        for question, pairs in zip(("compliant?", "same input?"), pairs_of(rows), strict=True):
            kept = pairs[: given.pairs]
            areas = [
                roc_auc([score(a, b) for _, a, b in kept], [label for label, _, _ in kept])
                for score in (cosine, characters)
            ]
            shown = " | ".join("-" if area is None else f"{area.value:.2f}" for area in areas)
            print(f"| {name} | {question} | {len(kept)} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
