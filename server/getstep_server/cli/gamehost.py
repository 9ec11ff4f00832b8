"""The command `gamehost`: one game of longest_path between two programs, as Prodrive's own host plays it."""

from __future__ import annotations

import argparse
import codecs
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from getstep import BotError, referee
from getstep.games import Board
from getstep.programs.program import LocalProgram, ProgramBot, ProgramCallback
from getstep.programs.start import check_startable, start_command
from getstep.referee import MatchState
from getstep.turn import CallResult, Turn, as_move
from getstep_engines import GAMES, Player
from getstep_server.errors import UsageError
from getstep_server.text import escape_control_chars

from ._parser import EXIT_NO_GAME

EXIT_DRAW, EXIT_WINS = 0, (1, 2)
"""The exit codes of the original. Errors, which have 1 and 2 in other commands, have `EXIT_NO_GAME`."""

CONVENTION = "prodrive"
GAME = GAMES["longest_path"]
LAG_SECONDS = 0.1
"""Added to the limit of a move, as a contest's ``lag_ms`` is by default."""

START_SECONDS = 10.0
"""For both programs to start in the sandbox, which is not thinking time. A Java virtual machine takes 0.5 s."""

_GAMEHOST = f"""\
Play one game of {GAME.name} between two programs of the Prodrive Dev
Challenge, as its own gamehost does: PROGRAM1 moves first. ARGS is one string
with the program's arguments, "" if it has none.

A program that is given as a file starts in its own folder, and a program that
is found on the path, such as java, in the current one. A move has the limit of
the contest, {GAME.time_control.seconds:g} s. A late or illegal move loses.

With -s the programs run in the sandbox, on the processor core CPU. Each gets a
copy of the folder that it starts in, only the program on turn may compute, and
its start is not thinking time. This needs Linux and bubblewrap.

The result is three lines. The first two have the groups of each player, counted
by their length from 1 up; player 1's have its bonus group:
  player 0: 1-1-0-1
  player 1: 2-0-1
  player 0 wins
The third one is "draw" in a draw, and has the reason after a fault:
  player 0 wins; fault of player 1: (3, 4) is occupied
What the programs write to standard error is shown as they write it.

examples:
  getstep-server gamehost ./mine "" ./theirs ""
  getstep-server gamehost java "-jar mine.jar" python3 "theirs.py" -s 1

exit codes, which name the winner as those of the original do:
  0    a draw
  1    PROGRAM1 wins
  2    PROGRAM2 wins
  {EXIT_NO_GAME}    no result: the command cannot be used, or the host has failed
  130  stopped with Ctrl-C
"""

_USAGE = 'getstep-server gamehost [-h] PROGRAM1 "ARGS" PROGRAM2 "ARGS" [-s CPU]'

Ask = Callable[[Board, bool, Turn], CallResult]


def add_gamehost(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.usage = _GAMEHOST, _USAGE
    parser.add_argument("-s", dest="core", metavar="CPU", help="use the sandbox, on this processor core")
    # Not four arguments of their own: ARGS such as "-u bot.py" begin with a hyphen.
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(command=_gamehost)


def _gamehost(args: argparse.Namespace) -> int:
    words, core = args.words, args.core
    # `REMAINDER` takes all words that follow the first, so the option may be among them.
    if len(words) == 6 and words[4] == "-s" and core is None:
        words, core = words[:4], words[5]
    if len(words) != 4:
        raise UsageError(f"expected two programs with one string of arguments each: {_USAGE}")
    commands = [_Command(program, arguments) for program, arguments in (words[:2], words[2:])]
    players = _bare(commands) if core is None else _sandboxed(commands, _core(core))
    with players as asked:
        played = play(asked)
    for line in played.lines:
        print(escape_control_chars(line))
    return EXIT_DRAW if played.winner is None else EXIT_WINS[played.winner]


class _Command:
    """A program of the command line: the words that start it, and the folder that it starts in.

    Raises:
        UsageError: there is no such program, or its arguments cannot be split into words.
    """

    def __init__(self, program: str, arguments: str) -> None:
        try:
            # on Windows a backslash separates folders
            self.arguments = shlex.split(arguments, posix=os.name == "posix")
        except ValueError as error:
            raise UsageError(f"{arguments!r}: {error}; expected the arguments of {program}") from None
        path = Path(program)
        found = None if path.is_file() else shutil.which(program)
        if not path.is_file() and found is None:
            raise UsageError(f"{program!r}, expected a program's file, or a program on the path")
        self.file = path.resolve() if found is None else Path(found)
        self._name = None if found is None else program  # a name on the path
        self.folder = self.file.parent if found is None else Path.cwd()
        try:
            check_startable(CONVENTION, self.file)
        except BotError as error:
            raise UsageError(str(error)) from None

    def in_sandbox(self) -> tuple[str, ...]:
        """Return the words that start the program in a copy of its folder."""
        if self._name is None:
            words = start_command(CONVENTION, Path(self.file.name))
            first = f"./{words[0]}" if words[0] == self.file.name else words[0]
            return (first, *words[1:], *self.arguments)
        # The sandbox has the programs of the system. Its Python is the server's.
        is_python = re.fullmatch(r"python[\d.]*", self._name) is not None
        return ("python" if is_python else self._name, *self.arguments)


@contextmanager
def _bare(commands: Sequence[_Command]) -> Iterator[list[Ask]]:
    """Run the programs as other programs of this user."""
    with ExitStack() as stack:
        asked: list[Ask] = []
        for command in commands:
            bot = ProgramBot(
                CONVENTION, LocalProgram(CONVENTION, command.file, command.arguments, folder=command.folder)
            )
            stack.callback(bot.close)
            asked.append(ProgramCallback(bot.get_step).call)
        yield asked


@contextmanager
def _sandboxed(commands: Sequence[_Command], core: int) -> Iterator[list[Ask]]:
    """Run the programs in the sandbox, each of them while it is asked only.

    Raises:
        UsageError: the sandbox does not work on this machine, or a folder is too large.
    """
    from getstep_server.programs import playing  # here: only Linux has what it needs
    from getstep_server.sandbox import PLAYING, SandboxError

    try:
        with ExitStack() as stack:
            asked: list[Ask] = []
            for number, command in enumerate(commands):
                _check_size(command.folder, PLAYING.files, PLAYING.file_bytes)
                job = playing.ProgramJob(CONVENTION, command.in_sandbox(), command.folder, core=core)
                player = stack.enter_context(playing.ProgramSession(job, 1, 1 if number else 0, _Shown().write))
                player.prepare(START_SECONDS)
                asked.append(player.call)
            yield asked
    except SandboxError as error:
        raise UsageError(f"-s: {error}") from None


class _Shown:
    """Shows the standard error of a program that is not trusted: a terminal obeys nothing in it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two parts

    def write(self, data: bytes) -> None:
        """Write to this process's standard error, line by line."""
        lines = self._decoder.decode(data).split("\n")
        sys.stderr.write("\n".join(escape_control_chars(line.removesuffix("\r")) for line in lines))
        sys.stderr.flush()  # the lines of the program must appear while it plays


def _core(text: str) -> int:
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if not cores:
        raise UsageError("-s: the sandbox needs Linux")
    if not text.isdecimal() or int(text) not in cores:
        raise UsageError(f"-s {text!r}, expected a processor core: {', '.join(map(str, cores))}")
    return int(text)


def _check_size(folder: Path, most_files: int, most_bytes: int) -> None:
    """Raise UsageError if a folder has too much to be copied into the sandbox."""
    files = size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            files, size = files + 1, size + os.lstat(os.path.join(path, name)).st_size  # noqa: PTH118 - faster
            if files > most_files or size > most_bytes:
                raise UsageError(f"{folder}: too much for the sandbox; put the program into a folder of its own")


class GameOver(NamedTuple):
    """A game that is over: the lines of its result, and the winner; None in a draw."""

    lines: list[str]
    winner: Player | None


def play(players: Sequence[Ask]) -> GameOver:
    match, reason = MatchState(GAME, {}, GAME.time_control, LAG_SECONDS), ""
    while match.outcome is None:
        reason = _play_turn(match, players)
    scores = match.outcome.scores or ((), ())
    lines = [f"player {number}: {'-'.join(map(str, score)) or '0'}" for number, score in enumerate(scores)]
    winner = match.outcome.winner
    result = "draw" if winner is None else f"player {winner} wins"
    return GameOver([*lines, f"{result}; {reason}" if reason else result], winner)


def _play_turn(match: MatchState, players: Sequence[Ask]) -> str:
    """Play one turn and return why it was a fault; an empty string if it was none."""
    player: Player = match.state.to_move
    seconds = match.clocks.limit(player)
    turn = _turn(match, player, seconds)
    began = time.monotonic()
    call = players[player](match.state.board(), player == 0, turn)
    ms = (time.monotonic() - began) * 1000
    # Before the answer is looked at: a late one is a missed limit, whatever it says.
    if ms > 1000 * (seconds + LAG_SECONDS):
        decided = referee.missed(match, seconds, {"ms": ms})
    elif call.error is not None:
        decided = referee.raised(match, call.error, {"ms": ms})
    else:
        decided = referee.moved(match, call.move, {"ms": ms})
    return "" if "move" in decided else f"fault of player {player}: {decided['detail']}"


def _turn(match: MatchState, player: Player, seconds: float) -> Turn:
    last, ms = as_move(match.last_moves[1 - player]), round(seconds * 1000)
    return Turn(GAME.name, 1, match.move_number, f"player {1 - player}", last, ms, {})
