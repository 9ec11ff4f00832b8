"""The command ``getstep analyse``: it reads a replay, and says which moves gave away most."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from getstep._errors import SetupError
from getstep._replay_choice import add_number, chosen_game
from getstep.browser import open_in_browser
from getstep.text import Console, escape_control_chars
from getstep_bots.analysis import SECONDS

if TYPE_CHECKING:  # boards and replays are loaded when they are used: other commands do not wait for them
    from getstep.replay import Replay

    from .game import Analysis

FEWEST_SECONDS, MOST_SECONDS = 1.0, 86_400.0
_REFRESH_SECONDS = 0.2

ANALYSE_HELP = """\
Why was a game lost? A search looks at each position of a replay, exhaustively near the end and by Monte Carlo
tree search before. It says for each move how much it gave away against the best move that it found, with an
interval. The three that surely gave away most come first, with the board after the move and the better moves. A
page is written that has links to them, the curve of the values, and the better moves as games to step through.

REPLAY is a page that practice has written, or that you have saved from a contest.

examples:
  getstep analyse my_bot-practice.html
  getstep analyse my_bot-practice.html --number 3 --seconds 300 --open

exit codes: 0 analysed, 2 wrong usage or not a replay, 130 stopped by Ctrl-C"""


def add_analyse(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("replay", type=Path, metavar="REPLAY", help="the page of a replay")
    add_number(parser)
    add_search(parser)
    parser.set_defaults(run=_analyse)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments about the search and its page, which the host's command has, too."""
    parser.add_argument(
        "--seconds", type=_seconds, default=SECONDS, help=f"for the whole game, on one core (default {SECONDS:g})"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="the file for the page")
    parser.add_argument("--open", action="store_true", help="show the page in your browser")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if FEWEST_SECONDS <= seconds <= MOST_SECONDS:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r}, expected a number from {FEWEST_SECONDS:g} to {MOST_SECONDS:g}")


def _analyse(options: argparse.Namespace, console: Console) -> int:
    game = chosen_game(options.replay, options.number, console.say)
    page = options.html or options.replay.with_name(f"{options.replay.stem}-analysis.html")
    show(game, page, console, seconds=options.seconds, open_page=options.open)
    return 0


def show(game: Replay, page: Path, console: Console, *, seconds: float, open_page: bool) -> None:
    """Analyse a game, print its turning points, and write the page.

    Args:
        game: the game.
        page: the file for the page.
        console: where to print.
        seconds: for the search.
        open_page: show the page in a browser.

    Raises:
        SetupError: the rules of the game are not installed, or the page cannot be written.
    """
    from getstep.drawing.viewer import painter

    from .game import analyse

    names = " - ".join(map(escape_control_chars, game.names))
    title = f"{game.title}: " if game.title else ""
    console.say(f"{title}{names}, {game.rules}, {len(game.turns)} turns; at most {seconds:g} s. Ctrl-C stops.")
    try:
        found = analyse(game, seconds=seconds, on_move=_progress())
    except ValueError as error:
        raise SetupError(escape_control_chars(str(error))) from None
    finally:
        _clear_progress()
    draw = painter(getattr(sys.stdout, "encoding", None), is_terminal=sys.stdout.isatty())
    console.say(found.text(draw))
    console.say(f"\nThe page with the curve of the values and the better moves: {_written(found, page)}")
    if open_page and not open_in_browser(page.resolve().as_uri()):
        console.say("There is no browser to show it in. Open the file yourself.")


def _written(found: Analysis, page: Path) -> Path:
    from getstep.replay import replay_data, replay_page

    first, second = found.replay.names
    data = replay_data(found.replays(), title=f"{first} - {second}: analysis", links=found.links)
    try:
        page.write_text(replay_page(data), encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{page}: the page cannot be written ({error.strerror or error}); give another file with --html."
        ) from None
    return page


def _progress() -> Callable[[int, int], None]:
    """Return what shows the progress on one line of a terminal; nothing is shown elsewhere."""
    due = 0.0

    def show_it(done: int, of: int) -> None:
        nonlocal due
        if _shows_progress() and time.monotonic() >= due:
            sys.stderr.write(f"\r\x1b[2KPosition {done + 1} of {of}")
            sys.stderr.flush()
            due = time.monotonic() + _REFRESH_SECONDS

    return show_it


def _clear_progress() -> None:
    if _shows_progress():
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


def _shows_progress() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
