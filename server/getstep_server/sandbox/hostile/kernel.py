"""Attempts to gain rights, and to use parts of the kernel that games do not need."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import socket
import struct
from pathlib import Path
from typing import IO, Any

from .attempt import attempt, call, libc


@attempt
def become_root(_: dict[str, Any]) -> object:
    os.setresuid(0, 0, 0)
    return "is root"


@attempt
def gain_rights_by_exec(_: dict[str, Any]) -> object:
    return libc.prctl(39, 0, 0, 0, 0) == 0 and "a set-uid program would give rights"  # PR_GET_NO_NEW_PRIVS


@attempt
def capabilities(_: dict[str, Any]) -> object:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return (
        any(int(lines[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) and lines["CapBnd"]
    )


@attempt
def keyrings(aim: dict[str, Any]) -> object:
    return call(aim, "add_key", b"user", b"getstep", b"x", 1, -1)  # KEY_SPEC_THREAD_KEYRING


@attempt
def mount(aim: dict[str, Any]) -> object:
    Path("mounted").mkdir()
    call(aim, "mount", b"x", b"mounted", b"tmpfs", 0, None)
    call(aim, "umount2", b"mounted", 2)
    return "mounted a file system"


@attempt
def change_root(_: dict[str, Any]) -> object:
    descriptor = os.open("/", os.O_RDONLY)
    os.chroot(".")
    os.fchdir(descriptor)
    os.chroot(".")
    return "changed its root folder"


@attempt
def user_namespace(aim: dict[str, Any]) -> object:
    call(aim, "unshare", 0x10000000)
    return "is root in a namespace of its own"


@attempt
def bpf(aim: dict[str, Any]) -> object:
    attributes = struct.pack("4I", 2, 4, 8, 1) + bytes(112)  # an array of one element
    return call(aim, "bpf", 0, attributes, len(attributes))


@attempt
def performance_events(aim: dict[str, Any]) -> object:
    attributes = struct.pack("2I Q", 1, 128, 0) + bytes(112)  # a software event: the processor's clock
    return call(aim, "perf_event_open", attributes, 0, -1, -1, 0)


@attempt
def page_faults(aim: dict[str, Any]) -> object:
    return call(aim, "userfaultfd", 1)


@attempt
def asynchronous_io(aim: dict[str, Any]) -> object:
    return call(aim, "io_uring_setup", 1, ctypes.create_string_buffer(120))


@attempt
def anonymous_files(_: dict[str, Any]) -> object:
    return os.memfd_create("x")


@attempt
def system_v_memory(aim: dict[str, Any]) -> object:
    made = call(aim, "shmget", 0, 4096, 0o1600)
    call(aim, "shmctl", made, 0, None)
    return "made a segment"


@attempt
def message_queues(aim: dict[str, Any]) -> object:
    made = call(aim, "msgget", 0, 0o1600)
    call(aim, "msgctl", made, 0, None)
    return "made a queue"


@attempt
def set_clock(aim: dict[str, Any]) -> object:
    try:
        call(aim, "clock_settime", 0, struct.pack("2q", 0, -1))
    except OSError as error:
        if error.errno == 22:  # it got as far as the check of the time, which is not valid
            return "reached the kernel's clock"
        raise
    return None


@attempt
def host_name(_: dict[str, Any]) -> object:
    socket.sethostname(socket.gethostname())
    return "changed the name of the machine"


@attempt
def kernel_log(aim: dict[str, Any]) -> object:
    return call(aim, "syslog", 10, None, 0)  # SYSLOG_ACTION_SIZE_BUFFER


@attempt
def timer_with_sigcont(aim: dict[str, Any]) -> object:
    event = struct.pack("QiiQ", 0, signal.SIGCONT, 0, 0) + bytes(64)
    return call(aim, "timer_create", 0, event, ctypes.byref(ctypes.c_int())) or "made a timer"


@attempt
def pipe_with_sigcont(_: dict[str, Any]) -> object:
    read, _write = os.pipe()
    return fcntl.fcntl(read, 10, signal.SIGCONT) or "made a pipe that sends SIGCONT"  # F_SETSIG


@attempt
def calls_of_x32(_: dict[str, Any]) -> object:
    result = libc.syscall(ctypes.c_long(0x40000000 | 39))  # getpid
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@attempt
def populate(_: dict[str, Any]) -> object:
    return len(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))


@attempt
def collapse(_: dict[str, Any]) -> object:
    made = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        made.madvise(25)  # MADV_COLLAPSE
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
    return "reached the kernel's copying"


@attempt
def reserve_addresses(_: dict[str, Any]) -> object:
    return len(mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ))


@attempt
def locks_of_files(_: dict[str, Any]) -> object:
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
    with Path("locked").open("w+b") as one, Path("locked").open("w+b") as other:
        fcntl.fcntl(one, 37, lock)  # F_OFD_SETLK
        found = struct.unpack_from("h", fcntl.fcntl(other, 36, lock))  # F_OFD_GETLK
    return found[0] != fcntl.F_UNLCK and "made a lock"


@attempt
def locks_of_shared_files(_: dict[str, Any]) -> object:
    with _shared_file() as one, _shared_file() as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "another program would see its lock"
    return None


@attempt
def leases_of_shared_files(_: dict[str, Any]) -> object:
    with _shared_file() as file:
        return fcntl.fcntl(file, 1024, fcntl.F_RDLCK) or "made a lease"  # F_SETLEASE


@attempt
def hints_of_shared_files(_: dict[str, Any]) -> object:
    with _shared_file() as one, _shared_file() as other:
        before = fcntl.fcntl(other, 1035, bytes(8))  # F_GET_RW_HINT
        hint = (1 if before[0] == 2 else 2).to_bytes(8, "little")
        fcntl.fcntl(one, 1036, hint)  # F_SET_RW_HINT
        seen = fcntl.fcntl(other, 1035, bytes(8)) == hint
        fcntl.fcntl(one, 1036, before)
    return seen and "another program would see its hint"


@attempt
def times_of_shared_devices(_: dict[str, Any]) -> object:
    os.utime("/dev/null")
    return "another program would see the time of /dev/null"


def _shared_file() -> IO[bytes]:
    """Return a file that all programs may read."""
    return Path(os.__file__).open("rb")


@attempt
def watches_of_files(aim: dict[str, Any]) -> object:
    return call(aim, "inotify_init1", 0)


@attempt
def calls_of_32_bits(_: dict[str, Any]) -> object:
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret: getpid
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    return function()
