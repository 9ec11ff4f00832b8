"""Writes pages: one file, or a folder of them that replaces what the same command wrote there before."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from getstep_server.errors import UsageError
from getstep_server.reports.kept_parts import Page

_LIST = ".getstep-pages.json"
"""The file that lists what was written, in its folder: only these files are replaced or deleted next time.

It has an object with the name of each file, and its digest, size and time of modification in ns.
"""


def page_target(path: Path, option: str) -> Path:
    """Return the file that a page is written to.

    Args:
        path: the file as the host named it.
        option: the option that names another file, for messages.

    Raises:
        UsageError: no file can be there.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise UsageError(f"{path}: a folder or a device, expected the name of a file")
    if not target.parent.is_dir():
        raise UsageError(f"{path}: {os.strerror(errno.ENOENT)}; write it somewhere else with {option}")
    return target


def write_page(path: Path, page: str, option: str) -> None:
    """Write a new file and rename it to ``path``, so that a browser that reloads never gets half of the page.

    Args:
        path: the file.
        page: its text.
        option: the option that names another file, for messages.

    Raises:
        UsageError: the file cannot be written.
    """
    target = page_target(path, option)
    new = target.with_name(f"{target.name}.new")
    try:
        new.write_text(page, encoding="utf-8", newline="\n")
        new.replace(target)  # in one step: a reader sees the old page or the new one
    except OSError as error:
        with suppress(OSError):  # on a disk that cannot be written there is nothing to remove
            new.unlink(missing_ok=True)
        raise UsageError(f"{path}: {error.strerror or error}; write it somewhere else with {option}") from error


def write_folder(folder: Path, pages: Iterable[Page], option: str) -> int:
    """Write pages into ``folder``, and delete those that an earlier call wrote and this one did not.

    The pages are first written to a new folder next to it. So a command that is interrupted leaves the old pages as
    they were, and old and new pages are mixed only while files are renamed. Other files in the folder stay, and
    so do pages that were written with the same digest and not changed since.

    Args:
        folder: exists and has been written by this function, or is empty, or does not exist.
        pages: the files.
        option: the option that names another folder, for messages.

    Returns:
        The number of files.

    Raises:
        UsageError: the folder cannot be written, or has files that this command did not write.
    """
    target = folder.resolve()
    new = target.with_name(f".{target.name}.new")
    try:
        before = _written(target)
        if before is None:
            raise UsageError(
                f"{folder}: not empty, and not written by this command; name a new folder with {option}"
            )
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        now = {page.name: _unchanged(target, before, page) or _write(new, page) for page in pages}
        _write(new, Page(_LIST, partial(json.dumps, now)))
        for name in [*(name for name, state in now.items() if state != before.get(name)), _LIST]:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (new / name).replace(path)  # a rename, as both are on one disk: a reader never gets half of a page
        for name in before.keys() - now.keys():
            _delete(target, name)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}; write it somewhere else with {option}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return len(now)


def _written(folder: Path) -> dict[str, list[Any]] | None:
    """Return the files that an earlier call wrote into a folder; None if it has other files."""
    if not folder.exists():
        return {}
    try:
        listed = json.loads((folder / _LIST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None if any(folder.iterdir()) else {}
    except ValueError:
        return None
    return listed if isinstance(listed, dict) else None


def _unchanged(folder: Path, before: Mapping[str, list[Any]], page: Page) -> list[Any] | None:
    """Return the entry of a page in the list if its file is what would be written again."""
    state = before.get(page.name)
    if not page.digest or state is None:
        return None
    try:
        return state if state == _state(folder / page.name, page.digest) else None
    except OSError:  # somebody has deleted it
        return None


def _write(folder: Path, page: Page) -> list[Any]:
    """Write a page, and return its entry in the list."""
    path, content = folder / page.name, page.content()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return _state(path, page.digest)


def _state(path: Path, digest: str) -> list[Any]:
    stat = path.stat()
    return [digest, stat.st_size, stat.st_mtime_ns]


def _delete(folder: Path, name: str) -> None:
    """Delete a file of an earlier call; a list that names a file elsewhere has been changed by somebody."""
    path = (folder / name).resolve()
    if path.is_relative_to(folder):
        path.unlink(missing_ok=True)  # somebody may have deleted it already
        with suppress(OSError):  # other files are in it
            path.parent.rmdir()
