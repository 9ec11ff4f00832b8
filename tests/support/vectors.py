"""Test vectors for clients in any language: JSON files, made from the tables of these tests.

``python -m tests.support.vectors`` writes them again after a change of the wire.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, TypeAlias

import msgpack

from getstep.wire import (
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_DRAWINGS,
    MAX_ID,
    MAX_MS,
    MAX_NAME,
    MAX_OPENING,
    MAX_SAY,
    MAX_SERVER_FRAME,
    MAX_TEAM,
    MAX_TEXT,
    SERVER_MESSAGES,
    Join,
    Message,
    Penalty,
    Raised,
    Resign,
    Step,
    canonical_token,
    prove_fence,
    prove_server,
    sign,
)
from getstep_conformance.client import VECTORS
from tests.support.conversations import (
    CLIENT_NONCE,
    CONVERSATIONS,
    DIALLED,
    NONCE,
    RECORDED,
    SAMPLES,
    TOKEN,
    Violation,
    frame,
    framed,
    read,
)
from tests.support.conversations import NOTES as EXAMPLE_NOTES
from tests.support.hostile_bodies import HONEST, answer, entries, hostile, pack, sized

Entry: TypeAlias = dict[str, Any]
Fields: TypeAlias = dict[str, Any]

# --- bodies ------------------------------------------------------------------------------------------------------

INTEGERS = {  # every encoding of some numbers, also those that are longer than they need to be
    "7": ["07", "cc07", "cd0007", "ce00000007", "cf0000000000000007", "d007", "d10007", "d200000007"],
    "-1": ["ff", "d0ff", "d1ffff", "d2ffffffff", "d3ffffffffffffffff"],
    "-32": ["e0", "d0e0", "d1ffe0"],
    "127": ["7f", "cc7f", "d07f"],
    "128": ["cc80", "cd0080", "d10080"],
    "-128": ["d080", "d1ff80"],
    "255": ["ccff", "cd00ff"],
    "65535": ["cdffff", "ce0000ffff", "d20000ffff"],
    "-32768": ["d18000", "d2ffff8000"],
    "2147483647": ["ce7fffffff", "d27fffffff", "cf000000007fffffff", "d3000000007fffffff"],
    "-2147483648": ["d280000000", "d3ffffffff80000000"],
    "4294967295": ["ceffffffff", "cf00000000ffffffff"],
    "9007199254740991": ["cf001fffffffffffff", "d3001fffffffffffff"],
    "18446744073709551615": ["cfffffffffffffffff"],
    "-9223372036854775808": ["d38000000000000000"],
}
FLOATS = {
    "float32": "ca3fc00000",
    "float64": "cb3ff8000000000000",
    "float32 infinity": "ca7f800000",
    "float64 not a number": "cb7ff8000000000000",
    "float64 minus zero": "cb8000000000000000",
}
LENGTHS = {
    "fixstr": b"\xa2hi",
    "str8": b"\xd9\x02hi",
    "str16": b"\xda\x00\x02hi",
    "str32": b"\xdb\x00\x00\x00\x02hi",
    "empty str32": b"\xdb\x00\x00\x00\x00",
    "str with a zero and a quote": b'\xa3\x00"\\',
    "str of four-byte characters": pack("🎲🏁"),
    "fixarray": b"\x91\x07",
    "array16": b"\xdc\x00\x01\x07",
    "array32": b"\xdd\x00\x00\x00\x01\x07",
    "array16 of 15": sized(0xDC, ">H", 15, bytes(15)),
    "array16 of 16": sized(0xDC, ">H", 16, bytes(16)),
    "fixmap": b"\x81\xa1k\x07",
    "map16": b"\xde\x00\x01\xa1k\x07",
    "map32": b"\xdf\x00\x00\x00\x01\xa1k\x07",
    "map16 of 16": sized(0xDE, ">H", 16, entries(16)),
    "nil": b"\xc0",
    "false": b"\xc2",
    "true": b"\xc3",
}


def _bodies() -> list[Entry]:
    integers = {f"integer {number} as {text}": text for number, texts in INTEGERS.items() for text in texts}
    fine = {name: answer(bytes.fromhex(text)) for name, text in (integers | FLOATS).items()}
    fine |= {name: answer(value) for name, value in (LENGTHS | HONEST).items()}
    fine["all headers long"] = b"\xde\x00\x02\xd9\x04type\xda\x00\x06resign\xdb\x00\x00\x00\x02id\xd1\x00\x1f"
    found = [{"name": name, "body": body.hex(), **_value_of(body)} for name, body in fine.items()]
    for name, body, code in hostile():
        if code != "unknown_type":
            found.append({"name": name, "body": body.hex(), "code": code})
    return found


def _value_of(body: bytes) -> Entry:
    value = msgpack.unpackb(body)
    return {"value": value} if _is_exact(value) else {"accepted": True}


def _is_exact(value: Any) -> bool:
    """Return True if every JSON parser reads ``value`` as it is."""
    if isinstance(value, dict):
        return all(map(_is_exact, value.values()))
    if isinstance(value, list):
        return all(map(_is_exact, value))
    if isinstance(value, float):
        return math.isfinite(value) and value != 0
    return not isinstance(value, int) or abs(value) < 2**53


# --- messages of the server --------------------------------------------------------------------------------------

NOT_INT: list[Any] = [None, True, 1.0, "1", [], {}]
NOT_TEXT: list[Any] = [None, 7, True, ["x"], {"x": 1}]
NOT_BOOLEAN: list[Any] = [None, 0, 1, "true"]
BEYOND_32_BITS: list[Any] = [[[2**31]], [[0], [0, -(2**31) - 1]], [[2**63 - 1]], [[2**64 - 1]]]


def _ints(lowest: int, highest: int) -> tuple[list[Any], list[Any]]:
    return [lowest, highest], [lowest - 1, highest + 1, 2**64 - 1, *NOT_INT]


def _texts(longest: int) -> tuple[list[Any], list[Any]]:
    return ["", "🎲" * longest], ["x" * (longest + 1), *NOT_TEXT]


_PAIRS = (["move", "budget"], ["", "Move", None, 1])
_HEX_DIGITS = "0123456789abcdef"


def _digits(count: int) -> tuple[list[Any], list[Any]]:
    good = (_HEX_DIGITS * 4)[:count]
    return [good], [good[1:], good + "0", good[1:] + "g", good.upper(), "", "٣" * count, None, 7]


VALUES: dict[str, dict[str, tuple[list[Any], list[Any]]]] = {  # accepted and refused values of each key
    "hello": {
        "versions": ([[1], [2, 1], [], [1] * MAX_ARRAY], [None, 1, [0], ["1"], [True], {"1": 1}]),
        "nonce": _digits(32),
        "contest": _texts(MAX_NAME),
        "server": _texts(MAX_NAME),
        "friendly": ([None, True, False], [0, "true"]),
        "dialled": ([None, True, False], [0, "true"]),
    },
    "welcome": {
        "team": _ints(0, MAX_TEAM),
        "name": _texts(MAX_NAME),
        "lag_ms": _ints(0, MAX_MS),
        "games": (
            [
                [],
                [
                    {
                        "game": "x",
                        "options": {"a": -1},
                        "time_kind": "budget",
                        "time_ms": 1,
                        "increment_ms": 0,
                        "y": 1,
                    }
                ],
            ],
            [None, {}, [1], [{}], [{"game": "hop", "options": {}, "time_kind": "move"}]],
        ),
        "proof": ([None, *_digits(64)[0]], [bad for bad in _digits(64)[1] if bad is not None]),
    },
    "start": {
        "match": _ints(1, MAX_ID),
        "game": _texts(MAX_NAME),
        "options": ([{}, {"size": 8}, {"ä": -MAX_ID}], [None, [], {"size": True}, {"size": "8"}, {"size": 2**31}]),
        "is_black": ([True, False], NOT_BOOLEAN),
        "opponent": _texts(MAX_NAME),
        "time_kind": _PAIRS,
        "time_ms": _ints(1, MAX_MS),
        "lag_ms": _ints(0, MAX_MS),
        "resumed": ([True, False], NOT_BOOLEAN),
        "increment_ms": ([None, 0, MAX_MS], [-1, MAX_MS + 1, True, "0"]),
        "friendly": ([None, True, False], [0, "true"]),
        "opening": (
            [None, [[3, 4]], [[[2, 2], [2, 3]]] * MAX_OPENING, [["R", [0, 0], [0, 1]]]],
            [[], 1, {}, "x", [[0, 0]] * (MAX_OPENING + 1)],
        ),
    },
    "get_step": {
        "id": _ints(1, MAX_ID),
        "move_number": _ints(1, MAX_ID),
        "board": (
            [
                [],
                [[]],
                [[-5, 0, 100000]],
                [[0] * 16] * 16,
                [[1], [1, 2]],
                [[0] * MAX_ARRAY],
                [[-(2**31), 2**31 - 1]],
            ],
            [None, 7, [7], [[None]], [[True]], [[1.0]], [["1"]], [[[1]]], {"0": [0]}, *BEYOND_32_BITS],
        ),
        "is_black": ([True, False], NOT_BOOLEAN),
        "time_left_ms": _ints(0, MAX_MS),
        "last_move": ([None, [3, 4], [[4, 2], [4, 3]], ["R", [0, 0], [0, 1]]], []),
    },
    "penalty": {"id": _ints(1, MAX_ID), "reason": _texts(MAX_NAME), "detail": _texts(MAX_TEXT)},
    "end": {
        "match": _ints(1, MAX_ID),
        "result": (["win", "draw", "loss", "void"], ["", "Win", "won", None, 1]),
        "reason": _texts(MAX_NAME),
        "detail": _texts(MAX_TEXT),
        "scores": ([None, [7, 2], [0.5, -1]], [[], [7], [1, 2, 3], 7, "7:2", {}]),
    },
    "notice": {
        "kind": (["paused", "resumed", "announcement", "answer", "later", "🎲" * MAX_NAME], ["x" * 65, *NOT_TEXT]),
        "match": ([None, 1, MAX_ID], [0, MAX_ID + 1, True, 1.0, "1"]),
        "text": _texts(MAX_TEXT),
    },
    "goodbye": {
        "reason": _texts(MAX_NAME),
        "detail": _texts(MAX_TEXT),
        "retry_ms": ([None, 0, MAX_MS], [-1, MAX_MS + 1, True, 1.0, "1000"]),
    },
}
UNKNOWN_TYPES: list[Any] = [None, 7, True, "", "ping", "Start", "end ", ["end"], {"end": 1}, "x" * 2000]


def _messages() -> list[Entry]:
    found = []
    for cls in SERVER_MESSAGES:
        fields = SAMPLES[cls].to_fields()
        found.append(_message(f"{cls.type}", fields))
        found.append(_message(f"{cls.type} with an unknown key", {**fields, "later": {"x": [1, None]}}))
        found.append(_message(f"{cls.type}, keys in another order", dict(reversed(fields.items()))))
        for key in cls.required:
            left = {name: value for name, value in fields.items() if name != key}
            found.append(_message(f"{cls.type} without {key}", left, "bad_field"))
        for key, (good, bad) in VALUES[cls.type].items():
            for value in good:
                found.append(_message(_title(cls.type, key, value), {**fields, key: value}))
            for value in bad:
                found.append(_message(_title(cls.type, key, value), {**fields, key: value}, "bad_field"))
    for kind in UNKNOWN_TYPES:
        found.append(_message(f"type {_short(kind)}", {"type": kind, "id": 31}, "unknown_type"))
    found.append(_message("no type", {"id": 31}, "unknown_type"))
    found += [_message(f"{name} from a server", _of_client(name), "unknown_type") for name in ("join", "step")]
    return found


def _of_client(name: str) -> Fields:
    return next(sample for cls, sample in SAMPLES.items() if cls.type == name).to_fields()


def _title(kind: str, key: str, value: Any) -> str:
    return f"{kind} with {key} {_short(value)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:36]}... ({len(text)} characters)"


def _message(name: str, fields: Fields, code: str | None = None) -> Entry:
    outcome = {"message": fields} if code is None else {"code": code}
    return {"name": name, "body": pack(fields).hex(), **outcome}


# --- streams of frames -------------------------------------------------------------------------------------------


def _streams() -> list[Entry]:
    news = [frame(SAMPLES[Penalty]), frame(Penalty(32, "illegal_move", "a second message"))]
    longest = framed(_padded(MAX_SERVER_FRAME))
    rows = {
        "nothing": (b"", None, False),
        "one frame": (news[0], None, False),
        "two frames at once": (b"".join(news), None, False),
        "a frame and half a header": (news[0] + b"\0\0", None, True),
        "a frame and a half": (news[0] + news[1][:-1], None, True),
        "the longest frame": (longest, None, False),
        "the longest frame between others": (news[0] + longest + news[1], None, False),
        "a length of 0": (bytes(4), "empty_frame", False),
        "a length of 0 behind a frame": (news[0] + bytes(4) + news[1], "empty_frame", False),
        "one byte too long, header only": ((MAX_SERVER_FRAME + 1).to_bytes(4, "big"), "oversize_frame", False),
        "the longest length": (b"\xff\xff\xff\xff", "oversize_frame", False),
        "a negative length, if the header were signed": (b"\x80\0\0\0", "oversize_frame", False),
        "an HTTP answer": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "oversize_frame", False),
    }
    return [
        {"name": name, "bytes": data.hex(), "bodies": _complete(data), "code": code, "partial": partial}
        for name, (data, code, partial) in rows.items()
    ]


def _padded(size: int) -> bytes:
    fields = SAMPLES[Penalty].to_fields()
    lines = ["x" * 1997] * ((size - 1000) // 2000)
    short = size - len(pack({**fields, "later": [*lines, "x" * 300]}))
    return pack({**fields, "later": [*lines, "x" * (300 + short)]})


def _complete(data: bytes) -> list[str]:
    found = []
    while len(data) >= 4 and 0 < (size := int.from_bytes(data[:4], "big")) <= min(MAX_SERVER_FRAME, len(data) - 4):
        found.append(data[4 : 4 + size].hex())
        data = data[4 + size :]
    return found


# --- messages of the client --------------------------------------------------------------------------------------

_EDGES = [0, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**32 - 1, 2**32, 2**53 - 1]
_NEGATIVE = [-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53) + 1]

_MARK: list[Any] = ["mark", [2, 3], "7", None]
MOVES: dict[str, Any] = {
    "nil": None,
    "a square": [3, 4],
    "a path": [[4, 2], [4, 3]],
    "the longest path": [[row % 8, row // 8 % 8] for row in range(100)],
    "a domino": ["R", [0, 0], [0, 1]],
    "booleans": [True, False],
    "float64": 1.5,
    **{f"integer {number}": number for number in _EDGES + _NEGATIVE},
    **{f"text of {count} bytes": "x" * count for count in (0, 31, 32, 255, 256, 2000)},
    "text with every kind of character": 'a\0\n\x1b[31m"\\ü中🎲\u202e',
    **{f"array of {count}": [0] * count for count in (0, 15, 16, MAX_ARRAY)},
    **{f"map of {count}": {str(key): key for key in range(count)} for count in (0, 1, 15, 16, 32)},
    "the deepest": [[[[[[[7]]]]]]],
}
NOTES: dict[str, Any] = {
    "as in the example": EXAMPLE_NOTES,
    "of every key": {
        "say": "first line\nzwölf 🎲",
        "estimate": -1,
        "draw": [["arrow", [0, 0, 1, 1, 127, 127], None, "blue"], ["domino", [0, 0, 0, 1], "12345678", None]],
        "tags": ["opening", "松" * 24],
    },
    "of 64 drawings": {"draw": [["region", [0, 0, 127, 127], "松", "purple"]] * MAX_DRAWINGS},
    "of the longest text": {"say": "x" * MAX_SAY, "estimate": 1.0},
}
KEPT: dict[str, tuple[Any, Any]] = {  # what a client sends, and what a server keeps of it
    **{name: (notes, notes) for name, notes in NOTES.items()},
    **{
        f"that are {_text}": (_value, None)
        for _text, _value in (("text", "ok"), ("an array", ["ok"]), ("true", True))
    },
    "without a key": ({}, None),
    "with an unknown key": ({"say": "ok", "later": [1]}, {"say": "ok"}),
    "with an empty text": ({"say": "", "estimate": 0}, {"estimate": 0}),
    "with a text of 1,001 characters": ({"say": "x" * (MAX_SAY + 1), "tags": ["a"]}, {"tags": ["a"]}),
    "with a text of control characters": ({"say": "\x1b[2J\0"}, {"say": "\x1b[2J\0"}),
    "with an estimate of 1.01": ({"estimate": 1.01}, None),
    "with an estimate that is not a number": ({"estimate": math.nan}, None),
    "with an estimate that is infinite": ({"estimate": math.inf}, None),
    "with an estimate that is true": ({"estimate": True}, None),
    "with 65 drawings": ({"draw": [_MARK] * (MAX_DRAWINGS + 1)}, {"draw": [_MARK] * MAX_DRAWINGS}),
    "with wrong drawings": (
        {
            "draw": [
                *(None, {}, _MARK[:3], [*_MARK, None], ["circle", *_MARK[1:]], ["mark", [], None, None]),
                *(
                    ["mark", squares, None, None]
                    for squares in ([2], [-1, 0], [0, 128], [1.0, 2], [True, 0], [[2, 3]])
                ),
                *(["arrow", [2, 3], None, None], ["domino", [0, 0, 0, 1, 0, 2], None, None]),
                *(["mark", [2, 3], "", None], ["mark", [2, 3], "123456789", None], ["mark", [2, 3], 7, None]),
                *(["mark", [2, 3], None, "pink"], ["mark", [2, 3], None, ""], _MARK),
            ]
        },
        {"draw": [_MARK]},
    ),
    "with wrong tags": (
        {"tags": ["", "two words", "x" * 25, "a\nb", "a\x1b[2J", 7, None, "right"]},
        {"tags": ["right"]},
    ),
    "with 9 tags": ({"tags": list("abcdefghi")}, {"tags": list("abcdefgh")}),
    "with what the program printed": ({"output": "looking\n"}, {"output": "looking\n"}),
}
UNSENDABLE: dict[str, Any] = {
    "too deep": [[[[[[[[]]]]]]]],
    "too deep, in maps": [[[[[[{"x": {}}]]]]]],
    "an array of 129": [0] * (MAX_ARRAY + 1),
    "a map of 33": {str(key): 0 for key in range(33)},
    "a text of 2001 bytes": "x" * 2001,
    "a text of 2001 bytes in 1001 characters": "x" + "ü" * 1000,
    "a long frame": ["x" * 2000] * 3,
}


def _frames_of_client() -> list[Entry]:
    mac = sign(TOKEN, NONCE)
    messages: dict[str, Message] = {
        "join": SAMPLES[Join],
        "join without a nonce": Join(1, 7, mac, "my client"),
        "join with an IPv6 address": Join(1, 7, mac, "my client", nonce=CLIENT_NONCE, dialled="[fe80::1]:7777"),
        "join of the highest team, to check": Join(1, MAX_TEAM, mac, "x" * MAX_NAME, "check"),
        "join of team 0 by a program with a long name": Join(1, 0, mac, "🎲" * MAX_NAME, "play", CLIENT_NONCE),
        **{f"step: {name}": Step(31, move) for name, move in MOVES.items()},
        "step with the highest id": Step(MAX_ID, [3, 4]),
        "raised": SAMPLES[Raised],
        "raised with an empty text": Raised(1, ""),
        "raised with the longest text": Raised(MAX_ID, "🎲" * MAX_TEXT),
        "resign": SAMPLES[Resign],
        "resign with id 128": Resign(128),
        **{f"step with notes {name}": Step(31, [3, 4], notes) for name, notes in NOTES.items()},
        "raised with notes": Raised(31, "no move", EXAMPLE_NOTES),
        "resign with notes": Resign(31, EXAMPLE_NOTES),
    }
    fine = [{"name": k, "message": m.to_fields(), "frame": frame(m).hex()} for k, m in messages.items()]
    steps = {name: Step(31, move) for name, move in UNSENDABLE.items()}
    return [*fine, *({"name": f"step: {k}", "message": m.to_fields(), "refused": True} for k, m in steps.items())]


def _notes() -> list[Entry]:
    """Return what a server keeps of notes that a client has sent."""
    return [
        {
            "name": f"notes {name}",
            "body": pack({"type": "step", "id": 31, "move": [3, 4], "notes": sent}).hex(),
            "kept": kept,
        }
        for name, (sent, kept) in KEPT.items()
    ]


# --- signatures --------------------------------------------------------------------------------------------------

TOKENS = {  # as the user types it
    "as on paper": TOKEN,
    "upper case": TOKEN.upper(),
    "without dashes": TOKEN.replace("-", ""),
    "with spaces, upper case": " KQ3M X7FD 29PT ".strip(),
    "another": "zzzz-2222-abcd",
    "made up by a host": "Secret-2024",
    "with letters that the server never uses": "kq3m-x7fd-29l0",
    "of one letter": "x",
    "not ASCII": "pässword-中🎲",
    "of 64 bytes": "k" * 64,
    "of 65 bytes": "k" * 65,
    "of 200 bytes": "long" * 50,
}
FENCE, CERTIFICATE = 2, "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2
BAD_NONCES = [NONCE[1:], NONCE + "0", NONCE.upper(), NONCE[:-1] + "g", "", " " + NONCE[1:], "٣" * 32, NONCE * 2]


def _signatures() -> list[Entry]:
    return [
        {
            "name": name,
            "typed": typed,
            "token": (token := canonical_token(typed)),
            "nonce": NONCE,
            "mac": sign(token, NONCE),
            "client_nonce": CLIENT_NONCE,
            "proof": prove_server(token, NONCE, CLIENT_NONCE),
            "dialled": DIALLED,
            "dialled_mac": sign(token, NONCE, DIALLED),
            "dialled_proof": prove_server(token, NONCE, CLIENT_NONCE, DIALLED),
            "fence": FENCE,
            "fence_certificate": CERTIFICATE,
            "fence_proof": prove_fence(token, NONCE, CLIENT_NONCE, FENCE, CERTIFICATE),
        }
        for name, typed in TOKENS.items()
    ]


def _digests() -> list[Entry]:
    texts = [bytes(range(256))[:size] for size in (0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 128, 200, 256)]
    return [{"data": text.hex(), "digest": hashlib.sha256(text).hexdigest()} for text in texts]


# --- conversations -----------------------------------------------------------------------------------------------


def _conversations() -> list[Entry]:
    spoken = read(RECORDED.read_text(encoding="utf-8"))
    return [
        {"title": title, "frames": [_spoken(*said, item) for said, item in zip(spoken[title], items, strict=True)]}
        for title, items in CONVERSATIONS.items()
    ]


def _spoken(letter: str, data: bytes, item: Message | Violation) -> Entry:
    said: Entry = {"from": "server" if letter == "S" else "client", "bytes": data.hex()}
    return said | ({"code": item.code} if isinstance(item, Violation) else {"message": item.to_fields()})


# --- the files ---------------------------------------------------------------------------------------------------


def files() -> dict[str, str]:
    """Return the content of each file by its name."""
    return {
        "codec.json": _json(
            {
                "max_client_frame": MAX_CLIENT_FRAME,
                "max_server_frame": MAX_SERVER_FRAME,
                "bodies": _bodies(),
                "messages": _messages(),
                "streams": _streams(),
                "sent": _frames_of_client(),
                "notes": _notes(),
            }
        ),
        "proofs.json": _json({"signatures": _signatures(), "bad_nonces": BAD_NONCES, "sha256": _digests()}),
        "conversations.json": _json({"token": TOKEN, "conversations": _conversations()}),
    }


def _json(content: dict[str, Any]) -> str:
    """Return JSON with one entry on each line."""
    parts = []
    for key, value in content.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in value)
            text = f"[\n{lines}\n  ]"
        parts.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    VECTORS.mkdir(exist_ok=True)
    for name, text in files().items():
        (VECTORS / name).write_text(text, encoding="utf-8")
