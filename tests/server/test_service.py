"""The server as a service: its unit, and what it tells the service manager."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.cli import service
from getstep_server.events import Bus
from getstep_server.runtime.service_manager import ServiceManager
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import Program

if TYPE_CHECKING:
    from tests.support.command import Command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is on Linux only")
SILENT_SECONDS = 0.3
"""Five times as long as a server that the test watches may be silent."""

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")


# --- the unit ---------------------------------------------------------------------------------------------------


@needs_systemd
@pytest.mark.parametrize(("programs", "exposure"), [(False, 2.0), (True, 6.0)])
def test_systemd_understands_the_unit_and_finds_it_hardened(
    programs: bool, exposure: float, command: Command, tmp_path: Path
) -> None:
    contest = make_contest(tmp_path / "50 % of a contest", on_disk=True, contest={"name": "Autumn 100 %"})
    path = tmp_path / "getstep-autumn.service"
    ran = command("service", str(contest.folder), *(["--programs"] if programs else []))
    path.write_text(ran.out)
    checked = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
    assert (checked.returncode, path.name in checked.stdout + checked.stderr) == (0, False), checked.stderr
    security = ("systemd-analyze", "--no-pager", "security", "--offline=true", path)
    judged = subprocess.run(security, capture_output=True, text=True, check=False)
    found = re.search(rf"Overall exposure level for {path.name}: ([\d.]+)", judged.stdout)
    assert found, judged.stdout + judged.stderr
    assert float(found[1]) <= exposure, judged.stdout


def test_the_unit_writes_to_the_contest_only_and_runs_as_its_owner(command: Command, tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "autumn", on_disk=True).folder
    lines = command("service", str(folder)).out.splitlines()
    assert f"ReadWritePaths={folder.resolve()}" in lines
    assert f"User={folder.owner()}" in lines
    assert f"ExecStart={sys.executable} -m getstep_server run {folder.resolve()} --plain" in lines
    assert {"Type=notify", "WatchdogSec=60", "Restart=on-failure", "RestrictNamespaces=yes"} <= set(lines)
    (folder / "programs").mkdir()
    lines = command("service", str(folder)).out.splitlines()
    assert "Delegate=yes" in lines
    assert "RestrictNamespaces=yes" not in lines


@pytest.mark.parametrize(
    ("word", "quoted"),
    [("/a/b-c", "/a/b-c"), ("/a b", '"/a b"'), ("50%", "50%%"), ('"$HOME\\', '"\\"$$HOME\\\\"')],
)
def test_words_are_what_they_are_for_systemd(word: str, quoted: str) -> None:
    assert service._word(word) == quoted


def test_it_is_installed_and_started(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, units, called = (
        make_contest(tmp_path / "autumn", on_disk=True).folder,
        tmp_path / "units",
        tmp_path / "called",
    )
    units.mkdir()
    monkeypatch.setattr(service, "UNITS", units)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--now needs root: sudo " in command.complaint("service", str(folder), "--now")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "this computer has no systemd" in command.complaint("service", str(folder), "--now")
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {called}\n')
    systemctl.chmod(0o755)
    ran = command("service", str(folder), "--now")
    assert (ran.code, ran.err) == (0, "")
    assert called.read_text() == "daemon-reload\nenable --now getstep-autumn.service\n"
    assert (units / "getstep-autumn.service").read_text() == command("service", str(folder)).out
    systemctl.write_text("#!/bin/sh\nexit 1\n")
    assert command("service", str(folder), "--now").code == 1


# --- the messages -----------------------------------------------------------------------------------------------


def test_only_a_service_has_a_manager() -> None:
    assert ServiceManager.of(Bus(), {}) is None
    other = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}
    none = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "0"}
    for environ in ({"NOTIFY_SOCKET": "@x"}, other, none):
        manager = ServiceManager.of(Bus(), environ)
        assert manager is not None
        assert manager._pause == float("inf")
        manager._socket.close()


def test_the_server_says_when_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "contest", on_disk=True).folder
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(PATIENCE_SECONDS)
        environ = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "60000"}
        command = [
            sys.executable,
            "-m",
            "getstep_server",
            "run",
            str(folder),
            "--no-web",
            "--no-announce",
            "--plain",
        ]
        server = Program(command, environ=environ)

        def heard(word: str) -> str:
            while word not in (text := manager.recv(1000).decode()):
                pass
            return text

        try:
            assert "STATUS=listens on port " in heard("READY=1")
            assert heard("WATCHDOG=1") == heard("WATCHDOG=1")
            server.signal(signal.SIGSTOP)
            manager.settimeout(SILENT_SECONDS)
            with contextlib.suppress(TimeoutError):
                for _ in range(10_000):  # what it has sent before: on a busy machine hundreds wait
                    manager.recv(1000)
                pytest.fail("a server that stands still gives signs of life")
            manager.settimeout(PATIENCE_SECONDS)
            server.signal(signal.SIGCONT)
            assert heard("WATCHDOG=1")
            server.signal(signal.SIGTERM)
            assert heard("STOPPING=1")
            assert server.wait() == 130
        finally:
            server.end()
