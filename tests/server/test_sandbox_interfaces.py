"""What a system lacks for the sandbox, on simulated systems: a folder with the files of its kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from getstep_server.cli.main import run_command
from getstep_server.sandbox import interfaces
from getstep_server.sandbox.interfaces import Lack, System, lacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

DEBIAN_12 = {
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n',
    "proc/sys/kernel/osrelease": "6.1.0-28-amd64",
    "proc/sys/kernel/seccomp/actions_avail": "kill_process kill_thread trap errno trace log allow",
    "proc/sys/kernel/unprivileged_userns_clone": "1",
    "proc/sys/user/max_user_namespaces": "31117",
    "proc/self/ns/user": "",
    "proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t95\t1\nmemory\t0\t95\t1\n",
    "proc/self/cgroup": "0::/app.slice/run.scope\n",
    "proc/self/mountinfo": "41 31 0:38 / {root}/tree rw,nosuid - cgroup2 cgroup2 rw\n",
    "tree/app.slice/cgroup.procs": "",
    "tree/app.slice/cgroup.subtree_control": "cpu memory pids",
    "tree/app.slice/run.scope/cgroup.procs": "",
    "bubblewrap": "0.8.0",
}
"""A system that has all that the sandbox needs: its server is in a scope of the user's own tree of cgroups."""


def made(root: Path, changes: dict[str, str | None], *, as_root: bool = False) -> System:
    """Make a system that differs from `DEBIAN_12`; None removes a file."""
    for name, content in {**DEBIAN_12, **changes}.items():
        if content is None:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "bubblewrap":
            path = root / "bwrap"
            content = f"#!/bin/sh\necho bubblewrap {content}\n"
        path.write_text(content.replace("{root}", str(root)))
        path.chmod(0o755)
    return System(root, str(root), as_root)


SYSTEMS: list[tuple[str, dict[str, str | None], str, str, bool]] = [
    ("no bubblewrap", {"bubblewrap": None}, "bubblewrap is not installed", "apt install bubblewrap", True),
    ("old bubblewrap", {"bubblewrap": "0.4.0"}, "bubblewrap is 0.4.0", "Debian 12 or Ubuntu 22.04", True),
    ("no user namespaces", {"proc/self/ns/user": None}, "no user namespaces", "CONFIG_USER_NS", True),
    (
        "none allowed",
        {"proc/sys/user/max_user_namespaces": "0"},
        "lets nobody make user namespaces",
        "sudo sysctl user.max_user_namespaces=10000",
        True,
    ),
    (
        "Debian 10",
        {"proc/sys/kernel/unprivileged_userns_clone": "0"},
        "only root make namespaces",
        "kernel.unprivileged_userns_clone=1",
        True,
    ),
    (
        "Ubuntu 24.04",
        {
            "proc/sys/kernel/unprivileged_userns_clone": None,
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
        },
        "AppArmor lets only root",
        "kernel.apparmor_restrict_unprivileged_userns=0",
        True,
    ),
    (
        "no filter",
        {"proc/sys/kernel/seccomp/actions_avail": None},
        "no filter of system calls",
        "CONFIG_SECCOMP_FILTER",
        True,
    ),
    ("Linux 5.4", {"proc/sys/kernel/osrelease": "5.4.0-26-generic"}, "this is Linux 5.4", "newer kernel", False),
    (
        "cgroup v1",
        {
            "proc/self/cgroup": "4:cpu,memory:/user.slice\n0::/user.slice\n",
            "proc/self/mountinfo": "35 31 0:32 / {root}/memory rw - cgroup cgroup rw,memory\n",
        },
        "only root may make cgroups of version 1",
        "systemd.unified_cgroup_hierarchy=1",
        False,
    ),
    (
        "cgroup v2, not the user's",
        {"tree/app.slice/cgroup.subtree_control": "cpu pids"},
        "no cgroup of version 2 of its own",
        "systemd-run --user --scope",
        False,
    ),
    (
        "no controller of memory",
        {
            "proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t0\t95\t0\n",
            "tree/app.slice/cgroup.subtree_control": "cpu pids",
        },
        "no cgroups for memory",
        "cgroup_enable=memory",
        False,
    ),
    (
        "no cgroups",
        {"proc/self/cgroup": None, "proc/self/mountinfo": "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"},
        "no cgroups are mounted",
        "in a container",
        False,
    ),
]


@pytest.mark.parametrize(
    ("changes", "missing", "advice", "needed"), [row[1:] for row in SYSTEMS], ids=[r[0] for r in SYSTEMS]
)
def test_it_is_said_what_is_missing_and_what_to_do(
    changes: dict[str, str | None], missing: str, advice: str, needed: bool, tmp_path: Path
) -> None:
    (lack,) = lacks(made(tmp_path, changes))
    assert missing in lack.missing
    assert advice in lack.advice
    assert lack.needed is needed


def test_nothing_is_missing_where_all_is_there(tmp_path: Path) -> None:
    system = made(tmp_path, {})
    assert lacks(system) == []
    assert system.name() == "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-28-amd64"


def test_root_needs_no_user_namespaces_and_may_make_cgroups_of_version_1(tmp_path: Path) -> None:
    changes: dict[str, str | None] = {
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
        "proc/self/cgroup": "4:cpu,memory:/user.slice\n0::/user.slice\n",
        "proc/self/mountinfo": "35 31 0:32 / {root}/memory rw - cgroup cgroup rw,memory\n",
        "memory/user.slice/memory.limit_in_bytes": "",
    }
    assert lacks(made(tmp_path, changes, as_root=True)) == []


def test_several_lacks_are_all_said(tmp_path: Path) -> None:
    changes: dict[str, str | None] = {
        "bubblewrap": None,
        "proc/sys/user/max_user_namespaces": "0",
        "proc/self/cgroup": None,
    }
    found = lacks(made(tmp_path, changes))
    assert [lack.needed for lack in found] == [True, True, False]


def test_a_bubblewrap_that_says_no_version_is_tried(tmp_path: Path) -> None:
    assert lacks(made(tmp_path, {"bubblewrap": "of my own"})) == []


def test_the_command_says_it_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "getstep_server.cli.sandbox.lacks", lambda: [Lack("no this", "do that"), Lack("no\x1b", "x", False)]
    )
    monkeypatch.setattr("getstep_server.cli.sandbox.missing", lambda: "no this; do that")
    assert run_command(["sandbox"]) == 1
    out = capsys.readouterr().out
    assert "Missing: no this.\nTo do: do that\nWeaker: no\\u001b.\nTo do: x\nNo protection holds: " in out


def test_this_machine_has_a_name() -> None:
    assert ", Linux " in interfaces.System().name()
