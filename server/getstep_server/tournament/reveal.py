"""The reveal: shows the results that a freeze has hidden one by one, from the bottom of the table.

Theory of operation
-------------------

There are two projections of the same records: ``frozen``, of the records before the freeze, and ``final``, of all.
A match is *hidden* if its result differs between the two. Between them lies a tournament for each set of hidden
matches: it has the final results of all other matches, and the frozen results of these. `PartialTournament` is that
one. Its tables and tie-breaks are computed as everywhere, so the last step gives the final tables.

Pairings that were issued after the freeze would tell the results that they follow from: the final of a knockout
names the winners of the semifinals. So the pairings of a round are shown when nothing is hidden in the earlier
rounds of the event. Decisions of the host about teams, and changed settings, are shown from the first step on.

The next result is the earliest match of the lowest team in the main table that has one to show. The order depends
on nothing but the records and the matches that were revealed before. So a reveal can be interrupted at any step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from getstep_server.records.match import Match

from .combined import Combined
from .event_state import EventState
from .standings import Standing
from .tournament import Tournament


class PartialTournament(Tournament):
    """A tournament without the new results of some matches: for tables, not for further records.

    Args:
        frozen: the state at the freeze.
        final: the state after all records.
        hidden: the numbers of the matches with the results that they had in ``frozen``.
    """

    def __init__(self, frozen: Tournament, final: Tournament, hidden: Collection[int]) -> None:
        # The private parts are those of its own class: another `Tournament` that shares what it does not change.
        super().__init__(final.settings.files)
        self.settings, self.place, self._statuses = final.settings, final.place, final._statuses
        counts = {event: self._shown(state, frozen.issued(event), hidden) for event, state in final._events.items()}
        entries = [entry for event, count in counts.items() for entry in final._events[event].issued[:count]]
        self.matches = {entry.match.number: entry.match for entry in entries if entry.match is not None}
        for number, match in self.matches.items():
            if result := (frozen if number in hidden else final).played_result(match):
                self._results[number] = result
        for event, state in final._events.items():
            head = state.head if counts[event] == len(state.issued) else frozen._state(event).head
            self._events[event] = state.showing(head, counts[event], self._results, self._statuses)

    @staticmethod
    def _shown(state: EventState, known: int, hidden: Collection[int]) -> int:
        """Return how many pairings of an event are shown: no round that follows from a hidden result.

        Args:
            state: the event after all records.
            known: how many of its pairings were issued before the freeze.
            hidden: the numbers of the hidden matches.
        """
        found, round_ = False, 0
        for place, entry in enumerate(state.issued):
            if place >= known and entry.pairing.round != round_ and found:
                return place
            found = found or (entry.match is not None and entry.match.number in hidden)
            round_ = entry.pairing.round
        return len(state.issued)


class Reveal:
    """The results that are still hidden, and the tournament without them.

    Args:
        frozen: the state at the freeze.
        final: the state after all records.
        revealed: the numbers of the matches that were revealed before.
    """

    def __init__(self, frozen: Tournament, final: Tournament, revealed: Iterable[int] = ()) -> None:
        self._frozen = frozen
        self._final = final
        known = set(revealed)
        hidden = [match for match in final.matches.values() if self._is_hidden(match)]
        self.hidden = {match.number: match for match in hidden if match.number not in known}
        """The matches whose results are still hidden, by number."""
        self.revealed = [match.number for match in hidden if match.number in known]
        """The numbers of the matches that were revealed, the latest one last."""
        self.tournament: Tournament = PartialTournament(frozen, final, self.hidden)
        """The tournament without the hidden results."""

    def _is_hidden(self, match: Match) -> bool:
        """Return True if spectators do not know the result; an annulled one is worth no step."""
        result = self._final.played_result(match)
        changed = result is not None and result != self._frozen.played_result(match)
        return changed and not self._final.is_cancelled(match)

    @property
    def rows(self) -> Sequence[Standing | Combined]:
        """The rows of the main table: of all events together, or of the only one."""
        tables = self.tournament.tables()
        return tables.combined or tables.events[1]

    @property
    def hidden_by_team(self) -> Counter[int]:
        """The number of hidden results of each team, as far as their pairings are shown."""
        return Counter(team for match in self._shown_hidden() for team in match.teams)

    def next_team(self) -> int | None:
        """Return the lowest team with a hidden result; None if nothing is hidden."""
        hidden = self.hidden_by_team
        return next((row.team for row in reversed(self.rows) if hidden[row.team]), None)  # from the last place up

    def next_match(self) -> Match | None:
        """Return the match whose result is revealed next; None if nothing is hidden."""
        team = self.next_team()
        matches = (match for match in self._shown_hidden() if team in match.teams)
        return min(matches, key=lambda match: match.number, default=None)

    def step(self) -> Match | None:
        """Reveal the next result, and return its match; None if nothing is hidden."""
        match = self.next_match()
        if match is not None:
            self._reveal([match])
        return match

    def step_team(self) -> list[Match]:
        """Reveal the hidden results of the lowest team that has some, and return their matches."""
        team = self.next_team()
        matches = [match for match in self._shown_hidden() if team in match.teams]
        self._reveal(matches)
        return matches

    def finish(self) -> list[Match]:
        """Reveal all results that are left, and return their matches."""
        matches = list(self.hidden.values())
        self._reveal(matches)
        return matches

    def _reveal(self, matches: Sequence[Match]) -> None:
        for match in matches:
            del self.hidden[match.number]
            self.revealed.append(match.number)
        self.tournament = PartialTournament(self._frozen, self._final, self.hidden)

    def _shown_hidden(self) -> list[Match]:
        """Return the hidden matches whose pairings are shown."""
        return [match for number, match in self.hidden.items() if number in self.tournament.matches]
