"""The filter of system calls, run by a machine of our own: for both architectures, on any machine."""

from __future__ import annotations

import errno
import struct

import pytest

from getstep_server.sandbox import seccomp, syscalls
from tests.support.quick import each

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NAME = 0x3_1234_5678
CALLS = {
    machine: {
        name: number
        for table in (syscalls.ALLOWED, syscalls.CHECKED, syscalls.REFUSED, syscalls.WITHOUT_EFFECT)
        for name, number in syscalls.numbers(table, machine).items()
    }
    for machine in seccomp.MACHINES
}


def answer(machine: str, call: str | int, *arguments: int, children: bool = False, architecture: int = 0) -> int:
    """Return what the filter returns for a call."""
    code = seccomp.compile_filter(children=children, name_address=None if children else NAME, machine=machine)
    number = CALLS[machine][call] if isinstance(call, str) else call
    filled = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture or seccomp.MACHINES[machine], 0, *filled)
    instructions = list(struct.iter_unpack("=HBBI", code))
    assert len(instructions) < 4096  # BPF_MAXINSNS: the kernel accepts no more
    at = accumulator = 0
    while True:
        operation, jump_true, jump_false, constant = instructions[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif operation == 0x54:
            accumulator &= constant
        elif operation == 0x15:
            at += jump_true if accumulator == constant else jump_false
        elif operation == 0x35:
            at += jump_true if accumulator >= constant else jump_false
        else:
            assert operation == 0x06
            return int(constant)


THREAD = 0x3D0F00  # the flags of pthread_create
FORK = 0x1200011  # the flags of fork
REFUSED, UNKNOWN = ERROR | errno.EPERM, ERROR | errno.ENOSYS

CASES = [
    ("read", (), ALLOW),
    ("clone", (THREAD,), ALLOW),
    ("clone", (FORK,), REFUSED),
    ("clone", (THREAD | 0x10000000,), REFUSED),
    ("clone", (THREAD | 0x00020000,), REFUSED),
    ("clone3", (), UNKNOWN),
    ("execve", (NAME,), ALLOW),
    ("execve", (NAME + 1,), REFUSED),
    ("execve", (NAME + (1 << 32),), REFUSED),
    ("execveat", (), REFUSED),
    ("socket", (1,), REFUSED),
    ("socketpair", (1,), ALLOW),
    ("socketpair", (16,), REFUSED),
    ("fcntl", (0, 3), ALLOW),
    ("fcntl", (0, 10, 18), REFUSED),
    ("fcntl", (0, 1031, 1 << 20), REFUSED),
    *(("fcntl", (0, lock), ERROR) for lock in (6, 7, 37, 38)),
    ("fcntl", (0, 1036), REFUSED),
    ("flock", (0, 2), ERROR),
    ("kill", (1, 9), ALLOW),
    ("kill", (1, 18), REFUSED),
    ("kill", (1, 18 | 1 << 32), REFUSED),  # the kernel takes the lower half
    ("tkill", (1, 18), REFUSED),
    ("tgkill", (1, 1, 18), REFUSED),
    ("tgkill", (18, 18, 10), ALLOW),
    ("rt_sigqueueinfo", (1, 18), REFUSED),
    ("rt_tgsigqueueinfo", (1, 1, 18), REFUSED),
    ("inotify_init1", (), REFUSED),
    ("ioctl", (0, 0x5401), ALLOW),
    ("ioctl", (0, 0x5412), ERROR | errno.ENOTTY),
    ("prctl", (15,), ALLOW),
    ("prctl", (1, 0), ERROR | errno.EINVAL),
    ("personality", (0xFFFFFFFF,), ALLOW),
    ("personality", (0x0400000,), REFUSED),
    ("timer_create", (), REFUSED),
    ("mmap", (0, 4096, 3, 0x22), ALLOW),
    ("mmap", (0, 4096, 3, 0x8022), REFUSED),
    ("madvise", (0, 4096, 4), ALLOW),
    ("madvise", (0, 4096, 23), REFUSED),
    ("madvise", (0, 4096, 25), REFUSED),
    ("ptrace", (), REFUSED),
    ("fsync", (), ERROR),
    (100_000, (), UNKNOWN),
    (0x40000000, (), KILL),
    (0x40000000 | 59, (), KILL),
]


@each("machine", seccomp.MACHINES)
@each(("call", "arguments", "wanted"), CASES)
def test_what_a_program_that_plays_may_call(
    machine: str, call: str | int, arguments: tuple[int, ...], wanted: int
) -> None:
    assert answer(machine, call, *arguments) == wanted


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_a_compiler_may_start_processes_but_make_no_namespaces(machine: str) -> None:
    assert answer(machine, "clone", FORK, children=True) == ALLOW
    assert answer(machine, "execve", 1, children=True) == ALLOW
    assert answer(machine, "clone", FORK | 0x10000000, children=True) == REFUSED
    assert answer(machine, "socket", 2, children=True) == REFUSED


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_a_call_of_another_architecture_is_killed(machine: str) -> None:
    assert answer(machine, "read", architecture=0x40000003) == KILL  # 32 bits: its numbers are other calls


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_every_named_call_has_the_answer_of_its_table_and_no_other_one(machine: str) -> None:
    named: dict[int, str] = {}
    for table, wanted in (
        (syscalls.ALLOWED, ALLOW),
        (syscalls.REFUSED, REFUSED),
        (syscalls.WITHOUT_EFFECT, ERROR),
        (syscalls.CHECKED, None),
    ):
        for name, number in syscalls.numbers(table, machine).items():
            assert number not in named, f"{name} and {named[number]}"
            named[number] = name
            if wanted is not None:
                assert answer(machine, number) == wanted, name
    assert {answer(machine, number) for number in range(600) if number not in named} == {UNKNOWN}
