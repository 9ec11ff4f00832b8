"""A contest as static pages: the report as the front page, pages of each team and each two, a replay of each match.

All links are relative, so the pages work from a disk, from any folder of a web server, and without a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from getstep_server.config.contest import Contest
from getstep_server.records.match import Match
from getstep_server.storage.store import Store
from getstep_server.tournament.combined import as_shown
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament

from .kept_parts import KeptParts, Page, digest_of
from .linkage_orders import order_files, order_texts
from .match_list import HINTS, match_list
from .match_pages import CountDone, Links, match_pages, shared_files
from .programs import PROGRAMS, published_files
from .replays import SeenByRights
from .report import Grid, ReportData, as_html, environment
from .tables import points_column, rank_text
from .team_pair import PARTS, PARTS_HINT, pair_events

MATCHES, TEAMS, PAIRS = "matches/", "teams/", "pairs/"


@dataclass(frozen=True, slots=True)
class TeamEvent:
    name: str
    facts: Sequence[tuple[str, str]]
    matches: Grid | None


@dataclass(frozen=True, slots=True)
class TeamSitePage:
    name: str
    contest: str
    home: str
    events: Sequence[TeamEvent]


def site_pages(
    data: ReportData,
    store: Store,
    seen: SeenByRights,
    progress: CountDone = lambda *_: None,
    kept: KeptParts | None = None,
) -> Iterator[Page]:
    """Yield each file of a contest's site.

    Args:
        data: from `load_report_data`.
        store: the records.
        seen: returns a record as spectators may see it, see `api.visibility`.
        progress: called with the number of steps done and of all steps; a step is a match, or a fit of ratings.
        kept: the parts of the front page that was made before; None makes all of them.
    """
    played = {number for number, _ in data.tournament.recorded}
    programs = published_files(data.contest, data.tournament.decisions)
    links = Links(MATCHES, TEAMS, played, order_files(data.tournament), programs, PAIRS)
    yield Page("index.html", partial(as_html, replace(data, links=links), kept=kept))
    for name, text in order_texts(data.tournament, store):
        yield Page(name, partial(str, text))
    for path in programs.values():
        yield Page(f"{PROGRAMS}{path.name}", path.read_bytes)
    from_team_page = Links(f"../{MATCHES}", "./", played, pairs=f"../{PAIRS}")
    for team in sorted({*data.contest.teams, *data.contest.former_names}):
        yield _page(f"{TEAMS}{team}.html", _team_page(data, team, replace(from_team_page, pairs_of=team)))
    for (team, other), page in _pair_pages(data, store, seen, Links(f"../{MATCHES}", f"../{TEAMS}", played)):
        yield _page(f"{PAIRS}{team}-{other}.html", page)
    home = (data.contest.name, "../index.html")
    matches = match_pages(store, data.tournament, data.games, home, seen, progress)
    for file in chain(shared_files(), matches):
        yield replace(file, name=f"{MATCHES}{file.name}")


def _page(name: str, page: TeamSitePage) -> Page:
    return Page(name, partial(environment().get_template("team.html.j2").render, page=page), digest_of(page))


def without_hidden(data: ReportData, contest: Contest, store: Store) -> ReportData:
    """Return the data of a contest without what a freeze hides: all later records, and the incidents.

    Args:
        data: from `load_report_data`.
        contest: the contest as its files state it.
        store: the records.
    """
    place = data.tournament.frozen_at
    if place is None:
        return data
    heads = store.record_headers()[:place]
    tournament = Tournament(contest, heads)
    return replace(
        data,
        contest=tournament.contest,
        tournament=tournament,
        records=place,
        head=next(record.hash for record in store.records() if record.place == place),
        games=data.games[: sum(fields.get("type") == "game" for fields in heads)],
        incidents=[],
        frozen=True,
    )


def _team_page(data: ReportData, team: int, links: Links) -> TeamSitePage:
    return TeamSitePage(
        name=data.contest.team_name(team),
        contest=data.contest.name,
        home="../index.html",
        events=list(_events(data, team, links)),
    )


def _pair_pages(
    data: ReportData, store: Store, seen: SeenByRights, links: Links
) -> Iterator[tuple[tuple[int, int], TeamSitePage]]:
    """Yield the page of each two teams with a match that is over, by their ids, the lower one first."""
    tournament = data.tournament
    pairs: dict[tuple[int, int], list[Match]] = {}
    for match in tournament.matches.values():
        one, other = match.teams
        pairs.setdefault((min(one, other), max(one, other)), []).append(match)
    for teams, matches in pairs.items():
        found = pair_events(tournament, store, teams[0], matches, links, tournament.place, seen)
        events = [
            TeamEvent(
                event.name,
                event.facts,
                Grid(f"matches-{n}", "Matches", event.columns, hints={**HINTS, PARTS: PARTS_HINT}),
            )
            for n, event in enumerate(found)
        ]
        if events:
            name = " – ".join(map(data.contest.team_name, teams))
            yield teams, TeamSitePage(name=name, contest=data.contest.name, home="../index.html", events=events)


def _events(data: ReportData, team: int, links: Links) -> Iterator[TeamEvent]:
    tables = data.tournament.tables()
    for event in data.contest.events:
        row = next((row for row in as_shown(tables.events[event.number]) if row.team == team), None)
        matches = [
            match
            for match in data.tournament.matches.values()
            if match.event == event.number and team in match.teams
        ]
        if row is None and not matches:
            continue
        points = points_column(event, [row]) if row is not None else None
        facts = (
            [] if row is None or points is None else [("rank", rank_text(row)), (points.heading, points.cells[0])]
        )
        yield TeamEvent(event.heading, [*facts, *_facts(row)], _matches(data, event.number, matches, links))


def _facts(row: Standing | None) -> Iterator[tuple[str, str]]:
    if row is not None:
        for name in ("played", "won", "drawn", "lost"):
            yield name, str(getattr(row, name))
        if row.status:
            yield "status", row.status


def _matches(data: ReportData, event: int, matches: Sequence[Match], links: Links) -> Grid | None:
    table = match_list(data.tournament, matches, links)
    return Grid(f"event-{event}-matches", "Matches", table.columns, hints=HINTS) if table.columns[0].cells else None
