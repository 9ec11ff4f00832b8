"""A published program: its source in a zip file, which anybody may download."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from getstep_server.errors import ConfigError, ProgramRefused
from getstep_server.limits import MAX_PROGRAM_BYTES

from .disk import disk_errors, write_durably
from .source import unzipped_source
from .store import ProgramStore

_TIME = (1980, 1, 1, 0, 0, 0)  # the same source makes the same file


def published_path(contest_folder: Path, team: int, number: int) -> Path:
    return contest_folder / "published" / f"{team}-{number}.zip"


def write_publication(store: ProgramStore, team: int, number: int, path: Path) -> None:
    """Write the source of a version to ``path``.

    Raises:
        ConfigError: the version was removed, or the disk cannot be written.
    """
    version = next((one for one in store.versions(team) if one.number == number), None)
    if version is None or version.removed:
        raise ConfigError(f"version {number} of the program of team {team} is to be published, and was removed")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for home, folders, files in os.walk(version.source):
            folders.sort()  # `os.walk` visits them in this order: the same source makes the same file
            for name in sorted(files):
                file = Path(home, name)
                if not file.is_symlink():
                    entry = zipfile.ZipInfo(file.relative_to(version.source).as_posix(), _TIME)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(entry, file.read_bytes())
    path.parent.mkdir(exist_ok=True)
    write_durably(path, packed.getvalue())


def check_publication(path: Path, sha256: str) -> str | None:
    """Return why a file does not hold the source with this SHA-256; None if it does.

    Raises:
        ConfigError: it cannot be read.
    """
    with disk_errors(path), path.open("rb") as file:
        data = file.read(2 * MAX_PROGRAM_BYTES)  # an archive of files that cannot be packed is larger than they are
    try:
        found = unzipped_source(path.name, data).sha256
    except ProgramRefused as error:
        return str(error)
    return None if found == sha256 else f"its files have the SHA-256 {found}, expected {sha256} by the records"
