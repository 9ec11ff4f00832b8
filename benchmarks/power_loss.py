"""The effect of a power cut: a contest on its own file system, which is shut down during the tournament.

``python -m benchmarks.power_loss`` needs root on Linux: it mounts an ext4 image, and makes the kernel drop all
data that is not on the disk yet, as a power cut does. The bots log on another disk what the server announced to
them. After each cut the benchmark mounts the file system again, verifies the records, compares them with the bots'
log, and resumes the contest.

With ``PRAGMA synchronous = OFF``, the control, results must be lost; otherwise the benchmark would show nothing. A
disk that reports a write before it is done is not simulated.

The server is stopped before the cut, as by a loss of power. If it ran on, some flushes would report success while
the kernel drops their data, which no power cut can cause.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from getstep_server.cli import main as cli
from getstep_server.storage.database import StoreError
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError
from tests.support.contests import make_contest
from tests.support.ledger import OnRecord, audit, on_record, read_ledger
from tests.support.processes import Program, Server, free_port
from tests.support.records import connection_of
from tests.support.scripts import SCRIPTS

SHUTDOWN = 0x8004587D
"""The ioctl: EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)."""

NO_LOG_FLUSH = struct.pack("I", 2)
"""EXT4_GOING_FLAGS_NOLOGFLUSH: not even the file system's own journal is written any more."""

IMAGE_BYTES = 256 << 20
TEAMS = 8
THINK_SECONDS = 0.01
LONGEST_LIFE_SECONDS = 4.0

BOTS = SCRIPTS / "crash_bots.py"


@dataclass
class Figures:
    """The counts for one setting of ``synchronous``."""

    cuts: int = 0
    contests: int = 0
    announced: int = 0
    lost: int = 0
    wrong: list[str] = field(default_factory=list)
    unreadable: int = 0
    refused: int = 0
    went_on: int = 0

    def __str__(self) -> str:
        return (
            f"{self.cuts} cuts in {self.contests} contests, {self.announced} results announced before them:"
            f" {self.lost} lost, {len(self.wrong)} otherwise wrong; {self.unreadable} databases unreadable,"
            f" {self.refused} starts refused; {self.went_on} matches went on in their middle"
        )


class Image:
    """An ext4 file system in a file, mounted as a context manager."""

    def __init__(self, scratch: Path) -> None:
        self.mounted = scratch / "disk"
        self._file = scratch / "disk.ext4"

    def __enter__(self) -> Image:
        with self._file.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self._file)], check=True)
        self.mounted.mkdir()
        self._mount()
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.mounted)], check=True)

    def cut(self) -> None:
        """Cut the power: drop all data that is not on the disk, and refuse further writes."""
        folder = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def write_back(self) -> None:
        """Write all data to the disk, as the system does after half a minute even without a flush."""
        subprocess.run(["sync", "--file-system", str(self.mounted)], check=True)

    def mount_again(self) -> None:
        """Restore the power: the file system recovers by its own journal."""
        subprocess.run(["umount", str(self.mounted)], check=True)
        self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self._file), str(self.mounted)], check=True)


class Contest:
    """A contest on the image, its bots, and their log on another disk."""

    def __init__(self, folder: Path, ledger: Path, server: Sequence[str]) -> None:
        self.folder = folder
        self.standing: set[int] = set()
        """Matches that were on record after the last cut."""
        self._ledger = ledger
        self._server = server
        self._lives: list[Server] = []
        self._logged_before = 0
        port = free_port()
        make_contest(
            folder,
            TEAMS,
            on_disk=True,
            patient=True,
            event={"game": "linkage", "move_seconds": 60.0},
            server={"port": port},
            start={"absent_seconds": 600.0},
        )
        os.sync()
        arguments = map(str, (port, ledger, TEAMS, THINK_SECONDS, 1))
        self._bots = Program([sys.executable, str(BOTS), *arguments])

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for program in (*self._lives, self._bots):
            program.end()

    @property
    def server(self) -> Server:
        """The running server."""
        return self._lives[-1]

    @property
    def over(self) -> bool:
        """True if the bots know that the contest is over."""
        return not self._bots.running

    def start(self) -> bool:
        """Start a server; return True if it listens."""
        self._logged_before = len(read_ledger(self._ledger))
        self._lives.append(Server(self.folder, "--now", server=self._server))
        try:
            return self.server.port > 0
        except AssertionError:
            print(f"  it does not start:\n{self.server.output}")
            return False

    def freeze(self) -> None:
        """Stop the server at once. A thread that waits for the disk does not continue either."""
        self.server.signal(signal.SIGSTOP)
        threads = Path(f"/proc/{self.server._process.pid}/task")
        while any(_state(thread) not in "TD" for thread in threads.iterdir()):
            time.sleep(0.0001)

    def told(self) -> set[int]:
        """Return the matches whose end was announced to a bot since the last start."""
        return {line["match"] for line in read_ledger(self._ledger)[self._logged_before :] if "told" in line}

    def wrong(self, record: OnRecord) -> list[str]:
        """Return the differences from the announced results, by the bots' log and the servers' output."""
        found = audit(record, read_ledger(self._ledger), "".join(life.output for life in self._lives))
        return [*found.lost, *found.double]


class Host:
    """Contests on a disk whose power is cut repeatedly."""

    def __init__(self, image: Image, scratch: Path, synchronous: str) -> None:
        self.figures = Figures()
        self._image = image
        self._scratch = scratch
        self._synchronous = synchronous
        self._dice = random.Random(synchronous)

    def run(self, cuts: int) -> None:
        """Cut the power ``cuts`` times, in as many contests as needed."""
        server = ("-m", "benchmarks.power_loss", "serve", self._synchronous)
        while self.figures.cuts < cuts:
            self.figures.contests += 1
            name = f"{self._synchronous}-{self.figures.contests}"
            with Contest(self._image.mounted / name, self._scratch / f"{name}.ledger", server) as contest:
                while self.figures.cuts < cuts and self._live(contest):
                    pass

    def _live(self, contest: Contest) -> bool:
        """Run the server from a start to a cut; return True if the contest can be resumed."""
        if not contest.start():
            self.figures.refused += 1
            return False
        time.sleep(self._dice.uniform(0, LONGEST_LIFE_SECONDS / 2))
        if self._dice.random() < 0.5:
            self._image.write_back()
        time.sleep(self._dice.uniform(0, LONGEST_LIFE_SECONDS / 2))
        if contest.over:
            return False
        contest.freeze()
        self._image.cut()
        contest.server.signal(signal.SIGKILL)
        contest.server.wait()
        self._image.mount_again()
        return self._count(contest)

    def _count(self, contest: Contest) -> bool:
        figures, told = self.figures, contest.told()
        figures.cuts += 1
        figures.announced += len(told)
        try:
            record = on_record(contest.folder)
        except (StoreError, VerifyError) as error:
            print(f"  after cut {figures.cuts}: {error}")
            figures.unreadable += 1
            figures.lost += len(told | contest.standing)
            return False
        lost = (told | contest.standing) - set(record.results)
        if lost and self._synchronous == "FULL":
            print(f"  after cut {figures.cuts} matches {sorted(lost)} are lost; the server had said:")
            print(contest.server.output)
        figures.lost += len(lost)
        contest.standing = set(record.results)
        if self._synchronous == "FULL":
            figures.wrong += contest.wrong(record)
        figures.went_on += contest.server.output.count(" resumes after turn ")
        return True


def _state(thread: Path) -> str:
    """Return the thread's state as one letter: T is stopped, D an uninterruptible wait."""
    return (thread / "stat").read_text().rpartition(") ")[2][0]


def serve(synchronous: str, arguments: Sequence[str]) -> None:
    """Run the server with another setting of SQLite's ``synchronous``."""
    opened = Store._open

    def _open(self: Store) -> None:
        opened(self)
        if synchronous != "FULL":
            connection_of(self).execute(f"PRAGMA synchronous = {synchronous}")

    Store._open = _open  # type: ignore[method-assign]  # the method of every Store of this process
    cli.main(arguments)


def main() -> int:
    """Measure and print; return 1 if a durable result was lost or the control lost nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=50, help="with the setting of the server (default: 50)")
    parser.add_argument("--control", type=int, default=10, help="with synchronous = OFF (default: 10)")
    parser.add_argument("--own-namespace", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        print("This needs Linux, root, and mkfs.ext4: it mounts a file system and shuts it down.")
        return 1
    if not args.own_namespace:  # otherwise another process's copy of the mounts keeps the file system busy
        again = [sys.executable, "-m", "benchmarks.power_loss", "--own-namespace", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "--mount", *again])
    return measure(args.cuts, args.control)


def measure(cuts_with_full: int, cuts_with_off: int) -> int:
    """Measure in a separate mount namespace; return the exit code."""
    figures = {}
    with tempfile.TemporaryDirectory(prefix="power-loss-") as folder, Image(Path(folder)) as image:
        for synchronous, cuts in (("FULL", cuts_with_full), ("OFF", cuts_with_off)):
            host = Host(image, Path(folder), synchronous)
            host.run(cuts)
            print(f"synchronous = {synchronous}: {host.figures}")
            figures[synchronous] = host.figures
    full, off = figures["FULL"], figures["OFF"]
    return 0 if not (full.lost or full.wrong or full.unreadable or full.refused) and off.lost else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
