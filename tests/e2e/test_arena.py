"""An arena whose server is killed: nothing that it announced is lost, while teams and house bots come and go."""

from __future__ import annotations

import random
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.formats.arena import HOUSE_TEAMS
from getstep_server.records.record import parse
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.contests import make_contest, token_of
from tests.support.folder_files import unnamed_in
from tests.support.ledger import OnRecord, audit, on_record, read_ledger
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port
from tests.support.scripts import SCRIPTS
from tests.support.submitted_programs import GET_STEP

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs, Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

BOTS = SCRIPTS / "crash_bots.py"
RANDOM = HOUSE_TEAMS["random"]
KILLS = 5


class ArenaUnderFire:
    """An arena on a port that stays the same, the bots that stay, and those that come and go."""

    def __init__(
        self, programs: Programs, folder: Path, *, teams: int, stay: int, matches: int, think_seconds: float
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.servers: list[Server] = []
        self._programs = programs
        self._ledger = folder.with_suffix(".ledger")
        self._head: str | None = None
        self._think_seconds = think_seconds
        self._gate = folder.with_suffix(".gate")
        settings = {"matches": matches, "pause_seconds": 0, "house_bots": ["random"]}
        event = {"format": "arena", "settings": settings}
        make_contest(folder, teams, event, on_disk=True, patient=True, server={"port": self.port})
        self.staying = self.come(f"1-{stay}")

    def come(self, teams: str) -> Program:
        """Start the bots of a range of teams. They answer in their second match only once `go_on` was called."""
        arguments = [str(self.port), str(self._ledger), teams, str(self._think_seconds), "1"]
        arguments += [str(self._gate), "2", "5"]
        return self._programs.start(sys.executable, str(BOTS), *arguments)

    def go_on(self) -> None:
        """Let the bots answer."""
        self._gate.touch()

    def start(self, *arguments: str) -> Server:
        """Start a server, and return it once it listens."""
        server = self._programs.serve(self.folder, *arguments)
        self.servers.append(server)
        assert server.port == self.port
        return server

    def kill(self) -> None:
        """Kill the server, and hold what it has announced against the records."""
        self.servers[-1].signal(signal.SIGKILL)
        assert self.servers[-1].wait() == -signal.SIGKILL, self.servers[-1].output
        self.check()

    def check(self) -> OnRecord:
        """Verify what is on record, and compare it with all that was announced."""
        printed = "".join(server.output for server in self.servers)
        record = on_record(self.folder, head=self._head)
        self._head = record.head if record.games else None
        assert audit(record, read_ledger(self._ledger), printed).complaints == []
        assert "Traceback" not in printed
        return record


@pytest.mark.long
def test_a_killed_arena_continues_with_its_house_bot(programs: Programs, tmp_path: Path) -> None:
    """The only team plays with the house bot, which ends with the server and comes back with the next one."""
    arena = ArenaUnderFire(programs, tmp_path / "arena", teams=1, stay=1, matches=4, think_seconds=0.0)
    arena.start().expect(r"^\[1/")
    arena.kill()
    arena.go_on()
    before = arena.check().results
    assert arena.start().wait() == 0
    assert arena.staying.wait() == 0
    after = arena.check().results
    assert before.items() <= after.items()
    assert len(after) >= 3  # one that had not begun when the server was killed may be cancelled
    assert {team for result in after.values() for team in result.match.teams} == {1, RANDOM}
    assert all("random (house bot) connected" in server.output for server in arena.servers)
    tournament = tournament_of(load_contest(arena.folder))
    (event,) = tournament.contest.events
    assert tournament.issued(event.number) == 4
    assert {row.team for row in tournament.table(event) if row.rating is not None} == {1, RANDOM}
    assert unnamed_in(arena.folder) == []
    assert tournament.settings.changes() == []


@pytest.mark.long
def test_an_arena_is_killed_at_random_while_teams_come_and_go(programs: Programs, tmp_path: Path) -> None:
    dice = random.Random(7)
    arena = ArenaUnderFire(programs, tmp_path / "arena", teams=5, stay=3, matches=80, think_seconds=0.002)
    arena.go_on()
    guests: Program | None = None
    for _ in range(KILLS):
        arena.start(*["--no-house-bots"] * (dice.random() < 0.25))
        time.sleep(dice.uniform(0, 1))  # one moment is as good as another
        if guests is None:
            guests = arena.come("4-5")
        elif dice.random() < 0.7:
            guests.signal(signal.SIGKILL)
            guests.wait()
            guests = None
        time.sleep(dice.uniform(0, 1))
        arena.kill()
    guests = guests or arena.come("4-5")
    assert arena.start().wait(seconds=2 * PATIENCE_SECONDS) == 0  # 80 matches, beside other tests
    assert (arena.staying.wait(), guests.wait()) == (0, 0)
    record = arena.check()
    played = Counter(team for result in record.results.values() for team in result.match.teams)
    assert played.keys() == {1, 2, 3, 4, 5, RANDOM}
    assert min(played[team] for team in (1, 2, 3)) >= 10
    assert any(game["resumed"] for game in record.games)
    assert "never_arrived" not in {result.reason for result in record.results.values()}
    tournament = tournament_of(load_contest(arena.folder))
    assert tournament.issued(1) == 80
    assert tournament.open() == []


@pytest.mark.long
def test_getstep_challenge_begins_a_friendly_match(programs: Programs, tmp_path: Path) -> None:
    """Two bots wait for the next pairings. The team of one types the command, and both terminals show the match."""
    settings = {"pause_seconds": 3600, "house_bots": []}
    event = {"game": "pseudo_tonga", "options": {"size": 6}, "format": "arena", "settings": settings}
    contest = make_contest(tmp_path / "arena", ["Ada Lovelace", "Grace"], event, on_disk=True, patient=True)
    server = programs.serve(contest.folder, "--web-port", "0")
    page = server.expect(r"http://127\.0\.0\.1:(\d+)/")[1]
    bot = tmp_path / "bot.py"
    bot.write_text(GET_STEP)
    bots = [programs.play(server, bot, team) for team in (1, 2)]
    server.expect(r"^\[1/")
    who = ["--host", "127.0.0.1", "--port", page, "--team", "2", "--token", token_of(2)]
    asked = programs.start(sys.executable, "-m", "getstep", "challenge", "ada", *who)
    assert asked.wait() == 0, asked.output
    assert re.search(r"(Won|Lost|Draw) against Ada Lovelace.* It counts nowhere", asked.output)
    for one in bots:
        one.expect(r"Friendly match \d+")
    refused = programs.start(sys.executable, "-m", "getstep", "challenge", "Nobody", *who)
    assert refused.wait() == 1
    assert "no team has this name" in refused.output
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    with Store(contest.database, reading=True) as store:
        assert verify(contest, store).played == 1
        assert [parse(record.line)["type"] for record in store.records()][-2:] == ["challenge", "friendly"]
