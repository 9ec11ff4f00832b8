"""One case while it runs: the client, its connection, and what the scripted server has said."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import trio

from getstep.wire import (
    NOTES_BYTES,
    SocketAddress,
    canonical_token,
    checked_notes,
    new_nonce,
    prove_fence,
    prove_server,
    verify,
)
from getstep.wire.classic import ClassicReader

from . import _bot_rules
from ._client import ClientProcess
from ._line import Cut, Line
from ._network import Network
from ._outcome import NotAsRequired
from ._pack import STYLES, Raw, pack

HOST = "127.0.0.1"
TEAM = 7
TOKEN = "kq3m-x7fd-29pt"  # noqa: S105 - the worked example's, not a secret

CLOCK_TOLERANCE = 0.95
"""A pause may be that much shorter than it should be: clocks of different programs are not the same."""

NO_NONCE = "join has no nonce: the client does not ask the server to prove itself"
NO_FENCE = "join has no fence: the client does not remember the fencing number of the host"
NO_DIALLED = "join has no dialled: a relay in the host's place could pass on this login"

LONG_SILENCE_SECONDS = 5.0
BUSY_SHARE = 0.3
"""A client that uses more of the processor during a long silence polls without a pause."""

_LONGEST_OWN_PAUSE = 5.5
"""Seconds of the longest pause that protocol.md recommends between two attempts to connect, and a bit more."""


@dataclass(frozen=True)
class Times:
    """How a run measures time.

    Attributes:
        patience: seconds to wait for what the client does at once: the machine may be busy.
        scale: the value of GETSTEP_TIME_SCALE.
        scaled: the client multiplies its pauses by ``scale``; None as long as this is not known.
    """

    patience: float = 10.0
    scale: float = 0.1
    scaled: bool | None = None

    def of_pause(self, seconds: float) -> float:
        """Return the real seconds of a pause of the client."""
        return seconds * (self.scale if self.scaled else 1.0)


class Listener:
    """The listening socket, which a case may close for a while. The port stays the same."""

    def __init__(self, sock: trio.socket.SocketType) -> None:
        self._socket = sock
        self.port: int = sock.getsockname()[1]

    async def accept(self) -> Line:
        """Return the next connection."""
        sock, _ = await self._socket.accept()
        return Line(trio.SocketStream(sock))

    async def reopen(self) -> None:
        """Listen again after `close`."""
        self._socket = await bound_socket(self.port)
        self._socket.listen(64)

    def close(self) -> None:
        """Refuse connections."""
        self._socket.close()


async def bound_socket(port: int = 0) -> trio.socket.SocketType:
    """Return a bound socket that does not listen yet, so that its port refuses connections."""
    sock = trio.socket.socket()
    sock.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_REUSEADDR, 1)
    await sock.bind((HOST, port))
    return sock


async def listener() -> Listener:
    """Return a new listener on a free port."""
    sock = await bound_socket()
    sock.listen(64)
    return Listener(sock)


class Play:
    """The state of a case.

    Args:
        listener: for the client's connections.
        client: its process.
        times: of this run.
        typed_token: the token as the client has got it.
        on_connection: is called at each connection.
        network: where the client looks for the contest; None if it does not.
    """

    def __init__(
        self,
        listener: Listener,
        client: ClientProcess,
        times: Times,
        typed_token: str = TOKEN,
        on_connection: Callable[[], None] = lambda: None,
        network: Network | None = None,
    ) -> None:
        self._on_connection = on_connection
        self.network = network
        self.listener = listener
        self.client = client
        self.times = times
        self.typed_token = typed_token
        self.token = canonical_token(typed_token)
        self.transcript: list[str] = []
        self.remarks: list[str] = []
        """The finding of an informational case."""
        self.other_moves = 0
        """How many moves were not those of the test bot, and may be those of another bot."""
        self.left_at = trio.current_time()
        """When the latest connection ended, or its goodbye was sent."""
        self.hello: dict[str, Any] = {}
        self.join: dict[str, Any] = {}
        self.fence = 0
        """The highest fencing number that was proved to the client; a login has it unless a case says otherwise."""
        self.start: dict[str, Any] = {"match": 11}
        self.asked: dict[str, Any] = {"id": 30, "move_number": 0}
        self.boards: dict[int, tuple[str, _bot_rules.Board, bool]] = {}
        """The game, the board and the colour of each question."""
        self.classic_reader = ClassicReader()
        self._line: Line | None = None
        self._said_goodbye = False
        self._held = b""
        self._holding = False
        self._began = trio.current_time()

    # --- the connection ---

    @property
    def line(self) -> Line:
        """The client's connection."""
        if self._line is None:
            raise NotAsRequired("there is no connection")
        return self._line

    @property
    def connected(self) -> bool:
        """True if there is a connection that neither side has closed."""
        return self._line is not None

    async def accept(self, least: float = 0, most: float | None = None) -> None:
        """Wait for the client's next connection.

        Args:
            least: seconds that the client has to wait before it connects again, before they are scaled.
            most: seconds after which it has to be back.

        Raises:
            NotAsRequired: it came too early, or not in time.
        """
        limit = self.times.of_pause(max(_LONGEST_OWN_PAUSE, most or 0)) + self.times.patience
        if most is not None and most > _LONGEST_OWN_PAUSE and not self.times.scaled:
            raise NotAsRequired("not checked: the client does not use GETSTEP_TIME_SCALE", "may")
        with self.client.waiting(limit):
            self._line = await self.listener.accept()
            self._on_connection()
            self._said_goodbye = False
            pause = trio.current_time() - self.left_at
            self.note("-", f"connected after {pause:.2f} s")
            shortest = self.times.of_pause(least)
            if pause < shortest * CLOCK_TOLERANCE:
                raise NotAsRequired(f"it connected again after {pause:.2f} s, expected at least {shortest:.2f} s")
            return
        raise NotAsRequired(self._nothing(f"it did not connect within {limit:.1f} s"))

    async def close(self, *, reset: bool = False) -> None:
        """Close the connection without a goodbye."""
        if not self._said_goodbye:
            self.left_at = trio.current_time()  # before it: the client may notice at once, and this process be late
        if reset:
            self.line.reset()
        else:
            await self.line.close()
        self.note("-", "the server resets the connection" if reset else "the server closes the connection")
        self._line = None

    async def finish(self) -> None:
        """Close what is open, after the case."""
        if self._line is not None:
            await trio.aclose_forcefully(self._line.stream)
            self._line = None

    async def wait_closed(self, seconds: float | None = None) -> None:
        """Wait until the client has closed the connection, for the patience of this run or for ``seconds``.

        Raises:
            NotAsRequired: it did not, or has sent something first.
        """
        limit = self.times.patience if seconds is None else seconds
        message = await self.receive(limit, "expected it to close the connection")
        if message is not None:
            raise NotAsRequired(f"it sent {describe(message)}, expected it to close the connection")
        await self.line.close()
        self._line = None

    def exit_text(self) -> str:
        """Return the exit code of a client that has ended, for an error message."""
        code = self.client.exit_code
        return "" if code is None else f": the client has ended, with exit code {code}"

    def _nothing(self, text: str) -> str:
        """Return why nothing came: the client has ended, or ``text``."""
        code = self.client.exit_code
        return text if code is None else f"it has ended, with exit code {code}"

    # --- messages ---

    def fields_of(self, kind: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a server's message, and note what was said."""
        fields = {"type": kind, **self._defaults(kind, changes), **changes}
        if kind == "hello":
            self.hello = fields
        elif kind == "goodbye":
            self.left_at, self._said_goodbye = trio.current_time(), True
        elif kind == "start":
            self.start = fields
        elif kind == "get_step":
            self.asked = fields
            if type(fields["id"]) is int and isinstance(fields["board"], list):
                colour = bool(self.start.get("is_black", True))
                self.boards[fields["id"]] = str(self.start.get("game")), fields["board"], colour
        return fields

    def _defaults(self, kind: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        match kind:
            case "hello":
                return {
                    "versions": [1],
                    "nonce": new_nonce(),
                    "contest": "Conformance",
                    "server": "getstep-server conformance",
                    "dialled": True,
                }
            case "welcome":
                game = {"game": "longest_path", "options": {}, "time_kind": "move", "time_ms": 5000}
                return {"team": TEAM, "name": "The Hoppers", "lag_ms": 100, "games": [game]}
            case "start":
                return {
                    "match": self.start["match"] + 1,
                    "game": "longest_path",
                    "options": {},
                    "is_black": True,
                    "opponent": "Grashüpfer",
                    "time_kind": "move",
                    "time_ms": 5000,
                    "lag_ms": 100,
                    "resumed": False,
                }
            case "get_step":
                return self._question(changes)
            case "penalty":
                return {"id": self.asked["id"], "reason": "missed_limit", "detail": "no answer within 5 s"}
            case "end":
                match = self.start["match"]
                detail = "Black has the longer path"
                return {"match": match, "result": "win", "reason": "finished", "detail": detail, "scores": [9, 7]}
            case "notice":
                return {"kind": "announcement", "match": None, "text": "Lunch is at noon."}
            case "goodbye":
                return {"reason": "shutting_down", "detail": "The contest continues later.", "retry_ms": 2000}
        return {}

    def _question(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        number = changes.get("id", self.asked["id"] + 1)
        black = bool(self.start.get("is_black", True))
        seed = number if type(number) is int else 1
        board = _bot_rules.board_for(
            self.start.get("game", ""), self.start.get("options", {}), seed, is_black=black
        )
        return {
            "id": number,
            "move_number": self.asked["move_number"] + 2 if "move_number" in self.asked else 1,
            "board": board,
            "is_black": black,
            "time_left_ms": 5000,
            "last_move": None,
        }

    def hold(self, data: bytes) -> None:
        """Keep bytes, to send them together with the next ones."""
        self._held += data

    def hold_back(self) -> None:
        """Keep the bytes of the next message, too."""
        self._holding = True

    def released(self, data: bytes) -> bytes:
        """Return the bytes that were held, with ``data`` behind them; nothing if they are to be held, too."""
        data, self._held = self._held + data, b""
        if self._holding:
            self._holding, self._held, data = False, data, b""
        return data

    async def send(self, kind: str, /, style: str = "shortest", cut: Cut = "whole", **changes: Any) -> None:
        """Send a message of the server."""
        fields = self.fields_of(kind, changes)
        self.note("S", describe(fields))
        await self.line.send(self.released(framed(pack(fields, STYLES[style]))), cut)

    async def receive(self, seconds: float, expected: str) -> dict[str, Any] | None:
        """Return the next message, None if the client closes the connection.

        Raises:
            NotAsRequired: nothing came in time; the message ends with ``expected``.
        """
        with self.client.waiting(seconds):
            message = await self.line.receive()
            self.note("C", describe(message) if message else "closes the connection")
            if message is None and not self._said_goodbye:
                self.left_at = trio.current_time()
            self._check_secret(message)
            self._check_notes(message)
            return message
        raise NotAsRequired(f"{self._nothing(f'nothing came within {seconds:g} s')}, {expected}")

    def _check_secret(self, message: Mapping[str, Any] | None) -> None:
        """Raise NotAsRequired if a message has the token in clear, in any key and in either case."""
        secrets = {_plain(token) for token in (self.token, self.typed_token)}
        for text in _texts(message):
            if any(secret in _plain(text) for secret in secrets):
                raise NotAsRequired("it sent the token in clear, which everybody on the network can read", "must")

    def _check_notes(self, message: Mapping[str, Any] | None) -> None:
        """Raise NotAsRequired if a message has notes that a server would drop, or that are private."""
        notes = None if message is None else message.get("notes")
        if notes is None:
            return
        if isinstance(notes, dict) and "output" in notes:
            raise NotAsRequired("its notes have output: what a bot prints stays on its machine", "must")
        if checked_notes(notes) != notes:
            raise NotAsRequired(f"its notes are {notes!r:.200}, expected the form of protocol.md", "should")
        if (size := len(pack(notes, STYLES["shortest"]))) > NOTES_BYTES:
            raise NotAsRequired(f"its notes have {size} bytes, expected at most {NOTES_BYTES}", "should")

    async def receive_bytes(self, count: int) -> bytes:
        """Return that many bytes, or fewer at the end of the connection; for the classic wire.

        Raises:
            NotAsRequired: nothing came in time.
        """
        with self.client.waiting(self.times.patience):
            return await self.line.receive_bytes(count)
        raise NotAsRequired(self._nothing(f"nothing came within {self.times.patience:g} s"))

    async def expect(self, kind: str) -> dict[str, Any]:
        """Return the next message, which has to be of this type.

        Raises:
            NotAsRequired: it is not, or there is none.
        """
        message = await self.receive(self.times.patience, f"expected {kind}")
        if message is None:
            raise NotAsRequired(f"it closed the connection, expected {kind}{self.exit_text()}")
        if message["type"] != kind:
            raise NotAsRequired(f"it sent {describe(message)}, expected {kind}")
        return message

    async def expect_silence(self, seconds: float) -> None:
        """Raise NotAsRequired if the client sends something, or closes the connection, within this time."""
        before = self.client.busy_seconds()
        with trio.move_on_after(seconds):
            message = await self.line.receive()
            self.note("C", describe(message) if message else "closes the connection")
            what = f"sent {describe(message)}" if message else "closed the connection"
            raise NotAsRequired(f"it {what}, expected nothing{self.exit_text()}")
        self.note("-", f"silence for {seconds:g} s")
        used = self.client.busy_seconds() - before
        if seconds >= LONG_SILENCE_SECONDS and used > BUSY_SHARE * seconds:
            raise NotAsRequired(
                f"it used or wanted a processor for {used:.1f} s in {seconds:g} s of silence", "should"
            )

    # --- the login ---

    @property
    def asks_for_proof(self) -> bool:
        """True if the client has asked the server to prove itself."""
        return self.join.get("nonce") is not None

    async def greet(self, style: str = "shortest", cut: Cut = "whole", **changes: Any) -> None:
        """Send hello and check the client's join.

        Raises:
            NotAsRequired: the join is missing or wrong.
        """
        await self.send("hello", style, cut, **changes)
        self.join = await self.expect("join")
        if self.join["team"] != TEAM or self.join["version"] != 1:
            raise NotAsRequired(f"it sent {describe(self.join)}, expected version 1 and team {TEAM}")
        if (purpose := self.join.get("purpose", "play")) != "play":
            raise NotAsRequired(
                f"purpose is {purpose!r}: a server only checks such a login, it never lets it play", "must"
            )
        dialled = self.join.get("dialled")
        if dialled is not None and self.hello.get("dialled") is not True:
            raise NotAsRequired("join has dialled, although hello has not", "must")
        if dialled is not None and SocketAddress.parse(dialled) != SocketAddress.of((HOST, self.listener.port)):
            raise NotAsRequired(f"dialled is {dialled!r}, expected {HOST}:{self.listener.port}", "must")
        if not verify(self.token, self.hello["nonce"], self.join["mac"], dialled):
            signed = "this nonce" if dialled is None else "this nonce and dialled"
            raise NotAsRequired(f"the mac in join is not the signature of {signed} with this token")

    def proof(self, kind: str) -> str | None:
        """Return the server's proof, or None.

        It is ``right``, ``wrong``, ``mac`` (the client's own mac), ``undialled`` (without the dialled address),
        ``elsewhere`` (of another address), or the right one with an ``other end`` or an ``other beginning``.
        A client that does not ask for a proof gets no right one.

        Raises:
            NotAsRequired: the case needs a wrong proof, and the client has not asked for any.
        """
        nonce = self.join.get("nonce")
        if kind == "none" or (kind == "right" and nonce is None):
            return None
        if nonce is None:
            raise NotAsRequired(NO_NONCE, "should")
        if kind == "mac":
            return str(self.join["mac"])
        dialled = self.join.get("dialled")
        if kind in ("undialled", "elsewhere"):
            if dialled is None:
                raise NotAsRequired(NO_DIALLED, "should")
            dialled = None if kind == "undialled" else "192.0.2.66:7777"
        token = "not the token" if kind == "wrong" else self.token
        proof = prove_server(token, self.hello["nonce"], nonce, dialled)
        if kind == "other end":
            return proof[:-1] + _other_digit(proof[-1])
        return _other_digit(proof[0]) + proof[1:] if kind == "other beginning" else proof

    def fence_fields(self, number: int, kind: str) -> dict[str, Any]:
        """Return the fields of welcome for a fencing number, none for 0.

        The proof of it is ``right``, ``wrong``, ``lower`` (of a lower number), ``none``, or the right one with an
        ``other end``. A client that has not asked for a proof gets none.
        """
        if not number:
            return {}
        certificate, nonce = certificate_of(number), self.join.get("nonce")
        fields: dict[str, Any] = {"fence": number, "fence_certificate": certificate}
        if kind == "none" or nonce is None:
            return fields
        token = "not the token" if kind == "wrong" else self.token
        proved = number - 1 if kind == "lower" else number
        proof = prove_fence(token, self.hello["nonce"], nonce, proved, certificate)
        return {**fields, "fence_proof": proof[:-1] + _other_digit(proof[-1]) if kind == "other end" else proof}

    async def admit(
        self,
        proof: str = "right",
        style: str = "shortest",
        cut: Cut = "whole",
        number: int | None = None,
        number_proof: str = "right",
        **changes: Any,
    ) -> None:
        """Send welcome; with the fencing number that was proved before, unless ``number`` is given."""
        text = self.proof(proof)
        number = self.fence if number is None else number
        fields = {} if text is None else {"proof": text}
        fields |= self.fence_fields(number, number_proof)
        await self.send("welcome", style, cut, **{**fields, **changes})
        proved = proof == "right" and text is not None
        self.line.note_welcome(proved=proved)
        if proved and number_proof == "right":
            self.fence = max(self.fence, number)

    async def log_in(
        self,
        proof: str = "right",
        least: float = 0,
        most: float | None = None,
        number: int | None = None,
        number_proof: str = "right",
    ) -> None:
        """Accept a connection and bring it to the lobby."""
        await self.accept(least, most)
        await self.greet()
        await self.admit(proof, number=number, number_proof=number_proof)

    # --- the transcript ---

    def note(self, who: str, text: str) -> None:
        """Add a line to the transcript: ``S`` for the server, ``C`` for the client, ``-`` for an event."""
        self.transcript.append(f"{trio.current_time() - self._began:7.3f}  {who}  {text}")


def certificate_of(number: int) -> str:
    """Return the certificate of the scripted host for a fencing number."""
    return hashlib.sha256(f"fencing number {number}".encode()).hexdigest()


def _other_digit(digit: str) -> str:
    return "0" if digit != "0" else "1"


def _plain(text: str) -> str:
    """Return a token in the form in which all its spellings are equal."""
    return text.replace("-", "").replace(" ", "").casefold()


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a message, its keys too."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for pair in value.items():
                yield from _texts(list(pair))


def framed(body: bytes) -> bytes:
    """Return a frame with this body."""
    return len(body).to_bytes(4, "big") + body


def padded(fields: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return the fields with an unknown key more, so that the body has ``size`` bytes."""
    line, style = "x" * 997, STYLES["shortest"]  # a string of 1,000 bytes with its header
    missing = size - len(pack(dict(fields), style)) - 400
    lines = [line] * max(0, missing // 1000)
    short = size - len(pack({**fields, "padding": [*lines, "x" * 300]}, style))
    return {**fields, "padding": [*lines, "x" * (300 + short)]}


def describe(fields: Mapping[str, Any]) -> str:
    """Return a message in one line, shortened."""
    parts = [f"{key} {_short(value)}" for key, value in fields.items() if key not in ("type", "board", "padding")]
    return " ".join([f"{fields.get('type')!s:.40}", *([f"({', '.join(parts)})"] if parts else [])])


def _short(value: Any) -> str:
    text = value.data.hex() if isinstance(value, Raw) else repr(value)
    if len(text) <= 60:
        return text
    return f"{text[:57]}...{text[-1] if isinstance(value, str) else ''}"  # with the quote at its end
