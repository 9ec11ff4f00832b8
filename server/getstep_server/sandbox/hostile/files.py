"""Attempts on files: those of others, and more of its own than allowed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from .attempt import attempt


@attempt
def read_teams_file(aim: dict[str, Any]) -> object:
    return Path(aim["tokens"]).read_text()


@attempt
def read_teams_file_by_link(aim: dict[str, Any]) -> object:
    Path("link").symlink_to(aim["tokens"])
    return Path("link").read_text()


@attempt
def read_teams_file_above(aim: dict[str, Any]) -> object:
    return Path("../" * 20 + aim["tokens"]).read_text()


@attempt
def read_teams_file_by_process(aim: dict[str, Any]) -> object:
    return Path(f"/proc/{aim['victim']}/root{aim['tokens']}").read_text()


@attempt
def list_opponent(aim: dict[str, Any]) -> object:
    return [path.name for path in Path(aim["opponent"]).iterdir()]


@attempt
def read_users(_: dict[str, Any]) -> object:
    return Path("/etc/passwd").read_text()[:20]


@attempt
def list_homes(aim: dict[str, Any]) -> object:
    return [path.name for path in Path(aim["home"]).iterdir() if path.name not in (".pyenv", ".local")]


@attempt
def write_outside(aim: dict[str, Any]) -> object:
    return Path(aim["outside"], "written").write_text("x")


@attempt
def write_runtime(_: dict[str, Any]) -> object:
    path = Path(os.__file__).with_name("getstep_probe_was_here")
    path.write_text("x")
    path.unlink()
    return str(path)


@attempt
def write_root(_: dict[str, Any]) -> object:
    path = Path("/getstep_probe_was_here")
    path.write_text("x")
    path.unlink()
    return str(path)


@attempt
def write_shared_memory(_: dict[str, Any]) -> object:
    path = Path("/dev/shm/getstep_probe_was_here")  # noqa: S108 - its protection is probed
    path.write_bytes(bytes(1 << 20))
    path.unlink()
    return str(path)


@attempt
def other_devices(_: dict[str, Any]) -> object:
    ours = {"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "fd"}
    return [path.name for path in Path("/dev").iterdir() if path.name not in ours]


@attempt
def make_device(_: dict[str, Any]) -> object:
    os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3))
    return "made a device"


@attempt
def kernel_memory(_: dict[str, Any]) -> object:
    with Path("/proc/kcore").open("rb") as file:
        return file.read(4)


@attempt
def kernel_symbols(_: dict[str, Any]) -> object:
    return Path("/proc/kallsyms").open().readline()


@attempt
def kernel_settings(_: dict[str, Any]) -> object:
    path = Path("/proc/sys/kernel/ngroups_max")
    return path.read_text() and (os.access("/proc/sys/kernel/hostname", os.W_OK) or False)


@attempt
def devices_of_the_kernel(_: dict[str, Any]) -> object:
    return [path.name for path in Path("/sys").iterdir()]


@attempt
def protect_from_memory_killer(_: dict[str, Any]) -> object:
    return Path("/proc/self/oom_score_adj").write_text("-1000")


@attempt
def fill_folder(aim: dict[str, Any]) -> object:
    for number in range(2 * aim["file_bytes"] // (1 << 20)):
        Path(f"part{number}").write_bytes(bytes(1 << 20))
    return "wrote twice the limit"


@attempt
def fill_temporary_folder(aim: dict[str, Any]) -> object:
    folder = Path(os.environ.get("TMPDIR", "."))
    for number in range(2 * aim["file_bytes"] // (1 << 20)):
        (folder / f"getstep_probe{number}").write_bytes(bytes(1 << 20))
    return "wrote twice the limit"


@attempt
def too_many_files(aim: dict[str, Any]) -> object:
    Path("many").mkdir()
    for number in range(2 * aim["files"]):
        Path(f"many/{number}").touch()
    return "made twice the limit"


@attempt
def file_with_holes(_: dict[str, Any]) -> object:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Path("holes").open("wb") as file:
        file.truncate(10 << 30)
    return "made a file of 10 GB"


@attempt
def many_descriptors(aim: dict[str, Any]) -> object:
    opened = []
    try:
        for _ in range(4 * aim["descriptors"]):
            opened.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return f"opened {4 * aim['descriptors']} files"
