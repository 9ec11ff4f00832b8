"""The match queue: no team exceeds its seats or is idle if it could play, and all matches are played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.schedule import PACES, SEATS, Contest, ratio
from getstep_server.records.match import Match
from getstep_server.tournament.match_queue import MatchQueue
from tests.support.servers import round_robin


def match(number: int, first: int, second: int) -> Match:
    return Match(number, 1, number, 1, first, second, "hop")


def pairs(matches: list[Match]) -> list[tuple[int, int]]:
    return [match.teams for match in matches]


PAIRINGS = st.lists(
    st.tuples(st.integers(1, 7), st.integers(1, 7)).filter(lambda teams: teams[0] != teams[1]), max_size=60
)
SEATS_OF = st.fixed_dictionaries({team: st.integers(1, 3) for team in range(1, 8)})


def some_ready(seats: dict[int, int], dice: Random) -> dict[int, int]:
    """Teams come and go, and so do some of their seats."""
    return {team: dice.randint(0, count) for team, count in seats.items() if dice.random() < 0.7}


def play_all(pairings: list[tuple[int, int]], seats: dict[int, int], dice: Random) -> Iterator[Match]:
    """Play by chance, with what must hold after each decision; the matches in the order of their starts."""
    matches = [match(number, *teams) for number, teams in enumerate(pairings, start=1)]
    dice.shuffle(matches)
    later = matches[: len(matches) // 3]
    order, left, playing = MatchQueue(matches[len(later) :]), set(matches[len(later) :]), list[Match]()
    while left or later or playing:
        if later and dice.random() < 0.2:
            new = [later.pop()]
            order.add(new)
            left.update(new)
        ready = seats if dice.random() < 0.5 else some_ready(seats, dice)
        before = Counter(team for one in playing for team in one.teams)
        for one in order.take(ready):
            left.remove(one)
            playing.append(one)
            yield one
        busy = Counter(team for one in playing for team in one.teams)
        assert all(busy[team] <= max(before[team], ready.get(team, 0)) for team in seats)
        spare = {team for team, count in ready.items() if busy[team] < count}
        assert not [one for one in left if spare.issuperset(one.teams)]
        assert len(order) == len(left)
        assert order.playing == tuple(playing)
        assert all(order.waiting(team) == sum(team in one.teams for one in left) for team in seats)
        if playing:
            over = playing.pop(dice.randrange(len(playing)))
            order.release(over)
            if dice.random() < 0.1:
                order.add([over])
                left.add(over)


@given(PAIRINGS, SEATS_OF, st.integers(0, 2**32))
def test_teams_play_whenever_they_can_until_all_is_played(
    pairings: list[tuple[int, int]], seats: dict[int, int], seed: int
) -> None:
    started = list(play_all(pairings, seats, Random(seed)))
    assert {one.number for one in started} == set(range(1, len(pairings) + 1))
    assert list(play_all(pairings, seats, Random(seed))) == started


@pytest.mark.parametrize("teams", [2, 4, 10, 40])
def test_a_round_robin_begins_with_its_first_round(teams: int) -> None:
    matches = round_robin(range(teams))
    taken = MatchQueue(matches).take(dict.fromkeys(range(teams), 1))
    assert {one.number for one in taken} == {one.number for one in matches if one.round == 1}


def test_the_team_with_most_matches_left_goes_first() -> None:
    order = MatchQueue(
        [match(1, 1, 2), match(2, 3, 4), match(3, 3, 1), match(4, 3, 5), match(5, 4, 5), match(6, 5, 6)]
    )
    one_each = dict.fromkeys(range(1, 7), 1)
    assert pairs(order.take(one_each)) == [(3, 5), (1, 2)]  # 3 and 5 have three matches each, 4 has nobody else


def test_matches_left_are_counted_per_seat() -> None:
    matches = [match(1, 1, 2), match(2, 1, 2), match(3, 1, 2), match(4, 3, 2), match(5, 3, 4)]
    assert pairs(MatchQueue(matches).take({1: 1, 2: 1, 3: 1, 4: 1})) == [(1, 2), (3, 4)]
    assert pairs(MatchQueue(matches).take({1: 4, 2: 1, 3: 1})) == [(3, 2)]


def test_two_seats_play_at_once_also_against_the_same_team() -> None:
    order = MatchQueue([match(1, 1, 2), match(2, 2, 1), match(3, 1, 2)])
    assert pairs(order.take({1: 2, 2: 2})) == [(1, 2), (2, 1)]
    assert order.take({1: 2, 2: 2}) == []
    order.release(match(2, 2, 1))
    assert pairs(order.take({1: 2, 2: 2})) == [(1, 2)]


def test_a_team_that_lost_a_seat_finishes_what_it_plays() -> None:
    order = MatchQueue([match(1, 1, 2), match(2, 1, 3), match(3, 1, 4)])
    first, second = order.take({1: 2, 2: 1, 3: 1, 4: 1})
    order.release(first)
    assert order.take({1: 1, 2: 1, 3: 1, 4: 1}) == []
    order.release(second)
    assert pairs(order.take({1: 1, 2: 1, 3: 1, 4: 1})) == [(1, 4)]


def test_a_team_that_comes_back_is_considered_again() -> None:
    order = MatchQueue([match(1, 1, 2), match(2, 2, 3)])
    assert order.take({1: 1, 3: 1}) == []
    assert pairs(order.take({1: 1, 2: 1, 3: 1})) == [(1, 2)]


def test_a_new_match_of_idle_teams_starts() -> None:
    order = MatchQueue([match(1, 1, 9), match(2, 2, 9)])
    assert order.take({1: 1, 2: 1}) == []
    order.add([match(3, 1, 2)])
    assert pairs(order.take({1: 1, 2: 1})) == [(1, 2)]


def test_a_waiting_team_is_preferred_if_it_has_more_left() -> None:
    absent = [match(number, 1, 8) for number in (4, 5, 6)] + [match(number, 3, 9) for number in (7, 8)]
    order = MatchQueue([match(1, 1, 2), match(2, 1, 2), match(3, 1, 3), *absent])
    (first,) = order.take({1: 1, 2: 1})
    assert order.take({1: 1, 2: 1, 3: 1}) == []
    order.release(first)
    assert pairs(order.take({1: 1, 2: 1, 3: 1})) == [(1, 3)]


def test_a_match_that_is_cancelled_is_not_played() -> None:
    order = MatchQueue([match(3, 1, 2), match(1, 2, 3), match(2, 3, 1), match(4, 1, 2)])
    assert pairs(order.take({1: 1, 2: 1})) == [(1, 2)]
    for number in (2, 4):
        cancelled = match(number, 3, 1) if number == 2 else match(number, 1, 2)
        assert cancelled in order
        order.remove(cancelled)
        assert cancelled not in order
    assert (len(order), order.waiting(1), order.waiting(2)) == (1, 0, 1)
    assert order.take(dict.fromkeys(range(1, 4), 2)) == [match(1, 2, 3)]
    order.add([match(4, 1, 2)])
    assert order.waiting(1) == 1


def test_a_match_that_is_not_in_the_queue_is_an_error() -> None:
    order = MatchQueue([match(1, 1, 2)])
    with pytest.raises(ValueError, match="expected one that neither waits nor is being played"):
        order.add([match(1, 1, 2)])
    with pytest.raises(ValueError, match="expected one that is being played"):
        order.release(match(1, 1, 2))
    (taken,) = order.take({1: 1, 2: 1})
    with pytest.raises(ValueError, match="expected one that neither waits nor is being played"):
        order.add([taken])
    order.release(taken)
    with pytest.raises(ValueError, match="expected one that is being played"):
        order.release(taken)
    with pytest.raises(ValueError, match="expected one that waits"):
        order.remove(taken)
    assert order.waiting(9) == 0


def test_resumed_matches_start_first() -> None:
    order = MatchQueue([match(1, 1, 2), match(3, 1, 4)], resumed=[match(7, 1, 3), match(6, 1, 2)])
    assert (len(order), order.waiting(1), match(7, 1, 3) in order) == (4, 4, True)
    assert order.take({1: 3, 2: 1, 3: 1, 4: 1}) == [match(7, 1, 3), match(6, 1, 2), match(3, 1, 4)]
    order.release(match(6, 1, 2))
    assert order.take({1: 3, 2: 1}) == [match(1, 1, 2)]


def test_a_seat_is_kept_for_each_resumed_match_that_waits() -> None:
    order = MatchQueue([match(1, 1, 2), match(2, 1, 2)], resumed=[match(7, 1, 3)])
    assert order.take({1: 1, 2: 1}) == []
    assert order.take({1: 2, 2: 2}) == [match(1, 1, 2)]
    assert order.take({1: 2, 2: 2, 3: 1}) == [match(7, 1, 3)]
    order.release(match(7, 1, 3))
    assert order.take({1: 2, 2: 2}) == [match(2, 1, 2)]


def test_a_resumed_match_that_is_removed_frees_its_seat() -> None:
    order = MatchQueue([match(1, 1, 2)], resumed=[match(7, 1, 3)])
    order.remove(match(7, 1, 3))
    assert (match(7, 1, 3) in order, order.waiting(3)) == (False, 0)
    assert order.take({1: 1, 2: 1, 3: 1}) == [match(1, 1, 2)]


@pytest.mark.parametrize("seating", SEATS)
@pytest.mark.parametrize("paces", PACES)
def test_a_contest_takes_hardly_longer_than_its_busiest_team(seating: str, paces: str) -> None:
    seats = {team: SEATS[seating](team) for team in range(40)}
    assert 1 <= ratio(Contest.random(40, PACES[paces], 1), seats) < 1.1


# --- a cluster ---------------------------------------------------------------------------------------------------


def test_so_many_matches_are_taken_and_the_others_later() -> None:
    order = MatchQueue(round_robin(range(1, 7)))
    seats = dict.fromkeys(range(1, 7), 100)
    taken = [len(order.take(seats, most)) for most in (7, 0, 20, 20)]
    assert taken == [7, 0, 20, 3]
    assert len(order) == 0


def test_whole_pairings_are_taken_one_after_the_other() -> None:
    order = MatchQueue(round_robin(range(1, 7)))
    seats = dict.fromkeys(range(1, 7), 100)
    taken = order.take(seats, 9, whole_pairings=True)
    assert len(taken) == 10
    assert [one.pairing for one in taken[::2]] == [one.pairing for one in taken[1::2]]


def test_a_pairing_is_not_completed_without_a_seat() -> None:
    order = MatchQueue(round_robin(range(1, 4)))
    assert len(order.take(dict.fromkeys(range(1, 4), 1), whole_pairings=True)) == 1


@given(PAIRINGS, st.randoms(use_true_random=False))
def test_with_a_limit_all_matches_are_played_once(pairings: list[tuple[int, int]], dice: Random) -> None:
    order = MatchQueue(match(number, *teams) for number, teams in enumerate(pairings, start=1))
    seats = dict.fromkeys(range(1, 8), 100)
    playing: list[Match] = []
    seen: list[int] = []
    while order or playing:
        taken = order.take(seats, dice.randint(1, 3), whole_pairings=dice.random() < 0.5)
        seen += [one.number for one in taken]
        playing += taken
        if playing and dice.random() < 0.7:
            order.release(playing.pop(dice.randrange(len(playing))))
    assert sorted(seen) == list(range(1, len(pairings) + 1))
