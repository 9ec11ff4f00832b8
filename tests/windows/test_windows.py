"""The SDK on Windows, as a contestant uses it: Python and C++ under Wine, and a server on this system.

Docs: docs/windows.md says what ran, and where.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from getstep.languages import LANGUAGES
from getstep_engines import GAMES
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.contests import make_contest, token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import Programs, all_commands
from tests.support.windows import Done, Windows

pytestmark = pytest.mark.long

NAME = "Łódź 日本 🐢"
"""The name of a team: with characters that no code page of Western Europe has."""

# One process for all games: a start of Python takes Wine a second or more.
ALL_GAMES = f"""
from getstep.cli import main
for game in {list(GAMES)}:
    code = main(["practice", "alle.py", "--game", game, "--against", "random", "--games", "1", "--limit", "60"])
    print(f"{{game}}: exit code {{code}}", flush=True)
"""
FAULTY = """

def get_step(board, is_black):
    print("日本")
    if is_black:
        raise ValueError("no plan for Łódź")
    while True:
        pass
"""
HANGS_ONCE = """
from pathlib import Path
import os
import time

import my_bot

def get_step(board, is_black, turn):
    seen = Path("hung")
    if "TROUBLE" in os.environ and turn.move_number > 2 and not seen.exists():
        seen.touch()
        while True:
            time.sleep(0.1)
    return my_bot.get_step(board, is_black, turn)
"""
CPP_TROUBLE = """
#include <fstream>
#include <thread>
static void trouble(const getstep::Turn& turn) {
    const char* kind = std::getenv("TROUBLE");
    if (!kind || turn.move_number < 3) return;
    if (*kind == 'c') *static_cast<volatile int*>(nullptr) = 1;
    if (std::ifstream("hung_in_cpp")) return;
    std::ofstream("hung_in_cpp") << "once";
    for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}
"""
CRASHES = {
    "memory": "*static_cast<volatile int*>(nullptr) = 1;",
    "recursion": "volatile char block[4096]; block[0] = 1; return crash(what, depth + 1) + block[0];",
    "abort": "std::abort();",
}
CRASH = """
#include "getstep.hpp"
static int crash(const std::string& what, int depth) {
    if (what == "memory") { %(memory)s }
    if (what == "recursion") { %(recursion)s }
    %(abort)s
}
int main(int, char** argv) {
    getstep::detail::install_signal_handlers(false);
    std::strcpy(getstep::detail::current_turn(), "match 3, move 7");
    return crash(argv[1], 1);
}
"""

OF_THE_SYSTEM = "1,2,4,7,8,9,10,11,12,13,14"
"""The groups of strict cases in which the system has a part: connections, processes, time, threads and output.

The others, a third, are about the values in messages. The same source passes them in tests/e2e/test_languages.py.
"""


@pytest.fixture(scope="module")
def folder(windows: Windows) -> Path:
    """The contestant's folder: with a space, umlauts, and characters outside the code page."""
    made = windows.folder / "Übung Zoë 日本"
    made.mkdir()
    assert windows.getstep("new", "alle.py", "--game", "all", cwd=made).code == 0
    return made


@pytest.fixture(scope="module")
def builds(windows: Windows, folder: Path) -> Iterator[dict[str, Future[Path]]]:
    """The programs in C++, compiled while Python is tested: each takes ten seconds and more."""
    with ThreadPoolExecutor(1) as threads:
        conformance = LANGUAGES["cpp"].folder / "bots" / "conformance_bot.cpp"
        copied = windows.folder / "conformance_bot.cpp"
        copied.write_bytes(Path(str(conformance)).read_bytes())
        crash = windows.folder / "crash.cpp"
        crash.write_text(CRASH % CRASHES)
        yield {
            "crash": threads.submit(windows.compile, crash, "-O0"),
            "conformance": threads.submit(windows.compile, copied, "-O0"),
        }


def test_practice_plays_each_game(windows: Windows, folder: Path, builds: object) -> None:
    done = windows.run(windows.python, "-X", "utf8=0", "-c", ALL_GAMES, cwd=folder)
    assert done.code == 0
    assert [line for line in done.output.splitlines() if "exit code" in line] == [
        f"{game}: exit code 0" for game in GAMES
    ]
    assert str(folder / "alle-practice.html").rpartition("/")[2] in done.output
    assert (folder / "alle-practice.html").stat().st_size > 10_000


def test_practice_shows_an_exception_and_an_endless_loop(windows: Windows, folder: Path) -> None:
    (folder / "ошибка.py").write_text(FAULTY, encoding="utf-8")
    words = ("practice", "ошибка.py", "--game", "linkage", "--against", "random", "--games", "2", "--limit", "0.5")
    done = windows.getstep(*words, cwd=folder)
    assert done.code == 1
    assert r"ValueError: no plan for \u0141\xf3d\u017a" in done.output.replace("ó", r"\xf3")
    assert "get_step was at " in done.output
    assert not left_behind(windows)


def left_behind(windows: Windows) -> list[str]:
    """Return the commands of Python processes of this Windows that still run."""
    python = str(windows.python).replace("/", "\\")
    return [line for line in all_commands() if python in line.replace("/", "\\")]


def test_ctrl_c_ends_practice_and_its_bots(windows: Windows, folder: Path) -> None:
    practice = windows.start(windows.python, "-m", "getstep", "practice", "alle.py", "--game", "hop", cwd=folder)
    try:
        practice.expect("^Game 1 of 10")
        assert len(left_behind(windows)) == 3  # practice, the bot and its opponent
        practice.signal(signal.SIGINT)
        assert practice.wait() == 130
    finally:
        practice.end()
    windows.note(["python", "-m", "getstep", "practice", "alle.py", "... Ctrl-C"], Done(130, practice.output))
    assert not left_behind(windows)


def test_a_contest_of_a_bot_in_python_and_one_in_cpp(
    windows: Windows, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a login that was typed and saved, Ctrl-C, a crash, and a bot in each language that hangs once."""
    for file in ("my_bot.py", "my_bot.cpp"):
        assert windows.getstep("new", file, "--game", "hop", "--game", "linkage", cwd=folder).code == 0
    (folder / "hangs.py").write_text(HANGS_ONCE, encoding="utf-8")
    source = folder / "my_bot.cpp"
    before, signature, after = source.read_text(encoding="utf-8").rpartition("const getstep::Turn& turn) {\n")
    source.write_text(f"{before}{signature}    trouble(turn);\n{after}", encoding="utf-8")
    include = '#include "getstep.hpp"\n'
    text = source.read_text(encoding="utf-8").replace(include, include + CPP_TROUBLE)
    source.write_text(text, encoding="utf-8")
    with ThreadPoolExecutor(1) as threads:
        compiled = threads.submit(windows.compile, source, "-O0")
        words = ("--game", "linkage", "--against", "random", "--games", "2", "--limit", "60")
        done = windows.getstep("practice", compiled.result().name, *words, cwd=folder)
        assert done.code == 0, done.output
        programs = Programs(monkeypatch)
        try:
            play_contest(windows, folder, compiled, programs)
        finally:
            programs.end()


def play_contest(windows: Windows, folder: Path, compiled: Future[Path], programs: Programs) -> None:
    # Without an answer in time, a bot loses a match of linkage, but not one of hop, in which both hang.
    once = {"legs": 1}
    contest = make_contest(
        windows.folder / "autumn",
        [NAME, "Zoë"],
        {"game": "hop", "name": "Hop", "move_seconds": 4.0, "settings": once},
        {"game": "linkage", "name": "Linkage", "move_seconds": PATIENCE_SECONDS, "settings": once},
        contest={"name": f"Herbst {NAME}"},
        start={"absent_seconds": 900.0},
        on_disk=True,
    )
    server = programs.serve(contest.folder)
    where = ["--host", "127.0.0.1", "--port", str(server.port)]

    login = windows.getstep("login", *where, cwd=folder, types=f"1\n{token_of(1)}\n")
    assert login.code == 0
    [saved] = (windows.folder / "prefix/drive_c/users").glob("*/AppData/Roaming/getstep/login.json")
    assert json.loads(saved.read_text())["team"] == 1
    check = windows.getstep("check", "hangs.py", cwd=folder)
    assert check.code == 0
    assert "BAD" not in check.output

    play = (windows.python, "-m", "getstep", "play", "hangs.py", "--restart-after", "1")
    stopped = windows.start(*play, cwd=folder)
    try:
        stopped.expect("^Connected to ")
        stopped.signal(signal.SIGINT)
        assert stopped.wait() == 130
    finally:
        stopped.end()
    assert stopped.output.endswith("Stopped.\n")
    windows.note(["python", "-m", "getstep", "play", "hangs.py", "... Ctrl-C"], Done(130, stopped.output))

    python = windows.start(*play, cwd=folder, variables={"TROUBLE": "hang"})
    crashed = cpp = None
    try:
        mine = (*where, "--team", "2", "--token", token_of(2), "--restart-after", "1")
        crashed = windows.start(compiled.result(), *mine, cwd=folder, variables={"TROUBLE": "crash"})
        assert crashed.wait() != 0
        cpp = windows.start(compiled.result(), *mine, cwd=folder, variables={"TROUBLE": "hang"})
        assert server.wait() == 0
        codes = (python.wait(), cpp.wait())
    finally:
        for words, program in (("hangs.py", python), ("my_bot.exe, crash", crashed), ("my_bot.exe", cpp)):
            if program is not None:
                program.end()
                windows.note(["play", words], Done(program.wait(), program.output))
    assert codes == (0, 0)
    assert "getstep: the bot crashed in GetStep, match 1, move " in crashed.output
    for output in (python.output, cpp.output):
        assert "The client starts your program again" in output
        assert output.count("Connected to ") == 2
        assert "Match 2: " in output
    assert (folder / "hung").exists()
    assert (folder / "hung_in_cpp").exists()
    played = results_of(load_contest(contest.folder))
    assert [result.reason for result in played] == ["finished", "finished"]
    assert not left_behind(windows)


@pytest.mark.parametrize("kind", CRASHES)
def test_a_crash_in_cpp_names_the_move(kind: str, windows: Windows, builds: dict[str, Future[Path]]) -> None:
    done = windows.run(builds["crash"].result(), kind)
    assert "getstep: the bot crashed in match 3, move 7 (" in done.output
    assert done.code != 0


def test_cpp_passes_the_strict_cases_of_the_conformance_suite(
    windows: Windows, builds: dict[str, Future[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in windows.environ.items():
        monkeypatch.setenv(name, value)
    program, report = builds["conformance"].result(), tmp_path / "report.json"
    options = ["--patience=60", "--json", str(report), f"--case={OF_THE_SYSTEM}"]
    assert run_command(["conformance", *options, "--", "wine", str(program)]) == 0
    verdicts = {case["number"]: case["verdict"] for case in json.loads(report.read_text())["cases"]}
    assert set(verdicts.values()) <= {"pass", "informational"}, verdicts
    windows.note(["getstep-server", "conformance", "conformance_bot.exe"], Done(0, f"{len(verdicts)} cases"))
