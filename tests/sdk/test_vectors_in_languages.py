"""The SDKs in other languages decode, refuse, encode and sign as the shared vectors say.

For each SDK there is a program in ``languages/``. It reads commands, one on each line, and answers each with a line
of JSON:

    body HEX            {"value": ...} or {"code": ...}
    message HEX         {"message": ...} or {"code": ...}
    stream HEX          {"bodies": [...], "code": ..., "partial": ...}
    sent JSON           {"frame": HEX} or {"refused": true}
    signature JSON      {"token": ..., "mac": ..., "proof": ..., "dialled_mac": ..., "dialled_proof": ...}
    nonce JSON          {} or {"code": ...}
    sha256 HEX          {"digest": HEX}
    conversation JSON   {"messages": [...]}: the types of the server's messages, fed byte by byte
    escaped JSON        {"text": ...}
    duration JSON       {"text": ...}
    trace JSON          {"text": ...}: what the author of a bot reads about an error with this text
    notes JSON          {"frame": HEX, "lines": [...]}: an answer with the notes of some calls; the author's lines
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack
import pytest

from getstep.text import duration, escape_control_chars
from getstep.wire import MAX_CLIENT_FRAME, RemoteProtocolError, decode
from getstep_conformance.client import VECTORS
from tests.support.languages import DRIVERS, Driver
from tests.support.noted import BOARD, CASES

Case = tuple[str, dict[str, Any]]

CODEC = json.loads((VECTORS / "codec.json").read_text(encoding="utf-8"))
SIGNED = ("mac", "proof", "dialled_mac", "dialled_proof")
PROOFS = json.loads((VECTORS / "proofs.json").read_text(encoding="utf-8"))
CONVERSATIONS = json.loads((VECTORS / "conversations.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> list[str]:
    """The command of a language's program."""
    found: Driver = request.param
    found.need()
    return found.build()


def ask(driver: Sequence[str], commands: Sequence[str]) -> list[dict[str, Any]]:
    """Return the answers of the program, one for each command."""
    text = "".join(f"{command}\n" for command in commands)
    environ = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1"}
    ran = subprocess.run(driver, input=text.encode(), capture_output=True, env=environ)
    assert (ran.returncode, ran.stderr) == (0, b"")
    answers = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    assert len(answers) == len(commands)
    return answers


def same(value: Any) -> str:
    """Return JSON, in which 1 is not 1.0."""
    return json.dumps(value, sort_keys=True)


def codec_cases() -> Iterator[Case]:
    for case in CODEC["bodies"]:
        expected = {"value": case["value"]} if "value" in case else {"code": case.get("code")}
        yield f"body {case['body']}", expected
    for case in CODEC["messages"]:
        yield f"message {case['body']}", {"code": case["code"]} if "code" in case else {}
    for case in CODEC["streams"]:
        yield f"stream {case['bytes']}", {name: case[name] for name in ("bodies", "code", "partial")}
    for case in CODEC["sent"]:
        refused = case.get("refused")
        yield f"sent {json.dumps(case['message'])}", {"refused": True} if refused else {"frame": case["frame"]}


def proof_cases() -> Iterator[Case]:
    for case in PROOFS["signatures"]:
        yield f"signature {json.dumps(case)}", {name: case[name] for name in ("token", *SIGNED)}
    for nonce in PROOFS["bad_nonces"]:
        yield f"nonce {json.dumps(nonce)}", {"code": "bad_field"}
    yield f"nonce {json.dumps(PROOFS['signatures'][0]['nonce'])}", {}
    for case in PROOFS["sha256"]:
        yield f"sha256 {case['data']}", {"digest": case["digest"]}


def text_cases() -> Iterator[Case]:
    for text in ("plain", "a\x1b[31mb\n\t\r\x00", "Grashüpfer 松鼠", "\u202eabc\u2028\ufeff\u200b", "\U000e0041🎲"):
        yield f"escaped {json.dumps(text)}", {"text": escape_control_chars(text)}
    for ms in (0, 0.04, 0.84, 9.96, 34.6, 99.9, 100, 350, 1000, 5000, 20000, 123456.7, 86400000):
        yield f"duration {json.dumps(ms)}", {"text": duration(ms)}


def conversation_cases() -> Iterator[Case]:
    for conversation in CONVERSATIONS["conversations"]:
        frames = [frame for frame in conversation["frames"] if not frame["bytes"].startswith("47455420")]
        server = [decode(bytes.fromhex(frame["bytes"])[4:]) for frame in frames if frame["from"] == "server"]
        yield f"conversation {json.dumps(frames)}", {"messages": [message["type"] for message in server]}


@pytest.mark.parametrize("cases", [codec_cases, proof_cases, text_cases, conversation_cases])
def test_the_vectors(cases: Any, driver: list[str]) -> None:
    given = list(cases())
    answers = ask(driver, [command for command, _ in given])
    for (command, expected), answer in zip(given, answers, strict=True):
        found = {name: answer.get(name) for name in expected}
        accepted = expected == {"code": None} or (not expected and "code" not in answer)
        assert accepted or same(found) == same(expected), (command[:200], answer)
        assert "code" not in answer or "code" in expected, (command[:200], answer)
        assert "failed" not in answer, (command[:200], answer)


def test_the_trace_of_an_error_is_safe_to_print_and_short(driver: list[str]) -> None:
    """Its text may have the opponent's name in it, and a terminal obeys control characters."""
    text = "none against \x1b[2J\u202e\nsecond\rline " + "x" * 100_000
    (answer,) = ask(driver, [f"trace {json.dumps(text)}"])
    lines = answer["text"].split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert any(r"none against \x1b[2J\u202e" in line for line in lines)
    assert any(r"second\rline xxx" in line for line in lines)
    assert len(answer["text"]) < 20_000


def test_notes_are_sent_as_in_python_and_mistakes_are_named_once(driver: list[str]) -> None:
    given = [{"board": BOARD, "calls": case.calls, "move": case.move} for case in CASES.values()]
    answers = ask(driver, [f"notes {json.dumps(each)}" for each in given])
    for (name, case), answer in zip(CASES.items(), answers, strict=True):
        frame = bytes.fromhex(answer["frame"])
        assert len(frame) <= 4 + MAX_CLIENT_FRAME
        assert decode(frame[4:]).get("notes") == case.notes, name
        notes = {} if case.notes is None else {"notes": case.notes}
        assert frame[4:] == msgpack.packb({"type": "step", "id": 31, "move": case.move, **notes}), name
        assert len(answer["lines"]) == len(case.lines), (name, answer["lines"])
        for line, part in zip(answer["lines"], case.lines, strict=True):
            assert part in line, name
            assert line.isprintable()
            assert len(line) < 400


def test_any_bytes_are_decoded_as_in_python_or_refused(driver: list[str]) -> None:
    """Bytes of the vectors with a few changed: nothing crashes, and the same bodies are accepted as in Python."""
    choice = random.Random(16)
    bodies = [
        bytes.fromhex(case["body"]) for case in CODEC["bodies"] + CODEC["messages"] if len(case["body"]) < 1000
    ]
    changed = [bytearray(choice.choice(bodies)) for _ in range(3000)]
    for body in changed:
        for _ in range(choice.randrange(1, 4)):
            if body:
                body[choice.randrange(len(body))] = choice.choice([choice.randrange(256), 0xDD, 0xDF, 0xDB, 0x91])
        if choice.random() < 0.2:
            del body[choice.randrange(len(body) + 1) :]
    answers = ask(driver, [f"body {body.hex()}" for body in changed])
    for body, answer in zip(changed, answers, strict=True):
        try:
            decode(bytes(body))
            expected = None
        except RemoteProtocolError:
            expected = "refused"
        assert "failed" not in answer, (body.hex(), answer)
        assert ("refused" if "code" in answer else None) == expected, (body.hex(), answer)
