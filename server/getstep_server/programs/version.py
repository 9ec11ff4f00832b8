"""One version of a team's program: what its folder has, and the file that describes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from getstep.conventions import CONVENTIONS
from getstep.wire import MAX_TEAM, MAX_TEXT
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_PROGRAM_DESCRIPTION_BYTES
from getstep_server.text import escape_control_chars
from getstep_server.validation import Model, ValidationError, validated

DESCRIPTION = "program.json"
REMOVED = "removed.json"
"""The name of the description of a version whose files were removed: records still name it."""

GETSTEP = "getstep"
"""The convention of a Python file with ``get_step``, which plays every game.

The others are in `getstep.conventions`.
"""

ALL_CONVENTIONS = (GETSTEP, *CONVENTIONS)
"""The names of all conventions."""


class Description(Model, frozen=True, kw_only=True):
    """The content of program.json.

    ``command`` starts the program in its folder, before the arguments of its convention. Its first word may be
    ``python``: that is the Python which runs the server. ``added`` is a time in UTC, ``trial`` the result of the
    trial game in words.
    """

    team: Annotated[int, Meta(ge=0, le=MAX_TEAM)]
    number: Annotated[int, Meta(ge=1)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    convention: str
    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    language: str
    added: str
    added_by: str
    trial: str = ""
    id_line: Annotated[str, Meta(max_length=MAX_TEXT)] = ""


@dataclass(frozen=True)
class ProgramVersion:
    """A version of a team's program. Its files never change.

    Attributes:
        team: the team's id.
        number: from 1 for each team; no number is given twice.
        sha256: of its source, in hexadecimal digits; see `getstep_server.programs.source`.
        convention: a name of `getstep.conventions.CONVENTIONS`, or `GETSTEP`.
        command: starts it in a copy of ``files``, before the arguments of its convention; see `Description`.
        folder: has ``source`` and ``files``.
        language: for people.
        added: when, as ISO 8601 in UTC.
        added_by: who, for people.
        trial: the result of the trial game, for people.
        id_line: of a program of linkage: its name, author and version in its own words; empty if it has none.
        removed: True if its files are gone.
    """

    team: int
    number: int
    sha256: str
    convention: str
    command: tuple[str, ...]
    folder: Path
    language: str
    added: str
    added_by: str
    trial: str = ""
    id_line: str = ""
    removed: bool = False

    @property
    def files(self) -> Path:
        """The folder that a game starts from; it is copied for each game."""
        return self.folder / "files"

    @property
    def source(self) -> Path:
        return self.folder / "source"


def read_version(folder: Path) -> ProgramVersion | None:
    """Return the version in a folder; None if the folder has no description.

    Raises:
        ConfigError: the description cannot be read, or is not what was written.
    """
    for name in (DESCRIPTION, REMOVED):
        path = folder / name
        try:
            with path.open("rb") as file:
                data = file.read(MAX_PROGRAM_DESCRIPTION_BYTES + 1)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error
        return _parsed(path, data, removed=name == REMOVED)
    return None


def description_bytes(description: Description) -> bytes:
    """Return the content of a description's file."""
    return msgspec.json.format(msgspec.json.encode(description)) + b"\n"


def _parsed(path: Path, data: bytes, *, removed: bool) -> ProgramVersion:
    if len(data) > MAX_PROGRAM_DESCRIPTION_BYTES:
        raise ConfigError(f"{path}: longer than {MAX_PROGRAM_DESCRIPTION_BYTES} bytes; remove {path.parent}")
    try:
        found = validated(Description, msgspec.json.decode(data))
    except (ValidationError, ValueError) as error:  # a DecodeError is a ValueError
        what = escape_control_chars(str(error))
        raise ConfigError(f"{path}: not a program's description: {what}; remove {path.parent}") from error
    folder = path.parent
    if folder.name != str(found.number) or folder.parent.name != str(found.team):
        raise ConfigError(
            f"{path}: it describes version {found.number} of team {found.team}; put the folder back where it was"
        )
    return ProgramVersion(
        found.team,
        found.number,
        found.sha256,
        found.convention,
        found.command,
        folder,
        found.language,
        found.added,
        found.added_by,
        found.trial,
        found.id_line,
        removed,
    )
