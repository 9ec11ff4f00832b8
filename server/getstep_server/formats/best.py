"""Best of several: every two teams play pairs of matches; a team that a test finds weaker plays no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from msgspec import Meta

from getstep.sprt import DEFAULTS, MAX_ELO, Selection

from ._format import Format, Pairing, Played, last_round
from .duel import MOST_AT_ONCE, MOST_PAIRS, AgreementOptions, Error, pair_outcomes, pairs_of
from .round_robin import berger


class BestOptions(AgreementOptions, frozen=True, kw_only=True):
    """The sequential search: see `Selection`."""

    pairs: Annotated[int, Meta(ge=1, le=MOST_PAIRS, description="pairs of matches of every two teams, at most")] = (
        1000
    )
    at_once: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE, description="pairs that are issued at the same time")] = 1
    elo: Annotated[
        float, Meta(gt=0, le=MAX_ELO, description="the Elo difference that matters: smaller ones take more matches")
    ] = DEFAULTS["elo1"]
    alpha: Annotated[Error, Meta(description="the probability that the best team is eliminated")] = DEFAULTS[
        "alpha"
    ]


class Search(NamedTuple):
    """A search with all rounds that are over; ``left`` are the two teams of each pair to issue in the next one."""

    selection: Selection
    left: list[tuple[int, int]]

    @property
    def rounds(self) -> int:
        return self.selection.rounds


class Best(Format[BestOptions]):
    """Every two of the remaining teams play a pair of matches in each round, colours swapped within a pair.

    After each round, the teams that a test finds weaker than another remaining team are eliminated. The event is
    over when one team is left, and after ``pairs`` rounds.

    - A late team takes part if it comes before the second round.
    - A team that withdraws plays no more. The caller cancels or forfeits the issued matches.
    - A pair with a cancelled match counts for nothing. A match in which both have the same points is a draw.
    """

    name = "best"
    title = "best of several"
    Options = BestOptions
    pairs_after_each_result = True
    pair_in_thread = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        pairs = pairs_of(games)
        search = self.search(teams, games)
        if search is None or search.rounds == self.options.pairs:
            return []
        being_played = sum(any(game.open for game in pair) for pair in pairs)
        left = search.left[: max(0, self.options.at_once - being_played)]
        return [
            Pairing(search.rounds + 1, number, leg, *players)
            for number, (one, other) in enumerate(left, start=len(pairs) + 1)
            for leg, players in enumerate(((one, other), (other, one)), start=1)
        ]

    def max_matches(self, teams: int) -> int:
        return teams * (teams - 1) * self.options.pairs

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        """Return equal places for teams that were eliminated in the same round; those that remain are first."""
        search = self.search(teams, games) if games else None
        if search is None:
            return {}
        remaining = dict.fromkeys(search.selection.remaining, MOST_PAIRS + 1)
        lasted = dict.fromkeys(teams, 0) | search.selection.eliminated | remaining  # late ones are last
        return {team: 1 + sum(other > lasted[team] for other in lasted.values()) for team in teams}

    def search(self, teams: Sequence[int], games: Sequence[Played]) -> Search | None:
        """Return the search with the rounds that are over; None while fewer than two teams take part.

        A match of an early round that is played again stops the search there, until it is over.
        """
        last, here = last_round(games), {*teams}
        playing = {team for game in games if game.pairing.round == 1 for team in game.pairing.teams}
        bots = sorted(playing if last > 1 else playing | here)
        if len(bots) < 2:
            return None
        rounds: dict[int, dict[tuple[int, ...], list[Played]]] = {}
        for pair in pairs_of(games):
            rounds.setdefault(pair[0].pairing.round, {})[pair[0].pairing.teams] = pair
        selection = Selection(bots, self.options.elo, self.options.alpha)
        while True:
            number = selection.rounds + 1
            played = rounds.get(number, {})
            left = [two for two in _in_turn(selection) if two not in played and here.issuperset(two)]
            is_open = any(game.open for pair in played.values() for game in pair)
            if number >= last and (left or is_open or not played):
                return Search(selection, left)
            if is_open:
                return Search(selection, [])
            outcomes = {(one, other): pair_outcomes(played[one, other], one) for one, other in played}
            selection.add_round({two: outcome for two, outcome in outcomes.items() if outcome is not None})


def _in_turn(selection: Selection) -> list[tuple[int, int]]:
    """Return the two bots of each pair of the next round, so that a bot rests between its pairs if it can."""
    if not selection.couples:
        return []
    return [(min(two), max(two)) for row in berger(selection.remaining) for two in row]
