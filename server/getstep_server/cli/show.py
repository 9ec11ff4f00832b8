"""The command `show`: a recorded match, printed or stepped through with the keyboard."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator

from msgspec import UNSET

from getstep.drawing import Picture, viewer
from getstep_server.config.contest import load_contest
from getstep_server.errors import UsageError
from getstep_server.records.record import RecordError, parse
from getstep_server.records.replay import DoesNotFit
from getstep_server.reports.tables import result_line
from getstep_server.reports.transcript import (
    WIDTH,
    Moment,
    Transcript,
    board_lines,
    fact_lines,
    frames,
    head_line,
    list_lines,
    read_transcript,
    turn_lines,
)
from getstep_server.storage.database import StoreError
from getstep_server.text import escape_control_chars, fold, shell_command
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, add_option, folder_argument
from ._shared import print_folded, readable_tournament, records_of, say_host_notes

_SHOW = """\
Show a match that is over. In a terminal, step through its boards with the arrow
keys; space plays it, q quits. In a pipe, and on Windows, print the teams, the
last board, and all turns with their times and the reasons of faults. To find a
match's number, use matches list.

On a board, [ ] is around the squares of the last move, ( ) around squares that
a piece left or that were captured, ! ! around the squares of an illegal move.

examples:
  getstep-server show autumn 7
  getstep-server show autumn 7 --move 37     # one turn and the board after it
  getstep-server show autumn 7 --boards      # the board after each turn
  getstep-server show autumn 7 --moves       # the turns without boards
  getstep-server show autumn 7 --attempt 1   # an earlier attempt
"""


def add_show(parser: argparse.ArgumentParser) -> None:
    parser.description = _SHOW
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="MATCH", help="the number of the match")
    parser.add_argument(
        "--attempt", type=int, metavar="N", help="the number of the attempt (default: the last one)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--move", type=int, metavar="N", help="print turn N and the board after it; 0 is the start")
    each = "print the board after each turn"
    add_option(form, "--boards", formerly="--all", action="store_true", help=each)
    form.add_argument("--moves", action="store_true", help="print the turns without boards")
    parser.set_defaults(command=_show)


def _show(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    with records_of(contest) as store:
        attempts = [record for record in store.records(args.match) if args.attempt in (None, record.attempt)]
        tournament = readable_tournament(contest, store)
    if tournament is not None:
        say_host_notes(tournament)
    if not attempts and args.attempt is None and _print_unplayed(tournament, args.match):
        return EXIT_OK
    if not attempts:
        which = "" if args.attempt is None else f", attempt {args.attempt}"
        listing = shell_command("matches", "list", contest.folder)
        raise StoreError(
            f"match {args.match}{which} is not on record; it is not over or does not exist, see {listing}"
        )
    transcript = read_transcript(parse(attempts[-1].line))
    has_turns = transcript.game.instead_of is UNSET
    if has_turns and viewer.can_run() and not (args.moves or args.boards or args.move is not None):
        viewer.run(head_line(transcript, shutil.get_terminal_size().columns), frames(transcript))
    else:
        for line in _lines(args, transcript, tournament):
            print(line.rstrip())
    _raise_error(args.match, transcript.error)
    return EXIT_OK


def _lines(args: argparse.Namespace, transcript: Transcript, tournament: Tournament | None) -> Iterator[str]:
    """Yield what is printed, as the options ask for it."""
    if transcript.game.instead_of is not UNSET:  # its turns are in an archive
        yield from fact_lines(transcript, tournament)
        return
    draw = viewer.painter(sys.stdout.encoding, is_terminal=sys.stdout.isatty())
    if args.move is not None:
        yield from _one(args, transcript, draw)
        return
    yield from fact_lines(transcript, tournament)
    yield ""
    if args.boards:
        for moment in transcript.moments:
            yield from _turn_and_board(transcript, moment, draw)
            yield ""
        return
    if not args.moves:
        yield from board_lines(transcript.moments[-1], draw)
        yield ""
    yield from list_lines(transcript)


def _one(args: argparse.Namespace, transcript: Transcript, draw: Callable[[Picture], str]) -> Iterator[str]:
    last = len(transcript.moments) - 1
    if not 0 <= args.move <= last:
        raise UsageError(f"--move {args.move}: match {args.match} has turns 1 to {last}; 0 is its start")
    yield from fold(escape_control_chars(head_line(transcript)), WIDTH)
    yield from _turn_and_board(transcript, transcript.moments[args.move], draw)


def _turn_and_board(transcript: Transcript, moment: Moment, draw: Callable[[Picture], str]) -> Iterator[str]:
    yield from turn_lines(transcript, moment)
    yield from board_lines(moment, draw)


def _raise_error(match: int, error: RecordError | None) -> None:
    """Raise the error that ended a transcript, with its place.

    Raises:
        RecordError: there is one.
    """
    if isinstance(error, DoesNotFit):
        raise RecordError(f"match {match}, turn {error.turn}: {error}") from error
    if error is not None:
        raise error


def _print_unplayed(tournament: Tournament | None, number: int) -> bool:
    """Print the result of a match without a record, such as an adjudicated one; return False if it has none."""
    match = None if tournament is None else tournament.matches.get(number)
    result = None if match is None or tournament is None else tournament.final_result(match)
    if result is not None and tournament is not None:
        print_folded(f"Not played. Official result: {result_line(result, tournament.contest.team_name)}")
    return result is not None
