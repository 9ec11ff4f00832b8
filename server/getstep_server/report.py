"""The report of a contest: one html page with everything that the records say, for the screen, a phone and paper.

It is made of the records and the contest's files alone, and the same records make the same bytes: so it does not
say when it was made. Names and whatever else comes from outside go through `printable` and then through the
template's escaping, all in one place: the environment that renders it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ._text import printable
from .combined import Combined
from .contest import Contest
from .contest_event import ContestEvent
from .crosstable import Crosstable
from .decisions import described
from .game_record import VOIDS, RecordError
from .incidents import IncidentRow
from .plots import Course, Rated, course_plot, ratings_plot
from .ratings import UNSURE, Ratings, rate, ratings_of, tally_of
from .record_shape import GameShape, game_of
from .results import PLAYERS, Result
from .standings import Standing
from .store import Store
from .tables import combined_table, describe_event, name_with_status, ratings_table, standings_table
from .text_table import Column, TextTable
from .tournament import Tournament

CROSSTABLE_TEAMS = 64
"""With more teams there is no crosstable: nobody could read it, and the page would be some megabytes long."""

MATCHES_NAMED = 12
"""How many matches a square of the crosstable names."""

MANY_TEAMS = 64
"""From more than these on, ratings take their time, and there are fewer fits."""

FITS, FITS_OF_MANY = 40, 12
"""After how many parts of the matches the ratings over time are made."""

LINES = 40
"""How many teams the plot of ratings over time has, the highest rated ones."""

Progress = Callable[[int, int], None]
Step = Callable[[], None]


# --- what is on the page ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the page; ``hints`` say by its heading what is in a column."""

    key: str
    caption: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Its rows, with a cell for each column."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@dataclass(frozen=True, slots=True)
class Square:
    """Of the crosstable: ``kind`` is win, draw, loss, own, or none if the two have not met."""

    text: str
    kind: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Squares:
    """The crosstable: its teams, ``what`` is in their squares, and in ``letters`` about how wide it is."""

    what: str
    names: Sequence[str]
    rows: Sequence[Sequence[Square]]
    letters: int


@dataclass(frozen=True, slots=True)
class Plots:
    """The ratings of an event: in numbers, and drawn as svg elements in which all is escaped."""

    table: Grid
    ratings: str
    course: str | None
    course_note: str


@dataclass(frozen=True, slots=True)
class EventPart:
    """All about one event; what it has nothing to say of is None."""

    key: str
    name: str
    about: str
    played: str
    standings: Grid
    squares: Squares | None
    plots: Plots | None
    ends: Grid | None
    troubles: Grid | None


@dataclass(frozen=True, slots=True)
class Page:
    """The report."""

    name: str
    facts: Sequence[tuple[str, str]]
    decisions: Grid | None
    combined: Grid | None
    events: Sequence[EventPart]
    incidents: Grid | None


@dataclass(frozen=True)
class Seen:
    """What is on record at one moment."""

    contest: Contest
    tournament: Tournament
    records: int
    head: str
    games: Sequence[GameShape]
    incidents: Sequence[IncidentRow]


def look(contest: Contest, store: Store) -> Seen:
    """Read a contest, also while it runs.

    Raises:
        RecordError, StoreError: the records are not what was written.
    """
    with store.snapshot():
        heads, (records, digest), incidents = store.heads(), store.chain(), store.incidents()
    games = [_game(fields) for fields in heads if fields.get("type") == "game"]
    return Seen(contest, Tournament(contest, heads), records, digest, games, incidents)


def _game(fields: Mapping[str, Any]) -> GameShape:
    try:
        return game_of({**fields, "turns": []})
    except RecordError as error:
        raise RecordError(f"a record of match {fields.get('match')!r:.20}: {error}") from error


def as_html(seen: Seen, progress: Progress = lambda *_: None) -> str:
    """The report as a page that needs no other file.

    Args:
        seen: from `look`.
        progress: called with how many steps of how many are done.
    """
    environment = Environment(
        loader=PackageLoader("getstep_server"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(page=_page(seen, progress), most=CROSSTABLE_TEAMS)


def _page(seen: Seen, progress: Progress) -> Page:
    tables = seen.tournament.tables()
    parts = []
    for event, step in _steps(seen, progress):
        parts.append(_event_part(seen, event, tables.events[event.number], step))
    return Page(
        name=seen.contest.name,
        facts=list(_facts(seen)),
        decisions=_decisions(seen),
        combined=_combined(seen.contest, tables.combined) if tables.combined else None,
        events=parts,
        incidents=_incidents(seen),
    )


def _steps(seen: Seen, progress: Progress) -> Iterator[tuple[ContestEvent, Step]]:
    """Each event with what is to be called whenever a part of its ratings is there: they are what takes time."""
    sizes = [1 + _fits(len(event.teams)) for event in seen.contest.events]
    for place, event in enumerate(seen.contest.events):
        done = count(sum(sizes[:place]))
        progress(next(done), sum(sizes))
        yield event, lambda done=done: progress(next(done), sum(sizes))  # type: ignore[misc]
    progress(sum(sizes), sum(sizes))


def _facts(seen: Seen) -> Iterator[tuple[str, str]]:
    tournament, results = seen.tournament, seen.tournament.results
    yield "Matches", f"{tournament.done} played of {tournament.total} given out so far"
    void = sum(game.reason in VOIDS for game in seen.games)
    if void:
        yield "Void attempts", f"{void}, broken off: the server failed, or the host called them off"
    if overruled := len(seen.games) - void - len(tournament.counting):
        yield "Overruled attempts", f"{overruled}, played: a decision or a rule has replaced or annulled them"
    yield "Teams", str(len(seen.contest.teams))
    if results:
        first = min(result.started for result in results)
        last = max(result.started + result.seconds for result in results)
        yield "Played", f"{_minute(first)} to {_minute(last)} UTC"
    yield "Records", str(seen.records)
    yield "Head of their chain", seen.head


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _event_part(seen: Seen, event: ContestEvent, rows: Sequence[Standing], step: Step) -> EventPart:
    key = f"event-{event.number}"
    results = [result for result in seen.tournament.results if result.match.event == event.number]
    games = [game for game in seen.games if game.event == event.number]
    return EventPart(
        key=key,
        name=event.name,
        about=describe_event(event, seen.contest.file.time.lag_ms),
        played=_matches(len(results)),
        standings=_grid(f"{key}-standings", "Standings", standings_table(seen.contest, event, rows)),
        squares=_squares(seen.contest, event, rows, results) if len(rows) <= CROSSTABLE_TEAMS else None,
        plots=_plots(seen, event, results, key, step),
        ends=_ends(results, key) if results else None,
        troubles=_troubles(seen.contest, results, games, key),
    )


def _matches(count: int) -> str:
    return f"{count} match{'es' * (count != 1)}"


# --- tables -----------------------------------------------------------------------------------------------------

_HINTS = {
    "place": "the format's own ranking",
    "byes": "rounds without an opponent",
    "diff": "own score less the opponent's, over all matches",
    "direct": "points from the matches among the teams that were still level",
    "Buchholz": "the sum of the opponents' points",
    "lot": "drawn; the lowest is first",
    "firsts": "events in which it stands before all others",
    "stronger": "how likely it is that the team is stronger than the next",
    "faults": "turns that got the game's penalty",
}


def _grid(key: str, caption: str, table: TextTable) -> Grid:
    return Grid(key, caption, table.columns, table.notes, _HINTS)


def _combined(contest: Contest, rows: Sequence[Combined]) -> Grid:
    """The combined table, its events by their names."""
    grid = _grid("combined", "All events together", combined_table(contest, rows, named=True))
    share = "share of the other teams that it stands before, in percent"
    return replace(grid, hints=_HINTS | dict.fromkeys((event.name for event in contest.events), share))


def _decisions(seen: Seen) -> Grid | None:
    """What the host has decided, in that order."""
    made = seen.tournament.decisions
    what = [described(one, seen.contest, seen.tournament.matches.get(one.match or 0)) for one in made]
    columns = [
        Column("when (UTC)", [_minute(datetime.fromisoformat(one.at).timestamp()) for one in made]),
        Column("what", what, names=True, justify="left"),
        Column("why", [one.why for one in made], justify="left"),
        Column("who", [one.by for one in made], justify="left"),
    ]
    return Grid("decisions", "Decisions of the host", columns) if made else None


def _ends(results: Sequence[Result], key: str) -> Grid:
    counts = Counter(result.reason for result in results).most_common()
    columns = [
        Column("how", [reason for reason, _ in counts], names=True, justify="left"),
        Column("matches", [str(count) for _, count in counts]),
        Column("%", [f"{100 * count / len(results):.1f}" for _, count in counts]),
    ]
    return Grid(f"{key}-ends", "How matches ended", columns)


def _troubles(contest: Contest, results: Sequence[Result], games: Sequence[GameShape], key: str) -> Grid | None:
    """Of each team that had any: its faults, what it lost otherwise than by the rules, its incidents."""
    faults, lost = _faults(results)
    incidents: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in (row for game in games for row in game.incidents):
        incidents[row.team][row.code] += row.count
    teams = sorted({*(+faults), *lost, *incidents}, key=contest.team_name)
    columns = [
        Column("team", [contest.team_name(team) for team in teams], names=True, justify="left"),
        Column("faults", [str(faults[team]) for team in teams]),
        Column("lost otherwise than by the rules", [_counted(lost[team]) for team in teams], justify="left"),
        *_incident_columns([incidents[team] for team in teams]),
    ]
    return Grid(f"{key}-troubles", "Faults, and incidents in matches", columns, hints=_HINTS) if teams else None


def _faults(results: Sequence[Result]) -> tuple[Counter[int], defaultdict[int, Counter[str]]]:
    """By team: how many turns got the game's penalty, and why it lost otherwise than by the rules, how often."""
    faults: Counter[int] = Counter()
    lost: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for result in results:
        for team, player in zip(result.match.teams, PLAYERS, strict=True):
            faults[team] += result.faults[player]
            if result.reason != "finished" and result.outcome_for(player) == "loss":
                lost[team][result.reason] += 1
    return faults, lost


def _incidents(seen: Seen) -> Grid | None:
    """All of the contest's by team, those of strangers last; their addresses are nobody's business."""
    counts: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    for row in seen.incidents:
        counts[row.incident.team][row.incident.code] += row.count
    teams = sorted(counts, key=lambda team: (team is None, -counts[team].total(), team))
    who = ["not a team" if team is None else seen.contest.team_name(team) for team in teams]
    columns = [Column("who", who, names=True, justify="left"), *_incident_columns([counts[team] for team in teams])]
    return Grid("incidents", "Incidents in all runs", columns) if teams else None


def _incident_columns(counts: Sequence[Counter[str]]) -> list[Column]:
    totals = [str(count.total()) for count in counts]
    return [Column("incidents", totals), Column("of which", [_counted(count) for count in counts], justify="left")]


def _counted(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{what} {count}" for what, count in ordered)


# --- the crosstable ---------------------------------------------------------------------------------------------


def _squares(contest: Contest, event: ContestEvent, rows: Sequence[Standing], results: Sequence[Result]) -> Squares:
    table = Crosstable(event, rows, results)
    teams = [row.team for row in rows]
    points = {(team, other): table.points(team, other) for team in teams for other in teams if team != other}
    form = {"signed_roots": ".1f", "percentage": ".0f", "points": "g"}[event.scoring.kind]

    def square(team: int, other: int) -> Square:
        own, others = points.get((team, other)), points.get((other, team))
        if own is None or others is None:
            return Square("", "own" if team == other else "none")
        legs = table.legs(team, other)
        kind = "win" if own > others else "loss" if own < others or set(legs) == {"loss"} else "draw"
        hint = f"{contest.team_name(team)} – {contest.team_name(other)}: {_legs(legs, table.numbers(team, other))}"
        return Square(f"{round(own, 2):{form}}", kind, hint)

    squares = [[square(team, other) for other in teams] for team in teams]
    widest = max((len(square.text) for row in squares for square in row), default=0)
    names = [name_with_status(contest, row) for row in rows]
    what = "Percentage of matches won by" if event.scoring.kind == "percentage" else "Points of"
    return Squares(what, names, squares, letters=24 + len(teams) * (max(widest, 2) + 1))


def _legs(legs: Sequence[str], numbers: Sequence[int]) -> str:
    """Each match with its number; of many, how often they ended how."""
    if len(legs) > MATCHES_NAMED:
        return f"{_counted(Counter(legs))} in matches {numbers[0]} to {numbers[-1]}"
    return ", ".join(f"{leg} in match {number}" for leg, number in zip(legs, numbers, strict=True))


# --- ratings ----------------------------------------------------------------------------------------------------


def _plots(seen: Seen, event: ContestEvent, results: Sequence[Result], key: str, step: Step) -> Plots | None:
    ratings = ratings_of(seen.tournament, event)
    rows = list(_rated(seen.contest, ratings))
    if not rows:
        return None
    step()
    courses = _courses(seen.contest, ratings, results, step)
    title = f"{event.name}: ratings"
    return Plots(
        table=_grid(f"{key}-ratings", "Ratings", ratings_table(seen.tournament, event)),
        ratings=ratings_plot(rows, key=f"r{event.number}", label=title),
        course=_course(courses, f"c{event.number}", f"{title} over time"),
        course_note=f"The {LINES} highest rated of {len(courses)} teams." if len(courses) > LINES else "",
    )


def _rated(contest: Contest, ratings: Ratings) -> Iterator[Rated]:
    """Those that have played, each with the likelihood that it is stronger than the next, if that is known."""
    for rating, lead in zip(ratings.table, ratings.leads(), strict=True):
        if rating.elo is not None:
            unsure = lead is not None and UNSURE[0] < lead < UNSURE[1]
            yield Rated(contest.team_name(rating.team), rating.elo, lead, separable=not unsure)


def _courses(contest: Contest, ratings: Ratings, results: Sequence[Result], step: Step) -> list[Course]:
    """The ratings after so many parts of the results, the highest at the end first.

    A fit counts as soon as games connect more than half of the teams, and for those: the mean of a few teams that
    have played each other only says nothing of the others.
    """
    rated = [rating.team for rating in ratings.table if rating.elo is not None]
    courses: dict[int, list[tuple[int, float]]] = {team: [] for team in rated}
    fits = _fits(len(ratings.table))
    for played in sorted({len(results) * part // fits for part in range(1, fits + 1)}):
        for team, elo in _connected(rate(tally_of(rated, results[:played]), replicates=0), len(rated)):
            courses[team].append((played, elo))
        step()
    return [Course(contest.team_name(team), tuple(points)) for team, points in courses.items() if points]


def _fits(teams: int) -> int:
    return FITS if teams <= MANY_TEAMS else FITS_OF_MANY


def _connected(ratings: Ratings, teams: int) -> list[tuple[int, float]]:
    """Team and rating of those in the group that has more than half of the ``teams``; none if there is none."""
    groups = Counter(rating.group for rating in ratings.table if rating.elo is not None)
    ((group, size),) = groups.most_common(1) or [(-1, 0)]
    members = (rating for rating in ratings.table if rating.group == group and 2 * size > teams)
    return [(rating.team, rating.elo.value) for rating in members if rating.elo is not None]


def _course(courses: Sequence[Course], key: str, label: str) -> str | None:
    if not any(len(course.points) > 1 for course in courses):
        return None
    return course_plot(courses[:LINES], key=key, label=label)
