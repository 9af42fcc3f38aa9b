"""`gatekeeper.explain`: what to do after a run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from gatekeeper.errors import UsageError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.described.next_steps import next_steps
from gatekeeper.reports.formats.result_json import result_document, result_schema
from gatekeeper.runs.answers.files import read_own_file
from gatekeeper.runs.library.arguments import AnyPath


def explain(result: GateResult | AnyPath) -> dict[str, Any]:
    """Return what to do after a run, as `gatekeeper explain` prints it.

    Args:
        result: What `check` or `run` returned, a result.json, or the folder that holds one.

    Raises:
        UsageError: The file cannot be read, or is no result.json.
    """
    if isinstance(result, GateResult):
        return next_steps(result_document(result))
    path = Path(result)
    path = path / "result.json" if path.is_dir() else path
    try:
        # A link may lead to it, but a pipe would never end.
        document = json.loads(read_own_file(Path(os.path.realpath(path))))
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{path}: cannot be read ({why}); name the result.json of a run") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON; name the result.json of a run") from None
    _require_result(path, document)
    return next_steps(document)


def _require_result(path: Path, document: Any) -> None:
    # A heavy library that only files need.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(result_schema()).iter_errors(document))
    if error is not None:
        raise UsageError(
            f"{path}: is no result.json of this version of gatekeeper, because {error.json_path} "
            "does not follow its schema; name the result.json of a run"
        )
