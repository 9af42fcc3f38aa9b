"""Which system calls a team's own check may make: those of a list, and no others.

A list of what is forbidden is never complete: calls that change another process's limits, priority
or processors, that change files without opening them, and shared memory would be missing. What is
allowed here is what Python, numpy and threads need to compute, to read files and to end. A call
outside of the list fails with EPERM, as on a system that refuses it.

The program is BPF, as seccomp(2) describes it. Numbers are those of `asm/unistd_64.h` (x86-64) and
`asm-generic/unistd.h` (arm64).
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Mapping, Sequence

NUMBERS: Mapping[str, tuple[int, Mapping[str, int]]] = {
    "x86_64": (0xC000003E, {
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll":
        7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13,
        "rt_sigprocmask": 14, "rt_sigreturn": 15, "ioctl": 16, "pread64": 17, "pwrite64": 18,
        "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35,
        "getitimer": 36, "alarm": 37, "setitimer": 38, "getpid": 39, "sendto": 44, "recvfrom":
        45, "shutdown": 48, "getsockname": 51, "socketpair": 53, "getsockopt": 55, "clone": 56,
        "fork": 57, "vfork": 58, "exit": 60, "wait4": 61, "kill": 62, "uname": 63, "fcntl": 72,
        "getdents": 78, "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrlimit": 97,
        "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid":
        107, "getegid": 108, "setpgid": 109, "getppid": 110, "getpgrp": 111, "getgroups": 115,
        "getpgid": 121, "getsid": 124, "rt_sigpending": 127, "rt_sigtimedwait": 128,
        "rt_sigsuspend": 130, "sigaltstack": 131, "prctl": 157, "arch_prctl": 158, "gettid":
        186, "time": 201, "futex": 202, "sched_getaffinity": 204, "epoll_create": 213,
        "getdents64": 217, "set_tid_address": 218, "restart_syscall": 219, "fadvise64": 221,
        "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
        "epoll_wait": 232, "epoll_ctl": 233, "tgkill": 234, "waitid": 247, "openat": 257,
        "newfstatat": 262, "readlinkat": 267, "faccessat": 269, "pselect6": 270, "ppoll": 271,
        "set_robust_list": 273, "epoll_pwait": 281, "eventfd": 284, "eventfd2": 290,
        "epoll_create1": 291, "dup3": 292, "pipe2": 293, "prlimit64": 302, "getcpu": 309,
        "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "clone3": 435,
        "close_range": 436, "faccessat2": 439, "landlock_create_ruleset": 444,
        "landlock_add_rule": 445, "landlock_restrict_self": 446,
    }),
    "aarch64": (0xC00000B7, {
        "getcwd": 17, "eventfd2": 19, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22,
        "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "faccessat": 48, "openat": 56, "close":
        57, "pipe2": 59, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65,
        "writev": 66, "pread64": 67, "pwrite64": 68, "pselect6": 72, "ppoll": 73, "readlinkat":
        78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94, "waitid": 95,
        "set_tid_address": 96, "futex": 98, "set_robust_list": 99, "nanosleep": 101,
        "getitimer": 102, "setitimer": 103, "clock_gettime": 113, "clock_getres": 114,
        "clock_nanosleep": 115, "sched_getaffinity": 123, "sched_yield": 124, "restart_syscall":
        128, "kill": 129, "tgkill": 131, "sigaltstack": 132, "rt_sigsuspend": 133,
        "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigpending": 136, "rt_sigtimedwait":
        137, "rt_sigreturn": 139, "times": 153, "setpgid": 154, "getpgid": 155, "getsid": 156,
        "getgroups": 158, "uname": 160, "getrlimit": 163, "getrusage": 165, "prctl": 167,
        "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174,
        "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179,
        "socketpair": 199, "getsockname": 204, "sendto": 206, "recvfrom": 207, "getsockopt":
        209, "shutdown": 210, "brk": 214, "munmap": 215, "mremap": 216, "clone": 220, "mmap":
        222, "fadvise64": 223, "mprotect": 226, "madvise": 233, "wait4": 260, "prlimit64": 261,
        "getrandom": 278, "membarrier": 283, "statx": 291, "rseq": 293, "clone3": 435,
        "close_range": 436, "faccessat2": 439, "landlock_create_ruleset": 444,
        "landlock_add_rule": 445, "landlock_restrict_self": 446,
    }),
}  # fmt: skip
"""Of each machine, its word for seccomp, and the numbers of the calls."""

_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_NEWER = 453
"""A number of a call that the list does not know: the C library then uses an older one."""

_THREAD = 0x10000
_NAMESPACES = 0x7E020080
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# TCGETS and TIOCGWINSZ ask whether a file is a terminal; FIONBIO, FIONCLEX and FIOCLEX set whether
# a file of its own waits, and closes in other programs.
_OWN_FILES = (0x5401, 0x5413, 0x5421, 0x5450, 0x5451)
# Neither the owner nor the signal of a file: a file could send its signal to another process.
_FILE_FLAGS = (0, 1, 2, 3, 4, 1030)
_NAMES_OF_THREADS_AND_MEMORY = (15, 16, 0x53564D41)

Program = Sequence[bytes]
Rules = dict[str, list[Program]]
"""What must hold of the arguments of a call; nothing for a call that may have any."""

_CONDITIONAL = frozenset(
    """clone clone3 fcntl fork ioctl kill landlock_add_rule landlock_create_ruleset
    landlock_restrict_self open openat prctl prlimit64 sendto setpgid tgkill vfork""".split()  # noqa: SIM905
)


def filter_program(machine: str, *, call: bool, may_open_to_write: bool) -> bytes:
    """Return the program that the system runs at each system call of this process.

    Args:
        machine: A key of NUMBERS.
        call: Whether the process is that of one call of the function, which starts no process and
            sends no signal. Otherwise it is the process that imports the function and ends calls.
        may_open_to_write: Whether something else keeps the process from writing files.
    """
    word, numbers = NUMBERS[machine]
    rules: Rules = {name: [] for name in numbers if name not in _CONDITIONAL}
    rules |= _of_both(may_open_to_write=may_open_to_write)
    rules |= _of_a_call() if call else _of_the_service()
    return b"".join(_filter(word, numbers, rules))


def _of_both(*, may_open_to_write: bool) -> Rules:
    reading = [] if may_open_to_write else [_WRITES]
    return {
        "open": [_without(1, bits) for bits in reading],
        "openat": [_without(2, bits) for bits in reading],
        "ioctl": [_one_of(1, _OWN_FILES)],
        "fcntl": [_one_of(1, _FILE_FLAGS)],
        "sendto": [_zero(4)],  # over a pair of its own, and to no address
    }


def _of_a_call() -> Rules:
    return {
        "clone": [_with(0, _THREAD), _without(0, _NAMESPACES)],
        "prctl": [_one_of(0, _NAMES_OF_THREADS_AND_MEMORY)],
        "prlimit64": [_one_of(0, (0,)), _zero(2)],  # asks for its own
        "kill": [_one_of(0, (os.getpid(),))],
        "tgkill": [_one_of(0, (os.getpid(),))],
    }


def _of_the_service() -> Rules:
    other = os.getppid()
    others = (other, -os.getpgid(other), -1, 1)
    return {
        "clone": [_without(0, _NAMESPACES)],
        "fork": [],
        "vfork": [],
        "prctl": [],
        "prlimit64": [_one_of(0, (0,))],
        "kill": [_none_of(0, others)],
        "tgkill": [_none_of(0, others)],
        "setpgid": [],
        "landlock_create_ruleset": [],
        "landlock_add_rule": [],
        "landlock_restrict_self": [],
    }


def _filter(machine: int, numbers: Mapping[str, int], rules: Rules) -> Iterator[bytes]:
    """Yield the instructions; a jump counts the instructions that it leaves out."""
    yield _step(_LOAD, _MACHINE_AT)
    yield _step(_EQUAL, machine, 1, 0)
    yield _REFUSAL
    yield _step(_LOAD, _NUMBER_AT)
    for name, conditions in rules.items():
        if name in numbers:
            block = [*(step for condition in conditions for step in condition), _ALLOWED]
            yield _step(_EQUAL, numbers[name], 0, len(block))
            yield from block
    # The C library tries `clone3` first, whose flags cannot be read here, and then `clone`.
    yield _step(_EQUAL, numbers["clone3"], 2, 0)
    yield _step(_AT_LEAST, _OTHER_NUMBERS, 2, 0)
    yield _step(_AT_LEAST, _NEWER, 0, 1)
    yield _step(_RETURN, ERROR | errno.ENOSYS)
    yield _REFUSAL


def _one_of(argument: int, values: Sequence[int]) -> Program:
    """Require that the lower half of an argument, which is all of a number, is one of these."""
    last = len(values)
    tests = [_step(_EQUAL, value, last - at, 0) for at, value in enumerate(values)]
    return [_load(argument), *tests, _REFUSAL]


def _none_of(argument: int, values: Sequence[int]) -> Program:
    tests = [(_step(_EQUAL, value, 0, 1), _REFUSAL) for value in values]
    return [_load(argument), *(step for test in tests for step in test)]


def _zero(argument: int) -> Program:
    """Require that a pointer is none."""
    return [*_one_of(argument, (0,)), _load(argument, 4), _step(_EQUAL, 0, 1, 0), _REFUSAL]


def _with(argument: int, bits: int) -> Program:
    return [_load(argument), _step(_HAS_BITS, bits, 1, 0), _REFUSAL]


def _without(argument: int, bits: int) -> Program:
    return [_load(argument), _step(_HAS_BITS, bits, 0, 1), _REFUSAL]


def _load(argument: int, half: int = 0) -> bytes:
    return _step(_LOAD, _ARGUMENTS_AT + 8 * argument + half)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


_OTHER_NUMBERS = 0x40000000
"""The x32 numbers of x86-64, which name the same calls a second time."""
_REFUSAL = _step(_RETURN, ERROR | errno.EPERM)
_ALLOWED = _step(_RETURN, ALLOW)
