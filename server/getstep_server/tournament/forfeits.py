"""The no-show rule: the forfeit of an absent team is provisional, and the match is played if the team arrives.

A forfeit becomes final when a later round depends on it, and when a team has missed one match too often. With
``no_show = "final"`` in contest.toml all forfeits are final; each record of pairings states the setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from getstep_server.formats import FORMATS, Pairing
from getstep_server.limits import NO_SHOWS_UNTIL_FINAL
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason
from getstep_server.records.record import RecordError
from getstep_server.records.result import PLAYERS, Result

PROVISIONAL, FINAL = "provisional", "final"
"""The values of ``no_show`` in a record of pairings. Earlier versions wrote none: forfeits were final."""


def no_shows(result: Result) -> list[int]:
    """Return the teams whose absence decided a match."""
    if result.reason != Reason.NO_SHOW:
        return []
    return [result.match.teams[player] for player in PLAYERS if result.outcome_for(player) == "loss"]


class Forfeits:
    def __init__(self) -> None:
        self.no_show = FINAL
        """`PROVISIONAL` or `FINAL`, by the latest record of pairings."""
        self._format = ""
        self._matches: dict[int, dict[int, Match]] = {}  # by the team that did not come, then by number
        self._no_shows: Counter[int] = Counter()  # by match: attempts that a team did not come to
        self._latest_round = 0
        self._latest_round_of: dict[int, int] = {}

    @property
    def teams(self) -> list[int]:
        """The teams that have matches to play after all if they arrive."""
        return [team for team, matches in self._matches.items() if matches]

    def of(self, team: int) -> list[int]:
        """Return the numbers of the matches that ``team`` has forfeited and may still play, in ascending order."""
        return sorted(self._matches.get(team, ()))

    def has(self, team: int, number: int) -> bool:
        """Return True if ``team`` may still play the match with this number, which it has forfeited."""
        return number in self._matches.get(team, ())

    def note_pairings(self, head: Mapping[str, Any], pairings: Iterable[Pairing]) -> None:
        """Note a record of pairings: its ``head``, and the new ``pairings``. Some forfeits become final.

        Raises:
            RecordError: a round is not a number.
        """
        self.no_show, self._format = str(head.get("no_show", FINAL)), str(head.get("format"))
        try:
            for pairing in pairings:
                self._latest_round = max(self._latest_round, pairing.round)
                self._latest_round_of.update(dict.fromkeys(pairing.teams, pairing.round))
        except TypeError as error:
            raise RecordError(f"a record of pairings that cannot be read: {error!r}") from error
        for matches in self._matches.values():
            self._drop(matches, [number for number, match in matches.items() if self._is_final(match)])

    def note_result(self, result: Result) -> None:
        """Note the end of an attempt that counts."""
        if result.reason != Reason.NO_SHOW:
            return
        match = result.match
        self._no_shows[match.number] += 1
        if not self._is_final(match):
            for team in no_shows(result):
                self._matches.setdefault(team, {})[match.number] = match

    def remove(self, numbers: Collection[int]) -> None:
        """Note that matches no longer have the result that was a forfeit, if they had one."""
        for matches in self._matches.values():
            self._drop(matches, matches.keys() & set(numbers))

    def _drop(self, matches: dict[int, Match], numbers: Iterable[int]) -> None:
        for number in numbers:
            del matches[number]

    def _is_final(self, match: Match) -> bool:
        if self.no_show != PROVISIONAL or self._no_shows[match.number] >= NO_SHOWS_UNTIL_FINAL:
            return True
        settles = FORMATS[self._format].settles if self._format in FORMATS else None
        if settles == "round":
            return match.round < self._latest_round
        return settles == "teams" and any(match.round < self._latest_round_of[team] for team in match.teams)
