"""Recorded conversations, as an independent reader parses them, played through both ends of the codec.

The bytes come out of docs/conversations.md, never from the codec; what they should say comes from CONVERSATIONS.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep.wire import (
    CLOSED,
    HEADER_BYTES,
    NEED_DATA,
    TRANSITIONS,
    Connection,
    End,
    Event,
    GetStep,
    Join,
    LateAnswer,
    Message,
    Penalty,
    RemoteProtocolError,
    Role,
    SocketAddress,
    State,
    Step,
    prove_fence,
    prove_server,
    sign,
    verify,
    verify_server,
)
from tests.support.conversations import (
    CLIENT_NONCE,
    CONVERSATIONS,
    NONCE,
    PROOFS,
    PROTOCOL,
    RECORDED,
    SAMPLES,
    TOKEN,
    Violation,
    ends,
    read,
)
from tests.support.quick import each

MARKDOWN = "".join(page.read_text(encoding="utf-8") for page in (PROTOCOL, PROOFS))
SPOKEN = read(RECORDED.read_text(encoding="utf-8"))
FRAMES = [
    pytest.param(letter, data, item, id=f"{title}-{number}")
    for title, frames in SPOKEN.items()
    for number, ((letter, data), item) in enumerate(zip(frames, CONVERSATIONS[title], strict=True))
]

Cut: TypeAlias = Callable[[list[bytes]], list[bytes]]
"""Turns the frames of one direction into the pieces that arrive."""


def by_frame(frames: list[bytes]) -> list[bytes]:
    return frames


def by_byte(frames: list[bytes]) -> list[bytes]:
    return [bytes([byte]) for byte in b"".join(frames)]


def at_once(frames: list[bytes]) -> list[bytes]:
    return [b"".join(frames)]


def shifted(by: int) -> Cut:
    """Return each frame with the first bytes of the next, or without its own last bytes if ``by`` is negative."""

    def cut(frames: list[bytes]) -> list[bytes]:
        return cut_at(frames, {end + by for end in accumulate(map(len, frames))})

    return cut


def cut_at(frames: list[bytes], places: set[int]) -> list[bytes]:
    stream = b"".join(frames)
    inside = sorted(place for place in places if 0 < place < len(stream))
    return [stream[begin:end] for begin, end in pairwise([0, *inside, len(stream)])]


# --- playing ---------------------------------------------------------------------------------------------


class Table:
    """Both ends of one recorded conversation, and what is on its way to each."""

    def __init__(self, title: str, to_server: Cut, to_client: Cut) -> None:
        self.server, self.client = Connection(Role.SERVER), Connection(Role.CLIENT)
        self.items = list(zip(SPOKEN[title], CONVERSATIONS[title], strict=True))
        self._pieces = {
            self.server: iter(to_server([data for letter, data in SPOKEN[title] if letter == "C"])),
            self.client: iter(to_client([data for letter, data in SPOKEN[title] if letter == "S"])),
        }

    def hear(self, listener: Connection) -> Event:
        while (event := listener.next_event()) is NEED_DATA:
            listener.receive_data(next(self._pieces[listener]))
        return event

    def play(self) -> None:
        for (letter, data), item in self.items:
            speaker, listener = (self.server, self.client) if letter == "S" else (self.client, self.server)
            if isinstance(item, Violation):
                self.receive_violation(listener, item)
            elif isinstance(item, Step) and speaker.question != item.id:
                self.hear_late(listener, item)
            else:
                assert speaker.send(item) == data
                assert self.hear(listener) == item
                assert speaker.state is listener.state
                assert speaker.question == listener.question
        assert not any(list(pieces) for pieces in self._pieces.values())

    def receive_violation(self, listener: Connection, violation: Violation) -> None:
        with pytest.raises(RemoteProtocolError) as caught:
            self.hear(listener)
        assert caught.value.code == violation.code
        assert listener.state is State.ERROR
        list(self._pieces[listener])  # the rest of the garbage is never read

    def hear_late(self, listener: Connection, answer: Step) -> None:
        before = listener.state, listener.question
        assert self.hear(listener) == LateAnswer(answer.id)
        assert (listener.state, listener.question) == before


CUTS = {
    "by frame": by_frame,
    "by byte": by_byte,
    "at once": at_once,
    "header of the next": shifted(HEADER_BYTES),
    "one byte of the next": shifted(1),
    "last byte late": shifted(-1),
}


@each("title", SPOKEN)
@each("to_server", CUTS.values(), ids=CUTS)
@each("to_client", CUTS.values(), ids=CUTS)
def test_played_by_both_ends(title: str, to_server: Cut, to_client: Cut) -> None:
    table = Table(title, to_server, to_client)
    table.play()
    for end in (table.server, table.client):
        assert end.state is State.CLOSED
        end.receive_data(b"\x00\x00\x00\x00")  # after goodbye nothing is read
        assert end.next_event() is CLOSED


@given(st.data())
@settings(max_examples=60)
def test_played_in_random_pieces(data: st.DataObject) -> None:
    def cut(frames: list[bytes]) -> list[bytes]:
        return cut_at(frames, data.draw(st.sets(st.integers(1, sum(map(len, frames))), max_size=20)))

    Table(data.draw(st.sampled_from(list(SPOKEN))), cut, cut).play()


# --- single frames ---------------------------------------------------------------------------------------


def test_every_conversation_is_read() -> None:
    assert list(SPOKEN) == list(CONVERSATIONS)


@pytest.mark.parametrize(("letter", "data", "item"), FRAMES)
def test_frame_says_its_message(letter: str, data: bytes, item: Message | Violation) -> None:
    if isinstance(item, Violation):
        assert (letter, data) == ("C", item.data)
        return
    fields: dict[str, Any] = msgpack.unpackb(data[HEADER_BYTES:])
    assert list(fields) == ["type", *(name for name in item.names if name in fields)]
    assert set(item.required) <= set(fields)
    assert fields == item.to_fields()
    assert int.from_bytes(data[:HEADER_BYTES], "big") == len(data) - HEADER_BYTES


# --- crossings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("closing", [SAMPLES[Penalty], SAMPLES[End]], ids=["penalty", "end"])
def test_late_answer_once_but_not_twice(closing: Message) -> None:
    server, client = ends(State.TURN)
    news = server.send(closing)
    answer = client.send(SAMPLES[Step])
    client.receive_data(news)
    server.receive_data(answer)
    assert client.next_event() == closing
    assert server.next_event() == LateAnswer(31)
    assert server.state is client.state is TRANSITIONS[State.TURN][type(closing)]
    server.receive_data(answer)
    with pytest.raises(RemoteProtocolError, match=r"^out_of_turn: "):
        server.next_event()


def test_questions_that_piled_up() -> None:
    """All that the server says about question 31 waits together with question 32."""
    frames = [data for letter, data in SPOKEN["A missed limit and a late answer"] if letter == "S"]
    _, client = ends(State.MATCH)
    client.receive_data(b"".join(frames[3:6]))
    events = [client.next_event() for _ in range(4)]
    assert [type(event) for event in events[:3]] == [GetStep, Penalty, GetStep]
    assert events[3] is NEED_DATA
    assert client.question == 32
    assert client.send(Step(id=32, move=0))


def test_broken_frame_by_its_header_alone() -> None:
    (violation,) = (item for item in CONVERSATIONS["A broken frame"] if isinstance(item, Violation))
    server, client = ends(State.MATCH)
    for byte in violation.data[: HEADER_BYTES - 1]:
        server.receive_data(bytes([byte]))
        assert server.next_event() is NEED_DATA
    server.receive_data(violation.data[HEADER_BYTES - 1 : HEADER_BYTES])
    with pytest.raises(RemoteProtocolError) as caught:
        server.next_event()
    goodbye = SPOKEN["A broken frame"][-1][1]
    said = CONVERSATIONS["A broken frame"][-1]
    assert isinstance(said, Message)
    assert said.to_fields()["detail"] == caught.value.detail
    assert server.send(said) == goodbye
    client.receive_data(goodbye)
    assert client.next_event() == said


# --- the examples in the text ------------------------------------------------------------------------------


def test_worked_example_of_the_signature() -> None:
    values = worked_example("The client's signature")
    assert (values["token"], values["nonce"]) == (TOKEN, NONCE)
    assert sign(values["token"], values["nonce"]) == values["mac"]
    assert verify(values["token"], values["nonce"], values["mac"])
    assert f"printf {values['nonce']} | openssl dgst -sha256 -hmac {values['token']}\n" in MARKDOWN


def worked_example(heading: str) -> dict[str, str]:
    part = re.split(f"\n###? {heading}\n", MARKDOWN)[1].split("\n##")[0]
    names = "token|nonce|mac|client nonce|dialled|proof|fence(?: certificate| proof)?"
    return dict(re.findall(rf"^    ({names}) +(\S+)$", part, flags=re.MULTILINE))


def test_worked_example_of_the_servers_proof() -> None:
    values = worked_example("The server's proof")
    assert (values["token"], values["nonce"], values["client nonce"]) == (TOKEN, NONCE, CLIENT_NONCE)
    assert prove_server(TOKEN, NONCE, CLIENT_NONCE) == values["proof"]
    message = f"getstep server proof v1:{NONCE}{CLIENT_NONCE}"
    assert hmac.new(TOKEN.encode(), message.encode("ascii"), "sha256").hexdigest() == values["proof"]
    assert f"printf '{message}' | openssl dgst -sha256 -hmac {TOKEN}\n" in MARKDOWN


def test_worked_example_of_the_dialled_address() -> None:
    values = worked_example("The dialled address")
    dialled = values["dialled"]
    assert (values["token"], values["nonce"], values["client nonce"]) == (TOKEN, NONCE, CLIENT_NONCE)
    assert sign(TOKEN, NONCE, dialled) == values["mac"]
    assert prove_server(TOKEN, NONCE, CLIENT_NONCE, dialled) == values["proof"]
    for message in (
        f"getstep login v2:{NONCE}{dialled}",
        f"getstep server proof v2:{NONCE}{CLIENT_NONCE}{dialled}",
    ):
        assert f"printf '{message}' | openssl dgst -sha256 -hmac {TOKEN}\n" in MARKDOWN


def test_worked_example_of_the_fencing_number() -> None:
    values = worked_example("The fencing number")
    fence, certificate = int(values["fence"]), values["fence certificate"]
    assert (values["token"], values["nonce"], values["client nonce"]) == (TOKEN, NONCE, CLIENT_NONCE)
    assert prove_fence(TOKEN, NONCE, CLIENT_NONCE, fence, certificate) == values["fence proof"]
    message = f"getstep fence v1:{NONCE}{CLIENT_NONCE}{fence}:{certificate}"
    assert f"printf '{message}' | openssl dgst -sha256 -hmac {TOKEN}\n" in MARKDOWN


def test_a_signature_with_an_address_fits_no_other_login() -> None:
    """A relay can remove the address from `join`, or put another one there: no signature fits then."""
    dialled, other = "192.168.1.66:7777", "192.168.1.10:7777"
    mac, proof = sign(TOKEN, NONCE, dialled), prove_server(TOKEN, NONCE, CLIENT_NONCE, dialled)
    assert verify(TOKEN, NONCE, mac, dialled)
    assert not verify(TOKEN, NONCE, mac)
    assert not verify(TOKEN, NONCE, mac, other)
    assert not verify(TOKEN, NONCE, sign(TOKEN, NONCE), dialled)
    assert not verify_server(TOKEN, NONCE, CLIENT_NONCE, proof)
    assert not verify_server(TOKEN, NONCE, CLIENT_NONCE, proof, other)
    assert verify_server(TOKEN, NONCE, CLIENT_NONCE, proof, dialled)


SAME = ["[fe80::1]:7777", "[FE80:0:0:0:0:0:0:1]:7777", "[fe80::0.0.0.1]:7777"]


def test_addresses_are_compared_not_texts() -> None:
    assert len(set(map(SocketAddress.parse, SAME))) == 1
    assert SocketAddress.parse("[::ffff:10.0.0.7]:80") == SocketAddress.parse("10.0.0.7:80")
    assert SocketAddress.of(("fe80::1%eth0", 7777, 0, 2)) == SocketAddress.parse(SAME[0])
    assert str(SocketAddress.of(("::ffff:10.0.0.7", 80, 0, 0))) == "10.0.0.7:80"
    assert str(SocketAddress.parse(SAME[1])) == SAME[0]


@pytest.mark.parametrize(
    "text",
    ["", "localhost:7777", "10.0.0.7", "10.0.0.7:", "10.0.0.7:0", "10.0.0.7:07", "10.0.0.7:65536", "010.0.0.7:80",
     "10.0.7:80", "::1:7777", "[::1]", "[10.0.0.7]:80", "[fe80::1%eth0]:80", "[::1]:7777 ", "10.0.0.7:٧"],
)  # fmt: skip
def test_what_is_no_dialled_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"dialled is .*, expected an address and a port such as"):
        Join(1, 7, "0" * 64, "client", dialled=text)


def test_proof_depends_on_the_token_and_on_both_nonces() -> None:
    """A client signs what a server chooses, so no signature may be a proof; nor may an older proof."""
    proof = prove_server(TOKEN, NONCE, CLIENT_NONCE)
    assert verify_server(TOKEN, NONCE, CLIENT_NONCE, proof)
    wrong = [
        prove_server(TOKEN + "x", NONCE, CLIENT_NONCE),
        prove_server(TOKEN, CLIENT_NONCE, NONCE),
        prove_server(TOKEN, NONCE, NONCE),
        prove_server(TOKEN, CLIENT_NONCE, CLIENT_NONCE),
        sign(TOKEN, NONCE),
        sign(TOKEN, CLIENT_NONCE),
        "0" * 64,
        "",
    ]
    assert not any(verify_server(TOKEN, NONCE, CLIENT_NONCE, other) for other in wrong)
    assert not verify(TOKEN, NONCE, proof)


@pytest.mark.parametrize("title", SPOKEN)
def test_only_the_wrong_token_does_not_fit(title: str) -> None:
    hello, join = (item.to_fields() for item in CONVERSATIONS[title][:2] if isinstance(item, Message))
    assert verify(TOKEN, hello["nonce"], join["mac"], join.get("dialled")) is (title != "A wrong token")


def test_moves_as_msgpack() -> None:
    examples = re.findall(r"`(\[[^`]*\])` is `([0-9a-f ]+)`", MARKDOWN)
    assert len(examples) == 3
    for move, hexes in examples:
        assert msgpack.packb(json.loads(move)) == bytes.fromhex(hexes)
