"""Random games as replays, with the positions that the engine went through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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


def noted(replay: Replay) -> Replay:
    """Return a replay in which the bots note something of every kind in each turn, on squares of the board."""
    assert replay.game is not None
    board = replay.game.view(replay.game.start(**replay.options))
    dice = Random(1)
    level = [0.0, 0.0]

    def square() -> list[int]:
        return [dice.randrange(len(board)), dice.randrange(len(board[0]))]

    def notes(number: int, turn: ReplayTurn) -> dict[str, Any]:
        level[turn.player] = max(-1.0, min(1.0, level[turn.player] + dice.uniform(-0.15, 0.15)))
        row, column = dice.randrange(len(board) - 1), dice.randrange(len(board[0]) - 1)
        area = [number for r in range(2) for c in range(2) for number in (row + r, column + c)]
        return {
            "say": f"I have looked at {dice.randrange(4000)} positions.\nThe corner is worth more than the middle.",
            "estimate": round(level[turn.player], 2),
            "draw": [
                *(["mark", square(), f"{dice.random():.2f}", None] for _ in range(4)),
                ["mark", [*square(), *square()], None, "yellow"],
                ["arrow", [*square(), *square(), *square()], "plan", "purple"],
                ["region", area, "mine", "green"],
                ["domino", [row, column, row + 1, column], None, "red"],
            ],
            "tags": ["opening" if number < 10 else "middle-game"],
            "output": f"depth {number % 9}\nnodes {dice.randrange(10**6)}",
        }

    turns = [
        replace(turn, notes=notes(n, turn)) if turn.kind == "move" else turn
        for n, turn in enumerate(replay.turns, 1)
    ]
    return replace(replay, turns=turns)
