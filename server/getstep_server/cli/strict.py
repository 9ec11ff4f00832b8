"""The command `standby`: whether results wait for a standby host."""

from __future__ import annotations

import argparse

from getstep_server.decisions.requests import NotStrict, Strict

from ._parser import folder_argument
from .decisions import add_ruling_options, decide

_STANDBY = f"""\
Say whether results wait for a standby host. This is a decision on record.

--strict on:
{Strict.text}
--strict off:
{NotStrict.text}
With standby = "strict" under [server] in contest.toml, a contest begins strict.

examples:
  getstep-server standby autumn --strict on --why "the second laptop is here"
  getstep-server standby autumn --strict off --why "its disk is full"
"""


def add_standby(parser: argparse.ArgumentParser) -> None:
    parser.description = _STANDBY
    folder_argument(parser)
    parser.add_argument("--strict", required=True, choices=("on", "off"), help="whether results wait")
    add_ruling_options(parser)
    parser.set_defaults(command=_standby)


def _standby(args: argparse.Namespace) -> int:
    kind = Strict if args.strict == "on" else NotStrict
    return decide(args, kind(by=args.by, why=args.why))
