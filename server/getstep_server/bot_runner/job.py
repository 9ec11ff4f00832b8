"""The job of the process that plays with a hosted program in one match.

A module of its own, without trio: a process is started for each program and match, and the import takes 50 ms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from getstep_server.programs.playing import Job as ProgramJob


@dataclass(frozen=True)
class Job:
    """The job of the process of a hosted program.

    ``token`` is that of its one login, and on no disk. ``first`` is True for the first player of the match.
    """

    program: ProgramJob
    team: int
    token: str = field(repr=False)
    host: str
    port: int
    match: int
    first: bool
    startup_seconds: float

    def as_json(self) -> bytes:
        """Return the job in one line."""
        return msgspec.json.encode(self, enc_hook=str) + b"\n"

    @staticmethod
    def from_json(line: bytes) -> Job:
        """Return the job in a line."""
        return msgspec.json.decode(line, type=Job, dec_hook=lambda kind, text: kind(text))
