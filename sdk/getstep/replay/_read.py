"""Reading a replay back: from its page to the games, with their moves.

A page has the text of each move, not the move. The rules find it again: the legal move with this text. A page is a
file that anybody may have written, so everything in it is checked, and the rules decide what is a game.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from getstep._version import newer_format
from getstep_engines import GAMES, Game, Player, State, TimeControl, UnknownGameError

from ._data import GIVEN, Replay, ReplayTurn
from ._notes import notes_of

MOST_BYTES = 50_000_000
"""Of a page: 1,000 games of 40 kB, their notes, and as much again."""

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_MOST_TURNS = 100_000
_MOST_OPTIONS = 10_000  # combinations that are tried for the first board: a game from outside may have millions
_MOST_MS = 86_400_000  # a day: no limit is longer


class NotAReplayError(ValueError):
    """A file is not a replay, or not one that the installed rules can read. The message says why, for people."""


def read_replays(file: Path) -> list[Replay]:
    """Return the games of a replay page, in its order.

    Raises:
        NotAReplayError: the file cannot be read, is no replay, or has a game that the rules do not allow.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise NotAReplayError(f"{file}: more than {MOST_BYTES // 1_000_000} MB; expected a replay")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise NotAReplayError(f"{file}: it cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        text = ""
    found = _DATA.search(text)
    if found is None:
        raise NotAReplayError(f"{file}: not a replay; expected a page that practice has written, or a match page's")
    try:
        data = json.loads(found[1])
        return _games(data)
    except NotAReplayError as error:
        raise NotAReplayError(f"{file}: {error}") from None
    # What a damaged page makes of it. Only the shape is trusted to the try: the rules check each move.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise NotAReplayError(
            f"{file}: the replay in it is damaged ({type(error).__name__}: {error!s:.100})"
        ) from None


def _games(data: Mapping[str, Any]) -> list[Replay]:
    if newer := newer_format(data):
        raise NotAReplayError(newer)
    return [_game(each, data["looks"]) for each in data["games"]]


def _game(data: Mapping[str, Any], looks: Any) -> Replay:
    title = str(data["title"])
    if "look" not in data:
        raise NotAReplayError(
            f"{title or 'the game'} has no boards: {data.get('problem', 'its rules are not known')}"
        )
    name = looks[data["look"]]["game"]
    try:
        game = GAMES[name]
    except UnknownGameError as error:
        raise NotAReplayError(str(error)) from None
    options = _options(game, data)
    limit = data["limit"]
    kind = limit["kind"]
    if kind not in ("move", "budget"):
        raise NotAReplayError(f"its limit is of the kind {kind!r:.40}")
    first, second = map(str, data["names"])
    return Replay(
        game=game,
        rules=game.name,
        names=(first, second),
        turns=tuple(_turns(game, game.start(**options), data)),
        limit=TimeControl(kind, _seconds(limit["ms"]), _seconds(limit.get("increment", 0))),
        options=options,
        title=title,
        result=str(data["result"]),
        reason=str(data["why"]),
        facts=[(str(key), str(value)) for key, value in data["facts"]],
    )


def _options(game: Game, data: Mapping[str, Any]) -> dict[str, int]:
    """Return the options with which a game begins on the page's first board; the default ones are tried first."""
    allowed = game.values({name: f"{option.lowest}-{option.highest}" for name, option in game.options.items()})
    values = [[option.default, *allowed[name]] for name, option in game.options.items()]
    for each in itertools.islice(itertools.product(*values), _MOST_OPTIONS):
        options = dict(zip(game.options, each, strict=True))
        if game.view(game.start(**options)) == data["start"]:
            return options
    raise NotAReplayError(f"no game of {game.name} begins on its first board; the installed rules are others")


def _turns(game: Game, state: State, data: Mapping[str, Any]) -> Iterator[ReplayTurn]:
    texts, turns = data.get("texts", []), data["turns"]

    def text(turn: Mapping[str, Any], key: str) -> str:
        value = turn.get(key, "")
        return str(texts[value]) if isinstance(value, int) else str(value)

    if len(turns) > _MOST_TURNS:
        raise NotAReplayError(f"{len(turns)} turns; expected at most {_MOST_TURNS}")
    for number, turn in enumerate(turns, 1):
        player: Player = 1 if turn["p"] else 0
        seconds, left = turn.get("t"), turn.get("l")
        if seconds is None and turn.get("k") == "pass":
            seconds = 0
        common: dict[str, Any] = {
            "player": player,
            "code": text(turn, "c"),
            "reason": text(turn, "w"),
            "seconds": None if seconds is None else _seconds(seconds),
            "left": None if left is None else _seconds(left),
            "remarks": [str(texts[note]) if isinstance(note, int) else str(note) for note in turn.get("n", [])],
            "given": GIVEN[turn.get("r", 0)],
            "notes": notes_of(turn["v"]) if "v" in turn else None,
        }
        kind = turn.get("k", "move")
        if kind not in ("move", "pass", "fault", "end"):
            raise NotAReplayError(f"turn {number} is of the kind {kind!r:.40}")
        if kind in ("move", "fault") and (state.outcome is not None or state.to_move != player):
            raise NotAReplayError(f"turn {number}: it is not this player's turn")
        if kind == "move":
            move = _move(game, state, text(turn, "m"))
            if move is None:
                raise NotAReplayError(f"turn {number}: {game.name} does not allow it ({text(turn, 'm')!r:.80})")
            state.play(move)
            yield ReplayTurn(move=move, **common)
        else:
            if kind == "fault":
                state.fault()
            yield ReplayTurn(kind=kind, tried=text(turn, "m"), **common)


def _seconds(ms: Any) -> float:
    """Return milliseconds of the page as seconds. JSON of Python has values such as NaN, too."""
    if isinstance(ms, bool) or not isinstance(ms, (int, float)) or not 0 <= ms <= _MOST_MS:
        raise NotAReplayError(f"a time of {ms!r:.40} ms; expected 0 to {_MOST_MS}")
    return ms / 1000


def _move(game: Game, state: State, text: str) -> Any:
    """Return the legal move with this text; None if there is none."""
    return next((move for move in state.legal_moves() if game.notation(move) == text), None)
