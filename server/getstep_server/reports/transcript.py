"""A recorded game turn by turn: what each player did, why a turn was a fault, and the board after it.

`read_transcript` replays a record into moments; the functions below it print them. A terminal steps through the
same moments with `getstep.drawing.viewer`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from getstep.drawing import Picture
from getstep.drawing.viewer import Frame
from getstep.notes import noted_line
from getstep.referee import MatchState
from getstep.wire import checked_notes
from getstep_engines import GAMES, Game, Player, State
from getstep_engines.look import coordinates
from getstep_server.config.event import heading_of_game
from getstep_server.records.game import GameRecord, IncidentEntry, match_state_of, validate_game
from getstep_server.records.record import RecordError
from getstep_server.records.replay import steps
from getstep_server.records.turns import Illegal, Moved, Passed, Stalled, Turn
from getstep_server.text import cell_len, escape_control_chars, fold
from getstep_server.tournament.tournament import Tournament

from .corrections import correction_facts
from .notation import facts, result_text, turn_text
from .tables import name_beside

WIDTH = 80
"""Columns of a printed transcript."""

_INDENT = 5  # of boards and reasons, as wide as a turn's number
_COLUMN = 36  # of a turn in the list of turns, its number and its time included: two of them fit `WIDTH`


@dataclass(frozen=True)
class Moment:
    """A match after one of its turns.

    ``number`` is the turn's number in the record, 0 before the first. ``player`` and ``text`` are the turn's player
    and its move, or its code in brackets. ``reason`` explains a fault or an end. ``ms`` is None if nobody was
    asked. ``picture`` has the board after the turn, with the squares that the turn touched; ``score`` is the score
    line. ``noted`` is what the bot noted, in one line. ``remarks`` are incidents and restarts after the turn.
    """

    number: int
    player: Player | None
    text: str
    reason: str
    ms: float | None
    picture: Picture
    score: str
    noted: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Transcript:
    """A recorded game. If a turn is not valid, ``error`` says why, and the moments end before it."""

    game: GameRecord
    moments: tuple[Moment, ...]
    error: RecordError | None

    @property
    def players(self) -> tuple[str, str]:
        return GAMES[self.game.game].players


def read_transcript(fields: Mapping[str, Any]) -> Transcript:
    """Replay a recorded game.

    Raises:
        RecordError: the record is not one of a game.
    """
    game, match = validate_game(fields), match_state_of(fields)
    moments: list[Moment] = []
    error: RecordError | None = None
    try:
        for moment in _moments(game, match):
            moments.append(moment)
    except RecordError as refused:  # the moments before it are valid
        error = refused
    return Transcript(game, tuple(moments), error)


def _moments(game: GameRecord, match: MatchState) -> Iterator[Moment]:
    rules = GAMES[game.game]
    told, picture = 0, Picture(rules.look, rules.view(match.state))
    yield Moment(0, None, "", "", None, picture, rules.score_line(match.state), "", tuple(_remarks(game, told)))
    before = match.state.copy()  # `steps` applies each turn to the match's own state
    for number, turn in enumerate(steps(game, match), start=1):
        if not isinstance(turn, Passed):  # a pass changes nothing: the move before it stays marked
            picture = picture_after(rules, turn, before, match.state)
        remarks: tuple[str, ...] = ()
        if match.turns > told and not match.passes_due:
            told = match.turns
            remarks = tuple(_remarks(game, told))
        yield Moment(
            number,
            turn.player,  # type: ignore[arg-type]  # validated as 0 or 1
            _turn_text(game.turns[number - 1], rules),
            getattr(turn, "detail", ""),
            None if isinstance(turn, (Passed, Stalled)) else turn.ms,
            picture,
            rules.score_line(match.state),
            noted_line(checked_notes(game.turns[number - 1].get("notes"))),
            remarks,
        )
        before = match.state.copy()  # a copy: `steps` applies the next turn to the same state


def picture_after(rules: Game, turn: Turn, before: State, after: State) -> Picture:
    """Return the board after a turn, with the squares that the turn touched."""
    if isinstance(turn, Moved):
        return Picture.after(rules, rules.trace(before, turn.move))
    picture = Picture(rules.look, rules.view(after))
    return picture.with_fault(turn.tried) if isinstance(turn, Illegal) else picture


def _turn_text(turn: Mapping[str, Any], rules: Game) -> str:
    """Return a turn's text. A game's own notation follows the coordinates, which are those of the board."""
    text = turn_text(turn, rules)
    return f"{coordinates(turn['move'])}  {text}" if "move" in turn and rules.look.notation else text


def _remarks(game: GameRecord, turns: int) -> Iterator[str]:
    """Yield what happened outside the game after ``turns`` turns, passes not counted."""
    for _ in range(game.resumed.count(turns)):
        yield "the server was restarted"
    for incident in game.incidents:
        if incident.after_turn == turns:
            yield _incident(game, incident)


def _incident(game: GameRecord, incident: IncidentEntry) -> str:
    names = {team.id: team.name for team in game.teams}
    times = f" ({incident.count} times)" if incident.count > 1 else ""
    who = names.get(incident.team, f"team {incident.team}")
    return f"incident{times}: {who}, {incident.code} from {incident.address}: {incident.detail}"


# --- printed ----------------------------------------------------------------------------------------------------


def fact_lines(transcript: Transcript, tournament: Tournament | None) -> Iterator[str]:
    """Yield the facts of the game without its turns; ``tournament`` is for its corrections, None if not known."""
    corrections: Iterable[tuple[str, str]] = ()
    if tournament is not None:
        corrections = correction_facts(tournament, transcript.game)
    found = list(facts(transcript.game, corrections))
    width = max(len(name) for name, _ in found) + 2
    for name, value in found:
        yield from _fold(f"{name:<{width}}{value}", width)


def board_lines(moment: Moment, draw: Callable[[Picture], str]) -> Iterator[str]:
    """Yield the board of a moment and its score line."""
    yield from textwrap.indent(draw(moment.picture), " " * _INDENT).splitlines()
    if moment.score:
        yield f"{'':{_INDENT}}{moment.score}"


def turn_lines(transcript: Transcript, moment: Moment) -> Iterator[str]:
    """Yield a turn on a line of its own, the reason of a fault, and the remarks after it."""
    if moment.player is not None:
        time = "" if moment.ms is None else f"{moment.ms:.3f} ms"
        text = f"{moment.number:>4}  {transcript.players[moment.player]}  {escape_control_chars(moment.text)}"
        yield f"{text:<{WIDTH - 14}} {time:>13}".rstrip()
    yield from _reason_lines(moment)
    if moment.noted:
        yield from _fold(f"{'':{_INDENT + 1}}{moment.noted}", _INDENT + 1)


def _reason_lines(moment: Moment) -> Iterator[str]:
    for text in (moment.reason, *moment.remarks):
        if text:
            yield from _fold(f"{'':{_INDENT + 1}}{text}", _INDENT + 1)


def list_lines(transcript: Transcript) -> Iterator[str]:
    """Yield all turns, the two players' side by side, each with its number and its time in milliseconds.

    A turn that needs more room, and a turn with a reason or a remark, has a line of its own.
    """
    yield "  ".join(f"{'turn':>4}  {name:<{_COLUMN - 12}}{'ms':>6}" for name in transcript.players)
    first = ""
    for moment in transcript.moments:
        if moment.player is None:
            yield from _reason_lines(moment)
            continue
        cell = _cell(moment)
        alone = len(cell) > _COLUMN or moment.reason or moment.remarks
        if first and (moment.player == 0 or alone):
            yield first.rstrip()
            first = ""
        if alone:
            offset = (_COLUMN + 2) * (moment.player if len(cell) <= _COLUMN else 0)
            yield from _fold(" " * offset + cell, offset + _INDENT + 1)
            yield from _reason_lines(moment)
        elif moment.player == 0:
            first = cell
        else:
            yield f"{first:<{_COLUMN}}  {cell}".rstrip()
            first = ""
    if first:
        yield first.rstrip()


def _cell(moment: Moment) -> str:
    time = "" if moment.ms is None else f"{moment.ms:.1f}"
    text = escape_control_chars(moment.text)
    return f"{moment.number:>4}  {text:<{_COLUMN - 14}}{time:>8}"


def _fold(text: str, indent: int) -> list[str]:
    return fold(escape_control_chars(text), WIDTH, indent)


# --- stepped through --------------------------------------------------------------------------------------------


def head_line(transcript: Transcript, cells: int | None = None) -> str:
    """Return the names of the game and of its teams in one line, with long names cut to fit ``cells``."""
    game, players = transcript.game, transcript.players
    first, second = (team.name for team in game.teams)
    title = heading_of_game(game.game)
    if cells is not None:
        room = cells - cell_len(f"match {game.match}:  ({players[0]}) –  ({players[1]}), {title}")
        first, second = name_beside(first, second, room), name_beside(second, first, room)
    return f"match {game.match}: {first} ({players[0]}) – {second} ({players[1]}), {title}"


def frames(transcript: Transcript) -> list[Frame]:
    """Return the moments as the viewer shows them; the last one has the result."""
    shown = [_frame(transcript, moment) for moment in transcript.moments]
    game, last = transcript.game, shown[-1]
    result = f"{result_text(game)} ({game.reason}): {game.detail}"
    if transcript.error is not None:
        result = f"the record is not valid here: {transcript.error}"
    return [*shown[:-1], Frame(last.picture, last.title, (result, *last.below), last.line)]


def _frame(transcript: Transcript, moment: Moment) -> Frame:
    if moment.player is None:
        title = line = "start"
    else:
        name = transcript.players[moment.player]
        time = "" if moment.ms is None else f"  {moment.ms:.1f} ms"
        title = f"turn {moment.number}: {name}  {moment.text}{time}"
        line = f"{moment.number:>3} {name}  {moment.text}"
    below = [moment.score, moment.reason, moment.noted, *moment.remarks]
    return Frame(moment.picture, title, tuple(filter(None, below)), line)
