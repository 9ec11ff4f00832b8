"""The html report of a contest: one page with all results, for a screen, a phone and paper.

It links to other pages only if these are written as well (`Links`).

Most of the time goes into the ratings of an event, and into the HTML of its tables. Both are `KeptParts`: a report
that is made again costs the reading of the records, and the events that have changed.

It depends on the records and the contest's files only, and the same records make the same bytes. So it does not
contain the time at which it was made. Names and all other text from outside go through `escape_control_chars` and
then through the template's escaping. Both happen in one place, the environment that renders the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import count, repeat
from typing import Any, TypeAlias

from jinja2 import Environment
from msgspec import structs

from getstep_engines import Player
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent, describe_event
from getstep_server.incident import IncidentRow
from getstep_server.records.decision import describe_decision
from getstep_server.records.game import GameRecord, validate_game
from getstep_server.records.reasons import VOID_REASONS, Reason
from getstep_server.records.record import RecordError
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.store import Store
from getstep_server.tournament.combined import Combined, as_shown
from getstep_server.tournament.crosstable import Crosstable
from getstep_server.tournament.ratings import UNSURE, Ratings, largest_group, ratings_of
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament

from .kept_parts import KeptParts
from .match_list import HINTS, match_list
from .match_pages import Links
from .plots import COLOURS, WIDTH, HistoryPlot, Rated, RatingHistory, RatingsPlot, history_plot, ratings_plot
from .programs import programs_facts, programs_table
from .ratings_table import ratings_table
from .tables import combined_table, name_with_status, standings_table
from .templating import escaped, template_environment
from .text_table import Column, TextTable

CROSSTABLE_TEAMS = 64
"""The most teams of a crosstable. With more it is too wide to read, and the page would have several megabytes."""

MATCHES_NAMED = 12
"""The most matches that the hint of a crosstable cell names; of more it gives totals."""

MANY_TEAMS = 64
"""With more teams than these a fit takes so long that the plot of ratings over time has fewer of them."""

FITS, FITS_OF_MANY = 40, 12
"""The number of fits in the plot of ratings over time."""

PLOTTED_TEAMS = 40
"""The most teams in the plot of ratings over time, the highest rated ones: more lines cannot be told apart."""

_Game: TypeAlias = tuple[int, int, Player | None, bool]
"""A result as ratings read it: first and second team, the winner, and whether it had a turn."""

Progress = Callable[[int, int], None]
Step = Callable[[], None]


# --- the parts of the page --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of the page; ``hints`` explain columns by their heading."""

    key: str
    caption: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> str:
        """The rows as HTML. The first column of names is the rows' header."""
        header = next((column for column in self.columns if column.names), None)
        columns = (_html_cells(column, is_header=column is header) for column in self.columns)
        return "".join(f"<tr>{''.join(cells)}\n</tr>\n" for cells in zip(*columns, strict=True))


def _html_cells(column: Column, *, is_header: bool) -> list[str]:
    """Return the cells of a column as HTML, each different one made once."""
    tag = 'th scope="row" class="left"' if is_header else 'td class="left"' if column.justify == "left" else "td"
    name, end = ("<bdi>", "</bdi>") if column.names else ("", "")

    def made(text: str, link: str) -> str:
        cell = f"{name}{escaped(text)}{end}"
        cell = f'<a href="{escaped(link)}">{cell}</a>' if link else cell
        return f"<{tag}>{cell}</{tag[:2]}>"

    cells = list(zip(column.cells, column.links or repeat("")))  # noqa: B905 - without links there is no end of ""
    different = {cell: made(*cell) for cell in set(cells)}
    return [different[cell] for cell in cells]


@dataclass(frozen=True, slots=True)
class CrosstableCell:
    """A cell of the crosstable: ``kind`` is win, draw, loss, own, or none if the two teams have not played."""

    text: str
    kind: str
    hint: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class CrosstableGrid:
    """The crosstable: ``what`` its cells contain, its teams and rows, and its approximate width in ``letters``."""

    what: str
    names: Sequence[str]
    rows: Sequence[Sequence[CrosstableCell]]
    letters: int


@dataclass(frozen=True, slots=True)
class Plots:
    """The ratings of an event as a table and as plots."""

    table: Grid
    ratings: RatingsPlot
    history: HistoryPlot | None
    history_note: str


@dataclass(frozen=True, slots=True)
class EventPart:
    """One event without its ratings; a part without content is None."""

    key: str
    name: str
    about: str
    played: str
    standings: Grid
    crosstable: CrosstableGrid | None
    endings: Grid | None
    faults_table: Grid | None
    matches: Grid | None
    orders: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class EventHtml:
    """One event with its heading, and its place in the page."""

    key: str
    name: str
    html: str


@dataclass(frozen=True, slots=True)
class ReportPage:
    name: str
    facts: Sequence[tuple[str, str]]
    decisions: Grid | None
    programs: Grid | None
    combined: Grid | None
    events: Sequence[EventHtml]
    incidents: Grid | None


@dataclass(frozen=True)
class ReportData:
    """The contents of the records at one moment."""

    contest: Contest
    tournament: Tournament
    records: int
    head: str
    games: Sequence[GameRecord]
    incidents: Sequence[IncidentRow]
    links: Links = field(default_factory=Links)
    frozen: bool = False


def load_report_data(contest: Contest, store: Store) -> ReportData:
    """Return the data of a contest, which may be running.

    Raises:
        RecordError: a record is not valid.
        StoreError: the chain of records is broken.
    """
    with store.snapshot():
        heads, (records, digest), incidents = store.record_headers(), store.chain(), store.incidents()
    games = [_game(fields) for fields in heads if fields.get("type") == "game"]
    tournament = Tournament(contest, heads)
    return ReportData(tournament.contest, tournament, records, digest, games, incidents)


def _game(fields: Mapping[str, Any]) -> GameRecord:
    try:
        # Headers have no turns, and the schema wants the key; the report counts from the totals.
        return validate_game({**fields, "turns": []})
    except RecordError as error:
        raise RecordError(f"a record of match {fields.get('match')!r:.20}: {error}") from error


def as_html(data: ReportData, progress: Progress = lambda *_: None, kept: KeptParts | None = None) -> str:
    """Return the report as an html page that needs no other file.

    Args:
        data: from `load_report_data`, with the ``links`` to the other pages.
        progress: called with the number of steps done and the number of all steps.
        kept: the parts of an earlier report; None makes all of them.
    """
    return environment().get_template("report.html.j2").render(page=_page(data, progress, kept or KeptParts()))


@cache
def environment() -> Environment:
    made = template_environment("getstep_server.reports")
    made.globals.update(most=CROSSTABLE_TEAMS, plot_width=WIDTH, colours=COLOURS)
    return made


def _page(data: ReportData, progress: Progress, kept: KeptParts) -> ReportPage:
    tables, programs = data.tournament.tables(), programs_table(data.contest, data.games, data.links.programs)
    all_results, results, parts = data.tournament.results, defaultdict[int, list[Result]](list), []
    for result in all_results:
        results[result.match.event].append(result)
    for event, step in _steps(data, progress):
        parts.append(_event_html(data, event, tables.events[event.number], results[event.number], step, kept))
    return ReportPage(
        name=data.contest.name,
        facts=list(_facts(data, all_results)),
        decisions=_decisions(data),
        programs=_grid("programs", "Programs of the host's machine", programs) if programs else None,
        combined=_with_teams(_combined(data.contest, tables.combined), tables.combined, data)
        if tables.combined
        else None,
        events=parts,
        incidents=_incidents(data),
    )


def _steps(data: ReportData, progress: Progress) -> Iterator[tuple[ContestEvent, Step]]:
    """Yield each event, and a function to call after each fit of its ratings, which take most of the time."""
    sizes = [1 + _fits(len(event.teams)) for event in data.contest.events]
    for place, event in enumerate(data.contest.events):
        done = count(sum(sizes[:place]))
        progress(next(done), sum(sizes))
        yield event, lambda done=done: progress(next(done), sum(sizes))  # type: ignore[misc]  # mypy does not infer the type of a lambda with a default
    progress(sum(sizes), sum(sizes))


def _facts(data: ReportData, results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    tournament = data.tournament
    yield "Matches", f"{tournament.done} played of {tournament.total} paired"
    if data.frozen:
        yield "Freeze", "the results of later matches are hidden until the host reveals them"
    void = sum(game.reason in VOID_REASONS for game in data.games)
    if void:
        yield "Void attempts", f"{void}: a server error, or aborted by the host"
    if overruled := len(data.games) - void - len(tournament.official_games):
        yield "Overruled attempts", f"{overruled}: played, then replaced or annulled by a decision or a rule"
    yield "Teams", str(len(data.contest.teams))
    yield from programs_facts(data.games)
    if results:
        first = min(result.started for result in results)
        last = max(result.started + result.seconds for result in results)
        yield "Played", f"{_minute(first)} to {_minute(last)} UTC"
    yield "Records", str(data.records)
    yield "Hash of the last record", data.head


def _minute(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _event_html(
    data: ReportData,
    event: ContestEvent,
    rows: Sequence[Standing],
    results: Sequence[Result],
    step: Step,
    kept: KeptParts,
) -> EventHtml:
    part = _event_part(data, event, rows, results)
    ratings = _ratings_html(data, event, rows, results, step, kept)

    def make() -> str:
        return environment().get_template("event.html.j2").render(event=part, ratings=ratings)

    return EventHtml(part.key, part.name, kept.html((part, ratings), make))


def _event_part(
    data: ReportData, event: ContestEvent, rows: Sequence[Standing], results: Sequence[Result]
) -> EventPart:
    key = f"event-{event.number}"
    games = [game for game in data.games if game.event == event.number]
    return EventPart(
        key=key,
        name=event.heading,
        about=describe_event(event, data.contest.file.time.lag_ms),
        played=_matches(len(results)),
        standings=_with_teams(
            _grid(f"{key}-standings", "Standings", standings_table(data.contest, event, rows)), rows, data
        ),
        crosstable=_crosstable(data, event, rows, results) if len(rows) <= CROSSTABLE_TEAMS else None,
        endings=_endings(results, key) if results else None,
        faults_table=_faults_table(data.contest, results, games, key),
        matches=_match_list(data, event, key),
        orders=[(round_, name) for (number, round_), name in data.links.orders.items() if number == event.number],
    )


def _matches(count: int) -> str:
    return f"{count} match{'es' * (count != 1)}"


# --- tables -----------------------------------------------------------------------------------------------------

_HINTS = {
    "place": "the format's own ranking",
    "byes": "rounds without an opponent",
    "diff": "score difference: own score minus the opponent's, over all matches",
    "DE": "direct encounter: points from the matches among the tied teams",
    "Buchholz": "the sum of the opponents' points",
    "lot": "drawing of lots; the lowest is first",
    "firsts": "events in which the team is ahead of all others",
    "stronger": "likelihood that the team is stronger than the next one",
    "faults": "turns that got the game's penalty",
}


def _grid(key: str, caption: str, table: TextTable) -> Grid:
    return Grid(key, caption, table.columns, table.notes, _HINTS)


def _combined(contest: Contest, rows: Sequence[Combined]) -> Grid:
    """Return the combined table, with events by name."""
    grid = _grid("combined", "All events together", combined_table(contest, rows, every=True))
    share = "share of the other teams that the team is ahead of, in percent"
    return replace(grid, hints=_HINTS | dict.fromkeys((event.heading for event in contest.events), share))


def _with_teams(grid: Grid, rows: Sequence[Standing | Combined], data: ReportData) -> Grid:
    """Return a table of teams in which each name links to the team's page, if there is one."""
    links = [data.links.team(row.team) for row in as_shown(rows)]
    columns = [structs.replace(c, links=links) if c.heading == "team" else c for c in grid.columns]
    return replace(grid, columns=columns)


def _match_list(data: ReportData, event: ContestEvent, key: str) -> Grid | None:
    """Return all matches of an event; None if no match is over."""
    matches = [match for match in data.tournament.matches.values() if match.event == event.number]
    table = match_list(data.tournament, matches, data.links)
    return Grid(f"{key}-matches", "Matches", table.columns, hints=HINTS) if table.columns[0].cells else None


def _decisions(data: ReportData) -> Grid | None:
    """Return the decisions in the order in which they were made; None if there are none."""
    made = data.tournament.decisions
    what = [describe_decision(one, data.contest, data.tournament.matches.get(one.match or 0)) for one in made]
    columns = [
        Column("when (UTC)", [_minute(datetime.fromisoformat(one.at).timestamp()) for one in made]),
        Column("what", what, names=True, justify="left"),
        Column("why", [one.why for one in made], justify="left"),
        Column("by", [one.by for one in made], justify="left"),
    ]
    return Grid("decisions", "Decisions of the host", columns) if made else None


def _endings(results: Sequence[Result], key: str) -> Grid:
    counts = Counter(result.reason for result in results).most_common()
    columns = [
        Column("reason", [reason for reason, _ in counts], names=True, justify="left"),
        Column("matches", [str(count) for _, count in counts]),
        Column("%", [f"{100 * count / len(results):.1f}" for _, count in counts]),
    ]
    return Grid(f"{key}-endings", "How matches ended", columns)


def _faults_table(
    contest: Contest, results: Sequence[Result], games: Sequence[GameRecord], key: str
) -> Grid | None:
    """Return the faults, forfeits and incidents of each team that has any; None if no team has."""
    faults, lost = _faults(results)
    incidents: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in (row for game in games for row in game.incidents):
        incidents[row.team][row.code] += row.count
    # the unary plus drops teams with 0 faults
    teams = sorted({*(+faults), *lost, *incidents}, key=contest.team_name)
    columns = [
        Column("team", [contest.team_name(team) for team in teams], names=True, justify="left"),
        Column("faults", [str(faults[team]) for team in teams]),
        Column("lost by forfeit", [_counted(lost[team]) for team in teams], justify="left"),
        *_incident_columns([incidents[team] for team in teams]),
    ]
    return Grid(f"{key}-faults", "Faults, and incidents in matches", columns, hints=_HINTS) if teams else None


def _faults(results: Sequence[Result]) -> tuple[Counter[int], defaultdict[int, Counter[str]]]:
    """Return for each team its number of faults, and how often it lost by forfeit for which reason."""
    faults: Counter[int] = Counter()
    lost: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for result in results:
        if result.reason == Reason.FINISHED and not any(result.faults):
            continue  # as most of them
        for team, player in zip(result.match.teams, PLAYERS, strict=True):
            faults[team] += result.faults[player]
            if result.reason != Reason.FINISHED and result.outcome_for(player) == "loss":
                lost[team][result.reason] += 1
    return faults, lost


def _incidents(data: ReportData) -> Grid | None:
    """Return the incidents by team, and in one row those without a team: a report shows no addresses."""
    counts: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    for row in data.incidents:
        counts[row.incident.team][row.incident.code] += row.count
    teams = sorted(counts, key=lambda team: (team is None, -counts[team].total(), team))
    who = ["no team" if team is None else data.contest.team_name(team) for team in teams]
    columns = [
        Column("sender", who, names=True, justify="left"),
        *_incident_columns([counts[team] for team in teams]),
    ]
    return Grid("incidents", "Incidents in all runs", columns) if teams else None


def _incident_columns(counts: Sequence[Counter[str]]) -> list[Column]:
    totals = [str(count.total()) for count in counts]
    return [Column("incidents", totals), Column("of which", [_counted(count) for count in counts], justify="left")]


def _counted(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{what} {count}" for what, count in ordered)


# --- the crosstable ---------------------------------------------------------------------------------------------


def _crosstable(
    data: ReportData, event: ContestEvent, rows: Sequence[Standing], results: Sequence[Result]
) -> CrosstableGrid:
    contest = data.contest
    table = Crosstable(event, rows, results)
    teams = [row.team for row in rows]
    points = {(team, other): table.points(team, other) for team in teams for other in teams if team != other}
    form = {"signed_roots": ".1f", "percentage": ".0f", "points": "g"}[event.scoring.kind]

    def square(team: int, other: int) -> CrosstableCell:
        own, others = points.get((team, other)), points.get((other, team))
        if own is None or others is None:
            return CrosstableCell("", "own" if team == other else "none")
        legs = table.legs(team, other)
        kind = "win" if own > others else "loss" if own < others or set(legs) == {"loss"} else "draw"
        hint = f"{contest.team_name(team)} – {contest.team_name(other)}: {_legs(legs, table.numbers(team, other))}"
        link = data.links.pair(team, other) or data.links.match(table.numbers(team, other)[0])
        return CrosstableCell(f"{round(own, 2):{form}}", kind, hint, link)

    crosstable = [[square(team, other) for other in teams] for team in teams]
    widest = max((len(square.text) for row in crosstable for square in row), default=0)
    names = [name_with_status(contest, row) for row in rows]
    what = "Percentage of matches won by" if event.scoring.kind == "percentage" else "Points of"
    # 24 letters for the team's own columns, then each opponent's cell and one letter of padding. When the page is
    # printed, the style shrinks the letters until so many fit the width.
    return CrosstableGrid(what, names, crosstable, letters=24 + len(teams) * (max(widest, 2) + 1))


def _legs(legs: Sequence[str], numbers: Sequence[int]) -> str:
    """Return the result of each match with its number; of many matches, the totals."""
    if len(legs) > MATCHES_NAMED:
        return f"{_counted(Counter(legs))} in matches {numbers[0]} to {numbers[-1]}"
    return ", ".join(f"{leg} in match {number}" for leg, number in zip(legs, numbers, strict=True))


# --- ratings ----------------------------------------------------------------------------------------------------


def _ratings_html(
    data: ReportData,
    event: ContestEvent,
    rows: Sequence[Standing],
    results: Sequence[Result],
    step: Step,
    kept: KeptParts,
) -> str:
    """Return the ratings of an event; "" if no team has one."""
    contest = data.contest
    teams = sorted((row.team, contest.team_name(row.team), name_with_status(contest, row)) for row in rows)
    games = [(*result.match.teams, result.winner, result.turns > 0) for result in results]

    def make() -> str:
        plots = _plots(data, event, games, step, kept)
        return environment().get_template("ratings.html.j2").render(ratings=plots) if plots else ""

    return kept.html((event.number, event.heading, contest.file.contest.seed, teams, games), make)


def _plots(
    data: ReportData, event: ContestEvent, games: Sequence[_Game], step: Step, kept: KeptParts
) -> Plots | None:
    ratings = ratings_of(data.tournament, event)
    rows = list(_rated(data.contest, ratings))
    if not rows:
        return None
    step()
    histories = _histories(data.contest, ratings, games, step, kept)
    title = f"{event.heading}: ratings"
    return Plots(
        table=_grid(f"event-{event.number}-ratings", "Ratings", ratings_table(data.tournament, event)),
        ratings=ratings_plot(rows, label=title),
        history=_history_plot(histories, f"{title} over time"),
        history_note=f"The {PLOTTED_TEAMS} highest rated of {len(histories)} teams."
        if len(histories) > PLOTTED_TEAMS
        else "",
    )


def _rated(contest: Contest, ratings: Ratings) -> Iterator[Rated]:
    """Yield the teams with a rating, each with the likelihood that it is stronger than the next one, if known."""
    for rating, lead in zip(ratings.table, ratings.leads, strict=True):
        if rating.elo is not None:
            unsure = lead is not None and UNSURE[0] < lead < UNSURE[1]
            yield Rated(contest.team_name(rating.team), rating.elo, lead, separable=not unsure)


def _histories(
    contest: Contest, ratings: Ratings, games: Sequence[_Game], step: Step, kept: KeptParts
) -> list[RatingHistory]:
    """Return the ratings over time, the team with the highest final rating first.

    A fit is used as soon as matches connect more than half of the teams, and only for those teams. 0 is the mean
    of the group, and the mean of a few teams that have only played each other says nothing about the others.
    """
    histories: dict[int, list[tuple[int, float]]] = {
        rating.team: [] for rating in ratings.table if rating.elo is not None
    }
    for played in _sampled(len(games), _fits(len(ratings.table))):
        counted = [(first, second, winner) for first, second, winner, has_turns in games[:played] if has_turns]
        group = kept.fit(counted, partial(largest_group, counted))
        for team, elo in group if 2 * len(group) > len(histories) else ():
            histories[team].append((played, elo))
        step()
    return [RatingHistory(contest.team_name(team), tuple(points)) for team, points in histories.items() if points]


def _sampled(matches: int, most: int) -> list[int]:
    """Return after how many matches the ratings are drawn, at most ``most`` times: after all, and each so many.

    The number of matches between two of them doubles as the contest goes on. So most of the fits of an earlier
    report are those of this one.
    """
    every = 1
    while every * most < matches:
        every *= 2
    return [*range(every, matches, every), matches]


def _fits(teams: int) -> int:
    return FITS if teams <= MANY_TEAMS else FITS_OF_MANY


def _history_plot(histories: Sequence[RatingHistory], label: str) -> HistoryPlot | None:
    if not any(len(history.points) > 1 for history in histories):
        return None
    return history_plot(histories[:PLOTTED_TEAMS], label=label)
