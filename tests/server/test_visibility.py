"""What a reader may see of a match: by the host's setting, and whether the match is over for spectators."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from getstep_server.api.visibility import VisibleGame, visible_notes
from getstep_server.config.contest import NotesSetting
from getstep_server.records.reasons import DecisionKind
from tests.support.contests import make_contest
from tests.support.tournament_host import DecidingHost

NOTES = {"say": "I take the corner", "estimate": 0.5, "output": "secret"}
FAULT = {"player": 0, "fault": "raised", "detail": "KeyError: 7", "ms": 3.0, "timed": "kernel", "notes": NOTES}
MOVE = {"player": 1, "move": [[0, 0], [0, 1]], "ms": 3.0, "timed": "kernel", "notes": {"output": "secret"}}


def test_a_team_sees_its_own_notes_and_others_see_them_by_the_setting() -> None:
    said = {"say": "I take the corner", "estimate": 0.5}
    during = {("live", True)}
    for setting in get_args(NotesSetting):
        for host in (True, False):
            after = None if setting == "never" else said
            assert visible_notes(NOTES, setting=setting, over=True, own=False, host=host) == after
            shown = visible_notes(NOTES, setting=setting, over=False, own=False, host=host)
            assert shown == (said if (setting, host) in during else None)
            for over in (True, False):
                assert visible_notes(NOTES, setting=setting, over=over, own=True, host=host) == NOTES
    assert visible_notes({"output": "secret"}, setting="live", over=True, own=False) is None
    assert visible_notes(None, setting="live", over=True, own=True) is None


def game(match: int, attempt: int = 1) -> dict[str, Any]:
    teams = [{"id": 1, "name": "Team 1"}, {"id": 2, "name": "Team 2"}]
    return {"match": match, "attempt": attempt, "teams": teams, "turns": [FAULT, MOVE], "hash": "00"}


def said(host: DecidingHost, fields: dict[str, Any], team: int | None = None) -> list[Any]:
    """The notes of both turns as a reader sees them."""
    return [turn.get("notes") for turn in VisibleGame(host.tournament, team)(fields)["turns"]]


def test_others_see_the_notes_of_a_match_once_it_will_not_be_played_again(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path))
    first = host.issue_pairings()[0].number
    shown = [{"say": "I take the corner", "estimate": 0.5}, None]
    assert said(host, game(first)) == [None, None]
    assert said(host, game(first), team=1) == [NOTES, None]
    host.play_some()
    assert said(host, game(first)) == shown
    assert said(host, game(first), team=2) == [shown[0], {"output": "secret"}]
    assert said(host, game(first, attempt=2)) == [None, None], "it is not on record"
    assert said(host, game(99)) == [None, None]
    host.decide(DecisionKind.REPLAY, match=first)
    assert said(host, game(first)) == [None, None], "it is played again"
    host.play_some()
    assert said(host, game(first)) == shown
    host.decide(DecisionKind.WITHDRAW, team=2)
    assert said(host, game(first)) == shown, "a match that was annulled is over, too"


def test_a_record_that_was_changed_has_no_hash_and_the_errors_of_its_own_team_only(tmp_path: Path) -> None:
    host = DecidingHost(make_contest(tmp_path, notes="never"))
    record = game(host.issue_pairings()[0].number)
    host.play_some()
    own = VisibleGame(host.tournament, 1)(record)
    assert own["turns"] == [FAULT, {name: value for name, value in MOVE.items() if name != "notes"}]
    assert "hash" not in own
    assert VisibleGame(host.tournament)(record)["turns"][0]["detail"] == "an exception in its program"
    told = VisibleGame(host.tournament, error_texts=True)(record)["turns"][0]
    assert told["detail"] == "KeyError: 7"
    assert "notes" not in told
    quiet = {**record, "turns": [{"player": 0, "move": 1}]}
    assert VisibleGame(host.tournament)(quiet) is quiet
