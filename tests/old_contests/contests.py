"""The old contests: unpacking them, and what each version has to say about them.

README.md beside this file lists them and how they came about.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from getstep_engines import GAMES
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.config.event import heading_of_game
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.store import Store

HERE = Path(__file__).parent

NAMES = sorted(
    path.relative_to(HERE).with_suffix("").with_suffix("").as_posix() for path in HERE.glob("*/*.tar.xz")
)
"""Each contest, with the version that wrote it: ``0.1.0/killed``."""


def unpack(name: str, folder: Path) -> Path:
    """Unpack an old contest into a new folder, and return it."""
    for path, data in _files(name):
        if path.parts[0] == "contest":
            target = folder.joinpath(*path.parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return folder


def names(archive: Path) -> list[str]:
    """Return the paths of the files in an old contest's folder."""
    with tarfile.open(archive) as packed:
        found = [Path(entry.name) for entry in packed if entry.isfile()]
    return [path.relative_to("contest").as_posix() for path in found if path.parts[0] == "contest"]


def expected(name: str) -> dict[str, Any]:
    """Return the `facts` when the contest was written, its `course`, and how it went on if it was unfinished."""
    files = {path.name: data for path, data in _files(name) if path.parts[0] == "expected"}
    loaded: dict[str, Any] = json.loads(files["facts.json"])
    return loaded


def _files(name: str) -> Iterator[tuple[Path, bytes]]:
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        for entry in archive:
            if (file := archive.extractfile(entry)) is not None:
                yield Path(entry.name), file.read()


def pack(folder: Path, found: dict[str, Any], archive: Path) -> None:
    """Write an old contest: its folder, and the facts about it."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz") as packed:
        files = [
            (f"contest/{path.relative_to(folder)}", path.read_bytes())
            for path in sorted(folder.rglob("*"))
            if _is_kept(path)
        ]
        for name, data in [*files, ("expected/facts.json", json.dumps(found, ensure_ascii=False).encode())]:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))


def _is_kept(path: Path) -> bool:
    # A lock says which process runs the contest, and -shm is memory that SQLite makes again.
    return path.is_file() and path.name != "run.lock" and not path.name.endswith("-shm")


# --- what the commands say ---------------------------------------------------------------------------------------


def said(*arguments: str) -> str:
    """Return what a command prints; it has to succeed."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
        code = run_command(arguments)
    out.seek(0)
    text = out.read()
    if code:
        raise AssertionError(f"getstep-server {' '.join(arguments)}: exit code {code}\n{text}{err.getvalue()}")
    return text


def facts(folder: Path) -> dict[str, Any]:
    """Return what is true of a contest for ever: no later version may say anything else, though it may say more."""
    contest = load_contest(folder)
    with Store(contest.database, reading=True) as store:
        lines = [json.loads(line) for line in store.lines()]
    tables = [_json_lines("export", str(folder), "--standings")]
    for event in contest.events:
        for what in ("--standings", "--crosstable"):
            tables.append(_json_lines("export", str(folder), what, "--event", event.name))
    return {
        "records": len(lines),
        "hash": lines[-1]["hash"],
        "tables": tables,
        "matches": list(csv.DictReader(io.StringIO(said("export", str(folder), "--matches", "--format", "csv")))),
        "replays": _replays(folder, sorted({line["match"] for line in lines if line["type"] == "game"})),
        "incidents": _json_lines("incidents", str(folder), "--json"),
    }


def course(folder: Path) -> dict[str, Any]:
    """Return the pairings of a contest and what came of them, as far as it does not depend on the clock."""
    contest = load_contest(folder)
    with Store(contest.database, reading=True) as store:
        pairings = [line["matches"] for line in map(json.loads, store.lines()) if line["type"] == "pairings"]
    results = {result.match.number: result for result in results_of(contest)}
    # As in a file of JSON, where `expected` reads it: a tuple is a list there.
    found: dict[str, Any] = {
        "pairings": sorted((match for matches in pairings for match in matches), key=json.dumps),
        "results": [[n, r.winner, r.reason, r.scores, r.turns] for n, r in sorted(results.items())],
    }
    return dict(json.loads(json.dumps(found)))


def _json_lines(*arguments: str) -> list[Any]:
    return [json.loads(line) for line in said(*arguments).splitlines()]


def _replays(folder: Path, numbers: list[int]) -> list[Any]:
    if not numbers:
        return []
    page = folder / "replays.html"
    said("replay", str(folder), *map(str, numbers), "--no-open", "--out", str(page))
    block = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    page.unlink()
    assert block is not None
    games: list[Any] = json.loads(block[1])["games"]
    for game in games:
        game["facts"] = [[what, _by_name(told) if what == "game" else told] for what, told in game["facts"]]
    return games


def _by_name(told: str) -> str:
    """Return a game and its settings by the game's name: a title may change."""
    title, *settings = told.split(", ", 1)
    return ", ".join([{heading_of_game(name): name for name in GAMES}.get(title, title), *settings])


def contradictions(old: Any, new: Any, place: str = "") -> list[str]:
    """Return where ``new`` says something else than ``old``; objects may have got more keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [line for key in old for line in contradictions(old[key], new.get(key), f"{place}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for number, (a, b) in pairs for line in contradictions(a, b, f"{place}[{number}]")]
    return [] if old == new else [f"{place}: was {old!r:.200}, is {new!r:.200}"]


def transcript(folder: Path) -> str:
    """Return what people read about a contest: its wording may change, what it says may not."""
    contest = load_contest(folder)
    with Store(contest.database, reading=True) as store:
        played = [line["match"] for line in map(json.loads, store.lines()) if line["type"] == "game"]
    commands = [[name] for name in ("verify", "standings", "crosstable", "incidents", "decisions")]
    commands += [["matches", "list"], ["show", str(played[-1])]] if played else [["matches", "list"]]
    if len(contest.events) > 1:
        commands += [["standings", "--event", event.name] for event in contest.events]
    texts = []
    for first, *rest in commands:
        at = [first, rest.pop(0)] if first == "matches" else [first]
        shown = said(*at, str(folder), *rest).replace(str(folder), "CONTEST")
        texts.append(f"$ getstep-server {' '.join([*at, 'CONTEST', *rest])}\n{shown}")
    page = folder / "report.html"
    said("report", str(folder), "--no-replays", "--output", str(page))
    main = re.sub(r"(?s)<(style|script|svg|title)\b.*?</\1>", "", page.read_text(encoding="utf-8"))
    page.unlink()
    # Ratings are estimates: another version of numpy may round one of them to another figure.
    main = re.sub(r'(?s)<h3 id="event-\d+-ratings">.*?(?=<h3 id="event-\d+-endings")', "", main)
    cells = re.sub(r"\s*\n\s*", "\n", re.sub(r"<[^>]+>", "\n", main)).strip()
    texts.append(f"$ getstep-server report CONTEST\n{cells}\n")
    return "\n".join(texts)


@contextlib.contextmanager
def in_utc() -> Iterator[None]:
    """Let commands print local times as when the contests were written: in UTC."""
    zone = os.environ.get("TZ")
    _set_zone("UTC")
    try:
        yield
    finally:
        _set_zone(zone)


def _set_zone(zone: str | None) -> None:
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    if hasattr(time, "tzset"):
        time.tzset()
