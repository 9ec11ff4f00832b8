"""An option with a range, such as the original's board sizes: drawn for each pair of matches, and on record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from getstep.wire import Start
from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.programs.adding import _games_of
from getstep_server.records.pairings import pairings_in
from getstep_server.records.record import RecordError
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError, verify
from tests.support.contests import make_contest
from tests.support.played_contests import play_six_of_tonga
from tests.support.random_results import make_up
from tests.support.servers import connected, running, seated
from tests.support.tampering import Forged

SIZES = set(range(6, 17, 2))
EVENT = {"game": "pseudo_tonga", "options": {"size": "6-16"}}
NAMES = ["Ada", "Blaise", "Charles", "Dora"]
FORMATS: dict[str, Mapping[str, Any]] = {
    "round_robin": {"legs": 4},
    "swiss": {"rounds": 3, "legs": 2},
    "knockout": {"best_of": 4},
    "ladder": {"rounds": 3, "games": 4},
    "gauntlet": {"challengers": [1, 2], "legs": 2},
}


@pytest.mark.parametrize("format_", FORMATS)
def test_two_matches_with_swapped_colours_have_the_same_size(tmp_path: Path, format_: str) -> None:
    event = {**EVENT, "format": format_, "settings": FORMATS[format_]}
    matches = tournament_of(make_up(tmp_path / "a", [event], NAMES)).matches.values()
    found: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]] = {}
    for match in matches:
        found.setdefault((match.pairing, (match.leg + 1) // 2), []).append((match.options["size"], match.teams))
    pairs = [pair for pair in found.values() if len(pair) == 2]
    assert len(pairs) > 3
    for (size, teams), (other_size, other_teams) in pairs:
        assert size == other_size
        assert teams == other_teams[::-1]
    assert len({pair[0][0] for pair in pairs}) > 1, "drawn for each pair, not once"
    assert {match.options["size"] for match in matches} <= SIZES


def test_the_seed_decides(tmp_path: Path) -> None:
    def sizes(folder: str, seed: int) -> list[int]:
        contest = make_up(tmp_path / folder, [EVENT, {**EVENT, "name": "again"}], NAMES, seed=seed)
        return [match.options["size"] for match in tournament_of(contest).matches.values()]

    assert sizes("a", 1) == sizes("b", 1) != sizes("c", 2)
    assert sizes("a2", 1)[:12] != sizes("a3", 1)[12:], "each event draws anew"


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    return play_six_of_tonga(tmp_path_factory.mktemp("played") / "tonga", size="6-10")


def test_the_drawn_sizes_are_on_record_played_and_verified(contest: Contest) -> None:
    with Store(contest.database) as store:
        assert verify(contest, store).played == 6
        records = [json.loads(line) for line in store.lines()]
    (settings, pairings), games = records[:2], records[2:]
    assert settings["events"][0]["options"] == pairings["options"] == {"size": "6-10"}
    drawn = {entry["number"]: entry["options"] for entry in pairings["matches"]}
    assert {game["match"]: game["options"] for game in games} == drawn
    assert len({options["size"] for options in drawn.values()}) > 1
    for game in games:
        assert len(game["turns"]) == game["options"]["size"] ** 2


def test_another_size_than_the_drawn_one_is_found(contest: Contest, forged: Forged) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["matches"][0]["options"]["size"] ^= 14  # 6 and 8, or 10 and 4

    forged.head(2, change).reseal()
    with Store(forged.path) as store, pytest.raises(VerifyError):
        verify(contest, store)


def test_a_match_of_a_range_needs_its_options(contest: Contest) -> None:
    with Store(contest.database) as store:
        fields = json.loads(next(line for line in store.lines() if b'"pairings"' in line))
    assert len(pairings_in(fields)) == 6
    del fields["matches"][3]["options"]
    with pytest.raises(RecordError, match="match 4 has no options"):
        pairings_in(fields)


async def test_a_team_is_told_the_ends_of_the_range_and_then_its_size(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, event=EVENT)
    async with running(contest) as server, seated(server.port, 2), connected(server.port) as player:
        assert [game["options"] for game in (await player.login(1)).games] == [{"size": 6}, {"size": 16}]
        assert (await player.expect(Start)).options["size"] in SIZES


def test_a_program_tries_the_smallest_and_the_largest_board(tmp_path: Path) -> None:
    games = _games_of(make_contest(tmp_path, event=EVENT), 1)
    assert [game.options for game in games] == [{"size": 6}, {"size": 16}]


@pytest.mark.parametrize(
    "setting", ["6", "6-", "-16", "6-16-", "6 - 16", "8-6", "5-16", "6-15", "6-18", 7, None, 6.0, True]
)
def test_what_is_no_range_is_refused(setting: object) -> None:
    with pytest.raises(
        ValueError, match=r'expected a whole number from 6 to 16 in steps of 2, or a range such as "6-16"$'
    ):
        GAMES["pseudo_tonga"].values({"size": setting})


def test_a_range_of_one_value_is_that_value() -> None:
    assert GAMES["pseudo_tonga"].draw({"size": "8-8"}, lambda: pytest.fail("nothing to draw")) == {"size": 8}
