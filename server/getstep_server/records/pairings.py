"""The record of pairings: the matches that were issued together, and all data that their pairing depends on."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from getstep.openings import Opening
from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.config.fields import Name, check_unique
from getstep_server.formats import Pairing
from getstep_server.limits import MAX_TEAMS
from getstep_server.validation import Check, Model

from .match import Match
from .openings import OpeningMoves
from .record import SOFTWARE, Head, Record, RecordError, as_json, plain, read
from .values import BoundedLine, Number, Sha256, TeamId


class PairingEntry(Model, frozen=True, kw_only=True):
    number: Number | None
    round: Number
    pairing: Number
    leg: Number
    first: TeamId
    second: TeamId | None
    options: dict[str, int] | UnsetType = UNSET
    """The game's options in this match, if the event has a range from which one of them is drawn."""
    opening: OpeningMoves | UnsetType = UNSET
    """The moves that the host plays before the first turn, if the event has openings."""


class TeamProgram(Model, frozen=True, kw_only=True):
    """The version of a team's program that plays the matches of a record of pairings."""

    team: TeamId
    version: Number
    sha256: Sha256


class PairingsHead(Head, frozen=True, kw_only=True):
    """A record of pairings without its ``matches``: everything that the pairings depend on."""

    type: str = "pairings"
    event: Number
    name: Name
    game: str
    options: dict[str, int | str]
    format: str
    settings: dict[str, Any]
    scoring: dict[str, Any]
    no_show: Literal["final", "provisional"] = "final"
    teams: Annotated[list[TeamId], Check(check_unique, max_length=MAX_TEAMS)]
    software: BoundedLine
    programs: Annotated[list[TeamProgram], Meta(max_length=MAX_TEAMS)] | UnsetType = UNSET
    """In a ladder, the programs that the host runs in this round."""
    openings: BoundedLine | UnsetType = UNSET
    """The name of the book of openings, if the event has one. The record of settings has the book."""


class PairingsRecord(PairingsHead, frozen=True, kw_only=True):
    matches: list[PairingEntry]


def pairings_header(contest: Contest, event: ContestEvent, teams: Sequence[int]) -> dict[str, Any]:
    """Return the fields of a record of pairings without ``matches``.

    Args:
        contest: the contest.
        event: the event to pair.
        teams: the ids of the teams that take part, in seeding order.
    """
    head = PairingsHead(
        contest=contest.name,
        seed=contest.file.contest.seed,
        event=event.number,
        name=event.name,
        game=event.game.name,
        options=event.options,
        format=event.format.name,
        settings=asdict(event.format.options),
        scoring=asdict(event.scoring),
        no_show=contest.file.start.no_show,
        teams=list(teams),
        software=SOFTWARE,
        openings=UNSET if event.book is None else event.book.name,
    )
    return plain(head)


def with_programs(fields: Mapping[str, Any], programs: Sequence[TeamProgram]) -> dict[str, Any]:
    """Return the fields of a record of pairings with the versions that play its matches."""
    if not programs:
        return dict(fields)
    head = {name: value for name, value in fields.items() if name != "matches"}
    return {**head, "programs": [plain(program) for program in programs], "matches": fields["matches"]}


def record_of_pairings(fields: Mapping[str, Any]) -> Record:
    """Return the record of pairings: ``fields`` are the header and the key ``matches``."""
    return Record(fields)


def pairings_in(fields: Mapping[str, Any]) -> list[tuple[Pairing, Match | None]]:
    """Return the pairings of a record, byes included, each with its match.

    Raises:
        RecordError: a field is missing or invalid.
    """
    record = read(PairingsRecord, fields)
    return [_pairing_of(entry, record) for entry in record.matches]


def _pairing_of(entry: PairingEntry, record: PairingsRecord) -> tuple[Pairing, Match | None]:
    unit = (entry.round, entry.pairing, entry.leg)
    pairing = Pairing(*unit, entry.first, entry.second)
    if entry.second is None or entry.number is None:
        return pairing, None
    teams = (entry.first, entry.second)
    opening = () if isinstance(entry.opening, UnsetType) else tuple(entry.opening)
    options = _options_of(entry, record)
    return pairing, Match(entry.number, *unit, *teams, record.game, options, record.event, opening)


def _options_of(entry: PairingEntry, record: PairingsRecord) -> dict[str, int]:
    if not isinstance(entry.options, UnsetType):
        return entry.options
    if any(isinstance(setting, str) for setting in record.options.values()):
        raise RecordError(f"match {entry.number} has no options, expected those that were drawn for it")
    return record.options  # type: ignore[return-value]  # no range is among them


def pairing_fields(
    pairing: Pairing, number: int | None, head: Mapping[str, Any], opening: Opening = ()
) -> dict[str, Any]:
    """Return a pairing as an entry of ``matches``.

    Args:
        pairing: the pairing.
        number: of the match; None for a bye.
        head: the record of pairings, with the seed and the options.
        opening: of the match.
    """
    entry = PairingEntry(number=number, **asdict(pairing))
    if number is not None and any(isinstance(setting, str) for setting in head["options"].values()):
        entry = replace(entry, options=_drawn_options(pairing, head))
    if opening:
        entry = replace(entry, opening=list(opening))
    return plain(entry)


def _drawn_options(pairing: Pairing, head: Mapping[str, Any]) -> dict[str, int]:
    """Return the options of a match, drawn from the seed: two legs that only swap the colours have the same."""
    from random import Random  # here: few events draw their options, and it takes 1 ms to import

    pair = (pairing.leg + 1) // 2
    chance = Random(f"options {head['seed']} {head['event']} {pairing.pairing} {pair}").random
    return GAMES[head["game"]].draw(head["options"], chance)


def validate_pairings(fields: Mapping[str, Any]) -> PairingsRecord:
    """Return a validated record of pairings.

    Raises:
        RecordError: a field is missing or invalid.
    """
    as_json(fields)
    return read(PairingsRecord, fields)
