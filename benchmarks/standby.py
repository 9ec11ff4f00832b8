"""Losses of a host in mid-contest: another one takes over, and the bots' ledger is compared with its records.

``python -m benchmarks.standby --losses 50`` needs root on Linux: each computer is a network namespace, and a bridge
is the switch. A host plays, a follower on the next computer copies it, and the bots are on another one; they search
the network for the contest. At a random moment the host is lost:

- killed: SIGKILL to its server;
- hangs: SIGSTOP to its server, which goes on (SIGCONT) once another host plays;
- cut off: its cable is pulled, and plugged in again once another host plays.

The follower takes over by itself. The benchmark counts the results that the lost host had announced to a bot and
that are not in the new records: the copy was behind, and they are played again. With ``--strict`` that is an error:
no host announces a result before its follower has it. With ``--postgres`` all hosts have their records in one
PostgreSQL, on a computer of its own: the follower waits until the lost host has no lock there, and a result that is
lost is an error. With ``--second``, two followers take over by themselves, and it is an error if one goes on
beside the other. It is an error, too, if a lost host goes on or starts again,
if a bot was told a result that neither counts nor was lost so, if play does not go on within PLAY_SECONDS, or if
the records at the end do not fit.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from getstep_server.config.database_address import PostgresAddress
from getstep_server.config.host_key import bearer_key
from getstep_server.storage.store import Store
from tests.support.contests import make_contest
from tests.support.ledger import audit, on_record, read_ledger
from tests.support.postgres import PostgresServer
from tests.support.processes import Program

TEAMS = 8
LEGS = 6
"""168 matches: the contest lasts for longer than it takes to lose all hosts but one."""

THINK_SECONDS = 0.1
SILENCE_SECONDS = 5
"""For `--take-over-after`: the least that it takes."""

HOSTS = 6
"""The computers of a contest: one is lost after another."""

DATABASE, BOTS = 90, 100
SECOND = 50
"""With ``--second``, the second follower of computer 1 is computer 51, and so on."""

PLAY_SECONDS = {"killed": 30.0, "hangs": 45.0, "cut off": 45.0}
"""From the loss until the bots were asked TEAMS questions. A server is found to hang after 12 to 17 s, and killed
5 s after the take-over. A bot notices a pulled cable after 20 s."""

LONGEST_LIFE_SECONDS = 6.0
WAIT_SECONDS = 120.0
"""For a program that is watched: the machine may be busy."""


@dataclass
class Figures:
    """The counts of all losses; ``seconds`` by kind, from the loss to the next question to a bot."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in PLAY_SECONDS})
    contests: int = 0
    announced: int = 0
    lost: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def losses(self) -> int:
        return sum(map(len, self.seconds.values()))

    def __str__(self) -> str:
        lines = [
            f"{self.losses} losses in {self.contests} contests, {self.announced} results announced before them:"
            f" {self.lost} were not in the copy, and were played again; {len(self.errors)} errors"
        ]
        for kind, seconds in self.seconds.items():
            if seconds:
                middle, longest = statistics.median(seconds), max(seconds)
                lines.append(f"{kind}: {len(seconds)}, play went on after {middle:.1f} s (median), {longest:.1f} s")
        return "\n".join(lines + self.errors)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def address(number: int) -> str:
    """Return the address of a computer; the bots have number BOTS, and PostgreSQL has DATABASE."""
    return f"10.77.0.{number}"


def connect_computers() -> None:
    """Make the computers and the switch between them, in the network namespace of this process."""
    _ip("link", "add", "switch", "type", "bridge", "mcast_snooping", "0")
    _ip("link", "set", "switch", "up")
    _ip("address", "add", f"{address(254)}/24", "dev", "switch")  # for this process, which reads the records
    seconds = range(SECOND + 1, SECOND + HOSTS + 1)
    for number in (*range(1, HOSTS + 1), *seconds, DATABASE, BOTS):
        name = f"c{number}"
        _ip("netns", "add", name)
        _ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "cable", "netns", name)
        _ip("link", "set", f"to-{name}", "master", "switch", "up")
        _ip("-n", name, "address", "add", f"{address(number)}/24", "dev", "cable")
        _ip("-n", name, "link", "set", "lo", "up")
        _plug(number)


def _plug(number: int, state: str = "up") -> None:
    _ip("-n", f"c{number}", "link", "set", "cable", state)
    if state == "up":
        _ip("-n", f"c{number}", "route", "replace", "default", "dev", "cable")


class Contest:
    """A contest, its bots, and its hosts, of which the last one plays."""

    def __init__(
        self,
        scratch: Path,
        figures: Figures,
        dice: random.Random,
        *,
        strict: bool,
        second: bool,
        database: PostgresAddress | None,
    ) -> None:
        self._scratch, self._figures, self._dice, self._strict = scratch, figures, dice, strict
        self._second = second
        self._database = None if database is None else f"{database.url}#{database.schema}"
        self._ledger = scratch / "ledger"
        self._programs: list[Program] = []
        self._told: dict[int, set[int]] = {}
        """By host, the matches whose results it had announced before it was lost."""
        self._over = False
        """True if the contest was over when its host was lost: nobody takes over, and no bot gets a goodbye."""
        self.number = 1
        make_contest(
            self.folder(1),
            TEAMS,
            on_disk=True,
            patient=True,
            event={"game": "linkage", "move_seconds": 60.0, "settings": {"legs": LEGS}},
            server={
                "host": "0.0.0.0",
                "port": 7777,
                "standby": "strict" if strict else "optional",
                **({} if self._database is None else {"database": self._database}),
            },
            start={"absent_seconds": 600.0},
        )
        self._environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "GETSTEP_HOST_KEY": bearer_key(self.folder(1)),
            "GETSTEP_LOGIN_FILE": str(scratch / "no-login.json"),
        }
        self.server = self._serve(1)
        self.server.expect("^Listening on", seconds=WAIT_SECONDS)
        words = ("7777", str(self._ledger), str(TEAMS), str(THINK_SECONDS), address(1))
        self.bots = self._start(BOTS, "-m", "tests.support.scripts.standby_bots", *words)

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self._programs:
            with contextlib.suppress(ProcessLookupError):
                program.signal(signal.SIGCONT)
            program.end()
        for number in range(1, HOSTS + 1):
            _plug(number)

    def folder(self, number: int) -> Path:
        return self._scratch / f"host-{number}"

    def lose(self, kind: str) -> bool:
        """Lose the host; return True if the contest goes on, and there is another computer."""
        old, lost = self.number, self.server
        where = [address(old), str(self.folder(old + 1)), "--take-over-after", str(SILENCE_SECONDS)]
        where += [] if self._database is None else ["--database", self._database]
        follower = self._start(old + 1, "-m", "getstep_server", "follow", *where)
        try:
            follower.expect("^The copy is complete", seconds=WAIT_SECONDS)
        except AssertionError:
            if not lost.running:
                return False
            raise
        second: Program | None = None
        if self._second:
            where[1] = str(self.folder(SECOND + old))
            second = self._start(SECOND + old, "-m", "getstep_server", "follow", *where)
            second.expect("^The copy is complete|the connection ended", seconds=WAIT_SECONDS)
        if self._strict and old > 1 and lost.running:
            words = ("standby", str(self.folder(old)), "--strict", "on", "--why", "a follower is here", "--yes")
            subprocess.run([sys.executable, "-m", "getstep_server", *words], check=True, stdout=subprocess.DEVNULL)
        time.sleep(self._dice.uniform(0, LONGEST_LIFE_SECONDS))
        if not (lost.running and self.bots.running):
            return False
        if kind == "cut off":
            _plug(old, "down")
        else:
            lost.signal(signal.SIGKILL if kind == "killed" else signal.SIGSTOP)
        began, asked = time.monotonic(), len(read_ledger(self._ledger))
        self._told[old] = {line["match"] for line in read_ledger(self._ledger) if "told" in line}
        follower.expect("this computer takes over|The contest is over", seconds=WAIT_SECONDS)
        if "The contest is over" in follower.output:
            self.number, self._over = old + 1, True
            return False
        while len([line for line in read_ledger(self._ledger)[asked:] if "asked" in line]) < TEAMS:
            if time.monotonic() - began > WAIT_SECONDS or not self.bots.running:
                break
            time.sleep(0.05)
        seconds = time.monotonic() - began
        self._figures.seconds[kind].append(seconds)
        self._figures.announced += len(self._told[old])
        print(f"  {kind}: play went on after {seconds:.1f} s", flush=True)
        if seconds > PLAY_SECONDS[kind]:
            self._fail(f"{kind}: play went on after {seconds:.1f} s\n{follower.output}")
        if kind == "cut off":
            _plug(old)
        elif kind == "hangs" and lost.running:
            lost.signal(signal.SIGCONT)
        self._check_stopped(kind, lost, old, follower)
        if second is not None:
            self._check_second(second, follower)
        self.number, self.server = old + 1, follower
        return old + 1 < HOSTS

    def finish(self) -> None:
        """Wait for the end, and compare what was announced with the records."""
        self._figures.contests += 1
        if not self._over and (self.server.wait(seconds=10 * WAIT_SECONDS) or self.bots.wait(seconds=WAIT_SECONDS)):
            self._fail(f"the contest has not ended well:\n{self.server.output}")
        record = on_record(self.folder(self.number))
        missing = set[int]()
        if self._database is None:  # with one, all hosts have the same records, and the audit finds what is missing
            lines = _lines(self.folder(self.number))
            for number, told in self._told.items():
                before = _lines(self.folder(number))
                missing |= {match for match in told if not before.get(match, set()) & lines.get(match, set())}
        self._figures.lost += len(missing)
        if self._strict and missing:
            self._fail(f"announced and lost: matches {sorted(missing)}")
        found = audit(record, read_ledger(self._ledger), "")
        # a bot may be told twice of a match that was lost and played again, and be asked again for a lost turn
        wrong = [text for text in found.lost if not any(f"'match': {match}," in text for match in missing)]
        wrong += [text for text in found.double if not any(text.endswith(f", {match})") for match in missing)]
        for text in wrong:
            self._fail(text)

    def _check_stopped(self, kind: str, lost: Program, number: int, new: Program) -> None:
        """Check that the lost host stops, and that it does not start again."""
        try:
            lost.wait(seconds=WAIT_SECONDS)
            again = self._serve(number)
            again.wait(seconds=WAIT_SECONDS)
        except AssertionError as error:
            if not new.running:
                return  # the contest was over before: nobody was there to tell it, and no bot to play with it
            self._fail(f"{kind}: the lost host goes on: {error}")
            return
        if "has taken over this contest" not in again.output or "[" in again.output:
            self._fail(f"{kind}: the lost host starts again and says\n{again.output}")

    def _check_second(self, second: Program, new: Program) -> None:
        """Check that the second follower follows the first one, or has stopped after its own take-over."""
        try:
            found = second.expect(
                "this computer follows that one|has taken over this contest", seconds=WAIT_SECONDS
            )
            print(f"  the second follower: {found[0]}", flush=True)
        except AssertionError as error:
            if new.running:
                self._fail(f"the second follower goes on: {error}")
        second.end()

    def _serve(self, number: int) -> Program:
        return self._start(number, "-m", "getstep_server", "run", str(self.folder(number)), "--now", "--plain")

    def _start(self, number: int, *words: str) -> Program:
        command = ["ip", "netns", "exec", f"c{number}", sys.executable, *words]
        self._programs.append(Program(command, environ=self._environment))
        return self._programs[-1]

    def _fail(self, text: str) -> None:
        print(text, flush=True)
        self._figures.errors.append(text.splitlines()[0])


def _lines(folder: Path) -> dict[int, set[bytes]]:
    """Return the records of each match in a folder."""
    found: dict[int, set[bytes]] = {}
    with Store(folder / "contest.db", reading=True) as store:
        for record in store.records():
            if record.number is not None:
                found.setdefault(record.number, set()).add(record.line)
    return found


def measure(losses: int, kinds: Sequence[str], *, strict: bool, second: bool, postgres: bool) -> int:
    """Measure and print; return 1 if there was an error."""
    figures, dice = Figures(), random.Random(1)
    connect_computers()
    enter = ("ip", "netns", "exec", f"c{DATABASE}")
    with (
        tempfile.TemporaryDirectory(prefix="standby-") as folder,
        PostgresServer(address(DATABASE), enter) if postgres else contextlib.nullcontext() as server,
    ):
        while figures.losses < losses:
            scratch = Path(folder) / f"contest-{figures.contests + 1}"
            scratch.mkdir()
            database = None if server is None else server.address()
            with Contest(scratch, figures, dice, strict=strict, second=second, database=database) as contest:
                while figures.losses < losses and contest.lose(kinds[figures.losses % len(kinds)]):
                    pass
                contest.finish()
    print(figures)
    return 1 if figures.errors else 0


def main() -> int:
    """Measure in namespaces of its own; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=50, help="(default: 50)")
    parser.add_argument("--kind", choices=PLAY_SECONDS, help="only losses of this kind")
    more = parser.add_mutually_exclusive_group()
    more.add_argument("--strict", action="store_true", help="results wait for the follower")
    more.add_argument("--second", action="store_true", help="two followers, which take over by themselves")
    more.add_argument("--postgres", action="store_true", help="all hosts have their records in one PostgreSQL")
    parser.add_argument("--own-namespace", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if sys.platform != "linux" or os.geteuid() != 0:
        print("This needs Linux and root: it makes network namespaces.")
        return 1
    if not args.own_namespace:  # all that is made is gone with this process and its children
        again = [sys.executable, "-m", "benchmarks.standby", "--own-namespace", *sys.argv[1:]]
        inner = 'mount -t tmpfs standby /run && ip link set lo up && exec "$@"'
        os.execvp("unshare", ["unshare", "--net", "--mount", "sh", "-c", inner, "sh", *again])
    kinds = [args.kind] if args.kind else list(PLAY_SECONDS)
    return measure(args.losses, kinds, strict=args.strict, second=args.second, postgres=args.postgres)


if __name__ == "__main__":
    sys.exit(main())
