"""The arena: who is paired, how ratings follow, and a director whose teams come and go."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from getstep_server.api.build import event_standings
from getstep_server.config.contest import ContestFile, init_contest, load_contest
from getstep_server.events import Event, MatchEnded, MatchStarted
from getstep_server.formats import Pairing, Played
from getstep_server.formats.arena import (
    HOUSE_TEAMS,
    LEAST_MARGIN,
    REPEAT_COST,
    START_RATING,
    _expected,
    _Known,
    margin,
    rate,
)
from getstep_server.limits import LOG_FILES_KEPT
from getstep_server.reports.export import Standings
from getstep_server.reports.progress_state import ProgressState
from getstep_server.reports.tables import standings_table
from getstep_server.runtime import contest_log
from getstep_server.runtime.arena import closing_time
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage import journal
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from getstep_server.validation import ValidationError, validated
from tests.support.arenas import arena, play, with_house
from tests.support.contests import make_contest
from tests.support.director import PATIENCE, SMALL, DecidedStage, slow
from tests.support.formats import DRAW, LOSS, WIN, Tournament, by_chance, by_strength, colours, make
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import running
from tests.support.site import following
from tests.support.tournament_host import Host, result_of

pytestmark = pytest.mark.usefixtures("jumping_time")

SEEDS = st.integers(0, 2**32)


def pairs(new: list[Pairing]) -> set[frozenset[int]]:
    return {frozenset(pairing.teams) for pairing in new}


def game(first: int, second: int, points: tuple[float, float] | None = WIN, *, number: int = 1) -> Played:
    return Played(Pairing(number, number, 1, first, second), points)


# --- pairing --------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(teams=st.integers(2, 12), house=st.sets(st.integers(1, 12), max_size=3), seed=SEEDS)
def test_only_idle_teams_are_paired_and_house_bots_play_contestants_only(
    teams: int, house: set[int], seed: int
) -> None:
    rng = Random(seed)
    arena = make("arena", matches=60, house=sorted(house))
    tournament = Tournament(arena, list(range(1, teams + 1)), by_chance(rng))

    def check() -> None:
        idle = set(tournament.teams)
        for played in tournament.games:
            assert not set(played.pairing.teams) <= house
            if played.open:
                assert idle.issuperset(played.pairing.teams), "a team in two matches at a time"
                idle -= set(played.pairing.teams)

    tournament.play(check, rng)
    contestants = teams - len(house & set(tournament.teams))
    assert len(tournament.games) == (60 if contestants and teams > 1 else 0)


@pytest.mark.parametrize("teams", [3, 4, 9])
def test_colours_are_balanced_and_all_play_about_equally_often(teams: int) -> None:
    tournament = Tournament(make("arena", matches=300), list(range(1, teams + 1)), by_chance(Random(1)))
    games = tournament.play(lambda: None, Random(2))
    firsts = Counter(played.pairing.first for played in games)
    seconds = Counter(played.pairing.second for played in games)
    assert all(abs(firsts[team] - seconds[team]) <= 3 for team in tournament.teams)
    assert all(firsts[team] + seconds[team] >= 0.8 * 600 / teams for team in tournament.teams)


def test_few_repeats() -> None:
    """With six equal teams no pair plays much more often than any other."""
    tournament = Tournament(make("arena", matches=300), [1, 2, 3, 4, 5, 6], lambda _: DRAW)
    games = tournament.play(lambda: None, Random(3))
    met = Counter(frozenset(played.pairing.teams) for played in games)
    assert len(met) == 15
    assert max(met.values()) <= 2 * min(met.values())


def test_opponents_are_near_in_rating() -> None:
    teams = list(range(1, 21))
    tournament = Tournament(make("arena", matches=900), teams, by_strength(teams))
    games = tournament.play(lambda: None, Random(4))
    late = [abs(played.pairing.first - (played.pairing.second or 0)) for played in games[600:]]
    assert sum(late) / len(late) < 5, "by chance it would be 7"
    places = tournament.format.places(teams, games)
    assert all(abs(places[team] - team) <= 4 for team in teams)


def test_teams_that_have_just_played_each_other_wait_for_others() -> None:
    arena = make("arena")
    games = [game(1, 2), game(3, 4, None, number=2)]
    assert arena.next_pairings([1, 2, 3, 4], games) == []
    assert pairs(arena.next_pairings([1, 2, 3, 4], [game(1, 2), game(3, 4, number=2)])) == {
        frozenset({1, 3}),
        frozenset({2, 4}),
    }
    assert pairs(arena.next_pairings([1, 2], [game(1, 2)])) == {frozenset({1, 2})}, "nobody else is there"


def test_house_bots_fill_in() -> None:
    arena = make("arena", house=[8, 9])
    assert arena.next_pairings([8, 9], []) == []
    assert pairs(arena.next_pairings([1, 8], [])) == {frozenset({1, 8})}
    assert pairs(arena.next_pairings([1, 2, 8], [])) == {frozenset({1, 2})}
    assert len(pairs(arena.next_pairings([1, 2, 3, 8, 9], []))) == 2
    often = [game(*((1, 2) if number % 2 else (2, 1)), DRAW, number=number) for number in range(1, 4)]
    assert REPEAT_COST * len(often) > 300
    assert pairs(arena.next_pairings([1, 2, 8, 9], often)) == {frozenset({1, 8}), frozenset({2, 9})}


def test_no_more_matches_than_the_setting() -> None:
    arena = make("arena", matches=1)
    (only,) = arena.next_pairings([1, 2, 3, 4], [])
    assert arena.next_pairings([1, 2, 3, 4], [Played(only, WIN)]) == []


@settings(max_examples=25)
@given(teams=st.integers(2, 14), house=st.sets(st.integers(1, 14), max_size=3), seed=SEEDS)
def test_pairings_are_fair_while_teams_come_and_go(teams: int, house: set[int], seed: int) -> None:
    """Nobody plays twice at once, colours stay balanced, and two meet twice in a row only if no others play."""
    rng = Random(seed)
    arena = make("arena", matches=150, house=sorted(house))
    tournament = Tournament(arena, list(range(1, teams + 1)), by_chance(rng))
    latest: dict[int, int] = {}
    for _ in range(60):
        playing = {team for place in tournament.open() for team in tournament.games[place].pairing.teams}
        tournament.teams = [team for team in range(1, teams + 1) if team in playing or rng.random() < 0.7]
        new = tournament.issue_pairings()
        paired = [team for pairing in new for team in pairing.teams]
        assert len(set(paired)) == len(paired)
        assert playing.isdisjoint(paired)
        for pairing in new:
            one, other = pairing.teams
            if latest.get(one) == other and latest.get(other) == one and not {one, other} & house:
                assert playing <= house
        for pairing in new:
            one, other = pairing.teams
            latest[one], latest[other] = other, one
        assert all(abs(balance) <= 4 for balance in colours(tournament.games).values())
        open_ = tournament.open()
        tournament.finish(rng.sample(open_, rng.randint(0, len(open_))))


def test_a_house_bot_is_no_opponent_while_a_contestant_of_about_the_same_rating_is_free() -> None:
    arena = make("arena", house=[8, 9])
    games = [game(1, 8, DRAW), game(2, 9, DRAW, number=2), game(3, 8, DRAW, number=3), game(4, 9, DRAW, number=4)]
    assert {team for pair in pairs(arena.next_pairings([1, 2, 3, 4, 8, 9], games)) for team in pair} == {1, 2, 3, 4}


# --- ratings --------------------------------------------------------------------------------------------------


def test_a_rating_moves_by_the_surplus() -> None:
    assert rate([game(1, 2)]) == {1: 100 * (START_RATING + 20), 2: 100 * (START_RATING - 20)}
    assert rate([game(1, 2, DRAW)]) == {1: 100 * START_RATING, 2: 100 * START_RATING}
    assert rate([game(1, 2, None), Played(Pairing(1, 2, 1, 1, 2), WIN, cancelled=True)]) == {}


@pytest.mark.parametrize(
    ("difference", "percent"), [(0, 50), (3, 50), (4, 51), (-4, 49), (191, 75), (735, 99), (736, 100), (-9999, 0)]
)
def test_the_table_of_fide(difference: int, percent: int) -> None:
    assert _expected(100 * difference) == percent


def test_the_stronger_team_is_rated_higher() -> None:
    games = [game(1, 2, LOSS if number % 10 == 0 else WIN, number=number) for number in range(1, 200)]
    ratings = rate(games)
    assert 250 < (ratings[1] - ratings[2]) / 100 < 550  # 90 % are 366 points
    assert sum(ratings.values()) == 2 * 100 * START_RATING
    places = make("arena").places([3, 2, 1], games)
    assert places == {1: 1, 2: 2, 3: 3}


def test_the_margin_of_a_rating_shrinks_to_a_least_one() -> None:
    margins = [margin(played) for played in range(1000)]
    assert margins == sorted(margins, reverse=True)
    assert margins[0] == 588
    assert margins[-1] == margins[500] == LEAST_MARGIN


@pytest.mark.parametrize("matches", [60, 600])
def test_true_ratings_are_within_the_margin(matches: int) -> None:
    """Of teams whose strengths have a standard deviation of 200 points, 95 %; here of 60 teams in all."""
    outside = 0
    for seed in range(5):
        rng = Random(seed)
        strength = {team: rng.gauss(0, 200) for team in range(1, 13)}

        def points(pairing: Pairing, strength: dict[int, float] = strength, rng: Random = rng) -> Any:
            difference = strength[pairing.second or 0] - strength[pairing.first]
            return WIN if rng.random() < 1 / (1 + 10 ** (difference / 400)) else LOSS

        arena = make("arena", matches=matches)
        ratings = arena.ratings(Tournament(arena, list(strength), points).play(lambda: None, rng))
        shift = sum(rating.value for rating in ratings.values()) / 12 - sum(strength.values()) / 12
        outside += sum(abs(one.value - shift - strength[team]) > one.margin for team, one in ratings.items())
    assert outside <= 6


def test_the_table_shows_ratings_with_their_margins(tmp_path: Path) -> None:
    host = Host(arena(tmp_path, 3, matches=2))
    host.play_all()
    rows = host.tournament.table(host.contest.events[0])
    table = standings_table(host.contest, host.contest.events[0], rows)
    headings = [column.heading for column in table.columns]
    assert headings[:4] == ["#", "team", "rating", "played"]
    assert "place" not in headings
    assert re.fullmatch(r"15\d\d ± \d\d\d", table.columns[2].cells[0])
    assert table.notes[0].startswith("Order: rating, points")
    exported = list(Standings(host.tournament, host.contest.events[0]).objects())
    assert [(row["rating"], row["margin"]) for row in exported] == [row.rating for row in rows]


# --- leagues --------------------------------------------------------------------------------------------------

BOSS, HIGHER_BOSS = HOUSE_TEAMS["greedy"], HOUSE_TEAMS["search_100"]


def beaten(winner: int, loser: int, matches: int, after: int = 0) -> list[Played]:
    return [game(winner, loser, number=number) for number in range(after + 1, after + matches + 1)]


def test_a_team_rises_above_a_boss_when_it_is_surely_stronger_and_falls_below_when_it_is_weaker() -> None:
    arena = make("arena", bosses=[2, 3])
    assert arena.bosses == {BOSS: 2, HIGHER_BOSS: 3}
    games: list[Played] = []
    leagues, leads = [], []
    for winner, loser, matches in [(1, BOSS, 100), (BOSS, 1, 60)]:
        for played in beaten(winner, loser, matches, len(games)):
            games.append(played)
            ratings = arena.ratings(games)
            leads.append((ratings[1].value - ratings[BOSS].value, ratings[1].margin))
            assert arena.leagues(games).keys() == {1}, "a house bot has no league"
            leagues.append(arena.leagues(games)[1])
    rose, fell = leagues.index(1), len(leagues) - 1 - leagues[::-1].index(1)
    assert leagues == [0] * rose + [1] * (fell + 1 - rose) + [0] * (len(leagues) - fell - 1)
    assert all(lead <= unsure for lead, unsure in leads[:rose])
    assert leads[rose][0] > leads[rose][1]
    assert any(0 <= lead <= unsure for lead, unsure in leads[100 : fell + 1]), "it does not fall at once"
    assert leads[fell][0] >= 0 > leads[fell + 1][0]


def test_a_boss_that_has_not_played_keeps_nobody_below_or_above() -> None:
    arena = make("arena", bosses=[2])
    assert arena.leagues(beaten(1, 2, 100)) == {1: 0, 2: 0}
    assert arena.leagues([]) == {}
    assert make("arena").leagues(beaten(1, BOSS, 100)) == {}


def test_leagues_of_teams_whose_strength_is_known() -> None:
    strength = {1: 350.0, 2: 0.0, 3: -200.0, BOSS: 0.0}
    found = []
    for seed in range(5):
        rng = Random(seed)

        def points(pairing: Pairing, rng: Random = rng) -> Any:
            difference = strength[pairing.second or 0] - strength[pairing.first]
            return WIN if rng.random() < 1 / (1 + 10 ** (difference / 400)) else LOSS

        arena = make("arena", matches=600, house_bots=[], bosses=[2])
        games = Tournament(arena, list(strength), points).play(lambda: None, rng)
        found.append(arena.leagues(games))
    assert [leagues[1] for leagues in found] == [1] * 5
    assert sum(leagues[2] + leagues[3] for leagues in found) <= 1, "an equal team is above by luck only"


def test_a_boss_plays_with_teams_near_it_and_with_no_boss() -> None:
    arena = make("arena", bosses=[2, 3])
    near = [*beaten(1, 2, 30), game(BOSS, 3, DRAW, number=31)]
    assert pairs(arena.next_pairings([1, 4, BOSS], near)) == {frozenset({4, BOSS})}
    others = [game(HOUSE_TEAMS["random"], 3, DRAW, number=31)]
    house = make("arena", house_bots=["random"])
    assert pairs(house.next_pairings([1, 4, HOUSE_TEAMS["random"]], near[:30] + others)) == {frozenset({1, 4})}
    assert arena.next_pairings([BOSS, HIGHER_BOSS], []) == []


def test_table_export_and_api_have_the_leagues(tmp_path: Path) -> None:
    host = Host(with_house(arena(tmp_path, 2, matches=90, house_bots=[], bosses=[2])))
    host.play_all()  # the team with the lower number wins
    (event,) = host.contest.events
    rows = host.tournament.table(event)
    table = standings_table(host.contest, event, rows)
    league = next(column for column in table.columns if column.heading == "league")
    assert dict(zip([row.team for row in rows], league.cells, strict=True)) == {1: "1", 2: "1", BOSS: "boss 2"}
    assert table.notes[1] == "League: the number of bosses that a team is above."
    exported = Standings(host.tournament, event)
    assert exported.columns[-1] == "league"
    assert {row["team"]: row["league"] for row in exported.objects()} == {1: 1, 2: 1, BOSS: None}
    answered = event_standings(host.tournament, event).rows
    assert {row.team.id: row.league for row in answered} == {1: 1, 2: 1, BOSS: None}


@pytest.mark.parametrize("bosses", [[0], [7], [2, 2], 2, ["greedy"]])
def test_bosses_that_there_are_not(bosses: object) -> None:
    with pytest.raises(ValidationError, match="bosses"):
        make("arena", bosses=bosses)


# --- many matches ---------------------------------------------------------------------------------------------


class Counted(list[Any]):
    """A list that counts how often its elements are visited."""

    visits = 0

    def __iter__(self) -> Iterator[Any]:
        for element in super().__iter__():
            self.visits += 1
            yield element


def test_200_teams_are_paired_with_few_visits_of_each_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairings are made in a thread, but they share the interpreter with the event loop."""
    costs = 0
    cost = _Known.cost

    def counting(*args: Any) -> int:
        nonlocal costs
        costs += 1
        return cost(*args)

    monkeypatch.setattr(_Known, "cost", counting)
    met = [Random(n).sample(range(1, 201), 2) for n in range(1, 2001)]
    games = Counted(game(one, other, number=n) for n, (one, other) in enumerate(met, 1))
    assert len(make("arena").next_pairings(range(1, 201), games)) == 100
    assert make("arena").pair_in_thread
    assert games.visits <= 5 * len(games)
    assert costs <= 200 * 199 / 2


def test_the_event_loop_visits_only_open_matches(tmp_path: Path) -> None:
    """An arena has 100,000 matches: one look at each when a team leaves would stop the clocks for 60 ms."""
    host = Host(arena(tmp_path, 6, matches=1000))
    (event,) = host.contest.events
    for _ in range(10):
        fields = host.tournament.next_pairings(event, event.teams)
        assert fields is not None
        for match in host.tournament.apply_pairings(fields):
            host.tournament.apply_result(result_of(match, reason="missed_limit"))
    fields = host.tournament.next_pairings(event, event.teams)
    assert fields is not None
    host.tournament.apply_pairings(fields)
    state = host.tournament._state(1)
    state.issued = issued = Counted(state.issued)
    (first, *others) = host.tournament.open()
    host.tournament.apply_result(result_of(first, reason="missed_limit"))
    fields = {**fields, "teams": [team for team in event.teams if team not in others[0].teams], "matches": []}
    assert host.tournament.cancels(fields)
    host.tournament.apply_pairings(fields)
    assert host.tournament.open() == others[1:]
    assert issued.visits == 0


# --- settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("until", ["tomorrow", "2030-02-30 10:00", "2030-12-01 25:00", "2030-12-01"])
def test_a_closing_time_that_is_none(until: str) -> None:
    with pytest.raises(ValidationError, match="until"):
        make("arena", until=until)
    assert closing_time("2030-12-01 18:00") > closing_time("2030-12-01 17:59")


def test_an_arena_is_alone() -> None:
    events = [{"game": "hop", "format": "arena"}, {"game": "linkage"}]
    with pytest.raises(ValidationError, match="format"):
        validated(ContestFile, {"contest": {"name": "Test"}, "event": events})


def test_one_command_makes_an_arena(tmp_path: Path) -> None:
    init_contest(tmp_path / "lab", name="lab", games=["hop"], format_="arena")
    (event,) = load_contest(tmp_path / "lab").events
    assert event.format.name == "arena"
    assert event.format.options.until is None


# --- a director -----------------------------------------------------------------------------------------------


def played_by(stage: DecidedStage, team: int) -> int:
    return sum(team in result.match.teams for result in stage.store.saved)


async def test_teams_come_and_go_without_forfeits(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(arena(tmp_path, matches=20))

    async def come() -> None:
        await trio.sleep(100)
        assert played_by(stage, 3) == 0
        stage.come(3)
        stage.come(4)

    await stage.play(1, 2, seconds=slow(1, 2), during=come)
    assert {result.reason for result in stage.store.saved} == {"finished"}
    assert len(stage.store.saved) == 20
    assert min(played_by(stage, team) for team in (1, 2, 3, 4)) >= 4
    stage.check(tmp_path)


async def test_a_team_that_is_alone_waits_for_another(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(arena(tmp_path, matches=2))

    async def come() -> None:
        await trio.sleep(3 * PATIENCE)
        assert stage.of(MatchStarted) == stage.store.saved == []
        stage.come(2)

    await stage.play(1, during=come)
    assert [result.reason for result in stage.store.saved] == ["finished"] * 2
    stage.check(tmp_path)


async def test_it_ends_at_its_closing_time(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = DecidedStage(arena(tmp_path, until="2030-12-01 18:00"))
    stage._director._arena._clock = lambda: closing_time("2030-12-01 18:00") - 60 + trio.current_time()
    await stage.play(1, 2, 3, seconds=slow(1, 2, 3))
    assert 60 <= trio.current_time() < 60 + 2 * 36
    assert len(stage.store.saved) >= 2
    stage.check(tmp_path)


async def test_a_team_that_comes_is_paired_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The pause counts from the latest pairings, not from the latest attempt to pair."""
    stage = DecidedStage(arena(tmp_path, matches=1, pause_seconds=60))

    async def come() -> None:
        await trio.sleep(5)
        stage.come(2)

    await stage.play(1, during=come)
    (started,) = [when for when, event in stage.events if isinstance(event, MatchStarted)]
    assert 5 <= started < 5.1
    stage.check(tmp_path)


async def test_several_arenas_share_their_teams(tmp_path: Path, autojump_clock: MockClock) -> None:
    """No team is paired in two events at a time, and the events have about as many matches."""
    event = {**SMALL["event"], "format": "arena", "settings": {"pause_seconds": 1, "matches": 6, "house_bots": []}}
    contest = make_contest(tmp_path, 4, *({**event, "name": name} for name in "ab"))
    stage = DecidedStage(contest)
    await stage.play(1, 2, 3, 4)
    busy: set[int] = set()
    for _, each in stage.events:
        if isinstance(each, MatchStarted):
            assert busy.isdisjoint(each.match.teams)
            busy.update(each.match.teams)
        elif isinstance(each, MatchEnded):
            busy.difference_update(each.result.match.teams)
    assert Counter(result.match.event for result in stage.store.saved) == {1: 6, 2: 6}
    first_half = Counter(result.match.event for result in stage.store.saved[:6])
    assert abs(first_half[1] - first_half[2]) <= 2
    stage.check(tmp_path)


async def test_nobody_expects_the_end_of_an_arena(tmp_path: Path) -> None:
    """Its bar is full whenever no match is running, and the pace of a few matches says nothing about weeks."""
    contest = arena(tmp_path, 2, pause_seconds=0, matches=3)
    state = ProgressState(contest)
    ends = []

    def note(event: Event) -> None:
        state.update(event)
        ends.append(state.expected_end())

    async with running(contest, consumers=[note]) as server, trio.open_nursery() as nursery:
        for team in (1, 2):
            nursery.start_soon(play, server.port, team)
        await server.finished()
        nursery.cancel_scope.cancel()
    assert state.played == 3
    assert set(ends) == {""}


# --- a whole contest ------------------------------------------------------------------------------------------


async def test_an_arena_is_stopped_resumed_and_verified(tmp_path: Path) -> None:
    """Over sockets. A team leaves and comes back; the run is cut off in the middle of a match and resumed."""
    contest = arena(tmp_path, 3, pause_seconds=0, matches=50)
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in (1, 2):
            nursery.start_soon(play, server.port, team)
        await server.recorder.wait_for(MatchEnded, 3)
        third = trio.CancelScope()
        nursery.start_soon(play_in, third, server.port, 3)
        await joined(server, 3)
        third.cancel()  # the match that it plays is lost; those that it has not begun are cancelled
        await server.recorder.wait_for(MatchEnded, len(server.recorder.of(MatchEnded)) + 5)
        nursery.cancel_scope.cancel()
    before = tournament_of(contest)
    assert 0 < before.done < 50

    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in (1, 2, 3):
            nursery.start_soon(play, server.port, team)
        await server.finished()
        nursery.cancel_scope.cancel()
    assert server.ending is RunOutcome.FINISHED
    tournament = tournament_of(contest)
    assert "never_arrived" not in {result.reason for result in tournament.results}
    assert tournament.issued(1) == 50
    assert tournament.open() == []
    with Store(contest.database) as store:
        assert verify(contest, store).played == tournament.total


async def play_in(scope: trio.CancelScope, port: int, team: int) -> None:
    with scope:
        await play(port, team)


async def joined(server: Any, team: int) -> None:
    """Wait until ``team`` has ended a match."""
    count = 1
    while not any(team in ended.result.match.teams for ended in server.recorder.of(MatchEnded)):
        count = len(server.recorder.of(MatchEnded)) + 1
        await server.recorder.wait_for(MatchEnded, count)


@pytest.mark.long
async def test_an_arena_of_many_matches_grows_by_its_records_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs and journal have a bounded size; a match leaves at most 2 kB in the memory of server and page each."""
    # so small that each of them is begun anew many times
    monkeypatch.setattr(contest_log, "LOG_FILE_BYTES", 10_000)
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 10_000)
    options = {"pause_seconds": 0, "matches": 700, "house_bots": []}
    event = {**SMALL["event"], "format": "arena", "settings": options}
    contest = make_contest(tmp_path, 4, event=event, start={"absent_seconds": PATIENCE}, on_disk=True)
    async with running(contest) as server, trio.open_nursery() as nursery:
        site = await following(tmp_path, nursery)
        for team in range(1, 5):
            nursery.start_soon(play, server.port, team)

        async def size_after(matches: int) -> tuple[int, int]:
            """Return how many matches are over, and the bytes of all files but the database, after ``matches``."""
            with trio.fail_after(PATIENCE_SECONDS):
                while site.app.feed.whole.done < matches:
                    await trio.sleep(0.05)
            await site.json("/api/v1/matches")
            server.recorder.events.clear()
            gc.collect()
            others = [path for path in tmp_path.rglob("*") if not path.name.startswith("contest.db")]
            return site.app.feed.whole.done, sum(path.stat().st_size for path in others)

        await size_after(100)
        tracemalloc.start()
        try:
            # by then, all that is kept of the latest matches alone was allocated while it was traced
            first = await size_after(220)
            before, _ = tracemalloc.get_traced_memory()
            last = await size_after(620)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        nursery.cancel_scope.cancel()
    # The server and the page have a tournament each: 2 kB a match in each. Hash tables double now and then: over
    # 100 matches, one doubling alone is a kilobyte a match.
    assert (after - before) / (last[0] - first[0]) < 4000, (before, after, first, last)
    assert max(first[1], last[1]) < 10_000 * (LOG_FILES_KEPT + 1) + 8 * 10_000, (first, last)
