"""Compiles gatekeeper and the tests once, before the workers start.

All workers collect the same files at the same time. Without byte code on disk each of them would
rewrite the assertions of every file: half a minute of work for one worker, done three times.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    assertstate_key,
    get_cache_dir,
)

ROOT = Path(__file__).parents[2]


def compile_once(config: pytest.Config) -> None:
    """Write the byte code that is missing, unless this is a worker or may not write any.

    A child of the sandbox may write no byte code, and would compile what it imports at each start.
    """
    if hasattr(config, "workerinput") or sys.dont_write_bytecode:
        return
    processes = [] if not _all_tests_by_workers(config) else _start(config, os.cpu_count() or 1)
    compileall.compile_dir(ROOT / "gatekeeper", quiet=2)
    for process in processes:
        process.join()


def _all_tests_by_workers(config: pytest.Config) -> bool:
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and bool(config.getoption("numprocesses", None))


def _start(config: pytest.Config, number: int) -> list[multiprocessing.process.BaseProcess]:
    context = multiprocessing.get_context("fork")
    files = sorted(ROOT.glob("tests/**/test_*.py"))
    shares = [files[first::number] for first in range(number)]
    processes = [context.Process(target=write_byte_code, args=(config, share)) for share in shares]
    for process in processes:
        process.start()
    return list(processes)


def write_byte_code(config: pytest.Config, files: Sequence[Path]) -> None:
    """Rewrite the assertions of the files as pytest does, and leave the result where it looks."""
    for file in files:
        folder = get_cache_dir(file)
        compiled = folder / (file.name[:-3] + PYC_TAIL)
        if _read_pyc(file, compiled) is None:
            folder.mkdir(parents=True, exist_ok=True)
            source_hash, code = _rewrite_test(file, config)
            _write_pyc(config.stash[assertstate_key], code, source_hash, compiled)
