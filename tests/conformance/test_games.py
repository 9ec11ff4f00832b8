"""`getstep_conformance.games`: our games pass its checks, and each check finds the mistake that it is for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getstep import wire
from getstep_conformance import games as checks
from getstep_conformance.games import CHECKS, check_game
from getstep_engines import GAMES, Game, IllegalMove, Look, Move, MoveForm, Option, Outcome, Player
from getstep_engines.look import Piece
from getstep_engines.pseudo_tonga import PseudoTongaState
from tests.support.quick import quick

ROOT = Path(__file__).parents[2]
TONGA = GAMES["pseudo_tonga"]


@pytest.mark.parametrize("name", quick(GAMES, ["hop", "linkage"]))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_our_games_pass(name: str, check: Callable[[Game], None]) -> None:
    check(GAMES[name])


def test_all_checks_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    named = [value for name, value in vars(checks).items() if name.startswith("check_") and value is not check_game]
    assert list(CHECKS) == named
    ran: list[Game] = []
    monkeypatch.setattr(checks, "CHECKS", (ran.append, ran.append))
    check_game(TONGA)
    assert ran == [TONGA, TONGA]


def test_the_bounds_are_those_of_the_protocol() -> None:
    assert checks.MOST_SIDE == wire.MAX_ARRAY


def broken(**methods: Any) -> Game:
    """Return pseudo_tonga on 6×6 with other methods in its state."""
    kind = type("BrokenState", (PseudoTongaState,), {"__slots__": (), **methods})
    return dataclasses.replace(
        TONGA,
        _start=lambda size: kind(size, (0, 0), 0),
        options={"size": Option("size", 6, 6, 6, 2, "the size")},
    )


def raising(self: PseudoTongaState, move: Move) -> None:
    PseudoTongaState.play(self, move if isinstance(move, (list, tuple)) else [*move])


def forgetful(self: PseudoTongaState, move: Move) -> None:
    self.to_move = 1 - self.to_move  # type: ignore[assignment]  # 1 minus a player is a player
    PseudoTongaState.play(self, move)


MISTAKES: dict[str, tuple[Callable[[Game], None], Game, str]] = {
    "no rules": (checks.check_fields, dataclasses.replace(TONGA, rules=""), "rules is empty"),
    "a name with a space": (checks.check_fields, dataclasses.replace(TONGA, name="a b"), "name is 'a b'"),
    "another form": (
        checks.check_moves,
        dataclasses.replace(TONGA, move_form=MoveForm("a path", ("path",))),
        "does not have the form",
    ),
    "a legal move refused": (checks.check_moves, broken(is_legal=lambda self, move: False), "is_legal"),
    "a shared copy": (checks.check_copies, broken(copy=lambda self: self), "changes a copy"),
    "a TypeError": (checks.check_hostile_moves, broken(play=raising), "expected IllegalMove"),
    "a change by an illegal move": (checks.check_hostile_moves, broken(play=forgetful), "changes the position"),
    "a legal move that play refuses": (
        checks.check_hostile_moves,
        broken(is_legal=lambda self, move: True),
        "although is_legal is True",
    ),
    "an estimate out of range": (checks.check_estimates, broken(estimate=lambda self: 2.0), "expected -1 to 1"),
    "a constant estimate": (checks.check_estimates, broken(estimate=lambda self: 0.0), "is the same"),
    "a fault without effect": (checks.check_faults, broken(fault=lambda self: None), "in alternation"),
    "a fault after the end": (
        checks.check_ends,
        broken(fault=lambda self: None),
        "works after the end",
    ),
    "no winner": (
        checks.check_ends,
        broken(_result=lambda self: Outcome(None, (1, 2), "because")),
        "the higher score wins",
    ),
    "a board with rows of two lengths": (
        checks.check_boards,
        broken(board=lambda self: [[0], [0, 0]]),
        "a board has 2 rows; expected 1 to 128 lists",
    ),
    "a shared board": (
        checks.check_from_board,
        broken(board=lambda self, board=[[0] * 6 for _ in range(6)]: board),
        "reads another board|from_board",
    ),
    "another board read": (
        checks.check_from_board,
        dataclasses.replace(TONGA, _from_board=lambda board, to_move: TONGA.start()),
        "from_board reads another board",
    ),
    "a board that is accepted": (
        checks.check_wrong_boards,
        dataclasses.replace(TONGA, _from_board=lambda board, to_move: TONGA.start()),
        "accepts it; expected ValueError",
    ),
    "a wrong limit of turns": (checks.check_fields, dataclasses.replace(TONGA, turn_limit=0), "turn_limit is 0"),
    "a game longer than its limit": (
        checks.check_ends,
        dataclasses.replace(TONGA, turn_limit=30),
        "has 64 turns, passes included; turn_limit is 30",
    ),
    "no piece": (checks.check_look, dataclasses.replace(TONGA, look=Look(pieces={})), "no piece for the values"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_and_named(mistake: str) -> None:
    check, game, message = MISTAKES[mistake]
    with pytest.raises(AssertionError, match=message):
        check(game)


class NearState(PseudoTongaState):
    """A position of pseudo_tonga with a rule more: a stone beside the last one gives a hidden point."""

    __slots__ = ("last", "near")

    last: tuple[int, int] | None
    near: tuple[int, int]

    @classmethod
    def at(cls, size: int, pieces: tuple[int, int], to_move: Player) -> NearState:
        state = cls(size, pieces, to_move)
        state.last, state.near = None, (0, 0)
        return state

    @classmethod
    def read(cls, board: Any, to_move: Player) -> NearState:
        position = TONGA.from_board(board, to_move == 0)
        assert isinstance(position, PseudoTongaState)
        return cls.at(position.size, position.pieces, to_move)

    def play(self, move: Move) -> None:
        player, before = self.to_move, (self.last, self.near)
        row, column = move if self.is_legal(move) else (0, 0)
        if self.last and abs(row - self.last[0]) + abs(column - self.last[1]) == 1:
            self.near = (self.near[0] + (player == 0), self.near[1] + (player == 1))
        self.last = (row, column)
        try:
            super().play(move)
        except IllegalMove:
            self.last, self.near = before
            raise

    def copy(self) -> NearState:
        twin = super().copy()
        twin.last, twin.near = self.last, self.near
        return twin

    def _result(self) -> Outcome:
        black, white = (a + b for a, b in zip(super()._result().scores, self.near, strict=True))
        winner: Player | None = None if black == white else 0 if black > white else 1
        return Outcome(winner, (black, white), f"Black has {black} points, White {white}")


def near(**fields: Any) -> Game:
    """Return the game of `NearState` on 6×6."""
    return dataclasses.replace(
        TONGA,
        _start=lambda size: NearState.at(size, (0, 0), 0),
        _from_board=NearState.read,
        options={"size": Option("size", 6, 6, 6, 2, "the size")},
        **fields,
    )


def test_state_that_the_board_does_not_show_is_found_by_its_check_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "GAMES_EACH", 2)
    failed = {}
    for check in CHECKS:
        try:
            check(near())
        except AssertionError as error:
            failed[check] = str(error)
    assert list(failed) == [checks.check_from_board]
    message = failed[checks.check_from_board]
    assert "has another outcome: Outcome(" in message
    assert "give what is hidden a value of its own on the board, or a row of its own" in message
    ((page, heading),) = re.findall(r" See (\S+), (.+); the position is$", message, re.MULTILINE)
    assert f"\n## {heading}\n" in (ROOT / page).read_text(encoding="utf-8")


class ShownState(NearState):
    """The same game as its message asks for: one more row of the board has what was hidden."""

    __slots__ = ()

    def board(self) -> list[list[int]]:
        last = 0 if self.last is None else 1 + self.last[0] * 6 + self.last[1]
        return [*super().board(), [*self.near, last, 0, 0, 0]]

    def __str__(self) -> str:
        return "\n".join(" ".join(map(str, row)) for row in self.board())

    @classmethod
    def read(cls, board: Any, to_move: Player) -> NearState:
        if not isinstance(board, list) or len(board) != 7 or not isinstance(board[6], list) or len(board[6]) != 6:
            raise ValueError("expected 7 rows of 6 cells")
        state = super().read(board[:6], to_move)
        first, second, last = board[6][:3]
        state.near, state.last = (first, second), divmod(last - 1, 6) if last else None
        return state


def test_what_the_message_asks_for_passes_all_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "GAMES_EACH", 2)
    start = [[0] * 6] * 7
    check_game(
        dataclasses.replace(
            near(),
            _start=lambda size: ShownState.read(start, 0),
            _from_board=ShownState.read,
            look=Look({**TONGA.look.pieces, **{n: Piece(f"{n}", "square", colour="grey") for n in range(3, 37)}}),
        )
    )


def test_only_the_end_by_the_limit_of_turns_may_differ() -> None:
    hop = GAMES["hop"]
    assert hop.turn_limit == 400
    with pytest.raises(AssertionError, match="has another outcome: None; expected Outcome"):
        checks.check_from_board(dataclasses.replace(hop, turn_limit=None))


def test_a_game_without_an_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_TURNS", 10)
    with pytest.raises(AssertionError, match="not over after 10 turns"):
        checks.check_turns(broken())


def test_a_refusal_without_a_message_is_found() -> None:
    def play(self: PseudoTongaState, move: Move) -> None:
        try:
            PseudoTongaState.play(self, move)
        except IllegalMove:
            raise IllegalMove from None

    with pytest.raises(AssertionError, match="has 0 characters"):
        checks.check_hostile_moves(broken(play=play))
