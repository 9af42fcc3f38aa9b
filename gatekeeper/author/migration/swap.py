"""Writes another model into contracts and prompt files, and changes nothing else.

Each way of writing it is only a proposal: the contract is read again from the edited file, and the
edit counts only if it differs in its model alone. A parameter that the new model refuses is taken
out, too. Comments and layout stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_document import read_contract_document
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import contract_digest, target_digest
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.models.params import param_place
from gatekeeper.contract.reading.model_traits import refusal
from gatekeeper.contract.reading.read import read_text
from gatekeeper.contract.values.change import Overlay, Revision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError, UsageError
from gatekeeper.providers.call_advice import refused_by


@dataclass(frozen=True, slots=True)
class Swap:
    """The edited files, and the parameters that were taken out, by the paths of contracts."""

    texts: Mapping[str, str]
    dropped: Mapping[str, Sequence[str]]


def swap_model(revision: Revision, contracts: Sequence[Contract], model: str) -> Swap:
    """Return the files with which the contracts use the model.

    Raises UsageError for a contract whose file names its model in a way that no edit is known for.
    """
    texts: dict[str, str] = {}
    dropped: dict[str, Sequence[str]] = {}
    for path in dict.fromkeys(contract.path for contract in contracts):
        below = Overlay(revision, texts)
        before = load_contract(revision, path, SHAPES)
        refused = _refused_params(before, model)
        if refused:
            dropped[path] = refused
        if _is_moved(before, below, model, refused):  # by the edit of a prompt that both use
            continue
        proposed = _proposals(before, below, model, refused)
        sound = (p for p in proposed if _is_moved(before, Overlay(below, p), model, refused))
        edit = next(sound, None)
        if edit is None:
            at = before.model_at
            place = f"{at.path}:{at.line}" if at and at.line else path
            raise UsageError(
                f"{path}: gatekeeper cannot write `{model}` in the place of "
                f"`{before.target.model}` without another change; edit {place} yourself, and "
                "check the change with `gatekeeper check --worktree`"
            )
        texts |= edit
    return Swap(texts, dropped)


def _refused_params(contract: Contract, model: str) -> tuple[str, ...]:
    """Return the parameters of the contract that the model does not take."""
    params = contract.target.params
    never = refused_by(read_model_name(model))
    return tuple(name for name in params if name in never or refusal(model, params, name))


def _is_moved(before: Contract, revision: Revision, model: str, dropped: Sequence[str]) -> bool:
    """Return whether the contract in the revision differs from that before in its model, and in
    the dropped parameters, and in nothing else."""
    try:
        now = load_contract(revision, before.path, SHAPES)
    except ContractError:
        return False
    params = {k: v for k, v in before.target.params.items() if k not in dropped}
    if now.target.model != model or now.target.params != params:
        return False
    alike = replace(now.target, model=before.target.model, params=before.target.params)
    return target_digest(alike) == target_digest(before.target) and contract_digest(
        replace(now, target=before.target)
    ) == contract_digest(before)


def _proposals(
    before: Contract, below: Revision, model: str, refused: Sequence[str]
) -> Iterator[dict[str, str]]:
    """Yield edits: the model's name in its line, without the refused parameters in one way or
    another."""
    place = before.model_at
    if place is None or place.line is None:
        return
    edit = {place.path: _replaced(below, place.path, place.line, before.target.model, model)}
    document = read_contract_document(below, before.path).document
    at = {name: param_place(name, document, before.target.prompt) for name in refused}
    for whole in (False, True):
        texts = dict(edit)
        # From the last line to the first, because a line may go.
        for name, found in sorted(at.items(), key=lambda each: -(each[1].line or 0)):
            text = texts.get(found.path) or read_text(below, found.path)
            texts[found.path] = _without(text, found.line or 0, name, whole=whole)
        yield texts


def _replaced(revision: Revision, path: str, line: int, old: str, new: str) -> str:
    """Return the file with the new name in a line that has the old one once."""
    lines = read_text(revision, path).split("\n")
    text = lines[line - 1]
    for name in (old, old.partition("/")[2]):
        if name and len(re.findall(rf"(?<![\w./-]){re.escape(name)}(?![\w./:-])", text)) == 1:
            lines[line - 1] = text.replace(name, new)
            break
    return "\n".join(lines)


def _without(text: str, line: int, name: str, *, whole: bool) -> str:
    """Return the text without the parameter in a line; with `whole`, also without the key above it,
    which has no other parameter."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return text
    camel = re.sub("_(.)", lambda found: found[1].upper(), name)
    spelled = f"[\"']?(?:{name}|{camel})[\"']?"
    row = lines[line - 1]
    if re.fullmatch(rf"\s*{spelled}\s*:[^{{}}]*", row):
        del lines[line - 2 if whole else line - 1 : line]
        return "\n".join(lines)
    left = re.sub(rf"(?<=[{{,\s]){spelled}\s*:\s*[^,{{}}]+?\s*(?:,\s*|(?=\}}))", "", row, count=1)
    lines[line - 1] = re.sub(r",\s*\}", "}", left)
    if whole and re.fullmatch(r"\s*\w+:\s*\{\s*\}\s*", lines[line - 1]):
        del lines[line - 1]
    return "\n".join(lines)
