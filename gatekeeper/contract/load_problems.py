"""Says where a file that cannot be read is at fault, and keeps one problem for each place."""

from __future__ import annotations

import posixpath

from gatekeeper.contract.check_specs import place_unreadable
from gatekeeper.contract.prompts.reference import locate_prompt
from gatekeeper.contract.read import UnreadableError
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.errors import Problem


def unreadable_problem(
    document: Document, key: tuple[str | int, ...], error: UnreadableError, reference: str
) -> Problem:
    """Return the problem in the file itself if a line is faulty, else at the place that names the
    file."""
    if error.line is None:
        return place_unreadable(document, key, error)
    path = locate_prompt(reference, document.path).path
    return Problem(posixpath.normpath(path), error.what, error.fix, error.line)


def distinct_problems(problems: list[Problem]) -> list[Problem]:
    """Keep one problem for each field at its place: the schema and a reader may both report it."""
    places = {
        (problem.path, problem.line, problem.column, problem.field or problem.what): problem
        for problem in reversed(problems)
    }
    return list(reversed(places.values()))
