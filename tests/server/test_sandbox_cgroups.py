"""Where the memory of programs is bounded by a cgroup, and how it is bounded elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from getstep_server.sandbox import MIB, Limits, cgroups, start
from getstep_server.sandbox.cgroups import Cgroup, CgroupParent, find_parent
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import needs_sandbox

SHARED = """
import mmap
made = mmap.mmap(-1, 200 << 20)
for at in range(0, len(made), 4096):
    made[at] = 1
"""


def found(tmp_path: Path, memberships: str, mounts: str) -> CgroupParent | None:
    (tmp_path / "cgroup").write_text(memberships)
    (tmp_path / "mountinfo").write_text(mounts)
    return find_parent(tmp_path / "cgroup", tmp_path / "mountinfo")


def test_version_1_is_used_below_the_servers_own_cgroup(tmp_path: Path) -> None:
    own = tmp_path / "memory" / "own"
    own.mkdir(parents=True)
    (own / "memory.limit_in_bytes").touch()
    mounts = f"35 31 0:32 /top {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
    assert found(tmp_path, "4:memory:/top/own\n0::/\n", mounts) == CgroupParent(own, 1)
    assert found(tmp_path, "4:memory:/elsewhere\n0::/\n", mounts) is None  # a container shows a part only


def test_version_2_is_used_beside_the_servers_own_cgroup_if_it_is_the_users(tmp_path: Path) -> None:
    above = tmp_path / "cgroup2" / "app.slice"
    (above / "run.scope").mkdir(parents=True)
    (above / "cgroup.procs").touch()
    mounts = f"41 31 0:38 / {tmp_path}/cgroup2 rw,nosuid - cgroup2 cgroup2 rw\n"
    (above / "cgroup.subtree_control").write_text("cpu pids")
    assert found(tmp_path, "0::/app.slice/run.scope\n", mounts) is None
    (above / "cgroup.subtree_control").write_text("cpu memory pids")
    assert found(tmp_path, "0::/app.slice/run.scope\n", mounts) == CgroupParent(above, 2)


def test_without_cgroups_there_is_no_place(tmp_path: Path) -> None:
    assert find_parent(tmp_path / "none", tmp_path / "none") is None
    assert found(tmp_path, "1:name=systemd:/\n", "35 31 0:32 / /nowhere rw - cgroup cgroup rw,cpu\n") is None


def test_a_cgroup_of_version_2_has_its_limits_and_tells_of_a_killed_process(tmp_path: Path) -> None:
    place = CgroupParent(tmp_path, 2)
    with pytest.raises(OSError, match="memory"):  # not one of the kernel: the file is not there
        Cgroup(place, MIB)
    assert list(tmp_path.iterdir()) == []
    cgroup = object.__new__(Cgroup)
    cgroup._folder, cgroup._version = tmp_path, 2
    (tmp_path / "memory.events").write_text("max 3\noom 1\noom_kill 0\n")
    assert not cgroup.ran_out_of_memory()
    (tmp_path / "memory.events").write_text("max 3\noom 1\noom_kill 2\n")
    assert cgroup.ran_out_of_memory()


def test_the_cgroups_of_servers_that_were_killed_are_removed_at_the_next_start(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (f"getstep-{ended.pid}-0", f"getstep-{os.getpid()}-0", "getstep-notes"):
        (tmp_path / name).mkdir()
    cgroups._remove_stale(CgroupParent(tmp_path, 2))
    assert {path.name for path in tmp_path.iterdir()} == {f"getstep-{os.getpid()}-0", "getstep-notes"}


@needs_sandbox
@pytest.mark.parametrize("cgroup", [True, False])
def test_memory_is_bounded_with_and_without_a_cgroup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cgroup: bool
) -> None:
    if cgroup and cgroups.cgroup_parent() is None:
        pytest.skip("the server may make no cgroup here: systemd-run --user --scope, or run as root")
    if not cgroup:
        monkeypatch.setattr(cgroups, "cgroup_parent", lambda: None)
    with start([sys.executable, "-c", SHARED], tmp_path, Limits(memory_bytes=48 * MIB)) as program:
        program.wait(PATIENCE_SECONDS)
        assert program.describe_end() == "was killed: it used more than 48 MB of memory"
