"""The command ``getstep check``: it tests each step from the bot to the contest, and prints one line for each."""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import StackSummary
from typing import TYPE_CHECKING, Any

from getstep_engines import GAMES, TimeControl

from . import _bot
from ._errors import BotError, NotGetstep, NotProved, SetupError, Unreachable
from ._watchdog import Watchdog, format_calls
from .client.client import NOT_PROVED, refusal, version_text
from .client.connection import (
    ServerConnection,
    connect,
    explain,
    log_in,
    read_hello,
    resolve,
    speaks_our_version,
)
from .client.discovery import Finder
from .client.match import limit_text, options_text, position_text
from .client.settings import Address, Login
from .conventions import CONVENTIONS, ConventionError
from .games import Board, first_move_error, game_named, games_named, move_text, start_board
from .referee import EndCode
from .text import Console, duration, escape_control_chars, short_repr
from .turn import Callback, CallResult, Turn, as_move, not_played_text
from .wire import Goodbye, Hello, RemoteProtocolError, Welcome

if TYPE_CHECKING:
    from .programs.wire import WireBot

_GOODBYE_SECONDS = 1.0

_PATIENCE_SECONDS = 1.0
"""Seconds beyond a game's limit after which get_step is considered to be in an endless loop."""

_BOT_SECONDS = 17.0
"""Seconds for all checks of a bot. With the server's checks and its process, ``check`` takes less than 20 s."""

_GRACE_SECONDS = 2.0
"""Seconds for an interrupted get_step to end. One that catches every exception or sleeps does not end in time:
then the process is ended."""


class _CheckFailed(Exception):  # noqa: N818 - already reported as a line when it is raised
    """A check has failed, and the later ones make no sense."""


class Report:
    """The printed lines. ``all_ok`` is False once a check has failed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.all_ok = True

    def ok(self, what: str, text: str) -> None:
        """Print that a check has passed."""
        self._line("ok", what, text)

    def skip(self, what: str, text: str) -> None:
        """Print that a check was not made, or has no clear result."""
        self._line("--", what, text)

    def fail(self, what: str, text: str) -> None:
        """Print that a check has failed."""
        self._line("BAD", what, text)
        self.all_ok = False

    def _line(self, mark: str, what: str, text: str) -> None:
        self._console.say(f"{mark:<4}{what:<9}" + text.replace("\n", "\n" + " " * 13))


def check(
    address: Address,
    login: Callable[[], Login | None],
    bot: Path | Sequence[str] | None = None,
    console: Console | None = None,
    finder: Finder | None = None,
    *,
    convention: str | None = None,
) -> bool:
    """Print one line for each check. Return True if none failed.

    The seat of a bot that plays is never taken. ``login`` returns the team to log in as, or None to skip the
    login; a SetupError raised by it is printed as a line. ``bot`` is a file to load and to time, a program that
    connects by itself, or the words of the command of one; or with a ``convention`` a program to play with.
    ``finder`` finds a server on the network if nothing listens at ``address``; such a server must prove itself.

    Raises:
        SetupError: several servers were found.
    """
    report = Report(console or Console())
    welcome: Welcome | None = None
    with contextlib.suppress(_CheckFailed):
        welcome = _check_server(report, address, login, finder)
    if bot is not None:
        with contextlib.suppress(_CheckFailed):
            _check_any(report, bot, convention, welcome)
    return report.all_ok


def _check_any(report: Report, bot: Path | Sequence[str], convention: str | None, welcome: Welcome | None) -> None:
    if isinstance(bot, Path) and convention is not None:
        _check_program(report, bot, convention, welcome)
        return
    if isinstance(bot, Path):
        from .programs.wire import plays_on_the_wire  # here: other bots need no compilers

        if not plays_on_the_wire(bot):
            _check_bot(report, bot, welcome)
            return
    _check_wire_bot(report, bot, welcome)


def _check_server(
    report: Report, address: Address, login: Callable[[], Login | None], finder: Finder | None
) -> Welcome | None:
    own = address
    address, connection, connecting_ms = _check_port(report, address, finder)
    with connection:
        hello = _check_hello(report, connection, address.host)
        try:
            team = login()
        except SetupError as error:
            raise _fail(report, "login", str(error)) from error
        if team is None:
            report.skip("login", "not tried; it needs --team and --token")
            return None
        started = time.perf_counter()
        welcome = _check_login(report, connection, hello, team, address.host, must_prove=address != own)
        _check_clock(report, welcome, max(connecting_ms, _ms_since(started)))
        with contextlib.suppress(OSError, RemoteProtocolError):
            connection.next_message(_GOODBYE_SECONDS)  # the server's goodbye
        return welcome


def _check_name(report: Report, address: Address) -> None:
    try:
        found = sorted({str(entry[4][0]) for entry in resolve(address)})
    except Unreachable as error:
        raise _fail(report, "name", str(error)) from error
    report.ok("name", address.host if found == [address.host] else f"{address.host} is {' and '.join(found)}")


def _check_port(report: Report, address: Address, finder: Finder | None) -> tuple[Address, ServerConnection, float]:
    """Connect to the address, or to a server that was found; return which it was, and the time that it took."""
    started = time.perf_counter()
    try:
        connection = connect(address)
    except (OSError, Unreachable) as error:
        found = finder.next(address) if finder is not None else None
        if found is not None:
            return _check_port(report, found, None)
        _check_name(report, address)
        raise _fail(report, "port", f"{address}: {explain(error, address)}") from error
    connecting_ms = _ms_since(started)
    _check_name(report, address)
    report.ok("port", f"{address} accepts connections")
    return address, connection, connecting_ms


def _check_hello(report: Report, connection: ServerConnection, host: str) -> Hello:
    try:
        hello = read_hello(connection)
    except NotGetstep as error:
        raise _fail(report, "server", explain(error)) from error
    if isinstance(hello, Goodbye):
        raise _fail(report, "server", f"{escape_control_chars(hello.reason)}: {escape_control_chars(hello.detail)}")
    report.ok("server", f"{escape_control_chars(hello.contest)}, hosted by {escape_control_chars(hello.server)}")
    if not speaks_our_version(hello):
        raise _fail(report, "version", version_text(hello.versions, host))
    report.ok("version", "the server and this getstep speak the same version of the protocol")
    return hello


def _check_login(
    report: Report, connection: ServerConnection, hello: Hello, login: Login, host: str, *, must_prove: bool
) -> Welcome:
    try:
        answer = log_in(connection, hello, login, purpose="check", must_be_there=must_prove)
    except NotProved as error:
        raise _fail(report, "proof", str(error)) from error
    except (OSError, RemoteProtocolError) as error:
        raise _fail(report, "login", explain(error)) from error
    if isinstance(answer, Goodbye):
        raise _fail(report, "login", str(refusal(answer, login.team, host)))
    report.ok("login", f"team {answer.team} is {escape_control_chars(answer.name)}; the token was accepted")
    if connection.located:
        report.ok("proof", "the server has proved that it knows your token, and is at this address")
    elif connection.proved:
        report.ok("proof", "the server has proved that it knows your token")
    elif must_prove:
        report.fail("proof", f"{NOT_PROVED}\nA bot plays there only if you give its address with --host.")
    else:
        report.skip(
            "proof",
            f"{NOT_PROVED}\nA bot plays there, but does not stop when this server says that the contest is over.",
        )
    return answer


def _check_clock(report: Report, welcome: Welcome, round_trip_ms: float) -> None:
    for game in welcome.games:
        report.ok("clock", f"{_game_name(game)}: {_limit_of(game)}")
    measured = f"a round trip takes {duration(round_trip_ms)}"
    if welcome.lag_ms == 0:
        report.ok("lag", f"{measured}; nothing is added to the limits for it, so answer that much earlier")
    elif round_trip_ms <= welcome.lag_ms:
        report.ok("lag", f"{measured}; {duration(welcome.lag_ms)} are added to each limit for it")
    else:
        report.fail(
            "lag",
            f"{measured}, and only {duration(welcome.lag_ms)} are added to each limit for it.\n"
            "Use a cable, move closer to the access point, or answer earlier by the difference.",
        )


def _check_bot(report: Report, path: Path, welcome: Welcome | None) -> None:
    try:
        callback = _bot.load(path)
    except BotError as error:
        raise _fail(report, "bot", f"{error.trace}\n{error}".lstrip()) from error
    parameters = "board, is_black, turn" if callback.takes_turn else "board, is_black"
    report.ok("bot", f"{path.name} has get_step({parameters})")
    until = time.perf_counter() + _BOT_SECONDS
    games = _games_at_home(games_named(path)) if welcome is None else welcome.games
    if not games:
        report.skip("time", "not measured; it needs the contest's games and limits")
    for game in games:
        seconds = until - time.perf_counter()
        if callback.games and game["game"] not in callback.games:
            report.skip("game", f"{_game_name(game)}: {not_played_text(callback.games, game['game'])}")
        elif seconds < _PATIENCE_SECONDS:
            report.skip("time", f"{_game_name(game)}: not measured; the checks before it took too long")
        elif _check_turn(report, callback, game, seconds):
            _check_whole_games(report, path, game, until - time.perf_counter())


def _check_program(report: Report, path: Path, convention: str, welcome: Welcome | None) -> None:
    from .programs.program import (  # here: other bots need neither processes nor conventions
        LocalProgram,
        identity_of,
    )

    try:
        LocalProgram(convention, path)
    except BotError as error:
        raise _fail(report, "bot", str(error)) from error
    report.ok("bot", f"{path.name} can be started")
    if convention == "linkage":
        try:
            report.ok("id line", identity_of(path).text)
        except (RuntimeError, ConventionError) as error:
            report.skip("id line", f"{path.name}: {error}")
    name = CONVENTIONS[convention].game
    at_home = games_named(path) if name is None else [name]
    offered = _games_at_home(at_home) if welcome is None else welcome.games
    games = [game for game in offered if name in (None, game["game"])]
    if not games and name is None:
        report.skip("time", "not measured; it needs the contest's games and limits")
    elif not games:
        report.fail("game", f"{convention} programs play {name}, which this contest does not have")
    for game in games:
        _check_whole_games(report, path, game, _BOT_SECONDS, convention)


def _check_wire_bot(report: Report, bot: Path | Sequence[str], welcome: Welcome | None) -> None:
    """Build and start a program that connects by itself, and play whole games with it."""
    from .programs import wire  # here: other bots need no compilers

    try:
        found = wire.from_path(bot, lambda _line: None) if isinstance(bot, Path) else wire.from_command(bot)
    except BotError as error:
        raise _fail(report, "bot", f"{error.trace}\n{error}".lstrip()) from error
    report.ok("bot", f"{found.name} is started with: {' '.join(found.command)}")
    games = _games_at_home(found.games) if welcome is None else welcome.games
    if not games:
        report.skip("time", "not measured; it needs the contest's games and limits")
    until = time.perf_counter() + _BOT_SECONDS
    for game in games:
        if until - time.perf_counter() < _PATIENCE_SECONDS:
            report.skip("time", f"{_game_name(game)}: not measured; the checks before it took too long")
        else:
            _check_whole_games(report, found, game, until - time.perf_counter())


def _games_at_home(found: Sequence[str]) -> list[dict[str, Any]]:
    """Return the game that a bot's file names, as a server announces it by default; none if it names several."""
    return [_at_home(found[0])] if len(found) == 1 else []


def _at_home(name: str) -> dict[str, Any]:
    """Return a game as a server announces it by default."""
    control = GAMES[name].time_control
    return {
        "game": name,
        "options": {},
        "time_kind": control.kind,
        "time_ms": round(control.seconds * 1000),
        "increment_ms": round(control.increment * 1000),
    }


def _check_whole_games(
    report: Report, bot: Path | WireBot, game: dict[str, Any], seconds: float, convention: str | None = None
) -> None:
    """Play whole games, which find what only happens later: a loop, an exception in mid-game, a slow move."""
    from .local_matches.trial import TRIAL_GAMES, try_bot  # here: `getstep play` needs no boards

    rules, name = game_named(game["game"]), _game_name(game)
    if rules is None:
        return
    increment = (game.get("increment_ms") or 0) / 1000
    control = TimeControl(game["time_kind"], game["time_ms"] / 1000, increment)
    try:
        results = try_bot(bot, rules, game["options"], control, seconds, convention)
    except BotError as error:
        raise _fail(report, "game", f"{name}: {error.trace}\n{error}".replace(": \n", ": ")) from error
    moves = [turn for match in results.matches for turn in match.turns if turn.player == match.bot]
    if not isinstance(bot, Path) and moves and moves[0].kind == "move":  # a file in Python was timed before
        took = f"the first move took {duration((moves[0].seconds or 0) * 1000)} of {_limit_of(game)}"
        report.ok("time", f"{name}: {took}; it returned {short_repr(as_move(moves[0].move))}")
    longest = max((turn.seconds or 0 for turn in moves), default=0)
    slowest = f"the slowest of {len(moves)} moves took {duration(longest * 1000)}"
    if not isinstance(bot, Path) and any(turn.code == EndCode.RESIGNED for _, turn in results.faults):
        printed = "".join(f"; it printed {text}" for text in results.printed.values())
        report.skip("game", f"{name}: the bot gives up, as one does that does not play this game{printed}")
    elif results.faults:
        report.fail("game", f"{name}, against random: {results.first_fault()}")
    elif results.stopped:
        report.skip("game", f"{name}, against random: not over after {seconds:.0f} s, no fault so far; {slowest}")
    else:
        report.ok("game", f"{name}: {TRIAL_GAMES} whole games against random without a fault; {slowest}")


def _check_turn(report: Report, callback: Callback, game: dict[str, Any], seconds: float) -> bool:
    """Call get_step on the first board. Return True if its answer is a legal move in time."""
    board = start_board(game["game"], game["options"])
    if board is None:
        report.skip("time", f"{_game_name(game)}: a game that is not installed here")
        return False
    options, increment_ms = dict(game["options"]), game.get("increment_ms")
    turn = Turn(game["game"], 1, 1, "check", None, game["time_ms"], options, increment_ms or 0, game["time_kind"])
    call = _call_with_timeout(report, callback, board, turn, seconds)
    if call is None:
        return False
    in_time = _check_time(report, call, game)
    return not call.problem and _check_move(report, call.move, game) and in_time


def _check_time(report: Report, call: CallResult, game: dict[str, Any]) -> bool:
    limit = _limit_of(game)
    if call.problem:
        report.fail("time", f"{_game_name(game)}: {call.problem}")
    elif call.ms > game["time_ms"]:
        report.fail("time", f"{_game_name(game)}: get_step took {duration(call.ms)}, the limit is {limit}")
    else:
        took = f"get_step took {duration(call.ms)} of {limit}"
        report.ok("time", f"{_game_name(game)}: {took}; it returned {short_repr(call.move)}")
        return True
    return False


def _check_move(report: Report, move: Any, game: dict[str, Any]) -> bool:
    """Check the move by the rules on a fresh board: the bot may have changed its own."""
    name = game["game"]
    if wrong := first_move_error(name, game["options"], move):
        board = start_board(name, game["options"])
        shown = "" if board is None else f"\n{position_text(name, board, True, move)}"
        report.fail("move", f"{_game_name(game)}: {wrong}\nExpected for {name}: {move_text(name)}{shown}")
    return not wrong


def _call_with_timeout(
    report: Report, callback: Callback, board: Board, turn: Turn, most: float
) -> CallResult | None:
    """Call get_step once. If it does not return in time, interrupt it, report that, and return None.

    The call runs in the main thread, as in a contest: a bot may use signals for its own clock.
    """
    seconds = min(turn.time_left_ms / 1000 + _PATIENCE_SECONDS, most)
    last_resort = threading.Timer(_GRACE_SECONDS, os._exit, (1,))
    last_resort.daemon = True
    interrupted = threading.Event()

    def interrupt(stack: StackSummary) -> None:
        where = f"is there an endless loop? It is at\n{format_calls(stack)}"
        report.fail("time", f"{turn.game}: get_step has not answered within {seconds:g} s: {where}")
        interrupted.set()
        last_resort.start()
        _thread.interrupt_main()

    try:
        with Watchdog().watch((seconds, interrupt)):
            call = callback.call(board, True, turn)
    except KeyboardInterrupt:
        if not interrupted.is_set():
            raise
    finally:
        last_resort.cancel()
    return None if interrupted.is_set() else call


def _fail(report: Report, what: str, text: str) -> _CheckFailed:
    report.fail(what, text)
    return _CheckFailed()


def _limit_of(game: dict[str, Any]) -> str:
    return limit_text(game["time_kind"], game["time_ms"], game.get("increment_ms") or 0)


def _game_name(game: dict[str, Any]) -> str:
    return escape_control_chars(game["game"]) + options_text(game["options"])


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
