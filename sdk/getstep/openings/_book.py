"""Books of openings: read, check, and draw from them.

Each command of the host loads this module, and few contests have openings: what only a book needs is imported where
it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from getstep.wire import MAX_OPENING
from getstep_engines import Game, IllegalMove, State

from ._moves import BookError, Opening, plain_move

BALANCED = "balanced"
"""The name of the books that come with the five games."""

MAX_PLIES = MAX_OPENING
"""Moves of an opening: as many as the message can have that begins a match."""

MAX_LINES = 2000
"""Openings of a book. The record of settings has the whole book."""

MAX_BOOK_BYTES = 500_000
"""Bytes of a book's file: `MAX_LINES` openings of some moves."""

MAX_OPENING_BYTES = 4000
"""Bytes of an opening as JSON: the message that begins a match has it, and fits in a frame of 16 kB."""

RANDOM_LINES = 500
"""Openings that are drawn for a number of moves."""

_FOLDER = Path(__file__).with_name("balanced")


class Book(NamedTuple):
    """Openings of one game with certain options, none twice. ``name`` says where they come from."""

    name: str
    lines: tuple[Opening, ...]


def state_after(game: Game, options: Mapping[str, int], opening: Sequence[Any]) -> State:
    """Return the position after an opening.

    Raises:
        BookError: the rules do not allow a move, or the game is over after it.
    """
    state = game.start(**options)
    for number, move in enumerate(opening, 1):
        try:
            state.play(move)
        except IllegalMove as error:
            raise BookError(
                f"move {number} of {_short(opening)}: {game.name} does not allow it ({error})"
            ) from None
        if state.outcome is not None:
            raise BookError(f"move {number} of {_short(opening)} ends the game")
    return state


def book_of(name: str, lines: object, game: Game, options: Mapping[str, int]) -> Book:
    """Return the book with these openings, which are checked.

    Args:
        name: where they come from.
        lines: any object; a list of lists of moves is expected.
        game: the rules.
        options: of the game.

    Raises:
        BookError: it is no book of this game.
    """
    import json

    if not isinstance(lines, (list, tuple)) or not 1 <= len(lines) <= MAX_LINES:
        raise BookError(f"expected a list of 1 to {MAX_LINES} openings")
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not isinstance(line, (list, tuple)) or not 1 <= len(line) <= MAX_PLIES:
            raise BookError(f"opening {number}: expected a list of 1 to {MAX_PLIES} moves ({_short(line)})")
        text = json.dumps(line)
        if len(text) > MAX_OPENING_BYTES:
            raise BookError(f"opening {number}: {len(text)} bytes; expected at most {MAX_OPENING_BYTES}")
        if text in seen:
            raise BookError(f"opening {number}: it is in the book twice ({_short(line)})")
        seen.add(text)
        try:
            state_after(game, options, line)
        except BookError as error:
            raise BookError(f"opening {number}: {error}") from None
    return Book(name, tuple(tuple(plain_move(move) for move in line) for line in lines))


def book_named(game: Game, options: Mapping[str, int]) -> Book:
    """Return the book that comes with a game.

    Raises:
        BookError: there is none, or it is for other options.
    """
    path = _FOLDER / f"{game.name}.json"
    if not path.is_file():
        raise BookError(
            f"{game.name} comes without a book of openings; make one with: getstep-server openings {game.name}"
        )
    return read_book(path, game, options, BALANCED)


def check_setting(setting: object) -> None:
    """Check the form of a setting: a number of moves, or the name of a book.

    Raises:
        BookError: it has another form.
    """
    if type(setting) is int and 1 <= setting <= MAX_PLIES:
        return
    if isinstance(setting, str) and setting and "\0" not in setting:
        return
    raise BookError(f'expected "{BALANCED}", the name of a file, or a number of moves from 1 to {MAX_PLIES}')


def book_setting(text: str) -> int | str:
    """Return the setting of a command line's text: a number is one of moves."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else text


def find_book(setting: int | str, game: Game, options: Mapping[str, int], seed: str, folder: Path) -> Book:
    """Return the book that a setting names.

    Args:
        setting: `BALANCED`, the name of a file, or the number of moves of random openings.
        game: the rules.
        options: of the game.
        seed: of random openings.
        folder: in which the file is.

    Raises:
        BookError: there is no such book, or it is not for this game with these options.
    """
    check_setting(setting)
    if isinstance(setting, int):
        from .making import random_lines

        lines = random_lines(game, options, setting, seed, RANDOM_LINES)
        return Book(f"{setting} random move{'s' if setting > 1 else ''}", tuple(lines))
    return book_named(game, options) if setting == BALANCED else read_book(folder / setting, game, options)


def read_book(path: Path, game: Game, options: Mapping[str, int], name: str | None = None) -> Book:
    """Return the book in a file, as `book_text` writes it.

    Args:
        path: the file.
        game: the rules.
        options: of the game.
        name: of the book; None for the file's.

    Raises:
        BookError: the file cannot be read, or is no book of this game with these options.
    """
    import json

    try:
        with path.open("rb") as file:
            data = file.read(MAX_BOOK_BYTES + 1)
    except OSError as error:
        raise BookError(f"{path.name} cannot be read ({error.strerror or error})") from None
    if len(data) > MAX_BOOK_BYTES:
        raise BookError(f"{path.name} has more than {MAX_BOOK_BYTES} bytes")
    try:
        found = json.loads(data)
        of, with_options, lines = found["game"], found["options"], found["openings"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise BookError(f"{path.name} is no book of openings, as getstep-server openings writes it") from None
    if of != game.name:
        raise BookError(f"{path.name} is a book of {of!r:.40}, and the game is {game.name}")
    if with_options != _complete(game, options):
        raise BookError(f"{path.name} is for the options {with_options!r:.80}, and the match has others")
    try:
        return book_of(name or path.name, lines, game, options)
    except BookError as error:
        raise BookError(f"{path.name}: {error}") from None


def book_text(game: Game, options: Mapping[str, int], lines: Sequence[Opening], facts: Mapping[str, Any]) -> str:
    """Return a book's file: JSON, with an opening on each line. ``facts`` say how it was made."""
    import json

    head = {"game": game.name, "options": _complete(game, options), "made": dict(facts)}
    openings = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    return f'{json.dumps(head)[:-1]}, "openings": [\n{openings}\n]}}\n'


def drawn(book: Book, seed: str, number: int) -> Opening:
    """Return the opening of the pair with this number, from 0.

    None comes twice before each was drawn once; then the book is shuffled anew. The seed alone decides the order,
    on every machine.
    """
    cycle, place = divmod(number, len(book.lines))
    return book.lines[_order(f"{seed} {cycle}", len(book.lines))[place]]


@lru_cache(maxsize=16)
def _order(seed: str, count: int) -> tuple[int, ...]:
    from random import Random

    chance = Random(f"openings {seed}").random  # the one method that is the same in later versions of Python
    return tuple(sorted(range(count), key=lambda _: chance()))


def _complete(game: Game, options: Mapping[str, int]) -> dict[str, int]:
    """Return the options with the default ones, where they are missing."""
    return {name: options.get(name, option.default) for name, option in game.options.items()}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
