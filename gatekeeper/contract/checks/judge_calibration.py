"""The calibration file of a contract: what its judges said of outputs that people labelled.

It stands beside the contract, as `NAME.judge.json` for `NAME.yaml`. A calibration belongs to one
judge: another model, prompt or parameter needs labels to be graded again.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.meaning.digests import check_meaning, digest
from gatekeeper.contract.reading.read import require_text
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, parse
from gatekeeper.contract.values.calibration_record import (
    NOT_CALIBRATED,
    Calibrations,
    CheckCalibration,
    GradedLabel,
)
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import CheckSpec
from gatekeeper.errors import ContractError

VERSION = 1
SUFFIX = ".judge.json"
_FIX = "recreate the file with `gatekeeper judge calibrate`"
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_LABEL = {
    "type": "object",
    "required": ["fixture", "output", "human", "judge"],
    "properties": {
        "fixture": _TEXT,
        "output": _TEXT,
        "human": _FLAG,
        "judge": _FLAG,
        "score": _SHARE,
        "human_score": _SHARE,
        "text": {"type": ["string", "null"]},
    },
}
_CHECK = {
    "type": "object",
    "required": ["judge", "labels"],
    "properties": {"judge": _TEXT, "labels": {"type": "array", "items": _LABEL}},
}
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["calibration", "checks"],
    "properties": {
        "calibration": {"const": VERSION},
        "checks": {"type": "object", "additionalProperties": _CHECK},
    },
}


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
    return calibrations_from(parse(require_text(revision, path), path))


def calibrations_from(document: Document) -> Calibrations:
    """Return the calibrations in the file. Raises ContractError."""
    data = document.data
    problems = [replace(found, fix=_FIX) for found in schema_problems(document, _SCHEMA, data)]
    if problems:
        raise ContractError(problems)
    read = {
        name: CheckCalibration(found["judge"], tuple(map(_label, found["labels"])))
        for name, found in data["checks"].items()
    }
    for label in (label for found in read.values() for label in found.anchors):
        if output_digest(label.text or "") != label.output:
            what = f"`text` differs from the output of fixture `{label.fixture}` that was labelled"
            raise ContractError([document.problem(("checks",), what, _FIX)])
    return read


def _label(row: Mapping[str, Any]) -> GradedLabel:
    return GradedLabel(**{name: row[name] for name in GradedLabel.__slots__ if name in row})


def calibration_text(contract: str, found: Calibrations) -> str:
    """Return the content of the file, the same for the same labels."""
    document = {
        "calibration": VERSION,
        "contract": contract,
        "checks": {
            name: {
                "judge": calibration.judge,
                "labels": [
                    {name: value for name, value in asdict(label).items() if value is not None}
                    for label in calibration.labels
                ],
            }
            for name, calibration in sorted(found.items())
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def output_digest(output: str) -> str:
    """Return the SHA-256 of an output, which may hold a lone surrogate."""
    return hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()
