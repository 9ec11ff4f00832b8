"""Every end of a program, and every denial that ends its turn, with the sentence that its author reads."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from getstep.turn import Turn
from getstep_server.errors import ProgramRefused
from getstep_server.programs import playing
from getstep_server.programs.playing import ProgramJob, ProgramSession
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import GETSTEP
from getstep_server.sandbox import MIB, PLAYING, SandboxError
from tests.support.convention_programs import game_of
from tests.support.golden import assert_golden
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import add, contest_of, needs_sandbox

pytestmark = [
    needs_sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
]

SHELL = {
    "exits": "read id; exit 3",
    "writes no move": "read id; echo I resign; read more",
    "writes too much": "read id; while :; do echo; done",
    "writes no move in time": "read id; while :; do :; done",
    "closes its output": "exec >&-; read id; while :; do :; done",
    "starts a process": "read id; (:) || exit 1",
    "ends before it is asked": "exit 4",
    "is not ready in time": "while :; do :; done",
    "does not start": None,
}
"""Programs of prodrive in the shell, which starts in 5 ms. None: a command that is not there."""

SHORT = {
    "writes no move in time": (PATIENCE_SECONDS, 0.1),
    "closes its output": (PATIENCE_SECONDS, 0.1),
    "is not ready in time": (0.1, 0.1),
}
"""The seconds for the start and for the turn, of those who would take them all."""

PYTHON = {
    "crashes": "import ctypes; ctypes.string_at(0)",
    "takes too much memory": "import mmap\nheld = mmap.mmap(-1, 96 << 20)\nheld.write(b'x' * (96 << 20))",
    "allocates too much memory": "held = bytearray(128 << 20)",
    "makes a file that is too large": "open('large', 'wb').truncate(65 << 20)",
    "fills its folder": "open('large', 'wb').write(bytes(60 << 20)); open('more', 'wb').write(bytes(60 << 20))",
    "opens too many files": "held = [open('program.py') for _ in range(300)]",
    "makes a call of 32 bits": (
        "import ctypes, mmap\ncode = mmap.mmap(-1, 4096, prot=7)\n"
        "code.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()"
    ),
    "uses the network": "import socket\nsocket.socket()",
    "reads files of others": "open('/etc/shadow')",
    "writes elsewhere": "open('/usr/written', 'w')",
    "computes too long": "while True: pass",
}
"""Programs of linkage in Python, each in its only turn."""

VARIABLE = {
    r"(standard error: ).* / ": r"\1",  # the lines of a traceback differ between versions of Python
    r"program\.sh: .*? \(in": "the shell's complaint (in",
}


def sentence(job: ProgramJob, start_seconds: float = PATIENCE_SECONDS, seconds: float = PATIENCE_SECONDS) -> str:
    game = game_of(job.convention)
    with ProgramSession(job, 1, 0) as player:
        player.prepare(start_seconds)
        call = player.call(game.start().board(), True, Turn(game.name, 1, 1, "Other", None, round(1000 * seconds)))
    assert call.move is None
    assert call.error
    return call.error


def test_the_ends_of_a_program(tmp_path: Path) -> None:
    told = []
    for name, source in SHELL.items():
        (tmp_path / "program.sh").write_text(source or "")
        command = ("sh", "program.sh") if source else ("./no-such-program",)
        job = ProgramJob("prodrive", command, tmp_path)
        try:
            told.append(f"{name}: {sentence(job, *SHORT.get(name, ()))}")
        except SandboxError as error:  # the trial game tells this one
            told.append(f"{name}: {error}")
    assert_golden("program-ends", "\n".join(told), VARIABLE)


@pytest.mark.long
@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have no call of 32 bits like this")
def test_the_limits_that_a_program_meets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = replace(PLAYING, memory_bytes=128 * MIB, cpu_seconds=1)
    monkeypatch.setattr(playing, "limits_of", lambda _: limits)
    told = []
    for name, source in PYTHON.items():
        (tmp_path / "program.py").write_text(source)
        told.append(f"{name}: {sentence(ProgramJob('linkage', ('python', 'program.py'), tmp_path))}")
    assert_golden("program-limits", "\n".join(told), VARIABLE)


@pytest.mark.long
def test_the_ends_of_a_file_with_get_step(tmp_path: Path) -> None:
    endings = {
        "exits": "import os; os._exit(3)",
        "raises": "raise ValueError('no move left')",
        "hangs": "while True: pass",
        "closes its pipe": "import os; os.close(4)",
        "writes nonsense": "import os; os.write(4, b'nonsense\\n'); input()",
        "starts a process": "import subprocess; subprocess.run(['true'])",
        "uses the network": "import urllib.request; urllib.request.urlopen('http://127.0.0.1')",
        "takes all threads": (
            "import threading; gate = threading.Event()\n"
            "    for _ in range(200): threading.Thread(target=gate.wait, daemon=True).start()"
        ),
    }
    told = []
    for name, line in endings.items():
        (tmp_path / "program.py").write_text(f"def get_step(board, is_black):\n    {line}\n")
        with ProgramSession(ProgramJob(GETSTEP, ("python", "program.py"), tmp_path), 1, 0) as player:
            assert player.prepare(PATIENCE_SECONDS)
            seconds = 0.1 if name == "hangs" else PATIENCE_SECONDS
            call = player.call([[0]], True, Turn("hop", 1, 1, "Other", None, round(1000 * seconds)))
        assert call.error, name
        told.append(f"{name}: {re.sub(r'; it wrote to standard error: [^(]*', '', call.error)}")
    assert_golden("program-ends-of-get-step", "\n".join(told), VARIABLE)


# --- bombs, as they are submitted -------------------------------------------------------------------------------

FORK = 'for (;;) if (fork() < 0) { perror("fork"); return 1; }'
BOMBS = {
    "bomb.py": "import os\nwhile True: os.fork()\n",
    "bomb.c": f"#include <stdio.h>\n#include <unistd.h>\nint main(void) {{ {FORK} }}\n",
    "bomb.cpp": f"#include <cstdio>\n#include <unistd.h>\nint main() {{ {FORK} }}\n",
    "Bomb.java": (
        "public class Bomb { public static void main(String[] words) throws Exception {"
        ' while (true) new ProcessBuilder("java", "Bomb").start(); } }\n'
    ),
    "Threads.java": (
        "public class Threads { public static void main(String[] words) { while (true) {"
        " Thread one = new Thread(() -> { try { Thread.sleep(1000000); } catch (InterruptedException error) { } });"
        " one.setDaemon(true); one.start(); } } }\n"
    ),
    "answer.cpp": (
        "#include <cstdio>\nint main() { static char part[1 << 20]; for (char &one : part) one = '7';"
        " for (int n = 0; n < 10240; n++) fwrite(part, 1, sizeof part, stdout); }\n"
    ),
    "memory.cpp": (
        "#include <cstring>\n#include <sys/mman.h>\nint main() { for (;;) memset("
        "mmap(0, 1 << 24, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 1 << 24); }\n"
    ),
    "stack.cpp": (
        "int deeper(int n) { volatile char part[1000]; part[0] = n; return deeper(n + 1) + part[0]; }\n"
        "int main() { return deeper(0); }\n"
    ),
}
"""Programs of chain_reaction. All but the answer of 10 GB do their worst before they are asked."""

SAID = {
    "answer.cpp": "more than 1000 bytes without a move",
    "memory.cpp": "was killed: it used more than 1024 MB of memory",
    "stack.cpp": "crashed with SIGSEGV",
}
TOOLS = {".c": ["gcc"], ".cpp": ["g++"], ".java": ["javac", "java"], ".py": []}


@pytest.mark.long
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_and_its_author_reads_why(tmp_path: Path, name: str) -> None:
    need(*TOOLS[Path(name).suffix])
    contest = contest_of(tmp_path, "chain_reaction")
    with pytest.raises(ProgramRefused) as refused:
        add(contest, name, BOMBS[name])
    assert SAID.get(name, "a program may not start processes") in str(refused.value)
    assert ProgramStore(contest.folder).versions(1) == []
