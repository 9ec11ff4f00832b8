"""Contest folders with records of real play: matches judged in memory, by a mock clock, and stored permanently.

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

from getstep import Turn
from getstep.referee import forfeit_scores
from getstep.wire import GetStep, MalformedAnswer, Raised, Resign, Step
from getstep_bots import greedy
from getstep_engines import GAMES
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import Contest, contest_path, init_contest, load_contest
from getstep_server.config.roster import add_teams
from getstep_server.events import Event, MovePlayed
from getstep_server.incident import Incident
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.decision import NO_SHOW_RULE, Decision, record_of_decision
from getstep_server.records.game import game_header, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.reasons import DecisionKind, VoidReason
from getstep_server.records.record import Record, parse
from getstep_server.records.result import Result
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Store
from getstep_server.text import utc_time
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament
from tests.support.memory_peers import MemoryPeer, Reply

NAMES = ("Ada", "=1+1", "Charles, and Co.", "Дороти")
STARTED = 1.7e9

Peers = list[MemoryPeer]


# --- how players answer ---------------------------------------------------------------------------------------


def thinking(seconds: float, reply: Callable[[MemoryPeer, GetStep], Any]) -> Reply:
    """Return a bot that answers after about this many seconds; they vary, and are the same in each run."""

    def answer(peer: MemoryPeer, question: GetStep) -> Any:
        async def later() -> Any:
            await trio.sleep(seconds * _dice(peer, question).uniform(0.5, 1.5))
            return reply(peer, question)

        return later

    return answer


def _good(peer: MemoryPeer, question: GetStep) -> Step:
    game = peer.start().game
    if game == "hop":
        turn = Turn(game, 1, question.move_number, "a team", question.last_move, question.time_left_ms)
        return Step(question.id, greedy.get_step(question.board, question.is_black, turn))
    return _any(peer, question)


def _any(peer: MemoryPeer, question: GetStep) -> Step:
    position = GAMES[peer.start().game].from_board(question.board, question.is_black)
    return Step(question.id, _dice(peer, question).choice(list(position.legal_moves())))


def _dice(peer: MemoryPeer, question: GetStep) -> Random:
    return Random(1000 * peer.start().match + question.move_number)


def at(moves: Sequence[int], special: Reply, other: Reply) -> Reply:
    """``special`` at these move numbers, else ``other``."""
    return lambda peer, question: (special if question.move_number in moves else other)(peer, question)


good: Reply = thinking(0.3, _good)
clumsy: Reply = thinking(0.2, _any)
silent: Reply = lambda _, question: None  # noqa: E731 - the type of a Reply is beside its name
illegal: Reply = lambda _, question: Step(question.id, [[0, 0], [7, 7]])  # noqa: E731 - the type of a Reply is beside its name
raised: Reply = thinking(
    0.1, lambda _, question: Raised(question.id, "ZeroDivisionError\n\x1b[2J division by zero")
)
malformed: Reply = lambda _, question: MalformedAnswer(question.id, "step: move is missing")  # noqa: E731 - the type of a Reply is beside its name
resign: Reply = thinking(1.0, lambda _, question: Resign(question.id))


def server_stands_still(seconds: float, clock: MockClock) -> Reply:
    """Return a bot whose answer is under way while the server stalls."""

    def answer(peer: MemoryPeer, question: GetStep) -> Any:
        async def later() -> Any:
            await trio.sleep(0.5)
            clock.jump(seconds)
            return _good(peer, question)

        return later

    return answer


# --- scenes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """One attempt at a match: how both play, what happens beside that, and after how many turns the server dies."""

    match: int
    first: Reply = good
    second: Reply = good
    during: Callable[[Peers, Scoresheet], Any] | None = None
    stop: int | None = None
    then: str = "resume"
    """After a stop: continue with the same sheet (``resume``), or the reason why the attempt does not count."""
    absent: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Decided:
    """The host decides; what comes next in the pairings is on record right after that."""

    kind: Any
    about: dict[str, Any]


async def vanish(peers: Peers, _: Scoresheet) -> None:
    await trio.sleep(2.0)
    peers[0].seat.detach(peers[0], "gone")


async def break_the_protocol(peers: Peers, sheet: Scoresheet) -> None:
    await trio.sleep(2.0)
    for _ in range(3):
        sheet.incident(Incident("bad_field", "a\u202e field", "10.0.0.9", sheet.match.second, "00"))
    await trio.sleep(2.0)
    peers[1].seat.violation(peers[1], "oversize_frame", "a frame of 5000 bytes")


def scenes_of_hop(clock: MockClock) -> list[Scene]:
    """Return scenes with every kind of turn and every kind of end, over the twelve matches of four teams."""
    return [
        Scene(1),
        Scene(2, stop=6, then=VoidReason.SERVER_FAULT),
        Scene(3, at([3], illegal, at([5], raised, at([7], malformed, good))), good),
        Scene(2, good, at([2, 6], silent, good)),
        Scene(4, silent, good, vanish),
        Scene(5, at([9], resign, good), good),
        Scene(7, at([5], server_stands_still(6.0, clock), good), good),
        Scene(6, good, good, break_the_protocol),
        Scene(8, good, good, stop=11),
        Scene(9, absent=(True, False)),
        Scene(10, absent=(True, True)),
        Scene(11, at([1], thinking(4.0, _good), good), good, stop=0, then=VoidReason.SERVER_FAULT),
        Scene(11, at([1], thinking(4.0, _good), good), good),
        Scene(12, good, clumsy),
    ]


def scenes_of_decisions(_: MockClock) -> list[Scene | Decided]:
    """Return scenes with every kind of decision about three teams, before, after and during matches."""
    return [
        Scene(1),
        Decided("adjudicate", {"match": 1, "winner": 0}),
        Decided("replay", {"match": 2}),
        Scene(2, stop=6, then=VoidReason.CALLED_OFF),
        Scene(2),
        Scene(3),
        Decided("replay", {"match": 3}),
        Scene(3),
        Decided("adjudicate", {"match": 4, "winner": None}),
        Scene(4, stop=3, then=VoidReason.CALLED_OFF),
        Decided("withdraw", {"team": 1}),
        Scene(5, stop=5, then=VoidReason.CALLED_OFF),
        Decided("reinstate", {"team": 1, "event": 1}),
        Scene(5),
        Decided("disqualify", {"team": 2, "event": 1}),
    ]


def scenes_of_lateness(_: MockClock) -> list[Scene | Decided]:
    """Return scenes of three teams: team 3 has forfeited matches 1, 2 and 4 before it arrives."""
    return [
        Scene(1, absent=(True, False)),
        Scene(2, absent=(False, True)),
        Scene(3),
        Scene(4, absent=(False, True)),
        Decided(DecisionKind.LATE_ARRIVAL, {"team": 3, "matches": (1, 2, 4)}),
        Scene(1),
        Scene(4),
        Scene(5),
    ]


def scenes_of_budget(_: MockClock) -> list[Scene]:
    """Return scenes with a budget that is spent, one that is overdrawn within the allowance, and one that lasts."""
    return [
        Scene(1, thinking(0.01, _good), thinking(0.02, _good)),
        Scene(2, thinking(0.3, _good), thinking(0.01, _good)),
    ]


def scenes_of_spending(_: MockClock) -> list[Scene]:
    """In hop, a player with a spent budget keeps missing limits without being asked."""
    return [Scene(1, at([1], thinking(2.0, _good), good), good), Scene(2, silent, thinking(0.01, _good))]


INCREMENT = "budget_seconds = 1.0\nincrement_seconds = 0.5"


def scenes_of_increments(_: MockClock) -> list[Scene]:
    """In hop: a match that lasts by `INCREMENT` alone, and one that is resumed after a crash until all is spent."""
    return [
        Scene(1),
        Scene(2, at([3], illegal, at([5], raised, at([9], silent, good))), thinking(0.01, _good), stop=6),
    ]


def in_turn(replies: Sequence[Reply], other: Reply) -> Reply:
    """Return a bot that answers the first questions with these answers, and all others with ``other``."""

    def answer(peer: MemoryPeer, question: GetStep) -> Any:
        number = len(peer.of(GetStep))
        return (replies[number - 1] if number <= len(replies) else other)(peer, question)

    return answer


def scenes_of_stalling(_: MockClock) -> list[Scene]:
    """Return scenes: a player hangs for ever, one comes back, two only make faults, and the server restarts."""
    late: Reply = thinking(10.0, _good)
    return [
        Scene(1, silent, good),
        Scene(2, in_turn([silent, silent, late, silent, good, silent, silent], good), good),
        Scene(3, raised, malformed),
        Scene(4, good, silent, stop=16),
        Scene(5, late, good),
    ]


# --- playing --------------------------------------------------------------------------------------------------


class _Stage:
    def __init__(self, contest: Contest, tournament: Tournament) -> None:
        self.contest = contest
        self.matches = tournament.matches
        self.tournament = tournament
        self.events: list[Event] = []
        self.disk = Disk(contest.folder, self.events.append)
        self.sheets = ScoresheetStore(contest, self.disk)
        self.attempts = Counter[int]()
        self.records: list[Record] = []
        contest.running.mkdir(exist_ok=True)

    def close(self) -> None:
        """Close the journal."""
        self.sheets.close()

    def put(self, record: Record) -> None:
        """Put a record at the end."""
        self.records.append(record)
        self.tournament.apply(parse(record.header))

    def begin_run(self) -> None:
        """Put the settings on record, as a run does at its beginning."""
        self.put(record_of_settings({**(self.tournament.settings.due() or {}), "at": utc_time(STARTED)}))

    def issue_pairings(self) -> None:
        """Put the pairings that come next on record, if there are any."""
        fields = self.tournament.next_pairings(self.contest.events[0])
        if fields is not None:
            self.put(record_of_pairings(fields))

    async def act(self, scene: Scene | Decided) -> None:
        """Play one scene to its record."""
        if isinstance(scene, Decided):
            at = utc_time(STARTED + len(self.records))
            by = NO_SHOW_RULE if scene.kind == DecisionKind.LATE_ARRIVAL else "Grace"
            decision = Decision(kind=scene.kind, by=by, why="so it was agreed", at=at, **scene.about)
            self.put(record_of_decision(self.contest, decision))
            self.issue_pairings()
            return
        match = self.matches[scene.match]
        self.attempts[scene.match] += 1
        attempt = self.attempts[scene.match]
        head = game_header(self.contest, match, attempt, STARTED + len(self.records))
        if any(scene.absent):
            self.put(record_of_game(head, self._never_arrived(match, attempt, scene.absent)))
            return
        sheet = Scoresheet(head, self.sheets._journal, self.disk)
        await sheet.begin()
        result = await self._play(scene, sheet, scene.stop)
        if result is None and scene.then == "resume":
            self.close()
            self.sheets = ScoresheetStore(self.contest, self.disk)
            over = {(record.match.number, record.attempt) for record in self.records if record.match is not None}
            (sheet,), _ = self.sheets.unfinished(list(self.matches.values()), over)
            result = await self._play(scene, sheet, None)
        self.put(sheet.record(result or sheet.with_totals(_unplayed(match, attempt, None, scene.then))))
        sheet.release()

    async def _play(self, scene: Scene, sheet: Scoresheet, stop: int | None) -> Result | None:
        result = None
        scheduler = DeadlineScheduler()
        seats = [Seat(self.contest.teams[team], self.events.append) for team in sheet.match.teams]
        async with trio.open_nursery() as nursery:

            def publish(event: Event) -> None:
                if isinstance(event, MovePlayed) and stop is not None and sheet.match_state.turns >= stop:
                    nursery.cancel_scope.cancel()

            nursery.start_soon(scheduler.run)
            replies = (scene.first, scene.second)
            peers = [MemoryPeer(nursery, seat, reply) for seat, reply in zip(seats, replies, strict=True)]
            if scene.during is not None:
                nursery.start_soon(scene.during, peers, sheet)
            result = await play_match(sheet, (seats[0], seats[1]), scheduler, publish)
            nursery.cancel_scope.cancel()
        return result

    def _never_arrived(self, match: Match, attempt: int, absent: tuple[bool, bool]) -> Result:
        return _unplayed(match, attempt, None if all(absent) else absent.index(False), "never_arrived")


def _unplayed(match: Match, attempt: int, winner: int | None, reason: str) -> Result:
    scores = None
    if winner is not None:
        scores = forfeit_scores(GAMES[match.game].start(**match.options), 1 - winner)  # type: ignore[arg-type]  # a winner is 0 or 1
    nothing: Any = (0.0, 0.0)
    started = STARTED
    return Result(match, winner, reason, "as told", scores, 0, nothing, (0, 0), started, 0.0, attempt)  # type: ignore[arg-type]  # a winner is 0 or 1, a reason a known one


def play_six_of_tonga(folder: Path, *, size: str | None = None, openings: int | None = None) -> Contest:
    """Return a contest of six games of three teams, the second of which was resumed after a crash."""
    scenes = [Scene(n, clumsy, clumsy, stop=9 if n == 2 else None) for n in range(1, 7)]
    return play_scenes(folder, "pseudo_tonga", lambda _: scenes, teams=3, size=size, openings=openings)


def play_scenes(
    folder: Path,
    game: str,
    scenes: Callable[[MockClock], Sequence[Scene | Decided]],
    *,
    teams: int = 2,
    limit: str | None = None,
    size: str | None = None,
    ladder: bool = False,
    settings: bool = True,
    openings: int | None = None,
    agreement: bool = False,
) -> Contest:
    """Make a contest folder of ``game`` with the records of ``scenes``; ``limit`` is its line in the event.

    ``size`` is a range for the option of `pseudo_tonga`. Matches begin with random ``openings`` of so many moves.

    It is a round robin, or the first round of a ``ladder`` with two games of each pair, or with an ``agreement`` a
    duel: a match ends when the estimates of two moves of both bots agree. Without ``settings`` on
    record it is one of an earlier version.
    """
    init_contest(folder, name="Test contest", games=[game], seed=5)
    add_teams(folder, [NewTeam(name, "", None) for name in NAMES[:teams]])
    if limit is not None:
        path = contest_path(folder)
        text = re.sub("(?m)^(move|budget)_seconds.*", limit, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    if size is not None:
        text = contest_path(folder).read_text(encoding="utf-8")
        contest_path(folder).write_text(re.sub("(?m)^options.size = .*", f'options.size = "{size}"', text), "utf-8")
    if openings is not None:
        text = contest_path(folder).read_text(encoding="utf-8")
        text = re.sub("(?m)^format = ", f"openings = {openings}\nformat = ", text)
        contest_path(folder).write_text(text, encoding="utf-8")
    if ladder:
        text = contest_path(folder).read_text(encoding="utf-8")
        text = text.replace('"round_robin"', '"ladder"').replace("settings.legs = 2", "settings.games = 2")
        contest_path(folder).write_text(text, encoding="utf-8")
    if agreement:
        text = contest_path(folder).read_text(encoding="utf-8").replace('"round_robin"', '"match"')
        text = text.replace("settings.legs = 2", "settings = {pairs = 1, resign = 0.9, agree = 2}")
        contest_path(folder).write_text(text, encoding="utf-8")
    contest = load_contest(folder)
    with Store(contest.database) as store:
        stage = _Stage(contest, Tournament(contest))
        if settings:
            stage.begin_run()
        stage.issue_pairings()
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
