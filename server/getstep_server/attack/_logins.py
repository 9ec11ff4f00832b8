"""Logins that are wrong, too many, or not the first; names that repaint a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import trio

from getstep.wire import MAX_NAME, MAX_TEAM, VERSION, sign
from getstep_server import limits

from ._case import VANISHES, Attack, Case, Expected, NotAsExpected, Who, by_stranger, hostile, refused
from ._line import Line, join_bytes, message, step
from ._match import Actor

NASTY_NAME = "\x1b[2J\x1b[31m\u202eevil\n+ Team 1 wins\x07\x9b"
"""Clears the screen, turns red, writes from right to left, starts a line of its own, rings the bell."""

_NO_TEAM = MAX_TEAM - 7
_ZEROS = "0" * 64

# --- 4: joins by strangers ------------------------------------------------------------------------------------


def _joins(**fields: Any) -> Attack:
    """A join with other fields; one that is ``...`` is left out."""

    async def attack(actor: Actor) -> None:
        await actor.send(join_bytes(**{"team": _NO_TEAM, "mac": _ZEROS, **fields}))

    return attack


def _says(**fields: Any) -> Attack:
    """A message instead of the join."""

    async def attack(actor: Actor) -> None:
        await actor.send(message(**fields))

    return attack


async def _hundred_joins(actor: Actor) -> None:
    await actor.send(join_bytes(_NO_TEAM, _ZEROS) * 100)


async def _guesses(actor: Actor) -> None:
    """Tries four ids in a row from one address: each answer takes longer than the one before."""
    source = actor.stage.strange_source()
    waits = [await _refusal_time(await actor.stage.connect(source)) for _ in range(4)]
    least = [0.0, *(limits.BAD_LOGIN_FIRST_SECONDS * 2**n for n in range(3))]
    if not all(wait >= 0.9 * expected for wait, expected in zip(waits, least, strict=True)):
        raise NotAsExpected(f"answers after {waits} s, expected at least {least}")


async def _refusal_time(line: Line) -> float:
    await line.until("hello")
    began = trio.current_time()
    await line.send(join_bytes(_NO_TEAM, _ZEROS))
    await line.until("goodbye")
    return trio.current_time() - began


_UNKNOWN = refused("unknown_team")
_BAD_FIELD = by_stranger(hostile("bad_field"))
_TOO_EARLY = by_stranger(hostile("out_of_order"))

_STRANGERS: list[tuple[str, Expected, Attack]] = [
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
    ("giving up instead of joining", _TOO_EARLY, _says(type="resign", id=1)),
    ("guessed ids, one after the other", Expected(recorded="unknown_team"), _guesses),
]

# --- with a team's id, or its token ---------------------------------------------------------------------------


def _team(actor: Actor) -> int:
    return actor.me.team


async def _refused_quickly(line: Line, reason: str) -> None:
    said = await line.hear()
    if said is None or said.get("reason") != reason:
        raise NotAsExpected(f"expected goodbye {reason}; heard {line.summary()}")


async def _wrong_token(actor: Actor) -> None:
    """A second login with a wrong token, from the seat holder's own address: it must not notice."""
    line = await actor.stage.connect()
    await line.join(_team(actor), "not-the-token")
    await _refused_quickly(line, "bad_token")


async def _replayed_signature(actor: Actor) -> None:
    """A signature that was right for another connection's nonce."""
    token = actor.stage.teams[_team(actor)].token
    overheard = (await (await actor.stage.connect()).until("hello"))["nonce"]
    line = await actor.stage.connect(actor.stage.strange_source())
    await line.until("hello")
    await line.send(join_bytes(_team(actor), sign(token, overheard)))
    await _refused_quickly(line, "bad_token")


async def _wrong_tokens_at_once(actor: Actor) -> None:
    """Thirty wrong logins for one team; the right one, from the same address, does not wait for them."""
    source = actor.stage.strange_source()
    for _ in range(30):
        line = await actor.stage.connect(source)
        await line.join(_team(actor), "not-the-token")
    team = _team(actor)
    line = await actor.stage.connect(source)
    with actor.stage.promptly("the right login"):
        await line.join(team, actor.stage.teams[team].token, purpose="check")
        await line.until("welcome")
        await _refused_quickly(line, "checked")


async def _second_login(actor: Actor) -> None:
    """The right token a second time: the older connection, which may be a dead one, loses the seat."""
    actor.stage.take_place(await actor.stage.login(_team(actor)))


async def _nasty_name(actor: Actor) -> None:
    actor.stage.take_place(await actor.stage.login(_team(actor), client=NASTY_NAME[:MAX_NAME]))


async def _login_storm(actor: Actor) -> None:
    """Logs in until it is too often: the match goes on with whoever got in last."""
    newest: Line | None = None
    for _ in range(limits.LOGINS_PER_WINDOW + 1):
        line = await actor.stage.connect()
        await line.join(_team(actor), actor.stage.teams[_team(actor)].token)
        said = await line.hear()
        if said is not None and said["type"] == "goodbye":
            break
        newest = line
    else:
        raise NotAsExpected(f"{limits.LOGINS_PER_WINDOW + 1} logins in a row, expected too_many_logins")
    if said["reason"] != "too_many_logins":
        raise NotAsExpected(f"goodbye {said['reason']}, expected too_many_logins")
    if newest is not None:
        actor.stage.take_place(actor.stage.player(_team(actor), newest))
    actor.stage.let_rest(_team(actor))


async def _reconnects(actor: Actor) -> None:
    """Comes and goes five times in one turn, in every way there is to go."""
    for number in range(5):
        player = await actor.stage.login(_team(actor))
        if number % 2:
            player.line.reset()
        else:
            await player.line.close()


async def _second_join(actor: Actor) -> None:
    await actor.send(join_bytes(_team(actor), _ZEROS))


async def _join_and_answer(actor: Actor) -> None:
    """An answer in one segment with the join: nobody has asked."""
    team = _team(actor)
    await actor.line.part()
    line = actor.line = await actor.stage.connect()
    nonce = (await line.until("hello"))["nonce"]
    await line.send(join_bytes(team, sign(actor.stage.teams[team].token, nonce)) + step(1, [0, 0]))


async def _join_and_leave(actor: Actor) -> None:
    team = _team(actor)
    await actor.line.part()
    line = actor.line = await actor.stage.connect()
    await line.join(team, actor.stage.teams[team].token)
    await line.half_close()


_ELSEWHERE = Expected(recorded="bad_token")  # and the seat's own connection notices nothing
_REPLACED = Expected("replaced", closes=True)
_KNOWN: list[tuple[str, Who, Expected, Attack]] = [
    ("its own team's wrong token, in another connection", Who.ON_TURN, _ELSEWHERE, _wrong_token),
    ("the same while it waits for its opponent", Who.OUT_OF_TURN, _ELSEWHERE, _wrong_token),
    ("a signature overheard on another connection", Who.LOBBY, _ELSEWHERE, _replayed_signature),
    ("thirty wrong tokens at once, then the right one", Who.LOBBY, _ELSEWHERE, _wrong_tokens_at_once),
    ("a second login on turn", Who.ON_TURN, _REPLACED, _second_login),
    ("a second login out of turn", Who.OUT_OF_TURN, _REPLACED, _second_login),
    ("a name that repaints the host's terminal", Who.ON_TURN, _REPLACED, _nasty_name),
    ("five short connections in one turn", Who.ON_TURN, _REPLACED, _reconnects),
    ("a second join", Who.LOBBY, hostile("out_of_order"), _second_join),
    ("a second join on turn", Who.ON_TURN, hostile("out_of_order"), _second_join),
    ("a join and an answer at once", Who.LOBBY, hostile("out_of_turn"), _join_and_answer),
    ("a join and the end at once", Who.LOBBY, VANISHES, _join_and_leave),
    ("logins without end", Who.OUT_OF_TURN, replace(_REPLACED, recorded="too_many_logins"), _login_storm),
]  # fmt: skip

LOGINS = [
    *(
        Case(f"4.{n}", title, Who.STRANGER, what, attack)
        for n, (title, what, attack) in enumerate(_STRANGERS, start=1)
    ),
    *(Case(f"5.{n}", title, who, what, attack) for n, (title, who, what, attack) in enumerate(_KNOWN, start=1)),
]
