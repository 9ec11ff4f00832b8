"""The data of a replay: one game as JSON, with the start position, and for each turn the squares that changed.

A replay knows no server and no record: `practice` at home builds it from what it played, the host's side from a
record. The rules come from the engine once, here; the page that shows the replay only applies differences, so it
needs no rules and shows the same as the judge saw.

Short keys keep a game of 400 turns under 40 kB, and `_size` does so if bots write long texts; the notes of the bots
come on top of that, see `_notes`. A turn is an object:

    p  the player, 0 or 1
    k  "pass", "fault" or "end"; nothing for a move
    m  the move as text; of a fault the move that was tried, if there was one
    c  the code of a fault or an end, such as "illegal_move"
    w  why, as text for people
    t  the time that the turn took, in ms; nothing if it was not measured
    l  the time that the player has left, in ms
    n  remarks: texts on what happened beside the game after this turn
    r  1 if the turn was taken from another replay, 2 if it is of the opening; see `ReplayTurn.given`
    q  the squares of a move that was tried, a flat list
    g  the two numbers of the score line after it, if they changed
    v  what the bot noted: an object with any of say, estimate, draw, tags and output, see `_notes`
    e  the value of the position after it for the first player, from -1 (lost) to 1 (won), if it was analysed
    s  the steps: for each [changes, touched]

In place of a text, m, c, w and n may have its number in the game's list ``texts``.

``changes`` is a flat list: square, value, square, value, ... A square is row × columns + column. ``touched`` has
lists of squares by purpose, as `Touched`: f source, p path, t to, c captured, x exploded, b blocked. Empty lists
are left out, and so is the path if it is the one source and the one square of ``t``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from getstep._version import FORMAT, NEEDS
from getstep.drawing.picture import squares_of
from getstep_engines import Game, Player, State, Step, TimeControl, Touched, look_json
from getstep_engines.look import coordinates

from ._notes import add_notes
from ._size import fit

TurnKind: TypeAlias = Literal["move", "pass", "fault", "end"]
Given: TypeAlias = Literal["", "replay", "opening"]
Board: TypeAlias = Sequence[Sequence[int]]

_LONGEST_TEXT = 200  # characters of a move of an unknown game: a path of some 40 squares


@dataclass(frozen=True)
class ReplayTurn:
    """One turn of a game.

    Args:
        player: 0 for the first player, 1 for the second.
        kind: "move"; "pass" of a player without a legal move, who was not asked; "fault", a turn that got the
            game's penalty; or "end", the loss by a rule beside the game.
        move: the move; of a fault, any object that was tried, or None.
        tried: the text of the move that got the penalty, if there was one.
        code: why it is a fault or an end, such as ``"illegal_move"`` or ``"resigned"``.
        reason: a text for people, such as ``"(3, 4) is not empty"``.
        seconds: the time that the turn took; None if it was not measured.
        left: the time that the player has left for the rest of the game; None if it has a limit for each move.
        remarks: texts on what happened beside the game after this turn, such as a restart of the server.
        notes: what the bot noted while it computed the turn, in the form of protocol.md; None if it noted nothing.
        given: why nobody was asked for this turn: it comes from the "replay" from which the game was played on, or
            is a move of the "opening". Empty for any other turn.
        value: of the position after it for the first player, from -1 (lost) to 1 (won); None if it is not known.
    """

    player: Player
    kind: TurnKind = "move"
    move: Any = None
    tried: str = ""
    code: str = ""
    reason: str = ""
    seconds: float | None = 0.0
    left: float | None = None
    remarks: Sequence[str] = ()
    value: float | None = None
    given: Given = ""
    notes: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Replay:
    """A game to look at, played to its end or not.

    Args:
        game: the rules; None if they are not installed, then there are no boards.
        rules: the name of the game.
        names: the names of the first and the second player.
        turns: the turns in order.
        limit: the time control.
        options: the game's options.
        title: what this game is called beside its players, such as ``"match 7, attempt 1"``.
        result: the result in words, such as ``"Ada wins"``; empty if the game is not over.
        reason: why, such as ``"Black has 7 pieces home, White 5"``.
        facts: further facts by name.
        problem: why there are no turns, for people; empty if all that were played are here.
    """

    game: Game | None
    rules: str
    names: tuple[str, str]
    turns: Sequence[ReplayTurn]
    limit: TimeControl
    options: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    result: str = ""
    reason: str = ""
    facts: Sequence[tuple[str, str]] = ()
    problem: str = ""

    def position(self, after: int) -> State:
        """Return the position after so many turns; 0 is the start.

        Raises:
            ValueError: the rules are not installed, or do not allow a turn.
        """
        if self.game is None:
            raise ValueError(f"the rules of {self.rules} are not installed")
        state = self.game.start(**self.options)
        for turn in self.turns[:after]:
            if turn.kind == "move":
                state.play(turn.move)
            elif turn.kind == "fault":
                state.fault()
        return state


GIVEN: tuple[Given, ...] = ("", "replay", "opening")
"""The values of `ReplayTurn.given`; a page has their places here."""


def opening_turns(game: Game, options: Mapping[str, int], opening: Sequence[Any]) -> list[ReplayTurn]:
    """Return an opening as turns: its moves, and the passes that follow from them.

    Raises:
        ValueError: the rules do not allow it.
    """
    state, turns = game.start(**options), list[ReplayTurn]()
    for move in opening:
        turns.append(ReplayTurn(state.to_move, move=move, seconds=None, given="opening"))
        state.play(move)
        turns += [ReplayTurn(player, "pass", given="opening") for player in state.passed]
    return turns


def replay_data(replays: Sequence[Replay], *, title: str, links: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return the data of a replay page as a JSON object.

    Args:
        replays: the games to choose from, at least one.
        title: of the page.
        links: texts and addresses of pages that belong to this one.

    A game never fails: without its rules there are no boards, and a turn that the rules do not allow ends it. The
    page says so.
    """
    looks = _Looks()
    games = [_game_data(replay, looks) for replay in replays]
    for game in games:
        fit(game)
    for game, replay in zip(games, replays, strict=True):
        add_notes(game, [turn.notes for turn in replay.turns], len(games))
    own = {"format": FORMAT, "needs": NEEDS, "title": title, "links": [list(link) for link in links]}
    return {**own, "looks": looks.data, "games": games}


_UNUSED = ("palette", "themes", "notation")
"""The parts of a look that the page does not read: its colours are in the style sheet."""


class _Looks:
    """The looks of the page's games, each of them once."""

    def __init__(self) -> None:
        self.data: list[dict[str, Any]] = []

    def number(self, game: Game) -> int:
        """Return the place of a game's look in ``data``."""
        look = {name: value for name, value in look_json(game).items() if name not in _UNUSED}
        if look not in self.data:
            self.data.append(look)
        return self.data.index(look)


def _game_data(replay: Replay, looks: _Looks) -> dict[str, Any]:
    limit = replay.limit
    data: dict[str, Any] = {
        "title": replay.title,
        "names": list(replay.names),
        "limit": {"kind": limit.kind, "ms": _ms(limit.seconds)}
        | ({"increment": _ms(limit.increment)} if limit.increment else {}),
        "result": replay.result,
        "why": replay.reason,
        "facts": [list(fact) for fact in replay.facts],
        **({"problem": replay.problem} if replay.problem else {}),
    }
    if replay.game is None:
        turns = [_turn_data(turn, _text_of) for turn in replay.turns]
        return {**data, "problem": f"The rules of {replay.rules} are not installed: no boards.", "turns": turns}
    try:
        state = replay.game.start(**replay.options)
    except ValueError as error:
        turns = [_turn_data(turn, _text_of) for turn in replay.turns]
        return {**data, "problem": f"The installed rules are others: {error}. No boards.", "turns": turns}
    data |= {"look": looks.number(replay.game), "start": replay.game.view(state)}
    if score := replay.game.measures(state):
        data["score"] = list(score)
    turns, problem = _played(replay.game, state, replay.turns)
    return {**data, **({"problem": problem} if problem else {}), "turns": turns}


def _played(game: Game, state: State, turns: Sequence[ReplayTurn]) -> tuple[list[dict[str, Any]], str]:
    """Return the data of the turns, up to one that the rules do not allow, and what is wrong with that one."""
    played: list[dict[str, Any]] = []
    board: Board = game.view(state)
    score = game.measures(state)
    for number, turn in enumerate(turns, start=1):
        try:
            steps = _steps(game, state, turn)
        except ValueError as error:
            return played, f"The turns from {number} on are missing: the rules do not allow it ({error!s:.200})."
        data = _turn_data(turn, game.notation)
        if turn.kind == "fault" and (squares := squares_of(turn.move, len(board), len(board[0]))):
            data["q"] = [row * len(board[0]) + column for row, column in squares]
        if steps:
            before = [board, *(step.board for step in steps[:-1])]
            data["s"] = list(map(_step_data, before, steps))
            board = steps[-1].board
        if game.measures(state) != score:
            score = data["g"] = game.measures(state)
        played.append(data)
    return played, ""


def _steps(game: Game, state: State, turn: ReplayTurn) -> Sequence[Step]:
    """Apply a turn to ``state`` and return its steps; a pass and an end have none."""
    if turn.kind in ("pass", "end"):
        return ()
    if turn.player != state.to_move or state.outcome is not None:
        due = "nothing: the game is over" if state.outcome is not None else f"player {state.to_move}"
        raise ValueError(f"a turn of player {turn.player}, expected {due}")
    if turn.kind == "fault":
        steps = game.trace_fault(state)
        state.fault()
    else:
        steps = game.trace(state, turn.move)
        state.play(turn.move)
    return steps


def _turn_data(turn: ReplayTurn, notation: Callable[[Any], str]) -> dict[str, Any]:
    data: dict[str, Any] = {"p": turn.player}
    if turn.kind != "move":
        data["k"] = turn.kind
    text = notation(turn.move) if turn.kind == "move" else turn.tried
    for key, value in (("m", text), ("c", turn.code), ("w", turn.reason)):
        if value:
            data[key] = value
    if turn.kind != "pass":
        if turn.seconds is not None:
            data["t"] = _ms(turn.seconds)
        if turn.left is not None:
            data["l"] = _ms(turn.left)
    if turn.remarks:
        data["n"] = list(turn.remarks)
    if turn.given:
        data["r"] = GIVEN.index(turn.given)
    if turn.value is not None:
        data["e"] = round(turn.value, 2)
    return data


def _text_of(move: Any) -> str:
    """Return the text of a move whose game is not known."""
    return coordinates(move)[:_LONGEST_TEXT]


def _ms(seconds: float) -> float:
    """Return milliseconds, whole ones from 10 on: nobody sees a difference, and each digit counts 400 times."""
    ms = seconds * 1000
    return round(ms) if ms >= 10 or ms == int(ms) else round(ms, 1)


def _step_data(before: Board, step: Step) -> list[Any]:
    columns = len(step.board[0])
    changes = [
        number
        for row, (old, new) in enumerate(zip(before, step.board, strict=True))
        for column, value in enumerate(new)
        if old[column] != value
        for number in (row * columns + column, value)
    ]
    touched = _touched_data(step.touched, columns)
    return [changes, touched] if touched else [changes]


_SHORT = {"f": "source", "p": "path", "t": "to", "c": "captured", "x": "exploded", "b": "blocked"}


def _touched_data(touched: Touched, columns: int) -> dict[str, list[int]]:
    squares = {key: [r * columns + c for r, c in getattr(touched, name)] for key, name in _SHORT.items()}
    straight = len(squares["f"]) == len(squares["t"]) == 1
    data = {key: numbers for key, numbers in squares.items() if numbers and key != "p"}
    if squares["p"] != (squares["f"] + squares["t"] if straight else []):
        data["p"] = squares["p"]
    return data
