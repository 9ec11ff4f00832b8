"""Game notation: a text for each move, the move list of a game, and its facts in a few lines.

The notation of a move depends on its form:

- a square is ``row,column`` from 0, as on the wire: ``3,4``;
- a path, as in hop, is its squares: ``2,2-2,4-4,4``;
- a game may have a notation of its own. A domino of linkage is the order of the original: its colour, then two
  squares with the column's letter A to G and the row's digit 1 to 7, such as ``RA1A2``.

``Skip`` stands for a player that had no legal move and was not asked. Other turns without a move are in brackets:
``(missed_limit)`` is a turn that got the game's penalty, ``(resigned)`` the end of a game by resignation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from getstep_engines import GAMES, Game
from getstep_engines.look import coordinates
from getstep_server.config.event import heading_of_game
from getstep_server.json_text import encode
from getstep_server.records.game import GameRecord, opening_in
from getstep_server.records.reasons import VOID_REASONS, Reason
from getstep_server.text import escape_control_chars, pluralize

from .programs import program_text, programs_of

SKIP = "Skip"
_COLUMN = 22  # a path of five squares; longer paths are rare and shift the second move to the right


def move_text(move: Any, game: Game | None) -> str:
    """Return the text of a recorded move; a move of an unknown form is written as JSON.

    ``game`` is None if it is not installed.
    """
    # `Game.notation` takes legal moves; this one may be anything if the record has not been verified.
    is_text = isinstance(move, str) and game is not None and game.move_form.fits(move)
    if is_text or _is_squares(move) or (game is not None and game.look.notation):
        with contextlib.suppress(TypeError, ValueError, LookupError):
            return escape_control_chars(coordinates(move) if game is None else game.notation(move))
    return escape_control_chars(encode(move).decode())


def _is_squares(move: Any) -> bool:
    return _is_square(move) or (isinstance(move, list) and bool(move) and all(map(_is_square, move)))


def _is_square(value: Any) -> bool:
    if type(value) is not list or len(value) != 2:
        return False
    row, column = value  # no loop: this is asked for each square of each move in the feed
    return type(row) is int and type(column) is int and row >= 0 and column >= 0


def turn_text(turn: Mapping[str, Any], game: Game) -> str:
    if "move" in turn:
        return move_text(turn["move"], game)
    if "pass" in turn:
        return SKIP
    return f"({escape_control_chars(str(turn.get('fault', turn.get('end'))))})"


def move_list(turns: Iterable[Mapping[str, Any]], game: Game) -> Iterator[str]:
    """Yield the turns of a game, the first player's and the second's side by side; ``...`` is a missing turn."""
    number, first = 1, ""
    for turn in turns:
        text = turn_text(turn, game)
        if turn["player"] == 1:
            yield f"{number:>4}. {first or '...':<{_COLUMN}} {text}"
            number, first = number + 1, ""
            continue
        if first:
            yield f"{number:>4}. {first:<{_COLUMN}} ..."
            number += 1
        first = text
    if first:
        yield f"{number:>4}. {first}"


ARCHIVED = "moved into an archive by the host"
"""What is said of the turns of an old match."""


def facts(game: GameRecord, corrections: Iterable[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """Yield the facts of a game without its turns, each with its name.

    ``corrections`` are further facts, from `correction_facts`, to put after the result.
    """
    players = _players(game)
    yield "contest", game.contest
    yield "match", f"{game.match}, attempt {game.attempt}"
    yield "round", f"{game.round}, pairing {game.pairing}, leg {game.leg}"
    options = "".join(f", {name} {value}" for name, value in game.options.items())
    yield "game", f"{heading_of_game(game.game)}{options}"
    if opening := opening_in(game):
        yield "opening", opening_text(opening, GAMES.get(game.game))
    for place, team, player, program in zip(
        ("first", "second"), game.teams, players, programs_of(game), strict=True
    ):
        yield place, f"{team.name} (team {team.id}), {player}{program_text(program)}"
    yield "limit", f"{game.time.control}, and {game.time.lag_ms:g} ms for lag"
    yield "started", f"{game.started}, took {game.seconds:g} s"
    yield "result", result_text(game)
    yield "because", f"{game.reason}: {game.detail}"
    yield from corrections
    if game.scores is not None:
        yield "scores", " : ".join(map(score_text, game.scores))
    yield "thought", " : ".join(f"{ms / 1000:.3f} s" for ms in game.thought_ms)
    if any(game.faults):
        yield "faults", " : ".join(map(str, game.faults))
    if game.instead_of is not UNSET:
        yield "turns", f"{game.turns_played}, {ARCHIVED}"


def opening_text(opening: Sequence[Any], game: Game | None) -> str:
    """Return an opening in words, such as ``"2 moves by the host: (2, 3) (4, 5)"``."""
    moves = " ".join(move_text(move, game) for move in opening)
    return f"{pluralize(len(opening), 'move')} by the host: {moves}"


def _players(game: GameRecord) -> tuple[str, str]:
    """Return the names of the first and the second player in this game, which may be one that is not installed."""
    return GAMES[game.game].players if game.game in GAMES else ("first", "second")


def result_text(game: GameRecord) -> str:
    if game.reason in VOID_REASONS:
        return "void: this attempt does not count"
    if game.winner is not None:
        return f"{game.teams[game.winner].name} wins ({_players(game)[game.winner]})"
    return "nobody came" if game.reason == Reason.NO_SHOW else "draw"


def score_text(score: Any) -> str:
    """Return the text of a score; a list of counts, as in longest_path, is written ``1-1-0-1``."""
    return "-".join(map(str, score)) if isinstance(score, list) else str(score)


def game_text(game: GameRecord, corrections: Iterable[tuple[str, str]] = ()) -> Iterator[str]:
    """Yield a game's `facts` and its move list, line by line."""
    for name, value in facts(game, corrections):
        yield f"{name:<10}{escape_control_chars(value)}"
    yield ""
    yield from move_list(game.turns, GAMES[game.game])
