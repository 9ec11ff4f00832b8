"""The commands `pause` and `resume`."""

from __future__ import annotations

import argparse

from getstep_server.decisions.requests import Pause, Resume

from ._parser import event_option, folder_argument
from .decisions import add_ruling_options, decide

_LABELS = {"match": "--match"}

_PAUSE = f"""\
{Pause.text}
examples:
  getstep-server pause autumn --why "the projector has failed"
  getstep-server pause autumn --now --why "fire alarm"
  getstep-server pause autumn --match 7 --why "a laptop is on fire"
  getstep-server pause autumn --event hop --why "lunch"
  getstep-server resume autumn
"""

_RESUME = f"""\
{Resume.text}
examples:
  getstep-server resume autumn
  getstep-server resume autumn --match 7
"""


def add_pause(parser: argparse.ArgumentParser) -> None:
    parser.description = _PAUSE
    _add_what(parser)
    parser.add_argument("--now", action="store_true", help="stop at once (default: at the end of the turn)")
    add_ruling_options(parser)
    parser.set_defaults(command=_pause)


def add_resume(parser: argparse.ArgumentParser) -> None:
    parser.description = _RESUME
    _add_what(parser)
    add_ruling_options(parser, "the pause is over")
    parser.set_defaults(command=_resume)


def _add_what(parser: argparse.ArgumentParser) -> None:
    folder_argument(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--match", type=int, metavar="MATCH", help="only the match with this number")
    event_option(what, "only one event")


def _pause(args: argparse.Namespace) -> int:
    request = Pause(match=args.match, event=args.event, at_once=args.now, by=args.by, why=args.why)
    return decide(args, request, _LABELS)


def _resume(args: argparse.Namespace) -> int:
    return decide(args, Resume(match=args.match, event=args.event, by=args.by, why=args.why), _LABELS)
