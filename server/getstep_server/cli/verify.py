"""The command `verify`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from getstep_server.config.contest import load_contest
from getstep_server.programs.publication import check_publication, published_path
from getstep_server.storage.lost_records import told_of
from getstep_server.storage.verify import Verified, VerifyError, verify
from getstep_server.text import escape_control_chars, pluralize
from getstep_server.tournament.settings_record import shortened

from ._parser import EXIT_FAILED, EXIT_OK, folder_argument
from ._shared import progress_bar, records_of, say_notes
from .archive import archive_files

_VERIFY = """\
Check everything that the standings depend on, also while the contest runs: the
hash chain of the records, every match by its rules, every time limit by the
recorded times, the results and the standings. The files of published programs
are checked by their hashes. The first error is printed with the place of the
record, the match and the turn.

An attempt at a match is void if the server failed or the host called it off.
It is overruled if it was played to its end, but a decision of the host or a
rule has replaced or annulled its result.

Each record has the hash of the record before it, so that one hash stands for
all records up to it. run and verify print the hash of the last record. Write it
down elsewhere. Later, --expect-hash proves that those records are unchanged,
and counts the records that were added since.

The turns of old matches may be in files that `archive` has written. Their
results are then checked against the decision on record, and with --archive the
matches are replayed from these files.

examples:
  getstep-server verify autumn
  getstep-server verify lab --archive lab-2026-06.jsonl
  getstep-server verify autumn --expect-hash 5f1c...   # all 64 digits

exit codes: 0 everything fits, 1 there is an error in the records, or all of
them are lost, 2 the command or a file cannot be used
"""


def add_verify(parser: argparse.ArgumentParser) -> None:
    parser.description = _VERIFY
    folder_argument(parser)
    expected = "a hash that run or verify printed earlier; it must be in the chain of the records"
    parser.add_argument("--expect-hash", metavar="HASH", type=_hash, help=expected)
    parser.add_argument("--head", dest="expect_hash", type=_hash, help=argparse.SUPPRESS)  # the former name
    files = "a file with the turns of old matches (may be given several times)"
    parser.add_argument("--archive", metavar="FILE", type=Path, action="append", default=[], help=files)
    parser.set_defaults(command=_verify)


def _hash(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r}, expected 64 hexadecimal digits")
    return text


def _verify(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    archives = archive_files(args.archive)
    told = told_of(contest)  # before the records: a running server adds to both
    try:
        with records_of(contest) as store, progress_bar("verified") as progress:
            verified = verify(
                contest, store, expected_hash=args.expect_hash, progress=progress, told=told, archives=archives
            )
        for team, version, sha256 in verified.published:
            _check_published(published_path(contest.folder, team, version), sha256)
    except VerifyError as error:
        print(f"DOES NOT FIT: {escape_control_chars(str(error))}")
        return EXIT_FAILED
    _print_verified(verified, hash_given=args.expect_hash is not None)
    say_notes(verified.notes)
    return EXIT_FAILED if _all_lost(verified) else EXIT_OK


def _check_published(path: Path, sha256: str) -> None:
    """Raise a `VerifyError` if the file of a published program has another source than the one on record."""
    if not path.exists():
        say_notes([f"{path} is missing: the program was published, and the next run writes the file again"])
    elif problem := check_publication(path, sha256):
        raise VerifyError(f"{path}: {problem}")


def _print_verified(verified: Verified, *, hash_given: bool) -> None:
    matches = [f"{verified.played} of {pluralize(verified.matches, 'match')} played"]
    matches += _counts({"cancelled": verified.cancelled, "annulled": verified.annulled})
    attempts = _counts({"void": verified.void, "overruled": verified.overruled})
    played = ", ".join(matches) + (f" (further attempts: {', '.join(attempts)})" if attempts else "")
    records, turns = pluralize(verified.records, "record"), pluralize(verified.turns, "turn")
    if _all_lost(verified):
        again = f"{pluralize(verified.matches, 'match')} paired again, none with a result"
        print(f"ALL RECORDS ARE LOST: {again if verified.matches else 'this is an empty contest'}.")
    else:
        fits = "Everything that is left fits" if verified.lost else "Everything fits"
        print(f"{fits}: {records}, {played}, {turns} replayed.")
    _print_lost(verified.lost)
    for line in _archived(verified):
        print(escape_control_chars(line))
    for line in shortened([f"Changed setting: {change}" for change in verified.changes]):
        print(escape_control_chars(line))
    if hash_given:
        later = f"; {pluralize(verified.beyond, 'record')} came later" if verified.beyond else ", as its last"
        print(f"The expected hash is in the chain{later}.")
    print(f"Hash of the last record: {verified.tip}")


def _all_lost(verified: Verified) -> bool:
    """Return True if each record stands in the place of a lost one."""
    return bool(verified.lost) and len(verified.lost) == verified.records


def _print_lost(lost: Sequence[str]) -> None:
    if not lost:
        return
    print(f"This contest was rescued from a damaged database; {pluralize(len(lost), 'record')} could not be saved:")
    for line in lost:
        print(escape_control_chars(f"  {line}"))
    print(
        "Pairings, attempts and settings behind a lost record are taken as they are: what they follow from is lost."
    )


def _archived(verified: Verified) -> Iterator[str]:
    """Yield what there is to know about turns that are in archives."""
    for one in verified.archives:
        games = pluralize(one.games or 0, "match")
        yield f"The turns of {games} were moved into an archive by {one.by} on {one.at[:10]}: {one.why}"
        yield f"  SHA-256 of the file: {one.sha256}"
    if verified.archived:
        games = pluralize(verified.archived, "match")
        yield (
            f"Without these files, {games} could not be replayed: the results are those on record when the turns"
            " were moved. Give the files with --archive."
        )
    elif verified.archives:
        yield "All of these matches were replayed."


def _counts(counts: Mapping[str, int]) -> list[str]:
    return [f"{count} {what}" for what, count in counts.items() if count]
