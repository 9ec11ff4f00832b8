"""The director, with players in memory and a mock clock: the order of matches, forfeits, resumed contests."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import End, Start
from getstep_engines import GAMES
from getstep_server.config.contest import Contest, database_path
from getstep_server.errors import BotFailed, ContestStopped
from getstep_server.events import ContestStarted, Event, MatchEnded, MatchParked, MatchStarted, ServerFault, Waiting
from getstep_server.limits import MATCH_ATTEMPTS
from getstep_server.net import registry
from getstep_server.records.game import game_header, is_void, record_of_game, result_of
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.record import Record, parse
from getstep_server.records.result import Result
from getstep_server.runtime import director as director_module
from getstep_server.runtime import venue
from getstep_server.runtime.director import Director
from getstep_server.runtime.run import RunOutcome
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.database import DatabaseError
from getstep_server.storage.store import Store
from getstep_server.tournament.match_queue import MatchQueue
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.director import PATIENCE, SMALL, MemoryStore, Stage, numbers, slow
from tests.support.servers import round_robin, running, seated

# --- the order of play ---------------------------------------------------------------------------------------


async def test_every_match_is_played_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 5, **SMALL))
    await stage.play(1, 2, 3, 4, 5)
    assert sorted(numbers([event.match for event in stage.of(MatchStarted)])) == list(range(1, 21))
    assert sorted(numbers([result.match for result in stage.store.saved])) == list(range(1, 21))
    ended = stage.of(MatchEnded)
    assert [(event.done, event.total) for event in ended] == [(n, 20) for n in range(1, 21)]
    assert [event.result for event in ended] == stage.store.saved
    assert {row.played for row in ended[-1].tables().events[1]} == {8}
    for team in range(1, 6):
        assert len(stage.said(team, Start)) == len(stage.said(team, End)) == 8


async def test_matches_run_side_by_side_but_never_two_of_a_team(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 6, **SMALL))
    await stage.play(*range(1, 7), seconds={n: 0.05 * n for n in range(1, 7)})
    playing: set[int] = set()
    most = 0
    for _, event in stage.events:
        if isinstance(event, MatchStarted):
            assert playing.isdisjoint(event.match.teams)
            playing.update(event.match.teams)
            most = max(most, len(playing))
        elif isinstance(event, MatchEnded):
            playing.difference_update(event.result.match.teams)
    assert playing == set()
    assert most == 6  # three matches at once


async def test_a_free_pair_never_waits_for_others(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 6, **SMALL))
    await stage.play(*range(1, 7), seconds={n: 0.05 * n for n in range(1, 7)})
    free, left = set(range(1, 7)), set(range(1, 31))
    by_number = {match.number: match for match in round_robin(range(1, 7))}
    at_once = [event.match.number for at, event in stage.events if isinstance(event, MatchStarted) and at == 0]
    assert sorted(at_once) == [1, 2, 3]
    for _, instant in itertools.groupby(stage.events, key=lambda entry: round(entry[0], 6)):
        for _, event in instant:
            if isinstance(event, MatchEnded):
                free.update(event.result.match.teams)
            elif isinstance(event, MatchStarted):
                free.difference_update(event.match.teams)
                left.remove(event.match.number)
        assert not [number for number in left if free.issuperset(by_number[number].teams)]


async def test_a_slow_match_does_not_delay_others(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 4, **SMALL))
    await stage.play(1, 2, 3, 4, seconds={1: 1.0})
    others = [event for event in stage.of(MatchEnded) if 1 not in event.result.match.teams]
    assert max(stage.of(MatchEnded).index(event) for event in others) < 11
    assert trio.current_time() < 7 * 18  # team 1 plays six matches of 18 moves of a second, and waits for no one


# --- missing teams -------------------------------------------------------------------------------------------


async def test_a_team_that_never_comes_forfeits_when_patience_is_over(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage = Stage(make_contest(tmp_path, 3, start={"absent_seconds": PATIENCE}, **SMALL))
    began = trio.current_time()
    await stage.play(1, 2)
    assert trio.current_time() - began == pytest.approx(PATIENCE)
    forfeits = [result for result in stage.store.saved if 3 in result.match.teams]
    assert len(forfeits) == 4
    for result in forfeits:
        assert result.reason == "never_arrived"
        assert result.outcome_for(0 if result.match.first == 3 else 1) == "loss"
        assert result.winner is not None
        assert result.detail == "Team 3 did not come in 60 s"
        assert result.turns == 0
        assert result.scores in ((0, 36 * 36), (36 * 36, 0))  # as after a fault in the first turn
    played = [event.match for event in stage.of(MatchStarted)]
    assert all(3 not in match.teams for match in played)
    ends = [end for end in stage.said(1, End) if end.reason == "never_arrived"]
    assert [end.result for end in ends] == ["win"] * 2
    assert stage.of(Waiting)[0].teams == (3,)


async def test_if_neither_team_arrives_both_lose(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 4, start={"absent_seconds": PATIENCE}, **SMALL))
    await stage.play(1, 2)
    between = [result for result in stage.store.saved if set(result.match.teams) == {3, 4}]
    assert len(between) == 2
    for result in between:
        assert (result.winner, result.reason, result.scores) == (None, "never_arrived", None)
        assert [result.outcome_for(0), result.outcome_for(1)] == ["loss", "loss"]
        assert "Team 3" in result.detail
        assert "Team 4" in result.detail
    table = {row.team: row for row in stage.of(MatchEnded)[-1].tables().events[1]}
    assert [(table[team].lost, table[team].drawn) for team in (3, 4)] == [(6, 0)] * 2
    assert [table[team].points for team in (3, 4)] == [-4 * 36] * 2  # nothing for the two without an opponent
    assert trio.current_time() == pytest.approx(PATIENCE)


async def test_no_team_arrives(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 3, start={"absent_seconds": PATIENCE}))
    await stage.play()
    assert [result.winner for result in stage.store.saved] == [None] * 6
    assert stage.of(MatchStarted) == []


async def test_a_team_that_arrives_in_time_plays(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 2, start={"absent_seconds": PATIENCE}, **SMALL))

    async def come_late() -> None:
        await trio.sleep(PATIENCE - 0.01)
        stage.come(2)

    await stage.play(1, during=come_late)
    assert [result.reason for result in stage.store.saved] == ["finished"] * 2


async def test_a_connection_restarts_the_no_show_time(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 3, start={"absent_seconds": PATIENCE}, **SMALL))

    async def come_and_go() -> None:
        await trio.sleep(PATIENCE - 1)
        stage.come(3, lambda *_: None)
        await trio.sleep(0.5)
        assert len(stage.of(MatchStarted)) == 3  # the two of 1 and 2, and its first
        stage.go(3)

    await stage.play(1, 2, during=come_and_go)
    reasons = [result.reason for result in stage.store.saved if 3 in result.match.teams]
    assert reasons[0] == "missed_limit"  # it was there when its first match began
    assert reasons[1:] == ["never_arrived"] * 3
    # Its own match ends after the whole budget; the others had to wait for its patience from when it left
    forfeited = [at for at, event in stage.events if isinstance(event, MatchEnded)][-3:]
    assert forfeited == pytest.approx([2 * PATIENCE - 0.5] * 3)


async def test_waiting_is_reported_only_while_no_match_runs(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(make_contest(tmp_path, 3, start={"absent_seconds": PATIENCE}, **SMALL))
    await stage.play(1, 2, seconds={1: 0.1})
    said = [event.teams for _, event in stage.events if isinstance(event, Waiting)]
    assert said[0] == (3,)
    before = [type(event) for _, event in stage.events]
    assert before.index(Waiting) > [i for i, kind in enumerate(before) if kind is MatchEnded][1]


# --- going on ------------------------------------------------------------------------------------------------


async def test_only_open_matches_are_played(tmp_path: Path, autojump_clock: MockClock) -> None:
    contest = make_contest(tmp_path, 4, **SMALL)
    whole = Stage(contest)
    await whole.play(1, 2, 3, 4)
    done = whole.store.saved[:5]
    rest = Stage(contest, results=done)
    await rest.play(1, 2, 3, 4)
    assert rest.of(ContestStarted) == [ContestStarted(5, 12)]
    played = numbers([result.match for result in done + rest.store.saved])
    assert sorted(played) == list(range(1, 13))
    last = rest.of(MatchEnded)[-1]
    assert (last.done, last.total) == (12, 12)
    assert {row.played for row in last.tables().events[1]} == {6}


async def test_a_finished_contest_plays_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    contest = make_contest(tmp_path, 3, **SMALL)
    whole = Stage(contest)
    await whole.play(1, 2, 3)
    again = Stage(contest, results=whole.store.saved)
    await again.play()
    assert again.store.saved == []
    assert again.of(MatchStarted) == []


# --- the server's own faults ---------------------------------------------------------------------------------


def break_engine(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Make the small game's ``play`` raise in its fifth move, this many times."""
    kind = type(GAMES["pseudo_tonga"].start(size=6))
    real, left, calls = kind.play, [times], [0]

    def play(self: Any, move: Any) -> None:
        calls[0] += 1
        if calls[0] % 5 == 0 and left[0]:
            left[0] -= 1
            raise KeyError("a bug in the engine")
        real(self, move)

    monkeypatch.setattr(kind, "play", play)


async def test_a_match_that_the_server_failed_in_is_played_again(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_engine(monkeypatch, MATCH_ATTEMPTS - 1)
    stage = Stage(make_contest(tmp_path, 2, **SMALL))
    await stage.play(1, 2)
    assert [result.reason for result in stage.store.saved] == ["finished"] * 2
    assert numbers([event.match for event in stage.of(MatchStarted)]) == [1] * MATCH_ATTEMPTS + [2]
    faults = stage.of(ServerFault)
    assert [fault.where for fault in faults] == ["match 1"] * (MATCH_ATTEMPTS - 1)
    assert all("KeyError: 'a bug in the engine'" in fault.trace for fault in faults)
    for team in (1, 2):
        ends = stage.said(team, End)
        assert [end.result for end in ends[:2]] == ["void"] * 2
        assert {(end.match, end.reason) for end in ends[:2]} == {(1, "server_fault")}
        assert [end.reason for end in ends[2:]] == ["finished"] * 2
    assert {row.played for row in stage.of(MatchEnded)[-1].tables().events[1]} == {2}


async def test_many_matches_are_queued_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a real clock, which does not jump while a thread works."""
    queued: list[bool] = []
    real = Director._queue_of_open_matches

    def noting(director: Director) -> MatchQueue:
        queued.append(threading.current_thread() is threading.main_thread())
        return real(director)

    monkeypatch.setattr(Director, "_queue_of_open_matches", noting)
    for limit, in_main_thread in ((0, False), (1000, True)):
        monkeypatch.setattr(director_module, "MATCHES_AT_ONCE", limit)
        folder = tmp_path / str(limit)
        folder.mkdir()
        stage = Stage(make_contest(folder, 3, **SMALL))
        await stage.play(1, 2, 3)
        assert sorted(numbers([result.match for result in stage.store.saved])) == [1, 2, 3, 4, 5, 6]
        assert queued.pop() is in_main_thread


async def test_attempts_on_record_have_no_gaps(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the record of a void one could not be stored."""
    break_engine(monkeypatch, 1)

    class Refusing(MemoryStore):
        async def save(
            self, *records: Record, based_on: int | None = None, after: Callable[[], None] = lambda: None
        ) -> None:
            games = [parse(record.content()) for record in records if record.match is not None]
            if any(is_void(result_of(game)) for game in games):
                raise DatabaseError("database is locked")
            await super().save(*records, based_on=based_on, after=after)

    stage = Stage(make_contest(tmp_path, 2, **SMALL), store=Refusing())
    await stage.play(1, 2)
    assert [fault.where for fault in stage.of(ServerFault)] == ["match 1", "the record of void match 1"]
    assert [(result.match.number, result.attempt) for result in stage.store.saved] == [(1, 1), (2, 1)]


async def test_a_match_that_never_succeeds_stops_the_contest(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_engine(monkeypatch, 1000)
    stage = Stage(make_contest(tmp_path, 2, **SMALL))
    with pytest.RaisesGroup(
        pytest.RaisesExc(ContestStopped, match="^match 1 failed 3 times"), flatten_subgroups=True
    ):
        await stage.play(1, 2)
    assert stage.store.saved == []
    assert stage.of(MatchEnded) == []
    assert len(stage.of(ServerFault)) == MATCH_ATTEMPTS
    assert {end.result for end in stage.said(1, End)} == {"void"}


async def test_a_match_whose_hosted_process_always_dies_is_parked_and_the_others_go_on(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = venue.LocalVenue.play

    async def play(self: Any, running: Any, sheet: Any) -> Result:
        if running.match.number == 1:
            raise ExceptionGroup("of a nursery", [BotFailed("its process has died")])
        return await real(self, running, sheet)

    monkeypatch.setattr(venue.LocalVenue, "play", play)
    stage = Stage(make_contest(tmp_path, 3, **SMALL))
    why = r"^match 1 is parked: .* adjudicate CONTEST 1 "
    with pytest.RaisesGroup(pytest.RaisesExc(ContestStopped, match=why), flatten_subgroups=True):
        await stage.play(1, 2, 3)
    assert sorted(numbers([result.match for result in stage.store.saved])) == [2, 3, 4, 5, 6]
    assert [(event.match.number, event.times, event.why) for event in stage.of(MatchParked)] == [
        (1, MATCH_ATTEMPTS, "its process has died")
    ]
    assert len(stage.of(ServerFault)) == MATCH_ATTEMPTS
    monkeypatch.setattr(venue.LocalVenue, "play", real)
    again = Stage(make_contest(tmp_path, 3, **SMALL), store=stage.store, records=list(stage.store.chain))
    await again.play(1, 2, 3)
    assert numbers([event.result.match for event in again.of(MatchEnded)]) == [1]


# --- announced only when it is stored ------------------------------------------------------------------------


async def test_no_result_is_announced_before_it_is_stored(tmp_path: Path, autojump_clock: MockClock) -> None:
    seen: list[bool] = []

    async def slowly(result: Result) -> None:
        def told() -> int:
            return sum(len(stage.said(team, End)) for team in result.match.teams)

        before = (told(), len(stage.of(MatchEnded)))
        await trio.sleep(5)
        seen.append(before == (told(), len(stage.of(MatchEnded))))

    stage = Stage(make_contest(tmp_path, 2, **SMALL), store=MemoryStore(slowly))
    await stage.play(1, 2)
    assert seen == [True, True]
    assert trio.current_time() == pytest.approx(10)
    assert len(stage.of(MatchEnded)) == 2
    assert len(stage.said(1, End)) == 2
    # No team began its next match before the last one was stored
    starts = [at for at, event in stage.events if isinstance(event, MatchStarted)]
    assert starts == pytest.approx([0, 5])


async def test_a_slow_disk_holds_matches_up_no_longer_than_it_writes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def slow_for_one(result: Result) -> None:
        if 1 in result.match.teams:
            await trio.sleep(10)

    stage = Stage(make_contest(tmp_path, 4, **SMALL), store=MemoryStore(slow_for_one))
    await stage.play(1, 2, 3, 4)
    assert trio.current_time() == pytest.approx(60)
    assert len(stage.store.saved) == 12


async def test_a_result_that_cannot_be_stored_is_never_announced(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def fails(result: Result) -> None:
        raise DatabaseError("database or disk is full")

    stage = Stage(make_contest(tmp_path, 2, **SMALL), store=MemoryStore(fails))
    with pytest.RaisesGroup(ContestStopped, flatten_subgroups=True):
        await stage.play(1, 2)
    assert stage.of(MatchEnded) == []
    assert all("database or disk is full" in fault.trace for fault in stage.of(ServerFault))
    for team in (1, 2):
        assert {end.result for end in stage.said(team, End)} == {"void"}


async def test_a_disk_that_fails_once_costs_one_more_match(tmp_path: Path, autojump_clock: MockClock) -> None:
    failures = [DatabaseError("database is locked")]

    async def fails_once(result: Result) -> None:
        if failures:
            raise failures.pop()

    stage = Stage(make_contest(tmp_path, 2, **SMALL), store=MemoryStore(fails_once))
    await stage.play(1, 2)
    assert numbers([event.match for event in stage.of(MatchStarted)]) == [1, 1, 2]
    assert [end.result == "void" for end in stage.said(1, End)] == [True, False, False]
    assert len(stage.store.saved) == 2


async def test_announced_results_are_on_disk(tmp_path: Path) -> None:
    """With the real store and real sockets: another connection to the database sees it at once."""
    contest = make_contest(tmp_path, 3, **SMALL)
    on_disk = []

    def look(event: Event) -> None:
        if isinstance(event, MatchEnded):
            database = sqlite3.connect(database_path(contest.folder))
            on_disk.append(
                (
                    event.done,
                    database.execute("SELECT count(*) FROM records WHERE number IS NOT NULL").fetchone()[0],
                )
            )
            database.close()

    async with running(contest, consumers=[look]) as server, trio.open_nursery() as nursery:
        for team in contest.teams:
            nursery.start_soon(_play, server.port, team)
        await server.finished()
    assert [done for done, _ in on_disk] == list(range(1, 7))
    assert all(stored >= done for done, stored in on_disk)


async def _play(port: int, team: int) -> None:
    async with seated(port, team) as player:
        await player.play()


# --- when the first match begins -----------------------------------------------------------------------------


async def test_it_starts_when_the_last_team_is_there(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path, 3)) as server:
        async with seated(server.port, 1), seated(server.port, 2):
            async with seated(server.port, 1):  # the same team twice is one team
                assert server.recorder.of(ContestStarted) == []
            async with seated(server.port, 1), seated(server.port, 3):
                await server.recorder.wait_for(ContestStarted)


async def test_the_contest_starts_at_once(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 2, start={"absent_seconds": 0.01})
    async with running(contest, StartCondition(now=True)) as server:
        await server.finished()
        assert server.ending is RunOutcome.FINISHED
    assert [result.reason for result in results_of(contest)] == ["never_arrived"] * 2


async def test_it_starts_at_a_time_of_day_and_not_before(tmp_path: Path) -> None:
    at = datetime.now().astimezone() + timedelta(seconds=0.4)
    contest = make_contest(tmp_path, 2, start={"absent_seconds": 0.01})
    async with running(contest, StartCondition(at=at)) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2):  # all are there: it waits all the same
            started = server.recorder.of(ContestStarted)
            assert started == [] or datetime.now().astimezone() >= at
            await server.recorder.wait_for(ContestStarted)
            assert datetime.now().astimezone() >= at
            await one.expect(Start)


async def test_matches_that_were_left_unfinished_are_resumed_before_all_others(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    contest = make_contest(tmp_path, 4, **SMALL)
    first = Stage(contest)
    with trio.move_on_after(10):
        await first.play(1, 2, 3, 4, seconds=slow(1, 2, 3, 4))
    begun = numbers([event.match for event in first.of(MatchStarted)])
    assert (len(begun), first.of(MatchEnded)) == (2, [])

    again = Stage(contest, store=first.store, records=first.store.chain)
    await again.play(1, 2, 3, 4)
    started = again.of(MatchStarted)
    assert sorted(numbers([event.match for event in started[:2]])) == sorted(begun)
    assert all(event.turns > 0 for event in started[:2])
    assert sorted(numbers([event.match for event in started])) == list(range(1, 13))
    assert sorted(numbers([result.match for result in again.store.saved])) == list(range(1, 13))
    assert {result.reason for result in again.store.saved} == {"finished"}


async def had_begun(folder: Path) -> Contest:
    """Return a contest of two teams with one of its two matches on record."""
    contest = make_contest(folder, 2, start={"absent_seconds": 0.01}, **SMALL)
    with Store(contest.database) as store:
        tournament = Tournament(contest)
        fields = tournament.next_pairings(contest.events[0])
        assert fields is not None
        match = tournament.apply_pairings(fields)[0]
        await store.save(record_of_pairings(fields))
        result = Result(match, 0, "finished", "", (7, 5), 9, (0.0, 0.0), (0, 0), 0.0, 1.0)
        await store.save(record_of_game(game_header(contest, match, 1, 0.0), result))
    return contest


async def test_a_contest_that_had_begun_waits_for_its_teams(tmp_path: Path) -> None:
    """Although a match would wait for a team no longer than a hundredth of a second."""
    contest = await had_begun(tmp_path)
    async with running(contest) as server:
        async with seated(server.port, 1) as one:
            while ((2,), True) not in [(event.teams, event.gathering) for event in server.recorder.of(Waiting)]:
                await server.recorder.wait_for(Waiting)
                await trio.sleep(0.01)
            assert server.recorder.of(ContestStarted) == []
            async with seated(server.port, 2) as other, trio.open_nursery() as nursery:
                nursery.start_soon(one.play)
                nursery.start_soon(other.play)
        await server.finished()
        assert [event.result.reason for event in server.recorder.of(MatchEnded)] == ["finished"]


async def test_now_resumes_a_contest_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SHUTDOWN_SECONDS", 0.01)  # nobody is coming back to hear the end
    contest = await had_begun(tmp_path)
    async with running(contest, StartCondition(now=True)) as server:
        await server.finished()
        assert server.recorder.of(ContestStarted) == [ContestStarted(1, 2)]
        assert numbers([event.result.match for event in server.recorder.of(MatchEnded)]) == [2]
