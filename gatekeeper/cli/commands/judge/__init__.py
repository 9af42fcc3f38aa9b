"""`gatekeeper judge`, with one file for each of its actions."""

from __future__ import annotations

import argparse

from gatekeeper.cli.commands.judge import agreement, calibrate, correct, label

_ACTIONS = (
    (label.label, label.add),
    (calibrate.calibrate, calibrate.add),
    (correct.correct, correct.add),
    (agreement.agreement, agreement.add),
)


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action, add_arguments in _ACTIONS:
        text = (action.__doc__ or "").strip()
        added = actions.add_parser(
            action.__name__, help=text.splitlines()[0], description=text, epilog=parser.epilog
        )
        added.set_defaults(run_action=action)
        add_arguments(added)


def judge(arguments: argparse.Namespace) -> int:
    """Find out how far judges, the models that grade outputs, can be trusted."""
    code: int = arguments.run_action(arguments)
    return code
