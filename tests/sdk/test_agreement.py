"""Matches that the estimates of both bots end: the rule, its place in the state of a match, and its check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import getstep
from getstep import cli
from getstep._errors import SetupError
from getstep.adjudication import AgreementCheck
from getstep.local_matches import Results
from getstep.referee import AGREED, Agreement, Estimates, MatchState, moved
from getstep_engines import GAMES, TimeControl

Noted = tuple[int, float | None]
"""A player and the estimate of its move."""

BOTH_SAY_FIRST: list[Noted] = [(0, 0.95), (1, -0.95)]


def move(player: int, estimate: float | None) -> dict[str, Any]:
    notes = {} if estimate is None else {"notes": {"estimate": estimate}}
    return {"player": player, "move": [0, 0], "ms": 1.0, **notes}


def moves(noted: Sequence[Noted]) -> list[dict[str, Any]]:
    return [move(player, estimate) for player, estimate in noted]


def first_agreed(rule: Agreement, turns: Sequence[dict[str, Any]]) -> tuple[int, int | None] | None:
    """Return after how many turns the estimates agree, and the winner; None if they do not."""
    estimates = Estimates(rule)
    for number, turn in enumerate(turns, start=1):
        if (agreed := estimates.note(turn)) is not None:
            return number, agreed.winner
    return None


@pytest.mark.parametrize(
    ("rule", "noted", "expected"),
    [
        (Agreement(0.9, agree=2), BOTH_SAY_FIRST * 2, (4, 0)),
        (Agreement(0.9, agree=2), [(0, -0.9), (1, 0.9)] * 2, (4, 1)),
        (Agreement(0.9, agree=3), BOTH_SAY_FIRST * 2, None),
        (Agreement(0.9, agree=1), [(0, 1.0), (1, -0.89), (0, 1.0), (1, 0.0)], None),
        (Agreement(0.9, agree=1), [(0, 1.0), (1, 1.0)] * 9, None),  # both expect to win
        (Agreement(0.9, agree=1), [(0, 1.0), (1, None)] * 9, None),  # one alone decides nothing
        (Agreement(0.9, agree=2), [*BOTH_SAY_FIRST, (0, None), (1, -1.0), (0, 1.0), (1, -1.0)], None),
        (Agreement(0.9, agree=2), [*BOTH_SAY_FIRST, (0, 0.5), *BOTH_SAY_FIRST, (0, 0.9)], (6, 0)),
        (Agreement(draw=0.1, agree=2), [(0, 0.1), (1, -0.1)] * 2, (4, None)),
        (Agreement(draw=0.1, agree=2), [(0, 0.11), (1, -0.1)] * 9, None),
        (Agreement(draw=0.1, agree=2, draw_from=7), [(0, 0.0), (1, 0.0)] * 9, (7, None)),
        (Agreement(0.9, 0.1, agree=2), [(0, 0.0), (1, 0.0), *BOTH_SAY_FIRST * 2], (6, 0)),
        (Agreement(0.9, agree=1), [(0, 0.0), (1, 0.0)] * 9, None),  # without a rule for draws
        (Agreement(draw=0.1, agree=1), BOTH_SAY_FIRST * 9, None),
    ],
)
def test_the_estimates_of_both_bots_decide(
    rule: Agreement, noted: Sequence[Noted], expected: tuple[int, int | None] | None
) -> None:
    assert first_agreed(rule, moves(noted)) == expected


@pytest.mark.parametrize("fault", ["illegal_move", "missed_limit"])
def test_a_fault_begins_the_count_of_its_bot_again(fault: str) -> None:
    interrupted = {"player": 0, "fault": fault, "ms": 1.0, "notes": {"estimate": 1.0}}
    turns = [*moves(BOTH_SAY_FIRST), interrupted, *moves([(1, -1.0), (0, 1.0), (1, -1.0)])]
    assert first_agreed(Agreement(0.9, agree=2), turns) is None
    assert first_agreed(Agreement(0.9, agree=2), [*turns, move(0, 1.0)]) == (7, 0)


def test_a_pass_is_no_turn() -> None:
    passed = {"player": 1, "pass": True}
    turns = [move(0, 1.0), move(1, -1.0), move(0, 1.0), passed, move(0, 1.0), move(1, -1.0)]
    assert first_agreed(Agreement(0.9, agree=2), turns) == (6, 0)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "neither resign nor draw"),
        ({"resign": 0.0}, "resign = 0.0, expected more than 0"),
        ({"resign": 1.1}, "resign = 1.1"),
        ({"resign": float("nan")}, "resign = nan"),
        ({"draw": -0.1}, "draw = -0.1"),
        ({"draw": 1.0}, "draw = 1.0"),
        ({"resign": 0.5, "draw": 0.5}, "draw = 0.5, expected at least 0 and less than 0.5"),
        ({"resign": 0.5, "agree": 0}, "agree = 0"),
        ({"resign": 0.5, "draw_from": -1}, "draw_from = -1"),
    ],
)
def test_values_out_of_range_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Agreement(**values)


def test_the_same_turns_end_a_match_when_it_is_played_and_when_it_is_read() -> None:
    def begun() -> MatchState:
        rule, control = Agreement(0.9, agree=2), TimeControl("budget", 5.0)
        return MatchState(GAMES["pseudo_tonga"], {"size": 6}, control, 0.1, agreement=rule)

    played, turns = begun(), []
    while played.outcome is None:
        player = played.state.to_move
        turn = moved(played, next(iter(played.state.legal_moves())), {"ms": 1.0, "timed": "kernel"})
        turns.append({**turn, "notes": {"estimate": -1.0 if player == 0 else 1.0}})
        played.note(turns[-1])
    assert (len(turns), played.outcome.winner, played.outcome.reason) == (4, 1, AGREED)
    assert played.outcome.detail == "both bots' estimates of 2 moves say that White wins"
    assert played.outcome.scores is not None  # those of a penalty: a difference of scores says who has won
    assert played.outcome.scores[1] > played.outcome.scores[0]
    read = begun()
    for turn in turns:
        read.apply(turn)
    assert read.outcome == played.outcome
    with pytest.raises(ValueError, match="the match is over"):
        read.apply(turns[0])


def test_the_check_counts_what_would_have_been_wrong() -> None:
    check = AgreementCheck(Agreement(0.9, 0.1, agree=1))
    more = [move(0, None), move(1, None)]
    check.add([*moves(BOTH_SAY_FIRST), *more], 0)
    check.add([*moves(BOTH_SAY_FIRST), *more], 1)
    check.add([*moves(BOTH_SAY_FIRST), *more], None)
    check.add([*moves([(0, 0.0), (1, 0.0)]), *more], None)
    check.add([*moves([(0, 0.0), (1, 0.0)]), *more], 1)
    check.add(moves(BOTH_SAY_FIRST), 1)  # the game was over with that turn: nothing was decided early
    assert check.lines() == [
        "Estimates would have ended 5 of 6 games, and saved 45% of the turns.",
        "As won: 3, wrong in 2 (67 %, 95 % interval 21 to 94 %)",
        "As drawn: 2, wrong in 1 (50 %, 95 % interval 9 to 91 %)",
    ]


# --- practice ---------------------------------------------------------------------------------------------------


def sure(board: list[list[int]], is_black: bool, turn: getstep.Turn) -> Any:
    """Plays the first legal move, and expects that Black wins."""
    getstep.estimate(1.0 if is_black else -1.0)
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def silent(board: list[list[int]], is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def play(other: Any = sure, **more: Any) -> Results:
    agreement = {"resign": 0.95, "agree": 3}
    more = {"options": {"size": 6}, "seed": 1, "quiet": True, "agreement": agreement, **more}
    return getstep.practice(sure, "pseudo_tonga", other, games=2, **more)


def test_practice_ends_games_that_both_bots_agree_about() -> None:
    results = play()
    assert [(len(match.turns), match.result) for match in results.matches] == [(6, "won"), (6, "lost")]
    assert "The estimates of both bots ended 2 of 2 games." in str(results)
    assert results.faults == []


def test_one_bot_alone_ends_no_game_of_practice() -> None:
    assert all(len(match.turns) > 6 for match in play(silent).matches)


def test_practice_plays_on_and_says_how_often_it_would_have_been_wrong() -> None:
    results = play(play_on=True)
    assert all(len(match.turns) > 6 for match in results.matches)
    wrong = sum(match.outcome.winner != 0 for match in results.matches if match.outcome)
    assert "Estimates would have ended 2 of 2 games, and saved" in str(results)
    assert f"As won: 2, wrong in {wrong} (" in str(results)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"agreement": {"resign": 2.0}}, "resign = 2.0"),
        ({"agreement": None, "play_on": True}, "play_on checks an agreement"),
    ],
)
def test_practice_refuses_what_does_not_fit(more: dict[str, Any], says: str) -> None:
    with pytest.raises(SetupError, match=says):
        play(**more)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--agree", "3"], "--agree needs --resign or --draw"),
        (["--play-on"], "--play-on needs --resign or --draw"),
        (["--resign", "0.9", "--draw-from", "3"], "--draw-from is for --draw"),
        (["--resign", "1.5"], "--resign = 1.5, expected more than 0"),
        (["--resign", "0.9", "--human"], "leave out --human"),
    ],
)
def test_the_command_refuses_what_does_not_fit(
    flags: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["practice", "my_bot.py", "--game", "hop", *flags]) == cli.USAGE
    assert says in capsys.readouterr().err
