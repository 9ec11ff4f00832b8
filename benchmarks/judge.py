"""The accuracy of the judge's clocks, and the memory of an idle connection.

``python -m benchmarks.judge`` measures both on the server as ``getstep-server run`` starts it. A bot thinks exactly
50 ms for each of its moves, among 8, 64, 256 and 1,000 other matches; its recorded times are compared with its own.
With ``--notes``, each answer of the other bots has 3.5 kB of notes, as many as a client may send.
Idle connections have logged in and wait for a contest that has not begun.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgpack

from benchmarks import _contender
from getstep.wire import MAX_SAY, NOTES_BYTES, checked_notes

THINK_MS = 50.0
MOVES = 100
"""Of the bot that is timed: 10 s of play."""

MOST_SEATS = 16

NOTES = {
    "say": "x" * MAX_SAY,
    "estimate": 0.25,
    "draw": [["region", list(range(8)) * 8, None, "orange"]] * 29,
    "tags": ["benchmark"],
}
"""The notes of a move: nearly NOTES_BYTES, most of them numbers, which cost the most to check."""


def clock(program: Path, matches: int, notes: bytes = b"") -> str:
    """Return the errors of the recorded times of the bot, as a line; the others send ``notes``."""
    pairs, seats = _contender.pairs_of(matches)
    exact, opponent = 2 * pairs + 1, 2 * pairs + 2
    with _contender.server("judge", matches, more_teams=2) as (judge, port):
        teams = [team for team in range(1, 2 * pairs + 1) for _ in range(seats)]
        socks = [_contender.log_in(judge, port, team, number) for number, team in enumerate([*teams, opponent])]
        command = [sys.executable, "-m", "benchmarks._bots", "exact", *map(str, (port, exact, THINK_MS, MOVES))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_contender.HERE) as bot:
            if os.geteuid() == 0:
                os.setpriority(os.PRIO_PROCESS, bot.pid, -15)  # a processor at once, or its own times are wrong
            with _contender.playing(judge, program, socks, notes):
                began, moves = time.monotonic(), judge.moves
                judge.wait_for(f"{MOVES} timed moves", bot.poll)
                rate = (judge.moves - moves) / (time.monotonic() - began)
                assert bot.stdout is not None
                true_ms = [float(line) for line in bot.stdout]
                # The bot ends as it sends its last move, which a busy judge reads and records later.
                told_ms = judge.wait_for(
                    f"{len(true_ms)} recorded moves",
                    lambda: (
                        found if len(found := recorded(judge.folder / "running", exact)) >= len(true_ms) else None
                    ),
                )[: len(true_ms)]
    errors = sorted(abs(told - true) for told, true in zip(told_ms, true_ms, strict=True))
    p99 = errors[int(0.99 * (len(errors) - 1))]
    with_notes = f" with {len(notes):,} bytes of notes" if notes else ""
    return (
        f"{matches} other matches, {rate:,.0f} moves/s{with_notes}: error of the recorded times of"
        f" {len(errors)} moves of {THINK_MS:g} ms: median {statistics.median(errors):.3f} ms, p99 {p99:.3f} ms,"
        f" worst {errors[-1]:.3f} ms"
    )


def checked_pack(notes: dict[str, Any]) -> bytes:
    """Return notes as msgpack, after the check of the wire: a server leaves out what is wrong."""
    assert checked_notes(notes) == notes
    packed: bytes = msgpack.packb(notes)
    assert 0.9 * NOTES_BYTES < len(packed) <= NOTES_BYTES
    return packed


def recorded(folder: Path, team: int) -> list[float]:
    """Return the thinking times of a team in its first match, which is not over, from the journal."""
    tag, player, found = "", 0, list[float]()
    for path in sorted(folder.glob("*.journal"), key=lambda path: path.stat().st_ctime):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, place, text = line.split(" ", 2)
            match, entry = place.rpartition("-")[0], json.loads(text)
            if not tag and team in (ids := [one["id"] for one in entry.get("teams", ())]):
                tag, player = match, ids.index(team)
            elif match == tag and entry.get("player") == player:
                found.append(entry["ms"])
    return found


def idle(count: int) -> str:
    """Return the resident memory of the server for each of ``count`` idle connections, as a line."""
    teams = -(-count // MOST_SEATS)
    # The contest waits for its first pair, which never comes.
    with _contender.server("judge", 1, more_teams=teams, more_seats=MOST_SEATS) as (judge, port):
        before = judge.resident_kib()
        socks = [_contender.log_in(judge, port, 3 + number // MOST_SEATS, number) for number in range(count)]
        after = judge.resident_kib()
        for sock in socks:
            sock.close()
    return f"{count:,} idle connections: {(after - before) / count:.1f} KiB each"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = [8, 64, 256, 1000]
    parser.add_argument(
        "--matches", type=int, nargs="+", default=sizes, metavar="N", help="at once (default: 8 64 256 1000)"
    )
    parser.add_argument("--idle", type=int, default=10_000, metavar="N", help="idle connections (default: 10000)")
    parser.add_argument("--notes", action="store_true", help="let the other bots note 3.5 kB in each move")
    parser.add_argument("--only", choices=["clock", "idle"], help="measure nothing else")
    args = parser.parse_args()
    _contender.begin()
    print(f"hop, Python {sys.version.split()[0]}, {os.cpu_count()} cores", flush=True)
    if args.only in (None, "clock"):
        with _contender.players_program() as program:
            for matches in args.matches:
                print(clock(program, matches, checked_pack(NOTES) if args.notes else b""), flush=True)
    if args.only in (None, "idle"):
        print(idle(args.idle))


if __name__ == "__main__":
    main()
