"""The record of a game: one attempt at a match, with its result and its turns."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from getstep.openings import BookError, state_after
from getstep.referee import EDITION, Agreement, MatchState
from getstep.referee.agreement import MOST_MOVES, MOST_TURNS
from getstep_engines import GAMES, UnknownGameError
from getstep_server.config.contest import Contest
from getstep_server.json_text import encode
from getstep_server.limits import MAX_TRIED_BYTES
from getstep_server.text import utc_time
from getstep_server.validation import Mistake, Model, wrong

from .match import Match
from .openings import OpeningMoves
from .reasons import VOID_REASONS
from .record import SOFTWARE, Head, Record, RecordError, as_json, plain, read
from .result import Result
from .settings import RecordedTeam, TimeEntry, control_of, milliseconds, time_entry
from .values import (
    MAX_INCIDENTS,
    MAX_TIME_FACTOR,
    MIN_TIME_FACTOR,
    TWO,
    BoundedLine,
    BoundedText,
    Count,
    Ms,
    Number,
    Seconds,
    Sha256,
    TeamId,
    Time,
    Who,
)


class IncidentEntry(Model, frozen=True, kw_only=True):
    """Hostile or refused traffic during a game."""

    team: TeamId
    code: str
    detail: str
    address: str
    after_turn: Count
    count: Annotated[int, Meta(ge=1, le=MAX_INCIDENTS)]


class ProgramEntry(Model, frozen=True, kw_only=True):
    """The version of a program that played: its number, the SHA-256 of its source, and if it had no sandbox.

    ``id_line`` is how a program of linkage calls itself.
    """

    version: Number
    sha256: Sha256
    id_line: BoundedLine | UnsetType = UNSET
    sandbox: Literal["none"] | UnsetType = UNSET


class AgreementEntry(Model, frozen=True, kw_only=True):
    """When the estimates of both bots end the match; see `Agreement`."""

    resign: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET
    draw: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    agree: Annotated[int, Meta(ge=1, le=MOST_MOVES)]
    draw_from: Annotated[int, Meta(ge=0, le=MOST_TURNS)]

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        try:
            Agreement(**{name: value for name, value in fields.items() if value is not UNSET})
        except ValueError as error:
            yield wrong(("resign",), fields.get("resign"), str(error).partition("expected ")[2])


class GameHeader(Head, frozen=True, kw_only=True):
    """The fields of a game's record before the first turn; the journal of the match begins with them."""

    type: str = "game"
    match: Number
    event: Number
    round: Number
    pairing: Number
    leg: Number
    attempt: Number
    game: str
    options: dict[str, int]
    teams: Annotated[list[RecordedTeam], TWO]
    time: TimeEntry
    started: Time
    edition: Annotated[int, Meta(ge=1, le=EDITION)] = 1
    software: BoundedLine
    programs: Annotated[list[ProgramEntry | None], TWO] | UnsetType = UNSET
    """For each player the program that the host ran; None for a bot on the network."""
    worker: Number | UnsetType = UNSET
    """The number of the worker of a cluster that played it."""
    time_factor: Annotated[float, Meta(ge=MIN_TIME_FACTOR, le=MAX_TIME_FACTOR)] | UnsetType = UNSET
    """The limits in ``time`` were multiplied by this on the worker, because its machine has another speed."""
    opening: OpeningMoves | UnsetType = UNSET
    """The moves that the host played before the first turn; the turns begin after them."""
    agreement: AgreementEntry | UnsetType = UNSET
    """When the estimates of both bots end the match. Missing if they decide nothing."""

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        factor = fields.get("time_factor", UNSET)
        if factor is not UNSET and fields.get("worker", UNSET) is UNSET:
            yield wrong(("time_factor",), factor, "none without a worker")


class GameHead(GameHeader, frozen=True, kw_only=True):
    """A game's record without its turns."""

    seconds: Seconds
    winner: Who | None
    scores: Annotated[list[Any], TWO] | None
    reason: str
    detail: BoundedText
    turns_played: Count
    thought_ms: Annotated[list[Ms], TWO]
    faults: Annotated[list[Count], TWO]
    resumed: list[Count]
    incidents: list[IncidentEntry]
    instead_of: Sha256 | UnsetType = UNSET
    """The hash of the whole record, in whose place this one stands: its turns are in an archive."""


class GameRecord(GameHead, frozen=True, kw_only=True):
    """A game's record, without its seal; `turns.validate_turn` checks each of its ``turns``."""

    turns: list[dict[str, Any]]


def validate_game(fields: Mapping[str, Any]) -> GameRecord:
    """Return a validated record of a game.

    Raises:
        RecordError: a field is missing or invalid, or the game or an option is unknown.
    """
    game = validate_form(fields)
    try:
        rules = GAMES[game.game]
    except UnknownGameError as error:
        raise RecordError(str(error)) from None
    try:
        rules.start(**game.options)  # called for its checks only
    except ValueError as error:
        raise RecordError(f"options are {game.options!r:.80}: {error}") from error
    try:
        state_after(rules, game.options, opening_in(game))
    except BookError as error:
        raise RecordError(f"opening: {error}") from error
    return game


def opening_in(head: GameHeader) -> tuple[Any, ...]:
    """Return the moves that the host played before the first turn; usually there are none."""
    return () if isinstance(head.opening, UnsetType) else tuple(head.opening)


def opening_turns_of(head: Mapping[str, Any]) -> int:
    """Return the number of turns of the opening, passes included. A replay counts them before the others."""
    if not head.get("opening") or head["game"] not in GAMES:
        return 0
    return match_state_of(head).move_number - 1


def validate_form(fields: Mapping[str, Any]) -> GameRecord:
    """Return a record of a game with validated fields; the game may be one that is not installed.

    Raises:
        RecordError: a field is missing or invalid.
    """
    as_json(fields)
    return read(GameRecord, fields)


# --- writing ----------------------------------------------------------------------------------------------------


class MatchLog(Struct):
    """The part of a game's record in addition to its result: the turns as JSON objects, restarts and incidents."""

    turns: list[bytes] = field(default_factory=list)
    resumed: list[int] = field(default_factory=list)
    """The number of turns before each restart of the server."""
    incidents: list[dict[str, Any]] = field(default_factory=list)


Programs: TypeAlias = Sequence[ProgramEntry | None]
"""For each player the program that the host runs; None for a bot on the network."""


def game_header(
    contest: Contest,
    match: Match,
    attempt: int,
    started: float,
    programs: Programs = (),
    *,
    worker: int | UnsetType = UNSET,
    time_factor: float | UnsetType = UNSET,
) -> dict[str, Any]:
    """Return the fields of a game's record that are known before the first turn."""
    header = GameHeader(
        contest=contest.name,
        seed=contest.file.contest.seed,
        match=match.number,
        event=match.event,
        round=match.round,
        pairing=match.pairing,
        leg=match.leg,
        attempt=attempt,
        game=match.game,
        options=match.options,
        teams=[RecordedTeam(id=team, name=contest.team_name(team)) for team in match.teams],
        time=time_entry(contest.event(match.event).time_control, contest.lag),
        started=utc_time(started),
        edition=EDITION,
        software=SOFTWARE,
        programs=list(programs) if any(programs) else UNSET,
        opening=list(match.opening) or UNSET,
        agreement=_agreement_entry(contest.event(match.event).format.options.agreement),
        worker=worker,
        time_factor=time_factor,
    )
    return plain(header)


def _agreement_entry(rule: Agreement | None) -> AgreementEntry | UnsetType:
    if rule is None:
        return UNSET
    resign, draw = (UNSET if value is None else value for value in (rule.resign, rule.draw))
    return AgreementEntry(resign=resign, draw=draw, agree=rule.agree, draw_from=rule.draw_from)


def record_of_game(head: Mapping[str, Any], result: Result, log: MatchLog | None = None) -> Record:
    """Return the record of a game that is over.

    Args:
        head: from `game_header`; the one of a resumed match was written by the run that began it.
        result: the result.
        log: the turns and incidents; None if no turn was played.
    """
    log = log or MatchLog()
    game = GameHead(
        **{name: head[name] for name in GameHeader.__struct_fields__ if name in head},
        seconds=result.seconds,
        winner=result.winner,
        scores=None if result.scores is None else list(result.scores),
        reason=result.reason,
        detail=result.detail,
        turns_played=result.turns,
        thought_ms=[milliseconds(seconds) for seconds in result.thought],
        faults=list(result.faults),
        resumed=log.resumed,
        incidents=[IncidentEntry(**incident) for incident in log.incidents],
    )
    return Record(plain(game), log.turns, result.match, result.attempt)


def tried_fields(move: Any) -> dict[str, Any]:
    """Return the keys of a turn that hold the illegal move.

    A move whose JSON exceeds 1 kB is replaced by a text, the beginning of that JSON, which takes at most 1 kB in
    the record, escapes included. ``tried_bytes`` is the length of the whole JSON.
    """
    whole = encode(move)
    if len(whole) <= MAX_TRIED_BYTES:
        return {"tried": move}
    text = whole[:MAX_TRIED_BYTES].decode(errors="ignore")  # the cut may be inside a character
    lengths = range(1, len(text) + 1)
    # Quotes and backslashes of the first JSON text are escaped once more in the second.
    kept = bisect_right(lengths, MAX_TRIED_BYTES, key=lambda length: len(encode(text[:length])))
    return {"tried": text[:kept], "tried_bytes": len(whole)}


# --- reading ----------------------------------------------------------------------------------------------------


def match_of(fields: Mapping[str, Any]) -> Match:
    """Return the match of a game's record, or of the first line of its journal.

    Raises:
        RecordError: a field of the header is missing or invalid.
    """
    return _match_of(read(GameHeader, fields))


def _match_of(header: GameHeader) -> Match:
    first, second = (team.id for team in header.teams)
    places = (header.match, header.round, header.pairing, header.leg, first, second)
    return Match(*places, header.game, header.options, header.event, opening_in(header))


def result_of(fields: Mapping[str, Any]) -> Result:
    """Return the result in a game's record.

    Raises:
        RecordError: a field is missing or invalid.
    """
    game = read(GameHead, fields)
    return Result(
        match=_match_of(game),
        winner=game.winner,  # type: ignore[arg-type]  # 0 or 1
        reason=_shared_text(game.reason),
        detail=_shared_text(game.detail),
        scores=None if game.scores is None else _as_scores(game.scores),
        turns=game.turns_played,
        thought=_pair([ms / 1000 for ms in game.thought_ms]),
        faults=_shared_faults(*game.faults),
        started=datetime.fromisoformat(game.started).timestamp(),
        seconds=game.seconds,
        attempt=game.attempt,
    )


# An arena runs for months, and all results are kept: equal parts of them are one object. Without this, the result
# of an ordinary match takes 210 bytes more.


@lru_cache(maxsize=4096)
def _shared_text(text: str) -> str:
    return text


@lru_cache(maxsize=256)
def _shared_faults(first: int, second: int) -> tuple[int, int]:
    return first, second


def is_void(result: Result) -> bool:
    """Return True if the attempt was void or called off: it does not count."""
    return result.reason in VOID_REASONS


def _pair(values: Sequence[Any]) -> tuple[Any, Any]:
    first, second = values
    return (first, second)


def _as_scores(scores: Sequence[Any]) -> tuple[Any, Any]:
    return _pair([tuple(score) if isinstance(score, list) else score for score in scores])


def match_state_of(head: Mapping[str, Any]) -> MatchState:
    """Return the state of a match before its first turn, from the header of its record.

    Raises:
        ValueError: the match was judged by an edition of the rules that this version does not know, or the rules do
            not allow its opening.
    """
    time, edition = head["time"], head.get("edition", 1)
    if type(edition) is not int or not 1 <= edition <= EDITION:
        raise ValueError(f"edition is {edition!r:.80}, expected 1 to {EDITION}; use a newer getstep-server")
    control = control_of(time, head.get("time_factor", 1.0))  # only games on slower or faster workers have the key
    opening = head.get("opening", ())
    agreement = Agreement(**head["agreement"]) if "agreement" in head else None
    lag = time["lag_ms"] / 1000
    return MatchState(GAMES[head["game"]], head["options"], control, lag, edition, opening, agreement)
