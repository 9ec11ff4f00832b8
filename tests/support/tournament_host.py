"""A tournament whose results are made up, and the checks that hold for each."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from getstep_engines import Player
from getstep_server.config.contest import Contest, Team
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.game import game_header, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.reasons import VoidReason
from getstep_server.records.record import parse
from getstep_server.records.result import Result
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import token_of

SWISS = {"game": "hop", "format": "swiss", "settings": {"rounds": 3, "legs": 1}}
LADDER: dict[str, Any] = {"game": "linkage", "format": "ladder", "settings": {"rounds": 3, "games": 2}}
KNOCKOUT = {"game": "hop", "format": "knockout", "settings": {"best_of": 1}}


def result_of(match: Match, *, strong: int | None = None, reason: str = "finished", attempt: int = 1) -> Result:
    """Return the result of a match that the lower id wins, or the ``strong`` team."""
    best = strong if strong in match.teams else min(match.teams)
    winner: Player | None = None if reason == VoidReason.SERVER_FAULT else (0 if match.first == best else 1)
    scores = None if winner is None else ((7, 5) if winner == 0 else (5, 7))
    return Result(match, winner, reason, "", scores, 9, (0.5, 0.25), (0, 0), 1.7e9, 1.0, attempt)


class Host:
    """A host that issues the next pairings, plays them at once, and keeps the records."""

    def __init__(self, contest: Contest, records: list[dict[str, Any]] | None = None) -> None:
        self.contest = contest
        self.records = records if records is not None else []
        self.tournament = Tournament(contest, self.records)

    def issue_pairings(self) -> list[Match]:
        new = []
        for number in sorted(self.tournament.due):
            self.tournament.due.remove(number)
            fields = self.tournament.next_pairings(self.contest.event(number), self.contest.teams)
            if fields is not None:
                self.records.append(fields)
                new += self.tournament.apply_pairings(fields)
        return new

    def play(self, match: Match, **how: Any) -> None:
        result = result_of(match, **how)
        head = game_header(self.contest, match, result.attempt, result.started)
        self.records.append(parse(record_of_game(head, result).header))
        self.tournament.apply_result(result)

    def play_all(self) -> None:
        self.issue_pairings()
        while matches := self.tournament.open():
            for match in matches:
                self.play(match)
            self.issue_pairings()


def with_teams(contest: Contest, *teams: int) -> Contest:
    """Return the same contest with another teams.toml."""
    return replace(contest, teams={n: Team(id=n, name=f"Team {n}", token=token_of(n)) for n in teams})


def assert_it_can_be_made_again(host: Host) -> None:
    """Read from its records it is the same, and every record of pairings is what was due just there."""
    again = Tournament(host.contest)
    for fields in host.records:
        if fields["type"] == "pairings":
            assert again.pairings(fields) == fields["matches"]
        again.apply(fields)
    for event in host.contest.events:  # of which `again` made only a part anew after each record
        one, other = again._state(event.number), Tournament(host.contest, host.records)._state(event.number)
        assert one.history(event.scoring, event.teams) == other.history(event.scoring, event.teams)
    assert again.tables() == host.tournament.tables()
    assert again.results == host.tournament.results
    assert again.matches == host.tournament.matches


AT = "2024-10-05T14:30:00.000Z"
WHY = "it was agreed so"


class DecidingHost(Host):
    """A host that makes decisions as well."""

    def decide(self, kind: Any, **about: Any) -> None:
        decision = Decision(kind=kind, by="Grace", why=WHY, at=AT, **about)
        self.tournament.apply_decision(decision)
        self.records.append(parse(record_of_decision(self.contest, decision).header))

    def play_some(self, *teams: int) -> None:
        """Play what is open between these teams, or all of it."""
        for match in self.tournament.open():
            if not teams or set(match.teams) <= set(teams):
                self.play(match, attempt=self.tournament.attempts[match.number] + 1)

    def rows(self) -> dict[int, Standing]:
        return {row.team: row for row in self.tournament.table(self.contest.events[0])}

    def order(self) -> list[int]:
        return [row.team for row in self.tournament.table(self.contest.events[0])]
