"""Options of the command line as tables, and those that several commands share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from gatekeeper.reports.formats import Format

Command = Callable[[argparse.Namespace], int]

DEFAULT_OUT = Path(".gatekeeper/out")
MANY: Mapping[str, Any] = {"action": "append", "default": []}
REQUIRED: Mapping[str, Any] = {"required": True}
HEAD: Mapping[str, Any] = {"default": "HEAD"}


class Option(NamedTuple):
    """What argparse takes of an option; `other` is one that it excludes, the option before it."""

    name: str
    keywords: Mapping[str, Any]
    other: bool = False


class Actions(NamedTuple):
    """A command that is only a name for several others, with the options of each."""

    about: str
    options: Mapping[Command, tuple[Option, ...]]


def options(table: str, **more: Mapping[str, Any]) -> tuple[Option, ...]:
    """Read a table of options.

    Each line has an option with the name of its value, two spaces and the help; indented lines go
    on with the help. A line without `--` is an argument. `or` says that the option excludes the
    one before it, and `@name` stands for the options in SHARED. A value FILE, DIR, PATH or LOG is a
    path, N is a number, and an option without a value is a flag, unless `more`, what else argparse
    takes, says otherwise.
    """
    lines = re.sub(r"\n {5,}", " ", table).strip().splitlines()
    return tuple(found for line in lines for found in _read(line.strip(), more))


def _read(line: str, more: Mapping[str, Mapping[str, Any]]) -> Iterator[Option]:
    if line.startswith("@"):
        yield from options(SHARED[line[1:]], **_MORE)
        return
    form, says = re.split(" {2,}", line, maxsplit=1)
    other, form = form.startswith("or "), form.removeprefix("or ")
    name, _, value = form.partition(" ")
    key = name.strip("-").replace("-", "_").lower()
    keywords: dict[str, Any] = {"help": says}
    if not name.startswith("--"):
        name, value = key, name
    given = dict(more.get(key, {}))
    if value:
        kinds = {"N": int, **dict.fromkeys(("FILE", "DIR", "PATH", "LOG"), Path)}
        keywords |= {"metavar": value, "type": kinds.get(value, str)}
    elif not given:
        keywords["action"] = "store_true"
    if name == key:
        name = given.pop("dest", key)
    yield Option(name, {**keywords, **given}, other)


def add_options(parser: argparse.ArgumentParser, found: Sequence[Option]) -> None:
    """Add the options to the parser."""
    for place, option in enumerate(found):
        if option.other:
            continue
        excluded = found[place + 1 : place + 2]
        within: argparse._ActionsContainer = parser
        if excluded and excluded[0].other:
            within = parser.add_mutually_exclusive_group()
            within.add_argument(option.name, **option.keywords)
            option = excluded[0]
        within.add_argument(option.name, **option.keywords)


def _order_seed(text: str) -> str:
    from gatekeeper.runs.library.arguments import ORDER_SEED

    if not ORDER_SEED.fullmatch(text):
        raise argparse.ArgumentTypeError(
            "an order seed has 32 digits 0-9a-f; copy `order_seed` from the JSON report of the "
            "earlier run"
        )
    return text


ORDER: Mapping[str, Any] = {"type": _order_seed}

SHARED: Mapping[str, str] = {
    "json": "--json  print JSON",
    "ref": "--ref REF  the revision to test (default: HEAD)",
    "contract": "--contract NAME  use only this contract; can be repeated",
    "past": """
    --history WHERE  where past runs are stored, as in `run --history` (default: the policy's
                     history)
    """,
    "history": """
    --history WHERE  where past runs are stored: branch:NAME, NAME.jsonl, NAME.sqlite,
                     postgresql://…
    """,
    "out": f"--out DIR  folder for the reports (default: {DEFAULT_OUT})",
    "replay": """
    --replay FILE  take all answers from this samples.jsonl and call no model
    """,
    "cache": """
    --cache FILE  reuse the samples in this file, and add the new samples to it; needs an API key,
                  which signs the samples
    """,
    "format": "--format  also write the report in this format; can be repeated",
    "resume": """
    --resume  continue the unfinished run in the folder of --out, and reuse its answers
    """,
    "plan": "--plan FILE  the file that `gatekeeper plan` wrote",
    "arms": """
    --base REF     branch to merge into (default: the remote's default branch)
    --head REF     commit with the change (default: HEAD)
    or --worktree  test the files in the work tree, not a commit
    @contract
    """,
    "run": """
    @out
    @format
    @history
    @replay
    @resume
    or --order-seed SEED  the order_seed in the result.json of an earlier run, to repeat the order
                          of its requests
    --verbose  also print each check of each fixture
    --log-requests FILE  write each HTTP request to a model, and its answer, to this file, without
                         headers and known secrets
    """,
}
"""The tables of options of several commands. They are read by the commands that use them."""

_MORE: Mapping[str, Mapping[str, Any]] = {
    "ref": HEAD,
    "contract": MANY,
    "out": {"default": DEFAULT_OUT},
    "format": {**MANY, "choices": get_args(Format)},
    "plan": REQUIRED,
    "order_seed": ORDER,
}
"""What else argparse takes of the shared options."""
