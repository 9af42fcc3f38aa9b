"""`gatekeeper migrate`: move contracts to another model."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gatekeeper.author.generation.files import require_unchanged
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.migration.compare import Candidate, Migration, contracts_to_move
from gatekeeper.author.migration.compare import migrate as measure
from gatekeeper.author.migration.report import describe_migration, migration_document
from gatekeeper.checks.packages import use_packages
from gatekeeper.cli.options import Option, options
from gatekeeper.cli.output import print_error, write_document
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.library.suite import require_writable

DEFAULT_OUT = Path(".gatekeeper/migration")


def migrate(arguments: argparse.Namespace) -> int:
    """Move contracts and their prompts to another model, if the gate finds no drop.

    Tests each new model against the present one on the fixtures, as a pull request would be tested,
    and writes the best one that passes into the files of the work tree. The exit code is 0 if a
    model passes, 1 if each is worse, and 3 if that could not be decided.
    """
    publish = None
    with Repository.open(arguments.repo) as repository:
        revision: Revision = (
            repository.revision("HEAD") if arguments.pull_request else repository.worktree()
        )
        policy = load_policy(revision)
        use_packages(policy)
        contracts = contracts_to_move(revision, policy, arguments.contract, arguments.present)
        if arguments.pull_request:
            models = [*dict.fromkeys(contract.target.model for contract in contracts)]
            publish = _proposal(revision, repository.default_branch(), models)
        require_writable(arguments.out, arguments.to, arguments.replay)
        root = repository.root or arguments.repo
        used = {path for contract in contracts for path in contract.dependencies}
        paths = () if publish else used & revision.entries.keys()
        on_disk = {path: (root / path).read_bytes() for path in paths}
        found = measure(revision, policy, contracts, arguments.to, arguments.replay)
    document = describe_migration(found)
    write_document("migration", document, migration_document(found), arguments.out)
    chosen = found.chosen
    if chosen and publish:
        print_error(publish(found, chosen))
    elif chosen:
        texts = chosen.swap.texts
        require_unchanged({path: on_disk[path] for path in texts}, root)
        replace_files({path: _ended_as(on_disk[path], texts[path]) for path in texts}, root)
        print_error(f"wrote `{chosen.model}` into {', '.join(sorted(texts))}")
    return found.exit_code


def _ended_as(before: bytes, text: str) -> str:
    """Return the text with the line ends that the file had before."""
    return text.replace("\n", "\r\n") if b"\r\n" in before else text


def _proposal(
    revision: Revision, base: str, models: Sequence[str]
) -> Callable[[Migration, Candidate], str]:
    """Return what commits the files of a candidate and opens the pull request, and returns a
    sentence.

    Looks where it goes before anything is paid for. Raises UsageError, PublishError.
    """
    from gatekeeper.action.github.proposals import NO_CHECKS, GithubProposalApi
    from gatekeeper.reports.markdown.render import render_markdown

    token, repository = (os.environ.get(n, "") for n in ("GITHUB_TOKEN", "GITHUB_REPOSITORY"))
    if not token or not repository:
        raise UsageError(
            "--pull-request needs GITHUB_TOKEN, with `contents: write` and `pull-requests: "
            "write`, and GITHUB_REPOSITORY (OWNER/NAME) in the environment; without this "
            "option, the files of the work tree are edited"
        )
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    api = GithubProposalApi(token, repository, url)
    name = f"gatekeeper/migrate-{re.sub(r'[^A-Za-z0-9]+', '-', models[0]).strip('-')}"
    begin = f"Replace {', '.join(models)} by "
    known = api.find_branch(name)
    if known is not None and not (known.own and known.message.startswith(begin)):
        raise UsageError(
            f"the latest commit of the branch {name} is not a commit of gatekeeper; merge or "
            "delete the branch, and repeat the command"
        )

    def publish(found: Migration, chosen: Candidate) -> str:
        title = f"{begin}{chosen.model}"
        ended = {p: _ended_as(revision.read(p), text) for p, text in chosen.swap.texts.items()}
        texts = environment_redactor().value(ended)
        api.commit_files(name, known, revision.sha, texts, title)
        note = f"Change the model in the program, too. {NO_CHECKS}"
        body = render_markdown(describe_migration(found, note))
        address, opened = api.open_pull_request(name, base, title, body)
        return f"{'opened' if opened else 'updated the branch of'} {address}"

    return publish


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "migrate": options(
        f"""
    --to MODEL      the new model; several are compared, and the best one that passes is taken
    --from MODEL    the model to replace (default: each model that retires within 90 days)
    @contract
    --pull-request  open a pull request on GitHub with the change and the table, and leave the work
                    tree as it is
    --out DIR       folder for the reports (default: {DEFAULT_OUT})
    @replay
    """,
        to={"nargs": "+", "required": True},
        out={"default": DEFAULT_OUT},
        **{"from": {"dest": "present"}},
    ),
}
