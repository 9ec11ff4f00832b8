"""The conversations of docs/conversations.md: written here, printed there as annotated hex, read back by the tests.

``python -m tests.support.conversations`` rewrites that part of the page after a change of the wire.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgpack

from getstep.wire import (
    HEADER_BYTES,
    SERVER_MESSAGES,
    TRANSITIONS,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    Message,
    Notice,
    Penalty,
    Raised,
    RemoteProtocolError,
    Resign,
    Role,
    Start,
    State,
    Step,
    Welcome,
    prove_server,
    sign,
)

PROTOCOL = Path(__file__).parents[2] / "protocol.md"
PROOFS = PROTOCOL.with_name("docs") / "proofs.md"
RECORDED = PROTOCOL.with_name("docs") / "conversations.md"

NONCE = "000102030405060708090a0b0c0d0e0f"
CLIENT_NONCE = "f0e1d2c3b4a5968778695a4b3c2d1e0f"
TOKEN = "kq3m-x7fd-29pt"  # the worked example's, not a secret
_HELLO = Hello(versions=[1], nonce=NONCE, contest="Autumn contest", server="getstep-server 0.1.0")
_JOIN = Join(version=1, team=7, mac=sign(TOKEN, NONCE), client="my client", purpose="play")
_WELCOME = Welcome(
    team=7,
    name="The Hoppers",
    lag_ms=100,
    games=[{"game": "hop", "options": {}, "time_kind": "move", "time_ms": 5000}],
)
NOTES = {"say": "ok", "estimate": 0.25, "draw": [["mark", [2, 3], "7", None]]}  # the example of protocol.md
DIALLED = "192.168.1.10:7777"
_HELLO_AND_CHECK = replace(_HELLO, dialled=True)
_JOIN_AND_ASK = replace(_JOIN, mac=sign(TOKEN, NONCE, DIALLED), nonce=CLIENT_NONCE, dialled=DIALLED, notices=True)
_WELCOME_WITH_PROOF = replace(_WELCOME, proof=prove_server(TOKEN, NONCE, CLIENT_NONCE, DIALLED))


def _start(*, resumed: bool) -> Start:
    return Start(
        match=12,
        game="hop",
        options={},
        is_black=False,
        opponent="Grashüpfer",
        time_kind="move",
        time_ms=5000,
        lag_ms=100,
        resumed=resumed,
    )


def _board(*rows: str) -> list[list[int]]:
    return [[int(cell) for cell in row] for row in rows]


_FIRST = _board("10000000", "01000002", "10100020", "01000202", "10010020", "01000202", "10000020", "00000002")
_SECOND = _board("10000000", "01000002", "10010020", "01002002", "10010020", "01000202", "10000020", "00000002")
_SKIPPED = _board("10000000", "01000002", "10010020", "01000202", "10010020", "01000202", "10000020", "00000002")
_OVER = Goodbye(reason="contest_over", detail="The contest is over. Thank you for playing.", retry_ms=None)


def _ask(question: int, board: list[list[int]], move_number: int, last: object, left: int = 5000) -> GetStep:
    return GetStep(
        id=question,
        move_number=move_number,
        board=board,
        is_black=False,
        time_left_ms=left,
        last_move=last,
    )


@dataclass(frozen=True)
class Violation:
    """Bytes from the client that break the protocol, and the reason code they earn."""

    data: bytes
    code: str
    note: str


CONVERSATIONS: dict[str, list[Message | Violation]] = {
    "A match with an illegal move": [
        _HELLO_AND_CHECK,
        _JOIN_AND_ASK,
        _WELCOME_WITH_PROOF,
        _start(resumed=False),
        _ask(31, _FIRST, 2, [[4, 2], [4, 3]]),
        Step(id=31, move=[[3, 5], [3, 4]], notes=NOTES),
        _ask(32, _SECOND, 4, [[2, 2], [2, 3]]),
        Step(id=32, move=[[3, 4], [4, 5]]),
        Penalty(
            id=32,
            reason="illegal_move",
            detail="(3, 4) to (4, 5) is neither a step to a neighbour nor a hop over one",
        ),
        End(match=12, result="loss", reason="finished", detail="Black has 7 home, White 2", scores=[7, 2]),
        _OVER,
    ],
    "A wrong token": [
        _HELLO,
        Join(version=1, team=7, mac=sign("kq3m-x7fd-29pr", NONCE), client="my client", purpose="play"),
        Goodbye(
            reason="bad_token",
            detail="The token of team 7 does not fit. Tokens are on the slip from the host.",
            retry_ms=None,
        ),
    ],
    "A missed limit and a late answer": [
        _HELLO,
        _JOIN,
        _WELCOME,
        _start(resumed=False),
        _ask(31, _FIRST, 2, [[4, 2], [4, 3]]),
        Penalty(id=31, reason="missed_limit", detail="no answer within 5 s: the turn is skipped"),
        Step(id=31, move=[[3, 5], [3, 4]]),
        _ask(32, _SKIPPED, 4, [[2, 2], [2, 3]]),
        Step(id=32, move=[[3, 5], [3, 4]]),
        End(match=12, result="draw", reason="finished", detail="Black has 4 home, White 4", scores=[4, 4]),
        _OVER,
    ],
    "Reconnecting during a match": [
        _HELLO,
        _JOIN,
        _WELCOME,
        _start(resumed=True),
        _ask(32, _SECOND, 4, [[2, 2], [2, 3]], left=1830),
        Resign(id=32),
        End(match=12, result="loss", reason="resigned", detail="White resigned", scores=None),
        _OVER,
    ],
    "A broken frame": [
        _HELLO,
        _JOIN,
        _WELCOME,
        _start(resumed=False),
        Violation(b"GET / HTTP/1.1\r\n", "oversize_frame", 'the header says 0x47455420 bytes ("GET ")'),
        Goodbye(
            reason="oversize_frame",
            detail="a frame of 1195725856 bytes, expected at most 4096",
            retry_ms=1000,
        ),
    ],
}


SAMPLES: dict[type[Message], Message] = {
    type(item): item for said in CONVERSATIONS.values() for item in said if isinstance(item, Message)
}
SAMPLES |= {
    Join: _JOIN_AND_ASK,
    Welcome: _WELCOME_WITH_PROOF,
    Step: Step(id=31, move=[[3, 5], [3, 4]]),
    Notice: Notice(kind="paused", match=12, text="paused by the host: the projector has failed"),
    Raised: Raised(id=31, error="IndexError: list index out of range"),
    Resign: Resign(id=31),
}
"""One message of each type with all its keys; the answers answer question 31."""


# --- playing ---------------------------------------------------------------------------------------------

_OPENING = [State.GREETING, State.LOGIN, State.DECIDING, State.LOBBY, State.MATCH, State.TURN]


def ends(state: State) -> tuple[Connection, Connection]:
    """Return a server and its client, both in ``state``; the question in TURN is 31."""
    server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
    if state is State.CLOSED:
        _said(_OVER, server, client)
    elif state is State.ERROR:
        _break(server)
        _break(client)
    else:
        for item in CONVERSATIONS["A match with an illegal move"][: _OPENING.index(state)]:
            assert isinstance(item, Message)
            _said(item, server, client)
    return server, client


def hearer(cls: type[Message]) -> Connection:
    """Return the end that hears messages of a type, in the first state that allows one."""
    server, client = ends(next(state for state in TRANSITIONS if cls in TRANSITIONS[state]))
    return client if cls in SERVER_MESSAGES else server


def _break(connection: Connection) -> None:
    connection.receive_data(framed(b""))
    with suppress(RemoteProtocolError):
        connection.next_event()


def framed(body: bytes) -> bytes:
    """Return a frame around any bytes."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def frame(message: Message) -> bytes:
    """Return the frame of a message, whether it may be said now or not."""
    return framed(msgpack.packb(message.to_fields()))


# --- writing ---------------------------------------------------------------------------------------------


def as_text(conversation: list[Message | Violation]) -> str:
    """Return one conversation as annotated hex: ``S`` or ``C`` begins a frame, ``;`` begins a comment."""
    server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
    lines: list[str] = []
    for item in conversation:
        if isinstance(item, Violation):
            lines += [*_hex_lines("C", item.data, item.note), f"; the server sees {item.code}", ""]
            continue
        letter, data = _said(item, server, client)
        lines += [*_frame_lines(letter, data, item), ""]
    return "\n".join(lines)


def _said(message: Message, server: Connection, client: Connection) -> tuple[str, bytes]:
    from_client = isinstance(message, (Join, Step, Resign))
    speaker, listener = (client, server) if from_client else (server, client)
    late = isinstance(message, Step) and speaker.question != message.id
    data = frame(message) if late else speaker.send(message)
    listener.receive_data(data)
    listener.next_event()
    return ("C" if from_client else "S"), data


def _frame_lines(letter: str, data: bytes, message: Message) -> list[str]:
    fields = message.to_fields()
    lines = _hex_lines(letter, data[:HEADER_BYTES], f"{message.type}: a frame of {len(data) - HEADER_BYTES} bytes")
    lines += _hex_lines(" ", data[HEADER_BYTES : HEADER_BYTES + 1], f"a map of {len(fields)}")
    for key, value in fields.items():
        if key == "board":
            lines += _hex_lines(" ", msgpack.packb(key) + msgpack.packb(value)[:1], f"board: {len(value)} rows")
            lines += [line for row in value for line in _hex_lines(" ", msgpack.packb(row), json.dumps(row))]
        else:
            comment = f"{key}: {json.dumps(value, ensure_ascii=False)}"
            lines += _hex_lines(" ", msgpack.packb(key) + msgpack.packb(value), comment)
    return lines


def _hex_lines(letter: str, data: bytes, comment: str) -> list[str]:
    rows = [data[i : i + 16].hex(" ") for i in range(0, len(data), 16)]
    rows[0] = f"{rows[0]:<48}; {comment}"
    return [f"{letter if not i else ' '}  {row}" for i, row in enumerate(rows)]


def section() -> str:
    """Return the part of docs/conversations.md from its first chapter to the next step."""
    parts = [f"## {title}\n\n```text\n{as_text(c)}```\n\n" for title, c in CONVERSATIONS.items()]
    return "".join(parts)


# --- reading ----------------------------------------------------------------------------------------------


def read(markdown: str) -> dict[str, list[tuple[str, bytes]]]:
    """Return the conversations in ``markdown``: title to frames, each a speaker's letter and its bytes."""
    found = re.findall(r"^## ([^\n]+)\n\n```text\n(.*?)```", markdown, flags=re.MULTILINE | re.DOTALL)
    return {title: _read_frames(text) for title, text in found}


def _read_frames(text: str) -> list[tuple[str, bytes]]:
    frames: list[tuple[str, bytes]] = []
    for line in text.splitlines():
        letter, hexes = line[:1], line[1:].split(";")[0]
        if letter in ("S", "C"):
            frames.append((letter, b""))
        if hexes.strip() and letter != ";":
            frames[-1] = (frames[-1][0], frames[-1][1] + bytes.fromhex(hexes))
    return frames


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table of protocol.md under ``heading``, without its two head rows."""
    markdown = PROTOCOL.read_text(encoding="utf-8").split(f"\n{heading}\n")[1]
    table = re.search(r"^\|.*?\n\|-.*?\n((?:\|.*\n)+)", markdown, flags=re.MULTILINE)
    assert table, f"no table under {heading!r}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


if __name__ == "__main__":
    whole = RECORDED.read_text(encoding="utf-8")
    before, _, rest = whole.partition("## ")
    RECORDED.write_text(before + section() + rest[rest.index("**Next:** ") :], encoding="utf-8")
