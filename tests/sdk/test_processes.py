"""Processes with a group of their own, which end with all that they have started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from getstep.local_matches.players import ProcessPlayer
from getstep.processes import ProcessTree, own_group
from tests.support.patience import PATIENCE_SECONDS

_PARENT = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'print(1, flush=True); import time; time.sleep(600)'])\n"
    "child.wait()\n"
)


def test_each_system_has_its_option_for_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_group() == {"start_new_session": True}
    assert own_group(session=False) == {"process_group": 0}
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    assert own_group() == own_group(session=False) == {"creationflags": 0x200}


def test_a_tree_ends_with_all_its_processes() -> None:
    process = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, **own_group())
    tree = ProcessTree(process)
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"1\n"
        tree.kill()
        assert output.read() == b""  # no process has the pipe any more
    assert process.wait(PATIENCE_SECONDS) != 0
    tree.kill()  # it has ended


_STAYS = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.sendall(b'1'); s.recv(1)"
)


def test_practice_ends_what_a_bot_has_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_SECONDS)
        bot = tmp_path / "bot.py"
        bot.write_text(
            "import subprocess, sys\n"
            f"subprocess.Popen([sys.executable, '-c', {_STAYS!r}, '{server.getsockname()[1]}'])\n"
            "def get_step(board, is_black): ...\n"
        )
        player = ProcessPlayer(bot, "bot")
        connection, _ = server.accept()
        with connection:
            connection.settimeout(PATIENCE_SECONDS)
            assert connection.recv(1) == b"1"
            player.close()
            with suppress(ConnectionResetError):  # Windows resets the connection of a process that is killed
                assert connection.recv(1) == b""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_the_keyboard_does_not_reach_a_process_of_its_own_group() -> None:
    process = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, **own_group(session=False))
    try:
        assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
