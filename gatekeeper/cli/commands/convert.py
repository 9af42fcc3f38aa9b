"""`gatekeeper convert`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from posixpath import dirname
from typing import TYPE_CHECKING

from gatekeeper.cli.new_files import write_new_files
from gatekeeper.cli.output import print_lines
from gatekeeper.contract.files.contract_files import matching_contracts
from gatekeeper.contract.policies.policy import Policy, load_policy
from gatekeeper.contract.reading.globs import literal_pattern, matching
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.contract.export.convert import ConvertedContract

FORMATS = ("github", "openai-evals")
EXPORTS = "exports"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a file of another tool, such as a .prompt.yml; with --to, any contract",
    )
    parser.add_argument(
        "--to",
        choices=FORMATS,
        help="write the contract for another tool: a .prompt.yml of GitHub Models, or a registry "
        "file and samples of OpenAI Evals",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=(
            "the folder to write into, in the same repository (default: the folder of FILE; with "
            f"--to, {EXPORTS})"
        ),
    )


def convert(arguments: argparse.Namespace) -> int:
    """Write the contracts of another tool's file as native ones, or a contract for another tool.

    Does not change existing files. gatekeeper runs most files of other tools as they are;
    docs/formats.md names them.
    """
    if arguments.to:
        return _export(arguments)
    from gatekeeper import numbers
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.export.convert import convert as convert_file
    from gatekeeper.gate.decision.reasons import describe_not_run
    from gatekeeper.gate.validate import repository_path

    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        file = repository_path(arguments.file, root)
        folder = repository_path(arguments.out, root) if arguments.out else dirname(file)
        revision, policy = repository.worktree(), load_policy(repository.worktree())
        found = convert_file(revision, file, "" if folder == "." else folder, SHAPES)
        files = [made for contract in found for made in contract.files]
        _write(root, {made.path: made.text for made in files})
    lines = []
    for contract in found:
        fixtures = numbers.count(len(contract.contract.fixtures), "fixture")
        lines.append(f"wrote {contract.files[0].path}: {contract.contract.name}, {fixtures}")
        lines += [f"wrote {made.path}" for made in contract.files[1:]]
        lines += [f"  not run: {describe_not_run(part)}" for part in contract.contract.not_run]
    paths = [contract.files[0].path for contract in found]
    matched = matching_contracts([*paths, file], policy)
    if file in matched:
        lines.append(_end_of_old_contract(found, file, policy.path_for(file)))
    if set(paths) - matched:
        lines.append(_patterns_to_add(paths, file, folder, policy))
    print_lines(lines)
    return 0


def _patterns_to_add(paths: Sequence[str], file: str, folder: str, policy: Policy) -> str:
    """Say how the new contracts become part of the policy. A pattern of the whole folder must not
    match the file of the other tool, too."""
    place = f"{folder}/*.yaml"
    project = policy.folder_of(place)  # its patterns start there
    fits_old = any(matching([file], place))
    places = [literal_pattern(path) for path in paths] if fits_old else [place]
    patterns = ", ".join(each.removeprefix(f"{project}/") if project else each for each in places)
    now = ", ".join(policy.patterns_for(place))
    return f"next: add {patterns} to `contracts` in {policy.path_for(place)} (now: {now})"


def _end_of_old_contract(found: Sequence[ConvertedContract], file: str, policy_file: str) -> str:
    """Say how the file of the other tool stops being a contract. A native contract can still use
    its prompt."""
    why = "because two contracts cannot have the same name"
    users = [made.files[0].path for made in found if made.keeps_prompt_of(file)]
    if not users:
        return f"next: delete {file}, or remove it from `contracts` in {policy_file}, {why}"
    tests = "its sample data" if file.endswith(".prompty") else "`evaluators`"
    return (
        f"next: remove {tests} from {file}, or remove the file from `contracts` in {policy_file}, "
        f"{why}; do not delete the file, because {users[0]} uses its prompt"
    )


def _export(arguments: argparse.Namespace) -> int:
    from gatekeeper import numbers
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.export.export import export_contracts
    from gatekeeper.gate.decision.reasons import describe_not_run
    from gatekeeper.gate.validate import repository_path

    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        file = repository_path(arguments.file, root)
        folder = repository_path(arguments.out, root) if arguments.out else EXPORTS
        revision, policy = repository.worktree(), load_policy(repository.worktree())
        folder = "" if folder == "." else folder
        found = export_contracts(revision, file, folder, arguments.to, SHAPES)
        texts = {made.path: made.text for contract in found for made in contract.files}
        _write(root, texts)
    lines = []
    for one in found:
        parts = [numbers.count(one.fixtures, "fixture"), numbers.count(one.checks, "check")]
        lines.append(f"wrote {one.files[0].path}: {one.contract.name}, {', '.join(parts)}")
        lines += [f"wrote {made.path}" for made in one.files[1:]]
        lines += [f"  not exported: {describe_not_run(part)}" for part in one.not_exported]
        lines += [f"  differs: {describe_not_run(part)}" for part in one.differs]
    for path in sorted(matching_contracts([*texts], policy)):
        lines.append(
            f"next: {path} matches `contracts` in {policy.path_for(path)}, so gatekeeper tests "
            "this file as another contract; to prevent this, choose another folder with --out"
        )
    print_lines(lines)
    return 0


def _write(root: Path, texts: dict[str, str]) -> None:
    """Write the files. Raises UsageError if one exists already."""
    there: Sequence[str] = [path for path in texts if os.path.lexists(root / path)]
    if there:
        raise UsageError(
            f"{', '.join(there)}: the file exists already; choose another folder with --out"
        )
    write_new_files({root / path: text for path, text in texts.items()}, make_folders=True)
