"""Games as people read them: a text for each move, the move list of a game, and its facts in a few lines.

A move is written by its form:

- a square is ``row,column`` from 0, as on the wire: ``3,4``;
- a path, as in hop, is its squares: ``2,2-2,4-4,4``;
- a domino of linkage is the order of the original: its colour, then two squares with the column's letter A to G and
  the row's digit 1 to 7: ``RA1A2``.

``Skip`` is a player that had no move and was not asked. What is no move stands in brackets: ``(missed_limit)`` is a
turn that got the game's penalty, ``(resigned)`` the end of a game that a player gave up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from getstep_engines import GAMES

from ._text import printable
from .game_record import VOIDS
from .record_shape import GameShape

SKIP = "Skip"
_COLUMN = 22  # wide enough for a path of five squares: longer ones are rare, and push the second move to the right


def move_text(move: Any) -> str:
    """A move; one of a form that nobody knows is its JSON."""
    if _is_square(move):
        return _square(move)
    if isinstance(move, list) and move and all(_is_square(part) for part in move):
        return "-".join(map(_square, move))
    if isinstance(move, list) and len(move) == 3 and isinstance(move[0], str) and all(map(_is_square, move[1:])):
        return move[0] + "".join(f"{chr(ord('A') + column)}{row + 1}" for row, column in move[1:])
    return printable(orjson.dumps(move).decode())


def _is_square(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(n) is int and 0 <= n < 26 for n in value)


def _square(square: Sequence[int]) -> str:
    return f"{square[0]},{square[1]}"


def turn_text(turn: Mapping[str, Any]) -> str:
    """What a player did in a turn, as a record has it."""
    if "move" in turn:
        return move_text(turn["move"])
    if "pass" in turn:
        return SKIP
    return f"({printable(str(turn.get('fault', turn.get('end'))))})"


def move_list(turns: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A game's turns, the first player's and the second's side by side; ``...`` is a turn that did not come."""
    number, first = 1, ""
    for turn in turns:
        text = turn_text(turn)
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


def facts(game: GameShape, amendments: Iterable[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """What is to be said of a game beside its turns: what it is about, and what is the case.

    ``amendments`` are more of the same, from `overruled`, and come after its result.
    """
    players = GAMES[game.game].players
    yield "contest", game.contest
    yield "match", f"{game.match}, attempt {game.attempt}"
    yield "round", f"{game.round}, pairing {game.pairing}, leg {game.leg}"
    options = "".join(f", {name} {value}" for name, value in game.options.items())
    yield "game", f"{game.game}{options}"
    for place, team, player in zip(("first", "second"), game.teams, players, strict=True):
        yield place, f"{team.name} (team {team.id}), {player}"
    each = "a move" if game.time.kind == "move" else "for all of a player's moves"
    yield "limit", f"{game.time.ms / 1000:g} s {each}, and {game.time.lag_ms:g} ms for lag"
    yield "started", f"{game.started}, took {game.seconds:g} s"
    yield "result", result_text(game)
    yield "because", f"{game.reason}: {game.detail}"
    yield from amendments
    if game.scores is not None:
        yield "scores", " : ".join(map(score_text, game.scores))
    yield "thought", " : ".join(f"{ms / 1000:.3f} s" for ms in game.thought_ms)
    if any(game.faults):
        yield "faults", " : ".join(map(str, game.faults))


def result_text(game: GameShape) -> str:
    """Who won."""
    if game.reason in VOIDS:
        return "void: this attempt does not count"
    if game.winner is not None:
        return f"{game.teams[game.winner].name} wins ({GAMES[game.game].players[game.winner]})"
    return "nobody came" if game.reason == "never_arrived" else "draw"


def score_text(score: Any) -> str:
    """A score; one that is a list of counts, as in longest_path, is written ``1-1-0-1``."""
    return "-".join(map(str, score)) if isinstance(score, list) else str(score)


def game_text(game: GameShape, amendments: Iterable[tuple[str, str]] = ()) -> Iterator[str]:
    """A game's `facts` and its move list, line by line."""
    for name, value in facts(game, amendments):
        yield f"{name:<10}{printable(value)}"
    yield ""
    yield from move_list(game.turns)
