"""Random games as replays, with the positions that the engine went through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from getstep.replay import Replay, ReplayTurn
from getstep_engines import GAMES, State

Boards = list[list[list[int]]]


@contextmanager
def not_installed(name: str) -> Iterator[None]:
    """Take a game out of the registry, and put it back at its place."""
    games = GAMES._own
    GAMES._own = tuple(other for other in games if other != name)
    try:
        yield
    finally:
        GAMES._own = games


def random_move(state: State, dice: Random) -> Any:
    return dice.choice(list(state.legal_moves()))


def played_replay(
    name: str,
    seed: int,
    *,
    move: Callable[[State, Random], Any] = random_move,
    faults: float = 0.0,
    names: tuple[str, str] = ("Ada", "Blaise"),
) -> tuple[Replay, Boards]:
    """Return a whole game and its boards: the start, then the one after each turn.

    Args:
        name: of the game.
        seed: of the dice.
        move: chooses a move.
        faults: how often a turn gets the penalty.
        names: of the players.
    """
    game, dice = GAMES[name], Random(seed)
    state = game.start()
    turns: list[ReplayTurn] = []
    boards = [game.view(state)]
    while state.outcome is None:
        player, seconds = state.to_move, dice.expovariate(20)
        if dice.random() < faults:
            reason = "no answer within 5 s"
            turns.append(ReplayTurn(player, "fault", code="missed_limit", reason=reason, seconds=5.0))
            state.fault()
        else:
            chosen = move(state, dice)
            turns.append(ReplayTurn(player, move=chosen, seconds=seconds))
            state.play(chosen)
        boards.append(game.view(state))
        turns += [ReplayTurn(passed, "pass") for passed in state.passed]
        boards += [game.view(state)] * len(state.passed)
    whole = Replay(
        game=game,
        rules=name,
        names=names,
        turns=turns,
        limit=game.time_control,
        title="match 7",
        result=f"{names[state.outcome.winner or 0]} wins",
        reason=state.outcome.reason,
    )
    return whole, boards


def decoded(game: dict[str, Any]) -> Boards:
    """Return the boards in a replay's data, read by the description in `getstep.replay._data`."""
    board = game["start"]
    boards = [board]
    for turn in game["turns"]:
        for step in turn.get("s", ()):
            board = changed(board, step[0])
        boards.append(board)
    return boards


def with_texts(game: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turns of a replay's data, with the texts that are stored once at their places."""

    def text(one: str | int) -> str:
        return game["texts"][one] if type(one) is int else str(one)

    def whole(turn: dict[str, Any]) -> dict[str, Any]:
        texts: dict[str, Any] = {key: text(turn[key]) for key in ("m", "c", "w") if key in turn}
        return {**turn, **texts, **({"n": list(map(text, turn["n"]))} if "n" in turn else {})}

    return list(map(whole, game["turns"]))


def changed(board: Sequence[Sequence[int]], changes: Sequence[int]) -> list[list[int]]:
    rows = [list(row) for row in board]
    for square, value in zip(changes[::2], changes[1::2], strict=True):
        rows[square // len(rows[0])][square % len(rows[0])] = value
    return rows
