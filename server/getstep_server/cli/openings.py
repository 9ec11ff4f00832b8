"""The command `openings`: makes a book of balanced openings for a game."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from getstep.openings import MAX_LINES, MAX_PLIES, Opening, book_text
from getstep.openings.making import Making, make_book, searched
from getstep_server.config.event import installed_game
from getstep_server.errors import UsageError
from getstep_server.text import pluralize

from ._parser import EXIT_OK, EXIT_STOPPED
from ._shared import spinner
from .duel import option_of

_DEFAULT = Making()
_MOST_SECONDS, _MOST_CANDIDATES = 60.0, 100

_OPENINGS = """\
Make a book of openings for a game, also for one that is not of this project. An
opening is a list of moves, which the host plays before the first turn. Each
pair of matches begins with one of them, with the sides changed.

The moves are legal ones at random. A search looks at each position, for
--seconds of one core. A position is left out if the search says that it is
decided: its value, from -1 (the second player wins) over 0 (equal) to 1 (the
first player wins), is further than --most from 0. It is also left out if it is
the mirror image of an earlier one, or turned. The book is smaller than --count
if too few positions are left.

A game that favours one side has few balanced positions. Then add --candidates:
each move is the one of so many random moves after which the game's own estimate
is nearest to 0.

Name the file in contest.toml, or in getstep practice --openings FILE:

  [[event]]
  game = "hop"
  openings = "hop-openings.json"

examples:
  getstep-server openings hop
  getstep-server openings othello --plies 6 --most 0.2 --to othello.json
  getstep-server openings pseudo_tonga --option size=10 --count 50

exit codes: 0 written, 2 the command cannot be used, 130 stopped with Ctrl-C
"""


def add_openings(parser: argparse.ArgumentParser) -> None:
    parser.description = _OPENINGS
    parser.add_argument("game", metavar="GAME", help="the game, such as hop")
    parser.add_argument("--to", type=Path, metavar="FILE", help="the file (default: GAME-openings.json)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=N", help="an option of the game, such as size=8"
    )
    made = (
        ("plies", int, "N", f"moves of each opening, 1 to {MAX_PLIES}"),
        ("count", int, "N", f"openings to find, 1 to {MAX_LINES}"),
        ("seconds", float, "S", "for the search of each position"),
        ("most", float, "X", "the greatest distance of a value from 0, up to 1"),
        ("candidates", int, "N", "random moves of which one is played, see above"),
        ("seed", int, "N", "of the random moves"),
    )
    for name, kind, metavar, text in made:
        default = getattr(_DEFAULT, name)
        parser.add_argument(
            f"--{name}", type=kind, metavar=metavar, default=default, help=f"{text} (default: {default})"
        )
    parser.set_defaults(command=_openings)


def _openings(args: argparse.Namespace) -> int:
    game, making = installed_game(args.game), _making(args)
    path = args.to or Path(f"{game.name}-openings.json")
    options = dict(map(option_of, args.option))
    fixed = {name: value for name, value in options.items() if isinstance(value, int)}
    if len(fixed) < len(options):
        raise UsageError(
            "--option: a book is for one board, so expected a whole number such as size=8, and no range"
        )
    looked = 0
    try:
        game.start(**fixed)
        with spinner() as tick:

            def note(_opening: Opening, _value: float, kept: int) -> None:
                nonlocal looked
                looked += 1
                tick(f"{pluralize(looked, 'position')}, {kept} kept")

            lines = make_book(game, fixed, making, searched(game, making), note)
    except KeyboardInterrupt:
        print("Stopped; nothing is written.", file=sys.stderr)
        return EXIT_STOPPED
    except ValueError as error:  # a BookError, or an option that the game does not have
        raise UsageError(str(error)) from error
    facts = {name: getattr(making, name) for name in ("plies", "seed", "seconds", "most", "candidates")} | {
        "positions": looked
    }
    try:
        path.write_text(book_text(game, fixed, lines, facts), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    print(f"{path}: {pluralize(len(lines), 'opening')} of {pluralize(looked, 'position')}.")
    return EXIT_OK


def _making(args: argparse.Namespace) -> Making:
    bounds = {
        "plies": (1, MAX_PLIES),
        "count": (1, MAX_LINES),
        "seconds": (0.01, _MOST_SECONDS),
        "most": (0, 1),
        "candidates": (1, _MOST_CANDIDATES),
    }
    for name, (low, high) in bounds.items():
        value = getattr(args, name)
        if not low <= value <= high:
            raise UsageError(f"--{name} {value}, expected {low} to {high}")
    return Making(args.plies, args.count, args.seed, args.seconds, args.most, args.candidates)
