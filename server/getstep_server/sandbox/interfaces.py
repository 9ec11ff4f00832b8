"""What the kernel and the system offer to the sandbox: read from /proc, /etc and bubblewrap, without a try.

`check` shows that a protection does not hold. This says why: a system refuses namespaces in four ways, and each
needs another answer of the host (docs/host-programs.md, "Systems").
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import cgroups

OLDEST_BUBBLEWRAP = (0, 5, 0)
"""The first with --clearenv. Debian 11 and Ubuntu 20.04 have 0.4."""

OLDEST_LINUX = (5, 8)
"""The first whose /proc can be mounted without what is not about processes (subset=pid)."""

_VERSION_SECONDS = 10.0
_MOST_FACT = 65536


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that the sandbox needs and this system does not offer.

    ``needed`` is False if programs run without it, with a weaker protection.
    """

    missing: str
    advice: str
    needed: bool = True

    def __str__(self) -> str:
        return f"{self.missing}; {self.advice}"


@dataclass(frozen=True, slots=True)
class System:
    """A system to look at. Tests have one in a folder.

    Args:
        root: the root of its file system.
        path: where bubblewrap is looked for; None: in the variable PATH.
        as_root: the server runs as root, which needs no user namespaces.
    """

    root: Path = Path("/")
    path: str | None = None
    as_root: bool = os.name == "posix" and os.geteuid() == 0

    def fact(self, name: str) -> str | None:
        """Return the content of a file of the kernel or of the system; None if there is none that can be read."""
        try:
            with (self.root / name).open(encoding="utf-8", errors="replace") as file:
                return file.read(_MOST_FACT).strip()
        except OSError:
            return None

    def name(self) -> str:
        """Return the names of the distribution and of the kernel, such as "Debian GNU/Linux 12, Linux 6.1.0"."""
        named = re.search(r'^PRETTY_NAME="?([^"\n]+)', self.fact("etc/os-release") or "", re.MULTILINE)
        distribution = named[1] if named else "an unknown system"
        return f"{distribution}, Linux {self.fact('proc/sys/kernel/osrelease') or 'of an unknown version'}"


def lacks(system: System = System()) -> list[Lack]:
    """Return what is missing, the most important first. It takes some milliseconds."""
    found = [bubblewrap_lack(system), namespace_lack(system), _filter_lack(system), _linux_lack(system)]
    return [lack for lack in [*found, memory_lack(system)] if lack is not None]


def bubblewrap_lack(system: System) -> Lack | None:
    """Return what is wrong with bubblewrap; None if nothing is."""
    program = shutil.which("bwrap", path=system.path)
    if program is None:
        return Lack("bubblewrap is not installed", "apt install bubblewrap")
    version = _version_of(program)
    if version is not None and version < OLDEST_BUBBLEWRAP:
        return Lack(
            f"bubblewrap is {_text(version)}, and the sandbox needs {_text(OLDEST_BUBBLEWRAP)} or newer",
            "use Debian 12 or Ubuntu 22.04 or newer, or install bubblewrap from its source",
        )
    return None


def namespace_lack(system: System) -> Lack | None:
    """Return why users may make no namespaces; None if they may, or if the server is root."""
    if system.as_root:
        return None
    if not os.path.lexists(system.root / "proc/self/ns/user"):
        return Lack(
            "this kernel has no user namespaces",
            "use the kernel of the distribution (CONFIG_USER_NS), or run the server as root",
        )
    if system.fact("proc/sys/user/max_user_namespaces") == "0":
        return Lack("this system lets nobody make user namespaces", _switch("user.max_user_namespaces", "10000"))
    if system.fact("proc/sys/kernel/unprivileged_userns_clone") == "0":
        return Lack("this system lets only root make namespaces", _switch("kernel.unprivileged_userns_clone", "1"))
    if system.fact("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return Lack(
            "AppArmor lets only root and some programs make user namespaces, as on Ubuntu from 23.10 on",
            _switch("kernel.apparmor_restrict_unprivileged_userns", "0"),
        )
    return None


def memory_lack(system: System) -> Lack | None:
    """Return why there is no cgroup for the memory of programs; None if there is one."""
    processes = system.root / "proc/self"
    if cgroups.find_parent(processes / "cgroup", processes / "mountinfo") is not None:
        return None
    interface = "so memory is measured 40 times a second"
    controllers = system.fact("proc/cgroups")
    if controllers is not None and not re.search(r"^memory\s+\d+\s+\d+\s+1$", controllers, re.MULTILINE):
        return Lack(
            f"this kernel has no cgroups for memory, {interface}",
            "add cgroup_enable=memory to the command line of the kernel",
            needed=False,
        )
    memberships, mounts = system.fact("proc/self/cgroup") or "", system.fact("proc/self/mountinfo") or ""
    if " - cgroup" not in mounts:
        return Lack(
            f"no cgroups are mounted, {interface}",
            "in a container, let it have them; elsewhere use a system with systemd",
            needed=False,
        )
    if re.search(r"^\d+:([^:\n]*,)?memory[,:]", memberships, re.MULTILINE):
        return Lack(
            f"only root may make cgroups of version 1, {interface}",
            "run the server as root, or start the machine with systemd.unified_cgroup_hierarchy=1",
            needed=False,
        )
    return Lack(
        f"the server has no cgroup of version 2 of its own, {interface}",
        "start it by `systemd-run --user --scope getstep-server run ...`, or as the service of docs/course.md",
        needed=False,
    )


def _filter_lack(system: System) -> Lack | None:
    if system.fact("proc/sys/kernel/osrelease") is None or system.fact("proc/sys/kernel/seccomp/actions_avail"):
        return None
    return Lack(
        "this kernel has no filter of system calls", "use the kernel of the distribution (CONFIG_SECCOMP_FILTER)"
    )


def _linux_lack(system: System) -> Lack | None:
    release = re.match(r"(\d+)\.(\d+)", system.fact("proc/sys/kernel/osrelease") or "")
    if release is None or (int(release[1]), int(release[2])) >= OLDEST_LINUX:
        return None
    return Lack(
        f"this is Linux {release[0]}: before {_text(OLDEST_LINUX)}, programs see settings of the kernel in /proc",
        "use Debian 12 or Ubuntu 22.04 or newer, or a newer kernel of the distribution",
        needed=False,
    )


def _version_of(program: str) -> tuple[int, ...] | None:
    try:
        said = subprocess.run(  # noqa: S603 - the host's own program
            [program, "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    return None if numbers is None else tuple(int(number or 0) for number in numbers.groups())


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _switch(setting: str, value: str) -> str:
    """Return how to change a setting of the kernel now, and after each start."""
    line = f"{setting}={value}"
    return f"sudo sysctl {line}, and for each start: echo {line} | sudo tee /etc/sysctl.d/60-getstep.conf"
