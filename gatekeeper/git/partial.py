"""Partial clones: contents that were left out are fetched together, not one by one.

git itself fetches each when it is read: a second for each of hundreds of contracts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gatekeeper.git.command import GitCommand

_PROMISOR = re.compile(rb"remote\.(.*)\.promisor true")


def fetch_left_out(git: GitCommand, names: Sequence[str]) -> None:
    """Fetch those of the blobs that a partial clone left out; do nothing in any other clone.

    A blob that cannot be fetched causes an error when it is read.
    """
    _, output, _ = git.attempt("config", "--bool", "--get-regexp", r"^remote\..*\.promisor$")
    found = _PROMISOR.match(output)
    if found is None:
        return
    # Without --missing git would fetch the objects in question.
    options = ("--objects", "--no-object-names", "--no-walk", "--ignore-missing")
    _, here, _ = git.attempt("rev-list", *options, "--missing=allow-any", "--stdin", lines=names)
    missing = sorted(set(names) - set(here.decode().split()))
    if not missing:
        return
    # As git does it: without saying what is here, or the remote would leave out again what
    # belongs to a commit that is here.
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")
    git.attempt(
        "fetch", *quiet, "--filter=blob:none", "--stdin", "--", found[1].decode(),
        lines=missing, option="fetch.negotiationAlgorithm=noop",
    )  # fmt: skip
