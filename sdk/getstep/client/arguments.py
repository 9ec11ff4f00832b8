"""The options of a command line that plays: of ``getstep play``, and of a file that calls `getstep.play`."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from getstep._errors import SetupError
from getstep._version import __version__
from getstep.text import escape_control_chars

from .restart import RESTART_SECONDS
from .settings import DEFAULT_HOST, DEFAULT_PORT, FRIENDLY_PORT, PAGE_PORT
from .tls import ROOTS

_HOST_HELP = f"the host's name or address (default: the saved one, else {DEFAULT_HOST}, else found on this network)"

_DESCRIPTION = "Play with this bot in a getstep bot contest until it is over. Ctrl-C stops it."
_EPILOG = (
    "Missing values are those that the file gives to getstep.play, then GETSTEP_HOST, GETSTEP_PORT, GETSTEP_TLS,"
    " GETSTEP_TEAM, GETSTEP_TOKEN and GETSTEP_TOKEN_FILE, then what getstep login has saved."
)


def add_connection(parser: argparse.ArgumentParser, *, page: bool = False) -> None:
    """Add the options that say where the host is, and for which team; ``page``: they are for the live page."""
    parser.add_argument("--host", help=_HOST_HELP)
    if page:
        text = f"the port of the host's live page (default {PAGE_PORT})"
        parser.add_argument("--web-port", dest="port", metavar="PORT", help=text)
        # earlier versions called it --port, which is the contest's port in all other commands
        parser.add_argument("--port", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    else:
        parser.add_argument("--port", help=f"the host's port (default {DEFAULT_PORT})")
        _add_tls(parser)
    parser.add_argument("--team", help="your team's id, a number")
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", help="your team's token")
    token.add_argument("--token-file", metavar="FILE", help="a text file that holds the token alone")


def _add_tls(parser: argparse.ArgumentParser) -> None:
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--tls", action="store_const", const=ROOTS, help="connect with TLS; check the certificate of the host"
    )
    way.add_argument(
        "--tls-pin",
        dest="tls",
        metavar="PIN",
        help="connect with TLS; the certificate has this key: 64 hexadecimal digits on the slip",
    )


def add_playing(parser: argparse.ArgumentParser) -> None:
    """Add all options of a bot that plays."""
    add_connection(parser)
    parser.add_argument(
        "--friendly",
        action="store_true",
        help=f"play against people on the live page; --port is then its port for bots (default {FRIENDLY_PORT})",
    )
    parser.add_argument("--quiet", action="store_true", help="print problems only")
    parser.add_argument(
        "--restart-after",
        metavar="SECONDS",
        help="start the program again if get_step has not returned so long after its limit"
        f" (default {RESTART_SECONDS:g}; 0 for never)",
    )


def of_this_program(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options on the command line of the bot's own file: ``python my_bot.py --team 5``.

    Words that are no options of getstep are left alone: they are the bot's own. A program without a file, such as a
    notebook, has no such command line, and a bot in another thread than the main one is one of several.

    Raises:
        SetupError: an option has no value, or two exclude each other.
    """
    if words is None:
        main = sys.modules.get("__main__")
        own = threading.current_thread() is threading.main_thread() and getattr(main, "__file__", None) is not None
        words = sys.argv[1:] if own else []
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "my_bot.py"
    parser = argparse.ArgumentParser(
        name, description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False, exit_on_error=False
    )
    add_playing(parser)
    parser.add_argument("--version", action="version", version=f"getstep Python {__version__}")
    try:
        return parser.parse_known_args(words)[0]
    except argparse.ArgumentError as error:
        raise SetupError(_usage_text(error, words)) from None


def _usage_text(error: argparse.ArgumentError, words: Sequence[str]) -> str:
    """Return what is wrong, in the words of the SDKs of all languages."""
    joined = {word.partition("=")[0]: word for word in words}
    if {"--token", "--token-file"} <= joined.keys():
        return "give --token or --token-file, not both"
    given = joined.get(error.argument_name or "", "")
    if "=" in given:  # to an option without a value, such as --quiet=1
        return f'unknown argument "{escape_control_chars(given)}"; --help lists all'
    return f"{error.argument_name} needs a value; --help lists all"
