"""Playing: the client's side of the conversation of protocol.md, and reconnecting."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import StackSummary

from getstep import _bot
from getstep._debugger import attached_debugger
from getstep._errors import (
    BotError,
    GetstepError,
    NotGetstep,
    NotProved,
    Refused,
    SetupError,
    Unreachable,
    error_text,
    print_plainly_if_uncaught,
)
from getstep._version import __version__
from getstep._watchdog import Watchdog, location
from getstep.text import Console, escape_control_chars
from getstep.turn import Callback, CallResult, GetStepFunction, answer_to
from getstep.wire import (
    VERSION,
    End,
    GetStep,
    Goodbye,
    Hello,
    Message,
    Notice,
    Penalty,
    RemoteProtocolError,
    Start,
    Welcome,
)

from ._bot_output import BotOutput, OutputLog, RepeatedProblems
from .arguments import of_this_program
from .connection import (
    NO_FENCE,
    ServerConnection,
    connect,
    explain,
    is_gone,
    log_in,
    read_hello,
    speaks_our_version,
)
from .discovery import Finder
from .match import (
    Match,
    Result,
    end_text,
    hangs_text,
    lateness_text,
    notice_text,
    penalty_text,
    restart_text,
    stalled_text,
    still_running_text,
)
from .reconnect import STEADY_SECONDS, Backoff, ends_the_run, retry_seconds, time_scale
from .restart import (
    CtrlC,
    Handover,
    Program,
    command_of_this_program,
    find_restart_after,
    leave,
    take_handover,
)
from .saved_login import load, note_moved, note_seen
from .settings import (
    DEFAULT_PORT,
    FRIENDLY_PORT,
    PAGE_PORT,
    Address,
    Login,
    find_address,
    find_login,
    given_port,
    host_is_given,
)

_ADVICE = {
    "bad_token": "Copy the token again from the slip from the host, and check the host's address.",
    "unknown_team": "Ask the host for your team's id, or look at the slip; check the host's address, too.",
    "replaced": "Is a second copy of your bot running? The newest one plays, this one stops.",
}
_FRIENDLY = (
    "People can play friendly matches against this bot now, on the page Play of the host's live page. They count"
    " nowhere.\nYour seat in the contest is not touched. Ctrl-C stops the bot."
)
_NO_FRIENDLY = (
    "This is the port of the contest, not the one for friendly matches.\n"
    "The page Play of the host's live page shows the command for friendly matches."
)
_ONLY_FRIENDLY = (
    "This port is for friendly matches, which count nowhere: give --friendly.\n"
    f"To play in the contest, give its port; it is {DEFAULT_PORT} unless the host says otherwise."
)
MAX_RESULTS = 10_000
"""Results that are kept: a bot may play on a ladder for months, and a false server may end a match in no time."""

_MOST_WARNED = 100
"""Problems that are kept, to report each once: a server whose every goodbye differs takes no more memory."""

INTERRUPT_SECONDS, END_SECONDS = 0.5, 1.25
"""Seconds after the last goodbye at which get_step is interrupted, and at which the process is ended.

Both come up to 0.25 s later (`_watchdog`), and the process ends within 2 s (protocol.md, "The conversation")."""

NOT_PROVED = "this server has not proved that it knows your token (an older getstep server, or not your host)"
_NOT_OBEYED = "The bot plays, but does not stop when this server says that the contest is over; Ctrl-C stops it."
_NOT_BELIEVED = "The server that said so has not proved that it is your host; Ctrl-C stops the bot."


def play(
    get_step: GetStepFunction,
    team: int | str | None = None,
    token: str | None = None,
    host: str | None = None,
    port: int | str | None = None,
    *,
    token_file: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    restart_after: float | str | None = None,
    tls: bool | str | None = None,
) -> list[Result]:
    """Play in a contest until it is over; the one call a bot needs.

    ``get_step(board, is_black)`` is called whenever it is this bot's turn, and returns a move. ``board`` is a
    fresh list of rows of ints; ``is_black`` is True for the first player. With a third parameter it also gets
    a `Turn`. An exception in it costs that turn only. If the server is not running yet or the connection is
    lost, `play` connects again until it succeeds, and resumes a match in progress. Ctrl-C ends the program with
    exit code 130.

    If ``get_step`` does not return, `play` starts the whole program again, with the same command line; the contest
    goes on. In a notebook, a debugger or a thread it does not.

    The options of ``getstep play`` on the program's own command line come before the arguments:
    ``python my_bot.py --host 192.168.1.10 --team 5``.

    Args:
        get_step: the bot.
        team: the team id, 0 to 2147483647; else the variable GETSTEP_TEAM.
        token: the team's token; else ``token_file``, GETSTEP_TOKEN, or the file GETSTEP_TOKEN_FILE.
        host: the server's name or address; else GETSTEP_HOST, else the saved one, else 127.0.0.1. If neither the
            saved one nor 127.0.0.1 answers, `play` looks for the contest on this network.
        port: the server's port; else GETSTEP_PORT, else 7777.
        token_file: a text file that holds the token alone.
        quiet: print problems only.
        restart_after: seconds after the limit of a move at which a program that hangs is started again; 0 for
            never. Else GETSTEP_RESTART_AFTER, else 10.
        tls: True to connect with TLS and to check the host's certificate, or the pin of its key (64 hexadecimal
            digits on the slip); else GETSTEP_TLS, else as saved.

    Returns:
        The matches that ended while the bot was connected, since the program was last started, in order; the latest
        10,000 if there were more.

    Raises:
        SetupError: the team, the token, the host or the port is missing or not valid.
        BotError: ``get_step`` cannot be called with a board and a colour.
        Unreachable: the host's name does not resolve.
        Refused: the server does not let this bot play: a wrong token or team, a server of another version,
            or a newer login of the same team.
    """
    if _bot.loading:
        raise BotError(
            'getstep.play is called while the file is loaded; put it under if __name__ == "__main__":\n'
            "or remove it: getstep play calls it for you."
        )
    try:
        own = of_this_program()
    except SetupError:
        print_plainly_if_uncaught()
        raise
    console = Console(quiet=quiet or own.quiet or bool(os.environ.get("GETSTEP_QUIET")))
    if own.token or own.token_file:
        token, token_file = own.token, own.token_file
    try:
        callback = Callback(get_step)
        client = client_for(
            lambda: callback,
            console,
            own.host or host,
            own.port or port,
            team if own.team is None else own.team,
            token,
            token_file,
            friendly=own.friendly,
            restart_after=restart_after if own.restart_after is None else own.restart_after,
            tls=tls if own.tls is None else own.tls,
            command=command_of_this_program(),
        )
        return client.run()
    except GetstepError:
        print_plainly_if_uncaught()
        raise
    except KeyboardInterrupt:
        console.say("Stopped.")
        raise SystemExit(130) from None


def client_for(
    load_bot: Callable[[], Callback],
    console: Console,
    host: str | None,
    port: int | str | None,
    team: int | str | None,
    token: str | None,
    token_file: str | os.PathLike[str] | None,
    *,
    friendly: bool,
    restart_after: float | str | None,
    tls: bool | str | None,
    command: Sequence[str] | None,
) -> Client:
    """Return the client of a program that plays with one bot.

    Args:
        load_bot: returns the bot; called once the settings are known to be valid.
        console: prints the lines for the bot's author.
        host: as all arguments that follow, of `play`.
        port: default that of the contest, or that for friendly matches.
        team: its id.
        token: its token.
        token_file: a file with the token.
        friendly: play friendly matches.
        restart_after: as of `play`.
        tls: as of `play`.
        command: starts this program again, if it hangs; None if this process has more to do than to play.

    Raises:
        GetstepError: a setting is missing or not valid, or the bot cannot be loaded.
    """
    seconds = find_restart_after(restart_after)
    program = None if command is None else Program(command, seconds)
    handover = None if command is None else take_handover()
    # the port for friendly matches speaks no TLS
    address = find_address(host, port or (FRIENDLY_PORT if friendly else None), False if friendly else tls)
    login = find_login(team, token, token_file) if handover is None else handover.login
    # Only contests are announced on the network: a friendly bot goes to the given or the saved host.
    finder = None if friendly else finder_for(host, port, tls, console)
    return Client(
        load_bot(), address, login, console, finder=finder, friendly=friendly, program=program, handover=handover
    )


def finder_for(host: str | None, port: int | str | None, tls: bool | str | None, console: Console) -> Finder | None:
    """Return what finds other servers than that of `find_address`; None if the user has named the host."""
    if host_is_given(host):
        return None
    return Finder(find_address(host, port, tls), load(), given_port(port), console)


@dataclass
class Question:
    """A `get_step` from the server, the callback's result, and whether that was sent."""

    ask: GetStep
    call: CallResult | None = None
    answered: bool = False

    def same_as(self, ask: GetStep) -> bool:
        """Return True if ``ask`` repeats this question after a reconnect; only the time left has changed."""
        return replace(ask, time_left_ms=self.ask.time_left_ms) == self.ask


class Client:
    """A bot in a contest, over as many connections as it takes.

    Args:
        callback: the bot.
        address: the server's address.
        login: the team to play for.
        console: prints the lines for the bot's author.
        sleep: waits that many seconds; tests pass their own.
        finder: finds other addresses while this one does not answer; None if the user has named the host.
        friendly: play friendly matches, on the port for them, and never take a seat of the contest.
        program: this process, which the client may start again or end if the bot hangs; None if it may not.
        handover: what the program before has handed over, if this one was started again.
    """

    def __init__(
        self,
        callback: Callback,
        address: Address,
        login: Login,
        console: Console,
        sleep: Callable[[float], None] = time.sleep,
        finder: Finder | None = None,
        *,
        friendly: bool = False,
        program: Program | None = None,
        handover: Handover | None = None,
    ) -> None:
        self.console = console
        self._friendly = friendly
        self._finder = finder
        self._tried: set[Address] = set()  # the found addresses, which the finder bounds
        self._callback = callback
        self._address = address
        self._login = login
        self._sleep = sleep
        self._time_scale = time_scale()
        self._backoff = Backoff()
        self._watchdog = Watchdog()
        # Bots in threads of one process would share a file.
        self._output = BotOutput(None if program is None else OutputLog(Path(f"{callback.stem}-output.log")))
        self._problems = RepeatedProblems()
        self._results: deque[Result] = deque(maxlen=MAX_RESULTS)
        self._match: Match | None = None
        self._question: Question | None = None  # the newest
        self._goodbye: Goodbye | None = None
        self._welcomed = False  # on this connection
        self._ever_welcomed = False
        self._proved = False  # on this connection
        self._contest = ""  # the name, from the server that has proved itself
        self._ever_proved = False
        self._ever_located = False
        self._fence = NO_FENCE  # the highest that was proved
        self._warned: set[str] = set()  # the problems reported since the last good connection
        self._program = program
        self._ctrl_c = CtrlC()
        self._over_since: float | None = None  # since when the contest is over, while the bot still thinks
        self._interrupted = False  # this client has interrupted the bot, and not its user
        self._hangs = 0  # in a row, without an answer in between
        self._first_pause, self._supervised = 0.0, False
        if handover is not None:
            self._supervised = handover.supervised
            self._address, self._hangs, self._first_pause = handover.address, handover.hangs, handover.pause
            self._ever_proved, self._ever_located = handover.proved, handover.located
            self._fence = handover.fence

    def run(self) -> list[Result]:
        """Play until the server says not to come back. Raises like `play`."""
        try:
            with self._ctrl_c.noted() if self._program else contextlib.nullcontext():
                return self._run()
        finally:
            self._output.close_log()

    def _run(self) -> list[Result]:
        if self._first_pause:
            self.console.warn(f"{hangs_text(self._hangs)}; the client connects in {self._first_pause:g} s.")
            self._sleep(self._first_pause * self._time_scale)
        self.console.say(f"Connecting to {self._address} as team {self._login.team} ...")
        while True:
            try:
                goodbye = self._one_connection()
            except Unreachable as error:
                if not self._ever_welcomed and self._finder is None:
                    raise
                pause = self._after_failure(str(error))
            except (OSError, NotGetstep, NotProved, RemoteProtocolError) as error:
                pause = self._after_failure(explain(error, self._address), gone=is_gone(error))
            else:
                if self._doubtful(goodbye):
                    pause = self._after_failure(_goodbye_text(goodbye))
                elif self._ends(goodbye):
                    return self._end_run(goodbye)
                else:
                    pause = self._on_goodbye(goodbye)
            self._sleep(pause * self._time_scale)

    def _ends(self, goodbye: Goodbye) -> bool:
        return ends_the_run(goodbye, proved=self._proved, welcomed=self._welcomed, ever_proved=self._ever_proved)

    # --- other addresses ---

    @property
    def _at_found_server(self) -> bool:
        return self._finder is not None and self._finder.is_found(self._address)

    def _doubtful(self, goodbye: Goodbye) -> bool:
        """Return True if a found server has refused the login, and this is not to be believed.

        Either the token is known to be right, or the server only makes the bot wait, or it is not the host's.
        """
        if self._finder is None or not self._at_found_server or self._welcomed:
            return False
        if goodbye.reason == "wrong_address":
            return True
        return goodbye.retry_ms is not None or self._finder.knows(self._login.token) or self._ever_proved

    def _after_failure(self, why: str, *, gone: bool = False) -> float:
        """Report a failure, choose the next address, and return how long to wait.

        The search itself takes a second. After a lost connection it starts only after some attempts: a server that
        was restarted is back at the same address. It starts at once if another computer has taken over, or if the
        host's computer is ``gone``.
        """
        failed, found = self._address, None
        search_now = gone or self._at_found_server or not self._ever_welcomed or self._backoff.is_long
        if self._finder is not None and search_now:
            found = self._finder.next(failed)
            self._address = found or self._finder.own
            if found and failed == self._finder.own and found not in self._tried:
                self._tried.add(found)  # if it is the host, which has moved, nothing is wrong
                return 0
        pause = self._on_failure(why, failed)
        return 0 if found else pause

    def _settle(self) -> None:
        """Stay with a server that has proved itself. If it was found, keep its address in the saved login."""
        if self._finder is None:
            return
        saved, address, found = self._finder.saved, self._address, self._at_found_server
        self._finder.settle(address)
        if not found or saved is None or saved.team != self._login.team:
            return
        if note_moved(saved, address.host, address.port):
            self.console.say(f"The saved login has the new address now, {address}.")

    # --- one connection ---

    def _one_connection(self) -> Goodbye:
        """Connect, log in and play; return the server's goodbye."""
        self._welcomed, self._proved, self._goodbye = False, False, None
        if self._match is not None and self._match.friendly:
            self._match = None  # it has ended with its connection
        with connect(self._address) as connection:
            hello = read_hello(connection)
            if isinstance(hello, Goodbye):
                return hello
            if not speaks_our_version(hello):
                return self._unsuitable("unsupported_version", version_text(hello.versions, self._address.host))
            if (hello.friendly is True) != self._friendly:
                return self._unsuitable("wrong_port", _NO_FRIENDLY if self._friendly else _ONLY_FRIENDLY)
            must_be_there = self._at_found_server or self._ever_located
            answer = log_in(connection, hello, self._login, must_be_there=must_be_there, fence=self._fence)
            if isinstance(answer, Goodbye):
                return answer
            if self._ever_proved and not connection.proved:
                raise NotProved(f"{NOT_PROVED}, as it did before; to play there, start the bot again")
            if self._at_found_server and not connection.proved:
                raise NotProved(f"{NOT_PROVED}; to play there, give its address with --host")
            self._proved = connection.proved
            self._ever_located |= connection.located
            self._fence = connection.fence if connection.proved else self._fence
            self._on_welcome(hello, answer)
            return self._play_until_goodbye(connection)

    def _unsuitable(self, reason: str, text: str) -> Goodbye:
        """Return a goodbye for a server that this client does not log in to; raise it if none has proved itself."""
        if not self._ever_proved and not self._at_found_server:
            raise Refused(reason, text)
        return Goodbye(reason, text, None)

    def _on_welcome(self, hello: Hello, welcome: Welcome) -> None:
        if self._ever_welcomed:
            self.console.say("Reconnected.")
        else:
            team = f"{escape_control_chars(welcome.name)} (team {welcome.team})"
            self.console.say(f"Connected to {escape_control_chars(hello.contest)} as {team}.")
            if self._friendly:
                self.console.say(_FRIENDLY)
        self._welcomed = self._ever_welcomed = True
        if self._proved:
            self._ever_proved = True
            self._contest = escape_control_chars(hello.contest)
            self._settle()
            self._note_seen()
            self._reset_problems()
        else:
            self._warn_once(f"Careful: {NOT_PROVED}. {_NOT_OBEYED}")

    def _play_until_goodbye(self, connection: ServerConnection) -> Goodbye:
        since = time.monotonic()
        try:
            while self._goodbye is None:
                self._handle(connection.wait_for_messages())
                while connection.open_question is not None:
                    self._answer(connection)
        finally:
            if time.monotonic() - since >= STEADY_SECONDS:
                self._reset_problems()
        return self._goodbye

    def _answer(self, connection: ServerConnection) -> None:
        """Call the bot, read what has arrived since, and answer."""
        match, question = self._current()
        try:
            call = question.call or self._call(connection, match, question)
        except KeyboardInterrupt:
            self._handle_last_messages(connection)
            if self._interrupted:
                return  # the contest is over: `play` returns as if get_step had
            raise
        self._handle(connection.read_available())
        if connection.open_question != question.ask.id:
            self._answer_late(connection, match, question.ask, call)
            return
        connection.send(answer_to(question.ask.id, call))
        if call.error is None and not call.resigns:
            match.add_move(question.ask.id)
        question.answered = True
        self._hangs = 0

    def _answer_late(self, connection: ServerConnection, match: Match, ask: GetStep, call: CallResult) -> None:
        """Answer a closed question if its match continues: this shows the server that the bot has not stalled."""
        late = lateness_text(match.number, ask, call.ms)
        if self._match is match and self._goodbye is None:
            connection.send(answer_to(ask.id, call))
            self.console.warn(f"{late}; the turn was already over, so the answer changes nothing")
        else:
            self.console.warn(f"{late}; the match was already over, so the answer was not sent")

    def _call(self, connection: ServerConnection, match: Match, question: Question) -> CallResult:
        ask = question.ask
        board = [list(row) for row in ask.board]  # a copy, which the bot may change
        limit_ms = ask.time_left_ms + match.lag_ms
        stalled_ms = match.stalled_after_ms(ask)
        restart_ms = max(limit_ms, self._restart_ms(ask))

        def warn_late(stack: StackSummary) -> None:
            self.console.warn(still_running_text(match.number, ask, limit_ms, location(stack)))

        def warn_stalled(stack: StackSummary) -> None:
            then_ms = math.inf if attached_debugger(threading.main_thread().ident) else restart_ms
            self.console.warn(stalled_text(match.number, ask, stalled_ms, location(stack), then_ms))

        def restart(stack: StackSummary) -> None:
            self._restart(connection, match, ask, location(stack))

        first = limit_ms / 1000, warn_late
        then = (stalled_ms / 1000, warn_stalled), (restart_ms / 1000, restart)
        alarms = (first, *then) if stalled_ms < restart_ms else (first, *then[::-1])  # sorting takes 1 µs
        where = f"match {match.number}, move {ask.move_number}"
        with (
            self._output.counted(where),
            self._watchdog.watch(*alarms, meanwhile=lambda: self._read_on(connection)),
        ):
            call = self._callback.call(board, ask.is_black, match.turn(ask))
        if self._interrupted:
            _take_signals()
        question.call = call
        match.add_time(call.ms)
        for line in call.dropped:
            self.console.warn(f"Match {match.number}, move {ask.move_number}: {line}")
        if call.problem and self._problems.is_new(call.problem):
            self.console.warn(f"Match {match.number}, move {ask.move_number}: {call.problem}")
        return call

    # --- a bot that does not return; called in the watchdog's thread ---

    def _restart_ms(self, ask: GetStep) -> float:
        """Return how many milliseconds after the question the program is started again; infinity for never."""
        if self._program is None or not self._program.restart_after:
            return math.inf
        return ask.time_left_ms + 1000 * self._program.restart_after

    def _read_on(self, connection: ServerConnection) -> None:
        """Read while the bot thinks, and close the connection after a goodbye.

        End the program if the contest is over, or after Ctrl-C, and the bot hangs.
        """
        connection.receive_available()
        connection.close_if_ended()
        if self._program is None:
            return
        now, pressed_at = time.monotonic(), self._ctrl_c.pressed_at
        if pressed_at is not None and not self._interrupted and now - pressed_at >= END_SECONDS:
            self._leave_output()
            self.console.say("Stopped.")
            leave(130)
        goodbye = connection.last_goodbye
        if goodbye is None or not self._ends(goodbye):
            return
        if self._over_since is None:
            self._over_since = now
        elif now - self._over_since >= END_SECONDS:
            self._end_hung(connection, goodbye)
        elif not self._interrupted and now - self._over_since >= INTERRUPT_SECONDS:
            self._interrupted = True
            self.console.warn("getstep: get_step is still running; the program ends without it")
            self._ctrl_c.interrupt_main()

    def _end_hung(self, connection: ServerConnection, goodbye: Goodbye) -> None:
        """End the program after the last goodbye, although get_step has not returned."""
        self._leave_output()
        self._handle_last_messages(connection)
        code = 0
        try:
            self._end_run(goodbye)
        except Refused as error:
            self.console.warn(error_text(error))
            code = 1
        leave(code)

    def _restart(self, connection: ServerConnection, match: Match, ask: GetStep, where: str) -> None:
        """Start the whole program again, unless somebody looks at it in a debugger."""
        program = self._program
        if program is None or attached_debugger(threading.main_thread().ident):
            return
        self._leave_output()
        self._handle_last_messages(connection)
        seconds = program.restart_after
        self.console.warn(restart_text(match.number, match.game, ask, seconds, where))
        handover = Handover(
            self._address,
            self._login,
            self._hangs + 1,
            self._ever_proved,
            self._ever_located,
            self._supervised,
            self._fence,
        )
        failed = program.start_again(handover)
        self.console.warn(
            f"The program cannot be started again: {failed}. Stop it with Ctrl-C, and start it again."
        )

    def _leave_output(self) -> None:
        """Print to the real output from here on: what the bot prints is counted, and perhaps not shown."""
        sys.stdout = self._output.stream or sys.stdout

    # --- inside ---

    def _current(self) -> tuple[Match, Question]:
        if self._match is None or self._question is None:  # the codec allows no question without a match
            raise RuntimeError("a question is open without a match")
        return self._match, self._question

    # --- messages from the server ---

    def _handle_last_messages(self, connection: ServerConnection) -> None:
        """Report what arrived during the call that Ctrl-C has stopped."""
        with contextlib.suppress(OSError, RemoteProtocolError):
            self._handle(connection.read_available())

    def _handle(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Start):
                self._on_start(message)
            elif isinstance(message, GetStep):
                self._on_get_step(message)
            elif isinstance(message, Penalty):
                self._on_penalty(message)
            elif isinstance(message, End):
                self._on_end(message)
            elif isinstance(message, Notice):
                self.console.warn(notice_text(message))
            elif isinstance(message, Goodbye):
                self._goodbye = message

    def _on_start(self, start: Start) -> None:
        before = self._match
        if before is not None and before.number == start.match:
            self.console.say(f"Match {start.match} continues.")
            return
        if before is not None:
            self.console.warn(f"Match {before.number} ended while this bot was not connected; ask the host how.")
        self._match, self._question = Match(start), None
        self.console.say(self._match.start_text())

    def _on_get_step(self, ask: GetStep) -> None:
        """Note the question. If it is repeated on a new connection, the callback's result is kept."""
        if self._question is None or not self._question.same_as(ask):
            self._question = Question(ask)

    def _on_penalty(self, penalty: Penalty) -> None:
        match, question = self._match, self._question
        if match is None or question is None or question.ask.id != penalty.id:
            self.console.warn(penalty_text(penalty, match.number if match else None))
            return
        self.console.warn(penalty_text(penalty, match.number, question.ask, question.call))
        if board := match.fault_board(penalty, question.ask, question.call):
            self.console.warn(board)
        if penalty.reason in ("missed_limit", "stalled") and question.answered and question.call:
            late = lateness_text(match.number, question.ask, question.call.ms)
            self.console.warn(f"{late}; the answer arrived too late")

    def _on_end(self, end: End) -> None:
        if self._match is not None:
            result = self._match.result(end)
            self._results.append(result)
            for line in filter(None, [self._output.end_match(), *self._problems.end_match()]):
                self.console.warn(f"Match {result.match}: {line}")
            self.console.say(end_text(result))
        self._match = None

    # --- the end of a connection ---

    def _on_failure(self, why: str, address: Address) -> float:
        """Report once what is wrong; return how long to wait."""
        what = "Connection lost" if self._welcomed else f"No connection to {address}"
        self._warn_once(f"{what}: {why}. Trying again until it works; Ctrl-C stops the bot.")
        return self._backoff.next()

    def _on_goodbye(self, goodbye: Goodbye) -> float:
        """Report what the server said; return how long to wait."""
        text = f"{_goodbye_text(goodbye)}. Connecting again."
        self._warn_once(text if goodbye.retry_ms is not None else f"{text} {_NOT_BELIEVED}")
        return retry_seconds(goodbye, self._backoff, proved=self._proved)

    def _warn_once(self, line: str) -> None:
        if line in self._warned:
            return
        if len(self._warned) >= _MOST_WARNED:
            self._warned.clear()
        self._warned.add(line)
        self.console.warn(line)

    def _reset_problems(self) -> None:
        """Make the next pause short, and report the next problem even if it is the same."""
        self._warned.clear()
        self._backoff.reset()

    def _note_seen(self, *, over: bool = False) -> None:
        note_seen(self._address.host, self._address.port, self._login.team, self._contest, over=over)

    def _end_run(self, goodbye: Goodbye) -> list[Result]:
        if goodbye.reason in _ADVICE or not self._welcomed:
            raise refusal(goodbye, self._login.team, self._address.host)
        if self._proved and goodbye.reason == "contest_over":
            self._note_seen(over=True)
        self.console.say(escape_control_chars(goodbye.detail or goodbye.reason))
        return list(self._results)


def _take_signals() -> None:
    """Raise the KeyboardInterrupt that was sent to this thread, unless it was raised: Python does so in a call."""
    for _ in range(2):
        time.sleep(0)


def refusal(goodbye: Goodbye, team: int, host: str) -> Refused:
    """Return the error for a goodbye that ends the bot."""
    text = f"Team {team} may not play: {_goodbye_text(goodbye)}."
    advice = update_text(host) if goodbye.reason == "unsupported_version" else _ADVICE.get(goodbye.reason)
    return Refused(goodbye.reason, f"{text}\n{advice}" if advice else text)


def update_text(host: str) -> str:
    """Return how to get a newer getstep: from the host alone, as no package index has one.

    The slip comes first: its command has the package's hash, which a false server cannot change.
    """
    page = Address(host, PAGE_PORT)
    return (
        "Update getstep with the first command on your slip, or with the file from the host, or with:\n"
        f"python -m pip install --upgrade -r http://{page}/pip (the host's live page; the slip has its port)"
    )


def version_text(versions: list[int], host: str) -> str:
    """Return what to do about a server that speaks other versions of the protocol."""
    theirs = ", ".join(str(version) for version in versions) or "none"
    ours = f"this getstep {__version__} speaks {VERSION}"
    return f"The server speaks version {theirs} of the protocol, {ours}.\n{update_text(host)}"


def _goodbye_text(goodbye: Goodbye) -> str:
    return f"{escape_control_chars(goodbye.reason)}: {escape_control_chars(goodbye.detail).rstrip('.')}"
