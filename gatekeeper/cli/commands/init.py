"""`gatekeeper init`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.output import print_lines, readers_may_leave
from gatekeeper.git import Repository
from gatekeeper.numbers import count

if TYPE_CHECKING:
    from gatekeeper.author.onboarding.proposal import Proposal


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--action",
        metavar="OWNER/REPO@SHA",
        help=(
            "the release of gatekeeper for the workflows: its repository and "
            "full commit (default: the installed release, if it is known)"
        ),
    )
    parser.add_argument(
        "--from",
        dest="only",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="propose contracts only for the prompts or the suite in this file; can be repeated",
    )


def init(arguments: argparse.Namespace) -> int:
    """Propose contracts for the prompts found, a policy and workflows. Changes no existing file.

    Only --action does: it fills in the release if a workflow does not name one yet. Test suites
    of other tools run as they are. The other prompts get a contract each. In an empty repository,
    an example is written. If nothing can be tested, nothing is written.
    """
    from gatekeeper.author.onboarding.proposal import describe_proposal, policy_lines, propose
    from gatekeeper.cli import starter
    from gatekeeper.cli.installed_release import installed_release
    from gatekeeper.contract.discovery.places import is_about_the_project
    from gatekeeper.gate.validate import repository_path
    from gatekeeper.providers.models.catalogue import key_variable, setting_variables
    from gatekeeper.reports.terminal.console import print_blocks

    def policy_text(proposal: Proposal) -> str:
        return starter.policy_text(policy_lines(proposal))

    action = starter.require_action(arguments.action) if arguments.action is not None else None
    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        only = [repository_path(path, root) for path in arguments.only]
        worktree = repository.worktree()
        found = propose(worktree, only, policy_text)
        branch = repository.default_branch()
        files = [path for path, entry in worktree.entries.items() if entry.kind == "file"]
        is_empty = all(map(is_about_the_project, files))
    policy = starter.PLACES["policy.yml"]
    if not found.runs and not is_empty and policy not in files:
        with readers_may_leave():
            print_blocks(describe_proposal(found))
        print_lines(_nothing(found, len(files)))
        return 0
    texts = {made.path: made.text for made in found.skeletons} | {policy: policy_text(found)}
    if is_empty:
        texts = dict(starter.example_files())
    keys = list(filter(None, map(key_variable, found.providers)))
    settings = [name for provider in found.providers for name in setting_variables(provider)]
    texts |= starter.workflow_files(branch, keys if found.providers else None, settings)
    action = action or installed_release()
    lines = list(starter.write_files(root, texts, action))
    with readers_may_leave():
        print_blocks(describe_proposal(found))
    said = [] if policy in files else [_about_inconclusive(found)]
    print_lines([*lines, *said, *_next(found, branch, keys, settings, root)])
    return 0


def _nothing(found: Proposal, files: int) -> Iterator[str]:
    """Yield why nothing was written, and what to do."""
    if found.rows:
        yield "None of them can be tested as it is, so nothing was written."
    else:
        yield f"No prompt and no test suite was found in {count(files, 'file')}."
    yield from _unread(found)
    yield (
        "Name the file of a prompt with `gatekeeper init --from FILE`, or write a contract: "
        "docs/contracts.md says how."
    )


def _about_inconclusive(found: Proposal) -> str:
    if found.decisive:
        return (
            "The policy says `on_inconclusive: fail`, because every suite is large enough: a "
            "harmless change ends inconclusive in at most 5 % of runs."
        )
    return (
        "An inconclusive result does not block a change. `gatekeeper selftest` measures whether "
        "your suites are large enough for `on_inconclusive: fail`."
    )


def _unread(found: Proposal) -> Iterator[str]:
    if found.about_agents:
        yield found.about_agents
    if found.unread:
        yield (
            f"Not read, because the repository has so many: {count(found.unread, 'file')} of code "
            "or data. `gatekeeper init --from FILE` reads the file that you name."
        )


def _next(
    found: Proposal, branch: str, keys: Sequence[str], settings: Sequence[str], root: Path
) -> Iterator[str]:
    """Yield what to do now."""
    from gatekeeper.cli.starter import KEY_OF_THE_JOB, WORKFLOWS, has_placeholder, missing_keys

    keys = keys or ([] if found.runs else ["OPENAI_API_KEY"])
    yield from _unread(found)
    for problem in found.mistakes:
        yield f"This mistake was there before: {problem}"
    if found.missing:
        patterns = ", ".join(f'"{pattern}"' for pattern in found.missing)
        yield f"Add these patterns to `contracts` in .github/gatekeeper.yml: {patterns}."
    yield "Next: `gatekeeper validate` lists every prompt with its contract, and calls no model."
    alone = sum(made.source == "without a variable" for made in found.skeletons)
    if alone:
        yield (
            f"{count(alone, 'contract')} of {len(found.skeletons)} cannot show a regression: one "
            "fixture and no variable send one request. Add fixtures with `turns`."
        )
    if any(made.source == "to replace" for made in found.skeletons):
        yield "Replace the example fixtures in the proposed contracts with real inputs."
    yield (
        f"Commit these files to `{branch}`. The policy on `{branch}` applies to every pull request."
    )
    needed = [*keys, *settings]
    first = f"Then set {', '.join(needed)} and run" if needed else "Then run"
    yield f"{first} `gatekeeper run`, which tests every contract of the last commit once."
    secrets = [key for key in keys if key != KEY_OF_THE_JOB]
    add = "".join(
        f"add the {kind}{'s' * (len(names) > 1)} {', '.join(names)}, and "
        for kind, names in (("secret", secrets), ("variable", settings))
        if names
    )
    yield f"On GitHub: {add}require the check `Prompt gate`."
    if keys and not secrets:
        yield (
            "To reuse answers between runs, also create the secret GATEKEEPER_API_KEY, with a long "
            "random text."
        )
    for place, lines in missing_keys(root, keys, settings).items():
        yield f"{place} does not pass every key to gatekeeper. Add to `env` of the step: {lines}"
        if KEY_OF_THE_JOB in lines:
            yield f"Add to `permissions` of the job in {place}: models: read"
    yield (
        f"{WORKFLOWS['nightly.yml']} measures `{branch}` every night and after "
        "every merge; error budgets need these runs."
    )
    if has_placeholder(root):
        yield (
            "Before you push, run `gatekeeper init --action OWNER/REPO@SHA` to write "
            "the release that you trust into both workflows."
        )
