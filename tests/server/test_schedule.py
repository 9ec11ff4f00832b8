"""The schedule: every pair twice, colours swapped, nobody twice in a round, the same seed the same schedule."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep_server.schedule import circle, double_round_robin

TEAMS = st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=64, unique=True)


@given(TEAMS, st.integers(0, 2**63 - 1))
def test_every_pair_meets_twice_with_colours_swapped(teams: list[int], seed: int) -> None:
    matches = double_round_robin(teams, seed, "hop", {})
    wanted = Counter((a, b) for a in teams for b in teams if a != b)
    assert Counter(match.teams for match in matches) == wanted
    assert [match.number for match in matches] == list(range(1, len(matches) + 1))
    assert all(match.leg == 1 or match.leg == 2 for match in matches)
    pairings = Counter((match.pairing, match.leg) for match in matches)
    assert set(pairings.values()) == {1}


@given(TEAMS, st.integers(0, 2**63 - 1))
def test_nobody_plays_twice_in_a_round(teams: list[int], seed: int) -> None:
    busy = Counter((m.round, team) for m in double_round_robin(teams, seed, "hop", {}) for team in m.teams)
    assert set(busy.values()) == {1}


@given(TEAMS)
def test_first_places_are_balanced_within_the_first_half(teams: list[int]) -> None:
    firsts = Counter(a for pairs in circle(teams) for a, _ in pairs)
    seconds = Counter(b for pairs in circle(teams) for _, b in pairs)
    assert all(abs(firsts[team] - seconds[team]) <= 1 for team in teams)


@given(TEAMS, st.integers(0, 2**63 - 1))
def test_the_seed_and_the_teams_alone_decide(teams: list[int], seed: int) -> None:
    assert double_round_robin(teams, seed, "hop", {}) == double_round_robin(teams[::-1], seed, "hop", {})


def test_another_seed_gives_another_order() -> None:
    orders = {tuple(m.teams for m in double_round_robin(range(8), seed, "hop", {})) for seed in range(10)}
    assert len(orders) == 10


@pytest.mark.parametrize(("teams", "rounds"), [(2, 1), (3, 3), (4, 3), (7, 7), (8, 7)])
def test_the_circle_has_as_few_rounds_as_possible(teams: int, rounds: int) -> None:
    assert len(circle(range(teams))) == rounds
