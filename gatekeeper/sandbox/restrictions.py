"""What a child process may reach: no network, no other process, and only the files it is given.

Linux alone has these restrictions: Landlock for files and other processes, seccomp for system
calls. Neither needs a privilege, and no process can lift them from itself. Where the system has
none of them (macOS, Linux before 5.13, other processors), the functions return False.

Sources: landlock(7), seccomp(2), `linux/landlock.h`, `linux/seccomp.h`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable

from gatekeeper.sandbox.allowed_calls import NUMBERS, filter_program

_NO_NEW_PRIVILEGES, _DUMPABLE, _SECCOMP = 38, 4, 22
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICE = 1 << 6
_FIRST_RIGHTS = (1 << 13) - 1
# The version of Landlock that added a right to the files, the network, and other processes.
_LATER_RIGHTS = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_TCP, _SIGNALS_AND_SOCKETS = 3, 3

_NEW_USER, _NEW_IPC = 0x10000000, 0x08000000


def landlock_version() -> int:
    """Return the version of Landlock that the system has; 0 for none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, 0, 1))


def restrict_files(readable: Iterable[str]) -> bool:
    """Let this process read these files and folders only, write none, and reach no process that
    is not restricted as it is: it can then neither read their memory and variables, nor end them.

    Return False if the system cannot do this.
    """
    version = landlock_version()
    rights = _FIRST_RIGHTS
    for since, right in _LATER_RIGHTS.items():
        rights |= right if version >= since else 0
    return _restrict(version, rights, readable)


def restrict_to_itself() -> bool:
    """Let this process reach no other that is not its own child, not even one that is restricted
    as it is. Return False if the system cannot do this."""
    return _restrict(landlock_version(), _MAKE_DEVICE, ())


def _restrict(version: int, rights: int, readable: Iterable[str]) -> bool:
    if not version:
        return False
    fields = [rights]
    if version >= 4:
        fields.append(_TCP)
    if version >= 6:
        fields.append(_SIGNALS_AND_SOCKETS)
    given = struct.pack(f"={len(fields)}Q", *fields)
    rules = _call(_CREATE, given, len(given), 0)
    if rules < 0:
        return False
    try:
        for path in readable:
            _allow(rules, path)
        return _forbid_new_privileges() and _call(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def allow_calls(*, call: bool) -> bool:
    """Refuse this process every system call that is not on the list of `allowed_calls`. Threads
    stay possible. Return False if the system cannot do this.

    Args:
        call: Whether this is the process of one call of a function.
    """
    if sys.platform != "linux" or platform.machine() not in NUMBERS:
        return False
    program = filter_program(
        platform.machine(), call=call, may_open_to_write=bool(landlock_version())
    )
    held = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    return _forbid_new_privileges() and _library().prctl(_SECCOMP, 2, given, 0, 0) == 0


def leave_namespaces() -> bool:
    """Give this process users and shared memory of its own, so that root is nobody outside. Return
    False if the system does not let it."""
    if sys.platform != "linux":
        return False
    return bool(_library().unshare(_NEW_USER | _NEW_IPC) == 0)


def hide_memory() -> None:
    """Keep other processes of the same user from reading this one's memory and variables, if
    Landlock cannot. It then leaves no core dump."""
    if sys.platform == "linux" and not landlock_version():
        _library().prctl(_DUMPABLE, 0, 0, 0, 0)


def _allow(rules: int, path: str) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)  # noqa: PTH112
        rights |= _WRITE_FILE if path == os.devnull else 0
        _call(_ADD, rules, 1, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _forbid_new_privileges() -> bool:
    return bool(_library().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0)


def _call(number: int, *arguments: object) -> int:
    library = _library()
    library.syscall.restype = ctypes.c_long
    wide = (ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    return int(library.syscall(ctypes.c_long(number), *wide))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
