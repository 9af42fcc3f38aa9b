"""The restrictions of a child: the program that the system runs for each call, and the rights.

`test_python.py` of the checks shows that a real child is held to them.
"""

from __future__ import annotations

import errno
import os
import struct

import pytest
from support.machine_needs import LINUX

from gatekeeper.sandbox import restrictions

ALLOWED, REFUSED, MISSING = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
THREAD = 0x10000


def run(machine: str, number: int, argument: int = 0, *, starts: bool, word: int = 0) -> int:
    """What the program returns for a system call, as seccomp(2) runs it."""
    own_word, numbers = restrictions._NUMBERS[machine]
    data = struct.pack("=IIQQ", number, word or own_word, 0, argument)
    program = list(restrictions._filter(own_word, numbers, starts=starts))
    held, at = 0, 0
    while True:
        code, yes, no, value = struct.unpack("=HBBI", program[at])
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
            continue
        holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
        at += yes if holds else no


@pytest.mark.parametrize("machine", sorted(restrictions._NUMBERS))
def test_connections_and_programs_are_refused_and_threads_are_not(machine: str) -> None:
    _, numbers = restrictions._NUMBERS[machine]
    for starts in (False, True):
        for name in ("socket", "connect", "execve", "ptrace", "io_uring_setup"):
            assert run(machine, numbers[name], starts=starts) == REFUSED
        assert run(machine, 5_000, starts=starts) == ALLOWED
        assert run(machine, numbers["clone"], THREAD, starts=starts) == ALLOWED
    assert run(machine, numbers["clone"], starts=False) == ALLOWED
    assert run(machine, numbers["clone"], starts=True) == REFUSED
    assert run(machine, numbers["clone3"], starts=False) == ALLOWED
    assert run(machine, numbers["clone3"], starts=True) == MISSING


def test_calls_under_another_number_or_of_another_machine_are_refused() -> None:
    assert run("x86_64", 0x40000000, starts=False) == REFUSED
    assert run("x86_64", 5_000, starts=False, word=0x40000003) == REFUSED
    assert run("x86_64", restrictions._NUMBERS["x86_64"][1]["fork"], starts=True) == REFUSED


class System:
    """Landlock of one version, which records what it is asked."""

    def __init__(self, version: int, *, refuses: bool = False) -> None:
        self.version, self.refuses = version, refuses
        self.given: list[int] = []
        self.readable: list[int] = []
        self.restricted = False

    def call(self, number: int, *arguments: object) -> int:
        if number == restrictions._CREATE and arguments[0] is None:
            return self.version
        if number == restrictions._CREATE:
            if self.refuses:
                return -1
            assert isinstance(arguments[0], bytes)
            self.given = list(struct.unpack(f"={len(arguments[0]) // 8}Q", arguments[0]))
            return os.open(os.devnull, os.O_RDONLY)
        if number == restrictions._ADD:
            assert isinstance(arguments[2], bytes)
            self.readable.append(struct.unpack("=Qi", arguments[2])[0])
            return 0
        self.restricted = True
        return 0


def use(monkeypatch: pytest.MonkeyPatch, system: System) -> System:
    monkeypatch.setattr(restrictions, "_call", system.call)
    monkeypatch.setattr(restrictions, "_forbid_new_privileges", lambda: True)
    return system


@LINUX.mark
@pytest.mark.parametrize(
    ("version", "fields", "bits"), [(1, 1, 13), (2, 1, 14), (3, 1, 15), (5, 2, 16), (6, 3, 16)]
)
def test_each_version_gets_the_rights_that_it_knows(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: os.PathLike[str],
    version: int,
    fields: int,
    bits: int,
) -> None:
    system = use(monkeypatch, System(version))
    file = os.path.join(tmp_path, "a")  # noqa: PTH118
    with open(file, "w"):  # noqa: PTH123
        pass
    assert restrictions.restrict_files([str(tmp_path), file, os.devnull, "/no/such/file"])
    assert system.restricted
    assert (len(system.given), system.given[0].bit_length()) == (fields, bits)
    folder, read, null = system.readable
    assert folder == read | restrictions._READ_FOLDER
    assert null == read | restrictions._WRITE_FILE


@LINUX.mark
def test_without_landlock_nothing_is_restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    for system in (System(-1), System(0), System(6, refuses=True)):
        use(monkeypatch, system)
        assert not restrictions.restrict_to_itself()
        assert not restrictions.restrict_files(["/"])
        assert not system.restricted


def test_another_system_or_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restrictions.platform, "machine", lambda: "riscv64")
    assert not restrictions.refuse_calls(starts=True)
    monkeypatch.setattr(restrictions.sys, "platform", "darwin")
    assert restrictions.landlock_version() == 0
    assert not restrictions.refuse_calls(starts=True)
    restrictions.hide_memory()
