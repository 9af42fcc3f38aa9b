"""The commands of `gatekeeper`, by topic.

Each command is a function, which runs it and returns the exit code; its docstring is the command's
help. A function `add_NAME` adds its arguments. Nothing heavy is imported before the function runs,
because `gatekeeper --help` loads all of these files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gatekeeper.cli.commands import (
    checking,
    comparing,
    contracts,
    generate,
    judge,
    past,
    services,
    shards,
    weak_prompts,
)

Command = Callable[[argparse.Namespace], int]

COMMANDS: tuple[tuple[Command, Callable[[argparse.ArgumentParser], None]], ...] = (
    (checking.check, checking.add_check),
    (checking.run, checking.add_run),
    (shards.plan, shards.add_plan),
    (shards.sample, shards.add_sample),
    (shards.decide, shards.add_decide),
    (checking.affected, checking.add_affected),
    (past.budget, past.add_budget),
    (past.history, past.add_history),
    (past.drift, past.add_drift),
    (past.site, past.add_site),
    (judge.judge, judge.add_judge),
    (comparing.diff, comparing.add_diff),
    (weak_prompts.sweep, weak_prompts.add_sweep),
    (weak_prompts.mutate, weak_prompts.add_mutate),
    (weak_prompts.blame, weak_prompts.add_blame),
    (comparing.selftest, comparing.add_selftest),
    (checking.validate, checking.add_validate),
    (generate.generate, generate.add_generate),
    (contracts.fixtures, contracts.add_fixtures),
    (contracts.init, contracts.add_init),
    (contracts.convert, contracts.add_convert),
    (services.gitlab, services.add_gitlab),
    (services.action, services.add_action),
)
"""Each command with the function that adds its arguments, in the order of `gatekeeper --help`."""
