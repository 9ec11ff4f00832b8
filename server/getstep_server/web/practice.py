"""The board of a person who practises against a bot of their own, without any contest.

``getstep practice --human --browser`` finds `PracticePage` through the entry point group ``getstep.browser``: the
contestant's package imports nothing of the host's. That command plays and judges the games in its main thread. The
page runs in a thread of its own: it shows positions, and asks for moves.

Other users of the computer can reach a port of 127.0.0.1, too. So the address has a key, which becomes a cookie.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar, TypeAlias, TypeVar

import trio

from getstep_engines import Game, Player, State, Touched
from getstep_server.addresses import web_address
from getstep_server.config.event import game_heading
from getstep_server.reports.templating import template_environment

from .assets import look, static, unless_known
from .boards import BOARD_GET, BOARD_POST, Boards
from .http import AnyResponse, HostCheck, HttpServer, Request, Response, redirect
from .listener import open_page_listener
from .person import RESIGNED, Person

Reply: TypeAlias = tuple[str, Any]
"""``("move", MOVE)``, or ``("resign" | "leave" | "next", None)``."""

LINGER_SECONDS = 2.0
"""The longest time in which the last responses are sent after the end. On one computer it takes milliseconds."""

_POLL_SECONDS = 0.2
"""On Windows, Ctrl-C does not interrupt a thread that waits without a limit."""

_OVER = "Practice is over. The results are in the terminal."
_T = TypeVar("_T")


class _PracticeBoard(Boards):
    """Answers the browser.

    Args:
        key: of the browser that may play.
        port: for the name of the cookie: browsers send the cookies of one port to all ports of a host.
        reply: called when the person leaves.
    """

    def __init__(self, key: str, port: int, reply: Callable[[Reply], None]) -> None:
        self.one = Person()
        self._key = key
        self._cookie = f"getstep_practice_{port}"
        self._reply = reply
        self._templates = template_environment("getstep_server.web")

    async def __call__(self, request: Request) -> AnyResponse:
        folder, _, name = request.path.rpartition("/")
        if request.method != "POST":
            if request.path == "/":
                return redirect("/play/board")
            if folder == "/static":
                return unless_known(request, static(name))
            if folder == "/look":
                game = name.removesuffix(".json")
                return unless_known(request, look(game, [game]))  # any game: nobody asks but this computer
            if folder == "/play" and secrets.compare_digest(name.encode(), self._key.encode()):
                return redirect("/play/board", request.set_cookie(self._cookie, self._key, "/play"))
        return await super().__call__(request)

    def person(self, request: Request) -> Person | None:
        """Return the person, if the browser has the key."""
        known = secrets.compare_digest(request.cookie(self._cookie), self._key)
        return self.one if known else None

    def board(self, request: Request) -> AnyResponse:
        if self.person(request) is None:
            return self._no_key()
        return self._render("board", title="Practice")

    def leave(self, request: Request) -> AnyResponse:
        """End practice. The browser stays at the board, which then says so: soon no page can be loaded any more."""
        if self.person(request) is None:
            return self._no_key()
        self._reply(("leave", None))
        return Response(b"", status=204)

    def _no_key(self) -> Response:
        text = "Open the whole address that the terminal shows."
        return self._render("error", status=403, title="Practice", text=text)

    def _render(self, template: str, *, status: int = 200, **values: str) -> Response:
        page = self._templates.get_template(f"{template}.html.j2")
        return Response(
            page.render(contest="getstep", events=(), nav=False, notices=None, **values).encode(), status=status
        )

    GET: ClassVar = {**BOARD_GET, "/play/board": board}
    POST: ClassVar = {**BOARD_POST, "/play/leave": leave}


class PracticePage:
    """A page with one board on a free port of this computer, served by a thread until `close`.

    All methods are called by one other thread.

    Raises:
        OSError: there is no free port.
    """

    def __init__(self) -> None:
        listener = open_page_listener("127.0.0.1", 0)
        # 192 bits: other users of this machine can reach the page, and must not guess it
        key = secrets.token_urlsafe(24)
        self.address = f"{web_address('127.0.0.1', listener.getsockname()[1])}play/{key}"
        """The address for the browser."""
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._begun = False
        started: queue.SimpleQueue[trio.lowlevel.TrioToken] = queue.SimpleQueue()
        self._thread = threading.Thread(
            # a daemon: practice ends with its main thread, whatever a browser does
            target=trio.run,
            args=(self._serve, listener, key, started),
            name="practice page",
            daemon=True,
        )
        self._thread.start()
        self._trio = self._wait(started)

    def begin(self, game: Game, names: tuple[str, str], me: Player, position: State) -> bool:
        """Show a new game. Before it, let the person look at the end of the last one.

        Args:
            game: the rules.
            names: of the first player and the second.
            me: the person's player.
            position: at the beginning.

        Returns:
            False if the person has left.
        """
        if self._begun:
            self._trio.run_sync_soon(self._nursery.start_soon, self._pause)
            if self._wait(self._replies)[0] == "leave":
                return False
        self._begun = True
        about = {
            "name": game.name,
            "title": game_heading(game),
            "players": list(game.players),
            "teams": list(names),
            "me": me,
        }
        # from this thread into trio's; a copy: the match goes on while the page draws
        self._trio.run_sync_soon(self._show_game, game, about, position.copy())
        return True

    def show(self, game: Game, position: State, touched: Touched, note: str, number: int) -> None:
        """Show a position, the squares that the last turn touched, and a line about that turn with its number."""
        # a copy: the match goes on in this thread while the page draws
        self._trio.run_sync_soon(self._show_turn, game, position.copy(), asdict(touched), note, number)

    def ask(self, game: Game, position: State) -> Reply:
        """Return ``("move", MOVE)`` with a legal move, ``("resign", None)`` or ``("leave", None)``."""
        self._trio.run_sync_soon(self._nursery.start_soon, self._ask, game, position.copy())  # as in `show`
        return self._wait(self._replies)

    def end(self, won: bool | None, text: str) -> None:
        """Show how the game has ended; ``won`` is None after a draw."""
        result = {"won": won, "text": text, "reason": ""}
        self._trio.run_sync_soon(lambda: self._person.show(result=result))

    def close(self) -> None:
        with contextlib.suppress(trio.RunFinishedError):  # the page has ended first
            self._trio.run_sync_soon(self._over.set)
        self._thread.join(2 * LINGER_SECONDS)

    def _wait(self, replies: queue.SimpleQueue[_T]) -> _T:
        """Return the next reply of the page.

        Raises:
            RuntimeError: the page's thread has ended; its traceback is on standard error.
        """
        while True:
            alive = self._thread.is_alive()
            try:
                # with a timeout, to notice that the page's thread has ended
                return replies.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if not alive:
                    raise RuntimeError("the page of practice has failed") from None

    # --- in the page's thread ---

    async def _serve(
        self, listener: socket.socket, key: str, started: queue.SimpleQueue[trio.lowlevel.TrioToken]
    ) -> None:
        board = _PracticeBoard(key, listener.getsockname()[1], self._replies.put)
        self._person, self._over = board.one, trio.Event()
        server = HttpServer(board, HostCheck())
        listener.setblocking(False)
        async with trio.open_nursery() as self._nursery:
            sockets = trio.SocketListener(trio.socket.from_stdlib_socket(listener))
            self._nursery.start_soon(server.serve, sockets)
            started.put(trio.lowlevel.current_trio_token())
            await self._over.wait()
            self._person.show(question=None, more=False, ended=_OVER)
            with trio.move_on_after(LINGER_SECONDS):
                while self._person.here or server.answering:  # a browser that knows the end stops following
                    await trio.sleep(0.02)
            self._nursery.cancel_scope.cancel()

    def _show_game(self, game: Game, about: dict[str, Any], position: State) -> None:
        self._person.clear_notes()
        self._person.show(game=about, result=None, more=False)
        self._person.show_board(game, position)

    def _show_turn(self, game: Game, position: State, touched: dict[str, Any], note: str, number: int) -> None:
        self._person.note(note, number)
        self._person.show_board(game, position, touched)

    async def _ask(self, game: Game, position: State) -> None:
        move = await self._person.ask(game, position)
        self._replies.put(("resign", None) if move is RESIGNED else ("move", move))

    async def _pause(self) -> None:
        """Wait until the person wants the next game."""
        self._person.active = trio.Event()
        self._person.show(more=True)
        await self._person.active.wait()
        self._replies.put(("next", None))
