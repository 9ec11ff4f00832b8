"""The memory of a program and its files as one sum, bounded by a cgroup of the kernel.

Theory of operation. All our cgroups are next to or below the one in which the server runs, so limits that hold
for the server hold for its programs. Version 1 of the interface (root): a folder below the server's own. Version 2:
a folder next to the server's own, if the user owns the folder above (systemd gives each user such a tree) and the
memory controller is switched on there. Otherwise there is no cgroup, and `proc.MemoryWatch` measures instead.

An empty cgroup stays after its processes have died. `Cgroup.remove` removes it. If the server is killed, a shell
that waits for the server's end does so (`_start_janitor`); if that was killed too, the next start.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PREFIX = "getstep-"
_REMOVE_SECONDS = 1.0  # for the kernel to remove dead processes from the cgroup
_POLL_SECONDS = 0.002
_JANITOR = """\
cat > /dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for folder in "$1"*; do
        [ -d "$folder" ] && { rmdir "$folder" 2> /dev/null || left=1; }
    done
    [ "$left" ] || exit
    sleep 0.1
done
"""
_counter = itertools.count()


@dataclass(frozen=True, slots=True)
class CgroupParent:
    """The folder in which cgroups may be made."""

    folder: Path
    version: int


class Cgroup:
    """A cgroup with a limit of memory.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, parent: CgroupParent, memory_bytes: int) -> None:
        _start_janitor(parent, os.getpid())
        self._version = parent.version
        self._folder = parent.folder / f"{_PREFIX}{os.getpid()}-{next(_counter)}"
        self._folder.mkdir()
        try:
            if parent.version == 1:
                self._set("memory.limit_in_bytes", memory_bytes)
                self._set("memory.swappiness", 0)
                with contextlib.suppress(OSError):  # a kernel without accounting of swap
                    self._set("memory.memsw.limit_in_bytes", memory_bytes)
            else:
                self._set("memory.max", memory_bytes)
                for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1)):
                    with contextlib.suppress(OSError):  # a kernel without swap, or older than 4.19
                        self._set(name, value)
        except OSError:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        """Move a process into the cgroup. What it starts from then on is there, too."""
        self._set("cgroup.procs", pid)

    def ran_out_of_memory(self) -> bool:
        """Return True if the kernel has killed a process because of the limit."""
        name = "memory.oom_control" if self._version == 1 else "memory.events"
        try:
            lines = (self._folder / name).read_text(encoding="ascii").splitlines()
        except OSError:
            return False
        return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)

    def remove(self) -> None:
        """Remove the cgroup after the end of all its processes."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        while True:
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return
            except OSError as error:
                # EBUSY: a process that was killed is still there.
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    return  # the janitor tries once more
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _set(self, name: str, value: int) -> None:
        # Not `Path.write_text`: the kernel takes one write, and O_TRUNC and O_CREAT mean nothing here.
        descriptor = os.open(self._folder / name, os.O_WRONLY)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)


@cache
def cgroup_parent() -> CgroupParent | None:
    """Return where this process may make cgroups with a limit of memory. None: nowhere."""
    found = find_parent(Path("/proc/self/cgroup"), Path("/proc/self/mountinfo"))
    if found is not None:
        _remove_stale(found)
    return found


def find_parent(memberships: Path, mounts: Path) -> CgroupParent | None:
    """Return where cgroups may be made, according to these two files of /proc."""
    try:
        own = [line.split(":", 2) for line in memberships.read_text(encoding="utf-8").splitlines()]
        mounted = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    for _number, controllers, path in own:
        version = 2 if not controllers else 1 if "memory" in controllers.split(",") else 0
        for fields in mounted if version else ():
            after = fields.index("-")
            # the columns of /proc/self/mountinfo, see proc(5)
            kind, options = fields[after + 1], fields[after + 3].split(",")
            if (version == 2 and kind == "cgroup2") or (version == 1 and kind == "cgroup" and "memory" in options):
                root, mount = fields[3], Path(fields[4])
                inside = os.path.relpath(path, root)  # in a container, what is mounted may be a part of the tree
                if not inside.startswith(".."):  # else the mount shows another part of the tree, as in a container
                    folder = Path(os.path.normpath(mount / inside))
                    found = _parent_at(folder, mount, version)
                    if found is not None:
                        return found
    return None


def _parent_at(own: Path, mount: Path, version: int) -> CgroupParent | None:
    if version == 1:
        usable = os.access(own, os.W_OK) and (own / "memory.limit_in_bytes").exists()
        return CgroupParent(own, 1) if usable else None
    for folder in (own, own.parent):
        if folder != mount.parent and _delegated(folder):  # above the root of the tree is no cgroup
            return CgroupParent(folder, 2)
    return None


def _delegated(folder: Path) -> bool:
    """Return True if children of this folder can have limits of memory, and this user may move processes there."""
    try:
        enabled = (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False
    return "memory" in enabled and os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


def _remove_stale(at: CgroupParent) -> None:
    for folder in at.folder.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):  # another process removes it, too
                folder.rmdir()


@cache
def _start_janitor(at: CgroupParent, owner: int) -> int:
    """Start a shell that waits for the end of this process, which closes its pipe, and removes what is left."""
    read, write = os.pipe()
    try:
        os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _JANITOR, "getstep-janitor", f"{at.folder}/{_PREFIX}{owner}-"],
            {"PATH": "/usr/bin:/bin"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read, 0),
                # it writes nothing, and must not hold our pipes open
                *((os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2)),
            ],
            setsid=True,  # a signal to the server's group, such as Ctrl-C, must not end it first
        )
    finally:
        os.close(read)
    return write
