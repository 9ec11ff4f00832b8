"""Reads matches that were running when the server stopped from the journal."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from .journal import Journal, JournalError, JournalLine, Segment, read, segments, tag_of, writer_of_path


def left_running(folder: Path, recorded: Collection[tuple[int, int]]) -> set[int]:
    """Return the numbers of the matches that are in the journal in ``folder`` and not on record.

    Raises:
        JournalError: a line is damaged or missing.
        OSError: a file cannot be read.
    """
    left = list(all_segments(folder, recorded))
    return {int(tag.partition(b"-")[0]) for tag in by_game(left)}


def running_records(folder: Path, recorded: Collection[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield what the journal in ``folder`` has of each match that is not on record, in the form of a game's record.

    The fields of the result are missing. A passed turn at the end may be missing, too: a server that resumes the
    match adds it.

    Raises:
        JournalError: a line is damaged or missing.
        OSError: a file cannot be read.
    """
    for head, *lines in by_game(list(all_segments(folder, recorded))).values():
        entries = [line.entry for line in lines]
        yield {
            **head.entry,
            "resumed": [entry["resumed"] for entry in entries if "resumed" in entry],
            "incidents": [entry["incident"] for entry in entries if "incident" in entry],
            "turns": [entry for entry in entries if not {"resumed", "incident"} & entry.keys()],
        }


def all_segments(folder: Path, recorded: Collection[tuple[int, int]]) -> Iterator[Segment]:
    """Yield all segments, without the lines of recorded games; only the very last line of a writer may be torn."""
    over = {tag_of(*attempt) for attempt in recorded}
    for _, paths in groupby(segments(folder), writer_of_path):
        yield from _read_writer(list(paths), over)


def _read_writer(paths: Sequence[Path], over: Collection[bytes]) -> Iterator[Segment]:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # while another server runs the contest
            part = read(path, over)
            if part.cut is not None and path is not paths[-1]:
                raise JournalError(f"{path}, line {part.cut}: torn, expected that in {paths[-1].name} only")
            yield part


class Inheritance(NamedTuple):
    """The files that the writer of a journal has left behind: the journal, and by tag the games in it."""

    journal: Journal
    games: Mapping[bytes, Sequence[JournalLine]]


def inherit(folder: Path, writer: int) -> Inheritance:
    """Take over the journal of a process that has ended, so that its games can be abandoned or finished.

    Raises:
        JournalError: a line is damaged.
        OSError: a file cannot be read or mended.
    """
    left = list(_read_writer(segments(folder, writer), ()))
    games = by_game(left)
    kept = {part.number: {line.tag for line in part.lines} & games.keys() for part in left}
    journal = Journal(folder, kept, {tag: lines[-1].number for tag, lines in games.items()}, writer)
    for part in left:
        part.mend()
    journal.finish(b"")
    return Inheritance(journal, games)


def by_game(left: Sequence[Segment]) -> dict[bytes, list[JournalLine]]:
    """Return the lines of each game that was not abandoned; a line 1 starts its game again."""
    games: dict[bytes, list[JournalLine]] = {}
    for line in (line for part in left for line in part.lines):
        if line.number == 1:
            games[line.tag] = []
        games.setdefault(line.tag, []).append(line)
        if "dropped" in line.entry:
            del games[line.tag]
    return games
