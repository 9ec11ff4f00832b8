"""Round robin: every two teams meet, once or more often."""

from __future__ import annotations

from collections.abc import Sequence

from ._table import Table, TableFormat, TableOptions


class RoundRobin(TableFormat[TableOptions]):
    """Every two teams meet ``legs`` times, colours swapped each time: 1 is a single round robin, 2 a double one.

    The rounds are those of the Berger tables, the seats in them drawn from the seed. With an even number of legs
    everybody is first as often as second; else once more often the one or the other.

    - An odd number of teams: the one without an opponent in a round is just free. That is no bye: it counts for
      nothing.
    - A late team meets everybody else, in rounds after those given out; with an odd number of legs, each late team
      may add one to a team's difference of colours.
    - A team that withdraws gets no further games; those given out are the caller's to cancel or to forfeit.
    - A cancelled game is not given out again. Equal points in a game, or none, change nothing.
    """

    name = "round_robin"
    title = "round robin"
    Options = TableOptions

    def meetings(self, teams: int) -> int:
        return teams * (teams - 1) // 2

    def table(self, teams: Sequence[int]) -> Table:
        return berger(self.in_drawn_order(teams))


def berger(order: Sequence[int]) -> Table:
    """The Berger table: rounds in which every team meets every other once, as FIDE publishes them (handbook, C.05).

    The last team keeps its seat, the others move on by half the table; with an odd number of teams the last seat is
    empty. Each team's first and second places differ by at most one, by none if the number of teams is odd.

    Args:
        order: the teams with the numbers 1, 2, … of the published table; at least two, none twice.
    """
    ring: list[int | None] = list(order)
    last = None if len(ring) % 2 else ring.pop()
    half, rounds = (len(ring) + 1) // 2, []
    for index in range(len(ring)):
        pairs = [(last, ring[0]) if index % 2 else (ring[0], last)]
        pairs += [(ring[place], ring[-place]) for place in range(1, half)]
        rounds.append([(first, second) for first, second in pairs if first is not None and second is not None])
        ring = ring[half:] + ring[:half]
    return rounds
