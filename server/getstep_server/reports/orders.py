"""All orders of a round of linkage as one text file, as the original ladder published them after each round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from getstep_engines import GAMES
from getstep_server.config.event import ContestEvent
from getstep_server.records.game import validate_game
from getstep_server.records.reasons import VOID_REASONS
from getstep_server.records.record import parse
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from .notation import result_text, turn_text

GAME = "linkage"
ORDERS = "orders/"
_LETTERS = "MF"  # More moves first


def order_files(tournament: Tournament) -> dict[tuple[int, int], str]:
    """Return the names of the files by event and round: one for each round of linkage that is over."""
    events = [event for event in tournament.contest.events if event.game.name == GAME]
    names = {}
    for event in events:
        prefix = f"{ORDERS}round-" if len(events) == 1 else f"{ORDERS}event-{event.number}-round-"
        for round_ in _rounds_over(tournament, event):
            names[event.number, round_] = f"{prefix}{round_}.txt"
    return names


def order_texts(tournament: Tournament, store: Store) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file.

    Raises:
        RecordError: a record does not have the form of a game's record.
    """
    names = order_files(tournament)
    games = defaultdict[tuple[int, int], list[str]](list)
    for record in store.records() if names else ():
        if record.place > tournament.place:  # a freeze hides it, or it was added while this ran
            break
        fields = parse(record.line)
        if fields["type"] == "game" and fields["reason"] not in VOID_REASONS:
            games[fields["event"], fields["round"]].append("\n".join(_game_lines(fields)))
    for (event, round_), name in names.items():
        title = escape_control_chars(f"{tournament.contest.name}: {tournament.contest.event(event).name}")
        head = f"{title}, round {round_}: all orders. M moves first.\n"
        yield name, "\n\n".join([head.rstrip(), *games[event, round_]]) + "\n"


def _rounds_over(tournament: Tournament, event: ContestEvent) -> Sequence[int]:
    numbers = {match.round for match in tournament.matches.values() if match.event == event.number}
    open_ = {match.round for match in tournament.open() if match.event == event.number}
    return sorted(numbers - open_)


def _game_lines(fields: Mapping[str, Any]) -> Iterator[str]:
    game = validate_game(fields)
    first, second = (escape_control_chars(team.name) for team in game.teams)
    yield f"Match {game.match}: {first} (M) - {second} (F). {escape_control_chars(result_text(game))}"
    for number, turn in enumerate(game.turns, start=1):
        yield f"{number:>3} {_LETTERS[turn['player']]} {turn_text(turn, GAMES[GAME])}"
