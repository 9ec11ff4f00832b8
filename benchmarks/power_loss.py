"""What a power cut costs: a contest on a file system of its own, which is shut down hard in mid-tournament.

``python -m benchmarks.power_loss`` needs root on Linux: it mounts an ext4 image, and has the kernel drop what is
not on the disk yet, as the power does. Bots that know nothing of it write down, on another disk, what they were
told. After each cut the file system is mounted again, the records are verified and compared with that, and the
contest goes on.

With ``PRAGMA synchronous = OFF``, the control, results must be lost: else nothing was shown. The disk itself is
taken to keep its word: one that says that it has written what it has not is not simulated.

The server is stopped in the instant of the cut, as the power would do it. One that runs on would see what no power
cut can show: of the flushes that are under way while the kernel drops everything, some still report success.
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

from getstep_server import cli
from getstep_server.store import Store, StoreError
from getstep_server.verify import Finding
from tests.e2e.conftest import Program, Server, free_port, write_contest
from tests.e2e.ledger import OnRecord, audit, on_record, read_ledger

SHUTDOWN = 0x8004587D
"""The ioctl: EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)."""

NO_LOG_FLUSH = struct.pack("I", 2)
"""EXT4_GOING_FLAGS_NOLOGFLUSH: not even the file system's own journal is written any more."""

IMAGE_BYTES = 256 << 20
TEAMS = 8
THINK_SECONDS = 0.01
LONGEST_LIFE_SECONDS = 4.0

BOTS = Path(__file__).parents[1] / "tests" / "e2e" / "crash_bots.py"


@dataclass
class Figures:
    """What was seen with one setting."""

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
        """The power is gone: what is not on the disk never will be, and nothing can be written any more."""
        folder = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, NO_LOG_FLUSH)
        finally:
            os.close(folder)

    def write_back(self) -> None:
        """What the system does of itself after half a minute: journals that nobody flushes reach the disk, too."""
        subprocess.run(["sync", "--file-system", str(self.mounted)], check=True)

    def mount_again(self) -> None:
        """The power is back: the file system recovers by its own journal."""
        subprocess.run(["umount", str(self.mounted)], check=True)
        self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self._file), str(self.mounted)], check=True)


class Contest:
    """A contest on the image, its bots, and what they write down elsewhere."""

    def __init__(self, folder: Path, ledger: Path, server: Sequence[str]) -> None:
        self.folder = folder
        self.standing: set[int] = set()
        """Matches that were on record after the last cut."""
        self._ledger = ledger
        self._server = server
        self._lives: list[Server] = []
        self._heard = 0
        port = free_port()
        write_contest(folder, [""] * TEAMS, game="linkage", port=port, move_seconds=60.0, absent_seconds=600.0)
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
        """The one that runs."""
        return self._lives[-1]

    @property
    def over(self) -> bool:
        """Whether the bots have heard that it is."""
        return not self._bots.running

    def start(self) -> bool:
        """Start a server; whether it listens."""
        self._heard = len(read_ledger(self._ledger))
        self._lives.append(Server(self.folder, "--now", server=self._server))
        try:
            return self.server.port > 0
        except AssertionError:
            print(f"  it does not start:\n{self.server.output}")
            return False

    def freeze(self) -> None:
        """Stop the server where it is; a thread that waits for the disk will not get any further either."""
        self.server.signal(signal.SIGSTOP)
        threads = Path(f"/proc/{self.server._process.pid}/task")
        while any(_state(thread) not in "TD" for thread in threads.iterdir()):
            time.sleep(0.0001)

    def told(self) -> set[int]:
        """The matches whose end somebody heard of since the last start."""
        return {line["match"] for line in read_ledger(self._ledger)[self._heard :] if "told" in line}

    def wrong(self, record: OnRecord) -> list[str]:
        """What does not agree with what was announced, by the bots' ledger and the servers' lines."""
        found = audit(record, read_ledger(self._ledger), "".join(life.output for life in self._lives))
        return [*found.lost, *found.double]


class Host:
    """Contests on a disk that loses its power again and again."""

    def __init__(self, image: Image, scratch: Path, synchronous: str) -> None:
        self.figures = Figures()
        self._image = image
        self._scratch = scratch
        self._synchronous = synchronous
        self._dice = random.Random(synchronous)

    def suffer(self, cuts: int) -> None:
        """So many power cuts, in as many contests as they need."""
        server = ("-m", "benchmarks.power_loss", "serve", self._synchronous)
        while self.figures.cuts < cuts:
            self.figures.contests += 1
            name = f"{self._synchronous}-{self.figures.contests}"
            with Contest(self._image.mounted / name, self._scratch / f"{name}.ledger", server) as contest:
                while self.figures.cuts < cuts and self._live(contest):
                    pass

    def _live(self, contest: Contest) -> bool:
        """From a start to a cut; whether there is a contest to go on with."""
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
        except (StoreError, Finding) as error:
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
        figures.went_on += contest.server.output.count(" goes on after turn ")
        return True


def _state(thread: Path) -> str:
    """One letter: T is stopped, D an uninterruptible wait."""
    return (thread / "stat").read_text().rpartition(") ")[2][0]


def serve(synchronous: str, arguments: Sequence[str]) -> None:
    """The server, with another setting of SQLite's ``synchronous``."""
    opened = Store._open

    def _open(self: Store) -> None:
        opened(self)
        if synchronous != "FULL":
            self._db.execute(f"PRAGMA synchronous = {synchronous}")

    Store._open = _open  # type: ignore[method-assign]
    cli.main(arguments)


def main() -> int:
    """Measure and print; 1 if anything was lost that must not be, or the control lost nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=50, help="with the setting of the server (default: 50)")
    parser.add_argument("--control", type=int, default=10, help="with synchronous = OFF (default: 10)")
    parser.add_argument("--own-namespace", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        print("This needs Linux, root, and mkfs.ext4: it mounts a file system and shuts it down.")
        return 1
    if not args.own_namespace:  # or somebody else's copy of the mounts keeps the file system as it is
        again = [sys.executable, "-m", "benchmarks.power_loss", "--own-namespace", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "--mount", *again])
    return measure(args.cuts, args.control)


def measure(cuts_with_full: int, cuts_with_off: int) -> int:
    """The same, in a mount namespace of one's own."""
    figures = {}
    with tempfile.TemporaryDirectory(prefix="power-loss-") as folder, Image(Path(folder)) as image:
        for synchronous, cuts in (("FULL", cuts_with_full), ("OFF", cuts_with_off)):
            host = Host(image, Path(folder), synchronous)
            host.suffer(cuts)
            print(f"synchronous = {synchronous}: {host.figures}")
            figures[synchronous] = host.figures
    full, off = figures["FULL"], figures["OFF"]
    return 0 if not (full.lost or full.wrong or full.unreadable or full.refused) and off.lost else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
