"""The cases that are not a list of steps: they repeat, measure or compare."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import trio

from getstep.wire import MAX_ARRAY, MAX_TEXT, MAX_TEXT_BYTES

from ._outcome import Need, NotAsRequired
from ._pack import STYLES, pack
from ._play import Play, describe, framed
from ._steps import Accept, Answer, Closed, Nonce

Script: TypeAlias = Callable[[Play], Awaitable[None]]

_ATTEMPTS = 7
"""Attempts to connect that a case counts: with the recommended pauses the last three are at least 1 s apart."""

_LONG_SECONDS = 1.0
_SPIN_SECONDS = 0.1
"""Before they are scaled: the last pauses that show a growing one, and the mean pause of a client that spins."""

_SHORT_SHARE = 0.6
"""A pause that became short again is shorter than this share of the last long one."""

PROBE_RETRY_MS = 4000

THINKING_SECONDS = 0.4
"""Seconds after a question when the bot is sure to think about it."""

_DRIP_SECONDS = 15.0
"""Seconds after which a client should have given up: protocol.md recommends about 10."""


async def measure_scale(play: Play) -> None:
    """Find out whether the client uses GETSTEP_TIME_SCALE, and remark it.

    It is asked to wait for 4 s, and needs 0.4 s if it does. The better of two attempts counts, as the machine may
    be busy.
    """
    pauses = []
    for _ in range(2):
        await play.log_in()
        await play.send("goodbye", retry_ms=PROBE_RETRY_MS)
        await play.wait_closed()
        await play.accept()
        pauses.append(trio.current_time() - play.left_at)
        await play.greet()
        await play.admit()
        await play.close()
    if min(pauses) < PROBE_RETRY_MS / 1000 * (1 + play.times.scale) / 2:
        play.remarks.append(f"the client multiplies its pauses by {play.times.scale:g}, as GETSTEP_TIME_SCALE says")
    else:
        play.remarks.append("the client does not use GETSTEP_TIME_SCALE: its longest pauses are not checked")


def is_scaled(remarks: list[str]) -> bool:
    """Return True if `measure_scale` has found that the client uses GETSTEP_TIME_SCALE."""
    return any("multiplies" in remark for remark in remarks)


async def _pauses_grow(play: Play, drop: Script, need: Need = "must") -> None:
    """End connection after connection in the same way; the pauses between them have to grow.

    ``need`` is the word of protocol.md for coming back at all.
    """
    pauses, at_most, begin = [], [], 0.0
    for number in range(_ATTEMPTS):
        await Accept(need=need).do(play)
        now = trio.current_time()
        if number:
            pauses.append(now - play.left_at)
            at_most.append(now - begin)
        begin = now
        await drop(play)
    if sum(pauses) < len(pauses) * play.times.of_pause(_SPIN_SECONDS):
        raise NotAsRequired(
            f"it connected {_ATTEMPTS} times within {sum(pauses):.2f} s, expected growing pauses", "must"
        )
    long = play.times.of_pause(_LONG_SECONDS)
    # On a busy machine the end of a connection is seen here some time after the client's pause has begun, and a
    # pause seems shorter if the connection before it was seen late. So the mean counts, from one connection to the
    # next.
    if sum(at_most[-3:]) < 3 * long:
        last = ", ".join(f"{pause:.2f} s" for pause in at_most[-3:])
        raise NotAsRequired(
            f"the last pauses were {last}, expected growing ones, {long:.2f} s or more on average now", "should"
        )


async def _drop(play: Play) -> None:
    await play.close()


async def _drop_after_hello(play: Play) -> None:
    await play.greet()
    await play.close()


async def _drop_unproved(play: Play) -> None:
    await play.greet()
    await play.admit("none")
    await play.close()


async def _drop_wrong_proof(play: Play) -> None:
    await play.greet()
    await play.admit("wrong")
    await Closed().do(play)


async def _garbage(play: Play) -> None:
    await play.line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await play.wait_closed()


async def _contest_over_unproved(play: Play) -> None:
    await play.greet()
    await play.admit("none")
    await play.send("goodbye", reason="contest_over", retry_ms=None)
    await play.wait_closed()


def _growing(drop: Script, need: Need = "must") -> Script:
    async def script(play: Play) -> None:
        await _pauses_grow(play, drop, need)

    return script


async def short_again(play: Play) -> None:
    """Make the pauses long, prove the server, and lose the connection: the next pause is short."""
    for _ in range(_ATTEMPTS):
        await play.accept()
        long = trio.current_time() - play.left_at
        await play.close()
    await play.log_in()
    await play.close()
    await play.accept()
    pause = trio.current_time() - play.left_at
    if pause > _SHORT_SHARE * long:
        raise NotAsRequired(f"its pauses were {long:.2f} s, and then {pause:.2f} s, expected a short one", "should")
    await play.greet()
    await play.admit()


async def fresh_nonces(play: Play) -> None:
    """Compare the client's nonces of three connections."""
    seen = set()
    for _ in range(3):
        await play.log_in()
        await Nonce(need="should").do(play)
        seen.add(play.join["nonce"])
        await play.close()
    if len(seen) < 3:
        raise NotAsRequired(f"its nonces were {', '.join(map(str, seen))}, expected a new one for each connection")


async def drip(play: Play) -> None:
    """Send hello so slowly that it never ends: the client gives up."""
    failure: NotAsRequired | None
    await play.accept()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drip_bytes, play)
        try:
            await play.wait_closed(_DRIP_SECONDS + play.times.patience)
        except NotAsRequired as error:
            failure = NotAsRequired(error.why, "should")
        else:
            failure = None
        nursery.cancel_scope.cancel()
    if failure:  # raised here: a nursery would wrap it
        raise failure


async def _drip_bytes(play: Play) -> None:
    await play.line.send(b"\x00\x00\x01\x00\x84")
    while True:
        await trio.sleep(0.5)
        await play.line.send(b"\xa1")


async def many_turns(play: Play) -> None:
    """Play a match of a hundred turns."""
    await play.log_in()
    await play.send("start")
    for _ in range(100):
        await play.send("get_step")
        await Answer().do(play)
    await play.send("end")


async def many_frames(play: Play) -> None:
    """Send a hundred short matches and a question in one piece."""
    await play.log_in()
    for number in range(100):
        for kind in ("start", "end"):
            fields = play.fields_of(kind, {})
            play.hold(framed(pack(fields, STYLES["shortest"])))
            if not number:
                play.note("S", f"{describe(fields)}, and 99 more")
    await play.send("start")
    await play.send("get_step")
    await Answer().do(play)
    await play.send("end")


async def piled_up(play: Play) -> None:
    """Ask a hundred questions and close each, while the bot thinks about the first one."""
    await play.log_in()
    await play.send("start", opponent="sleep 1200")
    await play.send("get_step")
    first = play.asked["id"]
    await trio.sleep(THINKING_SECONDS)
    for _ in range(100):
        await play.send("penalty")
        await play.send("get_step")
    await Answer(back=play.asked["id"] - first, need="should").do(play)
    await Answer(need="should").do(play)
    await play.send("end")


async def many_games(play: Play) -> None:
    """Say in welcome that the team plays 128 games."""
    await play.accept()
    await play.greet()
    game = {"game": "hop", "options": {}, "time_kind": "move", "time_ms": 5000}
    await play.admit(games=[{**game, "time_ms": 1000 + number} for number in range(MAX_ARRAY)])
    await _one_question(play, {})


async def longest_text(play: Play) -> None:
    """Send unknown keys with the longest strings, and an empty key."""
    await play.log_in()
    unknown: dict[str, Any] = {"": "", "ascii": "x" * MAX_TEXT_BYTES, "dice": "🎲" * MAX_TEXT}
    await _one_question(play, unknown)


async def _one_question(play: Play, unknown: Mapping[str, Any]) -> None:
    await play.send("start")
    await play.send("get_step", **unknown)
    await Answer().do(play)
    await play.send("end")


SCRIPTS: Mapping[str, Script] = {
    "measure_scale": measure_scale,
    "dropped": _growing(_drop),
    "dropped_after_join": _growing(_drop_after_hello),
    "dropped_unproved": _growing(_drop_unproved),
    "wrong_proofs": _growing(_drop_wrong_proof),
    "garbage": _growing(_garbage),
    "contests_over_unproved": _growing(_contest_over_unproved, "should"),
    "short_again": short_again,
    "fresh_nonces": fresh_nonces,
    "drip": drip,
    "many_turns": many_turns,
    "piled_up": piled_up,
    "many_games": many_games,
    "longest_text": longest_text,
    "many_frames": many_frames,
}
"""The scripts by the name in a case file."""
