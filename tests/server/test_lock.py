"""The lock of a contest's folder: one run at a time, and it ends with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from getstep_server._toml import ConfigError
from getstep_server.lock import ContestLock

HOLDER = """
import sys
from pathlib import Path
from getstep_server.lock import ContestLock
with ContestLock(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    with ContestLock(tmp_path):
        with pytest.raises(ConfigError, match=rf"in use by process {os.getpid()} on .*, since \d{{4}}-") as caught:
            ContestLock(tmp_path).__enter__()
        assert str(caught.value).endswith(f"look on with: getstep-server standings {tmp_path}")
    with ContestLock(tmp_path):
        pass


def test_the_lock_of_a_killed_server_is_gone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"locked"
        with pytest.raises(ConfigError, match=f"process {holder.pid} on"):
            ContestLock(tmp_path).__enter__()
        holder.kill()
        holder.wait()
    with ContestLock(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / "run.lock").read_text()


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.lock: No such file"):
        ContestLock(tmp_path / "nowhere").__enter__()


def test_a_file_of_somebody_else_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_bytes(b"\xff" * 5000)
    with ContestLock(tmp_path):
        assert (tmp_path / "run.lock").read_text().startswith("process ")
