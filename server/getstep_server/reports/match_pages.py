"""The replay pages of all matches on record, and the addresses by which other pages link to them and to teams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

from getstep.replay import SCRIPT_FILE, STYLE_FILE, replay_data, replay_page, script, style
from getstep_server.records.game import GameRecord
from getstep_server.records.match import Match
from getstep_server.records.record import parse
from getstep_server.storage.store import Store, StoredRecord
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from .corrections import correction_facts
from .kept_parts import Page, digest_of
from .replays import SeenByRights, replay_of

MATCHES_LINKED = 12
"""The most other matches of the same two teams that a match's page links to: a sequential test has thousands."""

CountDone = Callable[[int, int], None]


@dataclass(frozen=True)
class Links:
    """The relative addresses of the pages that a report links to. Without any, the report links to nothing.

    Args:
        matches: the folder with the pages of matches, such as ``"matches/"``.
        teams: the folder with the pages of teams; "" if they have none.
        played: the numbers of the matches that have a page.
        orders: the files with all orders of a round, by event and round.
        programs: the teams and versions of published programs.
        pairs: the folder with the pages of two teams; "" if there are none.
        pairs_of: the team whose page this is: the names of its opponents lead to the pages of both; 0 on others.
    """

    matches: str = ""
    teams: str = ""
    played: Collection[int] = field(default=frozenset())
    orders: Mapping[tuple[int, int], str] = field(default_factory=dict)
    programs: Collection[tuple[int, int]] = ()
    pairs: str = ""
    pairs_of: int = 0

    def match(self, number: int) -> str:
        """Return the address of a match's page, or "" if it has none."""
        return f"{quote(self.matches)}{number}.html" if number in self.played else ""

    def team(self, number: int) -> str:
        """Return the address of a team's page, or "" if it has none."""
        if self.pairs_of not in (0, number):
            return self.pair(self.pairs_of, number)
        return f"{quote(self.teams)}{number}.html" if self.teams else ""

    def pair(self, team: int, other: int) -> str:
        """Return the address of the page of two teams, or "" if there is none."""
        return f"{quote(self.pairs)}{min(team, other)}-{max(team, other)}.html" if self.pairs else ""


def shared_files() -> Iterator[Page]:
    yield Page(SCRIPT_FILE, script)
    yield Page(STYLE_FILE, style)


def match_pages(
    store: Store,
    tournament: Tournament,
    games: Sequence[GameRecord],
    home: tuple[str, str],
    seen: SeenByRights,
    progress: CountDone = lambda *_: None,
) -> Iterator[Page]:
    """Yield the page of each match on record, with all its attempts.

    Its digest is that of the hashes of the match's records and of what comes from elsewhere: corrections, names in
    the title, links, and what the reader may see. So the turns of a match are read only if its page is made.

    Args:
        store: the records.
        tournament: for the corrections and the names.
        games: all games on record in this tournament, without turns.
        home: text and address of the page to go back to.
        seen: returns a record as the reader may see it, see `api.visibility`.
        progress: called with the number of records read, and of all of them.

    Raises:
        RecordError: a record does not have the form of a game's record.
    """
    pairs, contest = _by_teams(tournament), escape_control_chars(tournament.contest.name)
    attempts = Counter(match for match, _ in tournament.recorded)
    facts = {(game.match, game.attempt): tuple(correction_facts(tournament, game)) for game in games}
    waiting: defaultdict[int, list[StoredRecord]] = defaultdict(list)
    total = attempts.total()
    progress(0, total)
    done = 0
    for record in store.records():
        if record.place > tournament.place:  # a freeze hides it, or it was added while this ran
            break
        if record.number is None or record.number not in attempts:
            continue
        waiting[record.number].append(record)
        done += 1
        if len(waiting[record.number]) == attempts[record.number]:
            match = tournament.matches[record.number]
            # `pop`: the turns of a match stay in memory only until its last attempt was read.
            records = waiting.pop(match.number)
            title = f"Match {match.number}: {_versus(tournament, match)} – {contest}"
            links = [home, *_other_matches(tournament, match, pairs)]
            read = [
                (one.hash, seen.rights(match.number, number), facts.get((match.number, number)))
                for one in records
                for number in [one.attempt or 0]
            ]
            make = partial(_page, records, tournament, seen, title, links)
            yield Page(f"{match.number}.html", make, digest_of(title, links, read))
        progress(done, total)


def _page(
    records: Sequence[StoredRecord],
    tournament: Tournament,
    seen: SeenByRights,
    title: str,
    links: Sequence[tuple[str, str]],
) -> str:
    replays = [replay_of(seen(parse(record.line)), tournament) for record in records]
    return replay_page(replay_data(replays, title=title, links=links), assets="")


def _versus(tournament: Tournament, match: Match) -> str:
    return escape_control_chars(" – ".join(map(tournament.contest.team_name, match.teams)))


def _by_teams(tournament: Tournament) -> dict[tuple[int, frozenset[int]], list[int]]:
    """Return the numbers of the matches on record by event and pair of teams."""
    pairs: defaultdict[tuple[int, frozenset[int]], list[int]] = defaultdict(list)
    for number in sorted({number for number, _ in tournament.recorded}):
        match = tournament.matches[number]
        pairs[match.event, frozenset(match.teams)].append(number)
    return pairs


def _other_matches(
    tournament: Tournament, match: Match, pairs: Mapping[tuple[int, frozenset[int]], list[int]]
) -> Iterator[tuple[str, str]]:
    """Yield text and address of the other matches of the same two teams in this event, the nearest ones."""
    numbers = pairs[match.event, frozenset(match.teams)]
    at = numbers.index(match.number)
    first = max(0, min(at - MATCHES_LINKED // 2, len(numbers) - MATCHES_LINKED - 1))
    for number in numbers[first : first + MATCHES_LINKED + 1]:
        if number != match.number:
            yield f"match {number}: {_versus(tournament, tournament.matches[number])}", f"{number}.html"
