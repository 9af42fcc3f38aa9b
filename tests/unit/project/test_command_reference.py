"""docs/commands.md is written from the command line."""

from __future__ import annotations

import argparse

import pytest

from gatekeeper.cli.commands import COMMANDS
from scripts.publish_commands import PAGE, Command, page

TEXT = PAGE.read_text("utf-8")


def test_the_page_is_what_the_generator_writes() -> None:
    assert page(TEXT) == TEXT, "run `make docs`"


def test_every_command_has_a_section() -> None:
    for command in COMMANDS:
        assert f"\n## `gatekeeper {command}`\n" in TEXT


def test_a_page_without_the_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no part `commands`"):
        page("# Command reference\n")


def test_an_option_is_shown_as_it_is_typed() -> None:
    parser = argparse.ArgumentParser(description="Do it\n  with --all.")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--all", action="store_true", help="the 100 %% of `--it`")
    either.add_argument("--most", metavar="N", default=3, help="as many (default: %(default)s)")
    parser.add_argument("--as", choices=("a", "b"), required=True, help="the form")
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files")
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    found = Command(parser)
    assert found.about == "Do it with `--all`."
    assert found.options == {
        "`--all`": "the 100 % of `--it`; not with `--most`",
        "`--most N`": "as many (default: 3); not with `--all`",
        "`--as AS`": "the form; `a`, `b`; required",
        "`[PATH …]`": "files",
    }
