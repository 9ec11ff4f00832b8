"""Round robin: every two teams play each other, once or more often."""

from __future__ import annotations

from collections.abc import Sequence

from ._table import Table, TableFormat, TableOptions


class RoundRobin(TableFormat[TableOptions]):
    """Every two teams play ``legs`` times, colours swapped each time: 1 is a single round robin, 2 a double one.

    The rounds are those of the Berger tables; the teams' numbers in them are drawn from the seed. With an even
    number of legs each team is first as often as second; with an odd number the two differ by one.

    - With an odd number of teams, one has no opponent in each round. That is not a bye: it counts for nothing.
    - A late team plays all others, in rounds after the issued ones. With an odd number of legs, each late team may
      add one to a team's difference of colours.
    - A team that withdraws gets no further matches; the caller cancels or forfeits the issued ones.
    - A cancelled match is not issued again. Equal points in a match, or none, change nothing.
    """

    name = "round_robin"
    title = "round robin"
    late_team = "plays all others, in rounds after the issued ones"
    Options = TableOptions

    def pair_count(self, teams: int) -> int:
        return teams * (teams - 1) // 2

    def table(self, teams: Sequence[int]) -> Table:
        return berger(self.in_drawn_order(teams))


def berger(order: Sequence[int]) -> Table:
    """Return the Berger table: rounds in which every team plays every other once (FIDE handbook, C.05).

    The last team keeps its seat, the others move on by half the table; with an odd number of teams the last seat is
    empty. Each team's first and second places differ by at most one, by none if the number of teams is odd.

    Args:
        order: the teams with the numbers 1, 2, … of the published table; at least two, none twice.
    """
    ring: list[int | None] = list(order)
    last = None if len(ring) % 2 else ring.pop()  # None is the empty seat: its opponent has no match in the round
    half, rounds = (len(ring) + 1) // 2, []
    for index in range(len(ring)):
        # the last team changes its colour in each round
        pairs = [(last, ring[0]) if index % 2 else (ring[0], last)]
        pairs += [(ring[place], ring[-place]) for place in range(1, half)]
        rounds.append([(first, second) for first, second in pairs if first is not None and second is not None])
        ring = ring[half:] + ring[:half]
    return rounds
