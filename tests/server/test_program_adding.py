"""Programs are built in the sandbox and play a trial game before they are stored; mistakes are told in words."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from getstep_engines import TimeControl
from getstep_server.errors import ConfigError, ProgramRefused, UsageError
from getstep_server.programs import adding, protection, trial
from getstep_server.programs import build as build_module
from getstep_server.programs.build import check_files
from getstep_server.programs.playing import ProgramJob
from getstep_server.programs.source import source_of
from getstep_server.programs.store import ProgramStore
from getstep_server.sandbox import mounts
from getstep_server.sandbox.check import Finding
from getstep_server.sandbox.probes import PROBES
from tests.support.archives import zipped
from tests.support.convention_programs import PROGRAMS, game_of
from tests.support.languages import need
from tests.support.submitted_programs import add, contest_of, needs_sandbox

pytestmark = needs_sandbox

FIRST_MOVE = """
import getstep
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    return board[0].index(0), 0
"""
BOARD = "   0   .  ."


def told(folder: Path, game: str, name: str, data: str | bytes, **settings: Any) -> list[str]:
    """Return the lines that tell the author why a program is refused; nothing of it may be stored."""
    contest = contest_of(folder / "c", game, **settings)
    with pytest.raises(ProgramRefused) as caught:
        add(contest, name, data)
    assert ProgramStore(contest.folder).versions(1) == []
    assert [path.name for path in (contest.folder / "programs" / "1").iterdir() if path.is_dir()] == []
    lines = str(caught.value).split("\n")
    assert all(map(str.isprintable, lines))
    return lines


# --- a program that is taken ------------------------------------------------------------------------------------


def test_a_program_is_built_tried_and_stored(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, "longest_path")
    ticks: list[str] = []
    version = add(contest, "bot.py", PROGRAMS["prodrive"], ticks)
    assert (version.number, version.convention, version.language) == (1, "prodrive", "Python")
    assert version.command == ("python", "./bot.py")
    assert version.trial.startswith("Longest Path: ")
    assert version.trial.count(",") == 1  # both colours
    assert (version.files / "bot.py").read_text() == (version.source / "bot.py").read_text() == PROGRAMS["prodrive"]
    assert ProgramStore(tmp_path).current(1) == version
    assert ticks[0] == "building it (Python)"
    assert "trial game 1 of Longest Path: move 9" in ticks
    assert ticks[-1] == "storing it"


def test_a_file_with_get_step_is_taken_with_the_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_SECOND_SECONDS", 0)
    text = "import helper, getstep_bots.greedy\n\ndef get_step(board, is_black):\n    return helper.move(board)\n"
    helper = "def move(board):\n    return next((r, c) for r in range(8) for c in range(8) if not board[r][c])\n"
    archive = zipped({"my/bot.py": text.encode(), "my/helper.py": helper.encode()})
    version = add(contest_of(tmp_path, "pseudo_tonga"), "my.zip", archive)
    assert (version.convention, version.command) == ("getstep", ("python", "./bot.py"))


def test_a_bot_that_gives_up_a_game_that_it_does_not_play_is_taken(tmp_path: Path) -> None:
    text = "import getstep\n\n@getstep.plays('hop')\ndef get_step(board, is_black):\n    return None\n"
    version = add(contest_of(tmp_path, "longest_path"), "bot.py", text)
    gives_up = "given up: this bot plays hop; the match is longest_path. It gives up this match, and plays the next"
    assert version.trial.startswith(f"Longest Path: {gives_up}")


def test_a_built_program_is_kept_without_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell stands for a compiler. A built program may be a script."""
    monkeypatch.setattr(trial, "TRIAL_SECOND_SECONDS", 0)
    script = f"#!{Path(sys.executable).resolve()}\n{PROGRAMS['prodrive']}"
    files = {
        "program.toml": 'build = "echo a warning; mkdir out; cp bot.txt out/bot"\nrun = "out/bot"',
        "bot.txt": script,
    }
    archive = zipped({name: text.encode() for name, text in files.items()})
    version = add(contest_of(tmp_path, "longest_path"), "x.zip", archive)
    assert version.command == ("out/bot",)
    assert (version.files / "out" / "bot").read_text() == script
    assert os.access(version.files / "out" / "bot", os.X_OK)
    assert sorted(path.name for path in version.source.iterdir()) == ["bot.txt", "program.toml"]


def test_without_a_sandbox_programs_run_only_if_the_host_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_SECOND_SECONDS", 0)
    monkeypatch.setattr(shutil, "which", lambda _, path=None: None)
    with pytest.raises(ConfigError, match=r'bubblewrap.*sandbox = "none"'):
        add(contest_of(tmp_path, "longest_path"), "bot.py", PROGRAMS["prodrive"])
    contest = contest_of(tmp_path, "longest_path", sandbox="none")
    assert add(contest, "bot.py", PROGRAMS["prodrive"]).number == 1


@pytest.mark.long
def test_the_sandbox_is_tried_before_the_first_program(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, "longest_path")
    (tmp_path / "programs" / ".protected").unlink()
    ticks: list[list[str]] = [[], []]
    for told_of in ticks:
        add(contest, "bot.py", PROGRAMS["prodrive"], told_of)
    assert [told_of[0] for told_of in ticks] == ["trying the sandbox of this machine, once", "building it (Python)"]


def test_a_sandbox_that_does_not_protect_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here only two protections are tried; at first both fail, and then one."""
    probes = PROBES[:2]
    held = [[False, False], [True, False]]

    def some(names: list[str] | None = None) -> list[Finding]:
        chosen = [probe for probe in probes if names is None or probe.name in names]
        return [Finding(probe, one, "") for probe, one in zip(chosen, held.pop(0), strict=True)]

    monkeypatch.setattr(protection, "check", some)
    contest = contest_of(tmp_path, "longest_path")
    (tmp_path / "programs" / ".protected").write_text("another machine")
    with pytest.raises(ConfigError, match="does not protect this machine") as caught:
        add(contest, "bot.py", PROGRAMS["prodrive"])
    assert f"a program could {probes[1].tried}." in str(caught.value)
    assert probes[0].tried not in str(caught.value)
    assert (tmp_path / "programs" / ".protected").read_text() == "another machine"


# --- programs that are refused ----------------------------------------------------------------------------------


def test_a_mistake_of_syntax_is_told_with_its_line(tmp_path: Path) -> None:
    lines = told(tmp_path, "hop", "bot.py", "x = 1\ndef get_step(board, is_black)\n    pass\n")
    assert lines[0] == "it does not compile: python has ended with exit code 1"
    assert lines[1] == '    File "bot.py", line 2'
    assert lines[-1].startswith("  SyntaxError: ")


def test_an_exception_is_told_with_its_traceback_and_the_board(tmp_path: Path) -> None:
    lines = told(tmp_path, "hop", "bot.py", "def get_step(board, is_black):\n    return board['a']\n")
    where = "tried by the convention getstep: in a trial game of Hop, as the first player, at move 1: "
    assert lines[0].startswith(f"{where}TypeError: list indices")
    assert "    return board['a']" in "\n".join(lines)
    assert [line for line in lines if line.startswith("   0   B")]
    assert lines[-1].startswith("  legal: [(0, 0), (0, 1)]")


@pytest.mark.long
def test_an_illegal_move_is_told_with_the_rule(tmp_path: Path) -> None:
    lines = told(tmp_path, "hop", "bot.py", "def get_step(board, is_black):\n    return [(0, 0), (7, 7)]\n")
    assert "is neither a step nor a hop" in lines[0]
    assert lines[1] == "  it played [(0, 0), (7, 7)]"


def test_another_output_than_a_move_is_told(tmp_path: Path) -> None:
    text = "import sys\nsys.stdin.readline()\nprint('hello\\x1b[2J', flush=True)\nsys.stdin.readline()\n"
    lines = told(tmp_path, "longest_path", "bot.py", text)
    assert "at move 1: wrote 'hello\\x1b[2J'; expected x and y" in lines[0]
    assert lines[1].startswith("       0  1  2")


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ("import ctypes; ctypes.string_at(0)", "crashed with SIGSEGV"),
        pytest.param(
            "x = [bytearray(1 << 20) for _ in range(2000)]",
            "MemoryError|used more than 1024 MB of memory",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_program_that_crashes_is_told_how(tmp_path: Path, last: str, end: str) -> None:
    lines = told(tmp_path, "longest_path", "bot.py", f"import sys\nsys.stdin.readline()\n{last}\n")
    assert re.search(end, lines[0])


def test_a_program_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    lines = told(tmp_path, "longest_path", "bot.py", "import sys\nsys.exit('no book')\n")
    assert lines[0].startswith(
        "tried by the convention prodrive: it does not start: the program has ended with exit code 1"
    )
    assert lines[0].endswith("standard error: no book")


@pytest.mark.long
def test_a_program_that_hangs_is_told_its_limit(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, "longest_path")
    text = (tmp_path / "contest.toml").read_text().replace("move_seconds = 20", "move_seconds = 0.2")
    (tmp_path / "contest.toml").write_text(text)
    assert contest.events
    lines = told_again(tmp_path, "input()\nwhile True: pass\n")
    assert lines[0].endswith("at move 1: the program has written no move in time; it was ended")


def told_again(folder: Path, data: str) -> list[str]:
    """Return what is told about a program for a contest that is there already."""
    from getstep_server.config.contest import load_contest

    with pytest.raises(ProgramRefused) as caught:
        add(load_contest(folder), "bot.py", data)
    return str(caught.value).split("\n")


def test_a_file_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    lines = told(tmp_path, "linkage", "bot", b"\x7fELF is not enough")
    assert lines == ["tried by the convention linkage: ./bot cannot be started: Exec format error"]


def test_a_command_that_names_no_file_is_told(tmp_path: Path) -> None:
    def refused(toml: str) -> str:
        return told(tmp_path, "linkage", "x.zip", zipped({"program.toml": toml.encode()}))[0]

    assert (
        refused('run = "./bot"\nbuild = "true"')
        == "there is no file ./bot after the build, which starts the program"
    )
    assert refused('run = "/bin/sh -c ls"').startswith("there is no file /bin/sh")
    assert refused('run = "../../../bin/ls"').startswith("there is no file ../../../bin/ls")
    assert refused('run = "nosuch"').endswith(": nosuch cannot be started: No such file or directory")


def test_trial_games_take_bounded_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the trial jumps with each move; the program's own limits are those of the judge."""
    clock = [0.0]
    monkeypatch.setattr(trial, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    class Ticks(list[str]):
        def append(self, _: str) -> None:
            clock[0] += self.seconds

        seconds = 0.0

    contest, ticks = contest_of(tmp_path, "longest_path"), Ticks()
    ticks.seconds = 30.0
    version = add(contest, "bot.py", PROGRAMS["prodrive"], ticks)
    assert version.trial == "Longest Path: not over after 120 s, without a fault"
    ticks.seconds = 21 / 120
    assert add(contest, "bot.py", PROGRAMS["prodrive"], ticks).trial.count(",") == 0


# --- the convention ---------------------------------------------------------------------------------------------

SAMPLE = """
def from_file():
    with open("shared_file.txt") as file:
        return file.read()

"""
"""What the contest's own sample has in its console version, and does not use."""


class Trials:
    """Stands for the trial games: a program plays by some conventions. ``asked`` has the limits of each."""

    def __init__(self, *works: str) -> None:
        self.works = works
        self.asked: list[tuple[str, float, float]] = []

    def __call__(self, job: ProgramJob, games: Sequence[trial.TrialGame], startup: float, _tick: object) -> str:
        self.asked.append((job.convention, games[0].control.seconds, startup))
        if job.convention not in self.works:
            raise ProgramRefused(f"no move of {job.convention}\n  a board")
        return "won"


def test_the_convention_is_found_by_trial_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text names the file of the other convention, which is tried first: the program waits for its input."""
    play = trial.try_program

    def soon_over(
        job: ProgramJob, games: Sequence[trial.TrialGame], startup: float, tick: Callable[[str], None]
    ) -> str:
        if job.convention == "csefest-file":
            games = [replace(game, control=TimeControl("move", 0.2)) for game in games]
        return play(job, games, startup, tick)

    monkeypatch.setattr(adding, "try_program", soon_over)
    monkeypatch.setattr(trial, "TRIAL_SECOND_SECONDS", 0)
    ticks: list[str] = []
    source = source_of("bot.py", (SAMPLE + PROGRAMS["csefest-console"]).encode())
    contest = contest_of(tmp_path, "chain_reaction")
    added = adding.add_program(contest, adding.NewProgram(1, source, "host"), ticks.append)
    assert added.version.convention == "csefest-console"
    assert added.notes == (
        "found by trial games: it plays by the convention csefest-console, and not by csefest-file;"
        " --as names another one",
    )
    assert [tick for tick in ticks if tick.startswith("as csefest-file: trial game 1")]
    assert sorted(path.name for path in added.version.folder.iterdir()) == ["files", "program.json", "source"]


def test_a_program_that_plays_by_no_convention_is_told_why_by_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "try_program", Trials())
    assert told(tmp_path, "chain_reaction", "bot.py", SAMPLE) == [
        "tried by the convention csefest-file: no move of csefest-file",
        "  a board",
        "tried by the convention csefest-console: no move of csefest-console",
        "with --as csefest-file, it is tried by this one only, with the time of the contest",
    ]


def test_a_program_that_plays_by_two_conventions_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "try_program", Trials("csefest-file", "csefest-console"))
    assert told(tmp_path, "chain_reaction", "bot.py", "") == [
        "it plays by the conventions csefest-console and csefest-file: which one is it? Say it with --as"
        ' csefest-console or --as csefest-file, or with convention = "csefest-console" in a file program.toml'
    ]


def test_while_several_conventions_fit_each_gets_less_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contest = contest_of(tmp_path, "chain_reaction")  # 20 s a move, and 10 s to start
    for works, named, expected in (
        ("csefest-console", None, [("csefest-console", 10, 10), ("csefest-file", 5, 5)]),
        ("csefest-file", None, [("csefest-console", 10, 10), ("csefest-file", 10, 10)]),
        ("csefest-file", "csefest-file", [("csefest-file", 20, 10)]),
    ):
        trials = Trials(works)
        monkeypatch.setattr(adding, "try_program", trials)
        assert add(contest, "bot.py", "", convention=named).convention == works
        assert trials.asked == expected


# --- the class of Java ------------------------------------------------------------------------------------------

JAVA_MAIN = "class {} {{ public static void main(String[] arguments) {{ }} }}\n"


@pytest.mark.long
def test_the_class_with_main_is_found_in_what_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("javac", "java")
    monkeypatch.setattr(adding, "try_program", lambda *_: "won")
    contest = contest_of(tmp_path / "contest", "longest_path")

    def added(**texts: str) -> adding.Added:
        files = {name.replace("__", "."): text.encode() for name, text in texts.items()}
        source = source_of("x.zip", zipped(files))
        return adding.add_program(contest, adding.NewProgram(1, source, "host", "prodrive"), print)

    one = added(PlayerOne__java=JAVA_MAIN.format("playerOne") + "class Helper { void main(String[] a) { } }\n")
    assert one.version.command[-1] == "playerOne"
    assert one.notes == ("class playerOne (in PlayerOne.java) has main",)
    two = {"A__java": JAVA_MAIN.format("A"), "B__java": "package p.q;\n" + JAVA_MAIN.format("Other")}
    with pytest.raises(
        ProgramRefused, match=r"several have one: A \(in A.java\), p.q.Other \(in B.java\); .*--entry"
    ):
        added(**two)
    assert added(**two, program__toml='entry = "B.java"').version.command[-1] == "p.q.Other"
    with pytest.raises(ProgramRefused, match="none has one"):
        added(A__java="class A { }")
    with pytest.raises(ProgramRefused, match=r"(?s)named Winner\.java.*\nWrite that class without public, or give"):
        added(MyBot__java="public " + JAVA_MAIN.format("Winner"))
    wrong = {"PlayerOne__java": JAVA_MAIN.format("playerOne"), "program__toml": 'run = "java -cp . PlayerOne"'}
    with pytest.raises(
        ProgramRefused, match=r"class PlayerOne, and .*; classes with main: playerOne \(in PlayerOne"
    ):
        added(**wrong)


def test_the_settings_of_the_compiler_of_pascal_are_in_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == "/etc/fpc.cfg")
    command = mounts.options("/home", [])
    at = command.index("/etc/fpc.cfg")
    assert command[at - 1 : at + 2] == ["--ro-bind", "/etc/fpc.cfg", "/etc/fpc.cfg"]


@pytest.mark.skipif(
    shutil.which("fpc") is None, reason="there is no compiler of Pascal here: apt install fp-compiler"
)
def test_a_program_in_pascal_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its compiler finds nothing without /etc/fpc.cfg."""
    monkeypatch.setattr(adding, "try_program", lambda *_: "won")
    files = {"program.toml": b'build = "fpc bot.pas"\nrun = "./bot"', "bot.pas": b"uses sysutils;\nbegin\nend.\n"}
    assert add(contest_of(tmp_path, "longest_path"), "x.zip", zipped(files)).command == ("./bot",)


# --- builds -----------------------------------------------------------------------------------------------------


def built(folder: Path, command: str) -> list[str]:
    """Return what is told about a build that fails."""
    toml = f"run = './bot'\nbuild = '''{command}'''"
    return told(folder, "linkage", "x.zip", zipped({"program.toml": toml.encode(), "a.txt": b"1"}))


def test_the_compilers_output_is_bounded_and_harmless(tmp_path: Path) -> None:
    lines = built(tmp_path, r"for n in $(seq 40); do printf 'a.c:%d: \033[31merror\n' $n; done; exit 3")
    assert lines[0] == "it does not compile: the command build has ended with exit code 3"
    assert lines[1] == "  a.c:1: \\u001b[31merror"
    assert (len(lines), lines[-1]) == (32, "  and 10 more lines")


def test_a_build_that_prints_too_much_is_ended(tmp_path: Path) -> None:
    lines = built(tmp_path, "yes error | head -c 3000000")
    assert lines[0] == "the compiler printed too much; it began with:"
    assert lines[1] == "  error"


def test_a_build_has_limited_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: began + 1000 * (time.monotonic() - began))
    monkeypatch.setattr(build_module, "time", clock)
    assert built(tmp_path, "sleep 30")[0] == "it was not compiled within 120 s"
    assert time.monotonic() - began < 20


def test_a_build_cannot_leave_a_link(tmp_path: Path) -> None:
    """A link is not copied out of the sandbox."""
    assert built(tmp_path, "ln -s /etc/passwd bot")[0].startswith("there is no file ./bot after the build")
    contest = contest_of(tmp_path / "none", "linkage", sandbox="none")
    toml = "run = './bot'\nbuild = 'ln -s /etc/passwd bot'"
    with pytest.raises(ProgramRefused, match="made a link"):
        add(contest, "x.zip", zipped({"program.toml": toml.encode()}))


def test_a_build_cannot_nest_folders_until_their_paths_are_too_long(tmp_path: Path) -> None:
    script = "import os\nfor _ in range(20):\n    os.mkdir('x' * 250)\n    os.chdir('x' * 250)\n"
    files = {"program.toml": b'build = "python3 nest.py"\nrun = "./x"', "nest.py": script.encode()}
    assert told(tmp_path, "linkage", "x.zip", zipped(files)) == [
        "what the compiler wrote cannot be kept: File name too long"
    ]


def test_a_build_cannot_leave_too_much(tmp_path: Path) -> None:
    (tmp_path / "bot").touch()
    os.truncate(tmp_path / "bot", 48 << 20)
    check_files(tmp_path)
    os.truncate(tmp_path / "bot", (48 << 20) + 1)
    with pytest.raises(ProgramRefused, match="more than 48 MB"):
        check_files(tmp_path)
    os.truncate(tmp_path / "bot", 0)
    for number in range(5000):
        os.link(tmp_path / "bot", tmp_path / f"{number}.class")
    with pytest.raises(ProgramRefused, match="5000 files"):
        check_files(tmp_path)


def test_a_build_reads_nothing_of_the_host(tmp_path: Path) -> None:
    secret = tmp_path / "c" / "teams.toml"
    lines = built(tmp_path, f"cat {secret} /etc/shadow; touch /usr/x; exit 1")
    assert sum("No such file" in line for line in lines[1:]) >= 2
    assert "12345678" not in "".join(lines)


def test_a_missing_compiler_is_named_for_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _, path=None: None)
    with pytest.raises(ConfigError, match=r"C\+\+ needs g\+\+ \(apt install g\+\+\)"):
        add(contest_of(tmp_path, "linkage"), "bot.cpp", "int main() { }")


def test_a_compilers_message_has_the_line(tmp_path: Path) -> None:
    need("g++")
    lines = told(tmp_path, "linkage", "bot.cpp", "int main() {\n  return x;\n}\n")
    assert lines[0] == "it does not compile: g++ has ended with exit code 1"
    assert any("bot.cpp:2:" in line and "x" in line for line in lines)


# --- two at once, and interruptions -----------------------------------------------------------------------------


def test_a_team_without_an_event_gets_no_program(tmp_path: Path) -> None:
    contest_of(tmp_path, "hop")
    text = (tmp_path / "teams.toml").read_text()
    (tmp_path / "teams.toml").write_text(text + '[[team]]\nid = 3\nname = "Eve"\ntoken = "12345678"\n')
    (tmp_path / "contest.toml").write_text(
        (tmp_path / "contest.toml").read_text().replace("move_seconds", "teams = [2, 3]\nmove_seconds")
    )
    from getstep_server.config.contest import load_contest

    with pytest.raises(UsageError, match="team 1 takes part in no event"):
        add(load_contest(tmp_path), "bot.py", FIRST_MOVE)


def test_an_interrupted_add_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C arrives while the program is built, and then while it plays."""
    contest = contest_of(tmp_path, "longest_path")

    class Interrupt(list[str]):
        def __init__(self, at: str) -> None:
            super().__init__()
            self.at = at

        def append(self, text: str) -> None:
            if text.startswith(self.at):
                raise KeyboardInterrupt

    for at in ("building", "trial game 1 of Longest Path: move 5"):
        with pytest.raises(KeyboardInterrupt):
            add(contest, "bot.py", PROGRAMS["prodrive"], Interrupt(at))
        home = tmp_path / "programs" / "1"
        assert sorted(path.name for path in home.iterdir()) == [".adding"]
    assert ProgramStore(tmp_path).versions(1) == []


ADDING = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from getstep_server.config.contest import load_contest
from tests.support.submitted_programs import add
class Killed(list):
    def append(self, text):
        if "move 5" in text:
            os.kill(os.getpid(), signal.SIGKILL)
add(load_contest(Path(sys.argv[1])), "bot.py", sys.argv[2], Killed())
"""


@pytest.mark.long
def test_after_a_kill_nothing_runs_and_the_next_add_works(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, "longest_path")
    text = f"import os\nopen('pid', 'w')\n{PROGRAMS['prodrive']}"
    killed = subprocess.run([sys.executable, "-c", ADDING, str(tmp_path), text], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "programs" / "1" / ".new").exists()
    assert add(contest, "bot.py", PROGRAMS["prodrive"]).number == 1
    assert not (tmp_path / "programs" / "1" / ".new").exists()


# --- compiled languages -----------------------------------------------------------------------------------------

CPP = """
#include <cstdio>
#include <set>
#include <utility>
int main() {
    std::set<std::pair<int, int>> taken;
    int me, x, y;
    std::scanf("%d", &me);
    for (int turn = me; taken.size() < 121; turn ^= 1) {
        if (turn) { if (std::scanf("%d %d", &x, &y) != 2) return 1; taken.insert({x, y}); continue; }
        for (x = 0; x < 11; x++) { for (y = 0; y < 11; y++) if (!taken.count({x, y})) break; if (y < 11) break; }
        taken.insert({x, y});
        std::printf("%d %d\\n", x, y);
        std::fflush(stdout);
    }
}
"""
JAVA = """
import java.util.*;
public class Bot {
    public static void main(String[] a) {
        Scanner in = new Scanner(System.in);
        boolean[] taken = new boolean[121];
        int turn = in.nextInt();
        for (int count = 0; count < 121; count++, turn ^= 1) {
            int at = 0;
            if (turn == 1) at = in.nextInt() * 11 + in.nextInt(); else while (taken[at]) at++;
            taken[at] = true;
            if (turn == 0) { System.out.println(at / 11 + " " + at % 11); System.out.flush(); }
        }
    }
}
"""
CSHARP = """
using System;
public class Bot {
    public static void Main() {
        var taken = new bool[121];
        int turn = int.Parse(Console.ReadLine());
        for (int count = 0; count < 121; count++, turn ^= 1) {
            int at = 0;
            if (turn == 1) { var w = Console.ReadLine().Split(' '); at = int.Parse(w[0]) * 11 + int.Parse(w[1]); }
            else while (taken[at]) at++;
            taken[at] = true;
            if (turn == 0) Console.WriteLine(at / 11 + " " + at % 11);
        }
    }
}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text", "language"),
    [("bot.cpp", CPP, "C++"), ("Bot.java", JAVA, "Java"), ("Bot.cs", CSHARP, "C#")],
)
def test_a_compiled_program_plays_both_colours(tmp_path: Path, name: str, text: str, language: str) -> None:
    need("g++", "javac", "mcs", "mono")
    version = add(contest_of(tmp_path, "longest_path"), name, text)
    assert version.language == language
    assert version.trial.count(",") == 1
    assert not (version.files / name).exists()


EATER = """
class PseudoTonga:
    def init(self, size, row, col):
        self.eaten = bytearray({} << 20)
        return 7, 7
    def move(self, row, col):
        return 7, 6
"""


@pytest.mark.long
def test_a_class_of_the_topcoder_match_has_64_mb(tmp_path: Path) -> None:
    contest = contest_of(tmp_path, "pseudo_tonga")
    reasons = []
    for megabytes in (20, 80):
        with pytest.raises(ProgramRefused) as caught:
            add(contest, "bot.py", EATER.format(megabytes))
        reasons.append(str(caught.value).split("\n")[0])
    assert "at move 1:" not in reasons[0]
    assert "at move 1:" in reasons[1]


@pytest.mark.long
@pytest.mark.parametrize("convention", sorted(PROGRAMS))
def test_programs_of_every_convention_are_tried(tmp_path: Path, convention: str) -> None:
    version = add(contest_of(tmp_path, game_of(convention).name), "bot.py", PROGRAMS[convention])
    assert version.convention == convention
