"""Openings of a contest: drawn in pairs, on record, played, verified and shown."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from getstep.openings import drawn
from getstep.replay import read_replays, replay_data, replay_page
from getstep.wire import Start
from getstep_engines import GAMES
from getstep_server.cli.main import run_command
from getstep_server.config.contest import Contest, contest_path, load_contest
from getstep_server.errors import ConfigError
from getstep_server.play.judge import start_message
from getstep_server.programs.adding import opening_objection
from getstep_server.records.pairings import pairings_in
from getstep_server.records.record import RecordError, parse
from getstep_server.reports.replays import match_replays
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError, verify
from getstep_server.web.own_games import own_turns
from tests.support.contests import make_contest
from tests.support.played_contests import play_six_of_tonga
from tests.support.random_results import make_up
from tests.support.tampering import Forged

EVENT = {"game": "pseudo_tonga", "openings": 4}
NAMES = ["Ada", "Blaise", "Charles", "Dora"]
FORMATS: dict[str, Mapping[str, Any]] = {
    "round_robin": {"legs": 4},
    "swiss": {"rounds": 3, "legs": 1},
    "knockout": {"best_of": 4},
    "ladder": {"rounds": 3, "games": 4},
    "gauntlet": {"challengers": [1, 2], "legs": 2},
    "match": {"pairs": 20},
}


@pytest.mark.parametrize("format_", FORMATS)
def test_two_teams_have_each_opening_with_both_sides(tmp_path: Path, format_: str) -> None:
    event = {**EVENT, "format": format_, "settings": FORMATS[format_]}
    matches = list(tournament_of(make_up(tmp_path / "a", [event], NAMES)).matches.values())
    assert all(len(match.opening) == 4 for match in matches)
    by_pair: dict[tuple[int, ...], list[Any]] = {}
    for match in matches:
        by_pair.setdefault(tuple(sorted(match.teams)), []).append(match)
    paired = Counter[str]()
    for games in by_pair.values():
        sides = {team: [repr(one.opening) for one in games if one.first == team] for team in games[0].teams}
        one, other = sides.values()
        assert len(set(one)) == len(one), "no team has an opening twice with the same side"
        shared = min(len(one), len(other))
        assert set(one[:shared]) == set(other[:shared]), "the sides are changed"
        paired.update(dict.fromkeys({*one, *other}, 1))
    assert max(paired.values()) == 1, "no two pairs have the same one"


def test_the_seed_decides_and_each_event_draws_anew(tmp_path: Path) -> None:
    def openings(folder: str, seed: int) -> list[Any]:
        contest = make_up(tmp_path / folder, [EVENT, {**EVENT, "name": "again"}], NAMES, seed=seed)
        return [match.opening for match in tournament_of(contest).matches.values()]

    one = openings("a", 1)
    assert one == openings("b", 1) != openings("c", 2)
    assert one[:12] != one[12:]


def test_without_openings_the_records_have_no_word_of_them(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "a", [{"game": "hop"}], NAMES)
    with Store(contest.database) as store:
        assert not any(b"opening" in line for line in store.lines())


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    return play_six_of_tonga(tmp_path_factory.mktemp("played") / "tonga", openings=4)


def test_openings_are_on_record_played_and_verified(contest: Contest) -> None:
    with Store(contest.database) as store:
        assert verify(contest, store).played == 6
        records = [json.loads(line) for line in store.lines()]
    (settings, pairings), games = records[:2], records[2:]
    book = settings["events"][0]["openings"]
    assert pairings["openings"] == book["name"] == "4 random moves"
    issued = {entry["number"]: entry["opening"] for entry in pairings["matches"]}
    assert {game["match"]: game["opening"] for game in games} == issued
    assert all(opening in book["lines"] for opening in issued.values())
    for game in games:
        assert len(game["turns"]) == game["turns_played"] == 64 - 4
    assert games[1]["resumed"] == [9]


def test_another_opening_than_the_drawn_one_is_found(contest: Contest, forged: Forged) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["matches"][0]["opening"].reverse()

    forged.head(2, change).reseal()
    with Store(forged.path) as store, pytest.raises(VerifyError, match="opening of match 1"):
        verify(contest, store)


def test_an_opening_that_the_rules_do_not_allow_is_found(contest: Contest, forged: Forged) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["opening"][1] = fields["opening"][0]

    forged.head(3, change).reseal()
    with Store(forged.path) as store, pytest.raises(VerifyError, match="opening: move 2 of"):
        verify(contest, store)


def test_the_match_shows_its_opening(contest: Contest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    match = tournament_of(contest).matches[1]
    with Store(contest.database) as store:
        (replay,) = match_replays(store, 1, None)
    assert [turn.given for turn in replay.turns[:5]] == ["opening"] * 4 + [""]
    moves = " ".join(f"{row},{column}" for row, column in match.opening)
    assert ("opening", f"4 moves by the host: {moves}") in replay.facts
    assert replay.position(len(replay.turns)).outcome is not None
    page = tmp_path / "replay.html"
    page.write_text(replay_page(replay_data([replay], title="a replay")), encoding="utf-8")
    (again,) = read_replays(page)
    assert [turn.move for turn in again.turns] == [tuple(t.move) for t in replay.turns]
    assert [turn.given for turn in again.turns] == [turn.given for turn in replay.turns]
    assert run_command(["show", str(contest.folder), "1"]) == 0
    assert "opening  4 moves by the host" in capsys.readouterr().out


def test_players_are_told_the_opening(contest: Contest) -> None:
    match = tournament_of(contest).matches[1]
    start = start_message(match, "Blaise", GAMES["pseudo_tonga"].time_control, 0.1, is_black=True)
    assert start.opening == list(match.opening)
    assert Start(**{name: getattr(start, name) for name in Start.names}) == start


def test_a_book_without_its_record_is_found(contest: Contest) -> None:
    with Store(contest.database) as store:
        fields = json.loads(next(line for line in store.lines() if b'"pairings"' in line))
    fields["openings"] = "another book"
    with pytest.raises(RecordError, match="expected the book of the settings"):
        tournament_of(contest).pairings({key: value for key, value in fields.items() if key != "matches"})
    del fields["matches"][0]["opening"]
    match = pairings_in(fields)[0][1]
    assert match is not None
    assert match.opening == ()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ('game = "hop"\nopenings = 0', "a number of moves from 1 to 20"),
        ('game = "hop"\nopenings = 21', "a number of moves from 1 to 20"),
        ('game = "hop"\nopenings = "none.json"', "none.json cannot be read"),
        ('game = "pseudo_tonga"\noptions.size = "6-8"\nopenings = 4', "an option has a range"),
        ('game = "pseudo_tonga"\noptions.size = 6\nopenings = "balanced"', "is for the options"),
        ('game = "hop"\nopenings = { name = "mine", lines = [[[[0, 0], [7, 7]]]] }', "hop does not allow it"),
        ('game = "hop"\nopenings = { lines = [] }', "expected a list of 1 to 2000 openings"),
    ],
)
def test_a_setting_that_is_no_book_is_refused(tmp_path: Path, settings: str, why: str) -> None:
    file = contest_path(make_contest(tmp_path, on_disk=True).folder)
    tables = tomllib.loads(settings)
    text = tomlkit.parse(file.read_text(encoding="utf-8")).unwrap()
    file.write_text(tomlkit.dumps({**text, "event": [tables]}), encoding="utf-8")
    with pytest.raises(ConfigError, match=why):
        load_contest(tmp_path)


def test_a_program_that_keeps_its_own_position_is_refused(tmp_path: Path) -> None:
    contest = make_contest(tmp_path / "a", 2, EVENT)
    said = opening_objection(contest, 1, "topcoder")
    assert said is not None
    assert "topcoder program: it keeps the position from its own moves, so it cannot begin after an opening" in said
    assert opening_objection(contest, 1, "ugi") is None
    assert opening_objection(make_contest(tmp_path / "b", 2, {"game": "pseudo_tonga"}), 1, "topcoder") is None


def test_no_opening_comes_twice_before_all_were_drawn(contest: Contest) -> None:
    book = contest.events[0].book
    assert book is not None
    count = len(book.lines)
    first, second = ([drawn(book, "1 1", n) for n in range(at, at + count)] for at in (0, count))
    assert len(set(map(repr, first))) == count
    assert sorted(map(repr, first)) == sorted(map(repr, second))
    assert first != second


def test_a_link_to_a_move_counts_the_opening(contest: Contest) -> None:
    with Store(contest.database) as store:
        (record,) = store.records(1)
        (replay,) = match_replays(store, 1, None)
    game = parse(record.line)
    for player in (0, 1):
        for ms, number in own_turns(game, player).slowest:
            turn = replay.turns[number - 1]
            assert (turn.player, turn.given) == (player, "")
            assert turn.seconds == pytest.approx(ms / 1000)
