"""Teams with several seats: the choice of a seat, matches at the same time, and lost connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from getstep.wire import End, GetStep, Goodbye, Message, Penalty, Start, Step
from getstep_server.config.contest import Team
from getstep_server.events import (
    BotAnswers,
    BotHangs,
    Event,
    MatchEnded,
    MatchStarted,
    TeamArrived,
    TeamLeft,
    Waiting,
)
from getstep_server.incident import Incident
from getstep_server.net.seat import Seat, choose_seat, seats_of
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.mailbox import MatchMailbox
from tests.support.contests import incidents_noted, make_contest, with_seats
from tests.support.director import SMALL, Stage
from tests.support.memory_peers import after

START = Start(5, "hop", {}, True, "the other", "move", 5000, 100, False)


# --- the choice of seats--------------------------------------------------------------------------------------


class FakePeer:
    """A connection that only keeps the messages that it gets."""

    address, client, notices, round_trip_ms = "10.0.0.1", "test", True, None

    def __init__(self, last_received_ns: int = 0) -> None:
        self.last_received_ns = last_received_ns
        self.said: list[Message] = []

    def poll(self) -> None:
        """Nothing arrives here."""

    def send(self, message: Message) -> None:
        self.said.append(message)

    def close(self, goodbye: Goodbye) -> None:
        self.said.append(goodbye)


def make_seats(count: int, events: list[Event] | None = None) -> tuple[Seat, ...]:
    team = Team(id=7, name="Team 7", token="12345678", seats=count)
    return seats_of(team, ([] if events is None else events).append)


def test_new_connections_take_the_seats_in_order() -> None:
    seats = make_seats(3)
    for expected in seats:
        chosen = choose_seat(seats)
        assert chosen is expected
        chosen.attach(FakePeer())


async def test_a_reconnecting_bot_returns_to_a_question_first_then_to_a_match(
    autojump_clock: MockClock,
) -> None:
    seats = make_seats(4)
    for seat in seats[2:]:
        seat.taken = True
        seat.begin(MatchMailbox(DeadlineScheduler()), START)
    seats[3].ask(1, [[0]], None, 5.0)
    order = []
    for _ in seats:
        order.append(seats.index(choose_seat(seats)))
        seats[order[-1]].attach(FakePeer())
    assert order == [3, 2, 0, 1]


async def test_a_player_with_an_open_question_is_silent_until_a_sign_of_life(autojump_clock: MockClock) -> None:
    (seat,) = make_seats(1)
    peer, unseated = FakePeer(), FakePeer()
    seat.attach(peer)
    seat.begin(MatchMailbox(DeadlineScheduler()), START)
    seat.ask(1, [[0]], None, 5.0)
    question = seat.last_id
    seat.time_is_up()
    assert seat.take_sign_of_life()  # it has come
    assert seat.is_silent
    seat.late_answer(unseated)
    seat.answer(unseated, Step(question, 0), 1.0, stamped=False)
    assert seat.is_silent
    seat.answer(peer, Step(question, 0), 1.0, stamped=False)
    assert not seat.is_silent
    assert seat.take_sign_of_life()
    seat.late_answer(peer)
    assert seat.take_sign_of_life()
    seat.detach(peer, "gone")
    assert not seat.is_silent  # nobody is there to be silent


def miss(seat: Seat, match: int) -> None:
    """Begin a match at a seat, and let its first question pass unanswered, which ends the match."""
    seat.begin(MatchMailbox(DeadlineScheduler()), replace(START, match=match))
    seat.ask(1, [[0]], None, 5.0)
    seat.time_is_up()
    seat.penalize("missed_limit", "no answer within 5 s")
    seat.end(End(match, "loss", "missed_limit", "White made a fault", None))


async def test_a_bot_that_is_silent_in_three_matches_hangs(autojump_clock: MockClock) -> None:
    events: list[Event] = []
    (seat,) = make_seats(1, events)
    seat.attach(FakePeer())
    for match in (5, 6):
        miss(seat, match)
    assert not [event for event in events if isinstance(event, BotHangs)]
    for match in (7, 8):
        miss(seat, match)
    assert [event for event in events if isinstance(event, BotHangs)] == [BotHangs(7, 7, 3)]  # said once


async def hanging_seat(events: list[Event]) -> Seat:
    (seat,) = make_seats(1, events)
    seat.attach(FakePeer())
    for match in (5, 6, 7):
        miss(seat, match)
    seat.begin(MatchMailbox(DeadlineScheduler()), replace(START, match=8))
    seat.ask(1, [[0]], None, 5.0)
    events.clear()
    return seat


SIGNS: dict[str, Callable[[Seat, FakePeer], object]] = {
    "it has answered": lambda seat, peer: seat.answer(peer, Step(seat.last_id, 0), 1.0, stamped=False),
    "it has answered, too late": lambda seat, peer: seat.late_answer(peer),
    "it has connected again": lambda seat, peer: seat.attach(FakePeer()),
    "it has left": lambda seat, peer: seat.detach(peer, "gone"),
}


@pytest.mark.parametrize("why", SIGNS)
async def test_a_sign_of_life_ends_the_silence(why: str, autojump_clock: MockClock) -> None:
    events: list[Event] = []
    seat = await hanging_seat(events)
    peer = seat.connection
    assert isinstance(peer, FakePeer)
    SIGNS[why](seat, peer)
    assert [event for event in events if isinstance(event, BotAnswers)] == [BotAnswers(7, 7, why)]
    events.clear()
    if seat.connected:
        for match in (9, 10):
            miss(seat, match)
    assert events == []  # it is counted from the beginning


async def test_who_is_not_asked_or_not_there_does_not_hang(autojump_clock: MockClock) -> None:
    """A player whose budget is spent misses every limit, but gets no questions."""
    events: list[Event] = []
    (seat,) = make_seats(1, events)
    for match in (5, 6, 7):
        miss(seat, match)
    seat.attach(FakePeer())
    miss(seat, 8)
    for _ in range(9):
        seat.time_is_up()
    assert not [event for event in events if isinstance(event, BotHangs)]


async def test_a_question_whose_time_is_up_is_not_repeated_on_a_new_connection(autojump_clock: MockClock) -> None:
    (seat,) = make_seats(1)
    seat.attach(FakePeer())
    seat.begin(MatchMailbox(DeadlineScheduler()), START)
    seat.ask(1, [[0]], None, 5.0)
    seat.time_is_up()
    assert seat.has_question  # an answer is owed: of many seats this is the first that a newcomer gets
    newcomer = FakePeer()
    seat.attach(newcomer)
    assert [type(message) for message in newcomer.said] == [Start]
    seat.penalize("stalled", "17 turns skipped")
    seat.ask(35, [[0]], None, 5.0)
    assert [type(message) for message in newcomer.said] == [Start, Penalty, GetStep]


def test_a_seat_with_a_match_about_to_begin_is_one_with_a_match() -> None:
    seats = make_seats(2)
    seats[1].taken = True
    assert choose_seat(seats) is seats[1]


@pytest.mark.parametrize("last_received", [(10, 20, 30), (20, 10, 30), (30, 20, 10)])
def test_with_a_bot_at_every_seat_the_one_that_was_silent_longest_goes(last_received: tuple[int, ...]) -> None:
    events: list[Event] = []
    seats = make_seats(3, events)
    connections = [FakePeer(at) for at in last_received]
    for seat, peer in zip(seats, connections, strict=True):
        seat.attach(peer)
    choose_seat(seats).attach(FakePeer(40))
    told = [[message.reason for message in peer.said if isinstance(message, Goodbye)] for peer in connections]
    assert told == [["replaced"] if at == 10 else [] for at in last_received]
    arrived = [event for event in events if isinstance(event, TeamArrived)]
    assert [(event.again, event.here) for event in arrived] == [(False, 1), (False, 2), (False, 3), (True, 3)]


async def test_with_a_bot_at_every_seat_one_that_does_not_answer_goes_before_one_that_waits(
    autojump_clock: MockClock,
) -> None:
    seats = make_seats(3)
    for seat, last_received_ns in zip(seats, (10, 20, 30), strict=True):
        seat.attach(FakePeer(last_received_ns))
    for seat in seats[1:]:
        seat.begin(MatchMailbox(DeadlineScheduler()), START)
        seat.ask(1, [[0]], None, 5.0)
    assert choose_seat(seats) is seats[1]


def test_a_departure_is_reported_with_the_remaining_bots() -> None:
    events: list[Event] = []
    seats = make_seats(2, events)
    connections = [FakePeer(), FakePeer()]
    for seat, peer in zip(seats, connections, strict=True):
        seat.attach(peer)
    seats[0].detach(connections[0], "gone")
    seats[0].detach(connections[0], "gone again")
    seats[1].detach(connections[1], "gone")
    assert [event for event in events if isinstance(event, TeamLeft)] == [
        TeamLeft(7, "gone", 1),
        TeamLeft(7, "gone", 0),
    ]


async def test_a_question_id_is_never_used_twice_for_a_team(autojump_clock: MockClock) -> None:
    seats = make_seats(2)
    connections = [FakePeer(), FakePeer()]
    for seat, peer in zip(seats, connections, strict=True):
        seat.attach(peer)
        seat.begin(MatchMailbox(DeadlineScheduler()), START)
    for number in range(1, 4):
        for seat in seats:
            seat.ask(number, [[0]], None, 5.0)
    ids = [[message.id for message in peer.said if isinstance(message, GetStep)] for peer in connections]
    first = ids[0][0]
    assert ids == [[first, first + 2, first + 4], [first + 1, first + 3, first + 5]]
    seats[0].penalize("illegal_move", "")
    penalty = connections[0].said[-1]
    assert getattr(penalty, "id", None) == first + 4  # its own question, not the team's latest
    assert [seat.last_id for seat in seats] == [first + 5] * 2


# --- how many matches at once --------------------------------------------------------------------------------


def most_at_once(stage: Stage, team: int) -> int:
    """Return the most matches that a team was playing at any time."""
    playing: set[int] = set()
    most = 0
    for _, event in stage.events:
        if isinstance(event, MatchStarted) and team in event.match.teams:
            playing.add(event.match.number)
        elif isinstance(event, MatchEnded):
            playing.discard(event.result.match.number)
        most = max(most, len(playing))
    assert not playing
    return most


def check_links(stage: Stage) -> None:
    """Check the invariant that a bot plays its matches in order, and that each match begins with both."""
    begun: Counter[tuple[int, int]] = Counter()
    for team, connections in stage.peers.items():
        for peer in connections:
            playing = None
            for message in peer.said:
                if isinstance(message, Start):
                    assert playing is None, "two matches at one seat"
                    playing = message.match
                    begun[team, message.match] += not message.resumed
                elif isinstance(message, End):
                    assert message.match == playing
                    playing = None
    for event in stage.of(MatchStarted):
        assert [begun[team, event.match.number] for team in event.match.teams] == [1, 1]


@pytest.mark.parametrize(("seats", "bots"), [(1, 1), (3, 3), (3, 2), (4, 4)])
async def test_a_team_plays_as_many_matches_at_once_as_it_has_bots(
    tmp_path: Path, autojump_clock: MockClock, seats: int, bots: int
) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 5, **SMALL), {1: seats}))
    await stage.play(*[1] * bots, 2, 3, 4, 5, seconds={1: 0.1})
    assert most_at_once(stage, 1) == bots
    assert [most_at_once(stage, team) for team in (2, 3, 4, 5)] == [1] * 4
    assert len(stage.store.saved) == 20
    check_links(stage)


async def test_two_teams_with_several_seats_play_each_other_several_times_at_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    contest = make_contest(tmp_path, 2, event={**SMALL["event"], "settings": {"legs": 4}})
    stage = Stage(with_seats(contest, {1: 3, 2: 4}))
    await stage.play(1, 1, 1, 2, 2, 2, 2, seconds={1: 0.1, 2: 0.1})
    assert (most_at_once(stage, 1), most_at_once(stage, 2)) == (3, 3)
    check_links(stage)


async def test_a_late_bot_gets_a_match_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 3, **SMALL), {1: 2}))

    async def come_late() -> None:
        await trio.sleep(0.55)
        stage.come(1)

    await stage.play(1, 2, 3, seconds={1: 0.1, 2: 0.1}, during=come_late)
    starts = [(at, event.match.teams) for at, event in stage.events if isinstance(event, MatchStarted)]
    assert 1 in starts[1][1]
    assert starts[1][0] == pytest.approx(0.55)
    check_links(stage)


async def test_a_disconnected_bot_returns_to_its_match(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 4, **SMALL), {1: 3}))
    matches: list[int] = []

    async def lose_one() -> None:
        await trio.sleep(0.25)
        matches.extend(peer.start().match for peer in stage.peers[1])
        stage.go(1, bot=1)
        await trio.sleep(0.2)
        stage.come(1, after(0.1))

    await stage.play(1, 1, 1, 2, 3, 4, seconds={1: 0.1}, during=lose_one)
    assert len(set(matches)) == 3
    back = stage.peers[1][3]
    assert (back.of(Start)[0].match, back.of(Start)[0].resumed) == (matches[1], True)
    assert isinstance(back.said[1], GetStep)
    assert {result.reason for result in stage.store.saved} == {"finished"}
    assert most_at_once(stage, 1) == 3
    check_links(stage)


async def test_a_bot_that_stays_away_holds_its_match_and_gets_no_other(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 4, **SMALL), {1: 3}))

    async def lose_one() -> None:
        await trio.sleep(0.25)
        stage.go(1, bot=1)

    await stage.play(1, 1, 1, 2, 3, 4, seconds={1: 0.1}, during=lose_one)
    reasons = Counter(result.reason for result in stage.store.saved)
    assert reasons == {"finished": 11, "missed_limit": 1}
    check_links(stage)


async def test_an_incident_stands_in_its_match_or_in_all_of_the_team(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 3, **SMALL), {1: 2}))
    noted: list[list[str]] = []

    async def misbehave() -> None:
        await trio.sleep(0.25)
        matches = [peer.start().match for peer in stage.peers[1]]
        stage.note(Incident("flood", "", "10.0.0.1", 1, "", matches[1]))
        stage.note(Incident("too_many_logins", "", "10.0.0.1", 1, ""))
        stage.note(Incident("bad_token", "", "10.0.0.9", None, ""))
        noted.extend(incidents_noted(tmp_path, match) for match in matches)

    await stage.play(1, 1, 2, 3, seconds={1: 0.1}, during=misbehave)
    assert noted == [["too_many_logins"], ["flood", "too_many_logins"]]


# --- missing bots --------------------------------------------------------------------------------------------


async def test_a_team_is_missing_only_without_any_bot(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 2, start={"absent_seconds": 60.0}, **SMALL), {1: 3}))

    async def leave_one_after_the_other() -> None:
        await trio.sleep(1.0)
        stage.go(1, bot=1)  # the one at which nobody plays
        await trio.sleep(100.0)
        assert not stage.of(Waiting)
        stage.come(2)

    await stage.play(1, 1, during=leave_one_after_the_other)
    assert [result.detail for result in stage.store.saved] == ["Team 2 did not come in 60 s"] * 2


async def test_a_match_begins_where_a_bot_sits(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 2, **SMALL), {1: 3}))

    async def leave_before_the_other_team_comes() -> None:
        await trio.sleep(1.0)
        stage.go(1, bot=0)
        stage.go(1, bot=1)
        stage.come(2)

    await stage.play(1, 1, 1, during=leave_before_the_other_team_comes)
    assert [result.reason for result in stage.store.saved] == ["finished"] * 2
    assert [len(peer.of(Start)) for peer in stage.peers[1]] == [0, 0, 2]


async def test_a_team_with_seats_that_never_comes_forfeits_all(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage = Stage(with_seats(make_contest(tmp_path, 3, start={"absent_seconds": 60.0}, **SMALL), {1: 2, 3: 3}))
    await stage.play(1, 1, 2)
    assert trio.current_time() == pytest.approx(60.0)
    forfeits = [result for result in stage.store.saved if result.reason == "never_arrived"]
    assert len(forfeits) == 4
    assert all(3 in result.match.teams for result in forfeits)
    check_links(stage)


# --- bots that come and go -----------------------------------------------------------------------------------


ACTIONS = st.lists(st.tuples(st.sampled_from(["come", "go"]), st.integers(1, 4), st.integers(0, 3)), max_size=12)


@pytest.mark.long
@settings(max_examples=30)
@given(seats=st.tuples(*[st.integers(1, 3)] * 4), actions=ACTIONS, pace=st.integers(1, 9))
def test_no_team_plays_more_at_once_than_it_has_bots(
    seats: tuple[int, ...], actions: list[tuple[str, int, int]], pace: int
) -> None:
    async def play(folder: Path) -> Stage:
        contest = make_contest(
            folder, 4, start={"absent_seconds": 30.0}, event={**SMALL["event"], "budget_seconds": 5.0}
        )
        stage = Stage(with_seats(contest, dict(enumerate(seats, start=1))))

        async def act() -> None:
            for number, (action, team, bot) in enumerate(actions):
                await trio.sleep(0.1 * pace + 0.001 * number)  # never in the instant of an answer
                if action == "come":
                    stage.come(team, after(0.07))
                elif bot < len(stage.peers[team]):
                    stage.go(team, bot)

        await stage.play(1, 1, 2, 3, seconds=dict.fromkeys(range(1, 5), 0.07), during=act)
        return stage

    with TemporaryDirectory() as folder:
        stage = trio.run(play, Path(folder), clock=MockClock(autojump_threshold=0))
    check_links(stage)
    assert len(stage.store.saved) == 12
    for team, count in enumerate(seats, start=1):
        assert most_at_once(stage, team) <= count
