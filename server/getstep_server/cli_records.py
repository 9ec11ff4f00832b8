"""The host's commands for records: verify."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ._cli import EXIT_FAILED, EXIT_OK, Commands, add_command, folder_argument
from ._text import printable
from .contest import Contest, load_contest
from .store import Store, StoreError
from .verify import Finding, Verified, verify

# --- verify -----------------------------------------------------------------------------------------------------


_VERIFY = """\
Check all that the standings rest on, also while the contest runs: the chain
of the records, every game by its rules, every time limit by the recorded
times, the results and the standings. The first thing that does not fit is
named, with the place of its record, its match and its turn.

The chain ends in a hash, its head. Who has written that down elsewhere can be
sure with --head that these are still the same records, and what came later.

exit codes: 0 everything fits, 1 something does not
"""


def add_verify(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command to the host's."""
    parser = add_command(commands, "verify", "check the records, the games and the standings", _VERIFY)
    folder_argument(parser)
    parser.add_argument("--head", metavar="HASH", type=_hash, help="the head as it was written down elsewhere")
    parser.set_defaults(command=_verify)


def _hash(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r}, expected 64 hexadecimal digits")
    return text


def _verify(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    try:
        with _records_of(contest) as store, _progress() as progress:
            verified = verify(contest, store, head=args.head, progress=progress)
    except Finding as finding:
        print(f"DOES NOT FIT: {printable(str(finding))}")
        return EXIT_FAILED
    _print_verified(verified, head_given=args.head is not None)
    return EXIT_OK


def _print_verified(verified: Verified, *, head_given: bool) -> None:
    void = f" ({verified.void} void attempts)" if verified.void else ""
    played = f"{verified.played} of {verified.matches} matches played{void}"
    print(f"Everything fits: {verified.records} records, {played}, {verified.turns} turns replayed.")
    if head_given:
        later = f"; {verified.beyond} records came later" if verified.beyond else ", as its last"
        print(f"The hash that was written down is in the chain{later}.")
    print(f"head {verified.head}")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Shows ``verified n of m`` on a terminal's standard error, which is no part of the result."""
    terminal = Console(stderr=True)
    columns = (TextColumn("verified"), BarColumn(), MofNCompleteColumn(separator=" of "))
    shown = terminal.is_terminal and not terminal.is_dumb_terminal
    with Progress(*columns, console=terminal, transient=True, disable=not shown) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


# --- shared -----------------------------------------------------------------------------------------------------


def _records_of(contest: Contest) -> Store:
    if not contest.database.exists():
        raise StoreError(f"{contest.database}: not there; nothing has been played yet")
    return Store(contest.database)
