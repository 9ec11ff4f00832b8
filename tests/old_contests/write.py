"""Write the old contests of this version: each in a folder of its own, played by real servers and bots.

    .venv/bin/python -m tests.old_contests.write 0.1.0 [NAME...]

It takes two minutes, and needs the sandbox (bubblewrap) and PostgreSQL's server. Run it when a version is
released, never for a version that was released before: what it wrote is what hosts have on their disks.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from getstep_server.config.contest import load_contest
from getstep_server.storage.store import Store
from tests.support.contests import token_of
from tests.support.golden import UPDATE, assert_golden
from tests.support.interrupted_contest import wait_until
from tests.support.languages import example
from tests.support.postgres import PostgresServer
from tests.support.processes import CLASSIC_CLIENT, Program, Server, Started

from .contests import HERE, course, facts, in_utc, pack, transcript

Writer = Callable[[Path], None]
WRITERS: dict[str, Writer] = {}
RESUMED = ("killed", "killed_judges", "stopped")
"""Not over: they are played to their end, too, to know how they go on."""

TONGA = 'game = "pseudo_tonga"\noptions.size = 6\n'
"""A short game: it makes small folders."""

BOT = """\
import os, time
from pathlib import Path
from tests.old_contests.moves import move

def get_step(board, is_black, turn):
    held = os.environ.get("HELD", "").split()
    if str(turn.match) in held and turn.move_number >= 5:
        Path(f"held-{turn.match}").touch()
        while not Path("go-on").exists():
            time.sleep(0.01)
    return move(turn.game, turn.match, board, is_black)
"""
"""It waits in the middle of some matches, so that a server can be stopped there."""

CARELESS = """\
import time
from tests.old_contests.moves import move

def get_step(board, is_black, turn):
    if turn.move_number in (3, 4):
        return [[99, 99]]
    if turn.move_number in (5, 6):
        raise ValueError("a mistake\\nof two lines")
    if turn.move_number in (7, 8) and turn.time_left_ms < 1000:
        time.sleep(1.5)
    if turn.move_number in (9, 10):
        return None
    return move(turn.game, turn.match, board, is_black)
"""
"""It makes every mistake, unless the first one ends the match."""


def writes(writer: Writer) -> Writer:
    """Enter a writer under its name."""
    WRITERS[writer.__name__] = writer
    return writer


# --- a contest and who plays it ----------------------------------------------------------------------------------


class Contest:
    """A contest with its bots, which end with it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._bots = folder.parent / "bots"
        self._bots.mkdir(exist_ok=True)

    def serve(self, *arguments: str) -> Server:
        return self._kept(Server(self.folder, *arguments))

    def play(self, server: Server, *teams: int, bot: str = BOT, held: Sequence[int] = ()) -> list[Program]:
        """Start the bots of these teams; they wait in the middle of the matches ``held`` until `go_on`."""
        name = "bot.py" if bot is BOT else "careless.py"
        (self._bots / name).write_text(bot)
        os.environ.update(HELD=" ".join(map(str, held)), PYTHONPATH=str(HERE.parents[1]))
        where = ["--host", "127.0.0.1", "--port", str(server.port)]
        return [
            self._kept(
                Program(
                    [
                        sys.executable,
                        "-m",
                        "getstep",
                        "play",
                        name,
                        "--team",
                        str(team),
                        "--token",
                        token_of(team),
                        *where,
                    ],
                    cwd=self._bots,
                )
            )
            for team in teams
        ]

    def wait_held(self, *matches: int) -> None:
        wait_until(lambda: all((self._bots / f"held-{match}").exists() for match in matches))

    def go_on(self) -> None:
        (self._bots / "go-on").touch()

    def _kept(self, program: Started) -> Started:
        self._stack.callback(program.end)
        return program


@contextmanager
def contest(
    folder: Path, teams: int, *events: str, settings: str = "", seed: int = 7, lines: str = ""
) -> Iterator[Contest]:
    """Make a contest; ``settings`` are further tables of contest.toml, ``lines`` stand with each team."""
    folder.mkdir()
    (folder / "contest.toml").write_text(
        f'[contest]\nname = "Old contest: {folder.name}"\nseed = {seed}\n'
        + "".join(f"\n[[event]]\n{event}" for event in events)
        + ("" if "[server]" in settings else '\n[server]\nhost = "127.0.0.1"\nport = 0\n')
        + f"\n{settings}"
    )
    names = ("Ada", "Blaise", "Charles", "Dijkstra, E. W.", "Émilie", "Ünal & Söhne <b>")
    (folder / "teams.toml").write_text(
        "".join(
            f'[[team]]\nid = {number}\nname = "{names[number - 1]}"\ntoken = "{token_of(number)}"\n{lines}\n'
            for number in range(1, teams + 1)
        )
    )
    with ExitStack() as stack:
        yield Contest(folder, stack)


def ends(server: Server) -> None:
    if server.wait() != 0:
        raise SystemExit(f"the server failed:\n{server.output}")


def command(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "getstep_server", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def decide(folder: Path, *arguments: str) -> None:
    """Make a decision of the host: the folder is the first argument after the two words of the command."""
    command(*arguments[:2], str(folder), *arguments[2:], "--why", "it was agreed so", "--by", "Grace")


# --- the contests ------------------------------------------------------------------------------------------------


@writes
def games(folder: Path) -> None:
    kinds = ("longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage")
    clock = ("move_seconds = 0.5", "budget_seconds = 30\nincrement_seconds = 0.1")
    events = [f'game = "{game}"\nsettings.legs = 1\n{clock[place % 2]}\n' for place, game in enumerate(kinds)]
    with contest(folder, 3, *events, settings="[time]\nlag_ms = 50\n") as made:
        server = made.serve()
        made.play(server, 1, 2)
        made.play(server, 3, bot=CARELESS)
        with socket.create_connection(("127.0.0.1", server.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        ends(server)


@writes
def formats(folder: Path) -> None:
    played = {
        "all": 'format = "round_robin"\nscoring = { win = 3, draw = 1, loss = 0 }\nsettings.legs = 1\n',
        "some": 'format = "gauntlet"\nsettings.challengers = [2]\ntie_breaks = ["difference"]\n',
        "rounds": 'format = "swiss"\nsettings.rounds = 3\nsettings.legs = 1\n',
        "cup": 'format = "knockout"\nsettings.best_of = 1\n',
    }
    events = [f'name = "{name}"\n{TONGA}{text}' for name, text in played.items()]
    with contest(folder, 5, *events) as made:
        server = made.serve()
        made.play(server, 1, 2, 3, 4, 5)
        ends(server)


@writes
def ladder(folder: Path) -> None:
    with contest(folder, 3, f'{TONGA}format = "ladder"\nsettings.games = 2\nsettings.rounds = 1\n') as made:
        for rounds in (1, 2):
            edit(folder / "contest.toml", r"rounds = \d", f"rounds = {rounds}")
            server = made.serve("--now")
            made.play(server, 1, 2, 3)
            ends(server)


@writes
def arena(folder: Path) -> None:
    options = 'matches = 8, pause_seconds = 0, house_bots = ["random"]'
    with contest(folder, 3, f'{TONGA}format = "arena"\nsettings = {{ {options} }}\n') as made:
        server = made.serve()
        made.play(server, 1, 2, 3)
        ends(server)


@writes
def duel(folder: Path) -> None:
    """The format match with its test, and two options of it."""
    bots = folder.parent / "bots"
    bots.mkdir()
    (bots / "mine.py").write_text("from getstep_bots.greedy import get_step as get_step\n")
    test = ("--sprt", "--elo0", "-800", "--elo1", "0", "--alpha", "0.3", "--beta", "0.3", "--seed", "3")
    game = ("--game", "pseudo_tonga", "--option", "size=6", "--pairs", "4", "--plain")
    command("duel", str(bots / "mine.py"), "random_bot", *game, *test, "--keep", str(folder))


@writes
def freeze(folder: Path) -> None:
    with contest(folder, 3, f"{TONGA}settings.legs = 2\n") as made:
        server = made.serve()
        made.play(server, 1, 2, 3, held=[3, 4, 5, 6])
        server.expect(r"^\[2/6\]")
        command("freeze", str(folder), "--why", "the last round", "--by", "Grace")
        made.go_on()
        ends(server)


@writes
def revealed(folder: Path) -> None:
    freeze(folder)
    command("reveal", str(folder), "--all", "--by", "Grace")


@writes
def rulings(folder: Path) -> None:
    with contest(folder, 5, f"{TONGA}settings.legs = 1\n") as made:
        server = made.serve()
        made.play(server, 1, 2, 3, 4, 5, held=[5, 6, 7, 8, 9, 10])
        server.expect(r"^\[1/10\]")
        decide(folder, "teams", "withdraw", "Charles")
        decide(folder, "teams", "reinstate", "Charles")
        decide(folder, "teams", "withdraw", "Émilie")
        made.go_on()
        ends(server)
        decide(folder, "matches", "adjudicate", "1", "--winner", "draw", "--scores", "9", "9")
        decide(folder, "matches", "adjudicate", "1", "--winner", first_team(folder, 1), "--scores", "20", "16")
        decide(folder, "matches", "rematch", match_of(folder, 1, 2))
        server = made.serve("--now")
        made.play(server, 1, 2, 3, 4, 5)
        ends(server)
        decide(folder, "teams", "disqualify", "Blaise")
        decide(folder, "teams", "reinstate", "Blaise")
        decide(folder, "teams", "disqualify", "4")


def matches_of(folder: Path) -> list[dict[str, Any]]:
    with Store(folder / "contest.db", reading=True) as store:
        pairings = [fields["matches"] for fields in store.record_headers() if fields["type"] == "pairings"]
    return [match for matches in pairings for match in matches if match["number"]]


def first_team(folder: Path, number: int) -> str:
    """Return the first team of a match."""
    return next(str(match["first"]) for match in matches_of(folder) if match["number"] == number)


def match_of(folder: Path, *teams: int) -> str:
    """Return the number of the match of two teams."""
    return next(str(m["number"]) for m in matches_of(folder) if {m["first"], m["second"]} == {*teams})


@writes
def programs(folder: Path) -> None:
    events = (
        'game = "chain_reaction"\nsettings.legs = 1\nteams = [1, 2, 3]\n',
        'game = "linkage"\nsettings.legs = 1\nteams = [4, 5]\n',
    )
    settings = "[programs]\nsubmissions = true\nstartup_seconds = 60\n"
    with contest(folder, 5, *(f"{event}move_seconds = 20\n" for event in events), settings=settings) as made:
        (folder.parent / "mine.py").write_text("from getstep_bots.random_bot import get_step as get_step\n")
        command(
            "programs", "add", str(folder), "1", str(example("csefest-console", ".py")), "--as", "csefest-console"
        )
        command("programs", "add", str(folder), "2", str(folder.parent / "mine.py"))
        command("programs", "add", str(folder), "2", str(folder.parent / "mine.py"), "--by", "Grace")
        command("programs", "add", str(folder), "4", str(example("linkage", ".py")))
        server = made.serve()
        made.play(server, 3, 5)
        ends(server)


@writes
def judges(folder: Path) -> None:
    settings = '[server]\nhost = "127.0.0.1"\nport = 0\njudges = 2\n'
    with contest(folder, 4, 'game = "hop"\nsettings.legs = 1\n', settings=settings) as made:
        server = made.serve()
        made.play(server, 1, 2, 3, 4)
        ends(server)


@writes
def postgres(folder: Path) -> None:
    with PostgresServer() as database, contest(folder, 3, f"{TONGA}settings.legs = 1\n") as made:
        edit(folder / "contest.toml", "port = 0\n", f'port = 0\ndatabase = "{database.address()}"\n')
        server = made.serve()
        made.play(server, 1, 2, 3)
        ends(server)
        command("copy", str(folder), "--to", str(folder / "contest.db"))
        edit(folder / "contest.toml", "database = .*\n", "")


@writes
def classic(folder: Path) -> None:
    settings = '[server]\nhost = "127.0.0.1"\nport = 0\nclassic_port = 0\n'
    with contest(
        folder, 3, 'game = "hop"\nsettings.legs = 1\n', settings=settings, lines="classic = true\n"
    ) as made:
        server = made.serve()
        for team in (1, 2):
            habits = ["--answer-nothing-every", "9"] if team == 2 else ["--drop-every", "11"]
            made._kept(
                Program(
                    [sys.executable, str(CLASSIC_CLIENT), "127.0.0.1", str(server.classic_port), str(team), *habits]
                )
            )
        made.play(server, 3)
        ends(server)


@writes
def no_show(folder: Path) -> None:
    """A team comes late and plays what it has forfeited; another one never comes."""
    with contest(folder, 4, f"{TONGA}settings.legs = 1\n", settings="[start]\nabsent_seconds = 2\n") as made:
        server = made.serve("--now")
        made.play(server, 1, 2, held=[1, 2, 3, 4, 5, 6])
        server.expect(r"^\[1/6\].*did not come|^\[1/6\]")
        made.play(server, 3)
        server.expect("Charles connected")
        made.go_on()
        ends(server)


@writes
def killed(folder: Path) -> None:
    """A Swiss tournament and a match of hop, killed in the middle of the first round."""
    swiss = f'{TONGA}format = "swiss"\nsettings.rounds = 3\nsettings.legs = 1\n'
    with contest(folder, 4, swiss, 'game = "hop"\nsettings.legs = 1\nteams = [1, 2]\n') as made:
        stop_in_the_middle(made, 4, signal.SIGKILL, held=[1, 2])


@writes
def killed_judges(folder: Path) -> None:
    settings = '[server]\nhost = "127.0.0.1"\nport = 0\njudges = 2\n'
    with contest(folder, 4, 'game = "hop"\nsettings.legs = 1\n', settings=settings) as made:
        stop_in_the_middle(made, 4, signal.SIGKILL, held=[1, 2])


@writes
def stopped(folder: Path) -> None:
    """A knockout, stopped with Ctrl-C when one of its semifinals is over, and a ladder in its first round."""
    knockout = f'name = "cup"\n{TONGA}format = "knockout"\nsettings.best_of = 1\n'
    ladder = f'name = "ladder"\n{TONGA}format = "ladder"\nsettings.games = 2\nsettings.rounds = 2\n'
    with contest(folder, 4, knockout, ladder) as made:
        stop_in_the_middle(made, 4, signal.SIGINT, held=[2])


def stop_in_the_middle(made: Contest, teams: int, how: signal.Signals, held: Sequence[int]) -> None:
    server = made.serve()
    bots = made.play(server, *range(1, teams + 1), held=held)
    made.wait_held(*held)
    if how is signal.SIGINT:
        server.expect(r"^\[1/")
    server.signal(how)
    server.wait()
    for bot in bots:
        bot.end()


def edit(path: Path, pattern: str, text: str) -> None:
    path.write_text(re.sub(pattern, lambda _: text, path.read_text()))


# --- the program -------------------------------------------------------------------------------------------------


def play_on(folder: Path) -> Mapping[str, object]:
    """Play a copy of an unfinished contest to its end, and return how it went on."""
    copy = folder.parent / "copy" / folder.name
    shutil.copytree(folder, copy)
    with ExitStack() as stack:
        made = Contest(copy, stack)
        server = made.serve("--now")
        made.play(server, *load_contest(copy).teams)
        ends(server)
    return course(copy)


def main() -> None:
    version, *names = sys.argv[1:]
    for name in names or WRITERS:
        with tempfile.TemporaryDirectory(prefix="getstep-old-") as above, in_utc():
            folder = Path(above) / name
            WRITERS[name](folder)
            on = play_on(folder) if name in RESUMED else None
            copy = Path(above) / "shown" / name  # a look at a killed contest tidies its database up
            shutil.copytree(folder, copy)
            found = {**facts(copy), "course": course(copy), "resumed": on}
            pack(folder, found, HERE / version / f"{name}.tar.xz")
            os.environ[UPDATE] = "1"
            assert_golden(name, transcript(copy), folder=HERE / version)
            print(f"{name}: {found['records']} records, {(HERE / version / f'{name}.tar.xz').stat().st_size} bytes")


if __name__ == "__main__":
    main()
