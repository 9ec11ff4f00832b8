"""``getstep check``: what is right and what is wrong on the way from the bot to the contest, a line each."""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from traceback import StackSummary
from typing import Any

from . import _bot
from ._client import refusal, version_text
from ._errors import BotError, NotGetstep, SetupError, Unreachable
from ._form import misfit
from ._games import Board, info, start_board
from ._link import Link, connect, explain, greet, join, resolve, speaks_our_version
from ._match import limit_text, options_text
from ._settings import Address, Login
from ._text import Console, duration, printable, shown
from ._turn import Callback, Thought, Turn
from ._watchdog import Watchdog, calls
from .wire import Goodbye, Hello, RemoteProtocolError, Welcome

_GOODBYE_SECONDS = 1.0

_PATIENCE_SECONDS = 1.0
"""Beyond a game's limit: after that, get_step is taken to be caught in a loop."""

_GRACE_SECONDS = 2.0
"""For a get_step that is broken off to give way; one that catches everything or sleeps does not."""


class Failed(Exception):  # noqa: N818 - caught and printed as a line, never an error to anybody else
    """A check that failed and makes the ones after it meaningless."""


class Report:
    """The lines, and whether all is well."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.well = True

    def good(self, what: str, text: str) -> None:
        """This is as it should be."""
        self._line("ok", what, text)

    def open(self, what: str, text: str) -> None:
        """This was not checked."""
        self._line("--", what, text)

    def bad(self, what: str, text: str) -> None:
        """This is wrong."""
        self._line("BAD", what, text)
        self.well = False

    def _line(self, mark: str, what: str, text: str) -> None:
        self._console.say(f"{mark:<4}{what:<9}" + text.replace("\n", "\n" + " " * 13))


def check(
    address: Address,
    login: Callable[[], Login | None],
    bot: Path | None = None,
    console: Console | None = None,
) -> bool:
    """Print what is right and what is wrong; whether all is well.

    Never takes the seat of a bot that plays. ``login`` is who to log in as, None to leave that out; a
    SetupError from it is a line like the others. ``bot`` is a file to load and to time.
    """
    report = Report(console or Console())
    welcome: Welcome | None = None
    with contextlib.suppress(Failed):
        welcome = _check_server(report, address, login)
    if bot is not None:
        with contextlib.suppress(Failed):
            _check_bot(report, bot, welcome)
    return report.well


def _check_server(report: Report, address: Address, login: Callable[[], Login | None]) -> Welcome | None:
    _check_name(report, address)
    link, connecting_ms = _check_port(report, address)
    with link:
        hello = _check_greeting(report, link)
        try:
            who = login()
        except SetupError as error:
            raise _failed(report, "login", str(error)) from error
        if who is None:
            report.open("login", "not tried; give --team and --token, too")
            return None
        started = time.perf_counter()
        welcome = _check_login(report, link, hello, who)
        _check_clock(report, welcome, max(connecting_ms, _ms_since(started)))
        with contextlib.suppress(OSError, RemoteProtocolError):
            link.first(_GOODBYE_SECONDS)  # the server's goodbye: a polite end
        return welcome


def _check_name(report: Report, address: Address) -> None:
    try:
        found = sorted({str(entry[4][0]) for entry in resolve(address)})
    except Unreachable as error:
        raise _failed(report, "name", str(error)) from error
    report.good("name", address.host if found == [address.host] else f"{address.host} is {' and '.join(found)}")


def _check_port(report: Report, address: Address) -> tuple[Link, float]:
    started = time.perf_counter()
    try:
        link = connect(address)
    except OSError as error:
        raise _failed(report, "port", f"{address}: {explain(error)}") from error
    report.good("port", f"{address} takes connections")
    return link, _ms_since(started)


def _check_greeting(report: Report, link: Link) -> Hello:
    try:
        hello = greet(link)
    except NotGetstep as error:
        raise _failed(report, "server", explain(error)) from error
    if isinstance(hello, Goodbye):
        raise _failed(report, "server", f"{printable(hello.reason)}: {printable(hello.detail)}")
    report.good("server", f"{printable(hello.contest)}, hosted by {printable(hello.server)}")
    if not speaks_our_version(hello):
        raise _failed(report, "version", version_text(hello.versions))
    report.good("version", "the server and this getstep speak the same protocol")
    return hello


def _check_login(report: Report, link: Link, hello: Hello, login: Login) -> Welcome:
    try:
        answer = join(link, hello, login, purpose="check")
    except (OSError, RemoteProtocolError) as error:
        raise _failed(report, "login", explain(error)) from error
    if isinstance(answer, Goodbye):
        raise _failed(report, "login", str(refusal(answer, login.team)))
    report.good("login", f"team {answer.team} is {printable(answer.name)}; the token is right")
    return answer


def _check_clock(report: Report, welcome: Welcome, round_trip_ms: float) -> None:
    for game in welcome.games:
        report.good("clock", f"{_named(game)}: {limit_text(game['time_kind'], game['time_ms'])}")
    measured = f"a message takes {duration(round_trip_ms)} there and back"
    if welcome.lag_ms == 0:
        report.good("lag", f"{measured}; there is no allowance, so leave that much of each limit unused")
    elif round_trip_ms <= welcome.lag_ms:
        report.good("lag", f"{measured}; {duration(welcome.lag_ms)} are allowed on top of each limit")
    else:
        report.bad(
            "lag",
            f"{measured}, and only {duration(welcome.lag_ms)} are allowed on top of each limit.\n"
            "Use a cable or go nearer to the access point, or leave the difference of each limit unused.",
        )


def _check_bot(report: Report, path: Path, welcome: Welcome | None) -> None:
    try:
        callback = _bot.load(path)
    except BotError as error:
        raise _failed(report, "bot", f"{error.trace}\n{error}".lstrip()) from error
    parameters = "board, is_black, turn" if callback.takes_turn else "board, is_black"
    report.good("bot", f"{path.name} has get_step({parameters})")
    if welcome is None:
        report.open("time", "not measured; that needs the contest's limits")
        return
    for game in welcome.games:
        _check_turn(report, callback, game)


def _check_turn(report: Report, callback: Callback, game: dict[str, Any]) -> None:
    board = start_board(game["game"], game["options"])
    if board is None:
        report.open("time", f"{_named(game)}: a game newer than this getstep")
        return
    turn = Turn(game["game"], 1, 1, "check", None, game["time_ms"], dict(game["options"]))
    thought = _tried(report, callback, board, turn)
    if thought is None:
        return
    _check_time(report, thought, game)
    if not thought.complaint:
        _check_move(report, thought.move, game)


def _check_time(report: Report, thought: Thought, game: dict[str, Any]) -> None:
    limit = limit_text(game["time_kind"], game["time_ms"])
    if thought.complaint:
        report.bad("time", f"{_named(game)}: {thought.complaint}")
    elif thought.ms > game["time_ms"]:
        report.bad("time", f"{_named(game)}: get_step took {duration(thought.ms)}, the limit is {limit}")
    else:
        took = f"get_step took {duration(thought.ms)} of {limit}"
        report.good("time", f"{_named(game)}: {took}; it returned {shown(thought.move)}")


def _check_move(report: Report, move: Any, game: dict[str, Any]) -> None:
    """Against a fresh board: the bot may have scribbled on the one it got."""
    name = game["game"]
    board = start_board(name, game["options"])
    if board is not None and (wrong := misfit(name, board, move)):
        report.bad("move", f"{_named(game)}: {wrong}\nExpected for {name}: {info(name).move}")


def _tried(report: Report, callback: Callback, board: Board, turn: Turn) -> Thought | None:
    """One call of get_step; None if it had to be broken off, which is in the report then.

    It runs in the main thread, as in a contest: a bot may use signals for its own clock.
    """
    seconds = turn.time_left_ms / 1000 + _PATIENCE_SECONDS
    last_resort = threading.Timer(_GRACE_SECONDS, os._exit, (1,))
    last_resort.daemon = True
    broken_off = threading.Event()

    def late(stack: StackSummary) -> None:
        where = f"is there an endless loop? It is at\n{calls(stack)}"
        report.bad("time", f"{turn.game}: get_step has not answered within {seconds:g} s: {where}")
        broken_off.set()
        last_resort.start()
        _thread.interrupt_main()

    try:
        with Watchdog().over(seconds, late):
            thought = callback.think(board, True, turn)
    except KeyboardInterrupt:
        if not broken_off.is_set():
            raise
    finally:
        last_resort.cancel()
    return None if broken_off.is_set() else thought


def _failed(report: Report, what: str, text: str) -> Failed:
    report.bad(what, text)
    return Failed()


def _named(game: dict[str, Any]) -> str:
    return printable(game["game"]) + options_text(game["options"])


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
