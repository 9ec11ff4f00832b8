"""The commands `freeze` and `reveal`: results that spectators do not see, and the ceremony that shows them."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import trio

from getstep_server.addresses import local_host, web_address
from getstep_server.config.contest import Contest, load_contest
from getstep_server.decisions import making
from getstep_server.decisions.requests import Freeze, Reveal
from getstep_server.errors import UsageError
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.lock import server_of
from getstep_server.text import shell_command
from getstep_server.tournament.tournament import Tournament
from getstep_server.web.feed import Feed
from getstep_server.web.listener import page_address
from getstep_server.web.process import serve
from getstep_server.web.reveal import Steering

from ._parser import EXIT_OK, WEB_PORT_HELP, add_option, folder_argument
from ._shared import console, print_address
from .decisions import add_ruling_options, decide
from .web import page_listener

_FREEZE = f"""\
{Freeze.text.rstrip()}
freeze_minutes in contest.toml does this automatically before the end.

examples:
  getstep-server freeze autumn
  getstep-server freeze autumn --why "the last round"
"""

_REVEAL = """\
Show the results that a freeze has hidden, one by one, from the bottom of the
table to the winner. The command serves the live page, with a page /reveal for
the projector. It prints an address that steers it: open that on this machine,
and tell nobody. Its keys are:

  Space, Right, Page Down   the next result
  T                         all results of the team at the bottom
  End                       all results that are left

After the last result the page shows everything to everybody. If the command
stops before, call it again: it continues where it stopped. Ctrl-C stops it.

examples:
  getstep-server reveal autumn
  getstep-server reveal autumn --all   # without a ceremony
"""


def add_freeze(parser: argparse.ArgumentParser) -> None:
    parser.description = _FREEZE
    folder_argument(parser)
    add_ruling_options(parser, "the host hides the last results")
    parser.set_defaults(command=_freeze)


def add_reveal(parser: argparse.ArgumentParser) -> None:
    parser.description = _REVEAL
    folder_argument(parser)
    parser.add_argument("--all", action="store_true", help="show all results at once, and serve no page")
    parser.add_argument("--host", help="listen on this address instead of the one in contest.toml")
    add_option(parser, "--web-port", formerly="--port", type=int, help=WEB_PORT_HELP)
    add_ruling_options(parser, "all results were revealed")
    parser.set_defaults(command=_reveal)


def _freeze(args: argparse.Namespace) -> int:
    return decide(args, Freeze(by=args.by, why=args.why))


def _reveal(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest).listening_on(host=args.host, web_port=args.web_port)
    request = Reveal(by=args.by, why=args.why)
    if args.all or args.dry_run:
        return decide(args, request)
    _check(contest, tournament_of(contest))
    with page_listener(contest) as listener:

        def steering(feed: Feed) -> Steering:
            made = Steering(feed, partial(_end_freeze, contest.folder, request))
            terminal = console()
            host, port = listener.getsockname()[:2]
            print_address(terminal, f"{page_address(contest, listener)}reveal")
            # at a loopback address: the key then leaves this machine with no packet
            terminal.print("Open this on this machine, and tell nobody. It steers the reveal:")
            scheme = "http" if contest.file.server.tls_key is None else "https"
            terminal.print(f"{web_address(local_host(host), port, scheme)}reveal#key={made.key}")
            return made

        trio.run(partial(serve, args.contest, listener, reveal=steering))
    return EXIT_OK


def _end_freeze(folder: Path, request: Reveal) -> None:
    """Put the end of the freeze on record, unless it has ended."""
    if tournament_of(load_contest(folder)).frozen_at is not None:
        making.decide(folder, request)


def _check(contest: Contest, tournament: Tournament) -> None:
    """Raise UsageError unless there is something to reveal, and nothing left to play."""
    if tournament.frozen_at is None:
        freeze = shell_command("freeze", contest.folder)
        raise UsageError(f"{contest.folder}: no results are hidden; hide later ones with: {freeze}")
    if tournament.open() and server_of(contest.folder) is not None:
        at_once = shell_command("reveal", contest.folder, "--all")
        raise UsageError(
            f"{contest.folder}: a server still plays the contest; wait for its end, or show all now with: {at_once}"
        )
