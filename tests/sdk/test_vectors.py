"""The JSON files that the unit tests of every SDK read, against Python's own codec."""

from __future__ import annotations

import json
from typing import Any

import pytest

from getstep.wire import (
    CLIENT_MESSAGES,
    CLOSED,
    NEED_DATA,
    SERVER_MESSAGES,
    TRANSITIONS,
    Connection,
    LocalProtocolError,
    Message,
    RemoteProtocolError,
    Role,
    State,
    Step,
    canonical_token,
    sign,
    verify_fence,
    verify_server,
)
from getstep.wire._frames import FrameReader, check_decodable, decode, encode
from getstep_conformance.client import VECTORS
from tests.support import vectors
from tests.support.conversations import ends, framed

STORED = {name: (VECTORS / name).read_text(encoding="utf-8") for name in vectors.files()}
CODEC = json.loads(STORED["codec.json"])
PROOFS = json.loads(STORED["proofs.json"])
CONVERSATIONS = json.loads(STORED["conversations.json"])["conversations"]


@pytest.mark.parametrize("name", STORED)
def test_files_are_up_to_date(name: str) -> None:
    assert STORED[name] == vectors.files()[name], "python -m tests.support.vectors writes them again"


@pytest.mark.parametrize("part", ["bodies", "messages", "streams", "sent", "notes"])
def test_names_are_unique(part: str) -> None:
    names = [entry["name"] for entry in CODEC[part]]
    assert len(set(names)) == len(names) > 10


def _refusal(body: bytes) -> tuple[str | None, dict[str, Any] | None]:
    try:
        return None, decode(body)
    except RemoteProtocolError as error:
        return error.code, None


def test_bodies() -> None:
    for entry in CODEC["bodies"]:
        code, value = _refusal(bytes.fromhex(entry["body"]))
        assert code == entry.get("code"), entry["name"]
        if "value" in entry:
            assert value == entry["value"], entry["name"]
        assert ("value" in entry) + ("code" in entry) + ("accepted" in entry) == 1


def _client_before(kind: object) -> Connection:
    """Return a client that waits for a message of this type; any client for an unknown type."""
    cls = next((cls for cls in SERVER_MESSAGES if cls.type == kind), SERVER_MESSAGES[0])
    return ends(next(state for state in TRANSITIONS if cls in TRANSITIONS[state]))[1]


def test_messages() -> None:
    for entry in CODEC["messages"]:
        body = bytes.fromhex(entry["body"])
        client = _client_before(decode(body).get("type"))
        client.receive_data(framed(body))
        if "code" in entry:
            with pytest.raises(RemoteProtocolError, match=f"^{entry['code']}: "):
                client.next_event()
            continue
        event = client.next_event()
        assert isinstance(event, Message), entry["name"]
        wanted = entry["message"]
        assert {key: wanted.get(key) for key in event.names} == {key: getattr(event, key) for key in event.names}


def test_streams() -> None:
    for entry in CODEC["streams"]:
        for pieces in ([bytes.fromhex(entry["bytes"])], [bytes([byte]) for byte in bytes.fromhex(entry["bytes"])]):
            reader, bodies, code = FrameReader(CODEC["max_server_frame"]), [], None
            try:
                for piece in pieces:
                    reader.feed(piece)
                    while (body := reader.next_body()) is not None:
                        bodies.append(body.hex())
            except RemoteProtocolError as error:
                code = error.code
            assert (bodies, code) == (entry["bodies"], entry["code"]), entry["name"]
            assert code or reader.partial is entry["partial"], entry["name"]


def test_sent_messages() -> None:
    classes = {cls.type: cls for cls in CLIENT_MESSAGES}
    for entry in CODEC["sent"]:
        fields = dict(entry["message"])
        message = classes[fields.pop("type")](**fields)
        if entry.get("refused"):
            with pytest.raises(LocalProtocolError):
                ends(State.TURN)[1].send(message)
            continue
        data = encode(message.to_fields(), CODEC["max_client_frame"])
        assert data.hex() == entry["frame"], entry["name"]
        if isinstance(message, Step):
            check_decodable(data)


def test_notes() -> None:
    for entry in CODEC["notes"]:
        server, _ = ends(State.TURN)
        server.receive_data(framed(bytes.fromhex(entry["body"])))
        event = server.next_event()
        assert isinstance(event, Step)
        assert event.notes == entry["kept"], entry["name"]


def test_signatures() -> None:
    for entry in PROOFS["signatures"]:
        assert canonical_token(entry["typed"]) == entry["token"], entry["name"]
        assert sign(entry["token"], entry["nonce"]) == entry["mac"], entry["name"]
        nonces = (entry["nonce"], entry["client_nonce"])
        assert verify_server(entry["token"], *nonces, entry["proof"]), entry["name"]
        assert sign(entry["token"], entry["nonce"], entry["dialled"]) == entry["dialled_mac"], entry["name"]
        assert verify_server(entry["token"], *nonces, entry["dialled_proof"], entry["dialled"]), entry["name"]
        fence = (entry["fence"], entry["fence_certificate"])
        assert verify_fence(entry["token"], *nonces, *fence, entry["fence_proof"]), entry["name"]
        assert not verify_fence(entry["token"], *nonces, fence[0] + 1, fence[1], entry["fence_proof"])


def test_conversations() -> None:
    for conversation in CONVERSATIONS:
        server, client = Connection(Role.SERVER), Connection(Role.CLIENT)
        for said in conversation["frames"]:
            listener = client if said["from"] == "server" else server
            speaker = server if listener is client else client
            listener.receive_data(bytes.fromhex(said["bytes"]))
            if "code" in said:
                with pytest.raises(RemoteProtocolError, match=f"^{said['code']}: "):
                    listener.next_event()
                continue
            event = listener.next_event()
            if isinstance(event, Message):
                assert event.to_fields() == said["message"]
                assert speaker.send(event).hex() == said["bytes"]
            assert listener.next_event() in (NEED_DATA, CLOSED)
