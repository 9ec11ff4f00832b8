"""The command `conformance`."""

from __future__ import annotations

import argparse
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import trio

from getstep_conformance.client import VECTORS, Case, ClientError, Outcome, Suite, Times, Verdict, cases
from getstep_conformance.client.report import as_html, as_json, counts, group_of
from getstep_server.errors import UsageError
from getstep_server.reports.text_table import Column, TextTable
from getstep_server.text import escape_control_chars, fold

from ._pages import write_page
from ._parser import EXIT_FAILED, EXIT_OK, add_option
from ._shared import console, progress_bar

_CONFORMANCE = """\
Test a client, in any language: start it for each case, talk to it as a server
would, and compare what it does with protocol.md. The client plays with the test
bot of docs/conformance.md.

The command for the client comes after --. It gets GETSTEP_HOST, GETSTEP_PORT,
GETSTEP_TEAM and GETSTEP_TOKEN; in its arguments {host}, {port}, {team} and
{token} are replaced.

verdicts:
  pass           the client does what it must and what it should
  non-strict     it does what it must
  fail           it does not do what it must
  informational  the case only tells something about the client

examples:
  getstep-server conformance --list
  getstep-server conformance -- ./my_client
  getstep-server conformance --case 8 --case 9.2 -- ./my_client
  getstep-server conformance --html report.html -- java -cp out MyClient
  getstep-server conformance --classic -- ./client {host} {port} {team}

exit codes:
  0  the client passed
  1  a case failed
  2  a wrong command
  3  no case failed, but some are non-strict; 1 with --strict
"""

_EXIT_NON_STRICT = 3

_WIDTH = 80  # a longer line of prose is hard to read, however wide the terminal is
_ORDER = (Verdict.FAIL, Verdict.NON_STRICT, Verdict.INFORMATIONAL)
_MEANING = {
    Verdict.FAIL: "Failed: the client does not do what it must.",
    Verdict.NON_STRICT: "Non-strict: the client does what it must, and not all that it should.",
    Verdict.INFORMATIONAL: "Informational.",
}
_SHORT = {verdict: verdict.value.replace("informational", "info") for verdict in Verdict}
_MOST_SECONDS = 600


def add_conformance(parser: argparse.ArgumentParser) -> None:
    parser.description = _CONFORMANCE
    parser.add_argument("client", nargs="*", metavar="CLIENT", help="after --: the client and its arguments")
    parser.add_argument(
        "--case",
        action="append",
        metavar="N",
        help="run only this case, or this group; repeatable, or with commas: 1,2.3",
    )
    parser.add_argument("--classic", action="store_true", help="test a client of the classic wire")
    parser.add_argument("--strict", action="store_true", help="non-strict counts as failed")
    parser.add_argument("--list", action="store_true", help="print the cases and exit")
    results = "write the results to this file, as JSON"
    add_option(parser, "--results", formerly="--json", type=Path, metavar="FILE", help=results)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report for a browser to this file")
    parser.add_argument("--jobs", type=int, default=16, metavar="N", help="cases at the same time (default: 16)")
    parser.add_argument(
        "--patience", type=float, default=10, metavar="S", help="seconds to wait for an answer (default: 10)"
    )
    parser.add_argument("--vectors", type=Path, metavar="FOLDER", help="write the test vectors there and exit")
    parser.set_defaults(command=_conformance)


def _conformance(args: argparse.Namespace) -> int:
    chosen = _chosen(args.case, classic=args.classic)
    if args.list:
        _print_list(chosen)
        return EXIT_OK
    if args.vectors is not None:
        return _write_vectors(args.vectors)
    if not args.client:
        raise UsageError(
            "no client, expected its command after --, such as: getstep-server conformance -- ./client"
        )
    if not 1 <= args.jobs <= 256:  # each case is a process of the client
        raise UsageError(f"--jobs {args.jobs}, expected 1 to 256")
    if not 0 < args.patience <= _MOST_SECONDS:
        raise UsageError(f"--patience {args.patience:g}, expected seconds, at most {_MOST_SECONDS}")
    outcomes, seconds = _run(args, chosen)
    _print_outcomes(args.client, outcomes, seconds, hint=args.html is None)
    if args.results is not None:
        write_page(args.results, as_json(args.client, outcomes, seconds), "--results")
    if args.html is not None:
        write_page(args.html, as_html(args.client, outcomes, seconds), "--html")
    verdicts = {outcome.verdict for outcome in outcomes}
    if Verdict.FAIL in verdicts:
        return EXIT_FAILED
    if Verdict.NON_STRICT in verdicts:
        return EXIT_FAILED if args.strict else _EXIT_NON_STRICT
    return EXIT_OK


def _chosen(numbers: Sequence[str] | None, *, classic: bool) -> list[Case]:
    """Return the cases with these numbers; a number without a dot names a group."""
    every = [case for case in cases().values() if case.classic is classic]
    if numbers is None:
        return every
    wanted = {number.strip() for text in numbers for number in text.split(",")}
    known = {number for case in every for number in (case.number, case.number.partition(".")[0])}
    if unknown := sorted(wanted - known):
        raise UsageError(f"--case {', '.join(unknown)}: expected numbers of --list")
    return [case for case in every if wanted & {case.number, case.number.partition(".")[0]}]


def _run(args: argparse.Namespace, chosen: list[Case]) -> tuple[list[Outcome], float]:
    suite = Suite(args.client, Times(patience=args.patience), args.jobs)
    done = 0

    async def run() -> tuple[list[Outcome], float]:
        began = trio.current_time()
        with progress_bar("cases") as progress:

            def report(_: Outcome) -> None:
                nonlocal done
                done += 1
                progress(done, len(chosen))

            found = await suite.run(chosen, report)
        return found, trio.current_time() - began

    try:
        return trio.run(run)
    except* ClientError as errors:
        raise UsageError(str(errors.exceptions[0])) from errors


def _write_vectors(folder: Path) -> int:
    try:
        shutil.copytree(VECTORS, folder, dirs_exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error}") from error
    print(f"{folder}: {', '.join(sorted(path.name for path in VECTORS.iterdir()))}")
    return EXIT_OK


# --- printing ---------------------------------------------------------------------------------------------------


def _print_list(chosen: Sequence[Case]) -> None:
    group = ""
    for case in chosen:
        if case.group != group:
            group = case.group
            print(f"\n{case.number.partition('.')[0]} {group}")
        # 7 columns: the next lines begin below the title
        _print_folded(f"{case.number:<6} {case.table.title}", 7)
        _print_folded(f"       {case.table.requires}", 7)


def _print_outcomes(client: Sequence[str], outcomes: Sequence[Outcome], seconds: float, *, hint: bool) -> None:
    terminal = console()
    groups = list(dict.fromkeys(group_of(outcome) for outcome in outcomes))
    rows = [counts(outcome for outcome in outcomes if group_of(outcome) == group) for group in groups]
    columns = [
        Column("group", [f"{number} {title}" for number, title in groups], names=True, justify="left"),
        *(
            Column(verdict.value, [str(row[verdict] or "") for row in rows], short=_SHORT[verdict])
            for verdict in Verdict
        ),
    ]
    terminal.print(TextTable(columns), soft_wrap=False)
    for verdict in _ORDER:
        found = [outcome for outcome in outcomes if outcome.verdict is verdict]
        if found:
            print(f"\n{_MEANING[verdict]}")
        for outcome in found:
            _print_outcome(outcome)
    total = ", ".join(f"{count} {verdict.value}" for verdict, count in counts(outcomes).items())
    print()
    if hint and any(outcome.verdict in (Verdict.FAIL, Verdict.NON_STRICT) for outcome in outcomes):
        print("--html FILE shows the messages of each case, and the client's output.")
    _print_folded(f"{shlex.join(client)}: {total}; {len(outcomes)} cases in {seconds:.1f} s", 0)


def _print_outcome(outcome: Outcome) -> None:
    case = cases()[outcome.number]
    # 8 columns: the next lines begin below the title
    _print_folded(f"  {outcome.number:<5} {case.table.title}: {outcome.why}", 8)
    if outcome.verdict is not Verdict.INFORMATIONAL:
        _print_folded(f"        {case.table.requires} ({case.table.place})", 8)


def _print_folded(text: str, indent: int) -> None:
    for line in fold(escape_control_chars(text), min(_WIDTH, console().width), indent):
        print(line)
