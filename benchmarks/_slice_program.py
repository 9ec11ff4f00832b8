"""A program that `benchmarks.slices` measures, until it is killed.

``_slice_program.py KIND COUNTER MATCHES`` counts moves in the mapped file COUNTER. KIND is ``judge``,
``unrecorded`` (the judge without a journal), ``ping-pong`` or ``limit`` (a ping-pong with a time limit). It runs
with the modules of the checkout that it measures, perhaps an older one: so it uses few names of `benchmarks.judge`.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgpack

from benchmarks import judge
from getstep_server.events import Bus, MovePlayed

REPEATS = 400
"""Games of each pair, 400 turns each: minutes of play."""


def main(kind: str, counter: Path, matches: int) -> None:
    """Run the program."""
    moves = 0
    with counter.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 8)

    def played() -> None:
        nonlocal moves
        moves += 1
        if not moves % 16:
            shared[:] = moves.to_bytes(8, "little")

    judge._raise_limits(1000)
    if kind in ("ping-pong", "limit"):
        unpack = msgpack.unpackb

        def counted(data: bytes) -> Any:
            played()
            return unpack(data)

        msgpack.unpackb = counted
        judge._run(judge.ping_pong, 2 * matches, REPEATS * judge.TURNS, limit=kind == "limit")
    else:

        class CountingBus(Bus):
            """Counts the moves of the contest."""

            def __init__(self) -> None:
                super().__init__()
                self.subscribe(lambda event: played() if type(event) is MovePlayed else None)

        judge.Bus = CountingBus  # type: ignore[attr-defined]  # the class that the benchmark imports
        with judge.unrecorded() if kind == "unrecorded" else nullcontext():
            judge._run(judge.judged, matches, REPEATS, with_thinker=False)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
