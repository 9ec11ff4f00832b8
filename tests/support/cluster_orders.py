"""Orders for a worker of a cluster: matches between two small Python programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from getstep_server.cluster.order import MatchOrder, ProgramSettings, ProgramSpec, encode
from getstep_server.cluster.program_files import name_of, pack
from getstep_server.programs.version import GETSTEP
from getstep_server.records.game import ProgramEntry, game_header
from getstep_server.records.match import Match
from tests.support.servers import make_contest
from tests.support.submitted_programs import GET_STEP

NEVER = """\
import time

def get_step(board, is_black):
    time.sleep(3600)
"""
"""A program that does not answer."""


def packed(folder: Path, source: str) -> bytes:
    """Return the packed files of a program of one file."""
    files = folder / name_of(source.encode())
    files.mkdir(exist_ok=True)
    (files / "program.py").write_text(source, encoding="utf-8")
    return pack(files)


def order_of(
    folder: Path,
    *sources: str,
    convention: str = GETSTEP,
    game: str = "longest_path",
    sandbox: str = "required",
    number: int = 1,
    deadline: float = 600,
    **event: Any,
) -> tuple[bytes, dict[str, bytes]]:
    """Return the order for a match between two programs, and their files."""
    contest = make_contest(folder, 2, {"game": game, "move_seconds": 20, **event})
    programs = [packed(folder, source) for source in sources or (GET_STEP, GET_STEP)]
    entries = [ProgramEntry(version=1, sha256=name_of(files)) for files in programs]
    match = Match(number, 1, 1, 1, 1, 2, game, contest.event(1).extreme_options()[0])
    specs = [
        ProgramSpec(
            number=1,
            convention=convention,
            command=("python", "program.py"),
            language="Python",
            files=name_of(files),
        )
        for files in programs
    ]
    settings = ProgramSettings(sandbox=sandbox, startup_seconds=60)  # type: ignore[arg-type]  # a test's own text
    order = MatchOrder(
        head=game_header(contest, match, 1, 1.7e9, entries),
        programs=tuple(specs),
        settings=settings,
        deadline_seconds=deadline,
    )
    return encode(order), {name_of(files): files for files in programs}
