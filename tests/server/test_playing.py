"""Programs of teams in one match: whole games, start-up, suspension, and programs that fail."""

from __future__ import annotations

import io
import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from getstep.conventions import CONVENTIONS
from getstep.turn import Turn
from getstep_engines import GAMES
from getstep_server.programs import playing
from getstep_server.programs.playing import ErrorTail, HostedProgram, ProgramJob, ProgramSession, id_line_of
from getstep_server.programs.version import GETSTEP
from getstep_server.sandbox import PLAYING, Protections, start
from getstep_server.sandbox.proc import WaitWatch
from tests.support.convention_programs import PROGRAMS, game_of
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import needs_sandbox

GET_STEP = """
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    if turn.opponent == "raise":
        raise ValueError("no move left")
    if turn.opponent == "exit":
        import os; os._exit(3)
    if turn.opponent == "hang":
        while True: pass
    return board[0].index(0), 0
"""


@contextmanager
def player_of(
    folder: Path, convention: str, source: str, protections: Protections = Protections.NONE
) -> Iterator[ProgramSession]:
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(source, encoding="utf-8")
    job = ProgramJob(convention, ("python", "program.py"), folder, protections)
    with ProgramSession(job, 1, 0) as player:
        yield player


def turn_of(game: str, number: int = 1, opponent: str = "Other", seconds: float = PATIENCE_SECONDS) -> Turn:
    return Turn(game, 1, number, opponent, None, round(1000 * seconds))


@pytest.mark.parametrize("protections", [Protections.NONE, pytest.param(Protections.ALL, marks=needs_sandbox)])
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_program_is_ready_before_its_first_turn(
    tmp_path: Path, convention: str, protections: Protections
) -> None:
    game = game_of(convention)
    state = game.start()
    with player_of(tmp_path, convention, PROGRAMS[convention], protections) as player:
        assert player.prepare(PATIENCE_SECONDS)
        call = player.call(state.board(), True, turn_of(game.name))
    assert call.error is None
    state.play(call.move if game.name == "linkage" else tuple(call.move))


PONDERERS = {
    "python": (
        "program.py",
        (),
        "import threading\n"
        "def ponder():\n    while True: pass\n"
        "threading.Thread(target=ponder, daemon=True).start()\n"
        "input()\nprint('3 4', flush=True)\ninput()\n",
    ),
    "g++": (
        "bot.cpp",
        ("g++", "-pthread", "-o", "bot", "bot.cpp"),
        "#include <iostream>\n#include <string>\n#include <thread>\nint main() {\n"
        "volatile long n = 0; std::thread([&] { for (;;) ++n; }).detach();\n"
        "std::string line; std::getline(std::cin, line);\n"
        'std::cout << "3 4" << std::endl; std::getline(std::cin, line); std::_Exit(0); }\n',
    ),
    "java": (
        "Bot.java",
        ("javac", "Bot.java"),
        "import java.util.*;\npublic class Bot { static volatile long n;\n"
        "public static void main(String[] a) { Thread t = new Thread(() -> { for (;;) n++; });\n"
        "t.setDaemon(true); t.start(); Scanner in = new Scanner(System.in); in.nextLine();\n"
        'System.out.println("3 4"); in.nextLine(); } }\n',
    ),
    "mono": (
        "bot.cs",
        ("mcs", "-out:bot.exe", "bot.cs"),
        "using System; using System.Threading; class Bot { static long n; static void Main() {\n"
        "var t = new Thread(() => { for (;;) n++; }); t.IsBackground = true; t.Start();\n"
        'Console.ReadLine(); Console.WriteLine("3 4"); Console.ReadLine(); } }\n',
    ),
    "node": (
        "bot.js",
        (),
        "const w = require('worker_threads');\nif (w.isMainThread) { new w.Worker(__filename);\n"
        "process.stdin.once('data', () => console.log('3 4')); } else for (;;);\n",
    ),
}
"""Programs of prodrive that compute from their start on: the file, the command that builds it, and the source."""

COMMANDS = {"g++": ("./bot",), "java": ("java", "Bot"), "mono": ("mono", "bot.exe"), "node": ("node", "bot.js")}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a thread waits for")
@pytest.mark.parametrize("protections", [Protections.NONE, pytest.param(Protections.ALL, marks=needs_sandbox)])
@pytest.mark.parametrize(
    "language", [pytest.param(name, marks=[pytest.mark.long] if name in COMMANDS else []) for name in PONDERERS]
)
def test_a_program_that_computes_from_its_start_is_ready_once_it_reads_its_input(
    tmp_path: Path, language: str, protections: Protections
) -> None:
    name, build, source = PONDERERS[language]
    (tmp_path / name).write_text(source)
    if language in COMMANDS:
        need(language, *build[:1])
    if build:
        subprocess.run(build, cwd=tmp_path, check=True)
    command = COMMANDS.get(language, ("python", name))
    with ProgramSession(ProgramJob("prodrive", command, tmp_path, protections), 1, 0) as player:
        began = time.monotonic()
        assert player.prepare(4 * PATIENCE_SECONDS)
        assert time.monotonic() - began < 2 * PATIENCE_SECONDS  # the limit of its start is not what made it ready
        call = player.call(GAMES["longest_path"].start().board(), True, turn_of("longest_path"))
    assert (call.move, call.error) == ([4, 3], None)


def test_a_program_is_ready_once_it_has_written_something(tmp_path: Path) -> None:
    source = "print('3 4', flush=True)\nwhile True: pass\n"
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(4 * PATIENCE_SECONDS)
        call = player.call(GAMES["longest_path"].start().board(), True, turn_of("longest_path"))
    assert (call.move, call.error) == ([4, 3], None)


def test_a_program_that_ends_before_its_first_turn(tmp_path: Path) -> None:
    source = "import sys\nprint('loading', file=sys.stderr)\nraise SystemExit('no book.bin\\x1b[2J')\n"
    board = GAMES["longest_path"].start().board()
    with player_of(tmp_path, "prodrive", source) as player:
        assert not player.prepare(PATIENCE_SECONDS)
        error = player.call(board, True, turn_of("longest_path")).error or ""
    assert error.startswith("the program has ended with exit code 1 before its first turn")
    assert error.endswith("standard error: loading / no book.bin\\u001b[2J")


def test_a_program_that_is_not_ready_in_time(tmp_path: Path) -> None:
    """It is asked anyway: it may poll for input while it computes."""
    source = "import select, sys\nwhile not select.select([sys.stdin], [], [], 0)[0]: pass\n"
    source += "input()\nprint('3 4', flush=True)\ninput()\n"
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(0.1)
        call = player.call(GAMES["longest_path"].start().board(), True, turn_of("longest_path"))
    assert (call.move, call.error) == ([4, 3], None)


def test_a_program_that_fails_in_its_turn_tells_its_last_lines(tmp_path: Path) -> None:
    source = "import sys\ninput()\n[print(n, file=sys.stderr) for n in range(99999)]\nraise SystemExit(5)\n"
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        call = player.call(GAMES["longest_path"].start().board(), True, turn_of("longest_path"))
    assert call.error == (
        "the program has ended with exit code 5 and has written no move; "
        "it wrote to standard error: 99996 / 99997 / 99998"
    )


def test_what_a_program_writes_beside_its_moves_goes_with_each(tmp_path: Path) -> None:
    source = """
import sys
for n in range(3):
    input()
    print(f"getstep: say {n}\\nlooking {n}", file=sys.stderr)
    if n == 1: print("getstep: tag two words\\n" + "x" * 9999, file=sys.stderr)
    if n == 2: raise SystemExit(3)
    print(n, n, flush=True)
"""
    board = GAMES["longest_path"].start().board()
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        calls = [
            player.call(board, True, replace(turn_of("longest_path", n), last_move=[0, n] if n > 1 else None))
            for n in (1, 3, 5)
        ]
    assert calls[0].notes == {"say": "0", "output": "looking 0\n"}
    assert calls[1].notes is not None
    assert calls[1].notes["say"] == "1"
    assert calls[1].notes["output"].startswith("[")
    assert len(calls[1].notes["output"].encode()) <= 2000
    assert "x\n\ngetstep.tag has dropped " in calls[1].notes["output"]
    assert calls[2].notes == {"say": "2", "output": "looking 2\n"}
    assert calls[2].error is not None
    assert calls[2].error.endswith(" / looking 2")


def test_what_a_file_prints_and_notes_goes_with_each_move(tmp_path: Path) -> None:
    source = """
import getstep

def get_step(board, is_black):
    print("looking")
    getstep.say("the corner")
    getstep.estimate(7)
    if not is_black: raise ValueError("no move left")
    return 0, 0
"""
    with player_of(tmp_path, GETSTEP, source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        calls = [player.call([[0]], is_black, turn_of("hop")) for is_black in (True, False)]
    assert all(call.notes is not None and call.notes["say"] == "the corner" for call in calls)
    first, second = [call.notes["output"] for call in calls if call.notes]
    assert first.startswith("looking\n")
    assert "getstep.estimate has dropped " in first
    assert second == "looking\n"


def test_the_end_of_standard_error_is_kept() -> None:
    tail = ErrorTail()
    tail.add(b"x" * 100_000)
    assert len(tail._kept) == 4096
    assert tail.take() == "x" * 300
    tail.add(b"one\ntwo\n\nthree\nfour\n")
    assert tail.take() == "two / three / four"
    assert tail.take() == ""


def test_the_replies_of_a_file_are_bounded(tmp_path: Path) -> None:
    replies: queue.Queue[bytes] = queue.Queue()
    playing._read_lines(io.BytesIO(b"x" * 70_000), replies)
    assert [len(replies.get_nowait()) for _ in range(replies.qsize())] == [65_536, 70_000 - 65_536, 0]
    with player_of(tmp_path, GETSTEP, GET_STEP) as player:
        assert isinstance(player._bot, playing._FileBot)
        assert player._bot._replies.maxsize == 16
        assert player.prepare(PATIENCE_SECONDS)
        assert player._bot._replies.maxsize == 16


@pytest.mark.parametrize("protections", [Protections.NONE, pytest.param(Protections.ALL, marks=needs_sandbox)])
def test_files_stay_between_the_turns_of_a_program_that_is_started_in_each(
    tmp_path: Path, protections: Protections
) -> None:
    source = "open('memory', 'a').write('x')\nopen('order.txt', 'w').write(open('memory').read())\n"
    board = GAMES["linkage"].start().board()
    with player_of(tmp_path, "linkage", source, protections) as player:
        player.prepare(PATIENCE_SECONDS)
        errors = [player.call(board, True, turn_of("linkage", number)).error for number in (1, 3)]
    assert [str(error).partition(";")[0] for error in errors] == [
        "order.txt has 'x'",
        "order.txt has 'xx'",
    ]
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize(("printed", "line"), [("Linko, Ada, 1", "Linko, Ada, 1"), ("?", "")])
def test_a_program_of_linkage_calls_itself(tmp_path: Path, printed: str, line: str) -> None:
    (tmp_path / "program.py").write_text(f"print({printed!r})\n")
    assert id_line_of(ProgramJob("linkage", ("python", "program.py"), tmp_path, Protections.NONE)) == line


@needs_sandbox
def test_a_file_with_get_step(tmp_path: Path) -> None:
    with player_of(tmp_path, GETSTEP, GET_STEP, Protections.ALL) as player:
        assert player.prepare(PATIENCE_SECONDS)
        said = [
            player.call([[1, 0]], True, turn_of("longest_path", opponent=how, seconds=seconds))
            for how, seconds in (("a", 9), ("raise", 9), ("exit", 9), ("hang", 0.1), ("again", PATIENCE_SECONDS))
        ]
    assert said[0].move == said[-1].move == [1, 0]
    assert [call.error for call in said[1:-1]] == [
        "ValueError: no move left",
        "the process of get_step has ended with exit code 3",
        "get_step has returned no move in time; its process was ended",
    ]


CLOSES = "import os\ninput()\nos.close(1)\nwhile True: pass\n"


@pytest.mark.parametrize(
    ("source", "seconds", "silent"),
    [("while input(): pass\n", 0.1, True), (CLOSES, 0.1, True), ("input()\n", PATIENCE_SECONDS, False)],
)
def test_a_program_is_silent_if_its_time_was_up_when_it_was_ended(
    tmp_path: Path, source: str, seconds: float, silent: bool
) -> None:
    board = GAMES["longest_path"].start().board()
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        assert player.call(board, True, turn_of("longest_path", seconds=seconds)).error
        assert player.silent is silent
        assert not player.call(board, True, turn_of("hop")).move
        assert not player.silent


def test_what_get_step_raises_late_is_said_by_the_program(tmp_path: Path) -> None:
    source = "import time\ndef get_step(board, is_black):\n    time.sleep(0.2)\n    raise ValueError\n"
    with player_of(tmp_path, GETSTEP, source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        assert player.call([[0]], True, turn_of("hop", seconds=0.1)).error == "ValueError"
        assert not player.silent


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (
            "import nothing_of_this_name\n",
            "does not load: ModuleNotFoundError: No module named",
        ),
        ("import os\nos._exit(4)\n", "the process of get_step has ended with exit code 4"),
        ("import os\nos.write(4, b'[' * 9)\nos.write(4, b'\\n')\n", "has written no answer"),
    ],
)
def test_a_file_that_does_not_load(tmp_path: Path, source: str, error: str) -> None:
    with player_of(tmp_path, GETSTEP, source) as player:
        assert not player.prepare(PATIENCE_SECONDS)
        assert error in (player.call([[0]], True, turn_of("hop")).error or "")


# --- programs that mean harm ------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names threads by bytes")
def test_a_name_of_a_thread_that_is_no_text_is_no_failure_of_the_host(tmp_path: Path) -> None:
    source = "import ctypes\nctypes.CDLL(None).prctl(15, b'\\xff) R 1 (\\xfe', 0, 0, 0)\n"
    source += "input()\nprint('3 4', flush=True)\ninput()\n"
    with player_of(tmp_path, "prodrive", source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        call = player.call(GAMES["longest_path"].start().board(), True, turn_of("longest_path"))
    assert (call.move, call.error) == ([4, 3], None)


DEEP = "for _ in range(40): os.mkdir('d'); os.chdir('d')"
HOLES = "for n in range(4): open(str(n), 'w').truncate(60 << 20)"


@needs_sandbox
@pytest.mark.parametrize(("end", "why"), [(DEEP, "nested more than 32"), (HOLES, "larger than the limit")])
def test_files_that_cannot_be_kept_cost_the_turn_and_the_next_one_has_those_of_before(
    tmp_path: Path, end: str, why: str
) -> None:
    source = (
        "import os\nopen('memory', 'a').write('x')\nkept = open('memory').read()\n"
        f"open('order.txt', 'w').write(kept)\nif kept != 'x':\n    {end}\n"
    )
    board = GAMES["linkage"].start().board()
    with player_of(tmp_path, "linkage", source, Protections.ALL) as player:
        player.prepare(PATIENCE_SECONDS)
        errors = [str(player.call(board, True, turn_of("linkage", number)).error) for number in (1, 3, 5)]
    assert errors[0].startswith("order.txt has 'x'")
    assert all(error.startswith("its files cannot be kept for its next turn: ") for error in errors[1:])
    assert all(why in error for error in errors[1:])


def test_a_folder_in_place_of_a_file_is_told_without_folders_of_the_host(tmp_path: Path) -> None:
    board = GAMES["linkage"].start().board()
    with player_of(tmp_path, "linkage", "import os\nos.mkdir('order.txt')\n") as player:
        player.prepare(PATIENCE_SECONDS)
        errors = [player.call(board, True, turn_of("linkage", number)).error for number in (1, 3)]
    assert errors[1] == "order.txt cannot be removed: the program has made a folder of this name"


def test_a_program_that_does_not_read_its_input_cannot_hold_up_the_host(tmp_path: Path) -> None:
    """It answers many questions in advance. Once its input is full, it would compute while nobody suspends it."""
    source = (
        "import os, time\n"
        "os.dup(3), os.dup2(os.pipe()[0], 3)\n"  # so that the thread that reads the questions gets none
        'reply = b\'{"type": "answer", "move": [0, 0]}\\n\'\n'
        'os.write(4, b\'{"type": "ready"}\\n\' + 99 * reply)\n'
        "time.sleep(999)\n"
    )
    board = [[0] * 100 for _ in range(100)]  # of 30 kB
    with player_of(tmp_path, GETSTEP, source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        errors = [player.call(board, True, turn_of("hop", number)).error for number in range(1, 6)]
    assert "the program does not read its input" in errors


def test_replies_that_are_no_answer_end_a_turn(tmp_path: Path) -> None:
    source = 'import os\nos.write(4, b\'{"type": "ready"}\\n\')\n'
    source += 'while True: os.write(4, b\'{"type": "late"}\\n\' * 99)\n'
    with player_of(tmp_path, GETSTEP, source) as player:
        assert player.prepare(PATIENCE_SECONDS)
        assert player.call([[0]], True, turn_of("hop")).error == ("the process of get_step has written no answer")


def test_standard_error_without_an_end_is_read_slowly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("getstep.programs.printed.time.sleep", waits.append)
    job = ProgramJob("prodrive", ("python", "program.py"), tmp_path)
    with HostedProgram(job) as program:
        read, write = os.pipe()
        with open(read, "rb") as stream:  # noqa: PTH123 - a pipe has no path
            program.printed.follow(stream)
        with open(write, "wb") as pipe:  # noqa: PTH123 - likewise
            pipe.writelines([b"x" * (1 << 20)] * 20)
            pipe.write(b"\nthe end")
        program.printed.finish()
        assert program.errors.take().endswith("/ the end")
    assert 0.4 < sum(waits) < 0.6  # 16 MB at once, and 8 MB a second


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process does")
def test_a_program_that_computes_is_not_idle_and_a_suspended_one_gets_no_processor(tmp_path: Path) -> None:
    source = (
        "import threading\nfor _ in range(2): threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()"
    )
    with start([sys.executable, "-c", source], tmp_path, PLAYING, None, Protections.NONE) as process:
        used = Path(f"/proc/{process.pid}/stat")
        while sum(map(int, used.read_text().split()[13:15])) < 5:
            pass
        watch = WaitWatch(process.pid, os.fstat(process.stdin.fileno()).st_ino)
        assert not any(watch.is_waiting() for _ in range(20))
        process.suspend()
        while used.read_text().rpartition(")")[2].split()[0] != "T":
            pass
        watch = WaitWatch(process.pid, os.fstat(process.stdin.fileno()).st_ino)
        assert [watch.is_waiting() for _ in range(7)][-1]
