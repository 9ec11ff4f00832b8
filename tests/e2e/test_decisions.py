"""Corrections of a contest with the real command, while the real server runs and while it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.storage.store import Store
from tests.support.interrupted_contest import Hosted
from tests.support.ledger import on_record, read_ledger
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import SERVER, free_port

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

WHY = ("--why", "the network failed", "--by", "Grace")


def decide(*words: str, folder: Path) -> str:
    """Type a command of the host's about a contest; what it says."""
    group, action, *rest = words
    command = [sys.executable, *SERVER, group, action, str(folder), *rest, *WHY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def decided(folder: Path) -> list[str]:
    with Store(folder / "contest.db") as store:
        return [fields["decision"] for fields in store.record_headers() if fields["type"] == "decision"]


@pytest.mark.long
def test_a_contest_is_corrected_while_it_runs(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(4, event={"game": "linkage"}, server={"port": free_port()})
    hosted = Hosted(programs, folder, 4)
    server = hosted.start()
    hosted.in_the_middle(1, 2, turns=2)
    first, second = ({line["asked"] for line in hosted.asked(number)} for number in (1, 2))
    assert first | second == {1, 2, 3, 4}
    winner = f"Team {min(first)}"
    assert f"is won by {winner}." in decide("matches", "adjudicate", "1", "--winner", winner, folder=folder)
    server.expect(rf"^The host: match 1 \(.*\) is won by {winner} \(Grace: the network failed\)$")
    assert "match 2" in decide("matches", "rematch", "2", folder=folder)
    server.expect(r"^The host: match 2 \(.*\) is played again \(Grace: the network failed\)$")
    left = max(second)
    assert "cancelled: matches" in decide("teams", "withdraw", str(left), folder=folder)
    server.expect(rf"^The host: Team {left} has withdrawn \(Grace: the network failed\)$")
    hosted.go_on()
    assert server.wait() == 0

    record = on_record(folder)
    assert decided(folder) == ["adjudicate", "replay", "withdraw"]
    reasons = {(game["match"], game["attempt"]): game["reason"] for game in record.games}
    assert reasons[1, 1] == reasons[2, 1] == "called_off"
    assert len([game for game in record.games if game["reason"] == "finished"]) >= 4
    late = [game for game in record.games if left in {team["id"] for team in game["teams"]}]
    assert {game["reason"] for game in late} <= {"called_off", "finished"}
    told = [line for line in read_ledger(folder.with_name("ledger")) if "told" in line]
    ends = {(line["told"], line["result"]) for line in told if line["reason"] == "adjudicated"}
    assert ends == {(min(first), "win"), (max(first), "loss")}
    voids = [line for line in told if line["match"] == 2 and line["reason"] == "called_off"]
    assert {line["told"] for line in voids} == second
    assert {(line["result"], line["detail"]) for line in voids} == {("void", "the network failed")}
    assert server.complaints == []


@pytest.mark.long
def test_decisions_while_no_server_runs(programs: Programs, make_contest: MakeContest) -> None:
    """One match in progress is not continued, and one is played from its beginning."""
    folder = make_contest(4, event={"game": "linkage"}, server={"port": free_port()})
    hosted = Hosted(programs, folder, 4)
    hosted.start()
    hosted.kill_in_the_middle(1, 2)
    asked = {match: len(hosted.asked(match)) for match in (1, 2)}
    decide("matches", "adjudicate", "1", "--winner", "draw", folder=folder)
    decide("matches", "rematch", "2", folder=folder)
    assert "resumes after turn" not in hosted.play_on()
    assert len(hosted.asked(1)) == asked[1]
    assert hosted.asked(2)[asked[2]]["move_number"] == 1
    record = on_record(folder)
    assert 1 not in record.results
    assert (record.results[2].attempt, record.results[2].reason) == (1, "finished")
    assert len(record.results) == 11
    assert "Everything fits" in verified(folder)


def verified(folder: Path) -> str:
    command = [sys.executable, *SERVER, "verify", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False).stdout
