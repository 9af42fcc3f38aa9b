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
from gatekeeper.sandbox.allowed_calls import NUMBERS, filter_program

ALLOWED, REFUSED, MISSING = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
THREAD = 0x10000


def run(machine: str, number: int, *arguments: int, call: bool, word: int = 0) -> int:
    """What the program returns for a system call, as seccomp(2) runs it."""
    own_word, _ = NUMBERS[machine]
    given = [argument & (1 << 64) - 1 for argument in arguments] + [0] * (6 - len(arguments))
    data = struct.pack("=IIQ6Q", number, word or own_word, 0, *given)
    program = filter_program(machine, call=call, may_open_to_write=False)
    held, at = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, 8 * at)
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
            continue
        holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
        at += yes if holds else no


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_threads_and_processes(machine: str) -> None:
    numbers = NUMBERS[machine][1]
    for call in (False, True):
        assert run(machine, numbers["clone"], THREAD, call=call) == ALLOWED
        assert run(machine, numbers["clone"], THREAD | 0x10000000, call=call) == REFUSED
        assert run(machine, numbers["clone3"], call=call) == MISSING
        assert run(machine, numbers["read"], 3, call=call) == ALLOWED
    assert run(machine, numbers["clone"], 17, call=False) == ALLOWED
    assert run(machine, numbers["clone"], 17, call=True) == REFUSED
    assert run(machine, numbers["setpgid"], call=True) == REFUSED


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_what_a_call_may_depends_on_its_arguments(machine: str) -> None:
    numbers = NUMBERS[machine][1]
    own, parent = os.getpid(), os.getppid()
    for name, allowed, refused in (
        ("openat", (-100, 8, os.O_RDONLY), (-100, 8, os.O_RDWR)),
        ("openat", (-100, 8, os.O_CLOEXEC), (-100, 8, os.O_TRUNC)),
        ("fcntl", (3, 1), (3, 8)),
        ("ioctl", (0, 0x5401), (0, 0x5412)),
        ("prlimit64", (0, 7, 0), (parent, 7, 0)),
        ("prlimit64", (0, 7, 0), (0, 7, 1 << 32)),
        ("sendto", (3, 8, 1, 0, 0), (3, 8, 1, 0, 1 << 40)),
        ("kill", (own, 0), (parent, 0)),
        ("tgkill", (own, own, 6), (parent, parent, 6)),
        ("prctl", (15, 8), (22, 2)),
    ):
        assert run(machine, numbers[name], *allowed, call=True) == ALLOWED, name
        assert run(machine, numbers[name], *refused, call=True) == REFUSED, name
    assert run(machine, numbers["kill"], 0x7FFFFFF0, 9, call=False) == ALLOWED
    for other in (parent, -os.getpgid(parent), -1, 1):
        assert run(machine, numbers["kill"], other, 9, call=False) == REFUSED


@pytest.mark.parametrize("machine", sorted(NUMBERS))
def test_a_call_that_is_not_listed_is_refused(machine: str) -> None:
    word, numbers = NUMBERS[machine]
    listed = set(numbers.values())
    for call in (False, True):
        answers = {n: run(machine, n, call=call) for n in range(500) if n not in listed}
        assert {answer for n, answer in answers.items() if n < 453} == {REFUSED}
        assert {answer for n, answer in answers.items() if n >= 453} == {MISSING}
    other = run(machine, numbers["read"], call=True, word=word ^ 0x80000000)
    assert other == REFUSED


def test_calls_under_another_number_are_refused() -> None:
    assert run("x86_64", 0x40000000, call=False) == REFUSED
    assert run("x86_64", NUMBERS["x86_64"][1]["fork"], call=True) == REFUSED


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
    assert not restrictions.allow_calls(call=True)
    monkeypatch.setattr(restrictions.sys, "platform", "darwin")
    assert restrictions.landlock_version() == 0
    assert not restrictions.leave_namespaces()
    assert not restrictions.allow_calls(call=True)
    restrictions.hide_memory()
