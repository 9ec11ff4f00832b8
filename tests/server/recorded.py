"""Contest folders with records of real play: matches judged in memory, by a clock that jumps, and stored for good.

Nearly all that a record can say happens in one of the scenes: every fault and every end, a server that is late,
one that dies in the middle, an attempt that does not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import trio
from trio.testing import MockClock

from getstep.wire import GetStep, MalformedAnswer, Raised, Resign, Step
from getstep_bots.greedy_hop import get_step as greedy_hop
from getstep_engines import GAMES
from getstep_server._text import utc_time
from getstep_server.contest import Contest, contest_path, init_contest, load_contest
from getstep_server.course import forfeit_scores
from getstep_server.decisions import Decision, record_of_decision
from getstep_server.disk import Disk
from getstep_server.events import Event, Incident, MovePlayed
from getstep_server.game_record import (
    CALLED_OFF,
    VOID,
    Record,
    head_of_game,
    parse,
    record_of_game,
    record_of_pairings,
)
from getstep_server.judge import play_match
from getstep_server.results import Result
from getstep_server.roster import Newcomer, add_teams
from getstep_server.schedule import Match
from getstep_server.scoresheet import Scoresheet, Scoresheets
from getstep_server.seats import Seat
from getstep_server.store import Store
from getstep_server.timekeeper import Timekeeper
from getstep_server.tournament import Tournament
from tests.server.test_judge import MemoryLink, Reply

NAMES = ("Ada", "=1+1", "Charles, and Co.", "Дороти")
STARTED = 1.7e9

Links = list[MemoryLink]


# --- how players answer ---------------------------------------------------------------------------------------


def thinking(seconds: float, reply: Callable[[MemoryLink, GetStep], Any]) -> Reply:
    """Answers after about so many seconds, each time others, and the same whenever it is played."""

    def answer(link: MemoryLink, question: GetStep) -> Any:
        async def later() -> Any:
            await trio.sleep(seconds * _dice(link, question).uniform(0.5, 1.5))
            return reply(link, question)

        return later

    return answer


def _good(link: MemoryLink, question: GetStep) -> Step:
    game = link.start().game
    if game == "hop":
        return Step(question.id, greedy_hop(question.board, question.is_black))
    return _any(link, question)


def _any(link: MemoryLink, question: GetStep) -> Step:
    position = GAMES[link.start().game].from_board(question.board, question.is_black)
    return Step(question.id, _dice(link, question).choice(list(position.legal_moves())))


def _dice(link: MemoryLink, question: GetStep) -> Random:
    return Random(1000 * link.start().match + question.move_number)


def at(moves: Sequence[int], special: Reply, other: Reply) -> Reply:
    """``special`` at these move numbers, else ``other``."""
    return lambda link, question: (special if question.move_number in moves else other)(link, question)


good: Reply = thinking(0.3, _good)
clumsy: Reply = thinking(0.2, _any)
silent: Reply = lambda _, question: None  # noqa: E731
illegal: Reply = lambda _, question: Step(question.id, [[0, 0], [7, 7]])  # noqa: E731
raised: Reply = thinking(
    0.1, lambda _, question: Raised(question.id, "ZeroDivisionError\n\x1b[2J division by zero")
)
malformed: Reply = lambda _, question: MalformedAnswer(question.id, "step: move is missing")  # noqa: E731
resign: Reply = thinking(1.0, lambda _, question: Resign(question.id))


def server_stands_still(seconds: float, clock: MockClock) -> Reply:
    """The answer is under way when the server stops for a while."""

    def answer(link: MemoryLink, question: GetStep) -> Any:
        async def later() -> Any:
            await trio.sleep(0.5)
            clock.jump(seconds)
            return _good(link, question)

        return later

    return answer


# --- scenes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """One attempt at a match: how both play, what happens beside that, and after how many turns the server dies."""

    match: int
    first: Reply = good
    second: Reply = good
    during: Callable[[Links, Scoresheet], Any] | None = None
    stop: int | None = None
    then: str = "resume"
    """After a stop: go on with the same sheet (``resume``), or the reason for which the attempt does not count."""
    absent: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Decided:
    """The host decides; what comes next in the pairings is on record right after that."""

    kind: Any
    about: dict[str, Any]


async def vanish(links: Links, _: Scoresheet) -> None:
    await trio.sleep(2.0)
    links[0].seat.detach(links[0], "gone")


async def break_the_protocol(links: Links, sheet: Scoresheet) -> None:
    await trio.sleep(2.0)
    for _ in range(3):
        sheet.incident(Incident("bad_field", "a\u202e field", "10.0.0.9", sheet.match.second, "00"))
    await trio.sleep(2.0)
    links[1].seat.breach(links[1], "oversize_frame", "a frame of 5000 bytes")


def scenes_of_hop(clock: MockClock) -> list[Scene]:
    """Every kind of turn and every kind of end, over the twelve matches of four teams."""
    return [
        Scene(1),
        Scene(2, stop=6, then=VOID),
        Scene(3, at([3], illegal, at([5], raised, at([7], malformed, good))), good),
        Scene(2, good, at([2, 6], silent, good)),
        Scene(4, silent, good, vanish),
        Scene(5, at([9], resign, good), good),
        Scene(7, at([5], server_stands_still(6.0, clock), good), good),
        Scene(6, good, good, break_the_protocol),
        Scene(8, good, good, stop=11),
        Scene(9, absent=(True, False)),
        Scene(10, absent=(True, True)),
        Scene(11, at([1], thinking(4.0, _good), good), good, stop=0, then=VOID),
        Scene(11, at([1], thinking(4.0, _good), good), good),
        Scene(12, good, clumsy),
    ]


def scenes_of_decisions(_: MockClock) -> list[Scene | Decided]:
    """Every kind of decision about three teams, before, after and during matches."""
    return [
        Scene(1),
        Decided("adjudicate", {"match": 1, "winner": 0}),
        Decided("replay", {"match": 2}),
        Scene(2, stop=6, then=CALLED_OFF),
        Scene(2),
        Scene(3),
        Decided("replay", {"match": 3}),
        Scene(3),
        Decided("adjudicate", {"match": 4, "winner": None}),
        Scene(4, stop=3, then=CALLED_OFF),
        Decided("withdraw", {"team": 1}),
        Scene(5, stop=5, then=CALLED_OFF),
        Decided("reinstate", {"team": 1, "event": 1}),
        Scene(5),
        Decided("disqualify", {"team": 2, "event": 1}),
    ]


def scenes_of_budget(_: MockClock) -> list[Scene]:
    """A budget that is spent, one that is overdrawn within the allowance, and one that lasts."""
    return [
        Scene(1, thinking(0.01, _good), thinking(0.02, _good)),
        Scene(2, thinking(0.3, _good), thinking(0.01, _good)),
    ]


def scenes_of_spending(_: MockClock) -> list[Scene]:
    """In hop, who has spent its budget goes on missing limits without being asked."""
    return [Scene(1, at([1], thinking(2.0, _good), good), good), Scene(2, silent, thinking(0.01, _good))]


# --- playing --------------------------------------------------------------------------------------------------


class _Stage:
    def __init__(self, contest: Contest, tournament: Tournament) -> None:
        self.contest = contest
        self.matches = tournament.matches
        self.tournament = tournament
        self.events: list[Event] = []
        self.disk = Disk(contest.folder, self.events.append)
        self.sheets = Scoresheets(contest, self.disk)
        self.attempts = Counter[int]()
        self.records: list[Record] = []
        contest.running.mkdir(exist_ok=True)

    def close(self) -> None:
        """Close the journal."""
        self.sheets.close()

    def put(self, record: Record) -> None:
        """Put a record at the end."""
        self.records.append(record)
        self.tournament.take(parse(record.head))

    def give_out(self) -> None:
        """Put the pairings that come next on record, if there are any."""
        fields = self.tournament.next_pairings(self.contest.events[0])
        if fields is not None:
            self.put(record_of_pairings(fields))

    async def act(self, scene: Scene | Decided) -> None:
        """Play one scene to its record."""
        if isinstance(scene, Decided):
            at = utc_time(STARTED + len(self.records))
            decision = Decision(kind=scene.kind, by="Grace", why="so it was agreed", at=at, **scene.about)
            self.put(record_of_decision(self.contest, decision))
            self.give_out()
            return
        match = self.matches[scene.match]
        self.attempts[scene.match] += 1
        attempt = self.attempts[scene.match]
        head = head_of_game(self.contest, match, attempt, STARTED + len(self.records))
        if any(scene.absent):
            self.put(record_of_game(head, self._never_arrived(match, attempt, scene.absent)))
            return
        sheet = Scoresheet(head, self.sheets._journal, self.disk)
        await sheet.begin()
        result = await self._play(scene, sheet, scene.stop)
        if result is None and scene.then == "resume":
            self.close()
            self.sheets = Scoresheets(self.contest, self.disk)
            over = {(record.match.number, record.attempt) for record in self.records if record.match is not None}
            (sheet,), _ = self.sheets.unfinished(list(self.matches.values()), over)
            result = await self._play(scene, sheet, None)
        self.put(sheet.record(result or sheet.so_far(_unplayed(match, attempt, None, scene.then))))
        sheet.remove()

    async def _play(self, scene: Scene, sheet: Scoresheet, stop: int | None) -> Result | None:
        result = None
        timekeeper = Timekeeper()
        seats = [Seat(self.contest.teams[team], self.events.append) for team in sheet.match.teams]
        async with trio.open_nursery() as nursery:

            def publish(event: Event) -> None:
                if isinstance(event, MovePlayed) and stop is not None and sheet.course.turns >= stop:
                    nursery.cancel_scope.cancel()

            nursery.start_soon(timekeeper.run)
            replies = (scene.first, scene.second)
            links = [MemoryLink(nursery, seat, reply) for seat, reply in zip(seats, replies, strict=True)]
            if scene.during is not None:
                nursery.start_soon(scene.during, links, sheet)
            result = await play_match(sheet, (seats[0], seats[1]), timekeeper, publish)
            nursery.cancel_scope.cancel()
        return result

    def _never_arrived(self, match: Match, attempt: int, absent: tuple[bool, bool]) -> Result:
        return _unplayed(match, attempt, None if all(absent) else absent.index(False), "never_arrived")


def _unplayed(match: Match, attempt: int, winner: int | None, reason: str) -> Result:
    scores = None
    if winner is not None:
        scores = forfeit_scores(GAMES[match.game].start(**match.options), 1 - winner)  # type: ignore[arg-type]
    nothing: Any = (0.0, 0.0)
    started = STARTED
    return Result(match, winner, reason, "as told", scores, 0, nothing, (0, 0), started, 0.0, attempt)  # type: ignore[arg-type]


def play_scenes(
    folder: Path,
    game: str,
    scenes: Callable[[MockClock], Sequence[Scene | Decided]],
    *,
    teams: int = 2,
    limit: str | None = None,
    ladder: bool = False,
) -> Contest:
    """Make a contest folder of ``game`` with the records of ``scenes``; ``limit`` is its line in the event.

    It is a round robin, or the first round of a ``ladder`` with two games of each pair.
    """
    init_contest(folder, name="Test contest", games=[game], seed=5)
    add_teams(folder, [Newcomer(name, "", None) for name in NAMES[:teams]])
    if limit is not None:
        path = contest_path(folder)
        text = re.sub("(?m)^(move|budget)_seconds.*", limit, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    if ladder:
        text = contest_path(folder).read_text(encoding="utf-8")
        text = text.replace('"round_robin"', '"ladder"').replace("settings.legs = 2", "settings.games = 2")
        contest_path(folder).write_text(text, encoding="utf-8")
    contest = load_contest(folder)
    with Store(contest.database) as store:
        stage = _Stage(contest, Tournament(contest))
        stage.give_out()
        clock = MockClock(autojump_threshold=0)

        async def act_all() -> None:
            for scene in scenes(clock):
                await stage.act(scene)
            stage.close()

        async def save_all() -> None:
            for record in stage.records:
                await store.save(record)

        trio.run(act_all, clock=clock)
        trio.run(save_all)  # with a real clock: the store has a thread
    return contest
