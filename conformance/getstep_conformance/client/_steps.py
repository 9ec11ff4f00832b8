"""The steps of a case: each is a table in a case file, and does one thing that the scripted server does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import trio
from msgspec import Meta, Struct, field

from . import _bot_rules
from ._line import Cut
from ._network import JUNK
from ._outcome import Need, NotAsRequired
from ._pack import STYLES, Raw, pack
from ._play import NO_FENCE, NO_NONCE, Play, certificate_of, describe, framed, listener, padded

Seconds = Annotated[float, Meta(ge=0, le=100)]


def one_of(names: Iterable[str]) -> str:
    """Return a pattern of one of these names."""
    return f"^({'|'.join(names)})$"


Proof = Literal["right", "wrong", "none", "mac", "undialled", "elsewhere", "other end", "other beginning"]
FenceProof = Literal["right", "wrong", "lower", "none", "other end"]
Fence = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""A fencing number; 0 for a welcome without one."""

Hex = Annotated[str, Meta(pattern=r"^\s*([0-9a-fA-F]{2}\s*)*$")]
"""Bytes, such as ``c0 01``."""

StyleName = Annotated[str, Meta(pattern=one_of(STYLES))]


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all steps. ``need`` is the word of protocol.md for what the step requires of the client."""

    need: Need = "must"

    goes_on: ClassVar[bool] = False
    """True if the case can go on after a requirement of this step, unless it is a *must*, is not met."""

    async def do(self, play: Play) -> None:
        """Do it.

        Raises:
            NotAsRequired: the client does something else than the step requires; the error has the need.
        """
        try:
            await self.run(play)
        except NotAsRequired as error:
            raise NotAsRequired(error.why, error.need or self.need) from error

    async def run(self, play: Play) -> None:
        """Do it; raises NotAsRequired like `do`, without the need of the step."""
        raise NotImplementedError


class Accept(Step, frozen=True):
    """Wait for the client's connection: not sooner than ``least`` seconds, not later than ``most``."""

    least: Seconds = 0
    most: Seconds | None = None

    async def run(self, play: Play) -> None:
        await play.accept(self.least, self.most)


class Login(Step, frozen=True):
    """Accept, and bring the connection to the lobby."""

    proof: Proof = "right"
    least: Seconds = 0
    most: Seconds | None = None
    fence: Fence | None = None
    fence_proof: FenceProof = "right"

    async def run(self, play: Play) -> None:
        await play.log_in(self.proof, self.least, self.most, self.fence, self.fence_proof)


class Greet(Step, frozen=True):
    """Send hello, with other fields, and check join."""

    fields: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Hex] = field(default_factory=dict)
    style: StyleName = "shortest"
    cut: Cut = "whole"

    async def run(self, play: Play) -> None:
        await play.greet(self.style, self.cut, **self.fields, **raw_values(self.raw))


class Admit(Step, frozen=True):
    """Send welcome, with other fields. Without ``fence``, it has the fencing number that was proved before."""

    proof: Proof = "right"
    fence: Fence | None = None
    fence_proof: FenceProof = "right"
    fields: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Hex] = field(default_factory=dict)
    style: StyleName = "shortest"
    cut: Cut = "whole"
    hold: bool = False

    async def run(self, play: Play) -> None:
        if self.hold:
            play.hold_back()
        await play.admit(
            self.proof,
            self.style,
            self.cut,
            self.fence,
            self.fence_proof,
            **self.fields,
            **raw_values(self.raw),
        )


class Send(Step, frozen=True, kw_only=True):
    """Send a message of the server, also a wrong one.

    Attributes:
        type: of the message; the other fields have defaults that fit the match.
        fields: replace the defaults.
        without: keys that are left out.
        raw: values as hexadecimal msgpack.
        style: the encoding.
        reverse: the keys come in reverse order.
        size: the size of the body in bytes, by an unknown key.
        behind: bytes behind the map, in the same frame.
        cut: how the bytes are delivered; see `Line.send`.
        hold: deliver them together with the next ones.
        times: how often, each time with new ids.
    """

    type: str
    fields: dict[str, Any] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)
    raw: dict[str, Hex] = field(default_factory=dict)
    style: StyleName = "shortest"
    reverse: bool = False
    size: Annotated[int, Meta(ge=1000, le=16384)] | None = None
    behind: Hex = ""
    cut: Cut = "whole"
    hold: bool = False
    times: Annotated[int, Meta(ge=1, le=10_000)] = 1

    async def run(self, play: Play) -> None:
        data = b""
        for number in range(self.times):
            fields = self._fields(play)
            if number < 3:
                play.note("S", describe(fields) + (", and so on" if number == 2 and self.times > 3 else ""))
            data += framed(pack(fields, STYLES[self.style]) + bytes.fromhex(self.behind))
        if self.hold:
            play.hold(data)
        else:
            await play.line.send(play.released(data), self.cut)

    def _fields(self, play: Play) -> dict[str, Any]:
        fields = play.fields_of(self.type, self.fields)
        fields = {**fields, **raw_values(self.raw)}
        fields = {key: value for key, value in fields.items() if key not in self.without}
        if self.reverse:
            fields = dict(reversed(fields.items()))
        return fields if self.size is None else padded(fields, self.size)


class Bytes(Step, frozen=True):
    """Send any bytes.

    Attributes:
        head: the first bytes.
        hex: the bytes behind them.
        text: or these bytes as ASCII text.
        repeat: how often they come.
        tail: the last bytes.
        body: they are the body of a frame.
        cut: how they are delivered.
        hold: deliver them together with the next ones.
    """

    head: Hex = ""
    hex: Hex = ""
    text: str = ""
    repeat: Annotated[int, Meta(ge=1, le=16384)] = 1
    tail: Hex = ""
    body: bool = False
    cut: Cut = "whole"
    hold: bool = False

    async def run(self, play: Play) -> None:
        repeated = (bytes.fromhex(self.hex) + self.text.encode("ascii")) * self.repeat
        data = bytes.fromhex(self.head) + repeated + bytes.fromhex(self.tail)
        shown = data.hex(" ") if len(data) <= 16 else f"{data[:16].hex(' ')} ..."
        play.note("S", f"{'a frame of' if self.body else ''} {len(data)} bytes: {shown}".strip())
        data = framed(data) if self.body else data
        if self.hold:
            play.hold(data)
        else:
            await play.line.send(play.released(data), self.cut)


class Answer(Step, frozen=True):
    """Expect the test bot's move as the answer to the latest question, or to another one.

    Attributes:
        back: how many questions before the latest.
        within: seconds until the answer.
    """

    back: Annotated[int, Meta(ge=0, le=100)] = 0
    within: Seconds | None = None

    async def run(self, play: Play) -> None:
        question = play.asked["id"] - self.back
        limit = play.times.patience if self.within is None else self.within
        message = await play.receive(limit, f"expected the answer to question {question}")
        if message is None:
            raise NotAsRequired(f"it closed the connection, expected step{play.exit_text()}")
        if (message["type"], message["id"]) != ("step", question):
            raise NotAsRequired(f"it sent {describe(message)}, expected step {question}")
        _check_move(play, message)


def _check_move(play: Play, message: Mapping[str, Any]) -> None:
    game, board, is_black = play.boards[message["id"]]
    wanted = _bot_rules.move_for(game, board, is_black=is_black)
    if message["move"] == wanted:
        return
    if not _bot_rules.is_plausible(game, board, message["move"]):
        raise NotAsRequired(f"it played {message['move']!r:.60}, expected {wanted!r}")
    play.other_moves += 1


class Noted(Step, frozen=True, kw_only=True):
    """Expect an answer to the latest question, with the notes that a command of the test bot asks for.

    A client may have no notes: then its move is right, and the case is not checked. That the notes of any answer
    have the form of protocol.md is checked in all cases.

    Attributes:
        type: of the answer.
        notes: what they are; None for any.
    """

    type: Literal["step", "raised"] = "step"
    notes: dict[str, Any] | None = None

    async def run(self, play: Play) -> None:
        message = await play.expect(self.type)
        if message["id"] != play.asked["id"]:
            raise NotAsRequired(f"it sent {describe(message)}, expected {self.type} {play.asked['id']}")
        if self.type == "step":
            _check_move(play, message)
        found = message.get("notes")
        if found is None:
            raise NotAsRequired(f"not checked: no notes at the command {play.start['opponent']!r}", "may")
        if self.notes is not None and found != self.notes:
            raise NotAsRequired(f"its notes are {found!r:.200}, expected {self.notes!r}")


class Told(Step, frozen=True):
    """Expect that the test bot tells what it was given with the latest question, as its command ``tell`` asks.

    Attributes:
        opening: expect what the command ``tell opening`` asks instead.
    """

    opening: bool = False

    async def run(self, play: Play) -> None:
        message = await play.expect("step")
        asked = play.asked
        if message["id"] != asked["id"]:
            raise NotAsRequired(f"it sent {describe(message)}, expected step {asked['id']}")
        game, board, is_black = play.boards[asked["id"]]
        if message["move"] == _bot_rules.move_for(game, board, is_black=is_black):
            raise NotAsRequired(f"not checked: the bot does not know the command {play.start['opponent']!r}", "may")
        wanted = _bot_rules.told_opening(play.start) if self.opening else _bot_rules.told(asked)
        if message["move"] != wanted:
            raise NotAsRequired(f"its bot was given {message['move']!r:.60}, expected {wanted!r}")


class Expect(Step, frozen=True, kw_only=True):
    """Expect a message of one of these types, as an answer to the latest question.

    Attributes:
        types: the types.
        contains: a text in ``error``.
        command: the test bot's command that the case uses. A move shows that the bot does not know it.
    """

    types: list[Literal["step", "raised", "resign"]]
    contains: str = ""
    command: bool = False

    async def run(self, play: Play) -> None:
        wanted = " or ".join(self.types)
        message = await play.receive(play.times.patience, f"expected {wanted}")
        if message is None:
            raise NotAsRequired(f"it closed the connection, expected {wanted}{play.exit_text()}")
        if self.command and message["type"] == "step" and message["type"] not in self.types:
            self._check_command(play, message)
        if message["type"] not in self.types or message["id"] != play.asked["id"]:
            raise NotAsRequired(f"it sent {describe(message)}, expected {wanted} {play.asked['id']}")
        if self.contains and self.contains not in message["error"]:
            raise NotAsRequired(
                f"the error is {message['error']!r:.60}, expected {self.contains!r} in it", "should"
            )

    def _check_command(self, play: Play, message: Mapping[str, Any]) -> None:
        game, board, is_black = play.boards[play.asked["id"]]
        if message["move"] == _bot_rules.move_for(game, board, is_black=is_black):
            command = play.start["opponent"]
            raise NotAsRequired(f"not checked: the bot does not know the command {command!r}", "may")


class Closed(Step, frozen=True):
    """Expect that the client closes the connection, and sends nothing before that.

    ``within`` is for a client that has to give up: seconds.
    """

    within: Seconds | None = None

    async def run(self, play: Play) -> None:
        await play.wait_closed(self.within)


class Silent(Step, frozen=True, kw_only=True):
    """Expect that the client sends nothing, and keeps the connection, for this time."""

    seconds: Seconds

    async def run(self, play: Play) -> None:
        await play.expect_silence(self.seconds)


class Pause(Step, frozen=True, kw_only=True):
    """Wait."""

    seconds: Seconds

    async def run(self, play: Play) -> None:
        play.note("-", f"a pause of {self.seconds:g} s")
        await trio.sleep(self.seconds)


class Close(Step, frozen=True):
    """Close the connection without a goodbye, or reset it."""

    reset: bool = False

    async def run(self, play: Play) -> None:
        await play.close(reset=self.reset)


class Farewell(Step, frozen=True):
    """Send goodbye, and expect that the client closes the connection."""

    fields: dict[str, Any] = field(default_factory=dict)
    final: bool = False
    """``retry_ms`` is nil, which a case file cannot say."""

    async def run(self, play: Play) -> None:
        changes = {**self.fields, **({"retry_ms": None} if self.final else {})}
        await play.send("goodbye", **changes)
        await play.wait_closed()


class Refuse(Step, frozen=True, kw_only=True):
    """Refuse connections for this time."""

    seconds: Seconds

    async def run(self, play: Play) -> None:
        play.listener.close()
        play.note("-", f"the port is closed for {self.seconds:g} s")
        await trio.sleep(self.seconds)
        await play.listener.reopen()


class Ended(Step, frozen=True, kw_only=True):
    """Expect that the client ends by itself."""

    code: Literal["zero", "failure", "any"]

    async def run(self, play: Play) -> None:
        with trio.move_on_after(play.times.patience):
            code = await play.client.wait()
            play.note("-", f"the client ends with exit code {code}")
            fits = {"zero": code == 0, "failure": code > 0, "any": code >= 0}[self.code]
            if not fits:
                wanted = {"zero": "0", "failure": "another one than 0", "any": "no signal"}[self.code]
                raise NotAsRequired(f"it ended with exit code {code}, expected {wanted}")
            return
        if not play.asks_for_proof:
            raise NotAsRequired("not checked: a client that asks for no proof may go on", "may")
        raise NotAsRequired(f"it still ran {play.times.patience:g} s later, expected it to end")


class Shown(Step, frozen=True):
    """Expect a text in the client's output, or that it does not have one.

    Attributes:
        text: what the output has to contain.
        never: what it must not contain.
    """

    goes_on = True

    text: str = ""
    never: str = ""

    async def run(self, play: Play) -> None:
        with trio.move_on_after(play.times.patience):
            while self.text not in play.client.output:
                await trio.sleep(0.01)
        if self.text not in play.client.output:
            raise NotAsRequired(f"its output does not have {self.text!r}")
        if self.never and self.never in play.client.output:
            raise NotAsRequired(f"its output has {self.never!r}")


class Notify(Step, frozen=True, kw_only=True):
    """Send a notice to a client that has asked for notices in join, and expect its text in the output.

    Attributes:
        kind: of the notice.
        text: what it says.
        shown: what the output has to contain.
        about: it is about the match.
    """

    goes_on = True

    kind: str = "announcement"
    text: str
    shown: str
    about: bool = False

    async def run(self, play: Play) -> None:
        if play.join.get("notices") is not True:
            play.note("-", "join has no notices: the client gets none")
            return
        await play.send("notice", kind=self.kind, text=self.text, match=play.start["match"] if self.about else None)
        with trio.move_on_after(play.times.patience):
            while self.shown not in play.client.output:
                await trio.sleep(0.01)
        if self.shown not in play.client.output:
            raise NotAsRequired(f"its output does not have {self.shown!r}")


class Nonce(Step, frozen=True):
    """Expect that the client has asked the server to prove itself."""

    goes_on = True

    async def run(self, play: Play) -> None:
        if not play.asks_for_proof:
            raise NotAsRequired(NO_NONCE)


class Fenced(Step, frozen=True, kw_only=True):
    """Expect the fencing number and its certificate in the latest join; neither of them for 0."""

    goes_on = True

    number: Fence

    async def run(self, play: Play) -> None:
        found = play.join.get("fence"), play.join.get("fence_certificate")
        wanted = (self.number, certificate_of(self.number)) if self.number else (None, None)
        if found == (None, None) and self.number:
            raise NotAsRequired(NO_FENCE)
        if found != wanted:
            raise NotAsRequired(f"join has fence {found[0]!r}, expected {wanted[0]!r} and its certificate")


class Move(Step, frozen=True):
    """Take the server to another port, and announce it there; the old port refuses connections.

    Attributes:
        junk: packets that are no answers come with the announcement.
        others: so many other contests are announced, too.
    """

    junk: bool = False
    others: Annotated[int, Meta(ge=0, le=100)] = 0

    async def run(self, play: Play) -> None:
        if play.network is None:
            raise AssertionError("the case does not say that the client finds its host")
        play.listener.close()
        play.listener = await listener()
        others = [(1 + number, f"Another {number}", 0) for number in range(self.others)]
        play.network.announced = [*others, (play.listener.port, "Conformance", play.fence)]
        play.network.junk = JUNK if self.junk else []
        play.note("-", "the server has another port, and is announced there")


class KeepAlive(Step, frozen=True, kw_only=True):
    """Expect TCP keep-alive on the client's socket, with the first probe after at most this time."""

    goes_on = True

    most: Annotated[float, Meta(ge=1)]

    async def run(self, play: Play) -> None:
        seconds = play.line.keep_alive_seconds()
        if seconds is None:
            raise NotAsRequired("its socket does not use TCP keep-alive")
        play.note("-", f"keep-alive: the next probe after {seconds:g} s")
        if seconds > self.most:
            raise NotAsRequired(
                f"the first keep-alive probe comes after {seconds:g} s, expected {self.most:g} s at most"
            )


def raw_values(raw: Mapping[str, str]) -> dict[str, Raw]:
    """Return values of a message that a case file has as hexadecimal msgpack."""
    return {key: Raw(bytes.fromhex(text)) for key, text in raw.items()}


STEPS: Mapping[str, type[Step]] = {
    "accept": Accept,
    "login": Login,
    "greet": Greet,
    "admit": Admit,
    "send": Send,
    "bytes": Bytes,
    "answer": Answer,
    "told": Told,
    "noted": Noted,
    "expect": Expect,
    "closed": Closed,
    "silent": Silent,
    "pause": Pause,
    "close": Close,
    "farewell": Farewell,
    "refuse": Refuse,
    "ended": Ended,
    "shown": Shown,
    "notify": Notify,
    "nonce": Nonce,
    "fenced": Fenced,
    "move": Move,
    "keep_alive": KeepAlive,
}
"""The steps by the value of their key ``do``."""
