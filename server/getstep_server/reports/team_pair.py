"""All matches between two teams: the results from each side, and where each game parts from the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from getstep.tags import results_by_tag, results_text, tags_of
from getstep_server.config.event import ContestEvent
from getstep_server.records.lost import is_archived
from getstep_server.records.match import Match
from getstep_server.records.record import parse
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament

from .match_list import match_list
from .match_pages import Links
from .notation import score_text
from .replays import Seen
from .text_table import Column

MOST_COMPARED = 50
"""The latest matches whose moves are compared. One of 400 turns takes 20 ms to read."""

PARTS = "parts"
"""The heading of the column that says where a game parts from an earlier one."""

PARTS_HINT = (
    "the first turn at which a game differs from the earlier one that it follows longest, with the same board and"
    f" the same first player; the latest {MOST_COMPARED} games are compared"
)


@dataclass(frozen=True, slots=True)
class PairEvent:
    """The matches of one event: the score of the first team on the page from each side, and the list."""

    name: str
    facts: Sequence[tuple[str, str]]
    columns: Sequence[Column]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(column.cells for column in self.columns), strict=True))


def pair_events(
    tournament: Tournament,
    store: Store,
    team: int,
    matches: Sequence[Match],
    links: Links,
    last: int | None,
    seen: Seen,
) -> list[PairEvent]:
    """Return the matches between two teams that have a result or a replay, event by event.

    Args:
        tournament: the contest as the reader may see it.
        store: the records.
        team: whose score it is.
        matches: all that were issued between it and one other team.
        links: the addresses of the pages.
        last: the place of the last record that counts; None: all do.
        seen: returns a record as the reader may see it, see `api.visibility`.
    """
    recorded = [match for match in matches if match.number in links.played]
    games = list(_games(store, recorded[-MOST_COMPARED:], last, seen))
    parting = dict(_parting((game.number, game.kind, game.turns) for game in games))
    tags = {game.number: game.tags for game in games}
    events = ((event, [m for m in matches if m.event == event.number]) for event in tournament.contest.events)
    found = (_event(tournament, event, own, team, links, parting, tags) for event, own in events if own)
    return [one for one in found if one.rows]


def _event(
    tournament: Tournament,
    event: ContestEvent,
    matches: Sequence[Match],
    team: int,
    links: Links,
    parting: Mapping[int, tuple[int, int]],
    tags: Mapping[int, Mapping[int, Sequence[str]]],
) -> PairEvent:
    columns = list(match_list(tournament, matches, links).columns)
    numbers = [int(cell) for cell in columns[0].cells]
    results = [tournament.final_result(tournament.matches[number]) for number in numbers]
    scores = [
        " : ".join(map(score_text, result.scores)) if result is not None and result.scores is not None else ""
        for result in results
    ]
    parts = [_parting_text(parting.get(number)) for number in numbers]
    moves = [
        f"{links.match(number)}#move={parting[number][1]}" if number in parting and parting[number][1] else ""
        for number in numbers
    ]
    facts = []
    for player, side in zip(PLAYERS, ("first", "second"), strict=True):
        counted = [result for result in results if result is not None and result.match.teams[player] == team]
        outcomes = [result.outcome_for(player) for result in counted]
        won, drawn, lost = (outcomes.count(outcome) for outcome in ("win", "draw", "loss"))
        role = event.game.players[player]
        name = tournament.contest.team_name(team)
        facts.append((f"{name} as the {side} player ({role})", results_text(won, drawn, lost)))
    facts += _tag_facts(tournament, team, [result for result in results if result is not None], tags)
    columns.append(Column("scores", scores))
    columns.append(Column(PARTS, parts, justify="left", links=moves))
    return PairEvent(event.heading, facts, columns)


def _tag_facts(
    tournament: Tournament, team: int, results: Sequence[Result], tags: Mapping[int, Mapping[int, Sequence[str]]]
) -> Iterator[tuple[str, str]]:
    """Yield the results of a team in the matches with each tag, those of its own tags first."""
    name = tournament.contest.team_name
    sides = [(result, PLAYERS[result.match.teams.index(team)]) for result in results]
    teams = dict.fromkeys([team, *(one for result in results for one in result.match.teams)])
    for one in teams:
        noted = [
            (tags.get(result.match.number, {}).get(one, ()), result.outcome_for(side)) for result, side in sides
        ]
        for found in results_by_tag(noted):
            latest = f", in the latest {MOST_COMPARED}" if len(tags) == MOST_COMPARED else ""
            yield f"{name(team)} where {name(one)} noted the tag {found.tag}{latest}", str(found)


def _parting_text(found: tuple[int, int] | None) -> str:
    if found is None:
        return ""
    number, move = found
    return f"at move {move} from match {number}" if move else f"same moves as match {number}"


@dataclass(frozen=True, slots=True)
class _Game:
    """A match: what it must share with another to be compared, its turns as texts, and the tags of each team."""

    number: int
    kind: object
    turns: list[str]
    tags: Mapping[int, Sequence[str]]


def _games(store: Store, matches: Iterable[Match], last: int | None, seen: Seen) -> Iterator[_Game]:
    for match in matches:
        games = [record.line for record in store.records(match.number) if last is None or record.place <= last]
        latest = parse(games[-1]) if games else {}  # an earlier attempt was void, or was played again
        if latest and not is_archived(latest):  # without its turns it has nothing to compare
            fields = seen(latest)
            turns = fields["turns"]
            tags = {
                entry["id"]: tags_of(turn.get("notes") for turn in turns if turn["player"] == player)
                for player, entry in enumerate(fields["teams"])
            }
            kind = (fields["game"], fields["options"], match.first)
            opening = [repr(move) for move in fields.get("opening", ())]  # replays count it, too
            yield _Game(match.number, kind, [*opening, *map(_turn, turns)], tags)


def _turn(fields: Mapping[str, Any]) -> str:
    """Return what was played in a turn, without its time."""
    return repr([fields.get(name) for name in ("player", "move", "pass", "fault", "tried", "end")])


def _parting(games: Iterable[tuple[int, object, list[str]]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield, for each match with an earlier one of the same kind, the one that it follows longest.

    Beside it is the number of the first turn that differs; 0 if none does.
    """
    earlier: list[tuple[int, object, list[str]]] = []
    for number, kind, turns in games:
        shared = [(_common(turns, others), -other, others) for other, known, others in earlier if known == kind]
        if shared:
            common, other, others = max(shared)
            yield number, (-other, 0 if turns == others else common + 1)
        earlier.append((number, kind, turns))


def _common(turns: Sequence[str], others: Sequence[str]) -> int:
    """Return with how many equal turns two games begin."""
    pairs = zip(turns, others, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(turns), len(others)))
