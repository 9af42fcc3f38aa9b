"""What the tests of the checks share: a sample of any output, a check ready to evaluate it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gatekeeper.checks.check import Files, Finding
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

Apply = Callable[..., Finding]


def sample_of(output: str, fixture: str = "f", **completion: Any) -> Sample:
    trial = Trial("c", fixture, "head", 0, Request("m", (), {}, None, 0))
    return Sample(trial, Completion(output, **completion), output=output)


def apply_check(
    kind: str,
    output: str,
    files: Mapping[str, str] | None = None,
    completion: Mapping[str, Any] | None = None,
    **params: Any,
) -> Finding:
    """Prepare a check and evaluate one output with it."""
    evaluate = CHECKS[kind].prepare(params, Files(files or {}, "contracts/c.yaml"))
    return evaluate(sample_of(output, **(completion or {})))


@pytest.fixture
def apply() -> Apply:
    return apply_check


@pytest.fixture
def make_sample() -> Callable[..., Sample]:
    return sample_of
