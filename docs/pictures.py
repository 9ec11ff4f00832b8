"""Draws the pictures of the documents: ``python docs/pictures.py``, in the environment that ``make test`` sets up.

It plays a real contest, a demo and some practice on terminals of their own, and opens the pages in Chromium. So the
pictures are what people see. Times and results differ from one drawing to the next. Linux or macOS; 2 minutes.
``python docs/pictures.py demo practice`` draws some of them. ``sizes`` is a drawing: what runs where.
``python docs/pictures.py games`` draws an analysed replay of each game into the current folder, as a check by eye.
``python docs/pictures.py compare REV`` draws pages of an older revision beside those of this tree into the current
folder, for reviewers of a change; ``compare REV match-laptop play-phone`` draws only these views.
"""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from getstep_engines import GAMES

PICTURES = Path(__file__).with_name("pictures")
ROOT = PICTURES.parents[1]
WIDTH, HEIGHT = 84, 25
TEAMS = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy")
SHOWN_AT = 0.6
"""The share of matches that are over in the picture: results, a table and matches in progress are all there."""

REDRAWN = re.compile(r"\x1b\[H|\x1b\[\?1049l")
"""The control codes that rich writes before it draws the live view again, and at its end."""

PLACED = re.compile(r"\x1b\[(?:\d+;1H\x1b\[(?:2K|J)|\?\d+[hl])")
"""The control codes by which the live view puts each row at its place."""

SECONDS_A_MOVE = 0.03
"""So that matches last some seconds, and pictures show them in progress."""

BOT = """\
import os, time
os.environ["DOUBT"] = "{doubt}"
from getstep_bots import hesitant

def get_step(board, is_black, turn):
    time.sleep({seconds})
    return hesitant.get_step(board, is_black, turn)
"""

BACKGROUND, TEXT = (22, 27, 34), (201, 209, 217)
"""Contrast 11:1."""

THEME = TerminalTheme(BACKGROUND, TEXT, [TEXT] * 8)
"""Our terminal output uses the 256 colours, whose values are fixed, and none of the 16 that a theme chooses."""

SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>{title}</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
    font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>
<g transform="translate({terminal_x}, 24)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own, without its window, and with the reader's fonts: a picture in a README may load none."""


TITLES = {
    "run": "A host's terminal during a contest",
    "demo": "A demo in a terminal, with the board of a running match",
    "practice": "Practice at home: the score, a fault on its board, and the slowest moves",
}

SIZES = """\
<svg viewBox="0 0 960 400" xmlns="http://www.w3.org/2000/svg" role="img">
<title>Three sizes: one laptop, several judges, workers of a cluster</title>
<style>
text {{ font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }}
text {{ fill: #c9d1d9; text-anchor: middle; }}
text.title {{ font-size: 17px; font-weight: 600; fill: #f0f6fc; }}
text.name {{ font-weight: 600; fill: #f0f6fc; }}
.computer {{ fill: #21262d; stroke: #6e7681; }}
.ours {{ fill: #0b3a53; stroke: #56b4e9; }}
.theirs {{ fill: #42320c; stroke: #e69f00; stroke-dasharray: 5 3; }}
.way {{ stroke: #8b949e; stroke-width: 1.5; }}
</style>
<rect width="960" height="400" rx="8" fill="#161b22"/>
{parts}
</svg>
"""
"""Colours of Okabe and Ito. The programs of teams have a dashed border, too."""

LAPTOP, PROJECTOR = (1180, 760), (1180, 664)
"""Sizes of a browser's window. The documents show pictures about 800 pixels wide, so letters stay readable."""

FAULTY = """\
import math, time
import getstep
from getstep_bots import {plays}
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    state = GAMES["hop"].from_board(board, is_black)
    def value(move):
        later = state.copy()
        later.play(move)
        return math.tanh(6 * later.estimate()) * (1 if is_black else -1)
    best = sorted(state.legal_moves(), key=value)[:-4:-1]
    for move, color in zip(best, ("green", "blue", "grey")):
        getstep.draw(list(move), label=value(move), color=color, shape="arrow")
    getstep.estimate(value(best[0]))
    getstep.say(f"{{len(best)}} plans; the best one moves to {{best[0][-1]}}.")
    getstep.tag("opening" if turn.move_number < 20 else "endgame")
    if {faulty} and turn.move_number == 26:
        getstep.say("Now I try to jump home at once.")
        print("home:", sum(row.count(1) for row in board[5:]))
        return [best[0][0], (7, 7), (6, 6)]
    if {faulty} and turn.move_number == 32:
        time.sleep(0.2)
    return {plays}.get_step(board, is_black, turn)
"""
"""A bot whose practice has something to show, and its opponent, which makes no mistakes."""


NOTING = """\
import math
import getstep
from getstep_bots import greedy
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    state = GAMES[turn.game].from_board(board, is_black)
    def value(move):
        later = state.copy()
        later.play(move)
        return math.tanh(6 * later.estimate()) * (1 if is_black else -1)
    best = sorted(state.legal_moves(), key=value)[:-4:-1]
    for move, color in zip(best, ("green", "blue", "grey")):
        if turn.game == "linkage":
            getstep.draw(move[1:], label=move[0], color=color, shape="domino")
        elif turn.game == "hop":
            getstep.draw(list(move), label=value(move), color=color, shape="arrow")
        else:
            getstep.draw(move, label=value(move), color=color)
    getstep.estimate(value(best[0]))
    getstep.say(f"{len(best)} plans; the best one is {best[0]}.")
    getstep.tag("opening" if turn.move_number < 20 else "endgame")
    return greedy.get_step(board, is_black, turn)
"""
"""A bot for all games that notes its three best moves."""

ANALYSIS_SECONDS = 8


# --- what is drawn ----------------------------------------------------------------------------------------------


def draw_contest(folder: Path) -> None:
    """Draw the host's terminal, the live page, the wall, the console and the report of one contest.

    Palettes of 64 colours, and 128 for the report, make both smaller.
    """
    contest = folder / "autumn"
    web_port = free_port()
    page = f"http://127.0.0.1:{web_port}"
    with played(contest, web_port) as terminal:
        terminal.wait(lambda frame: share_done(frame) >= SHOWN_AT)
        with browser() as shot:
            shot("overview", page, LAPTOP, ready=".card:first-child .plate.turn")
            shot("wall", f"{page}/wall", PROJECTOR, ready=".card .plate.turn", dark=True)
            link = server("host-key", str(contest), "--web-port", web_port).strip()
            shot("console", link, LAPTOP, ready=".row")
    save("run", next(frame for frame in terminal.frames() if share_done(frame) >= SHOWN_AT))
    server("report", str(contest), "--no-replays")
    with browser() as shot:
        shot("report", (contest / "report.html").as_uri(), LAPTOP, ready="table")


def draw_demo(folder: Path) -> None:
    """Draw the demo, with its board."""
    command = [sys.executable, "-m", "getstep_server", "demo", "--game", "chain_reaction"]
    terminal = Terminal(command, height=32, cwd=folder)
    terminal.end()
    save("demo", min(terminal.frames(), key=lambda frame: abs(turn_of(frame) - 80)))


def draw_practice(folder: Path) -> None:
    """Draw what practice prints, and its replay at the illegal move."""
    (folder / "my_bot.py").write_text(FAULTY.format(plays="greedy", faulty=True), encoding="utf-8")
    (folder / "last_week.py").write_text(FAULTY.format(plays="hesitant", faulty=False), encoding="utf-8")
    against = ["--against", "last_week.py", "--games", "4", "--seed", "1"]
    typed = ["practice", "my_bot.py", "--game", "hop", *against]
    terminal = Terminal([sys.executable, "-m", "getstep", *typed], height=60, cwd=folder)
    terminal.end()
    shown = terminal.text.replace(str(folder), "/home/ada")
    save("practice", f"$ getstep practice my_bot.py --games 4\n{shown}")
    found = re.search(r"^Game (\d+), move (\d+), illegal_move", shown, re.MULTILINE)
    assert found is not None
    with browser() as shot:
        page = (folder / "my_bot-practice.html").as_uri()
        shot("replay", f"{page}#game={found[1]}&move={found[2]}", LAPTOP, ready=".rp-board svg")


def draw_games(folder: Path) -> None:
    """Draw an analysed replay of each game, with what both bots noted, at its first turning point."""
    (folder / "plans.py").write_text(NOTING, encoding="utf-8")
    othello = folder / "othello"
    install = ["pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(othello)]
    subprocess.run([sys.executable, "-m", *install, str(ROOT / "examples" / "othello")], check=True)
    environment = {**os.environ, "PYTHONPATH": str(othello)}
    with browser() as shot:
        for game in (*GAMES, "othello"):
            address = analysed(game, folder, environment)
            shot(Path.cwd() / f"{game}.png", address, LAPTOP, ready=".rp-board svg")


def draw_analysis(folder: Path) -> None:
    """Draw an analysed replay with what both bots noted. A palette of 64 colours makes it smaller."""
    (folder / "plans.py").write_text(NOTING, encoding="utf-8")
    address = analysed("linkage", folder, dict(os.environ))
    with browser() as shot:
        shot("analysis", address, LAPTOP, ready=".rp-board svg")


def analysed(game: str, folder: Path, environment: dict[str, str]) -> str:
    """Play a game between two bots that note, analyse it, and return the address of its first turning point."""
    page, why = folder / f"{game}.html", folder / f"{game}-why.html"
    practice = ["plans.py", "--game", game, "--against", "plans.py", "--games", "1", "--html", str(page)]
    analyse = [str(page), "--seconds", str(ANALYSIS_SECONDS), "--html", str(why)]
    for words in (["practice", *practice], ["analyse", *analyse]):
        command = [sys.executable, "-m", "getstep", *words]
        said = subprocess.run(
            command, env=environment, cwd=folder, check=False, stdout=subprocess.PIPE, text=True
        ).stdout
    found = re.search(r"^1\. Move (\d+)", said, re.MULTILINE)
    return f"{why.as_uri()}#game=1&move={found[1] if found else 1}"


def draw_sizes(_: Path) -> None:
    """Draw what runs where in a contest of each size."""
    parts = [
        _text(160, 34, "A class: one laptop", "title"),
        _box("computer", 40, 56, 240, 116, "your laptop"),
        _box("ours", 60, 92, 200, 60, "judge, records", "live page"),
        *(_line(160, 172, x, 262) for x in (76, 160, 244)),
        *(_box("theirs", x, 262, 72, 42, "bot") for x in (40, 124, 208)),
        _text(160, 340, "5 to 40 teams: bots on the"),
        _text(160, 358, "contestants' computers"),
        _text(480, 34, "Many fast bots: several judges", "title"),
        _box("computer", 350, 56, 260, 116, "a server"),
        _box("ours", 362, 92, 72, 60, "judge"),
        _box("ours", 444, 92, 72, 60, "judge"),
        _box("ours", 526, 92, 72, 60, "records"),
        *(_line(398, 172, x, 262) for x in (368, 413, 458)),
        *(_line(480, 172, x, 262) for x in (503, 548, 593)),
        *(_box("theirs", x, 262, 36, 42, "bot") for x in (350, 395, 440, 485, 530, 575)),
        _text(480, 340, "hundreds of bots at once, or moves"),
        _text(480, 358, "that take less than a millisecond"),
        _text(800, 34, "Programs: a Dask cluster", "title"),
        _box("computer", 680, 56, 240, 116, "the host"),
        _box("ours", 700, 92, 96, 60, "director", "records"),
        _box("ours", 804, 92, 96, 60, "Dask", "scheduler"),
        *(_line(852, 172, x, 214) for x in (720, 800, 880)),
        *(_box("computer", x, 214, 72, 98, "worker") for x in (684, 764, 844)),
        *(_box("ours", x, 240, 56, 28, "judge") for x in (692, 772, 852)),
        *(_box("theirs", x, 274, 56, 28, "A – B") for x in (692, 772, 852)),
        _text(800, 340, "a match on each core of each worker,"),
        _text(800, 358, "its two programs in the sandbox"),
    ]
    path = PICTURES / "sizes.svg"
    path.write_text(SIZES.format(parts="\n".join(parts)), encoding="utf-8")
    print(path)


def _box(kind: str, x: int, y: int, width: int, height: int, *lines: str) -> str:
    """Return a box of the sizes' picture. The name of a computer is at its top, other lines are in the middle."""
    top = y + 22 if kind == "computer" else y + height / 2 + 5 - 9 * (len(lines) - 1)
    named = "name" if kind == "computer" else ""
    texts = "".join(_text(x + width / 2, top + 18 * place, line, named) for place, line in enumerate(lines))
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>{texts}'


def _text(x: float, y: float, line: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{style}>{line}</text>'


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    return f'<line class="way" x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"/>'


DRAWN: dict[str, Callable[[Path], None]] = {
    "contest": draw_contest,
    "demo": draw_demo,
    "practice": draw_practice,
    "analysis": draw_analysis,
    "sizes": draw_sizes,
}
"""The pictures of the documents."""


# --- pages of two revisions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """A page of a contest of `CONTESTS`, in a window of this size. On the page to play, ``game`` is begun first."""

    contest: str
    path: str
    size: tuple[int, int]
    dark: bool = False
    game: str = ""


LONG_NAME = "A team whose name has just as many letters as a name may have ..."[:64]
NAMES = ("Ada", LONG_NAME, "B", *(f"Team {number}" for number in range(4, 41)))
CONTESTS: dict[str, dict[str, Any]] = {
    "five": {"events": [{"game": game} for game in GAMES], "names": NAMES, "most": 800},
    "two": {"events": [{"game": "hop"}], "names": [LONG_NAME, "X" * 64], "most": 1, "moves": 40},
    "knockout": {"events": [{"game": "linkage", "format": "knockout"}], "names": NAMES, "most": 26},
    "absent": {"events": [{"game": "hop"}], "names": NAMES, "most": 400, "absent": range(32, 41)},
}
"""What `tests.support.random_results.make_up` makes."""

LARGE, SMALL, PHONE = (1920, 1080), (1366, 768), (360, 740)
VIEWS = {
    "overview-large": View("five", "/", LARGE),
    "overview-laptop": View("five", "/", SMALL),
    "event-phone": View("five", "/event/1", PHONE),
    "match-laptop": View("two", "/match/{running}", SMALL),
    "replay-laptop": View("two", "/match/1", SMALL),
    "wall-large": View("knockout", "/wall", LARGE, dark=True),
    "wall-phone": View("knockout", "/wall", PHONE, dark=True),
    "bracket-phone": View("knockout", "/event/1", PHONE),
    "absent-laptop": View("absent", "/", (1366, 2300)),
    "play-phone": View("two", "/play", PHONE, game="linkage"),
}
"""Views in which an unwise layout shows first: long names, many teams and events, small and large screens."""

SIDE_BY_SIDE = """\
<style>
body {{ display: inline-flex; gap: 24px; margin: 24px; font: 20px system-ui, sans-serif; background: #8b949e; }}
figure {{ margin: 0; }}
img {{ display: block; margin-top: 8px; }}
</style>
{figures}
"""


def compare(revision: str, *chosen: str) -> None:
    """Draw views of an older revision beside those of this tree, one PNG for each.

    This tree makes the contests. The pages of both run in this environment: a package that only the older revision
    needs has to be installed.
    """
    views = {name: VIEWS[name] for name in chosen or VIEWS}
    with tempfile.TemporaryDirectory() as made, ExitStack() as stack:
        older = Path(made, "older")
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(older), revision], check=True)
        stack.callback(subprocess.run, [*git, "remove", "--force", str(older)], check=True)
        shot = stack.enter_context(browser())
        for contest in dict.fromkeys(view.contest for view in views.values()):
            with boards(Path(made, contest), contest) as running:
                drawn = {name: view for name, view in views.items() if view.contest == contest}
                for side, tree in enumerate((older, ROOT)):
                    with served(Path(made, contest), tree) as url:
                        for name, view in drawn.items():
                            draw_view(shot, Path(made, f"{name}-{side}.png"), url, view, running)
        for name in views:
            pictures = [Path(made, f"{name}-{side}.png").read_bytes() for side in range(2)]
            figures = "".join(
                f'<figure>{what}<img src="data:image/png;base64,{base64.b64encode(png).decode()}"></figure>'
                for what, png in zip((revision, "this tree"), pictures, strict=True)
            )
            page = Path(made, f"{name}.html")
            page.write_text(SIDE_BY_SIDE.format(figures=figures), encoding="utf-8")
            shot(Path.cwd() / f"{name}.png", page.as_uri(), (1, 1), ready="img", whole=True)


@contextmanager
def boards(folder: Path, contest: str) -> Iterator[int]:
    """Make a contest of `CONTESTS`, begin up to eight matches, and yield the number of one of them."""
    sys.path.append(str(ROOT))  # the tests make contests within a second
    from tests.support.open_boards import open_boards
    from tests.support.random_results import make_up

    made = make_up(folder, **CONTESTS[contest])
    with open_boards(made.folder, 8, 30) as found:
        yield found.sheets[0].match.number


@contextmanager
def served(contest: Path, tree: Path) -> Iterator[str]:
    """Serve the pages of a contest by the code of a tree, and yield their address."""
    packages = os.pathsep.join(str(tree / folder) for folder in ("engines", "bots", "sdk", "server"))
    address = ["--host", "127.0.0.1", "--port", free_port()]
    command = [sys.executable, "-u", "-m", "getstep_server", "web", str(contest), *address]
    environment = {**os.environ, "PYTHONPATH": packages}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = (re.search(r"http://\S+(?=/)", line) for line in process.stdout)
        yield next(address[0] for address in found if address)
        process.terminate()


def draw_view(shot: Callable[..., None], path: Path, url: str, view: View, running: int) -> None:
    """Draw a view of the contest that is served at ``url``; ``running`` is the number of a running match."""

    def begin(page: Any) -> None:
        form = page.locator("form[action='/play/sample']")
        form.locator("[name=game]").select_option(view.game)
        form.locator("button").click()
        page.locator(".square").first.wait_for()

    address = url + view.path.format(running=running)
    shot(path, address, view.size, ready="main", dark=view.dark, begin=begin if view.game else None)


# --- programs ---------------------------------------------------------------------------------------------------


class Terminal:
    """A program on a terminal of its own, whose output is kept."""

    def __init__(self, command: Sequence[str], *, height: int = HEIGHT, cwd: Path | None = None) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, WIDTH, 0, 0))
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONIOENCODING": "utf-8"}
        environment = {**os.environ, **colours}
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=cwd)
        os.close(slave)
        self._data = bytearray()
        self._changed = threading.Condition()
        self._open = True
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        """All output."""
        return self._data.decode(errors="replace").replace("\r\n", "\n")

    def frames(self) -> list[str]:
        """Return the output, picture by picture of a live view."""
        return [PLACED.sub("", frame) for frame in REDRAWN.split(self.text)]

    def wait(self, found: Callable[[str], bool]) -> None:
        """Wait until a picture has been shown."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open or any(map(found, self.frames()[-3:])))

    def end(self) -> None:
        """Wait for the program's end."""
        self._reader.join()
        self._process.wait()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 65536)
            except OSError:  # how Linux says that it is closed
                piece = b""
            with self._changed:
                self._data += piece
                self._open = bool(piece)
                self._changed.notify_all()
            if not piece:
                return


@contextmanager
def played(contest: Path, web_port: str) -> Iterator[Terminal]:
    """Play a contest of `TEAMS` to its end, and yield its terminal."""
    server("init", str(contest), "--name", "Autumn contest", "--game", "hop")
    server("teams", "add", str(contest), *TEAMS)
    teams = tomllib.loads((contest / "teams.toml").read_text(encoding="utf-8"))["team"]
    port = free_port()
    where = ["--host", "127.0.0.1", "--port", port, "--web-port", web_port]
    terminal = Terminal([sys.executable, "-m", "getstep_server", "run", str(contest), "--no-announce", *where])
    bots = [play(contest, team, port, doubt=place / len(teams)) for place, team in enumerate(teams)]
    yield terminal
    terminal.end()
    for bot in bots:
        bot.wait()


@contextmanager
def browser() -> Iterator[Callable[..., None]]:
    """Yield a function that draws a page as it is in a window of the given size, or the whole page."""
    from playwright.sync_api import sync_playwright

    def shot(
        name: str | Path,
        url: str,
        size: tuple[int, int],
        *,
        ready: str,
        dark: bool = False,
        begin: Callable[[Any], None] | None = None,
        whole: bool = False,
    ) -> None:
        page = chromium.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
        )
        page.goto(url)
        page.locator(ready).first.wait_for()
        if begin is not None:
            begin(page)
        page.wait_for_timeout(1500)  # for a look: clocks run, and the boards of the page have moved
        path = name if isinstance(name, Path) else PICTURES / f"{name}.png"
        page.screenshot(path=path, full_page=whole)
        page.close()
        print(path)

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield shot
        chromium.close()


def server(*arguments: str) -> str:
    """Run a command of the host, and return what it prints."""
    command = [sys.executable, "-m", "getstep_server", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def play(contest: Path, team: dict[str, Any], port: str, *, doubt: float) -> subprocess.Popen[bytes]:
    """Start the bot of a team, which makes a random move in a share of its turns: ``doubt``."""
    bot = contest / f"bot_{team['id']}.py"
    bot.write_text(BOT.format(doubt=doubt, seconds=SECONDS_A_MOVE), encoding="utf-8")
    login = ["--team", str(team["id"]), "--token", team["token"], "--port", port]
    command = [sys.executable, "-m", "getstep", "play", str(bot), *login]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def share_done(frame: str) -> float:
    """Return the share of matches that are over in a picture; 0 if it does not say."""
    found = re.search(r"^(\d+)/(\d+) matches", frame, re.MULTILINE)
    return int(found[1]) / int(found[2]) if found else 0.0


def turn_of(frame: str) -> int:
    """Return the turn of the board in a picture of the demo; 0 without one or without results, or if it is over."""
    found = re.search(r"chain_reaction, turn (\d+)", frame)
    over = any(" owns all " in line and "#" not in line for line in frame.splitlines())
    return int(found[1]) if found and share_done(frame) and not over else 0


def save(name: str, frame: str) -> None:
    """Write a terminal's picture as SVG, with all its colours."""
    console = Console(record=True, width=WIDTH, file=StringIO(), legacy_windows=False)
    console.print(Text.from_ansi(frame.strip("\n")), no_wrap=True, overflow="ignore", crop=False)
    path = PICTURES / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    drawing = SVG.replace("{title}", TITLES[name])
    console.save_svg(str(path), theme=THEME, code_format=drawing, font_aspect_ratio=0.6, unique_id="terminal")
    print(path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        compare(*sys.argv[2:])
        sys.exit()
    for chosen in sys.argv[1:] or DRAWN:
        with tempfile.TemporaryDirectory() as made:
            {**DRAWN, "games": draw_games}[chosen](Path(made))
