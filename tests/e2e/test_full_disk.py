"""A disk that fills up in mid-tournament: everything waits where no clock runs, and continues automatically."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.limits import DISK_CHECK_SECONDS, DISK_LEAST_FREE_BYTES
from getstep_server.storage.recovery import left_running
from tests.support.contests import make_contest
from tests.support.interrupted_contest import wait_until
from tests.support.ledger import audit, on_record, read_ledger
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port
from tests.support.scripts import SCRIPTS

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

BOTS = str(SCRIPTS / "crash_bots.py")
TEAMS = 4
ALL = TEAMS * (TEAMS - 1)
FREE_MATCHES = 2
"""Matches of each bot before it stops until the disk is full, so that there is something left to play."""

ROOM = DISK_LEAST_FREE_BYTES + 8_000_000


class SmallDisk:
    """A contest's folder on a file system of its own, in a namespace where mounting needs no rights."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        mount = f'mount -t tmpfs -o size={ROOM} none "$0" && echo mounted && exec sleep 600'
        self._holder = programs.start("unshare", "-rm", "sh", "-c", mount, str(folder))
        self._holder.expect("^mounted$")
        self._process = str(self._holder._process.pid)
        self.seen_from_here = Path(f"/proc/{self._process}/root{folder}")
        for path in folder.iterdir():
            shutil.copy(path, self.seen_from_here)

    def serve(self) -> Program:
        """Start a server there."""
        enter = ["nsenter", "-t", self._process, "-U", "-m", "--preserve-credentials"]
        server = ["-m", "getstep_server", "run", str(self.folder), "--now", "--plain", "--no-web", "--no-announce"]
        return self._programs.start(*enter, sys.executable, *server)

    def fill(self, *, leave: int = 0) -> None:
        """Fill the disk but for this many bytes."""
        with contextlib.suppress(OSError), (self.seen_from_here / "filler").open("ab", buffering=0) as filler:
            while shutil.disk_usage(self.seen_from_here).free > leave:
                filler.write(bytes(1 << 16))

    def free(self) -> None:
        """Take that back."""
        (self.seen_from_here / "filler").unlink()


def namespaces_work() -> bool:
    """Return True if this system permits to mount in a namespace of one's own."""
    command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
    try:
        return subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(not namespaces_work(), reason="mounts a small disk in a user namespace of its own")


class Contest:
    """A tournament on a small disk."""

    def __init__(self, programs: Programs, folder: Path, game: str) -> None:
        port = free_port()
        make_contest(folder, TEAMS, on_disk=True, patient=True, event={"game": game}, server={"port": port})
        self.disk = SmallDisk(programs, folder)
        self.ledger = folder.with_name("ledger")
        self.servers: list[Program] = []
        self._gate = folder.with_name("gate")
        gated = [str(self._gate), str(FREE_MATCHES + 1), "3"]
        arguments = [str(port), str(self.ledger), str(TEAMS), "0", "0", *gated]
        self.bots = programs.start(sys.executable, BOTS, *arguments)

    def start(self) -> Program:
        """Start a server."""
        self.servers.append(self.disk.serve())
        return self.servers[-1]

    def go_on(self) -> None:
        """Let the bots play the other matches, too."""
        self._gate.touch()

    def stand_still(self) -> None:
        """Wait until nobody has been asked anything for a second."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        lines = -1
        while lines != len(read_ledger(self.ledger)):
            lines = len(read_ledger(self.ledger))
            time.sleep(1.0)
            assert time.monotonic() < deadline

    def all_told(self) -> bool:
        """Return True if both players of every match that has begun got its end."""
        lines = read_ledger(self.ledger)
        told = Counter(line["match"] for line in lines if "told" in line)
        return all(told[line["match"]] == 2 for line in lines)

    def check(self) -> int:
        """Nothing that was announced is lost, and there is no fault or void; how many matches are over."""
        printed, told = "".join(server.output for server in self.servers), read_ledger(self.ledger)
        record = on_record(self.disk.seen_from_here)  # after that: what was announced has to be there
        assert audit(record, told, printed).complaints == []
        assert {(game["reason"], *game["faults"]) for game in record.games} == {("finished", 0, 0)}
        assert "server error in" not in printed
        assert "Traceback" not in printed
        return len(record.games)

    @property
    def running(self) -> int:
        """Return the number of matches in progress, by the journal."""
        over = [(game["match"], game["attempt"]) for game in on_record(self.disk.seen_from_here).games]
        return len(left_running(self.disk.seen_from_here / "running", over))


@pytest.mark.long
def test_no_match_begins_on_a_disk_that_is_nearly_full(programs: Programs, tmp_path: Path) -> None:
    contest = Contest(programs, tmp_path / "contest", "linkage")
    server = contest.start()
    server.expect(r"^\[2/12\] ")
    contest.disk.fill(leave=DISK_LEAST_FREE_BYTES // 2)
    time.sleep(DISK_CHECK_SECONDS)  # for so long a look at the disk holds
    contest.go_on()
    server.expect(r"^! The disk of .* is full \([78]\.. MB are free, 16.0 are wanted\): no match starts, ")
    wait_until(contest.all_told)
    contest.stand_still()
    assert contest.running == 0
    assert 2 <= contest.check() < ALL
    contest.disk.free()
    server.expect(r"^The disk and the database can be written again; the contest continues\.$")
    assert server.wait() == 0
    assert contest.bots.wait() == 0
    assert contest.check() == ALL


@pytest.mark.parametrize("game", ["linkage", pytest.param("longest_path", marks=pytest.mark.long)])
def test_matches_wait_on_a_full_disk(programs: Programs, tmp_path: Path, game: str) -> None:
    contest = Contest(programs, tmp_path / "contest", game)
    server = contest.start()
    server.expect(r"^\[2/12\] ")
    contest.disk.fill()
    contest.go_on()
    server.expect(r"^! The disk of .* is full \(.*\): .* Nothing is lost; free some space\.$")
    contest.stand_still()
    assert 2 <= contest.check() < ALL
    contest.disk.free()
    server.expect(r"^The disk and the database can be written again; the contest continues\.$")
    assert server.wait() == 0
    assert contest.bots.wait() == 0
    assert contest.check() == ALL


@pytest.mark.long
def test_a_server_that_dies_on_a_full_disk(programs: Programs, tmp_path: Path) -> None:
    contest = Contest(programs, tmp_path / "contest", "longest_path")
    server = contest.start()
    server.expect(r"^\[2/12\] ")
    contest.disk.fill()
    contest.go_on()
    server.expect("^! The disk of .* is full")
    contest.stand_still()
    server.signal(signal.SIGKILL)
    server.wait()
    contest.disk.fill()
    # It depends on the last blocks of its files whether it can begin at all.
    said = contest.start().expect("^! The disk of .* is full|^getstep-server: .*")[0]
    contest.check()
    contest.disk.free()
    if said.startswith("getstep-server"):
        assert contest.servers[-1].wait() == 1
        contest.start()
    assert contest.servers[-1].wait() == 0
    assert contest.bots.wait() == 0
    assert contest.check() == ALL
