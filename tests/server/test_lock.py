"""The lock of a contest's folder: one run at a time, and it ends with its process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from getstep_server.errors import ConfigError, ContestInUse
from getstep_server.file_lock import lock
from getstep_server.storage.lock import ContestLock, server_of

HOLDER = """
import sys
import time
from pathlib import Path
from getstep_server.storage.lock import ContestLock
with ContestLock(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_told_which_server_holds_the_lock(tmp_path: Path) -> None:
    with ContestLock(tmp_path):
        with pytest.raises(ContestInUse, match=rf"in use by process {os.getpid()} on .*, since \d{{4}}-") as caught:
            ContestLock(tmp_path).__enter__()
        assert str(caught.value).endswith(f"watch with: getstep-server standings {tmp_path}")
    with ContestLock(tmp_path):
        pass


def test_the_lock_of_a_killed_server_is_gone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"locked"
        with pytest.raises(ContestInUse, match=f"process {holder.pid} on"):
            ContestLock(tmp_path).__enter__()
        holder.kill()
        holder.wait()
    with ContestLock(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "run.lock").read_text()


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.lock: No such file"):
        ContestLock(tmp_path / "nowhere").__enter__()


def test_a_foreign_lock_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_bytes(b"\xff" * 5000)
    with ContestLock(tmp_path):
        assert (tmp_path / "run.lock").read_text().startswith("process ")


def test_which_server_runs_a_contest(tmp_path: Path) -> None:
    assert server_of(tmp_path) is None
    with ContestLock(tmp_path):
        assert str(server_of(tmp_path)).startswith(f"process {os.getpid()} on ")
    assert server_of(tmp_path) is None
    with ContestLock(tmp_path):  # asking left nothing behind
        pass


def test_a_question_does_not_keep_a_server_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the lock for a moment."""
    (tmp_path / "run.lock").touch()
    asking = os.open(tmp_path / "run.lock", os.O_RDWR)
    lock(asking)
    monkeypatch.setattr(time, "sleep", lambda _: os.close(asking))
    with ContestLock(tmp_path):
        pass
