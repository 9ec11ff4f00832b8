"""The command `rescue`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from getstep_server.config.contest import Contest, load_contest
from getstep_server.config.database_address import PostgresAddress
from getstep_server.errors import UsageError
from getstep_server.records.match import Match
from getstep_server.storage.journal import tag_of
from getstep_server.storage.lock import in_use, server_of
from getstep_server.storage.rescue import Left, Rescue, read_left, rescue
from getstep_server.storage.verify import VerifyError
from getstep_server.text import escape_control_chars, pluralize, shell_command

from ._parser import EXIT_FAILED, EXIT_OK, folder_argument
from ._shared import progress_bar

_RESCUE = """\
Save what is left of a contest whose database is damaged, emptied or deleted.
Stop the contest first. Nothing in its folder is changed: everything goes into
a new folder next to it, with which you continue.

Each page of the database is read on its own, and each record proves itself by
its hash. Pairings that are lost are computed again. Matches in progress are
taken from the journal. Lost results are looked up in contest.log: rescue prints
the command that sets each of them, or run plays the match again. If the pairing
of a match is lost, too, its result is only listed.

A copy of contest.db, or what export --matches wrote, fills gaps: --records. One
that is complete saves everything, even if contest.db is gone.

The output has a line for each match, and is written to rescue.txt in the new
folder, too. Later, verify names what was lost.

examples:
  getstep-server rescue autumn                    # into autumn-rescued
  getstep-server rescue autumn --to autumn2
  getstep-server rescue autumn --records backup/contest.db --records old.jsonl

exit codes: 0 everything was saved, 1 something is lost, 2 the command or a file
cannot be used
"""


def add_rescue(parser: argparse.ArgumentParser) -> None:
    parser.description = _RESCUE
    folder_argument(parser)
    to = "the new folder (default: the name of the old one with -rescued)"
    parser.add_argument("--to", type=Path, metavar="FOLDER", help=to)
    records = (
        "also take records from this file: exported matches (.jsonl, or headed as .txt), or a copy of contest.db;"
        " may be repeated"
    )
    parser.add_argument("--records", type=Path, metavar="FILE", action="append", default=[], help=records)
    parser.set_defaults(command=_rescue)


def _rescue(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    if isinstance(contest.database, PostgresAddress):
        raise UsageError(f"{contest.database}: rescue reads files of SQLite; put a backup of the schema back")
    if (server := server_of(contest.folder)) is not None:
        raise in_use(contest.folder, server, contest.folder)
    folder = args.contest.resolve()
    target: Path = args.to or args.contest.parent / f"{folder.name}-rescued"
    for path in args.records:
        if not path.is_file():
            raise UsageError(f"--records {path}: no such file")
    if target.exists():
        if args.to is not None:
            raise UsageError(f"--to {target}: it exists; name a new folder")
        words: list[str | Path] = ["rescue", args.contest, "--to", _free(target)]
        for path in args.records:
            words += ["--records", path]
        raise UsageError(
            f"{target}: it exists, perhaps from an earlier rescue; for a second one: {shell_command(*words)}"
        )
    try:
        left = read_left(contest, args.records)
        with progress_bar("verified") as progress:
            rescued = rescue(contest, left, target, progress)
    except OSError as error:
        raise UsageError(f"{error.filename or target}: {error.strerror or error}") from error
    except VerifyError as error:
        print(f"What is left contradicts itself: {escape_control_chars(str(error))}")
        print(f"It is in {target} as far as it could be read, but no contest can continue with it.")
        return EXIT_FAILED
    lines = [escape_control_chars(line) for line in _report(contest, left, rescued, target)]
    print("\n".join(lines))
    (target / "rescue.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # For scripts: the folder is usable, but it is not all that there was.
    return EXIT_FAILED if rescued.lost or rescued.made else EXIT_OK


def _free(folder: Path) -> Path:
    """Return the first of ``folder-2``, ``folder-3`` and so on that does not exist."""
    names = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(path for path in names if not path.exists())


def _report(contest: Contest, left: Left, rescued: Rescue, target: Path) -> Iterator[str]:
    total, lost = len(rescued.rows), len(rescued.lost) + len(rescued.made)
    yield f"{total - lost} of {pluralize(total, 'record')} saved in {target}"
    if not left.length:
        yield "How many records there were is lost, too: later ones may be missing."
    yield ""
    gone = {game[0] for _, game in rescued.lost.values() if game is not None}
    for number in sorted({*rescued.tournament.matches, *gone}):
        yield from _match_lines(number, contest, left, rescued, left.logged.get(number), target)
    yield from _only_logged_lines(rescued, left.logged)
    yield ""
    yield from _record_lines(rescued)
    if left.bad_lines:
        yield f"Journal: {pluralize(left.bad_lines, 'line')} damaged and left out"
    if lost:
        again = shell_command("rescue", contest.folder, "--to", _free(target), "--records", "matches.jsonl")
        yield f"A backup saves everything, and so does a file of export --matches: {again}"
    yield f"To check everything: {shell_command('verify', target)}"
    begin = "continue the contest" if rescued.tournament.matches else "begin the contest anew, as nothing is left"
    yield f"To {begin}: {shell_command('run', target)}"


def _match_lines(
    number: int, contest: Contest, left: Left, rescued: Rescue, logged: Mapping[str, Any] | None, target: Path
) -> Iterator[str]:
    """Yield what became of a match; nothing of one that was not played yet."""
    tournament = rescued.tournament
    match = tournament.matches.get(number)
    name = f"match {number}" + (f" ({_versus(contest, match)})" if match is not None else "")
    attempts = sorted(attempt for one, attempt in tournament.recorded if one == number)
    if attempts:
        sources = {left.sources[row[0]] for row in rescued.rows if row[1] == number and row[0] in left.sources}
        where = f", from {', '.join(sorted(sources))}" if sources else ""
        yield f"{name}: saved, attempt {', '.join(map(str, attempts))}{where}"
    running = [tag for tag in rescued.journal if tag.startswith(b"%d-" % number)]
    for tag in running:
        game = left.journal[tag]
        cut = "" if game.complete else "; the lines behind a damaged one are lost"
        yield f"{name}: {pluralize(len(game.lines) - 1, 'line')} of the journal saved, run resumes it{cut}"
    lost = [game for _, game in rescued.lost.values() if game is not None and game[0] == number]
    if attempts and not lost:
        return
    open_ = match is None or tournament.is_open(match)
    if lost or (logged is not None and open_ and not running):
        which = (
            f"attempt {', '.join(str(attempt) for _, attempt in lost)} is lost" if lost else "its result is lost"
        )
        yield f"{name}: {which}" + ("" if not open_ else "; run plays it again" if match is not None else "")
        if logged is not None and open_ and match is not None and tag_of(number, 1) not in running:
            yield from _logged_lines(match, logged, target)


def _logged_lines(match: Match, logged: Mapping[str, Any], target: Path) -> Iterator[str]:
    winner = logged.get("winner")
    if winner not in (None, *match.teams) or logged.get("teams", list(match.teams)) != list(match.teams):
        return
    yield f"  contest.log: {_result(logged)}. To keep that result:"
    team = "draw" if winner is None else str(winner)
    words = ("matches", "adjudicate", target, str(match.number), "--winner", team)
    yield f"  {shell_command(*words, '--why', 'the record was lost; as in contest.log')}"


def _result(logged: Mapping[str, Any]) -> str:
    winner = logged.get("winner")
    result = "a draw" if winner is None else f"won by {_names(logged).get(str(winner), f'team {winner}')}"
    return f"{result} ({logged.get('reason')}), scores {logged.get('scores')}"


def _names(logged: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a logged match's teams by their ids as text; none if the line does not have them."""
    try:
        return {str(team): str(name) for team, name in zip(logged["teams"], logged["names"], strict=True)}
    except (KeyError, TypeError, ValueError):  # a log is no record: its lines may have been cut or edited
        return {}


def _only_logged_lines(rescued: Rescue, logged: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the results of the log whose matches no pairings have."""
    only = sorted(logged.keys() - rescued.tournament.matches.keys())
    if not only:
        return
    yield ""
    yield f"No command can set {pluralize(len(only), 'result')} of contest.log, as the pairings are lost as well:"
    for number in only:
        versus = " - ".join(_names(logged[number]).values())
        yield f"match {number}" + (f" ({versus})" if versus else "") + f": {_result(logged[number])}"
    yield (
        "This is in contest.log only: it has no turns and no hashes, so nothing can be checked by it,"
        " and the new contest does not have it."
    )


def _record_lines(rescued: Rescue) -> Iterator[str]:
    for place, made in sorted(rescued.proved.items()):
        yield f"place {place}: {made}; by its hash it is the record that was lost"
    for place, made in sorted(rescued.made.items()):
        yield f"place {place}: lost; in its place {made}"
    for place, (why, game) in sorted(rescued.lost.items()):
        about = "" if game is None else f" (match {game[0]}, attempt {game[1]})"
        yield f"place {place}: lost{about}: {why}"


def _versus(contest: Contest, match: Match) -> str:
    return " - ".join(map(contest.team_name, match.teams))
