"""The command `web`, which shows a contest in the browser without playing it."""

from __future__ import annotations

import argparse
import socket
from functools import partial

import trio

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.storage.contest_state import tournament_of
from getstep_server.text import shell_command
from getstep_server.web.listener import open_page_listener, page_address
from getstep_server.web.process import serve

from ._parser import EXIT_OK, WEB_PORT_HELP, add_option, folder_argument
from ._shared import console, print_address, print_folded, say_notes
from .host_key import READABLE, add_host_page, is_readable

_WEB = """\
Show a contest in the browser: one that is over, or one that another server
on this machine plays. `run` shows its own contest without this command.
The host's console is at /host; host-key prints a link to it.

With tls_certificate and tls_key in contest.toml the page speaks https; see
docs/internet.md.

Ctrl-C stops it.

examples:
  getstep-server web autumn
  getstep-server web autumn --web-port 8000
"""


def add_web(parser: argparse.ArgumentParser) -> None:
    parser.description = _WEB
    folder_argument(parser)
    parser.add_argument("--host", help="listen on this address instead of the one in contest.toml")
    add_option(parser, "--web-port", formerly="--port", type=int, help=WEB_PORT_HELP)
    add_host_page(parser)
    parser.set_defaults(command=_web)


def _web(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest).listening_on(
        host=args.host, web_port=args.web_port, host_page=args.host_page
    )
    frozen = tournament_of(contest).frozen_at is not None
    with page_listener(contest) as listener:
        print_address(console(), page_address(contest, listener))
        if frozen:
            reveal = shell_command("reveal", args.contest)
            say_notes([f"the page hides the results since the freeze; show them with: {reveal}"])
        where = contest.file.server.host_page
        if is_readable(contest):
            print_folded(READABLE)
        trio.run(partial(serve, args.contest, listener, host_page=where))
    return EXIT_OK


def page_listener(contest: Contest) -> socket.socket:
    """Return a listening socket for the page of a contest.

    Raises:
        UsageError: none of the ports is free.
    """
    server = contest.file.server
    try:
        return open_page_listener(server.host, server.web_port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {server.host} port {server.web_port} or the ports after it:"
            f" {error.strerror or error}; give another --port"
        ) from error
