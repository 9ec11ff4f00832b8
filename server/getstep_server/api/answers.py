"""The answers of the HTTP API, version 1: what their fields are called, and which types they have.

The names of the classes are those of the schemas in the OpenAPI description, and their docstrings are its texts.
Times are milliseconds since the epoch unless a field says otherwise. Seconds are rounded to a millisecond.
"""

# Annotations are not strings here: msgspec makes the schemas of them.
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct

Outcome: TypeAlias = Literal["win", "draw", "loss"]
ContestState: TypeAlias = Literal["new", "waiting", "playing", "over", "stopped"]
MatchState: TypeAlias = Literal["waiting", "playing", "interrupted", "over", "cancelled", "hidden"]


class Answer(Struct, frozen=True, kw_only=True):
    """The base of all answers."""


# --- what several answers are made of ---------------------------------------------------------------------------


class TeamRef(Answer, frozen=True, kw_only=True):
    """A team: its id and its name."""

    id: int
    name: str


class MatchAnswer(Answer, frozen=True, kw_only=True):
    """A match: its number, the event's name and number, the round, and the first player's and the second's team."""

    match: int
    event: str
    event_number: int
    round: int
    teams: tuple[TeamRef, TeamRef]


class MessageAnswer(Answer, frozen=True, kw_only=True):
    """What the host has written: an announcement, or an answer, with the team that has asked and its question."""

    kind: Literal["announcement", "answer"]
    text: str
    by: str
    at: int
    to_all: bool
    team: TeamRef | None
    question: str | None


class PauseAnswer(Answer, frozen=True, kw_only=True):
    """A pause: of a match, of an event, or of the contest if both are null. ``why`` is the host's reason."""

    event: int | None
    match: int | None
    name: str
    why: str
    at: int


class Notices(Answer, frozen=True, kw_only=True):
    """What each page shows at its top: the latest messages of the host, the newest first, and what is paused."""

    messages: list[MessageAnswer]
    paused: list[PauseAnswer]


class ResultAnswer(MatchAnswer, frozen=True, kw_only=True):
    """A result. ``winner`` is 0 or 1, or null; ``points`` are "1", "½" or "0".

    ``text`` is the result in words. ``reason`` is empty if the game ended by its rules, and ``why`` is a sentence.
    ``thought`` is the thinking time of each player in seconds, ``faults`` the number of its penalties.
    """

    points: tuple[str, str]
    winner: int | None
    text: str
    reason: str
    why: str
    turns: int
    thought: tuple[float, float]
    faults: tuple[int, int]
    seconds: float
    ended: int


class OwnResult(ResultAnswer, frozen=True, kw_only=True):
    """A result from one team's point of view; ``role`` is what the game calls its side."""

    outcome: Outcome
    opponent: TeamRef
    role: str
    own_faults: int
    own_thought: float


class Clock(Answer, frozen=True, kw_only=True):
    """The clocks in ms: the limit, the time used, and the time left at ``asked``, the time of the open question.

    ``stopped`` is the time since which a pause stops the clock; null if it runs.
    """

    kind: str
    limit: int
    used: tuple[int, int]
    left: tuple[int, int]
    asked: int
    stopped: int | None


class Board(MatchAnswer, frozen=True, kw_only=True):
    """The board of a running match. ``to_move`` is 0 or 1; null if it is over. ``stalled`` has the ids of teams.

    ``paused`` is the host's reason for a pause of this match; null if there is none.
    """

    game: str
    players: tuple[str, str]
    board: list[list[int]]
    touched: dict[str, list[tuple[int, int]]]
    measures: tuple[int, int] | None
    balance: float
    turn: int
    to_move: int | None
    clock: Clock
    faults: tuple[int, int]
    stalled: list[int]
    paused: str | None
    result: ResultAnswer | None


class Turn(Answer, frozen=True, kw_only=True):
    """A turn: its number, the player (0 or 1), the move as text, the code of a fault or an end, and its reason.

    ``ms`` is the time that it took; a pass has none. ``move`` is the move as on the wire, if it was asked for.
    """

    n: int
    player: int
    text: str
    code: str
    why: str
    ms: float | None
    move: Any = UNSET


class EventAnswer(Answer, frozen=True, kw_only=True):
    """An event; ``about`` says in words its game, format and time limit."""

    number: int
    name: str
    game: str
    title: str
    format: str
    about: str
    teams: int


class ContestAnswer(Answer, frozen=True, kw_only=True):
    """What does not change while a contest is played."""

    name: str
    teams: int
    events: list[EventAnswer]


class Progress(Answer, frozen=True, kw_only=True):
    """How far the contest is: matches done, issued and expected, and the expected end (seconds since the epoch)."""

    state: ContestState
    done: int
    total: int
    expected: int
    end: float | None


class Freeze(Answer, frozen=True, kw_only=True):
    """How many results are hidden, in all and of each team, and the latest matches of them."""

    hidden: int
    by_team: dict[int, int]
    latest: list[MatchAnswer]


class StalledIn(Answer, frozen=True, kw_only=True):
    """A team that is stalled in a match."""

    match: int
    team: TeamRef


class Presence(Answer, frozen=True, kw_only=True):
    """Which teams are missing, stalled, or do not answer; nothing is ``known`` without a server or in a freeze."""

    known: bool
    connected: int
    missing: list[TeamRef]
    stalled: list[StalledIn]
    hanging: list[TeamRef]


# --- tables -----------------------------------------------------------------------------------------------------


class Column(Answer, frozen=True, kw_only=True):
    """A column of a table as people read it; ``spare`` if it may be left out for lack of room."""

    heading: str
    names: bool
    left: bool
    spare: bool


class Table(Answer, frozen=True, kw_only=True):
    """A table as people read it: texts by row, the team of each row, and which of them have left the contest."""

    columns: list[Column] = []
    rows: list[list[str]] = []
    teams: list[int] = []
    out: list[bool] = []
    notes: list[str] = []


class RatingInterval(Answer, frozen=True, kw_only=True):
    """A number, and the interval that contains the truth in 95 of 100 contests."""

    value: float
    low: float
    high: float


class StandingAnswer(Answer, frozen=True, kw_only=True):
    """A team's line in the standings of an event. docs/formats.md says what each criterion is.

    ``rank`` is null until the first result. ``place`` is the format's own, ``lot`` and ``direct`` are there if they
    were needed. ``status`` is "" for a team that takes part, "withdrawn" or "disqualified".
    """

    team: TeamRef
    rank: int | None
    played: int
    won: int
    drawn: int
    lost: int
    points: float
    difference: int
    place: int | None
    byes: int
    direct: float | None
    buchholz: float | None
    lot: int | None
    status: str
    rating: float | None
    rating_margin: float | None
    league: int | None


class CombinedAnswer(Answer, frozen=True, kw_only=True):
    """A team's line in the table of several events: its share of each event in percent, and their sum."""

    team: TeamRef
    rank: int | None
    total: float
    shares: dict[str, float]
    firsts: int
    lot: int | None
    status: str


class RatingAnswer(Answer, frozen=True, kw_only=True):
    """A team's Elo rating; null before its first match."""

    team: TeamRef
    games: int
    elo: RatingInterval | None


class Crosstable(Answer, frozen=True, kw_only=True):
    """For each pair of teams the points of the row's team as text, and who has more; null if they have not played.

    ``left_out`` is the number of teams behind those that are shown.
    """

    teams: list[TeamRef]
    rows: list[list[tuple[str, Outcome] | None]]
    left_out: int
    percent: bool


class BracketPairing(Answer, frozen=True, kw_only=True):
    """A pairing of a knockout: null for a team that is not known yet. ``winner`` is a team's id."""

    teams: tuple[TeamRef | None, TeamRef | None]
    wins: tuple[int, int]
    winner: int | None
    third: bool
    bye: bool
    matches: list[int]


class Rung(Answer, frozen=True, kw_only=True):
    """A rung of a ladder; ``below`` has the games won and lost against the rung below in the latest round."""

    team: TeamRef
    round: int
    below: tuple[int, int] | None


class OrdersFile(Answer, frozen=True, kw_only=True):
    """A file with all orders of a round of linkage."""

    round: int
    address: str


# --- resources --------------------------------------------------------------------------------------------------


class ContestNow(ContestAnswer, frozen=True, kw_only=True):
    """The contest, how far it is, and whether results are hidden."""

    version: str
    progress: Progress
    freeze: Freeze | None


class EventStandings(Answer, frozen=True, kw_only=True):
    """The standings of an event; the first team first."""

    event: int
    rows: list[StandingAnswer]


class CombinedStandings(Answer, frozen=True, kw_only=True):
    """The table of all events; without rows if there is one event only."""

    rows: list[CombinedAnswer]


class EventRatings(Answer, frozen=True, kw_only=True):
    """The ratings of an event; the highest first."""

    event: int
    rows: list[RatingAnswer]


class EventBracket(Answer, frozen=True, kw_only=True):
    """The rounds of a knockout, or the rungs of a ladder from the top down; null for other formats."""

    event: int
    rounds: list[list[BracketPairing]] | None
    ladder: list[Rung] | None


class TeamAnswer(TeamRef, frozen=True, kw_only=True):
    """A team with its place in the main table. ``connected`` is the number of its bots; null if it is not known."""

    rank: int | None
    of: int
    connected: int | None
    hangs: bool
    stalled: bool


class TeamTotals(Answer, frozen=True, kw_only=True):
    """A team's matches counted, its penalties, and its thinking time in all and for each move."""

    played: int
    won: int
    drawn: int
    lost: int
    faults: int
    thought_ms: int
    move_ms: float | None


class TeamDetails(TeamAnswer, frozen=True, kw_only=True):
    """A team, and its matches counted."""

    totals: TeamTotals


class MatchDetails(MatchAnswer, frozen=True, kw_only=True):
    """A match with its state, and its result if it is over."""

    state: MatchState
    result: ResultAnswer | None


class TeamPageAnswer(Answer, frozen=True, kw_only=True):
    """A page of teams; ``next`` is the cursor of the following page, null at the end."""

    items: list[TeamAnswer]
    next: str | None


class MatchPageAnswer(Answer, frozen=True, kw_only=True):
    """A page of matches; ``next`` is the cursor of the following page, null at the end."""

    items: list[MatchDetails]
    next: str | None


class TurnPageAnswer(Answer, frozen=True, kw_only=True):
    """A page of a match's turns; ``attempt`` counts from 1, and ``next`` is null behind the latest one."""

    match: int
    attempt: int
    items: list[Turn]
    next: str | None


class MessagesAnswer(Answer, frozen=True, kw_only=True):
    """The latest messages that everybody may read, the newest first, and what is paused now."""

    messages: list[MessageAnswer]
    paused: list[PauseAnswer]


class ReplayAnswer(Answer, frozen=True, kw_only=True):
    """A match as the viewer draws it: for each game its names, facts and turns, and how boards look.

    ``format`` is that of saved replays, and ``needs`` the version of getstep that reads it.
    """

    format: int
    needs: str
    title: str
    links: list[list[str]]
    looks: list[dict[str, Any]]
    games: list[dict[str, Any]]


# --- pages: the topics that a browser follows -------------------------------------------------------------------

BOARDS = 12
"""The boards of the overview: three rows of four on a large screen. Further matches are named in a list."""


class FriendlyPair(Answer, frozen=True, kw_only=True):
    """A friendly match of an arena that is being played: the team that has asked for it, and the other one."""

    teams: tuple[TeamRef, TeamRef]


class ChallengeAnswer(Answer, frozen=True, kw_only=True):
    """A challenge as one of its two teams sees it. ``ours`` is true if that team has asked for the match."""

    number: int
    opponent: TeamRef
    ours: bool
    state: Outcome | Literal["waiting", "playing", "lapsed"]
    why: str
    at: int


class ChallengesAnswer(Answer, frozen=True, kw_only=True):
    """What a team can ask for: ``left`` challenges in 24 hours, to the teams that are ``here``; its latest ones.

    ``closed`` says why it can ask for none now; null if it can.
    """

    arena: bool
    closed: str | None
    left: int
    here: list[TeamRef]
    latest: list[ChallengeAnswer]


class QuestionAnswer(Answer, frozen=True, kw_only=True):
    """A question that a team has asked, with the host's answers to it."""

    number: int
    text: str
    at: int
    answers: list[MessageAnswer]


class QuestionsAnswer(Answer, frozen=True, kw_only=True):
    """A team's own questions, the newest first; ``closed`` says why it can ask none now, or is null."""

    closed: str | None
    longest: int
    questions: list[QuestionAnswer]
    notices: Notices


class AnalysisState(Answer, frozen=True, kw_only=True):
    """A team's analysis of a match: ``before`` are those that wait before it, ``done`` ``of`` all positions."""

    match: int
    state: Literal["waiting", "working", "done", "failed"]
    before: int = 0
    done: int = 0
    of: int = 0


class AnalysesAnswer(Answer, frozen=True, kw_only=True):
    """The analyses of a team: the one that it asked for last, the matches that have one, how many are ``left``."""

    latest: AnalysisState | None
    ready: list[int]
    left: int


class WallAnswer(Answer, frozen=True, kw_only=True):
    """What the host has chosen for the wall: a match that stays, how often the next was asked for, a message.

    ``place`` is the part with the board of that match, such as "board3"; null if it has none now.
    """

    pinned: int | None
    place: str | None
    nexts: int
    text: str


class EventWinner(Answer, frozen=True, kw_only=True):
    """The team that is first in an event, all of whose matches are over."""

    event: str
    team: TeamRef


class NoticesParts(Answer, frozen=True, kw_only=True):
    """What each page shows at its top."""

    notices: Notices


class OverviewParts(Answer, frozen=True, kw_only=True):
    """The first page and the wall: ``more`` is the number of running matches without a board.

    ``results`` are of matches that were played; ``absence`` sums up the forfeits of absent teams, or is "".
    """

    contest: ContestAnswer
    notices: Notices
    progress: Progress
    freeze: Freeze | None
    table: Table
    absence: str
    results: list[ResultAnswer]
    teams: Presence
    next: list[MatchAnswer]
    running: list[MatchAnswer]
    friendlies: list[FriendlyPair]
    wall: WallAnswer
    winners: list[EventWinner]
    more: int
    board0: Board | None
    board1: Board | None
    board2: Board | None
    board3: Board | None
    board4: Board | None
    board5: Board | None
    board6: Board | None
    board7: Board | None
    board8: Board | None
    board9: Board | None
    board10: Board | None
    board11: Board | None


class MatchParts(Answer, frozen=True, kw_only=True):
    """The page of a match; ``paused`` is the host's reason for a pause of it, or null."""

    notices: Notices
    match: MatchAnswer
    state: MatchState
    paused: str | None
    board: Board | None
    moves: list[Turn] | None
    result: ResultAnswer | None


class TeamParts(Answer, frozen=True, kw_only=True):
    """The page of a team; ``older`` is the number of results behind those that are listed."""

    notices: Notices
    team: TeamAnswer
    totals: TeamTotals
    running: list[MatchAnswer]
    hidden: list[MatchAnswer]
    results: list[OwnResult]
    older: int
    next: list[MatchAnswer]


class EventHead(Answer, frozen=True, kw_only=True):
    """The head of an event's page."""

    number: int
    name: str
    title: str
    about: str


class EventParts(Answer, frozen=True, kw_only=True):
    """The page of an event."""

    notices: Notices
    event: EventHead
    progress: Progress
    freeze: Freeze | None
    table: Table
    crosstable: Crosstable
    bracket: list[list[BracketPairing]] | None
    ladder: list[Rung] | None
    ratings: Table | None
    orders: list[OrdersFile] | None


class RevealState(Answer, frozen=True, kw_only=True):
    """How far a reveal is: the results shown and left, the team to look at, and the results of the latest step.

    ``board`` is the final board of the latest step, if that was one match with moves. ``next`` is the match of the
    next step, whose teams are known and whose result is not, and ``next_game`` its game; both are null at the end.
    """

    step: int | None
    left: int
    focus: int | None
    board: Board | None
    next: MatchAnswer | None
    next_game: str | None
    by_team: dict[int, int]
    latest: list[ResultAnswer]
    count: int
    over: bool


class RevealParts(Answer, frozen=True, kw_only=True):
    """The page of the reveal."""

    notices: Notices
    reveal: RevealState
    playing: ContestState
    freeze: Freeze | None
    table: Table


# --- the feed ---------------------------------------------------------------------------------------------------


class Started(Answer, frozen=True, kw_only=True, tag="started", tag_field="type"):
    """An attempt at a match has begun."""

    match: MatchAnswer
    attempt: int


class Played(Answer, frozen=True, kw_only=True, tag="turn", tag_field="type"):
    """A turn was played."""

    match: int
    attempt: int
    turn: Turn


class Ended(Answer, frozen=True, kw_only=True, tag="ended", tag_field="type"):
    """An attempt at a match has ended. If it is ``void``, it does not count, and the match is played again."""

    match: int
    attempt: int
    void: bool
    result: ResultAnswer


class Paired(Answer, frozen=True, kw_only=True, tag="paired", tag_field="type"):
    """New matches of an event were issued; their numbers are in ``matches``."""

    event: int
    round: int
    matches: list[int]


class Decided(Answer, frozen=True, kw_only=True, tag="decision", tag_field="type"):
    """The host, or a rule, has decided something. Ask for the tables again: all of them may have changed."""

    decision: str
    by: str
    why: str
    at: str
    team: int | None
    event: int | None
    match: int | None


class StandingsChanged(Answer, frozen=True, kw_only=True, tag="standings", tag_field="type"):
    """The standings of an event may have changed."""

    event: int


class Said(Answer, frozen=True, kw_only=True, tag="message", tag_field="type"):
    """The host has announced something, or answered a question for everybody."""

    message: MessageAnswer


class SettingsChanged(Answer, frozen=True, kw_only=True, tag="settings", tag_field="type"):
    """The settings of the contest were recorded: ask for the contest and its teams again."""


FeedEvent: TypeAlias = Started | Played | Ended | Paired | Decided | StandingsChanged | Said | SettingsChanged


class FeedBatch(Answer, frozen=True, kw_only=True):
    """Some events in their order. A reader that has taken them goes on with ``token``, after any interruption.

    ``at`` is the server's clock when it sent them.
    """

    token: str
    at: int
    events: list[FeedEvent]


# --- refusals ---------------------------------------------------------------------------------------------------


class Problem(Answer, frozen=True, kw_only=True):
    """Why a request is refused (RFC 9457)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


# --- for the host only ------------------------------------------------------------------------------------------


HostTeamState: TypeAlias = Literal["connected", "missing", "hanging", "out", "unknown"]


class HostTeam(Answer, frozen=True, kw_only=True):
    """A team as its host sees it: the bots that are connected and may be, and the mean time of a move in ms.

    ``round_trip_ms``: the shortest time to its farthest bot and back in the last 5 minutes; null if unknown.
    ``hanging``: a bot is connected and does not answer. ``out``: it takes part in no event. ``stalled`` are the
    matches in which it has missed its limits in silence.
    """

    id: int
    name: str
    state: HostTeamState
    connected: int
    seats: int
    stalled: list[int]
    move_ms: float | None
    round_trip_ms: float | None


class HostTeamToken(Answer, frozen=True, kw_only=True):
    """A team that is new or has changed, with its secret token."""

    id: int
    name: str
    token: str


class HostLink(Answer, frozen=True, kw_only=True):
    """A new link by which teams sign up: the number of the invitation, and the path on this page."""

    invitation: int
    path: str


class HostMatch(MatchAnswer, frozen=True, kw_only=True):
    """A running match: when it began, its turns, both times used, why it is paused; ``own_pause``: on its own."""

    began: int
    turn: int
    used: tuple[int, int]
    paused: str | None
    own_pause: bool


class HostHealth(Answer, frozen=True, kw_only=True):
    """How a contest and its server are: ``lag_ms`` is how late the judge's event loop woke, ``start_at`` the start.

    ``incidents`` are counted by code. ``connections`` are those of the page, ``followers`` the browsers that follow
    pages and the readers of the feed. ``certificate_expires`` is null without TLS; ``certificate_problem`` is what
    the host should do about the certificate, "" if nothing.
    """

    state: ContestState
    server_runs: bool
    start_at: int | None
    done: int
    total: int
    lag_ms: float | None
    questions: int
    disk_free: int
    incidents: dict[str, int]
    connections: int
    followers: int
    certificate_expires: int | None
    certificate_problem: str
    paused: list[PauseAnswer]
    matches: list[HostMatch]
    teams: list[HostTeam]


class HostMessage(Answer, frozen=True, kw_only=True):
    """What a host writes: an announcement, or the answer to the question with this number."""

    text: str
    by: str
    question: int | None = None
    to_all: bool = False


class HostMessages(Answer, frozen=True, kw_only=True):
    """The number of questions without an answer, after a message."""

    unanswered: int


class HostStart(Answer, frozen=True, kw_only=True):
    """A start that a host asks for: at a time of day of the server, such as 14:30; null: now."""

    by: str
    at: str | None = None


class HostStartAt(Answer, frozen=True, kw_only=True):
    """When the server will start; null: now."""

    at: int | None
