"""The filter of system calls, as a program for the kernel's BPF machine.

Theory of operation. The filter names what a program may call; the rest fails. First it kills a call of another
architecture, whose numbers mean other calls. Then it walks ranges of numbers that have the same answer, in
ascending order: "below 14? allow; below 15? ...". The kernel remembers calls whose answer does not depend on
arguments, so the length of the walk costs nothing. A call that depends on arguments has a block of its own.

It is written by hand: hosts would have to install libseccomp, `pyseccomp`, which loads it by ctypes, had its
last release in 2021, and both would do what 100 lines do here.

Answers that are not obvious:

- `clone` must make a thread, unless children are allowed, and never a namespace. `clone3` has its flags in memory,
  where a filter cannot read them: it fails as in an old kernel, and the C library calls `clone`.
- `execve` is allowed only with the name at an address chosen at random, which the program does not know.
- `kill` and its kin must not send SIGCONT: a thread that sends it in a loop runs on while the program is suspended.
  `timer_create`, `mq_notify` and `fcntl` with F_SETSIG could send it, too. With these refused, SIGSTOP is enough on
  all machines; a frozen cgroup would add nothing, and few users may make one.
- `memfd_create` and System V shared memory are memory that no limit of a process counts.
- `sched_setaffinity` would leave the one core.
- `mmap` with MAP_POPULATE, and `madvise` likewise, fills up to a second in the kernel, where no signal suspends it.
  `madvise` with MADV_COLLAPSE copies as long.
- `fcntl` and `flock` report locks as made, and make none. No limit counts the kernel's memory for them, and no
  other process has the program's files. A lock of a file that both programs of a match may read is a channel
  between them. An error instead would stop runtimes that lock their own files. A hint about a file's use
  (F_SET_RW_HINT) is a channel, too.
- `inotify_init` would use up what the user who runs the server may have, 128 in all.
- `prctl` with PR_SET_PDEATHSIG would let the program live on after the server.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Sequence
from typing import TypeAlias

from . import syscalls

Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant: struct sock_filter of linux/filter.h."""

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_* of the architectures that the filter knows."""

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_KILL, _ALLOW, _ERROR = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000

_CLONE_THREAD, _NAMESPACES = 0x00010000, 0x7E020000
_AF_UNIX = 1
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS and TIOCGWINSZ (is it a terminal?), FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""
_FCNTLS = (8, 10, 15, 1024, 1026, 1031, 1036, 1038)
"""Refused: F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_SET_(FILE_)RW_HINT."""
_LOCKS = (6, 7, 37, 38)
"""Without effect: F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW."""
_PRCTLS = (2, 3, 4, 15, 16, 21, 23, 25, 27, 29, 30, 38, 39, 41, 42, 52, 53, 0x53564D41)
"""Allowed: names of threads and memory, timer slack, huge pages, speculation, no_new_privs, and what only reads."""
_SIGCONT = 18
_PERSONALITY_QUERY = 0xFFFFFFFF
_SIGNAL_ARGUMENTS = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2}
"""The calls that send a signal, and which of their arguments it is."""
_MAP_POPULATE = 0x8000
_MADVISES = (22, 23, 25)
"""Refused: MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_COLLAPSE."""

_LARGEST_ADDRESS = {"x86_64": 1 << 46, "aarch64": 1 << 38}  # some kernels for aarch64 have 39 bits


def largest_address(machine: str | None = None) -> int:
    """Return the end of the memory in which the launcher may put the name of the program."""
    return _LARGEST_ADDRESS[machine or platform.machine()]


def compile_filter(*, children: bool, name_address: int | None, machine: str | None = None) -> bytes:
    """Return the filter as an array of struct sock_filter.

    Args:
        children: whether processes may be started.
        name_address: the only address of a name that `execve` accepts. None: any.
        machine: `x86_64` or `aarch64`; this machine's by default.

    Raises:
        KeyError: the filter does not know this architecture.
    """
    machine = machine or platform.machine()
    answers = _answers(machine, children=children, name_address=name_address)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, MACHINES[machine]),
        _return(_KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),  # x32 has the architecture of x86_64, and numbers of its own from here on
        _return(_KILL),
    ]
    unknown = (_return(_ERROR | errno.ENOSYS),)  # as an older kernel: libraries then take another way
    largest = max(answers)
    at = 0
    while at <= largest:
        block = answers.get(at, unknown)
        end = at + 1
        while end <= largest and answers.get(end, unknown) == block:
            end += 1
        code += [(_AT_LEAST, len(block), 0, end), *block]
        at = end
    code += unknown
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


_Block: TypeAlias = tuple[Instruction, ...]


def _answers(machine: str, *, children: bool, name_address: int | None) -> dict[int, _Block]:
    answers: dict[int, _Block] = {}
    for table, block in (
        (syscalls.ALLOWED, (_return(_ALLOW),)),
        (syscalls.WITHOUT_EFFECT, (_return(_ERROR),)),
        # not killed: most libraries go on without what is refused
        (syscalls.REFUSED, (_return(_ERROR | errno.EPERM),)),
    ):
        answers |= dict.fromkeys(syscalls.numbers(table, machine).values(), block)
    checked = _checked(children=children, name_address=name_address)
    answers |= {number: checked[name] for name, number in syscalls.numbers(syscalls.CHECKED, machine).items()}
    return answers


def _checked(*, children: bool, name_address: int | None) -> dict[str, _Block]:
    # an error, not a kill: a runtime that tries a call goes on without it
    refused, allowed = _return(_ERROR | errno.EPERM), _return(_ALLOW)
    flags, low, high = _argument(0), _argument(0), _argument(0, upper=True)
    no_namespace: _Block = (flags, (_AND, 0, 0, _NAMESPACES), (_EQUAL, 1, 0, 0), refused)
    only_threads: _Block = (flags, (_AND, 0, 0, _CLONE_THREAD), (_EQUAL, 0, 1, 0), refused)
    clone = no_namespace if children else no_namespace + only_threads
    execve: _Block = ()
    if name_address is not None:
        execve = (
            *(low, (_EQUAL, 1, 0, name_address & 0xFFFFFFFF), refused),
            *(high, (_EQUAL, 1, 0, name_address >> 32), refused),  # the filter's words have 32 bits
        )
    fork = (allowed,) if children else (refused,)
    return {
        "clone": (*clone, allowed),
        # its flags are in memory, where no filter can look; glibc then calls `clone`
        "clone3": (_return(_ERROR | errno.ENOSYS),),
        "fork": fork,
        "vfork": fork,
        "execve": (*execve, allowed),
        "socketpair": _cases(_argument(0), ((_AF_UNIX,), allowed), otherwise=refused),
        "ioctl": _cases(_argument(1), (_IOCTLS, allowed), otherwise=_return(_ERROR | errno.ENOTTY)),
        "fcntl": _cases(_argument(1), (_LOCKS, _return(_ERROR)), (_FCNTLS, refused), otherwise=allowed),
        "prctl": _cases(_argument(0), (_PRCTLS, allowed), otherwise=_return(_ERROR | errno.EINVAL)),
        "mmap": (_argument(3), (_AND, 0, 0, _MAP_POPULATE), (_EQUAL, 1, 0, 0), refused, allowed),
        "madvise": _cases(_argument(2), (_MADVISES, refused), otherwise=allowed),
        **{
            name: _cases(_argument(index), ((_SIGCONT,), refused), otherwise=allowed)
            for name, index in _SIGNAL_ARGUMENTS.items()
        },
        "personality": _cases(_argument(0), ((_PERSONALITY_QUERY,), allowed), otherwise=refused),
    }


def _cases(argument: Instruction, *cases: tuple[Sequence[int], Instruction], otherwise: Instruction) -> _Block:
    """Return a block with an answer for some values of an argument, and another one for the others."""
    block: list[Instruction] = [argument]
    for values, answer in cases:
        for value in values:
            block += [(_EQUAL, 0, 1, value), answer]
    return (*block, otherwise)


def _argument(index: int, *, upper: bool = False) -> Instruction:
    """Return the instruction that loads half of an argument. Both architectures store the lower half first."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index + 4 * upper)  # 64-bit arguments, 32-bit loads


def _return(answer: int) -> Instruction:
    return (_RETURN, 0, 0, answer)
