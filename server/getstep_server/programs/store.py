"""The versions of the teams' programs, in the contest's folder.

Theory of operation
-------------------

    programs/TEAM/NUMBER/     one version, which never changes: program.json, source/, files/
    programs/TEAM/current     the number of the version in use
    programs/TEAM/.new/       the version that is built now, or was when its process was killed
    programs/TEAM/.adding     locked for as long as a version is built and tried, which takes minutes
    programs/TEAM/.lock       locked while a number is given or chosen, which takes milliseconds

A version appears by one rename of a folder whose files are on disk, and ``current`` is replaced as a whole. So a
reader, which takes no lock, sees a whole version or none, and a process that is killed leaves only ``.new``, which
the next `ProgramStore.adding` deletes.

Numbers are never given twice, because records name them. A removed version keeps its folder and its description,
under another name; without its files it is some hundred bytes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from getstep_server.errors import ConfigError, UsageError
from getstep_server.file_lock import lock
from getstep_server.limits import (
    MAX_PROGRAM_VERSIONS,
    PROGRAM_LOCK_SECONDS,
    PROGRAM_VERSIONS_KEPT,
    TEAM_PROGRAM_BYTES,
)

from .disk import delete_tree, disk_error, disk_errors, sync, sync_tree, tree_bytes, write_durably
from .version import DESCRIPTION, REMOVED, Description, ProgramVersion, description_bytes, read_version

_CURRENT, _NEW, _ADDING, _LOCK = "current", ".new", ".adding", ".lock"
_TRY_SECONDS = 0.02  # who holds the lock needs some milliseconds


class ProgramStore:
    """The versions of all teams' programs in a contest's folder. It keeps nothing in memory.

    Args:
        contest_folder: it need not have programs.
    """

    def __init__(self, contest_folder: Path) -> None:
        self.folder = contest_folder / "programs"

    # --- reading ---

    def teams(self) -> list[int]:
        """Return the ids of the teams that have a program in use, in order.

        Raises:
            ConfigError: the folder cannot be read.
        """
        return [team for team in self._numbers(self.folder) if self._chosen(team) is not None]

    def in_use(self, team: int) -> int | None:
        """Return the number of the version that a team uses, or None if it has no program.

        Raises:
            ConfigError: it cannot be read.
        """
        return self._chosen(team)

    def versions(self, team: int) -> list[ProgramVersion]:
        """Return a team's versions in the order of their numbers, also those whose files were removed.

        Raises:
            ConfigError: a version cannot be read.
        """
        home = self._home(team)
        found = [read_version(home / str(number)) for number in self._numbers(home)]
        return [version for version in found if version is not None]

    def current(self, team: int) -> ProgramVersion | None:
        """Return the version that a team uses, or None if it has no program.

        Raises:
            ConfigError: it cannot be read, or its files are gone.
        """
        number, before = self._chosen(team), None
        while number is not None and number != before:
            version = read_version(self._home(team) / str(number))
            if version is not None and not version.removed:
                return version
            # Another process may have chosen another version and removed this one: look once more.
            number, before = self._chosen(team), number
        if number is None:
            return None
        raise ConfigError(f"{self._home(team) / str(number)}: this version is in use, and its files are gone")

    def _chosen(self, team: int) -> int | None:
        path = self._home(team) / _CURRENT
        try:
            # whatever is in the file, the message stays short
            text = path.read_bytes()[:100].decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_error(error, path) from error
        if not _is_number(text):
            raise ConfigError(f"{path}: {text!r}, expected the number of a version")
        return int(text)

    def _home(self, team: int) -> Path:
        return self.folder / str(team)

    @staticmethod
    def _numbers(folder: Path) -> list[int]:
        try:
            return sorted(int(path.name) for path in folder.iterdir() if _is_number(path.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_error(error, folder) from error

    # --- choosing ---

    def use(self, team: int, number: int) -> ProgramVersion:
        """Make a version the one that plays from the team's next match on, and return it.

        Raises:
            UsageError: the team has no such version, or its files were removed.
            ConfigError: the disk cannot be written.
        """
        with self._locked(team):
            version = self._one(team, number)
            self._choose(team, number)
        return version

    def stop(self, team: int) -> None:
        """Let the team's bots play from the network again. All versions stay.

        Raises:
            UsageError: the team has no program in use.
            ConfigError: the disk cannot be written.
        """
        with self._locked(team):
            path = self._home(team) / _CURRENT
            try:
                # one call that is done or not done, also in a crash; the versions stay
                path.unlink()
            except FileNotFoundError:
                raise UsageError(f"team {team} has no program in use") from None
            except OSError as error:
                raise disk_error(error, path) from error

    def remove(self, team: int, number: int) -> ProgramVersion:
        """Delete the files of a version, and return it. Its description stays, because records name it.

        Raises:
            UsageError: the team has no such version, or it is in use.
            ConfigError: the disk cannot be written.
        """
        with self._locked(team):
            version = self._one(team, number)
            if self._chosen(team) == number:
                raise UsageError(f"version {number} is in use; choose another version first")
            _delete_files(version.folder)
        return version

    def _one(self, team: int, number: int) -> ProgramVersion:
        version = read_version(self._home(team) / str(number))
        if version is None or version.removed:
            there = [str(one.number) for one in self.versions(team) if not one.removed]
            expected = f"one of: {', '.join(there)}" if there else "a program; the team has none yet"
            gone = " was removed" if version else ": no such version"
            raise UsageError(f"version {number}{gone}, expected {expected}")
        return version

    def _choose(self, team: int, number: int) -> None:
        write_durably(self._home(team) / _CURRENT, f"{number}\n".encode())

    # --- adding ---

    @contextlib.contextmanager
    def adding(self, team: int) -> Iterator[Path]:
        """Yield an empty folder for a new version; it is deleted afterwards, unless it was stored.

        Raises:
            UsageError: a program of this team is being added already.
            ConfigError: the disk cannot be written.
        """
        home = self._home(team)
        with disk_errors(home):
            home.mkdir(parents=True, exist_ok=True)
        new = home / _NEW
        with _open_lock(home / _ADDING) as file:
            try:
                lock(file)
            except OSError:
                raise UsageError(
                    f"a program of team {team} is being added by another process; try again when it is done"
                ) from None
            with disk_errors(new):
                delete_tree(new)  # of a process that was killed
                new.mkdir()
            try:
                yield new
            finally:
                delete_tree(new)

    def store(self, team: int, new: Path, description: Description, *, use: bool = True) -> ProgramVersion:
        """Give the folder of `adding` a number, and keep it as a version.

        Args:
            team: the team's id.
            new: the folder that `adding` has yielded, with ``source`` and ``files``.
            description: of the version; its number is replaced.
            use: whether the version plays from the next match on.

        Raises:
            UsageError: the team has too many versions.
            ConfigError: the disk cannot be written.
        """
        home = self._home(team)
        with self._locked(team), disk_errors(home):
            number = max(self._numbers(home), default=0) + 1
            if number > MAX_PROGRAM_VERSIONS:
                raise UsageError(f"team {team} has added {number - 1} versions, which is the most")
            (new / DESCRIPTION).write_bytes(description_bytes(replace(description, team=team, number=number)))
            sync_tree(new)  # before the rename: a version that can be seen is complete on disk
            new.rename(home / str(number))
            sync(home)
            if use:
                self._choose(team, number)
            there = [version for version in self.versions(team) if not version.removed]
            size = 0
            for kept, version in enumerate(reversed(there)):  # the latest first
                size += tree_bytes(version.folder)
                too_many = kept >= PROGRAM_VERSIONS_KEPT or (kept > 0 and size > TEAM_PROGRAM_BYTES)
                if too_many and version.number != self._chosen(team):
                    _delete_files(version.folder)
        return self._one(team, number)

    @contextlib.contextmanager
    def _locked(self, team: int) -> Iterator[None]:
        """Hold the lock of a team's numbers, waiting for another process that has it."""
        home = self._home(team)
        if not home.is_dir():
            raise UsageError(f"team {team} has no program yet")
        with _open_lock(home / _LOCK) as file:
            until = time.monotonic() + PROGRAM_LOCK_SECONDS
            while True:
                try:
                    lock(file)
                    break
                except OSError:
                    if time.monotonic() > until:
                        raise ConfigError(
                            f"{home / _LOCK}: another process has locked it; is it stopped?"
                        ) from None
                    time.sleep(_TRY_SECONDS)  # `lock` does not wait: a stopped process could hold it for ever
            self._finish_removals(home)
            yield

    def _finish_removals(self, home: Path) -> None:
        """Delete the files of versions whose removal a crash has interrupted."""
        for number in self._numbers(home):
            folder = home / str(number)
            if (folder / REMOVED).exists() and ((folder / "source").exists() or (folder / "files").exists()):
                _delete_files(folder)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 20 and str(int(text)) == text


@contextlib.contextmanager
def _open_lock(path: Path) -> Iterator[int]:
    with disk_errors(path):
        # not O_EXCL: the file stays, and a lock ends with its process
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield file
    finally:
        os.close(file)  # this releases the lock


def _delete_files(folder: Path) -> None:
    """Delete the files of a version; from the first step on it is a removed one."""
    with disk_errors(folder):
        if (folder / DESCRIPTION).exists():
            # the one step that decides: a crash after it is finished by `_finish_removals`
            (folder / DESCRIPTION).replace(folder / REMOVED)
            sync(folder)
        for name in ("source", "files"):
            delete_tree(folder / name)
