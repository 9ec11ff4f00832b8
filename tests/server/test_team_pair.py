"""The page of two teams: where their games part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from getstep.tags import MOST_ROWS, MOST_TAGS, results_by_tag, tags_of
from getstep_server.config.contest import database_path, load_contest
from getstep_server.reports.match_pages import Links
from getstep_server.reports.team_pair import _parting, pair_events
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament
from tests.old_contests.contests import unpack
from tests.support.site import STORED


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


def test_the_results_by_tag_are_those_that_the_reader_may_see(tmp_path: Path) -> None:
    unpack(STORED, tmp_path / "finished")
    contest = load_contest(tmp_path / "finished")

    def noted(fields: Mapping[str, Any]) -> dict[str, Any]:
        turns = [{**turn, "notes": {"tags": [f"by-{turn['player']}"]}} for turn in fields["turns"]]
        return {**fields, "turns": turns}

    with Store(database_path(tmp_path / "finished"), reading=True) as store:
        tournament = Tournament(contest, store.record_headers())
        matches = [match for match in tournament.matches.values() if set(match.teams) == {1, 2}]
        links = Links("/match/", "/team/", {number for number, _ in tournament.recorded})
        facts = dict(pair_events(tournament, store, 1, matches, links, None, noted)[0].facts)
        plain = dict(pair_events(tournament, store, 1, matches, links, None, lambda fields: fields)[0].facts)
    one, other = (tournament.contest.team_name(team) for team in (1, 2))
    roles = [text for what, text in plain.items()]
    assert [facts[f"{one} where {one} noted the tag by-{player}"] for player in (0, 1)] == roles
    assert [facts[f"{one} where {other} noted the tag by-{player}"] for player in (1, 0)] == roles
    assert not any("tag" in what for what in plain)


def test_tags_are_counted_up_to_a_bound() -> None:
    assert tags_of([None, {}, {"tags": ["a", "b"]}, {"tags": ["b", "c"]}]) == ("a", "b", "c")
    assert len(tags_of([{"tags": [str(n)]} for n in range(99)])) == MOST_TAGS
    matches = [(("a", "b"), "win"), (("a",), "draw"), (("a",), "loss"), ((), "loss")]
    assert [(one.tag, str(one)) for one in results_by_tag(matches)] == [
        ("a", "1 won, 1 drawn, 1 lost (50 % [13, 87])"),
        ("b", "1 won, 0 drawn, 0 lost (100 % [21, 100])"),
    ]
    assert len(results_by_tag([((str(n),), "win") for n in range(99)])) == MOST_ROWS
