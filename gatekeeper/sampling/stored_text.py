"""Limits how much text of a sample is stored. Pure.

A model, or a server that replaces it, can answer with megabytes, thousands of times. The checks
evaluate the whole answer. Memory and reports then keep its beginning, with the length and the
digest of the whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from gatekeeper.contract.trial import CheckResult, Completion, CutText, Outcome

MOST_CHARACTERS = 100_000
"""The most characters of an answer that are stored, as the model gave it and after repairs."""
MOST_OF_MESSAGE = 2_000
"""Characters of what a check or a failed call says."""
MOST_OF_FINGERPRINT = 200


def shorten(text: str, most: int) -> str:
    """Return the text, or for one longer than `most` characters its beginning and a mark."""
    if len(text) <= most:
        return text
    # The dots come first: they are how half a secret is found. A character beyond ASCII would
    # double the memory that the text takes.
    return f"{text[:most]}... [cut: only the first {most:,} characters are kept]"


def is_long(completion: Completion) -> bool:
    """Return whether the answer is too long to be kept as it is."""
    return len(completion.text) > MOST_CHARACTERS


def stored_completion(completion: Completion) -> Completion:
    """Return the completion to keep: itself, unless a text of it is too long."""
    fingerprint = completion.fingerprint
    if fingerprint is not None and len(fingerprint) > MOST_OF_FINGERPRINT:
        completion = replace(completion, fingerprint=shorten(fingerprint, MOST_OF_FINGERPRINT))
    if not is_long(completion) or completion.cut is not None:
        return completion
    whole = completion.text
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    kept = shorten(whole, MOST_CHARACTERS)
    return replace(completion, text=kept, cut=CutText(len(whole), digest))


def stored_outcome(outcome: Outcome) -> Outcome:
    """Return the outcome to keep: evaluated as a whole, and without texts that are too long."""
    sample = outcome.sample
    error = None if sample.error is None else shorten(sample.error, MOST_OF_MESSAGE)
    completion, output = sample.completion, sample.output
    if completion is not None:
        kept = stored_completion(completion)
        # Of an answer without repairs one text is kept and not two that are the same.
        repaired = output != completion.text
        output = shorten(output, MOST_CHARACTERS) if repaired else kept.text
        completion = kept
    return Outcome(
        replace(sample, completion=completion, output=output, error=error),
        tuple(map(_stored_check_result, outcome.check_results)),
    )


def _stored_check_result(check_result: CheckResult) -> CheckResult:
    if len(check_result.message) <= MOST_OF_MESSAGE:
        return check_result
    return replace(check_result, message=shorten(check_result.message, MOST_OF_MESSAGE))
