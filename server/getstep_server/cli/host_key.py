"""The command `host-key`, and what `run` and `web` print about the host's console."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterator
from typing import get_args

from getstep_server.addresses import is_any, reachable_host, web_address
from getstep_server.config.contest import Contest, HostPage, load_contest
from getstep_server.config.host_key import bearer_key, new_link
from getstep_server.errors import ConfigError, UsageError

from ._parser import EXIT_OK, folder_argument

_HOST_KEY = """\
Print a link to the host's console, on which a contest is steered in a browser.
Open it on this computer, while run or web shows the contest. A link works once;
the one before it does not any more. --new ends all sessions, too: use it if
somebody else has seen a link or sat at this computer.

Each host gets a link of their own: with --name Ada, decisions of that session
are on record as those of "the host Ada". --lan prints an address for another
computer or a phone; run or web must have --host-page lan for that, and TLS in a
network that others can read: see docs/internet.md.

--key prints the key with which a program decides over the HTTP API, in the
header "Authorization: Bearer KEY". Keep it secret; --new replaces it.

examples:
  getstep-server host-key autumn
  getstep-server host-key autumn --name Ada --lan
  getstep-server host-key autumn --new
  getstep-server host-key autumn --key

exit codes: 0 printed, 2 wrong usage, or the contest cannot be read or written
"""

READABLE = (
    "! The host's console answers computers of the network, without encryption: who can read its traffic can read"
    " the host's session, new tokens, questions and hidden results. Use --host-page lan only in a network that you"
    " trust, or give contest.toml a TLS certificate (docs/internet.md); else steer the contest on this computer."
    " host-key FOLDER --new ends a session that somebody has read"
)


def add_host_key(parser: argparse.ArgumentParser) -> None:
    parser.description = _HOST_KEY
    folder_argument(parser)
    parser.add_argument("--new", action="store_true", help="replace the key: all sessions of the console end")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--name", default="", metavar="NAME", help="the host who gets the link, for the records")
    what.add_argument("--key", action="store_true", help="print the key for the HTTP API, and no link")
    parser.add_argument("--lan", action="store_true", help="print the address for other computers of the network")
    parser.add_argument("--web-port", type=int, help="the port of the live page instead of web_port")
    parser.set_defaults(command=_print_link)


def add_host_page(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the console answers."""
    text = "where the host's console answers: to browsers of this computer, of the network, or nowhere"
    parser.add_argument(
        "--host-page", choices=get_args(HostPage), help=f"{text} (default: host_page in contest.toml)"
    )


def console_lines(contest: Contest, listener: socket.socket) -> Iterator[str]:
    """Yield what the host should know of the console of a page that listens: its link, or why there is none."""
    host, port = listener.getsockname()[:2]
    where = contest.file.server.host_page
    if where == "off":
        return
    on_lan = where == "lan"
    if not on_lan and not (is_any(host) or host in ("127.0.0.1", "::1")):
        return  # no loopback address reaches this page
    try:
        link = new_link(contest.folder)
    except (ConfigError, UsageError) as error:  # on a full disk, for example: the contest goes on
        yield f"! No console for the host: {error}"
        return
    shown = _console_address(
        contest, reachable_host(host) if on_lan else _loopback(host), port, link, on_lan=on_lan
    )
    yield f"Host's console, {'from this network' if on_lan else 'on this computer only'}: {shown}"
    if is_readable(contest):
        yield READABLE


def is_readable(contest: Contest) -> bool:
    """Return True if the console answers the network without TLS."""
    return contest.file.server.host_page == "lan" and not contest.page_at("host", 0).startswith("https:")


def _console_address(contest: Contest, host: str, port: int, link: str, *, on_lan: bool) -> str:
    """Return the address of the console at this host, with a link that works once."""
    server = contest.file.server
    scheme = "http" if server.tls_key is None else "https"
    page = contest.page_at(host, port) if on_lan else web_address(host, port, scheme)
    return f"{page}host?key={link}"


def _loopback(host: str) -> str:
    return "::1" if host == "::1" else "127.0.0.1"


def _print_link(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    if args.key:
        print(bearer_key(contest.folder, new_key=args.new))
        return EXIT_OK
    server = contest.file.server
    port = server.web_port if args.web_port is None else args.web_port
    host = reachable_host(server.host) if args.lan else "127.0.0.1"
    link = new_link(contest.folder, name=args.name.strip(), new_key=args.new)
    print(_console_address(contest, host, port, link, on_lan=args.lan))
    return EXIT_OK
