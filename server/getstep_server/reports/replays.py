"""Replays of recorded matches, also of those that are still running, for the viewer of `getstep.replay`.

A record becomes a `Replay` here and nowhere else, whatever shows it: the command `replay`, the report and the site.
A page may be published, so it has no addresses: incidents are shown by their code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET

from getstep.referee import UNANSWERED, Clocks, EndCode
from getstep.replay import Replay, ReplayTurn, opening_turns
from getstep_engines import GAMES, Player
from getstep_server.records.game import GameRecord, opening_in, validate_form
from getstep_server.records.reasons import Reason
from getstep_server.records.record import parse
from getstep_server.records.turns import Passed, validate_turn
from getstep_server.storage.recovery import running_records
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from .corrections import correction_facts
from .notation import ARCHIVED, facts, move_text, result_text
from .programs import programs_of, version_text

_FACTS = {"contest", "round", "game", "opening", "limit"}
_FACTS_OF_THE_END = {"started", "corrected", "official", "scores", "thought", "faults", "turns"}
"""The facts below the move list; the others are in the head of the page."""

_LONGEST_TRIED = 200
"""Characters of an illegal move. It may have 1 kB in the record, and 400 of them would make a big page."""

_NOT_OVER: dict[str, Any] = {
    "seconds": 0.0,
    "winner": None,
    "scores": None,
    "reason": "",
    "detail": "",
    "turns_played": 0,
    "thought_ms": [0.0, 0.0],
    "faults": [0, 0],
}
"""The result of a match that is not over, for the schema."""


Seen: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns a game's record as the reader of a page may see it, see `api.visibility`."""


class SeenByRights(Protocol):
    """A `Seen` that can say on what it depends."""

    def __call__(self, fields: Mapping[str, Any], /) -> Mapping[str, Any]: ...

    def rights(self, match: int, attempt: int) -> object:
        """Return all that decides, beside a game's record, what the reader sees of the game."""


def match_replays(
    store: Store,
    number: int,
    running: Path | None,
    tournament: Tournament | None = None,
    seen: Seen = lambda fields: fields,
    last: int | None = None,
) -> list[Replay]:
    """Return all attempts at a match, the last one last; [] if nothing of it was played.

    Args:
        store: the records.
        number: of the match.
        running: the folder of the journal, with the matches that are not over; None: without those.
        tournament: for the corrections; None if it is not known.
        seen: returns a record as the reader may see it, see `api.visibility`.
        last: the place of the last record that counts; None: all do.

    Raises:
        RecordError: a record does not have the form of a game's record.
        JournalError: the journal is damaged.
    """
    games = [parse(record.line) for record in store.records(number) if last is None or record.place <= last]
    if running is not None:
        recorded = [(number, game["attempt"]) for game in games]
        games += [game for game in running_records(running, recorded) if game.get("match") == number]
    return [replay_of(seen(game), tournament) for game in games]


def replay_of(fields: Mapping[str, Any], tournament: Tournament | None = None) -> Replay:
    """Return the replay of a game's record.

    A match that is not over has no result. A game that is not installed has no boards.

    Args:
        fields: the record; of a match that is not over, all of it but the result.
        tournament: for the corrections; None if it is not known.

    Raises:
        RecordError: the record does not have the form of a game's record.
    """
    game, over = validate_form({**_NOT_OVER, **fields}), "winner" in fields
    corrections = correction_facts(tournament, game) if tournament is not None and over else ()
    first, second = (escape_control_chars(team.name) for team in game.teams)
    attempt = f", attempt {game.attempt}" if game.attempt > 1 else ""
    return Replay(
        game=GAMES.get(game.game),
        rules=escape_control_chars(game.game),
        names=(first, second),
        turns=[*_opening(game), *_turns(game)],
        limit=game.time.control,
        options=game.options,
        title=f"match {game.match}{attempt}",
        result=escape_control_chars(result_text(game)) if over else "",
        reason=escape_control_chars(_why(game)) if over else "",
        facts=list(_facts(game, corrections, over=over)),
        problem="" if game.instead_of is UNSET else f"Turns: {game.turns_played}, {ARCHIVED}.",
    )


def _opening(game: GameRecord) -> list[ReplayTurn]:
    """Return the opening as turns; none if its game is not installed, or does not allow it."""
    rules = GAMES.get(game.game)
    try:
        return [] if rules is None else opening_turns(rules, game.options, opening_in(game))
    except ValueError:
        return []


def _turns(game: GameRecord) -> Iterator[ReplayTurn]:
    """Yield the turns with the clock after each of them.

    Raises:
        RecordError: a turn does not have the form of one.
    """
    rules = GAMES.get(game.game)
    # the lag changes no budget, so 0 will do
    remarks, clocks, played = _remarks(game), Clocks(game.time.control, 0.0), 0
    for fields in game.turns:
        turn = validate_turn(fields)
        player: Player = 1 if turn.player else 0
        if isinstance(turn, Passed):
            yield ReplayTurn(player, "pass")
            continue
        code = fields.get("fault") or fields.get("end") or ""
        clocks.charge(player, turn.ms)
        if code not in (*UNANSWERED, *EndCode):
            clocks.earn(player)
        played += code != EndCode.HOSTILE  # a protocol violation is not a turn
        yield ReplayTurn(
            player=player,
            kind="move" if not code else "fault" if "fault" in fields else "end",
            move=fields.get("move", fields.get("tried")),
            tried=move_text(fields["tried"], rules)[:_LONGEST_TRIED] if "tried" in fields else "",
            code=code,
            reason=escape_control_chars(fields.get("detail", "")),
            seconds=turn.ms / 1000,
            left=clocks.limit(player) if game.time.kind == "budget" else None,
            notes=fields.get("notes"),
            remarks=remarks.pop(played, ()),
        )


def _remarks(game: GameRecord) -> dict[int, list[str]]:
    """Return what happened outside the game, by the number of turns before it, passes not counted."""
    remarks: dict[int, list[str]] = {}
    names = {team.id: team.name for team in game.teams}
    for turns in game.resumed:
        remarks.setdefault(turns, []).append("The server was restarted.")
    for incident in game.incidents:
        times = f" ({incident.count} times)" if incident.count > 1 else ""
        text = f"Incident{times}: {names.get(incident.team, 'a team')}, {incident.code}"
        remarks.setdefault(incident.after_turn, []).append(escape_control_chars(text))
    return remarks


def _facts(game: GameRecord, corrections: Iterable[tuple[str, str]], *, over: bool) -> Iterator[tuple[str, str]]:
    """Yield the facts of a game that are not in the head of the page."""
    for name, value in facts(game, corrections):
        if name in (_FACTS_OF_THE_END if over else ()) or name in _FACTS:
            yield name, escape_control_chars(value)
    programs = programs_of(game)
    if any(programs):
        yield (
            "programs",
            " : ".join("a bot on the network" if one is None else version_text(one) for one in programs),
        )
    for remark in _remarks(game).get(0, ()):
        yield "before the first turn", remark


def _why(game: GameRecord) -> str:
    return game.detail if game.reason == Reason.FINISHED else f"{game.reason}: {game.detail}"
