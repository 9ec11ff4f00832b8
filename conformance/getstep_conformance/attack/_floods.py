"""Floods: too many bytes or connections, and messages that are not read. Each flood is bounded."""

from __future__ import annotations

import struct
from dataclasses import replace

import trio

from getstep.wire import MAX_LOGIN_FRAME, MAX_TEXT

from ._case import HARMLESS, Case, Expected, SenderKind, before_login, hostile
from ._connection import message, step
from ._errors import NotAsExpected
from ._player import Sender

_UNAUTHENTICATED, _LOBBY, _ON, _OFF = (
    SenderKind.UNAUTHENTICATED,
    SenderKind.LOBBY,
    SenderKind.ON_TURN,
    SenderKind.OUT_OF_TURN,
)

HELD = 300
"""Connections that are open at the same time: more than one address may have (256)."""

PASSING = 1000
"""Connections of a flood that connect and close at once."""

_TRICKLE = struct.pack(">I", MAX_LOGIN_FRAME) + b"\x81"

# --- bytes ----------------------------------------------------------------------------------------------------


async def _bytes_after_goodbye(sender: Sender) -> None:
    """Cause a goodbye, then send 2 MB: twice what an honest client could still have in its buffers."""
    await sender.send(struct.pack(">I", 0))
    with trio.move_on_after(sender.server.times.linger):
        for _ in range(32):
            await sender.send(b"\0" * 65536)


async def _stays_after_goodbye(sender: Sender) -> None:
    """Cause a goodbye and do not close: the server closes, and answers further bytes with a reset."""
    await sender.send(struct.pack(">I", 0))
    await sender.connection.wait_closed()
    with trio.move_on_after(sender.server.times.slack):
        while True:
            try:
                await sender.connection.stream.send_all(b"\0")
            except trio.BrokenResourceError:
                return
            await trio.sleep(sender.server.times.linger / 20)
    raise NotAsExpected("the server keeps a connection open after goodbye")


async def _stray_answers(sender: Sender) -> None:
    await sender.send(step(1, None) * 5000)


async def _answers_in_a_row(sender: Sender) -> None:
    """Send a thousand answers to the open question at once."""
    await sender.send(sender.me.legal_answer() * 1000)


async def _never_reads(sender: Sender) -> None:
    """Answer each turn with a long exception text, and read nothing.

    The ids of the questions follow from the one that was read. In hop a turn with a fault is skipped, so the match
    continues until the send buffers are full. The opponent makes faults too: otherwise it would win before that.
    """
    runner, other = sender.server, sender.other
    unread = await runner.login(sender.me.team, await runner.connect(narrow=True))
    await unread.wait_for("get_step")
    sender.connection, question = unread.connection, sender.question
    while other.end is None:
        await sender.send(message(type="raised", id=question, error="\U0001f3b2" * MAX_TEXT))
        if (await other.wait_for("get_step", "end"))["type"] == "get_step":
            await other.connection.send(message(type="raised", id=other.connection.received[-1]["id"], error=""))
            await other.wait_for("penalty", "end")  # the server sends the next question together with it
        question += 1


# --- connections ----------------------------------------------------------------------------------------------


async def _prompt_login(sender: Sender, source: str | None) -> None:
    """Log in from ``source`` for another team during the flood."""
    credential = next(c for c in sender.server.teams.values() if c.team != sender.me.team)
    with sender.server.promptly("a login during the flood"):
        connection = await sender.server.connect(source)
        await connection.join(credential.team, credential.token, purpose="check")
        reply = await connection.receive()
        if (
            reply is None or reply.get("reason", "too_many_logins") != "too_many_logins"
        ):  # a correct refusal: cases log in often
            raise NotAsExpected(f"a login was refused; received {connection.summary()}")


async def _held_connections(sender: Sender) -> None:
    """Open silent connections from one address: the oldest is evicted, and a team can log in, even from there."""
    source = sender.server.new_source()
    first, *_ = [await sender.server.connect(source) for _ in range(HELD)]
    await _prompt_login(sender, source)
    await _prompt_login(sender, None)
    goodbye = await first.wait_for("goodbye")
    if goodbye["reason"] != "too_many_connections":
        raise NotAsExpected(f"goodbye {goodbye['reason']}, expected too_many_connections")


async def _held_frames(sender: Sender) -> None:
    """Open connections from one address that send half a frame each."""
    source = sender.server.new_source()
    for _ in range(HELD):
        await (await sender.server.connect(source)).send(_TRICKLE)
    await _prompt_login(sender, source)


async def _held_everywhere(sender: Sender) -> None:
    """Open silent connections from many addresses."""
    for _ in range(HELD):
        await sender.server.connect(sender.server.new_source())
    await _prompt_login(sender, None)


async def _passing_connections(sender: Sender) -> None:
    """Open and close connections as fast as possible while a team logs in."""
    source = sender.server.new_source()

    async def flood() -> None:
        for number in range(PASSING):
            connection = await sender.server.connect(source)
            if number % 2:
                connection.reset()
            else:
                await connection.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood)
        for _ in range(3):
            await trio.sleep(0.05)
            await _prompt_login(sender, None)


FLOODS = [
    Case("9.1", "two megabytes after goodbye", _UNAUTHENTICATED,
         replace(before_login(hostile("empty_frame")), recorded="flood"), _bytes_after_goodbye),
    Case("9.2", "two megabytes after goodbye, in a match", _OFF,
         replace(hostile("empty_frame"), recorded="flood"), _bytes_after_goodbye),
    Case("9.3", "five thousand stray answers", _LOBBY, hostile("out_of_turn"), _stray_answers),
    Case("9.4", "five thousand stray answers, before the login", _UNAUTHENTICATED,
         before_login(hostile("out_of_order")), _stray_answers),
    Case("9.5", "a thousand answers to one question", _ON, hostile("out_of_turn"), _answers_in_a_row),
    Case("9.6", "answers without reading a word", _ON,
         Expected(closes=True, match="lost", recorded="never_reads"), _never_reads, game="hop"),
    Case("9.7", "300 silent connections from one address", _ON, HARMLESS, _held_connections),
    Case("9.8", "300 half frames from one address", _OFF, HARMLESS, _held_frames),
    Case("9.9", "300 silent connections from as many addresses", _ON, HARMLESS, _held_everywhere),
    Case("9.10", "a thousand connections that close at once", _ON, HARMLESS, _passing_connections),
    Case("9.11", "a connection that stays open after goodbye", _UNAUTHENTICATED,
         before_login(hostile("empty_frame")), _stays_after_goodbye),
]  # fmt: skip
