"""The commands of `gatekeeper`, one per file.

Each file has `add(parser)`, which adds the command's arguments, and a function with the command's
name, which runs it and returns the exit code; its docstring is the command's help. Nothing heavy is
imported before the function runs, because `gatekeeper --help` loads all of these files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gatekeeper.cli.commands import (
    action,
    affected,
    blame,
    budget,
    check,
    convert,
    decide,
    diff,
    drift,
    fixtures,
    generate,
    gitlab,
    history,
    init,
    judge,
    mutate,
    plan,
    run,
    sample,
    selftest,
    site,
    sweep,
    validate,
)

Command = Callable[[argparse.Namespace], int]

COMMANDS: tuple[tuple[Command, Callable[[argparse.ArgumentParser], None]], ...] = (
    (check.check, check.add),
    (run.run, run.add),
    (plan.plan, plan.add),
    (sample.sample, sample.add),
    (decide.decide, decide.add),
    (affected.affected, affected.add),
    (budget.budget, budget.add),
    (history.history, history.add),
    (drift.drift, drift.add),
    (site.site, site.add),
    (judge.judge, judge.add),
    (diff.diff, diff.add),
    (sweep.sweep, sweep.add),
    (mutate.mutate, mutate.add),
    (blame.blame, blame.add),
    (selftest.selftest, selftest.add),
    (validate.validate, validate.add),
    (generate.generate, generate.add),
    (fixtures.fixtures, fixtures.add),
    (init.init, init.add),
    (convert.convert, convert.add),
    (gitlab.gitlab, gitlab.add),
    (action.action, action.add),
)
"""Each command with the function that adds its arguments, in the order of `gatekeeper --help`."""
