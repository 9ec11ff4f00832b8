"""The part of the file system that a program sees: the command line of bubblewrap."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Programs and libraries of the system, read-only. On most systems all but /usr are links to folders in it."""

SETTINGS = (
    "/etc/alternatives",  # `java` is a link to a link here
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mono",
    "/etc/fpc.cfg",  # without it, the compiler of Pascal finds no unit
    *(f"/etc/java-{version}-openjdk" for version in range(8, 33)),
)
"""Settings that a runtime reads, read-only, if they exist. Nothing else of /etc is there."""

DEVICES = ("null", "zero", "full", "random", "urandom")


_TMP = "/tmp"  # noqa: S108 - inside the sandbox


def python() -> Path:
    """Return the interpreter that runs this process, without its virtual environment."""
    return Path(sys.executable).resolve()


def options(home: str, readable: Iterable[Path]) -> list[str]:
    """Return the options of bubblewrap that build the file system.

    Args:
        home: the folder where the launcher mounts the program's files.
        readable: more files and folders that the program may read, at their own places.
    """
    made = ["--tmpfs", "/"]
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            made += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            made += ["--ro-bind", name, name]
    settings = [path for path in map(Path, SETTINGS) if path.exists()]
    others = [path for path in (Path(sys.base_prefix).resolve(), *readable) if not path.is_relative_to("/usr")]
    # bubblewrap would make folders that only root can enter.
    folders = {str(parent) for path in (*settings, *others) for parent in path.parents[:-1]}
    for folder in sorted({"/dev", home, *folders}):
        made += ["--dir", folder]
    for path in (*settings, *others):
        made += ["--ro-bind", str(path), str(path)]
    for name in DEVICES:
        made += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        made += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    made += ["--symlink", "/proc/self/fd", "/dev/fd"]
    made += ["--proc", "/proc"]
    if _TMP not in folders:  # else a Python or a package is installed below it; TMPDIR names the folder, too
        made += ["--symlink", f"{home}/tmp", _TMP]  # noqa: S108 - inside the sandbox
    return [*made, "--remount-ro", "/"]


def search_path() -> str:
    """Return PATH inside the sandbox. `python3` is the interpreter that runs the server."""
    return os.pathsep.join([str(python().parent), "/usr/local/bin", "/usr/bin", "/bin"])


def command(bubblewrap: str, mounts: Sequence[str], *, as_root: bool) -> list[str]:
    """Return the command line of bubblewrap without the program."""
    namespaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    kept = ["CAP_SYS_ADMIN", "CAP_SETPCAP"]
    if as_root:
        # Root needs no user namespace. It could not read a Python in /root after a change of the user.
        kept += ["CAP_SETUID", "CAP_SETGID", "CAP_CHOWN"]
    else:
        # The program itself is process 1, so that it sees no other. For root, that one is bubblewrap, which the
        # program can neither see nor signal: the kernel sends the signal of PR_SET_PDEATHSIG with the rights of the
        # bubblewrap outside, and these do not reach another user.
        namespaces += ["--unshare-user", "--as-pid-1"]
    rights = ["--cap-drop", "ALL"]
    for name in kept:
        rights += ["--cap-add", name]
    fixed = ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    return [bubblewrap, *namespaces, *fixed, *mounts, *rights, "--"]
