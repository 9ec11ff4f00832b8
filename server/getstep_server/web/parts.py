"""What the pages show of a contest that goes on, and the parts of the overview."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from msgspec.structs import asdict

from getstep_server.api.answers import (
    BOARDS,
    Board,
    Clock,
    ContestState,
    Freeze,
    FriendlyPair,
    Notices,
    OverviewParts,
    Presence,
    Progress,
    StalledIn,
)
from getstep_server.api.build import PAGE_MESSAGES, contest_answer, match_answer, notices, result_answer, team_ref
from getstep_server.records.match import Match
from getstep_server.records.result import PLAYERS, Result
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .live import LiveMatch
from .tables import PageTables
from .topics import Parts
from .wall import Wall

RESULTS = 12
"""The latest results on the overview."""

NEXT = 8
"""The matches that are named as the next ones."""

RUNNING = 64
"""The running matches that are named next to the boards."""

FRIENDLIES = 12
"""The friendly matches of an arena that are named below the boards."""

STAYS_SECONDS = 4.0
"""The time for which a finished board stays, so that one sees how it ended."""

BOARD_SECONDS = 0.02
"""The processor time for applying moves before a topic is built. Boards that are behind then catch up later."""


def board_answer(tournament: Tournament, live: LiveMatch) -> Board:
    """Return the board of a running match, with both clocks."""
    state = live.state
    game, position = state.game, state.state
    match = match_answer(tournament, live.match)
    return Board(
        **{name: getattr(match, name) for name in match.__struct_fields__},
        game=game.name,
        players=game.players,
        board=live.board(),
        touched=live.touched(),
        measures=game.measures(position),
        balance=round(live.balance(), 2),
        turn=state.turns,
        to_move=live.to_move,
        clock=_clock(live),
        faults=(state.faults[0], state.faults[1]),
        stalled=live.stalled,
        paused=None if live.pause is None else live.pause.why,
        result=None if live.result is None else result_answer(tournament, live.result),
    )


def _clock(live: LiveMatch) -> Clock:
    clocks = live.state.clocks
    first, second = PLAYERS
    return Clock(
        kind=clocks.control.kind,
        limit=round(1000 * clocks.control.seconds),
        used=(round(clocks.thought_ms[first]), round(clocks.thought_ms[second])),
        left=(round(1000 * clocks.limit(first)), round(1000 * clocks.limit(second))),
        asked=round(1000 * live.asked_at),
        stopped=None if live.stopped_at is None else round(1000 * live.stopped_at),
    )


class Slots:
    """The boards of the overview: a match keeps its place until it is over, and a moment longer.

    Args:
        feed: the contest.
        wall: a match that is pinned there has a board.
    """

    def __init__(self, feed: Feed, wall: Wall) -> None:
        self._feed = feed
        self._wall = wall
        self._slots: list[LiveMatch | None] = [None] * BOARDS

    def boards(self) -> list[LiveMatch | None]:
        """Return the match in each place; during a freeze, none."""
        if self._feed.frozen:
            self._slots = [None] * BOARDS
            return self._slots
        now, running = time.monotonic(), self._feed.live.running
        for place, live in enumerate(self._slots):
            if live is None or running.get(live.match.number) is live:
                continue
            if live.result is None or now > live.over_at + STAYS_SECONDS:
                self._slots[place] = None
        shown = {live.match.number for live in self._slots if live is not None}
        pinned = running.get(self._wall.pinned or 0)
        if pinned is not None and pinned.match.number not in shown:
            shown.add(pinned.match.number)
            self._slots[-1] = pinned
        waiting = (live for number, live in running.items() if number not in shown)
        for place, live in enumerate(self._slots):
            if live is None:
                self._slots[place] = next(waiting, None)
        return self._slots


class Overview:
    """Builds the topic of the overview.

    Args:
        feed: the contest.
        tables: returns the current tables.
        wall: what the host has chosen for it.
    """

    def __init__(self, feed: Feed, tables: Callable[[], PageTables], wall: Wall) -> None:
        self._feed = feed
        self._tables = tables
        self._wall = wall
        self._slots = Slots(feed, wall)

    def __call__(self) -> Parts:
        feed, tournament = self._feed, self._feed.tournament
        tables = self._tables()
        boards = self._slots.boards()
        catch_up([live for live in boards if live is not None])
        shown = {live.match.number for live in boards if live is not None}
        running = feed.running
        parts = OverviewParts(
            contest=contest_answer(tournament),
            notices=notices_answer(feed),
            progress=progress_answer(feed, tables),
            freeze=freeze_answer(feed),
            table=tables.main,
            absence=tables.absence,
            results=[result_answer(tournament, result) for result in latest_results(feed)],
            teams=presence(feed),
            next=[match_answer(tournament, match) for match in _next(feed, tables)],
            running=[match_answer(tournament, live.match) for live in islice(running.values(), RUNNING)],
            friendlies=friendlies(feed),
            wall=self._wall.answer([None if live is None else live.match.number for live in boards]),
            winners=list(tables.winners),
            more=max(0, len(running) - len(shown & running.keys())),
            **{
                f"board{place}": None if live is None else board_answer(tournament, live)
                for place, live in enumerate(boards)
            },
        )
        return asdict(parts)


def catch_up(lives: Sequence[LiveMatch], seconds: float = BOARD_SECONDS) -> None:
    """Apply the turns of these matches, within ``seconds`` of processor time in all.

    Each match gets an equal share of what is left: with the whole for the first ones, the last would stand still.
    """
    until = time.thread_time() + seconds
    for left, live in zip(range(len(lives), 0, -1), lives, strict=True):
        live.catch_up((until - time.thread_time()) / left)


def progress_answer(feed: Feed, tables: PageTables) -> Progress:
    """Return how far the contest is: its state, matches done and expected, and the expected end."""
    tournament = feed.tournament
    done, total = tournament.done + len(feed.hidden), tournament.total
    expected = max(tables.expected, total)
    seconds = feed.pace.seconds_left(feed.played, expected - done, tables.left)
    # During a freeze the estimate would tell how many matches follow from the hidden results.
    open_ended = tournament.contest.is_open_ended
    known = seconds is not None and feed.server_runs and not feed.frozen and not open_ended
    # to 10 s: else the page would change with each look
    end = round(time.time() + (seconds or 0), -1) if known else None
    return Progress(state=state_of(feed), done=done, total=total, expected=expected, end=end)


def notices_answer(feed: Feed, latest: int = PAGE_MESSAGES) -> Notices:
    """Return what each page shows at its top: messages for everybody, and pauses."""
    status = feed.status if feed.server_runs else None
    missing = None if status is None else status.standby_missing
    return notices(feed.whole, feed.tournament, latest, missing)


def freeze_answer(feed: Feed) -> Freeze | None:
    """Return how many results are hidden, in all and of each team, and the latest ones; None without a freeze."""
    if not feed.frozen:
        return None
    hidden = feed.hidden
    return Freeze(
        hidden=len(hidden),
        by_team=Counter(team for match in hidden for team in match.teams),
        latest=[match_answer(feed.tournament, match) for match in hidden[: -RESULTS - 1 : -1]],
    )


def state_of(feed: Feed) -> ContestState:
    """Return "waiting", "playing", "over", "stopped" or "new"."""
    tournament, status = feed.whole, feed.status
    if feed.live.running and feed.server_runs:
        return "playing"
    if tournament.total and tournament.done == tournament.total and (not feed.server_runs or _over(feed)):
        return "over"
    if feed.server_runs:
        return "waiting" if status is None or status.state == "gathering" or status.waiting else "playing"
    return "stopped" if tournament.total else "new"


def _over(feed: Feed) -> bool:
    return feed.status is not None and feed.status.state == "over"


def presence(feed: Feed) -> Presence:
    """Return which teams are missing, stalled, or do not answer; without a server nobody is expected.

    During a freeze nothing is known: a team that has left the contest was perhaps knocked out.
    """
    tournament = feed.tournament
    if feed.frozen:
        return Presence(known=False, connected=0, missing=[], stalled=[], hanging=[])
    stalled = [
        StalledIn(match=live.match.number, team=team_ref(tournament, team))
        for live in feed.live.running.values()
        for team in live.stalled
    ]
    if not feed.server_runs or feed.status is None or state_of(feed) == "over":
        return Presence(known=False, connected=0, missing=[], stalled=stalled, hanging=[])
    connected = feed.status.connected
    missing = [team_ref(tournament, team) for team in tournament.contest.teams if team not in connected]
    hanging = [team_ref(tournament, team) for team in feed.status.hanging if team in tournament.contest.teams]
    return Presence(known=True, connected=len(connected), missing=missing, stalled=stalled, hanging=hanging)


def friendlies(feed: Feed) -> list[FriendlyPair]:
    """Return the friendly matches of an arena that are being played; none during a freeze."""
    if feed.status is None or not feed.server_runs or feed.frozen:
        return []
    made = feed.whole.challenges.made
    playing = [made[number] for number in feed.status.friendly if number in made]
    return [
        FriendlyPair(teams=(team_ref(feed.tournament, one.team), team_ref(feed.tournament, one.opponent)))
        for one in playing[:FRIENDLIES]
    ]


def latest_results(feed: Feed, count: int = RESULTS) -> list[Result]:
    """Return the latest results that are official now, the last one first."""
    tournament = feed.tournament
    official = (result for result in feed.latest if tournament.final_result(result.match) == result)
    return list(islice(official, count))


def _next(feed: Feed, tables: PageTables) -> list[Match]:
    """Return the first matches that are open and not running."""
    running, tournament = feed.running, feed.tournament
    coming = (match for match in tables.coming if match.number not in running and tournament.is_open(match))
    return list(islice(coming, NEXT))
