"""The page of two teams: where their games part."""

from __future__ import annotations

from getstep_server.reports.team_pair import _parting


def test_a_game_parts_from_the_earlier_one_that_it_follows_longest() -> None:
    games = [
        (1, "black", ["a", "b", "c"]),
        (2, "white", ["a", "b", "c"]),
        (4, "black", ["a", "x", "c"]),
        (5, "black", ["a", "x", "y"]),
        (6, "black", ["a", "b", "c"]),
        (7, "black", ["a", "b"]),
        (8, "white", ["z"]),
    ]
    assert dict(_parting(games)) == {4: (1, 2), 5: (4, 3), 6: (1, 0), 7: (1, 3), 8: (2, 1)}
