"""The calibration file of a contract: what its judges said of outputs that people labelled.

It stands beside the contract, as `NAME.judge.json` for `NAME.yaml`. A calibration belongs to one
judge: another model, prompt or parameter needs labels to be graded again.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.meaning.digests import check_meaning, digest
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.values.calibration_record import (
    NOT_CALIBRATED,
    Calibrations,
    CheckCalibration,
    GradedLabel,
)
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import CheckSpec
from gatekeeper.errors import ContractError, Problem

VERSION = 1
SUFFIX = ".judge.json"
_FIX = "recreate the file with `gatekeeper judge calibrate`"


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """What a calibration is valid for: the check as written, and the models that it asks."""

    check: CheckSpec
    models: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Return the same text exactly for judges that are asked the same about an output."""
        meaning = check_meaning(self.check)
        kept = {key: meaning[key] for key in ("type", "params", "files")}
        return digest([kept, sorted(self.models), dict(self.settings)])


def calibration_path(contract_path: str) -> str:
    """Return the path of the calibration file of a contract: `NAME.judge.json` for `NAME.yaml`, and
    `NAME.part.judge.json` for the contract `part` of a foreign file."""
    file = file_of_contract(contract_path)
    part = contract_path.removeprefix(file).replace("#", ".")
    return posixpath.splitext(file)[0] + part + SUFFIX


def read_calibration(revision: Revision, contract_path: str) -> Calibrations:
    """Return the calibrations of a contract's checks; none without a file. Raises ContractError."""
    path = calibration_path(contract_path)
    if path not in revision.entries:
        return NOT_CALIBRATED
    try:
        data = parse(read_text(revision, path), path).data
    except UnreadableError as error:
        raise ContractError([Problem(path, error.what, error.fix, error.line)]) from None
    return calibrations_from(data, path)


def calibrations_from(data: Any, path: str) -> Calibrations:
    """Return the calibrations in the file's data. Raises ContractError."""
    try:
        if data["calibration"] != VERSION:
            what = (
                f"the calibration has version {data['calibration']!r}, but this gatekeeper "
                f"reads version {VERSION}"
            )
            raise ContractError([Problem(path, what, _FIX)])
        return {
            _text(name): CheckCalibration(_text(found["judge"]), _labels(found["labels"]))
            for name, found in dict(data["checks"]).items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"the file is not a valid calibration ({type(error).__name__}: {error})"
        raise ContractError([Problem(path, what, _FIX)]) from None


def calibration_text(contract: str, found: Calibrations) -> str:
    """Return the content of the file, the same for the same labels."""
    document = {
        "calibration": VERSION,
        "contract": contract,
        "checks": {
            name: {
                "judge": calibration.judge,
                "labels": [_label_document(label) for label in calibration.labels],
            }
            for name, calibration in sorted(found.items())
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _label_document(label: GradedLabel) -> dict[str, Any]:
    document: dict[str, Any] = {
        "fixture": label.fixture,
        "output": label.output,
        "human": label.human,
        "judge": label.judge,
    }
    more = {"score": label.score, "human_score": label.human_score, "text": label.text}
    return document | {name: value for name, value in more.items() if value is not None}


def _labels(rows: Any) -> tuple[GradedLabel, ...]:
    return tuple(
        GradedLabel(
            _text(row["fixture"]),
            _text(row["output"]),
            _flag(row["human"]),
            _flag(row["judge"]),
            _share(row.get("score")),
            _anchor_text(row),
            _share(row.get("human_score")),
        )
        for row in rows
    )


def _anchor_text(row: Any) -> str | None:
    """Return the output of an anchor. Raises ValueError if it is not the one that was labelled."""
    if row.get("text") is None:
        return None
    text = _text(row["text"])
    if output_digest(text) != row["output"]:
        raise ValueError("`text` differs from the output that people labelled")
    return text


def output_digest(output: str) -> str:
    """Return the SHA-256 of an output, which may hold a lone surrogate."""
    return hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"`human` and `judge` must be true or false, but one is {value!r}")
    return value


def _share(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TypeError(f"a score must be from 0 to 1, but is {value!r}")
    return float(value)
