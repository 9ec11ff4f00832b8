"""Replays of recorded matches: what the records say, turn by turn, whatever happened in a match."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getstep.replay import Replay, replay_data
from getstep_engines import GAMES
from getstep_server.config.contest import Contest, load_contest
from getstep_server.records.game import match_state_of, validate_game
from getstep_server.records.record import RecordError, parse
from getstep_server.records.replay import steps
from getstep_server.reports.replays import match_replays, replay_of
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament
from tests.old_contests.contests import unpack
from tests.support.played_contests import (
    INCREMENT,
    play_scenes,
    scenes_of_budget,
    scenes_of_decisions,
    scenes_of_increments,
    scenes_of_stalling,
)
from tests.support.replays import decoded, not_installed, with_texts


@pytest.fixture(scope="module")
def contests(hop_contest: Contest, tmp_path_factory: pytest.TempPathFactory) -> list[Contest]:
    """Nearly all that a record can say."""

    def played(name: str, game: str, scenes: Callable[..., Any], **more: Any) -> Contest:
        return play_scenes(tmp_path_factory.mktemp(name) / name, game, scenes, **more)

    return [
        hop_contest,
        played("decided", "hop", scenes_of_decisions, teams=3),
        played("budget", "pseudo_tonga", scenes_of_budget, limit="budget_seconds = 1.0"),
        played("increments", "hop", scenes_of_increments, limit=INCREMENT),
        played("stalled", "hop", scenes_of_stalling, teams=3),
    ]


def games_of(contest: Contest) -> list[dict[str, Any]]:
    with Store(contest.database, reading=True) as store:
        records = [parse(record.line) for record in store.records()]
    return [record for record in records if record["type"] == "game"]


def test_each_turn_is_the_one_on_record(contests: list[Contest]) -> None:
    """The boards, the codes and the clocks are those that the judge had."""
    codes: set[str] = set()
    for fields in (fields for contest in contests for fields in games_of(contest)):
        (game,) = replay_data([replay_of(fields)], title="")["games"]
        schema, state = validate_game(fields), match_state_of(fields)
        assert "problem" not in game
        boards = decoded(game)[1:]
        assert len(boards) == len(game["turns"]) == len(fields["turns"])
        played = zip(fields["turns"], with_texts(game), boards, steps(schema, state), strict=True)
        for turn, shown, board, applied in played:
            assert board == GAMES[schema.game].view(state.state)
            assert shown["p"] == turn["player"]
            assert shown.get("c", "") == turn.get("fault", turn.get("end", ""))
            assert shown.get("t", 0) == pytest.approx(turn.get("ms", 0), abs=0.5)
            codes.add(shown.get("c") or shown.get("k", "move"))
            if schema.time.kind == "budget" and "t" in shown:
                left = 1000 * state.clocks.limit(applied.player)  # type: ignore[arg-type]  # validated as 0 or 1
                assert shown["l"] == pytest.approx(left, abs=0.5)
    assert codes >= {
        *("move", "illegal_move", "raised", "malformed_answer", "missed_limit", "stalled"),
        *("resigned", "hostile", "absent"),
    }


def test_a_pass_is_shown(tmp_path: Path) -> None:
    folder = unpack("0.1.0-before-settings/finished", tmp_path / "finished")
    with Store(folder / "contest.db", reading=True) as store:
        games = [parse(record.line) for record in store.records() if record.number]
    passes = [game for game in games if any("pass" in turn for turn in game["turns"])]
    for fields in passes:
        (game,) = replay_data([replay_of(fields)], title="")["games"]
        kinds = ["pass" if "pass" in turn else "turn" for turn in fields["turns"]]
        assert ["pass" if turn.get("k") == "pass" else "turn" for turn in game["turns"]] == kinds


def test_the_head_of_a_replay(hop_contest: Contest) -> None:
    (first, *_) = games_of(hop_contest)
    replay = replay_of(first)
    assert replay.names == tuple(team["name"] for team in first["teams"])
    assert replay.title == "match 1"
    assert (replay.result.endswith("wins (Black)"), replay.reason) == (first["winner"] == 0, first["detail"])
    assert dict(replay.facts)["limit"] == "5 s a move, and 100 ms for lag"


def test_a_forfeit_without_any_turn(hop_contest: Contest) -> None:
    (forfeit,) = (fields for fields in games_of(hop_contest) if fields["match"] == 9)
    replay = replay_of(forfeit)
    assert (replay.turns, replay.reason) == ([], "never_arrived: as told")
    assert replay_data([replay], title="")["games"][0]["start"]


def test_restarts_and_incidents_are_remarks_without_addresses(contests: list[Contest]) -> None:
    remarks = {}
    for contest in contests:
        for fields in games_of(contest):
            for turn in replay_of(fields).turns:
                for remark in turn.remarks:
                    remarks[remark] = fields["match"]
    assert "The server was restarted." in remarks
    assert any(remark.startswith("Incident (3 times): ") and remark.endswith(", bad_field") for remark in remarks)
    assert not any("10.0.0.9" in remark for remark in remarks)


def test_the_versions_of_programs_are_a_fact(hop_contest: Contest) -> None:
    fields = games_of(hop_contest)[0]
    assert "programs" not in dict(replay_of(fields).facts)
    program = {"version": 3, "sha256": "0" * 64, "sandbox": "none"}
    facts = dict(replay_of({**fields, "programs": [program, None]}).facts)
    assert facts["programs"] == "version 3, without a sandbox : a bot on the network"


def test_an_incident_before_the_first_turn_is_a_fact(hop_contest: Contest) -> None:
    fields = games_of(hop_contest)[0]
    incident = {
        "team": fields["teams"][0]["id"], "code": "flood", "detail": "x", "address": "10.0.0.9",
        "after_turn": 0, "count": 1,
    }  # fmt: skip
    facts = dict(replay_of({**fields, "incidents": [incident]}).facts)
    assert facts["before the first turn"] == f"Incident: {fields['teams'][0]['name']}, flood"


def test_all_attempts_at_a_match_and_what_became_of_them(contests: list[Contest]) -> None:
    contest = contests[1]
    with Store(contest.database, reading=True) as store:
        tournament = Tournament(contest, store.record_headers())
        attempts = match_replays(store, 3, contest.running, tournament)
    assert [replay.title for replay in attempts] == ["match 3", "match 3, attempt 2"]
    assert dict(attempts[0].facts)["corrected"].startswith("annulled")
    assert "corrected" in dict(attempts[1].facts)


def test_a_match_that_was_interrupted_comes_from_the_journal(tmp_path: Path) -> None:
    contest = load_contest(unpack("0.1.0-before-settings/killed", tmp_path / "killed"))
    with Store(contest.database, reading=True) as store:
        recorded = {record.number for record in store.records() if record.number}
        running = [
            (number, replays)
            for number in range(1, 40)
            if number not in recorded and (replays := match_replays(store, number, contest.running))
        ]
    assert running
    for number, (replay,) in running:
        assert (replay.title, replay.result, replay.reason) == (f"match {number}", "", "")
        (game,) = replay_data([replay], title="")["games"]
        assert "problem" not in game
        assert len(game["turns"]) == len(replay.turns)


def test_a_game_that_is_not_installed(hop_contest: Contest) -> None:
    fields = games_of(hop_contest)[0]
    whole = replay_of(fields)
    with not_installed("hop"):
        replay = replay_of(fields)
    assert replay.game is None
    assert replay.turns == whole.turns
    (game,) = replay_data([replay], title="")["games"]
    assert game["problem"] == "The rules of hop are not installed: no boards."
    assert dict(replay.facts)["game"] == "hop"


def changed_turn(fields: dict[str, Any], number: int, **change: Any) -> Replay:
    turns = [dict(turn) for turn in fields["turns"]]
    turns[number] |= change
    return replay_of({**fields, "turns": turns})


def test_a_damaged_record(hop_contest: Contest) -> None:
    fields = games_of(hop_contest)[0]
    (game,) = replay_data([changed_turn(fields, 4, move=[[0, 0], [7, 7]])], title="")["games"]
    assert len(game["turns"]) == 4
    assert "from 5 on are missing" in game["problem"]
    with pytest.raises(RecordError, match="ms is 'x'"):
        changed_turn(fields, 4, ms="x")
    with pytest.raises(RecordError, match="teams is missing"):
        replay_of({name: value for name, value in fields.items() if name != "teams"})


def test_texts_of_contestants_have_no_control_characters(hop_contest: Contest) -> None:
    fields = games_of(hop_contest)[0]
    illegal = {
        "player": 0, "fault": "illegal_move", "tried": "\u202e", "detail": "a\x1b[2J\u202eb", "ms": 1.0,
        "timed": "wake",
    }  # fmt: skip
    replay = replay_of({**fields, "turns": [illegal]})
    assert replay.turns[0].reason == "a\\u001b[2J\\u202eb"
    assert replay.turns[0].tried == '"\\u202e"'


def test_a_long_illegal_move_is_cut(hop_contest: Contest) -> None:
    illegal = {
        "player": 0, "fault": "illegal_move", "tried": ["x" * 900], "detail": "", "ms": 1.0, "timed": "wake",
    }  # fmt: skip
    assert len(replay_of({**games_of(hop_contest)[0], "turns": [illegal]}).turns[0].tried) == 200
