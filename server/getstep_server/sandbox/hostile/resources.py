"""Attempts to use more than allowed, and to stay. Each has a process of its own."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import signal
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from .attempt import ATTEMPTS, attempt, call, libc


@attempt
def memory(aim: dict[str, Any]) -> object:
    return len(bytearray(b"x") * (2 * aim["memory_bytes"]))


@attempt
def shared_memory(aim: dict[str, Any]) -> object:
    made = mmap.mmap(-1, 2 * aim["memory_bytes"])
    for at in range(0, len(made), 4096):
        made[at] = 1
    return len(made)


@attempt
def memory_of_stacks(aim: dict[str, Any]) -> object:
    threading.stack_size(aim["memory_bytes"] // 4)
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
    finally:
        gate.set()
    return "has stacks of twice the limit"


@attempt
def memory_in_files(aim: dict[str, Any]) -> object:
    kept = bytearray(b"x") * (aim["memory_bytes"] - 2 * aim["file_bytes"])
    for number in range(aim["file_bytes"] // (1 << 20) - 1):
        Path(f"file{number}").write_bytes(bytes(1 << 20))
    return len(kept) and len(bytearray(b"x") * (2 * aim["file_bytes"])) and "used files as memory"


@attempt
def processor_time(_: dict[str, Any]) -> object:
    while time.process_time() < 2.5:
        pass
    return "computed for 2.5 s"


@attempt
def ignore_all_signals(_: dict[str, Any]) -> object:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        time.sleep(60)


@attempt
def stop_itself(_: dict[str, Any]) -> object:
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(60)


@attempt
def flood(_: dict[str, Any]) -> object:
    part = b"x" * (1 << 16)
    while True:
        sys.stdout.buffer.write(part)


def _fork_apart() -> int:
    """Make a process that has left the group of this one, and return its number once it has."""
    read, write = os.pipe()
    try:
        child = os.fork()
        if not child:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(write, b"x")
            time.sleep(60)
            os._exit(0)
        os.read(read, 1)
    finally:
        os.close(read)
        os.close(write)
    return child


@attempt
def fork_bomb(_: dict[str, Any]) -> object:
    children = 0
    try:
        while children < 10:  # outside a sandbox it has to end
            _fork_apart()
            children += 1
    except OSError:
        pass
    print(f"ready {children}", flush=True)
    while True:
        time.sleep(60)


@attempt
def escape_by_daemon(_: dict[str, Any]) -> object:
    child = -1
    with contextlib.suppress(OSError):
        child = _fork_apart()
    print(f"ready {child}", flush=True)
    while True:
        time.sleep(60)


@attempt
def compute_in_the_kernel(_: dict[str, Any]) -> object:
    """Change the entries of half a million empty pages again and again, which takes some 20 ms each time."""
    size = 2 << 30
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))  # read-only, private, no reserve
    pages = (ctypes.c_char * size).from_address(at)
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 15)  # MADV_NOHUGEPAGE
    pages[::4096]
    print("ready", flush=True)
    while True:
        for protection in (0, 1):
            libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(size), protection)


@attempt
def compute_while_suspended(aim: dict[str, Any]) -> object:
    def compute() -> NoReturn:
        while True:
            sum(range(1000))

    for name in ("timer_with_sigcont", "pipe_with_sigcont"):
        try:
            ATTEMPTS[name](aim)
        except OSError:
            continue
        if name == "timer_with_sigcont":
            every = struct.pack("4q", 0, 1_000_000, 0, 1_000_000)  # each millisecond
            call(aim, "timer_settime", 0, 0, every, None)
    signal.signal(signal.SIGCONT, lambda *_: None)  # the kernel drops timers of a signal that nobody handles
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for _ in range(3):
        threading.Thread(target=compute, daemon=True).start()
    print("ready", flush=True)
    compute()


@attempt
def continue_while_suspended(_: dict[str, Any]) -> object:
    """Send SIGCONT in machine code: of the threads of Python one runs at a time, and that is suspended at once."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    process = os.getpid()
    if os.uname().machine == "x86_64":  # mov eax, 62; mov edi, process; mov esi, 18; syscall; jmp to the first
        code.write(struct.pack("<BIBIBIHH", 0xB8, 62, 0xBF, process, 0xBE, signal.SIGCONT, 0x050F, 0xEDEB))
    else:  # movz w0, process; movk w0, process >> 16, lsl 16; movz w1, 18; movz w8, 129; svc 0; b to the first
        low, high = 0x52800000 | (process & 0xFFFF) << 5, 0x72A00000 | process >> 16 << 5
        code.write(struct.pack("<6I", low, high, 0x52800241, 0x52801028, 0xD4000001, 0x17FFFFFB))
    send = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    for _number in range(8):
        threading.Thread(target=send, daemon=True).start()
    time.sleep(0.2)  # until all of them are in their loops, on one core: a single one is suspended at once
    print("ready", flush=True)
    send()
    return None
