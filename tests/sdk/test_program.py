"""Programs of the original contests as bots: whole games by each convention, and programs that fail."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from getstep import notes
from getstep._bot import load
from getstep._errors import BotError
from getstep.cli import main
from getstep.conventions import CONVENTIONS, ConventionError, Talk
from getstep.programs.java_class import JavaClass, read_class
from getstep.programs.program import (
    LocalProgram,
    ProgramBot,
    ProgramCallback,
    RunningProgram,
    _LateError,
    _LocalProcess,
    _Process,
    identity_of,
    kill_running,
)
from getstep.programs.start import SOURCES, WRAPPERS_FOLDER, start_command
from getstep.turn import Turn
from getstep_engines import GAMES, Player
from tests.support.convention_programs import PROGRAMS, game_of
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@contextmanager
def bot_of(folder: Path, convention: str, source: str | None = None) -> Iterator[ProgramBot]:
    """A program in its folder, which ends with the test."""
    path = folder / "program.py"
    path.write_text(PROGRAMS[convention] if source is None else source, encoding="utf-8")
    bot = ProgramBot(convention, path)
    try:
        yield bot
    finally:
        bot.close()


def turn_of(game: str, number: int = 1, *, match: int = 1, last: object = None, seconds: float = 0) -> Turn:
    return Turn(game, match, number, "Other", last, round(1000 * (seconds or PATIENCE_SECONDS)), {})


def first_question(bot: ProgramBot, game: str, *, seconds: float = 0) -> object:
    """Ask for the first move of a game."""
    return bot.get_step(GAMES[game].start().board(), True, turn_of(game, seconds=seconds))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_program_plays_whole_games_as_either_player(tmp_path: Path, convention: str) -> None:
    game = game_of(convention)
    with bot_of(tmp_path, convention) as bot:
        for player in (0, 1):
            state, last, number = game.start(), None, 0
            while state.outcome is None:
                number += 1
                if state.to_move == player:
                    turn = turn_of(game.name, number, match=1 + player, last=last)
                    state.play(bot.get_step(state.board(), player == 0, turn))
                    last = None
                else:
                    last = list(state.legal_moves())[-1]
                    state.play(last)
            assert "fault" not in state.outcome.reason
    if convention == "prodrive":
        # As player 1 it ends by itself only if it gets the opponent's last move after its own last one.
        assert (tmp_path / "ended.txt").read_text() == "0: 121 1: 121 "


def test_a_move_without_a_newline(tmp_path: Path) -> None:
    source = "import sys\nsys.stdout.write('3 4')\nsys.stdout.flush()\nsys.stdin.read()\n"
    with bot_of(tmp_path, "csefest-console", source) as bot:
        assert first_question(bot, "chain_reaction") == (3, 4)


def test_a_move_in_a_file_without_a_newline(tmp_path: Path) -> None:
    source = PROGRAMS["csefest-file"].replace(r"{y}\n", "{y}").replace(r"0\n", r"0\r\n")
    assert source != PROGRAMS["csefest-file"]
    with bot_of(tmp_path, "csefest-file", source) as bot:
        assert first_question(bot, "chain_reaction") == (0, 0)


def test_a_program_that_goes_on_after_the_end_is_killed(tmp_path: Path) -> None:
    source = (
        "import sys, time\nprint(3, 4, flush=True)\nsys.stdin.read()\nprint('bye', flush=True)\ntime.sleep(600)\n"
    )
    with bot_of(tmp_path, "csefest-console", source) as bot:
        assert first_question(bot, "chain_reaction") == (3, 4)
        assert bot._process is not None
        running = bot._process.running
        bot.close()
        assert running.wait(PATIENCE_SECONDS) != 0


def test_the_end_of_a_program_takes_no_time_of_the_next_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that goes on after the end of its input still runs when the next one has moved."""
    monkeypatch.setattr("getstep.programs.program._END_SECONDS", PATIENCE_SECONDS)
    source = (
        "import os, sys, time\nprint(3, 4, flush=True)\nsys.stdin.read()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\nraise SystemExit(7)\n"
    )
    with bot_of(tmp_path, "csefest-console", source) as bot:
        board, running = GAMES["chain_reaction"].start().board(), []
        for match in (1, 2):
            assert bot.get_step(board, True, turn_of("chain_reaction", match=match)) == (3, 4)
            assert bot._process is not None
            running.append(bot._process.running)
        assert isinstance(running[0], subprocess.Popen)
        assert running[0].poll() is None
        (tmp_path / "go").touch()
        assert running[0].wait(PATIENCE_SECONDS) == 7


def test_a_program_that_polls_a_file_is_killed_before_the_next_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells it the end, and it would answer in the place of the next process."""
    at_once, end = [], _Process.end

    def noted(process: _Process, **how: bool) -> None:
        at_once.append(how)
        end(process, **how)

    monkeypatch.setattr(_Process, "end", noted)
    with bot_of(tmp_path, "csefest-file") as bot:
        board = GAMES["chain_reaction"].start().board()
        bot.get_step(board, True, turn_of("chain_reaction"))
        assert bot._process is not None
        first = bot._process.running
        assert isinstance(first, subprocess.Popen)
        bot.get_step(board, True, turn_of("chain_reaction", match=2))
        assert first.poll() is not None
        assert at_once == [{"at_once": True}]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A program that has opened the old file reads all of it; it never sees a part of the new one."""
    bot = LocalProgram("csefest-file", Path(__file__))
    bot.folder.path = tmp_path
    bot.folder.write("shared_file.txt", b"the old question")
    with (tmp_path / "shared_file.txt").open() as opened:
        bot.folder.write("shared_file.txt", b"new")
        assert opened.read() == "the old question"
    assert [path.name for path in tmp_path.iterdir()] == ["shared_file.txt"]
    assert (tmp_path / "shared_file.txt").read_bytes() == b"new"


@pytest.mark.parametrize("before", [b"0\n3 4\n", b"longer than the new content"])
def test_a_file_that_cannot_be_replaced_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    """As on Windows, while a program holds it open: that program reads the new content."""

    def refuse(_new: Path, _old: Path) -> None:
        raise PermissionError(errno.EACCES, "Access denied")

    monkeypatch.setattr(Path, "replace", refuse)
    (tmp_path / "shared_file.txt").write_bytes(before)
    bot = LocalProgram("csefest-file", Path(__file__))
    bot.folder.path = tmp_path
    with (tmp_path / "shared_file.txt").open("rb") as opened:
        bot.folder.write("shared_file.txt", b"a new question")
        assert opened.read() == b"a new question"
    assert [path.name for path in tmp_path.iterdir()] == ["shared_file.txt"]


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "shared_file.txt").mkdir()
    bot = LocalProgram("csefest-file", Path(__file__))
    bot.folder.path = tmp_path
    with pytest.raises(OSError, match="shared_file"):
        bot.folder.write("shared_file.txt", b"a question")
    assert [path.name for path in tmp_path.iterdir()] == ["shared_file.txt"]


def test_a_file_of_its_own_stays_between_the_turns(tmp_path: Path) -> None:
    source = "open('memory.txt', 'a').write('turn ')\n" + PROGRAMS["linkage"]
    with bot_of(tmp_path, "linkage", source) as bot:
        for _ in range(2):
            first_question(bot, "linkage")
    assert (tmp_path / "memory.txt").read_text() == "turn turn "


def test_an_order_of_an_earlier_turn_is_never_read(tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_text("RA1A2")
    with bot_of(tmp_path, "linkage", "pass\n") as bot, pytest.raises(ConventionError, match="missing or empty"):
        first_question(bot, "linkage")


def test_a_question_of_an_earlier_match_is_never_answered(tmp_path: Path) -> None:
    (tmp_path / "shared_file.txt").write_text("R\n" + "\n".join(["No " * 8] * 8))
    with bot_of(tmp_path, "csefest-file") as bot:
        bot.prepare(1, 0)
        assert (tmp_path / "shared_file.txt").read_bytes() == b"G\n" + b"\n".join([b"No " * 8] * 8)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("prepared", [False, True])
def test_a_program_that_opens_the_file_at_its_start_finds_that_it_is_the_opponents_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, player: Player, prepared: bool
) -> None:
    """Such a program plays, whether it is started before its match or in its first turn."""
    found: list[bytes] = []

    def start(program: LocalProgram, talk: Talk) -> RunningProgram:
        found.append((tmp_path / "shared_file.txt").read_bytes())
        return _LocalProcess([sys.executable, str(tmp_path / "program.py"), *talk.arguments()], program.folder)

    monkeypatch.setattr(LocalProgram, "start", start)
    source = "import sys\nassert open('shared_file.txt').read(1) in 'RG'\n" + PROGRAMS["csefest-file"]
    with bot_of(tmp_path, "csefest-file", source) as bot:
        if prepared:
            bot.prepare(1, player)
        board = GAMES["chain_reaction"].start().board()
        assert bot.get_step(board, player == 0, turn_of("chain_reaction", 1 + player)) == (0, 0)
    assert found == [b"GR"[player : player + 1] + b"\n" + b"\n".join([b"No " * 8] * 8)]


def test_lines_on_standard_error_are_notes_and_the_rest_is_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notes._told.clear()
    source = """
import sys
for n in range(10):
    board = [input() for _ in range(8 + (n == 0))]
    sys.stderr.write(f"getstep: draw mark red {n} 0,0\\r\\nlooking\\n getstep: tag x\\ngetstep: shout\\ngetstep: s")
    sys.stderr.write(f"ay move {n}\\n")
    print("0 0", flush=True)
"""
    board = GAMES["chain_reaction"].start().board()
    with bot_of(tmp_path, "csefest-console", source) as bot:
        callback = ProgramCallback(bot.get_step)
        calls = [callback.call(board, True, turn_of("chain_reaction", 2 * n + 1)) for n in range(10)]
    for n, call in enumerate(calls):
        drawing = ["mark", [0, 0], str(n), "red"]
        output = "looking\n getstep: tag x\n"
        assert call.notes == {"say": f"move {n}", "draw": [drawing], "output": output}
    assert [len(call.dropped) for call in calls] == [1] + [0] * 9
    assert capfd.readouterr().err == "looking\n getstep: tag x\n" * 10


def test_a_standard_output_without_moves_is_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = "print('looking')\nimport sys\nprint('getstep: say no', file=sys.stderr)\n" + PROGRAMS["linkage"]
    with bot_of(tmp_path, "linkage", source) as bot:
        callback = ProgramCallback(bot.get_step)
        calls = [callback.call(GAMES["linkage"].start().board(), True, turn_of("linkage", n)) for n in (1, 3)]
    assert [call.notes for call in calls] == [{"say": "no", "output": "looking\n"}] * 2
    assert capfd.readouterr() == ("", "")


def test_a_program_that_ends(tmp_path: Path) -> None:
    with bot_of(tmp_path, "csefest-console", "raise SystemExit(7)\n") as bot:
        for _ in range(2):  # it is started again for the next turn
            with pytest.raises(RuntimeError, match="has ended with exit code 7 and has written no move"):
                first_question(bot, "chain_reaction")


@pytest.mark.parametrize(("code", "added"), [(0, ""), (3, "; the program was stopped")])
def test_how_a_program_ended_is_added_to_its_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, added: str
) -> None:
    """The exit code decides whether it is: the words are those of each kind of process."""
    monkeypatch.setattr(_LocalProcess, "describe_end", lambda _: "was stopped")
    source = f"print('hello', flush=True)\nraise SystemExit({code})\n"
    with bot_of(tmp_path, "csefest-console", source) as bot:
        assert bot.prepare(1, 0) is not None
        assert bot._process is not None
        bot._process._reader.join(PATIENCE_SECONDS)  # its output has ended when it is asked
        with pytest.raises(ConventionError, match=f"such as 3 4{added}$"):
            first_question(bot, "chain_reaction")


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (RuntimeError("late: ended"), "late: ended"),
        (_LateError("no move in time"), "no move in time"),
        (ConventionError("wrote 7"), "wrote 7"),
        (ValueError("of our own code"), "ValueError: of our own code"),
    ],
)
def test_the_author_of_a_program_reads_the_reason_alone(raised: Exception, error: str) -> None:
    def get_step(_board: object, _is_black: object, _turn: object) -> object:
        raise raised

    call = ProgramCallback(get_step).call([], True, turn_of("hop"))
    assert call.error == error
    assert (call.problem == error) == (type(raised) is not ValueError)


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    source = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    with bot_of(tmp_path, "prodrive", source) as bot:
        with pytest.raises(RuntimeError, match="no move in time"):
            first_question(bot, "longest_path", seconds=1.0)
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("printed", ["hello", "1 2 3", "1,2", "x" * 10_000])
def test_a_program_that_writes_no_move(tmp_path: Path, printed: str) -> None:
    source = f"print({printed!r}, flush=True)\ninput()\ninput()\n"
    with bot_of(tmp_path, "csefest-console", source) as bot, pytest.raises(ConventionError, match="expected"):
        first_question(bot, "chain_reaction")


def test_a_program_that_made_a_fault_says_nothing_about_the_end_of_its_input(tmp_path: Path) -> None:
    source = "print('hello', flush=True)\ntry:\n    while True: input()\nfinally: open('after', 'w')\n"
    with bot_of(tmp_path, "csefest-console", source) as bot, pytest.raises(ConventionError, match="expected"):
        first_question(bot, "chain_reaction")
    assert not (tmp_path / "after").exists()


def test_a_program_that_writes_on_and_on_does_not_fill_the_memory(tmp_path: Path) -> None:
    source = "import sys\nprint(5, 5)\nwhile True: print('x' * 100_000, flush=True)\n"
    with bot_of(tmp_path, "prodrive", source) as bot:
        assert first_question(bot, "longest_path") == (5, 5)
        process = bot._process
        assert process is not None
        assert len(process._output) < 70_000


def test_some_programs_cannot_begin_in_mid_game(tmp_path: Path) -> None:
    board = GAMES["longest_path"].start().board()
    with bot_of(tmp_path, "prodrive") as bot:
        first_question(bot, "longest_path")
        for _ in range(2):  # in the second turn the program of an earlier match must not answer either
            with pytest.raises(RuntimeError, match="cannot begin in mid-game"):
                bot.get_step(board, True, turn_of("longest_path", 5, match=2))


def test_another_game_than_its_own(tmp_path: Path) -> None:
    with bot_of(tmp_path, "prodrive") as bot:
        with pytest.raises(RuntimeError, match=r"a prodrive program plays longest_path, and this match is hop"):
            first_question(bot, "hop")


UGI_START = """\
import sys
def say(*lines): print(*lines, sep="\\n", flush=True)
def until(word):
    for line in sys.stdin:
        if line.split()[0] == word: return
until("ugi")
"""
UGI_READY = f"{UGI_START}say('ugiok'); until('isready'); say('readyok'); until('go')\n"


@pytest.mark.parametrize(
    ("source", "why", "seconds"),
    [
        ("import sys\nsys.stdin.read()\n", "has written no ugiok in time; it was ended", 0.2),
        (f"{UGI_START}say('bestmove 1,1')\nsys.stdin.read()\n", "has written no ugiok in time", 0.2),
        (f"{UGI_START}say('ugiok')\nsys.stdin.read()\n", "has written no readyok in time", 1.0),
        (f"{UGI_READY}sys.stdin.read()\n", "has written no bestmove in time", 1.0),
        (f"{UGI_READY}raise SystemExit(3)\n", "has ended with exit code 3 and has written no bestmove", 0),
        (f"{UGI_READY}say('bestmove d4')\n", "wrote 'bestmove d4'; expected a legal move, such as bestmove 0,0", 0),
        (f"{UGI_READY}say('bestmove 1' + chr(0) + '1')\n", r"wrote 'bestmove 1\x001'; expected a legal move", 0),
        (f"{UGI_READY}say(chr(0) * 99_999)\nsys.stdin.read()\n", "bytes without the end of a line", 0),
        (f"{UGI_READY}while True: say('info depth 1 score cp 3 pv 1,1')\n", "bytes without a move", 0),
        (f"{UGI_READY}while True: say('x' * 5000)\n", "bytes without a move", 0),
    ],
)
def test_a_program_of_ugi_that_fails(tmp_path: Path, source: str, why: str, seconds: float) -> None:
    with bot_of(tmp_path, "ugi", source) as bot:
        with pytest.raises((RuntimeError, ConventionError)) as failed:
            first_question(bot, "longest_path", seconds=seconds)
        assert why in str(failed.value)
        assert not bot.running


def test_a_program_of_ugi_notes_what_it_thinks_and_is_told_the_end(tmp_path: Path) -> None:
    board = GAMES["longest_path"].start().board()
    with bot_of(tmp_path, "ugi") as bot:
        call = ProgramCallback(bot.get_step).call(board, True, turn_of("longest_path"))
        assert call.move == [0, 0]
        assert call.notes == {"say": "pv 0,0", "estimate": pytest.approx(0.0368)}
    assert (tmp_path / "ended.txt").read_text() == "quit "


def test_a_program_of_ugi_that_was_ended_goes_on_with_the_board(tmp_path: Path) -> None:
    game = GAMES["longest_path"]
    with bot_of(tmp_path, "ugi") as bot:
        assert first_question(bot, "longest_path") == (0, 0)
        bot.close()
        state = game.start()
        for move in ((0, 0), (0, 1), (0, 2), (0, 3)):
            state.play(move)
        assert bot.get_step(state.board(), True, turn_of("longest_path", 5, last=(0, 3))) == (0, 4)


def test_functions_in_place_of_a_class(tmp_path: Path) -> None:
    source = "def init(N, row, col): return [N - 1, 0]\ndef move(row, col): return (row, col + 1)\n"
    with bot_of(tmp_path, "topcoder", source) as bot:
        board = GAMES["pseudo_tonga"].start().board()
        assert first_question(bot, "pseudo_tonga") == (7, 0)
        assert bot.get_step(board, True, turn_of("pseudo_tonga", 3, last=(2, 3))) == (2, 4)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("a.py", [sys.executable, "a.py"]),
        ("a.jar", ["java", "-jar", "a.jar"]),
        ("A.class", ["java", "-cp", ".", "A"]),
        ("a.js", ["node", "a.js"]),
        ("a.exe", ["mono", "a.exe"]),
        ("a.dll", ["dotnet", "a.dll"]),
        ("a", ["a"]),
    ],
)
def test_a_program_is_started_by_its_kind(file: str, command: list[str]) -> None:
    assert start_command("csefest-console", Path(file)) == command


def complaint(convention: str, path: Path) -> str:
    """Return why a program is refused before it plays."""
    with pytest.raises(BotError) as refused:
        ProgramBot(convention, path)
    return str(refused.value)


def test_what_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "There is no file" in complaint("prodrive", tmp_path / "program.py")
    text = tmp_path / "program.txt"
    text.write_text("no program")
    assert complaint("prodrive", text).endswith("If it is a program, type:\n  chmod +x program.txt")
    text.chmod(0o755)
    with pytest.raises(RuntimeError, match="cannot be started"):
        first_question(ProgramBot("prodrive", text), "longest_path")
    (tmp_path / "Bot.class").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert complaint("prodrive", tmp_path / "Bot.class").startswith("Bot.class needs java, which is not installed")


@pytest.mark.parametrize("suffix", SOURCES)
def test_source_code_is_compiled_first(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"my bot{suffix}"
    path.touch()
    first, build, play = complaint("linkage", path).split("\n")
    assert first == f"my bot{suffix} is source code; compile it first. Type:"
    assert f'"my bot{suffix}"' in build
    assert '"my bot"' in play
    assert play.endswith("--as linkage")


def test_a_class_in_a_package_is_started_where_its_packages_are(tmp_path: Path) -> None:
    need("javac", "java")
    (tmp_path / "Main.java").write_text(
        "package a.b; class one { public static void main(String[] a) throws Exception {"
        ' new java.io.File("started").createNewFile(); System.out.println("3 4");'
        " while (System.in.read() >= 0); } }\nclass two { }\n"
    )
    subprocess.run(["javac", "-d", ".", "Main.java"], cwd=tmp_path, check=True)
    file = tmp_path / "a" / "b" / "one.class"
    bot = ProgramBot("prodrive", file)
    try:
        assert first_question(bot, "longest_path") == (4, 3)
    finally:
        bot.close()
    assert (tmp_path / "started").exists()
    assert (
        complaint("prodrive", file.with_name("two.class"))
        == "two.class has no main method; did you mean one.class?"
    )
    assert complaint("prodrive", file.with_name("Main.class")).endswith(f"Did you mean {file}?")


def test_what_is_no_class_is_refused(tmp_path: Path) -> None:
    """Each beginning of a class, and each byte changed; what can still be read is a class with another name."""
    need("javac")
    (tmp_path / "A.java").write_text("class A implements Runnable { int x = 3; public void run() { } }")
    subprocess.run(["javac", "A.java"], cwd=tmp_path, check=True)
    data = (tmp_path / "A.class").read_bytes()
    assert read_class(data) == JavaClass("A", has_main=False, source="A.java")
    for end in range(len(data)):
        with pytest.raises(ValueError, match="no Java class"):
            read_class(data[:end])
    for at in range(len(data)):
        with contextlib.suppress(ValueError):
            read_class(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])


def test_a_class_of_topcoder_needs_its_wrapper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("PseudoTonga.cpp", "PseudoTonga.java", "PseudoTonga.cs"):
        path, source = tmp_path / name, SOURCES[Path(name).suffix]
        path.touch()
        _, wrap, build, play = complaint("topcoder", path).split("\n")
        assert wrap.startswith(f"  getstep wrapper {name}")
        assert main(["wrapper", str(path)]) == 0
        assert (tmp_path / source.wrapper).read_bytes() == (WRAPPERS_FOLDER / source.wrapper).read_bytes()
        assert capsys.readouterr().out.split("\n")[1:3] == [build, play]
        assert source.wrapper in build
    (tmp_path / "PseudoTonga.class").touch()
    assert complaint("topcoder", tmp_path / "PseudoTonga.class").endswith(
        "  javac PseudoTonga.java TopCoderWrapper.java\n  getstep play TopCoderWrapper.class --as topcoder"
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.py", "a.py needs no wrapper"),
        ("a.c", "expected a class in C++, Java or C#"),
        ("b.cs", "There is no file"),
        ("a.cpp", "topcoder_wrapper.cpp already exists and is another file"),
    ],
)
def test_a_wrapper_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    for file in ("a.py", "a.c", "a.cpp"):
        (tmp_path / file).touch()
    (tmp_path / "topcoder_wrapper.cpp").write_text("of the contestant")
    assert main(["wrapper", str(tmp_path / name)]) == 2
    assert why in capsys.readouterr().err
    assert (tmp_path / "topcoder_wrapper.cpp").read_text() == "of the contestant"


# --- the id line of linkage ---------------------------------------------------------------------------------------


def test_a_program_tells_its_id_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS["linkage"], encoding="utf-8")
    identity = identity_of(tmp_path / "program.py")
    assert (identity.name, identity.author, identity.date, identity.version) == (
        "First",
        "An author",
        "2024-01-01",
        "1",
    )
    assert not (tmp_path / "order.txt").exists()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("while True: print('x' * 1000)", "more than 200 characters"),
        ("pass", "the id line is missing"),
        ("import time; time.sleep(600)", "no id line within 0.2 s"),
    ],
)
def test_a_program_without_an_id_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, error: str
) -> None:
    monkeypatch.setattr("getstep.programs.program.ID_SECONDS", 0.2 if "sleep" in source else PATIENCE_SECONDS)
    (tmp_path / "program.py").write_text(source)
    with pytest.raises((ConventionError, RuntimeError), match=error):
        identity_of(tmp_path / "program.py")


def test_programs_that_run_are_killed_at_the_end(tmp_path: Path) -> None:
    with bot_of(tmp_path, "csefest-file") as bot:
        first_question(bot, "chain_reaction")
        process = bot._process
        assert process is not None
        kill_running()
        assert process.running.wait(PATIENCE_SECONDS) != 0


class Suspended:
    """A program of the conventions' tests that notes when it may use the processor."""

    def __init__(self, convention: str, file: Path) -> None:
        self._local = LocalProgram(convention, file)
        self.folder, self.printed = self._local.folder, self._local.printed
        self.log: list[str] = []

    def start(self, talk: Talk) -> RunningProgram:
        running = self._local.start(talk)
        self.log.append("start")
        running.suspend = lambda: self.log.append("suspend")  # type: ignore[method-assign]  # to see the calls
        running.resume = lambda: self.log.append("resume")  # type: ignore[method-assign]  # to see the calls
        return running


@pytest.mark.parametrize(
    ("convention", "log"),
    [
        ("csefest-console", ["start", "resume", "suspend", "resume", "suspend", "resume"]),
        ("linkage", ["start", "resume", "start", "resume"]),
    ],
)
def test_a_program_runs_only_in_its_turns(tmp_path: Path, convention: str, log: list[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[convention], encoding="utf-8")
    program, game = Suspended(convention, path), game_of(convention)
    bot = ProgramBot(convention, program)
    bot.prepare(1, 0)
    for number in (1, 3):
        bot.get_step(game.start().board(), True, turn_of(game.name, number))
    bot.close()
    assert program.log == log


def test_a_prepared_program_gets_its_input_with_the_first_turn(tmp_path: Path) -> None:
    source = "print(len(input()), 4, flush=True)\n"
    with bot_of(tmp_path, "csefest-console", source) as bot:
        running = bot.prepare(1, 0)
        assert running is not None
        assert isinstance(running, subprocess.Popen)
        assert running.poll() is None
        assert first_question(bot, "chain_reaction") == (len("start"), 4)


@POSIX
@pytest.mark.parametrize("planted", ["link", "pipe", "folder"])
def test_what_a_program_puts_in_the_place_of_its_files_is_harmless(tmp_path: Path, planted: str) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "program"
    folder.mkdir()
    secret.write_text("RA1A2")
    plant = {
        "link": f"os.symlink({str(secret)!r}, name)",
        "pipe": "os.mkfifo(name)",
        "folder": "os.mkdir(name)",
    }[planted]
    source = f"import os\nfor name in ('order.txt', 'input.txt.new'):\n    {plant}\n"
    with bot_of(folder, "linkage", source) as bot:
        for _ in range(2):  # the second turn writes where the first one has planted something
            with pytest.raises((ConventionError, RuntimeError)):
                first_question(bot, "linkage")
    assert secret.read_text() == "RA1A2"


def test_practice_with_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAMS["csefest-console"], encoding="utf-8")
    assert main(["practice", "program.py", "--as", "csefest-console", "--against", "random", "--games", "2"]) == 0
    out = capsys.readouterr().out
    assert "chain_reaction" in out
    assert "Game 2 of 2" in out


def test_the_author_of_a_program_reads_no_traceback_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("print('hello')")
    call = load(tmp_path / "program.py", "prodrive").call([[0] * 11] * 11, True, turn_of("longest_path"))
    assert call.error == call.problem
    assert call.problem == "wrote 'hello'; expected x and y (column and row) on a line, such as 3 4"
    assert main(["practice", "program.py", "--as", "prodrive", "--against", "random", "--games", "1"]) == 1
    out = capsys.readouterr().out
    assert out.count("wrote 'hello'") == 1
    assert "ConventionError" not in out


def test_programs_against_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same game by two conventions."""
    monkeypatch.chdir(tmp_path)
    for name in ("csefest-console", "csefest-file"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "program.py").write_text(PROGRAMS[name], encoding="utf-8")
    words = ["practice", "csefest-console/program.py", "--as", "csefest-console", "--games", "2"]
    words += ["--against", "csefest-file/program.py", "--against-as", "csefest-file"]
    assert main(words) == 0
    assert "faults" not in capsys.readouterr().err


def test_programs_that_would_read_each_others_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS["csefest-file"], encoding="utf-8")
    words = ["practice", str(program), "--against", str(program)]
    assert main([*words, "--as", "csefest-file", "--against-as", "csefest-file"]) == 2
    assert "put each into a folder of its own" in capsys.readouterr().err


@pytest.mark.parametrize("against", [["house_pseudo_tonga"], ["{file}", "--against-as", "prodrive"]])
def test_an_opponent_of_another_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], against: list[str]
) -> None:
    file = tmp_path / "bot.py"
    file.write_text("def get_step(board, is_black): ...")
    words = [word.format(file=file) for word in against]
    assert main(["practice", str(file), "--game", "hop", "--against", *words]) == 2
    assert "only, and this game is hop" in capsys.readouterr().err


def test_the_convention_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["play", "program.py", "--as", "tcp"])
    assert ended.value.code == 2
    assert "invalid choice: 'tcp'" in capsys.readouterr().err


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="looks for the process by its number")
