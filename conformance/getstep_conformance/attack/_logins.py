"""Logins that are invalid, too frequent, or not the first; names that repaint a terminal."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import trio

from getstep.wire import MAX_NAME, MAX_TEAM, VERSION, sign

from ._case import VANISHES, Attack, Case, Expected, SenderKind, before_login, hostile, refused
from ._connection import RawConnection, join_bytes, message, step
from ._errors import NotAsExpected, NotRun
from ._player import Sender
from ._times import BAD_LOGIN_FIRST_SECONDS, LOGIN_WINDOW_SECONDS, LOGINS_PER_WINDOW

_UNAUTHENTICATED, _LOBBY, _ON, _OFF = (
    SenderKind.UNAUTHENTICATED,
    SenderKind.LOBBY,
    SenderKind.ON_TURN,
    SenderKind.OUT_OF_TURN,
)

NASTY_NAME = "\x1b[2J\x1b[31m\u202eevil\n+ Team 1 wins\x07\x9b"
"""Control characters that clear the screen, turn it red, reverse the text, start a line, and ring the bell."""

_WINDOW = LOGIN_WINDOW_SECONDS

_STORM_LOGINS = 5 * LOGINS_PER_WINDOW
"""Logins of one case until it gives up: a server under attack takes in so few that their rate is never too high."""

_NO_TEAM = MAX_TEAM - 7
_ZEROS = "0" * 64

# --- 4: joins of unauthenticated connections ------------------------------------------------------------------


def _joins(**fields: Any) -> Attack:
    """Return an attack that joins with these fields; a field that is ``...`` is left out."""

    async def attack(sender: Sender) -> None:
        await sender.send(join_bytes(**{"team": _NO_TEAM, "mac": _ZEROS, **fields}))

    return attack


def _says(**fields: Any) -> Attack:
    """Return an attack that sends another message instead of join."""

    async def attack(sender: Sender) -> None:
        await sender.send(message(**fields))

    return attack


async def _hundred_joins(sender: Sender) -> None:
    await sender.send(join_bytes(_NO_TEAM, _ZEROS) * 100)


async def _guesses(sender: Sender) -> None:
    """Try four ids in a row from one address: each answer takes longer than the previous one."""
    source = sender.server.new_source()
    waits = [await _refusal_time(await sender.server.connect(source)) for _ in range(4)]
    least = [0.0, *(BAD_LOGIN_FIRST_SECONDS * 2**n for n in range(3))]
    if not all(wait >= 0.9 * expected for wait, expected in zip(waits, least, strict=True)):
        raise NotAsExpected(f"answers after {waits} s, expected at least {least} s")


async def _refusal_time(connection: RawConnection) -> float:
    await connection.wait_for("hello")
    began = trio.current_time()
    await connection.send(join_bytes(_NO_TEAM, _ZEROS))
    await connection.wait_for("goodbye")
    return trio.current_time() - began


_UNKNOWN = refused("unknown_team")
_BAD_FIELD = before_login(hostile("bad_field"))
_TOO_EARLY = before_login(hostile("out_of_order"))

_ROWS_BEFORE_LOGIN: list[tuple[str, Expected, Attack]] = [
    ("a team that does not exist", _UNKNOWN, _joins()),
    ("a hundred joins at once", _UNKNOWN, _hundred_joins),
    ("a version that does not exist", refused("unsupported_version"), _joins(version=VERSION + 1)),
    ("version 0", _BAD_FIELD, _joins(version=0)),
    ("team -1", _BAD_FIELD, _joins(team=-1)),
    ("team true", _BAD_FIELD, _joins(team=True)),
    ("team 2³¹", _BAD_FIELD, _joins(team=2**31)),
    ("team 2⁶⁴−1", _BAD_FIELD, _joins(team=2**64 - 1)),
    ("no team", _BAD_FIELD, _joins(team=...)),
    ("a signature in capitals", _BAD_FIELD, _joins(mac="A" * 64)),
    ("a signature of 63 digits", _BAD_FIELD, _joins(mac="0" * 63)),
    ("a client's name one character too long", _BAD_FIELD, _joins(client="x" * (MAX_NAME + 1))),
    ("a purpose that does not exist", _BAD_FIELD, _joins(purpose="watch")),
    ("a move instead of a join", _TOO_EARLY, _says(type="step", id=1, move=[0, 0])),
    ("a resignation instead of a join", _TOO_EARLY, _says(type="resign", id=1)),
    ("a client's nonce of 31 digits", _BAD_FIELD, _joins(nonce="0" * 31)),
    ("a client's nonce in capitals", _BAD_FIELD, _joins(nonce="A" * 32)),
    ("a client's nonce that is empty", _BAD_FIELD, _joins(nonce="")),
    ("a client's nonce that is a number", _BAD_FIELD, _joins(nonce=2**63)),
    ("a client's nonce that is an array", _BAD_FIELD, _joins(nonce=["0" * 32])),
    ("guessed ids in a row", Expected(recorded="unknown_team"), _guesses),
    ("a dialled address without a port", _BAD_FIELD, _joins(dialled="192.168.1.10")),
    ("a name as the dialled address", _BAD_FIELD, _joins(dialled="localhost:7777")),
    ("a dialled address that is a number", _BAD_FIELD, _joins(dialled=7777)),
]

# --- 5: joins with a team's id or token -----------------------------------------------------------------------


def _team(sender: Sender) -> int:
    return sender.me.team


async def _refused_quickly(connection: RawConnection, reason: str) -> None:
    reply = await connection.receive()
    if reply is None or reply.get("reason") != reason:
        raise NotAsExpected(f"expected goodbye {reason}; received {connection.summary()}")


async def _wrong_token(sender: Sender) -> None:
    """Log in again with a wrong token from the team's own address: its connection must not be affected."""
    connection = await sender.server.connect()
    await connection.join(_team(sender), "not-the-token")
    await _refused_quickly(connection, "bad_token")


async def _replayed_signature(sender: Sender) -> None:
    """Send a signature that is valid for another connection's nonce."""
    token = sender.server.teams[_team(sender)].token
    other_nonce = (await (await sender.server.connect()).wait_for("hello"))["nonce"]
    connection = await sender.server.connect(sender.server.new_source())
    await connection.wait_for("hello")
    await connection.send(join_bytes(_team(sender), sign(token, other_nonce)))
    await _refused_quickly(connection, "bad_token")


_ELSEWHERE_DIALLED = "192.0.2.66:7777"
"""The address of a relay: of a block that no network uses (RFC 5737)."""


def _relays(reason: str, **changed: Any) -> Attack:
    """Return an attack that passes on the login of a client that has dialled the relay, with these changes."""

    async def attack(sender: Sender) -> None:
        token = sender.server.teams[_team(sender)].token
        connection = await sender.server.connect(sender.server.new_source())
        nonce = (await connection.wait_for("hello"))["nonce"]
        mac = sign(token, nonce, _ELSEWHERE_DIALLED)
        await connection.send(join_bytes(_team(sender), mac, **{"dialled": _ELSEWHERE_DIALLED, **changed}))
        await _refused_quickly(connection, reason)

    return attack


async def _wrong_tokens_at_once(sender: Sender) -> None:
    """Fail to log in thirty times for one team: a correct login from the same address does not wait for them."""
    source = sender.server.new_source()
    for _ in range(30):
        connection = await sender.server.connect(source)
        await connection.join(_team(sender), "not-the-token")
    team = _team(sender)
    connection = await sender.server.connect(source)
    with sender.server.promptly("the correct login"):
        await connection.join(team, sender.server.teams[team].token, purpose="check")
        await connection.wait_for("welcome")
        await _refused_quickly(connection, "checked")


async def _second_login(sender: Sender) -> None:
    """Log in a second time: the older connection, which may be a dead one, loses the seat."""
    sender.server.adopt(await sender.server.login(_team(sender)))


async def _nasty_name(sender: Sender) -> None:
    sender.server.adopt(await sender.server.login(_team(sender), client=NASTY_NAME[:MAX_NAME]))


async def _login_storm(sender: Sender) -> None:
    """Log in until the limit: the match continues on the last connection that was accepted."""
    newest: RawConnection | None = None
    reply: dict[str, Any] | None = None
    began: deque[float] = deque(maxlen=LOGINS_PER_WINDOW + 1)
    for _ in range(_STORM_LOGINS):
        connection = await sender.server.connect()
        began.append(trio.current_time())
        await connection.join(_team(sender), sender.server.teams[_team(sender)].token)
        reply = await connection.receive()
        if reply is not None and reply["type"] == "goodbye":
            break
        newest = connection
        if len(began) == began.maxlen and trio.current_time() - began[0] <= _WINDOW:
            raise NotAsExpected(f"{len(began)} logins within {_WINDOW:g} s, expected too_many_logins")
    if newest is not None:
        sender.server.adopt(sender.server.player(_team(sender), newest))
    sender.server.rest(_team(sender))
    if reply is None or reply["type"] != "goodbye":
        seconds = trio.current_time() - began[0]
        raise NotRun(f"{len(began)} logins took {seconds:.0f} s; the limit holds within {_WINDOW:g} s")
    if reply["reason"] != "too_many_logins":
        raise NotAsExpected(f"goodbye {reply['reason']}, expected too_many_logins")


async def _reconnects(sender: Sender) -> None:
    """Connect and disconnect five times in one turn, by closing and by a reset."""
    for number in range(5):
        player = await sender.server.login(_team(sender))
        if number % 2:
            player.connection.reset()
        else:
            await player.connection.close()


async def _second_join(sender: Sender) -> None:
    await sender.send(join_bytes(_team(sender), _ZEROS))


async def _join_and_answer(sender: Sender) -> None:
    """Send an answer together with join, before any question."""
    team = _team(sender)
    await sender.connection.close_gracefully()
    connection = sender.connection = await sender.server.connect()
    nonce = (await connection.wait_for("hello"))["nonce"]
    await connection.send(join_bytes(team, sign(sender.server.teams[team].token, nonce)) + step(1, [0, 0]))


async def _join_and_leave(sender: Sender) -> None:
    team = _team(sender)
    await sender.connection.close_gracefully()
    connection = sender.connection = await sender.server.connect()
    await connection.join(team, sender.server.teams[team].token)
    await connection.half_close()


_ELSEWHERE = Expected(recorded="bad_token")  # and the connection at the seat is not affected
_RELAYED = Expected(recorded="wrong_address")
_REPLACED = Expected("replaced", closes=True)
_KNOWN: list[tuple[str, SenderKind, Expected, Attack]] = [
    ("its own team's wrong token, in another connection", _ON, _ELSEWHERE, _wrong_token),
    ("the same while the opponent is on turn", _OFF, _ELSEWHERE, _wrong_token),
    ("a signature copied from another connection", _LOBBY, _ELSEWHERE, _replayed_signature),
    ("thirty wrong tokens at once, then the correct one", _LOBBY, _ELSEWHERE, _wrong_tokens_at_once),
    ("a second login on turn", _ON, _REPLACED, _second_login),
    ("a second login out of turn", _OFF, _REPLACED, _second_login),
    ("a name that repaints the host's terminal", _ON, _REPLACED, _nasty_name),
    ("five short connections in one turn", _ON, _REPLACED, _reconnects),
    ("a second join", _LOBBY, hostile("out_of_order"), _second_join),
    ("a second join on turn", _ON, hostile("out_of_order"), _second_join),
    ("a join and an answer at once", _LOBBY, hostile("out_of_turn"), _join_and_answer),
    ("a join and the end of the connection at once", _LOBBY, VANISHES, _join_and_leave),
    ("logins without end", _OFF, replace(_REPLACED, recorded="too_many_logins"), _login_storm),
    ("a login that was meant for another computer", _ON, _RELAYED, _relays("wrong_address")),
    ("the same without the dialled address", _ON, _ELSEWHERE, _relays("bad_token", dialled=...)),
    ("the same with this server's address", _ON, _ELSEWHERE, _relays("bad_token", dialled="127.0.0.1:7777")),
]  # fmt: skip

LOGINS = [
    *(
        Case(f"4.{n}", title, _UNAUTHENTICATED, what, attack)
        for n, (title, what, attack) in enumerate(_ROWS_BEFORE_LOGIN, start=1)
    ),
    *(Case(f"5.{n}", title, who, what, attack) for n, (title, who, what, attack) in enumerate(_KNOWN, start=1)),
]
