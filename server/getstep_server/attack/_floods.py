"""Too much of everything: bytes, connections, things left unread. All of it is bounded, and ends by itself."""

from __future__ import annotations

import struct
from dataclasses import replace

import trio

from getstep.wire import MAX_TEXT

from ._case import HARMLESS, Case, Expected, NotAsExpected, Who, by_stranger, hostile
from ._line import message, step
from ._match import Actor

HELD = 300
"""Connections held open at once: more than one address may have."""

PASSING = 1000
"""Connections that come and go in a connect flood."""

_TRICKLE = struct.pack(">I", 4000) + b"\x81"

# --- bytes ----------------------------------------------------------------------------------------------------


async def _bytes_after_goodbye(actor: Actor) -> None:
    """Earns a goodbye, and then sends twice what anybody could have had under way."""
    await actor.send(struct.pack(">I", 0))
    with trio.move_on_after(actor.stage.times.linger):
        for _ in range(32):
            await actor.send(b"\0" * 65536)


async def _stays_after_goodbye(actor: Actor) -> None:
    """Earns a goodbye and does not close: the server does, and answers what comes then with a reset."""
    await actor.send(struct.pack(">I", 0))
    await actor.line.until_closed()
    with trio.move_on_after(actor.stage.times.slack):
        while True:
            try:
                await actor.line.stream.send_all(b"\0")
            except trio.BrokenResourceError:
                return
            await trio.sleep(actor.stage.times.linger / 20)
    raise NotAsExpected("the server keeps a connection that it has said goodbye on")


async def _stray_answers(actor: Actor) -> None:
    await actor.send(step(1, None) * 5000)


async def _answers_in_a_row(actor: Actor) -> None:
    """A thousand answers to the open question at once."""
    await actor.send(actor.me.honest() * 1000)


async def _never_reads(actor: Actor) -> None:
    """Fails again and again with a long text, and does not read a word of what it is told.

    Its questions count on from the one it knows. In hop a turn that fails is skipped, so that the match goes on
    until the network is full; the opponent fails too, or it would win before that.
    """
    stage, other = actor.stage, actor.other
    deaf = await stage.login(actor.me.team, await stage.connect(narrow=True))
    await deaf.until("get_step")
    actor.line, question = deaf.line, actor.question
    while other.end is None:
        await actor.send(message(type="raised", id=question, error="\U0001f3b2" * MAX_TEXT))
        if (await other.until("get_step", "end"))["type"] == "get_step":
            await other.line.send(message(type="raised", id=other.line.heard[-1]["id"], error=""))
            await other.until("penalty", "end")  # the next question goes out in the same breath
        question += 1


# --- connections ----------------------------------------------------------------------------------------------


async def _prompt_login(actor: Actor, source: str | None) -> None:
    """A team that is not here logs in from ``source``, while all this is going on."""
    credential = next(c for c in actor.stage.teams.values() if c.team != actor.me.team)
    with actor.stage.promptly("a login during the flood"):
        line = await actor.stage.connect(source)
        await line.join(credential.team, credential.token, purpose="check")
        said = await line.hear()
        if said is None or said.get("reason", "too_many_logins") != "too_many_logins":  # right, if a bit often
            raise NotAsExpected(f"a login was turned away; heard {line.summary()}")


async def _held_connections(actor: Actor) -> None:
    """Connections from one address that say nothing: the first has to go. A team can log in, even from there."""
    source = actor.stage.strange_source()
    first, *_ = [await actor.stage.connect(source) for _ in range(HELD)]
    await _prompt_login(actor, source)
    await _prompt_login(actor, None)
    goodbye = await first.until("goodbye")
    if goodbye["reason"] != "too_many_connections":
        raise NotAsExpected(f"goodbye {goodbye['reason']}, expected too_many_connections")


async def _held_frames(actor: Actor) -> None:
    """The same with half a frame each."""
    source = actor.stage.strange_source()
    for _ in range(HELD):
        await (await actor.stage.connect(source)).send(_TRICKLE)
    await _prompt_login(actor, source)


async def _held_everywhere(actor: Actor) -> None:
    """Connections from many addresses, all of them silent."""
    for _ in range(HELD):
        await actor.stage.connect(actor.stage.strange_source())
    await _prompt_login(actor, None)


async def _passing_connections(actor: Actor) -> None:
    """Connections that hang up at once, as fast as they come, while a team logs in."""
    source = actor.stage.strange_source()

    async def flood() -> None:
        for number in range(PASSING):
            line = await actor.stage.connect(source)
            if number % 2:
                line.reset()
            else:
                await line.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood)
        for _ in range(3):
            await trio.sleep(0.05)
            await _prompt_login(actor, None)


FLOODS = [
    Case("9.1", "two megabytes after goodbye", Who.STRANGER,
         replace(by_stranger(hostile("empty_frame")), recorded="flood"), _bytes_after_goodbye),
    Case("9.2", "two megabytes after goodbye, in a match", Who.OUT_OF_TURN,
         replace(hostile("empty_frame"), recorded="flood"), _bytes_after_goodbye),
    Case("9.3", "five thousand stray answers", Who.LOBBY, hostile("out_of_turn"), _stray_answers),
    Case("9.4", "five thousand stray answers, before the login", Who.STRANGER, by_stranger(hostile("out_of_order")),
         _stray_answers),
    Case("9.5", "a thousand answers to one question", Who.ON_TURN, hostile("out_of_turn"), _answers_in_a_row),
    Case("9.6", "answers without reading a word", Who.ON_TURN,
         Expected(closes=True, match="lost", recorded="never_reads"), _never_reads, game="hop"),
    Case("9.7", "300 silent connections from one address", Who.ON_TURN, HARMLESS, _held_connections),
    Case("9.8", "300 half frames from one address", Who.OUT_OF_TURN, HARMLESS, _held_frames),
    Case("9.9", "300 silent connections from as many addresses", Who.ON_TURN, HARMLESS, _held_everywhere),
    Case("9.10", "a thousand connections that hang up at once", Who.ON_TURN, HARMLESS, _passing_connections),
    Case("9.11", "nothing after goodbye, not even the end", Who.STRANGER, by_stranger(hostile("empty_frame")),
         _stays_after_goodbye),
]  # fmt: skip
