"""The judge, with seats whose links are in memory and a clock that jumps: every fault, penalty and record."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import GetStep, Goodbye, MalformedAnswer, Message, Penalty, Raised, Resign, Start, Step
from getstep_engines import GAMES, TimeControl
from getstep_server.contest import Team
from getstep_server.course import Clocks
from getstep_server.disk import Disk
from getstep_server.events import Event, MovePlayed, Publish, ServerLate, TurnFaulted
from getstep_server.game_record import head_of_game
from getstep_server.journal import Journal
from getstep_server.judge import play_match
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.scoresheet import Scoresheet
from getstep_server.seats import Answer, Arrival, Seat, Table, Turns
from getstep_server.timekeeper import Timekeeper
from tests.server.players import first_legal, make_contest

LAG = 0.1
Reply = Callable[["MemoryLink", GetStep], Any]


class MemoryLink:
    """A link without a socket: it keeps what it is told and answers as a script says."""

    address, client, heard = "memory", "test", 0

    def __init__(self, nursery: trio.Nursery, seat: Seat, reply: Reply) -> None:
        self.nursery, self.seat, self.reply = nursery, seat, reply
        self.said: list[Message] = []
        seat.attach(self)

    def send(self, message: Message) -> None:
        self.said.append(message)
        if isinstance(message, GetStep):
            self.nursery.start_soon(self._answer, message)

    def look(self) -> None:
        """Nothing arrives unseen here."""

    def close(self, goodbye: Goodbye) -> None:
        self.said.append(goodbye)

    def of(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.said if isinstance(message, kind)]

    async def _answer(self, question: GetStep) -> None:
        reply = self.reply(self, question)
        if callable(reply):
            reply = await reply()
        if reply is not None:
            self.seat.answer(self, reply, trio.current_time(), stamped=False)

    def start(self) -> Start:
        start = self.of(Start)[-1]
        assert isinstance(start, Start)
        return start


def honest(link: MemoryLink, question: GetStep) -> Answer:
    return Step(question.id, first_legal(link.start(), question))


def after(seconds: float, reply: Reply = honest) -> Reply:
    def later(link: MemoryLink, question: GetStep) -> Any:
        async def wait() -> Any:
            await trio.sleep(seconds)
            return reply(link, question)

        return wait

    return later


def at_move(wanted: int, special: Reply) -> Reply:
    return lambda link, question: (special if question.move_number == wanted else honest)(link, question)


class Played:
    """A match that has been played, and all that was heard of it."""

    def __init__(self, result: Result, links: list[MemoryLink], events: list[Event]) -> None:
        self.result, self.links, self.events = result, links, events

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def make_sheet(match: Match, control: TimeControl, publish: Publish) -> Scoresheet:
    folder = Path(tempfile.mkdtemp())
    contest = make_contest(folder, event={"game": match.game, f"{control.kind}_seconds": control.seconds})
    head = head_of_game(contest, match, 1, 0.0)
    sheet = Scoresheet(head, Journal(folder), Disk(folder, publish))
    await sheet.begin()
    return sheet


async def play(
    first: Reply,
    second: Reply,
    game: str = "hop",
    control: TimeControl | None = None,
    during: Callable[[list[MemoryLink]], Any] | None = None,
) -> Played:
    events: list[Event] = []
    seats = [Seat(Team(id=n, name=f"Team {n}", token="12345678"), events.append) for n in (1, 2)]
    match = Match(number=5, round=1, pairing=1, leg=1, first=1, second=2, game=game)
    timekeeper = Timekeeper()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timekeeper.run)
        links = [MemoryLink(nursery, seat, reply) for seat, reply in zip(seats, (first, second), strict=True)]
        if during is not None:
            nursery.start_soon(during, links)
        sheet = await make_sheet(match, control or TimeControl("move", 5.0), events.append)
        result = await play_match(sheet, (seats[0], seats[1]), timekeeper, events.append)
        sheet.remove()
        nursery.cancel_scope.cancel()
    return Played(result, links, events)


@pytest.mark.parametrize("game", GAMES)
async def test_an_honest_match_ends_by_the_rules(game: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, honest, game)
    assert played.result.reason == "finished"
    assert played.result.faults == (0, 0)
    assert played.result.turns == len(played.of(MovePlayed))
    state = GAMES[game].start()
    for move in played.of(MovePlayed):
        assert move.player == state.to_move
        state.play(move.move)
    assert state.outcome is not None
    assert (played.result.winner, played.result.scores) == (state.outcome.winner, state.outcome.scores)


async def test_what_a_player_is_told(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, honest)
    black, white = played.links
    assert (black.start().is_black, white.start().is_black) == (True, False)
    assert (black.start().opponent, black.start().match, black.start().time_ms) == ("Team 2", 5, 5000)
    questions = black.of(GetStep) + white.of(GetStep)
    assert len({(q.is_black, q.id) for q in questions}) == len(questions)
    assert [q.move_number for q in sorted(questions, key=lambda q: q.move_number)] == [
        n + 1 for n in range(len(questions))
    ]
    assert black.of(GetStep)[0].last_move is None
    moves = {m.player: m.move for m in played.of(MovePlayed)[:1]}
    assert white.of(GetStep)[0].last_move == moves[0]


FAULTS: dict[str, Reply] = {
    "illegal_move": lambda _, q: Step(q.id, [[0, 0], [7, 7]]),
    "raised": lambda _, q: Raised(q.id, "ZeroDivisionError: division by zero"),
    "malformed_answer": lambda _, q: MalformedAnswer(q.id, "step: move is missing"),
    "missed_limit": lambda _, q: None,
}


@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_skips_the_turn_in_hop(code: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(3, FAULTS[code]), honest)
    assert played.result.reason == "finished"
    assert played.result.faults == (1, 0)
    (fault,) = played.of(TurnFaulted)
    assert (fault.player, fault.code) == (0, code)
    (penalty,) = played.links[0].of(Penalty)
    assert (penalty.reason, penalty.id) == (code, played.links[0].of(GetStep)[1].id)
    assert "skipped" in penalty.detail
    questions = played.links[1].of(GetStep)
    assert questions[1].move_number == 4
    assert questions[1].last_move is None  # the skipped turn's
    assert questions[1].board == played.links[0].of(GetStep)[1].board


@pytest.mark.parametrize("game", ["longest_path", "chain_reaction", "linkage"])
@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_loses_where_the_rules_say_so(
    game: str, code: str, autojump_clock: trio.testing.MockClock
) -> None:
    played = await play(honest, at_move(2, FAULTS[code]), game)
    assert (played.result.winner, played.result.reason, played.result.faults) == (0, code, (0, 1))


@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_fills_the_board_in_pseudo_tonga(code: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(1, FAULTS[code]), honest, "pseudo_tonga")
    assert (played.result.winner, played.result.scores, played.result.reason) == (1, (0, 64 * 64), code)


async def test_resigning(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, at_move(2, lambda _, q: Resign(q.id)))
    assert (played.result.winner, played.result.reason, played.result.scores) == (0, "resigned", None)


async def test_the_limit_has_an_allowance_for_lag_and_no_more(autojump_clock: trio.testing.MockClock) -> None:
    in_time = await play(at_move(1, after(5.0 + LAG - 0.01)), honest)
    assert in_time.result.faults == (0, 0)
    late = await play(at_move(1, after(5.0 + LAG + 0.01)), honest)
    assert late.result.faults == (1, 0)


async def test_a_hung_bot_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(lambda _, q: None, honest, "longest_path", TimeControl("move", 3.0))
    assert played.result.seconds == pytest.approx(3.0 + LAG)
    assert played.result.winner == 1


async def test_a_late_answer_does_not_answer_the_next_question(autojump_clock: trio.testing.MockClock) -> None:
    def slow(link: MemoryLink, question: GetStep) -> Any:
        return after(7.0)(link, question) if question.move_number == 1 else None

    played = await play(slow, honest, "hop", TimeControl("move", 5.0))
    assert played.result.faults[0] == 200  # all 200 turns missed: the late one counted for nothing


async def test_a_budget_is_spent_over_the_whole_match(autojump_clock: trio.testing.MockClock) -> None:
    control = TimeControl("budget", 20.0)
    played = await play(after(0.7), after(0.1), "pseudo_tonga", control)
    # 0.7 s a move: the 29th would end at 20.3 s, beyond 20 s and the allowance
    assert (played.result.reason, played.result.faults) == ("missed_limit", (1, 0))
    assert played.result.thought[0] == pytest.approx(20.0)
    left = [question.time_left_ms for question in played.links[0].of(GetStep)]
    assert left[:3] == [20000, 19300, 18600]
    assert len(left) == 29
    enough = await play(after(0.6), after(0.6), "pseudo_tonga", control)
    assert enough.result.reason == "finished"


def test_the_allowance_is_no_extra_thinking_time_in_a_budget() -> None:
    clocks = Clocks(TimeControl("budget", 1.0), LAG)
    clocks.charge(0, 1050.0)
    assert clocks.limit(0) == 0.0
    assert clocks.limit(1) == 1.0


async def test_a_breach_loses_at_once_even_out_of_turn(autojump_clock: trio.testing.MockClock) -> None:
    async def misbehave(links: list[MemoryLink]) -> None:
        await trio.sleep(1.5)
        links[1].seat.breach(links[1], "oversize_frame", "a frame of 5000 bytes")

    played = await play(after(4.0), honest, during=misbehave)
    assert (played.result.winner, played.result.reason, played.result.scores) == (0, "hostile", None)
    assert played.result.seconds == pytest.approx(1.5)
    assert "oversize_frame" in played.result.detail


async def test_three_misses_without_a_connection_lose(autojump_clock: trio.testing.MockClock) -> None:
    async def vanish(links: list[MemoryLink]) -> None:
        await trio.sleep(2.0)
        links[0].seat.detach(links[0], "gone")

    played = await play(lambda _, q: None, honest, during=vanish)
    assert (played.result.winner, played.result.reason) == (1, "absent")
    assert played.result.faults == (2, 0)
    assert played.result.seconds == pytest.approx(3 * (5.0 + LAG))


async def test_who_is_back_in_time_carries_on_with_the_same_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    links_back: list[MemoryLink] = []

    async def come_back(links: list[MemoryLink]) -> None:
        await trio.sleep(2.0)
        links[0].seat.detach(links[0], "gone")
        await trio.sleep(1.0)
        links_back.append(MemoryLink(links[0].nursery, links[0].seat, honest))

    played = await play(at_move(1, lambda _, q: None), honest, during=come_back)
    assert played.result.faults == (0, 0)
    (asked,) = played.links[0].of(GetStep)
    again = links_back[0].of(GetStep)[0]
    assert (again.id, again.board) == (asked.id, asked.board)
    assert again.time_left_ms == 2000
    assert links_back[0].start().resumed
    assert not played.links[0].start().resumed
    assert played.result.thought[0] == pytest.approx(3.0)


async def test_a_miss_with_a_connection_interrupts_the_count(autojump_clock: trio.testing.MockClock) -> None:
    async def come_and_go(links: list[MemoryLink]) -> None:
        for _ in range(4):  # away for two limits, there for one
            link = (
                links[0] if links[0].seat.link else MemoryLink(links[0].nursery, links[0].seat, lambda _, q: None)
            )
            link.seat.detach(link, "gone")
            await trio.sleep(2 * (5.0 + LAG))
            MemoryLink(links[0].nursery, links[0].seat, lambda _, q: None)
            await trio.sleep(5.0 + LAG)

    played = await play(lambda _, q: None, honest, during=come_and_go)
    assert played.result.reason == "finished"


async def test_time_in_which_the_server_stands_still_is_given_back_as_often_as_it_does(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def stands_still(*seconds: float) -> Reply:
        def answer(link: MemoryLink, question: GetStep) -> Any:
            async def later() -> Any:
                for stall in seconds:
                    await trio.sleep(1.0)
                    autojump_clock.jump(stall)
                await trio.sleep(1.0)
                return honest(link, question)

            return later

        return answer

    patient = await play(at_move(1, stands_still(6.0)), honest)
    assert patient.result.faults == (0, 0)
    assert [late.seconds for late in patient.of(ServerLate)] == [pytest.approx(6.0, abs=0.05)]
    twice = await play(at_move(1, stands_still(6.0, 20.0)), honest)
    assert twice.result.faults == (0, 0)
    assert [round(late.seconds) for late in twice.of(ServerLate)] == [6, 26]
    own_fault = await play(at_move(1, stands_still(6.0, 0.0, 0.0, 0.0, 0.0)), honest)
    assert own_fault.result.faults == (1, 0)


async def test_who_gives_up_pseudo_tonga_is_scored_like_a_fault(autojump_clock: trio.testing.MockClock) -> None:
    """Else a loser would escape the match's value, and deny it to the winner, by resigning in time."""
    resigned = await play(honest, at_move(2, lambda _, q: Resign(q.id)), "pseudo_tonga")
    fault = await play(honest, at_move(2, FAULTS["raised"]), "pseudo_tonga")
    assert resigned.result.scores == fault.result.scores == (64 * 64, 0)
    assert (resigned.result.winner, resigned.result.reason) == (0, "resigned")


async def test_a_breach_out_of_turn_is_scored_against_who_committed_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def misbehave(links: list[MemoryLink]) -> None:
        await trio.sleep(1.5)
        links[1].seat.breach(links[1], "oversize_frame", "a frame of 5000 bytes")

    played = await play(after(4.0), honest, "pseudo_tonga", during=misbehave)
    assert (played.result.winner, played.result.scores) == (0, (64 * 64, 0))


async def test_a_spent_budget_leaves_no_allowance_to_play_on_with(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(1, after(2.05)), honest, "hop", TimeControl("budget", 2.0))
    assert played.result.faults == (199, 0)  # the first answer was within the allowance
    assert len(played.links[0].of(GetStep)) == 1


# --- where the judge works ----------------------------------------------------------------------------------------


def judging(heard: list[Any], *, deadline: float = 1e9) -> Turns:
    """A judge that notes three arrivals, or that there was none."""
    for _ in range(3):
        heard.append((yield deadline))


def arrival_of(number: int) -> Any:
    return Arrival(None, Resign(number + 1), 0.0, stamped=False)  # type: ignore[arg-type]


async def test_the_judge_goes_on_where_an_answer_is_read(autojump_clock: trio.testing.MockClock) -> None:
    heard: list[Any] = []
    table, arrivals = Table(Timekeeper()), [arrival_of(n) for n in range(3)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, judging(heard))
        table.put(arrivals[0])  # before it has begun: it is there when it does
        table.wake()
        await trio.testing.wait_all_tasks_blocked()
        for number in (1, 2):
            table.put(arrivals[number])
            assert len(heard) == number
            table.wake()
            assert heard == arrivals[: number + 1]  # at once, and no task had its turn
    table.put(arrivals[0])
    table.wake()  # after the end nobody listens
    assert heard == arrivals


async def test_only_a_deadline_that_has_passed_wakes_the_judge(autojump_clock: trio.testing.MockClock) -> None:
    heard: list[Any] = []
    timekeeper = Timekeeper()
    table = Table(timekeeper)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timekeeper.run)
        async with trio.open_nursery() as playing:
            playing.start_soon(table.play, judging(heard, deadline=trio.current_time() + 1.0))
            await trio.sleep(0.5)
            table._alarm.ring()  # as when it rings while an answer is being read
            await trio.sleep(0.4)
            assert heard == []
            await trio.sleep(0.2)
            assert heard == [None] * 3
        nursery.cancel_scope.cancel()


async def test_what_takes_time_is_done_by_the_match_s_own_task(autojump_clock: trio.testing.MockClock) -> None:
    done: list[str] = []

    async def errand() -> None:
        await trio.sleep(1.0)
        done.append("errand")

    def turns() -> Turns:
        arrival = yield 1e9
        assert arrival is not None
        assert (yield errand) is None
        done.append("move")
        arrival = yield 1e9
        assert arrival is not None
        done.append("next move")

    table = Table(Timekeeper())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, turns())
        await trio.testing.wait_all_tasks_blocked()
        for number in (1, 2):  # the second while the errand is under way
            table.put(arrival_of(number))
            table.wake()
        assert done == []
    assert done == ["errand", "move", "next move"]


async def test_a_judge_that_fails_fails_in_its_own_match(autojump_clock: trio.testing.MockClock) -> None:
    def turns() -> Turns:
        yield 1e9
        raise ZeroDivisionError

    table = Table(Timekeeper())
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(table.play, turns())
            await trio.testing.wait_all_tasks_blocked()
            table.put(arrival_of(1))
            table.wake()  # not here


async def test_a_match_that_is_cancelled_judges_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    heard: list[Any] = []
    table = Table(Timekeeper())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, judging(heard))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    table.put(arrival_of(1))
    table.wake()
    assert heard == []
