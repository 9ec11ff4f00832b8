"""All orders of a round of linkage as one text file, as the original ladder published them after each round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from getstep_engines import GAMES
from getstep_server.config.event import ContestEvent
from getstep_server.records.game import validate_game
from getstep_server.records.lost import is_archived
from getstep_server.records.reasons import VOID_REASONS
from getstep_server.records.record import parse
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from .notation import ARCHIVED, result_text, turn_text

GAME = "linkage"
ORDERS = "orders/"
_LETTERS = "MF"  # More moves first


def order_files(tournament: Tournament) -> dict[tuple[int, int], str]:
    """Return the names of the files by event and round: one for each round of linkage that is over."""
    return {
        (event.number, round_): name
        for event in tournament.contest.events
        for round_, name in event_orders(tournament, event).items()
    }


def event_orders(tournament: Tournament, event: ContestEvent) -> dict[int, str]:
    """Return the names of an event's files by round."""
    if event.game.name != GAME:
        return {}
    alone = [other.game.name for other in tournament.contest.events].count(GAME) == 1
    prefix = f"{ORDERS}round-" if alone else f"{ORDERS}event-{event.number}-round-"
    return {round_: f"{prefix}{round_}.txt" for round_ in _rounds_over(tournament, event)}


def order_texts(tournament: Tournament, store: Store) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file.

    Raises:
        RecordError: a record does not have the form of a game's record.
    """
    for (number, round_), name in order_files(tournament).items():
        event = tournament.contest.event(number)
        yield name, round_orders(tournament, event, round_)(store)


def round_orders(tournament: Tournament, event: ContestEvent, round_: int) -> Callable[[Store], str]:
    """Return a function that reads a round and returns the text of its file.

    It reads no record that ``tournament`` does not have now: a freeze hides it, or it was added later. It may run
    in another thread while records are applied to ``tournament``.
    """
    place = tournament.place
    matches = tournament.matches.values()
    numbers = [match.number for match in matches if (match.event, match.round) == (event.number, round_)]
    title = escape_control_chars(f"{tournament.contest.name}: {event.heading}")

    def read(store: Store) -> str:
        """Raises: RecordError: a record does not have the form of a game's record."""
        records = [record for number in numbers for record in store.records(number) if record.place <= place]
        # In the order of the chain, not of the match numbers: a match that was played again comes where it was
        # played.
        games = (parse(record.line) for record in sorted(records, key=lambda record: record.place))
        played = ("\n".join(_game_lines(fields)) for fields in games if fields["reason"] not in VOID_REASONS)
        return "\n\n".join([f"{title}, round {round_}: all orders. M moves first.", *played]) + "\n"

    return read


def _rounds_over(tournament: Tournament, event: ContestEvent) -> Sequence[int]:
    numbers = {match.round for match in tournament.matches.values() if match.event == event.number}
    open_ = {match.round for match in tournament.open() if match.event == event.number}
    return sorted(numbers - open_)


def _game_lines(fields: Mapping[str, Any]) -> Iterator[str]:
    game = validate_game(fields)
    first, second = (escape_control_chars(team.name) for team in game.teams)
    yield f"Match {game.match}: {first} (M) - {second} (F). {escape_control_chars(result_text(game))}"
    if is_archived(fields):
        yield f"The orders were {ARCHIVED}."
    for number, turn in enumerate(game.turns, start=1):
        yield f"{number:>3} {_LETTERS[turn['player']]} {turn_text(turn, GAMES[GAME])}"
