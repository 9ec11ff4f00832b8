"""Programs that the host ran: which versions have played, and whether they were in the sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import UNSET

from getstep_server.config.contest import Contest
from getstep_server.programs.publication import published_path
from getstep_server.records.decision import Decision, publications
from getstep_server.records.game import GameHead, ProgramEntry
from getstep_server.text import pluralize

from .text_table import Column, TextTable

HASH_CHARS = 16
"""Digits of a SHA-256 that are shown: no two versions of a team have the same."""


def programs_of(game: GameHead) -> Sequence[ProgramEntry | None]:
    """Return for each player of a game the program that the host ran; None for a bot on the network."""
    return (None, None) if game.programs is UNSET else game.programs


def program_text(program: ProgramEntry | None) -> str:
    """Return a player's program in words, or an empty text for a bot on the network."""
    return "" if program is None else f", program {version_text(program)}"


def version_text(program: ProgramEntry) -> str:
    """Return which version of a program has played, and whether it had a sandbox."""
    unprotected = ", without a sandbox" if program.sandbox == "none" else ""
    return f"version {program.version}{unprotected}"


def programs_facts(games: Sequence[GameHead]) -> Iterator[tuple[str, str]]:
    """Yield the facts of the report about programs that the host ran, if there were any."""
    hosted = [programs for programs in map(programs_of, games) if any(programs)]
    if not hosted:
        return
    without = sum(any(program and program.sandbox == "none" for program in programs) for programs in hosted)
    how = f"{without} of them WITHOUT a sandbox" if without else "in the sandbox"
    yield "Games with programs of the host's machine", f"{len(hosted)}, {how}"
    workers = [game.worker for game in games if game.worker is not UNSET]
    if workers:
        yield "Games on a cluster", f"{len(workers)}, on {pluralize(len(set(workers)), 'worker')}"


PROGRAMS = "programs/"
"""The folder of a site with the published programs."""


def published_files(contest: Contest, decisions: Iterable[Decision]) -> dict[tuple[int, int], Path]:
    paths = {
        (one.team, one.version): published_path(contest.folder, one.team, one.version)
        for one in publications(decisions)
    }
    return {key: path for key, path in paths.items() if path.is_file()}


def programs_table(
    contest: Contest, games: Sequence[GameHead], published: Collection[tuple[int, int]] = ()
) -> TextTable | None:
    """Return a table of the versions that have played; None if the host ran no programs.

    Args:
        contest: for the names.
        games: all games.
        published: the teams and versions whose source is next to the page.
    """
    played = Counter(
        (team.id, program.version, program.sha256, program.id_line or "")
        for game in games
        if game.programs is not UNSET
        for team, program in zip(game.teams, programs_of(game), strict=True)
        if program is not None
    )
    rows = sorted(played)
    columns = [
        Column("team", [contest.team_name(team) for team, *_ in rows], names=True, justify="left"),
        Column("version", [str(version) for _, version, *_ in rows]),
        Column("games", [str(played[row]) for row in rows]),
        Column("SHA-256 of the source", [sha256[:HASH_CHARS] for _, _, sha256, _ in rows], justify="left"),
    ]
    if published:
        paths = [published_path(contest.folder, team, version) for team, version, *_ in rows]
        links = [
            f"{PROGRAMS}{path.name}" if row[:2] in published else "" for row, path in zip(rows, paths, strict=True)
        ]
        columns.append(Column("published", ["source" if link else "" for link in links], links=links))
    if any(id_line for *_, id_line in rows):
        columns.append(Column("id line", [id_line for *_, id_line in rows], justify="left"))
    return TextTable(columns) if rows else None
