"""The score of a duel: what is counted, what is said of it, and when not to believe it."""

from __future__ import annotations

from itertools import count
from math import inf
from random import Random

import pytest

from getstep_engines import Player
from getstep_server.formats.duel import DuelOptions
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.tournament.duel_score import DuelScore, copied_pairs
from getstep_server.validation import validated

A, B = 7, 3
NUMBERS = count(1)


def result(pair: int, leg: int, winner: int | None, faults: tuple[int, int] = (0, 0)) -> Result:
    """Team A is first in odd legs; ``winner`` is a team."""
    teams = (A, B) if leg % 2 else (B, A)
    match = Match(next(NUMBERS), pair, pair, leg, *teams, "hop")
    player: Player | None = None if winner is None else 0 if winner == teams[0] else 1
    return Result(match, player, "finished", "", (0, 0), 40, (0.1, 0.1), faults, 0.0, 1.0)


def score_after(*pairs: tuple[int | None, int | None], **options: float) -> DuelScore:
    score = DuelScore(validated(DuelOptions, options), (A, "one"), "other")
    for number, winners in enumerate(pairs, start=1):
        for leg, winner in enumerate(winners, start=1):
            score.take(result(number, leg, winner))
    return score


def test_a_team_is_counted_whichever_colour_it_has() -> None:
    score = score_after((A, A), (A, B), (B, None), (None, None))
    assert score.over == [("win", "win"), ("win", "loss"), ("loss", "draw"), ("draw", "draw")]
    assert score.line().startswith("4 pairs: 3 won, 3 drawn, 2 lost (56.2%), Elo +44 [")


def test_a_pair_is_over_with_its_second_game_in_any_order() -> None:
    score = DuelScore(DuelOptions(at_once=2), (A, "one"), "other")
    assert [score.take(result(pair, leg, A)) for pair, leg in [(2, 1), (1, 2), (2, 2), (1, 1)]] == [
        False,
        False,
        True,
        True,
    ]


def test_the_test_counts_each_pair_once_and_in_order_and_one_that_is_played_again_anew() -> None:
    dice = Random(4)
    options = DuelOptions(at_once=9, pairs=60, elo0=0, elo1=100)
    score, winners = DuelScore(options, (A, "one"), "other"), dict[tuple[int, int], int | None]()
    games = [(pair, leg) for pair in range(1, 61) for leg in (1, 2)]
    dice.shuffle(games)
    for pair, leg in [*games, *dice.sample(games, 20)]:
        winners[pair, leg] = dice.choice([A, A, B, None])
        score.take(result(pair, leg, winners[pair, leg]))
        said = {A: "win", B: "loss", None: "draw"}
        legs = [[winners.get((number, leg), 0) for leg in (1, 2)] for number in range(1, 61)]
        expected = options.test(None if 0 in (a, b) else (said[a], said[b]) for a, b in legs)
        test = score.test()
        assert test is not None
        assert expected is not None
        assert (test.counts, test.llr, test.verdict) == (expected.counts, expected.llr, expected.verdict)
    last = score.test()
    assert last is not None
    assert sum(last.counts) == 60


def test_the_score_waits_for_a_running_pair() -> None:
    score = DuelScore(DuelOptions(at_once=2, elo0=0, elo1=100), (A, "one"), "other")
    for pair, leg in [(1, 1), (2, 1), (2, 2)]:
        score.take(result(pair, leg, A))
    test = score.test()
    assert test is not None
    assert (score.over, test.counts, test.llr) == ([("win", "win")], (0,) * 5, 0)
    assert "1 pair: 2 won" in score.line()
    score.take(result(1, 2, A))
    test = score.test()
    assert test is not None
    assert test.counts == (0, 0, 0, 0, 2)


def test_before_the_first_pair() -> None:
    score = score_after(elo0=0, elo1=100)
    assert score.elo is None
    assert score.line() == "0 pairs: 0 won, 0 drawn, 0 lost (0.0%), LLR 0.00 [-2.94, 2.94]"
    assert score.verdict() == "Not decided after 0 pairs: the LLR is still between its bounds."
    assert score_after(pairs=1).verdict() == "0 of 1 pair played."


@pytest.mark.parametrize(("winner", "sign"), [(A, 1), (B, -1)])
def test_a_team_that_wins_all_has_an_infinite_elo(winner: int, sign: int) -> None:
    score = score_after(*[(winner, winner)] * 10)
    assert score.elo is not None
    assert score.elo.value == sign * inf
    near = score.elo.low if sign > 0 else score.elo.high
    assert sign * near == pytest.approx(269, abs=1)
    assert score.line().endswith("Elo +∞ [+269, +∞]" if sign > 0 else "Elo -∞ [-∞, -269]")


@pytest.mark.parametrize(
    ("elo0", "elo1", "winner", "said"),
    [
        (
            0,
            50,
            A,
            "H1 after 40 pairs: one is stronger than other (+50 Elo rather than +0; 5% of such",
        ),
        (0, 50, B, "H0 after 40 pairs: one is not stronger than other (+0 Elo rather than +50;"),
        (-30, 30, A, "H1 after 40 pairs: one is not weaker than other (+30 Elo rather than -30;"),
        (-30, 30, B, "H0 after 40 pairs: one is not stronger than other (-30 Elo rather than +30;"),
        (100, 200, B, "H0 after 40 pairs: one is not much stronger than other (+100 Elo rather than +200;"),
        (100, 200, A, "H1 after 40 pairs: one is stronger than other (+200 Elo rather than +100;"),
        (-200, -100, A, "H1 after 40 pairs: one is not much weaker than other (-100 Elo rather than -200;"),
        (-200, -100, B, "H0 after 40 pairs: one is weaker than other (-200 Elo rather than -100;"),
    ],
)
def test_a_verdict_in_words(elo0: float, elo1: float, winner: int, said: str) -> None:
    assert score_after(*[(winner, winner)] * 40, elo0=elo0, elo1=elo1).verdict().startswith(said)


def test_faults_are_counted_by_team() -> None:
    score = DuelScore(DuelOptions(), (A, "one"), "other")
    score.take(result(1, 1, B, (3, 1)))
    score.take(result(1, 2, B, (0, 5)))
    assert score.faults == {A: 8, B: 1}


def played(pairs: int, different: int) -> tuple[dict[int, object], dict[int, Match]]:
    """Return the games of a duel with this many pairs, of which this many are different from each other."""
    matches = {m.number: m for n in range(pairs) for leg in (1, 2) for m in [result(n + 1, leg, A).match]}
    games: dict[int, object] = {n: ([m.leg, m.pairing % different], "moves") for n, m in matches.items()}
    return games, matches


@pytest.mark.parametrize(("pairs", "different"), [(2, 1), (30, 1), (30, 15)])
def test_pairs_that_are_copies_are_warned_of(pairs: int, different: int) -> None:
    few = "1 pair" if different == 1 else f"{different} pairs"
    warning = copied_pairs(*played(pairs, different))
    assert warning is not None
    assert warning.startswith(f"All {pairs} pairs are copies of {few}, move for move.")


@pytest.mark.parametrize(("pairs", "different"), [(1, 1), (3, 2), (30, 16), (30, 30)])
def test_pairs_that_vary_are_not(pairs: int, different: int) -> None:
    assert copied_pairs(*played(pairs, different)) is None


def test_a_pair_that_is_not_over_is_no_copy() -> None:
    games, matches = played(2, 1)
    games.popitem()
    assert copied_pairs(games, matches) is None


def test_the_interval_gets_narrower() -> None:
    dice, widths = Random(1), []
    pairs = [(dice.choice((A, B)), dice.choice((A, B))) for _ in range(400)]
    for shown in (25, 100, 400):
        elo = score_after(*pairs[:shown]).elo
        assert elo is not None
        widths.append(elo.high - elo.low)
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.2)
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.2)
