"""The files that a program leaves between its turns, kept on disk so that a match is resumed with them.

Theory of operation
-------------------

    programs/.kept/MATCH-ATTEMPT-TEAM-RUN/TURN-SHA256/    the files after one of the two newest turns

A convention that starts a process in each turn lets the program leave files for its next turn. After each turn
the process that plays with it makes a copy (`keep`), and sends the answer only then. So each turn in the journal
has its copy. A server that is killed may leave a newer copy, of a turn that is not in the journal: that turn is
asked again, with the copy of the turn before it. Hence two copies, and `find` takes the one of a given turn.

A copy appears by one rename. The kill of a process loses nothing that is written, but a power cut may: the name has
the hash of all files, and `find` returns only what still has it. A match without its copy is void and played again.

A process may outlive its server for a moment. So a server that resumes a match first renames the folder to the next
RUN (`take_over`): what the old process does with the path then fails.

Each copy has the limits of the sandbox. The folder goes with its match; `clean` deletes what a kill has left.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from hashlib import file_digest, sha256
from pathlib import Path

from getstep_server.sandbox import Folder, Limits

COPIES = 2
"""The copies that are kept: of the last turn, and of the turn before it."""

_NEW = ".new"


def keep(source: Path, folder: Path, turn: int, limits: Limits) -> None:
    """Copy the files in ``source`` to ``folder``, which exists, as those after ``turn``.

    Raises:
        FilesError: they break a limit.
        OSError: the disk cannot be written, or another server has taken over the folder.
    """
    new = folder / _NEW
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    # uid None: the copy belongs to the server
    files = Folder(os.open(source, os.O_RDONLY | os.O_DIRECTORY), limits.file_bytes, limits.files, None, inner="")
    try:
        files.save(new)
    finally:
        files.close()
    for path in folder.glob(f"{turn}-*"):  # this turn was asked before the server was killed
        shutil.rmtree(path)
    new.rename(folder / f"{turn}-{_hash(new)}")  # in one step: what has the name is complete, and its hash says so
    turns = sorted({int(path.name.partition("-")[0]) for path in folder.glob("*-*")})
    for old in turns[:-COPIES]:  # the turn that the server has on record may be the one before the latest
        for path in folder.glob(f"{old}-*"):
            shutil.rmtree(path)


def place(root: Path, match: int, attempt: int, team: int) -> Path:
    """Return the folder for the files of a program in an attempt at a match, empty."""
    folder = root / f"{match}-{attempt}-{team}-1"
    forget(root, match, attempt, team)
    folder.mkdir(parents=True)
    return folder


def find(root: Path, match: int, attempt: int, team: int, turn: int) -> Path | None:
    """Return the folder with the files after a turn; None if they are not there as they were."""
    for folder in root.glob(f"{match}-{attempt}-{team}-*"):
        for path in folder.glob(f"{turn}-*"):
            with contextlib.suppress(OSError):  # they cannot be read any more
                if path.name == f"{turn}-{_hash(path)}":
                    return path
    return None


def take_over(found: Path) -> Path:
    """Take a folder that `find` has returned from the process of an earlier run, and return its new path.

    Raises:
        OSError: it cannot be renamed.
    """
    name, _, run = found.parent.name.rpartition("-")
    return found.parent.rename(found.parent.with_name(f"{name}-{int(run) + 1}")) / found.name


def forget(root: Path, match: int, attempt: int, team: int) -> None:
    """Delete what is kept for a program in an attempt at a match."""
    for path in root.glob(f"{match}-{attempt}-{team}-*"):
        shutil.rmtree(path, ignore_errors=True)


def clean(root: Path, attempts: Collection[tuple[int, int]]) -> None:
    """Delete what is kept for other attempts at matches than these (match and attempt)."""
    names = {f"{match}-{attempt}" for match, attempt in attempts}
    for path in root.glob("*"):
        if "-".join(path.name.split("-")[:2]) not in names:
            shutil.rmtree(path, ignore_errors=True)


def _hash(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all files and folders. Raises OSError."""
    total = sha256()
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        if path.is_dir():
            content = b"folder"
        else:
            with path.open("rb") as file:
                content = file_digest(file, "sha256").digest()
        # with the length: no name and content can be read as others
        total.update(b"%d:%b%b" % (len(name), name, content))
    return total.hexdigest()
