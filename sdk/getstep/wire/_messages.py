"""The messages of protocol.md as frozen dataclasses, validated on construction.

Each class checks its fields in ``_check``. A wrong value raises a ValueError that shows the value and what was
expected, both for received messages and for those that a program builds. Unknown keys of a received message are
ignored, so that keys can be added later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

from ._addresses import SocketAddress
from ._frames import QUESTION, UNPACKABLE, pack, pack_board
from ._limits import (
    MAC_DIGITS,
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_ID,
    MAX_MS,
    MAX_NAME,
    MAX_OPENING,
    MAX_TEAM,
    MAX_TEXT,
    NONCE_DIGITS,
    NOTES_BYTES,
)
from ._notes import checked_notes, fit_notes

_HEX = frozenset("0123456789abcdef")
_CELLS = frozenset([int])
_LOWEST_CELL = -(2**31)  # a cell is a signed 32-bit integer, because it is one in most languages


@dataclass(frozen=True)
class Message:
    """The base of all messages. ``type`` is the value of the key ``type`` on the wire."""

    type: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]]
    optional: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        raise NotImplementedError

    def to_fields(self) -> dict[str, Any]:
        """Return the map that goes onto the wire. An optional key that is None is left out."""
        keys = {"type": self.type, **vars(self)}
        for name in self.optional:
            if keys[name] is None:
                del keys[name]
        return keys


# --- server to client -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hello(Message):
    """The server's greeting: ``versions`` it speaks, the ``nonce`` to sign, the contest's name.

    ``friendly`` is True if only friendly matches are played here, None otherwise. ``dialled`` is True if the server
    checks `Join.dialled`, None if it is older.
    """

    type: ClassVar[str] = "hello"
    versions: list[int]
    nonce: str
    contest: str
    server: str
    friendly: bool | None = None
    dialled: bool | None = None

    def _check(self) -> None:
        _array("versions", self.versions)
        for version in self.versions:
            _integer("versions", version, 1, MAX_ID)
        _hex("nonce", self.nonce, NONCE_DIGITS)
        _text("contest", self.contest, MAX_NAME)
        _text("server", self.server, MAX_NAME)
        if self.friendly is not None:
            _boolean("friendly", self.friendly)
        if self.dialled is not None:
            _boolean("dialled", self.dialled)


@dataclass(frozen=True)
class Welcome(Message):
    """The login was accepted. ``games`` has a map per game of the contest: game, options, time_kind, time_ms.

    A game with an increment has the key increment_ms, too.
    ``proof`` is `prove_server(token, hello's nonce, join's nonce, join's dialled)`, None if `join` had no nonce.
    ``fence`` is the fencing number of this server, None if no server has taken over the contest from another one.
    ``fence_certificate`` is what the client shows to an earlier server; ``fence_proof`` is `prove_fence` of both.
    """

    type: ClassVar[str] = "welcome"
    team: int
    name: str
    lag_ms: int
    games: list[dict[str, Any]]
    proof: str | None = None
    fence: int | None = None
    fence_certificate: str | None = None
    fence_proof: str | None = None

    def _check(self) -> None:
        _integer("team", self.team, 0, MAX_TEAM)
        _text("name", self.name, MAX_NAME)
        _integer("lag_ms", self.lag_ms, 0, MAX_MS)
        _array("games", self.games)
        for game in self.games:
            _map("games", game)
            _text("game", game.get("game"), MAX_NAME)
            _options(game.get("options"))
            _time(game.get("time_kind"), game.get("time_ms"), game.get("increment_ms"))
        if self.proof is not None:
            _hex("proof", self.proof, MAC_DIGITS)
        if self.fence is not None:
            _integer("fence", self.fence, 1, MAX_ID)
        if self.fence_certificate is not None:
            _hex("fence_certificate", self.fence_certificate, MAC_DIGITS)
        if self.fence_proof is not None:
            _hex("fence_proof", self.fence_proof, MAC_DIGITS)


@dataclass(frozen=True)
class Start(Message):
    """A match begins, or continues for a client that has reconnected (``resumed``).

    ``increment_ms`` is added to a budget after each answered turn, None if there is no increment. ``friendly`` is
    True if the match counts nowhere, None otherwise. ``opening`` are the moves that the server has played from the
    start of the game, for both players in turn, None if there are none.
    """

    type: ClassVar[str] = "start"
    match: int
    game: str
    options: dict[str, int]
    is_black: bool
    opponent: str
    time_kind: str
    time_ms: int
    lag_ms: int
    resumed: bool
    increment_ms: int | None = None
    friendly: bool | None = None
    opening: list[Any] | None = None

    def _check(self) -> None:
        _integer("match", self.match, 1, MAX_ID)
        _text("game", self.game, MAX_NAME)
        _options(self.options)
        _boolean("is_black", self.is_black)
        _text("opponent", self.opponent, MAX_NAME)
        _time(self.time_kind, self.time_ms, self.increment_ms)
        _integer("lag_ms", self.lag_ms, 0, MAX_MS)
        _boolean("resumed", self.resumed)
        if self.friendly is not None:
            _boolean("friendly", self.friendly)
        if self.opening is not None:
            _array("opening", self.opening)
            if not 0 < len(self.opening) <= MAX_OPENING:
                raise ValueError(f"opening is {_short_repr(self.opening)}, expected 1 to {MAX_OPENING} moves")


@dataclass(frozen=True, init=False)
class GetStep(Message):
    """The question: a move for this board in ``time_left_ms``. ``last_move`` is the opponent's, or None."""

    type: ClassVar[str] = "get_step"
    id: int
    move_number: int
    board: list[list[int]]
    is_black: bool
    time_left_ms: int
    last_move: Any
    _packed_board: ClassVar[bytes | None]
    """The board as msgpack, which is packed once; an attribute of each question, but none of its fields."""

    def __init__(
        self,
        id: int,  # noqa: A002 - its name on the wire
        move_number: int,
        board: list[list[int]],
        is_black: bool,
        time_left_ms: int,
        last_move: Any,
    ) -> None:
        # One is built in every turn of a contest. The generated __init__ of a frozen class makes a call per field.
        vars(self).update(
            id=id,
            move_number=move_number,
            board=board,
            is_black=is_black,
            time_left_ms=time_left_ms,
            last_move=last_move,
            _packed_board=pack_board(board),
        )
        if not (
            self._packed_board
            and type(id) is type(move_number) is type(time_left_ms) is int
            and type(is_black) is bool
            and 0 < id <= MAX_ID
            and 0 < move_number <= MAX_ID
            and 0 <= time_left_ms <= MAX_MS
        ):
            self._check()

    def _check(self) -> None:
        _integer("id", self.id, 1, MAX_ID)
        _integer("move_number", self.move_number, 1, MAX_ID)
        if not self._packed_board:
            _board(self.board)
        _boolean("is_black", self.is_black)
        _integer("time_left_ms", self.time_left_ms, 0, MAX_MS)

    def to_fields(self) -> dict[str, Any]:
        return {"type": self.type, **{name: getattr(self, name) for name in self.names}}

    def to_body(self, packed_id: bytes) -> bytes | None:
        """Return the body of the frame; None if the general codec has to encode it, or cannot."""
        if self._packed_board is None:
            return None
        try:
            return QUESTION % (
                packed_id,
                pack(self.move_number),
                self._packed_board,
                b"\xc3" if self.is_black else b"\xc2",
                pack(self.time_left_ms),
                pack(self.last_move),
            )
        except UNPACKABLE:
            return None


@dataclass(frozen=True)
class Penalty(Message):
    """The turn ``id`` got a penalty: its ``reason`` code, and a ``detail`` for the bot's author."""

    type: ClassVar[str] = "penalty"
    id: int
    reason: str
    detail: str

    def _check(self) -> None:
        _integer("id", self.id, 1, MAX_ID)
        _text("reason", self.reason, MAX_NAME)
        _text("detail", self.detail, MAX_TEXT)


@dataclass(frozen=True)
class End(Message):
    """The match is over: the receiver's ``result``, and the ``scores`` of the first and the second player."""

    type: ClassVar[str] = "end"
    match: int
    result: str
    reason: str
    detail: str
    scores: list[Any] | None

    def _check(self) -> None:
        _integer("match", self.match, 1, MAX_ID)
        _one_of("result", self.result, ("win", "draw", "loss", "void"))
        _text("reason", self.reason, MAX_NAME)
        _text("detail", self.detail, MAX_TEXT)
        if self.scores is not None:
            _array("scores", self.scores)
            if len(self.scores) != 2:
                raise ValueError(f"scores is {_short_repr(self.scores)}, expected one for each player")


@dataclass(frozen=True)
class Notice(Message):
    """A ``text`` for people: the host has paused a ``match`` or the contest, resumed it, announces, or answers.

    A client shows it and sends nothing. Only a client whose `Join.notices` is True gets any.
    """

    type: ClassVar[str] = "notice"
    kind: str
    match: int | None
    text: str

    def _check(self) -> None:
        _text("kind", self.kind, MAX_NAME)
        if self.match is not None:
            _integer("match", self.match, 1, MAX_ID)
        _text("text", self.text, MAX_TEXT)


@dataclass(frozen=True)
class Goodbye(Message):
    """The server will close the connection. ``retry_ms``: connect again after this time; None: do not."""

    type: ClassVar[str] = "goodbye"
    reason: str
    detail: str
    retry_ms: int | None

    def _check(self) -> None:
        _text("reason", self.reason, MAX_NAME)
        _text("detail", self.detail, MAX_TEXT)
        if self.retry_ms is not None:
            _integer("retry_ms", self.retry_ms, 0, MAX_MS)


# --- client to server -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Join(Message):
    """The login. ``mac`` is `sign(token, hello's nonce, dialled)`; ``purpose`` "check" tries it without a seat.

    ``nonce`` is the client's own: with it, the client asks the server to prove that it knows the token. ``dialled``
    is the address that the client has connected to, as `SocketAddress` writes it. ``notices`` is True if the client
    knows the message `Notice`: version 1 closes the connection at a message that it does not know. ``fence`` is the
    highest fencing number that a server has proved to this client, and ``fence_certificate`` what came with it.
    """

    type: ClassVar[str] = "join"
    version: int
    team: int
    mac: str
    client: str
    purpose: str = "play"
    nonce: str | None = None
    dialled: str | None = None
    notices: bool | None = None
    fence: int | None = None
    fence_certificate: str | None = None

    def _check(self) -> None:
        _integer("version", self.version, 1, MAX_ID)
        _integer("team", self.team, 0, MAX_TEAM)
        _hex("mac", self.mac, MAC_DIGITS)
        _text("client", self.client, MAX_NAME)
        _one_of("purpose", self.purpose, ("play", "check"))
        if self.nonce is not None:
            _hex("nonce", self.nonce, NONCE_DIGITS)
        if self.dialled is not None:
            _text("dialled", self.dialled, MAX_NAME)
            SocketAddress.parse(self.dialled)
        if self.notices is not None:
            _boolean("notices", self.notices)
        if self.fence is not None:
            _integer("fence", self.fence, 1, MAX_ID)
        if self.fence_certificate is not None:
            _hex("fence_certificate", self.fence_certificate, MAC_DIGITS)


@dataclass(frozen=True, init=False)
class Step(Message):
    """The answer to the question ``id``. ``move`` may be any value: the game's rules decide if it is legal.

    ``notes`` are the bot's, None if there are none. Of wrong ones, what is right is kept; so in all answers.
    """

    type: ClassVar[str] = "step"
    id: int
    move: Any
    notes: Mapping[str, Any] | None = None

    def __init__(self, id: int, move: Any, notes: object = None) -> None:  # noqa: A002 - its name on the wire
        # as in GetStep
        vars(self).update(id=id, move=move, notes=None if notes is None else checked_notes(notes) or None)
        if type(id) is not int or not 0 < id <= MAX_ID:
            self._check()

    def _check(self) -> None:
        _integer("id", self.id, 1, MAX_ID)


@dataclass(frozen=True)
class Raised(Message):
    """The callback raised instead of answering the question ``id``; ``notes`` as in `Step`."""

    type: ClassVar[str] = "raised"
    id: int
    error: str
    notes: Mapping[str, Any] | None = None

    def _check(self) -> None:
        _integer("id", self.id, 1, MAX_ID)
        _text("error", self.error, MAX_TEXT)
        vars(self)["notes"] = checked_notes(self.notes) or None


@dataclass(frozen=True)
class Resign(Message):
    """The answer to the question ``id`` of a player that gives up the match; ``notes`` as in `Step`."""

    type: ClassVar[str] = "resign"
    id: int
    notes: Mapping[str, Any] | None = None

    def _check(self) -> None:
        _integer("id", self.id, 1, MAX_ID)
        vars(self)["notes"] = checked_notes(self.notes) or None


_Answer = TypeVar("_Answer", Step, Raised, Resign)


def with_notes(answer: _Answer, notes: Mapping[str, Any] | None) -> _Answer:
    """Return an answer with as much of checked notes as its frame has room for."""
    if not notes:
        return answer
    room = MAX_CLIENT_FRAME - len(pack(answer.to_fields())) - len(pack("notes"))
    return replace(answer, notes=fit_notes(notes, min(NOTES_BYTES, room)))


# --- events of the codec that are not messages ----------------------------------------------------------------


@dataclass(frozen=True)
class MalformedAnswer:
    """The peer answered the open question ``id`` with missing or wrong fields: a fault, not a hostile act."""

    id: int
    detail: str = field(compare=False)


@dataclass(frozen=True)
class LateAnswer:
    """The peer answered the question ``id`` after it had been closed. The answer is discarded."""

    id: int


SERVER_MESSAGES: tuple[type[Message], ...] = (Hello, Welcome, Start, GetStep, Penalty, End, Notice, Goodbye)
CLIENT_MESSAGES: tuple[type[Message], ...] = (Join, Step, Raised, Resign)

for _cls in SERVER_MESSAGES + CLIENT_MESSAGES:
    _cls.names = tuple(f.name for f in fields(_cls))
    _cls.required = tuple(f.name for f in fields(_cls) if f.default is MISSING)
    _cls.optional = _cls.names[len(_cls.required) :]  # fields with a default come last


# --- checks of single fields ---------------------------------------------------------------------


def _integer(name: str, value: object, lowest: int, highest: int) -> None:
    if type(value) is not int or not lowest <= value <= highest:  # True is an int to isinstance
        raise ValueError(f"{name} is {_short_repr(value)}, expected a whole number from {lowest} to {highest}")


def _boolean(name: str, value: object) -> None:
    if type(value) is not bool:
        raise ValueError(f"{name} is {_short_repr(value)}, expected true or false")


def _text(name: str, value: object, most: int) -> None:
    if type(value) is not str or len(value) > most:
        raise ValueError(f"{name} is {_short_repr(value)}, expected text of at most {most} characters")


def _hex(name: str, value: object, digits: int) -> None:
    if type(value) is not str or len(value) != digits or not _HEX.issuperset(value):
        raise ValueError(f"{name} is {_short_repr(value)}, expected {digits} lower-case hexadecimal digits")


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if type(value) is not str or value not in allowed:
        raise ValueError(f"{name} is {_short_repr(value)}, expected one of {', '.join(allowed)}")


def _array(name: str, value: object) -> None:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_ARRAY:
        raise ValueError(f"{name} is {_short_repr(value)}, expected an array of at most {MAX_ARRAY} elements")


def _board(value: list[list[int]]) -> None:
    """Check rows of ints. Boards of usual sizes are checked in `_frames.pack_board`."""
    _array("board", value)
    for row in value:
        _array("board", row)
        if not _CELLS.issuperset(map(type, row)):
            raise ValueError(f"board has the row {_short_repr(row)}, expected whole numbers")
        if row and (min(row) < _LOWEST_CELL or max(row) > MAX_ID):
            raise ValueError(f"board has the row {_short_repr(row)}, expected cells from -2**31 to 2**31 - 1")


def _map(name: str, value: object) -> None:
    if type(value) is not dict:
        raise ValueError(f"{name} is {_short_repr(value)}, expected a map")


def _options(value: object) -> None:
    if type(value) is not dict:
        raise ValueError(f"options is {_short_repr(value)}, expected a map")
    for name, setting in value.items():
        if type(name) is not str:
            raise ValueError(f"options has the name {_short_repr(name)}, expected text")
        _integer(_short_repr(name), setting, -MAX_ID, MAX_ID)


def _time(kind: object, ms: object, increment_ms: object) -> None:
    _one_of("time_kind", kind, ("move", "budget"))
    _integer("time_ms", ms, 1, MAX_MS)
    if increment_ms is not None:
        _integer("increment_ms", increment_ms, 0, MAX_MS)


def _short_repr(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."
