"""The command `host-key`: a link to the host's console."""

from __future__ import annotations

import argparse

from getstep_server.config.contest import load_contest
from getstep_server.config.host_key import new_link
from getstep_server.web.listener import console_address

from ._parser import EXIT_OK, folder_argument

_HOST_KEY = """\
Print a link to the host's console, on which a contest is steered in a browser.
Open it on this computer, while run or web shows the contest. A link works once;
the one before it does not any more. --new ends all sessions, too: use it if
somebody else has seen a link or sat at this computer.

examples:
  getstep-server host-key autumn
  getstep-server host-key autumn --new

exit codes: 0 printed, 2 wrong usage, or the contest cannot be read or written
"""


def add_host_key(parser: argparse.ArgumentParser) -> None:
    parser.description = _HOST_KEY
    folder_argument(parser)
    parser.add_argument("--new", action="store_true", help="replace the key: all sessions of the console end")
    parser.add_argument("--web-port", type=int, help="the port of the live page instead of web_port")
    parser.set_defaults(command=_print_link)


def _print_link(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    port = contest.file.server.web_port if args.web_port is None else args.web_port
    print(console_address(port, new_link(contest.folder, new_key=args.new)))
    return EXIT_OK
