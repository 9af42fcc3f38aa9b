"""`gatekeeper init`, `convert` and `fixtures`: write contracts and their files."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import dirname

from gatekeeper.author.logs.formats import UnreadLine, read_log
from gatekeeper.author.logs.propose import Proposal as LogProposal
from gatekeeper.author.logs.propose import propose_fixtures
from gatekeeper.author.onboarding.proposal import Proposal, describe_proposal, policy_lines, propose
from gatekeeper.checks.registry import SHAPES
from gatekeeper.cli import starter
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.options import MANY, REQUIRED, Actions, Option, options
from gatekeeper.cli.output import print_lines, readers_may_leave, write_new_files
from gatekeeper.cli.starter import WORKFLOWS, has_placeholder, missing_keys
from gatekeeper.contract.discovery.places import is_about_the_project
from gatekeeper.contract.export.convert import Converted
from gatekeeper.contract.export.convert import convert as convert_file
from gatekeeper.contract.files.contract_files import matching_contracts
from gatekeeper.contract.policies.policy import Policy, load_policy
from gatekeeper.contract.reading.globs import literal_pattern, matching
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import UsageError
from gatekeeper.gate.decision.reasons import describe_not_run
from gatekeeper.gate.validate import repository_path
from gatekeeper.git import Repository
from gatekeeper.numbers import count, percent
from gatekeeper.providers.models.catalogue import key_variable, setting_variables
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.terminal.console import print_blocks


def init(arguments: argparse.Namespace) -> int:
    """Propose contracts for the prompts found, a policy and workflows. Changes no existing file.

    Only --action does: it fills in the release if a workflow does not name one yet. Test suites
    of other tools run as they are. The other prompts get a contract each. In an empty repository,
    an example is written. If nothing can be tested, nothing is written.
    """

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
        is_empty = all(map(is_about_the_project, files)) and not found.runs
    starter.require_new_gate(root, arguments.hold)
    policy = starter.PLACES["policy.yml"]
    if not found.runs and not is_empty and policy not in files:
        with readers_may_leave():
            print_blocks(describe_proposal(found))
        print_lines(_nothing_proposed(found, len(files)))
        return 0
    texts = {made.path: made.text for made in found.skeletons} | {policy: policy_text(found)}
    if is_empty:
        texts = dict(starter.example_files())
    keys = list(filter(None, map(key_variable, found.providers)))
    settings = [name for provider in found.providers for name in setting_variables(provider)]
    settings += found.settings
    needed = keys if found.providers else None
    texts |= starter.workflow_files(branch, needed, settings, arguments.hold)
    texts |= starter.agent_files(root) if arguments.agents else {}
    action = action or starter.installed_release()
    lines = list(starter.write_files(root, texts, action))
    with readers_may_leave():
        print_blocks(describe_proposal(found))
    said = [] if policy in files else [_about_inconclusive(found)]
    said += [_RELEASES[arguments.hold]] if arguments.hold else []
    said += filter(None, [starter.untold_agents(root) if arguments.agents else None])
    print_lines([*lines, *said, *_next(found, branch, keys, settings, root)])
    return 0


_RELEASES = {
    "label": (
        f"Create the label `{starter.LABEL}` on GitHub. A pull request is tested once it has this "
        "label."
    ),
    "environment": (
        f"Create the environment `{starter.ENVIRONMENT}` with required reviewers on GitHub first: "
        "without reviewers, every pull request is tested at once."
    ),
}


def _nothing_proposed(found: Proposal, files: int) -> Iterator[str]:
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
    add = "".join(
        f"add the {kind}{'s' * (len(names) > 1)} {', '.join(names)}, and "
        for kind, names in (("secret", keys), ("variable", settings))
        if names
    )
    yield f"On GitHub: {add}require the check `Prompt gate`."
    for place, lines in missing_keys(root, keys, settings).items():
        yield f"{place} does not pass every key to gatekeeper. Add to `env` of the step: {lines}"
    yield (
        f"{WORKFLOWS['nightly.yml']} measures `{branch}` every night and after "
        "every merge; error budgets need these runs."
    )
    if has_placeholder(root):
        yield (
            "Before you push, run `gatekeeper init --action OWNER/REPO@SHA` to write "
            "the release that you trust into both workflows."
        )


FORMATS = ("github", "openai-evals")
EXPORTS = "exports"


def convert(arguments: argparse.Namespace) -> int:
    """Write the contracts of another tool's file as native ones, or a contract for another tool.

    Does not change existing files. gatekeeper runs most files of other tools as they are;
    docs/formats.md names them.
    """
    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        file = repository_path(arguments.file, root)
        default = EXPORTS if arguments.to else dirname(file)
        folder = repository_path(arguments.out, root) if arguments.out else default
        revision, policy = repository.worktree(), load_policy(repository.worktree())
        inside = "" if folder == "." else folder
        found = convert_file(revision, file, inside, SHAPES, arguments.to)
        texts = {made.path: made.text for contract in found for made in contract.files}
        _write_texts(root, texts)
    lines = []
    for one in found:
        parts = [count(one.fixtures, "fixture")]
        parts += [count(one.checks, "check")] if arguments.to else []
        lines.append(f"wrote {one.files[0].path}: {one.contract.name}, {', '.join(parts)}")
        lines += [f"wrote {made.path}" for made in one.files[1:]]
        left_out = "not exported" if arguments.to else "not run"
        lines += [f"  {left_out}: {describe_not_run(part)}" for part in one.left_out]
        lines += [f"  differs: {describe_not_run(part)}" for part in one.differs]
    paths = [*texts] if arguments.to else [contract.files[0].path for contract in found]
    matched = matching_contracts([*paths, file], policy)
    if arguments.to:
        lines += [
            f"next: {path} matches `contracts` in {policy.path_for(path)}, so gatekeeper tests "
            "this file as another contract; to prevent this, choose another folder with --out"
            for path in sorted(matched & {*paths})
        ]
    else:
        lines += [_end_of_old_contract(found, file, policy.path_for(file))] * (file in matched)
        lines += [_patterns_to_add(paths, file, folder, policy)] * bool({*paths} - matched)
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


def _end_of_old_contract(found: Sequence[Converted], file: str, policy_file: str) -> str:
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


def _write_texts(root: Path, texts: dict[str, str]) -> None:
    """Write the files. Raises UsageError if one exists already."""
    there: Sequence[str] = [path for path in texts if os.path.lexists(root / path)]
    if there:
        raise UsageError(
            f"{', '.join(there)}: the file exists already; choose another folder with --out"
        )
    write_new_files({root / path: text for path, text in texts.items()}, make_folders=True)


_COUNTRY = re.compile("[A-Z]{2}")


def add(arguments: argparse.Namespace) -> int:
    """Choose inputs from request logs that the fixtures of a contract do not cover.

    Replaces personal data and secrets.
    """
    if arguments.most < 1:
        raise UsageError(f"--most {arguments.most}: give at least 1")
    countries = [code.strip().upper() for code in arguments.countries.split(",") if code.strip()]
    wrong = next((code for code in countries if not _COUNTRY.fullmatch(code)), None)
    if wrong:
        raise UsageError(f"--countries: {wrong} is no country code; write two letters, such as GB")
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        contract = named_contract(revision, load_policy(revision), arguments.contract)
        root = repository.root or Path()
    folder = root / Path(contract.path).parent
    out = arguments.out or folder / f"{contract.name}.from-logs.jsonl"
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: the file is JSON Lines, so give it a name in .jsonl")
    if out.exists():
        raise UsageError(f"{out} exists already; move this file, or name another file with --out")
    logged = (one for path in arguments.logs for one in read_log(path))
    found = propose_fixtures(contract, logged, arguments.most, countries)
    if found.requests == found.other:
        raise UsageError(_nothing_drafted(contract, found))
    if found.rows:
        _write_fixtures(out, found)
    inside = out.resolve().is_relative_to(root.resolve())
    reference = os.path.relpath(out.resolve(), folder.resolve()) if inside else out.name
    print_lines(_said(found, contract, out, Path(reference).as_posix()))
    return 0


def _nothing_drafted(contract: Contract, found: LogProposal) -> str:
    requests = found.requests
    if not requests:
        unread = f" in {_lines(found.unread)}" if found.unread else ""
        return (
            f"the logs hold no request that gatekeeper can read{unread}; "
            "see docs/fixtures.md for the supported formats"
        )
    names = ", ".join(f"`{name}`" for name in found.sent)
    return (
        f"none of the {requests:,} requests used {contract.target.prompt.reference}, because "
        "the messages do not match the template and the requests hold no values for "
        f"{names}"
    )


def _lines(unread: Sequence[UnreadLine]) -> str:
    first = unread[0]
    return f"{count(len(unread), 'line')} (the first is {first.path}:{first.number})"


def _write_fixtures(out: Path, found: LogProposal) -> None:
    rows = environment_redactor().value(list(found.rows))
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    write_new_files({out: text})


def _said(found: LogProposal, contract: Contract, out: Path, reference: str) -> Iterator[str]:
    yield (
        f"{count(found.requests, 'request')}, {found.requests - found.other:,} of this prompt with "
        f"{count(found.inputs, 'distinct input')}"
    )
    if found.unread:
        yield f"No request in {_lines(found.unread)}."
    if found.compared < found.inputs:
        yield f"{count(found.compared, 'input')} compared"
    if found.left_out:
        yield (
            f"{count(found.left_out, 'input')} left out for one of two reasons: the input is too "
            "long, or too much of its text may be personal data"
        )
    if not found.compared:
        yield "No fixture was added."
        return
    yield (
        f"The suite covers {percent(found.covered)} of the logged inputs; with "
        f"the new fixtures, the suite covers {percent(found.covered_then)}."
    )
    if not found.rows:
        yield "No fixture was added, because every logged input is similar to a fixture."
        return
    yield f"{count(len(found.rows), 'fixture')} written to {out}."
    yield (
        f"Replaced {count(found.replaced, 'piece')} of personal data or secrets "
        "in all inputs. gatekeeper does not detect names and postal addresses, so "
        "read the file before you commit it."
    )
    if found.missing:
        names = ", ".join(f"`{name}`" for name in found.missing)
        yield (
            f"The prompt does not use {names}, so the logs do not show a value: add {names} to the "
            f"`vars` of each line in {out} that lacks it, or remove it from the other fixtures."
        )
    yield (
        "Next: add `expected` to the fixtures whose checks need it, and add this line under "
        f"`fixtures` in {contract.path}:"
    )
    yield f"  - file: {reference}"


fixtures = Actions(
    "Add fixtures to a contract from request logs.",
    {
        add: options(
            """
    LOG                 JSON or JSON Lines files
    --contract NAME     the contract
    --most N            the most fixtures to add (default: 20)
    --countries CODE,…  also replace the telephone numbers and national identifiers of these
                        countries, such as US,GB
    --out FILE          the new fixture file (JSON Lines)
    """,
            log={"nargs": "+", "dest": "logs"},
            contract=REQUIRED,
            most={"default": 20},
            countries={"default": ""},
        )
    },
)

OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "init": options(
        """
    --action OWNER/REPO@SHA  the release of gatekeeper for the workflows: its repository and full
                             commit (default: the installed release, if it is known)
    --from FILE              propose contracts only for the prompts or the suite in this file; can
                             be repeated
    --hold WHAT              write a gate that calls no model for a pull request before it has a
                             label (`label`), or reviewers approve it (`environment`)
    --agents                 also write AGENTS.md and a skill, which tell agents that edit prompts
                             how to test them
    """,
        hold={"choices": starter.HOLDS},
        **{"from": {**MANY, "dest": "only"}},
    ),
    "convert": options(
        f"""
    FILE       a file of another tool, such as a .prompt.yml; with --to, any contract
    --to       write the contract for another tool: a .prompt.yml, or a registry file and samples
               of OpenAI Evals
    --out DIR  the folder to write into, in the same repository (default: the folder of FILE; with
               --to: the folder {EXPORTS})
    """,
        to={"choices": FORMATS},
    ),
}
