"""protocol.md is normative: its tables are read here and compared with the codec.

What its conversations say is in test_wire_conversations.py; the classic wire is tested with the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgpack
import pytest

import getstep.wire
from getstep.wire import (
    ANSWERS,
    CLIENT_MESSAGES,
    HEADER_BYTES,
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_DEPTH,
    MAX_LOGIN_FRAME,
    MAX_MAP,
    MAX_NAME,
    MAX_OPENING,
    MAX_SERVER_FRAME,
    MAX_TEXT,
    MAX_TEXT_BYTES,
    NOTES_BYTES,
    SERVER_MESSAGES,
    VERSION,
    Connection,
    Event,
    GetStep,
    Hello,
    Join,
    MalformedAnswer,
    Message,
    RemoteProtocolError,
    Start,
    State,
    Step,
    new_nonce,
)
from tests.support.conversations import PROTOCOL, RECORDED, SAMPLES, ends, frame, framed, hearer, rows, section
from tests.support.hostile_bodies import hostile
from tests.support.quick import each

MARKDOWN = PROTOCOL.read_text(encoding="utf-8")
ALL_MESSAGES = {cls.type: cls for cls in SERVER_MESSAGES + CLIENT_MESSAGES}


def table_after(intro: str) -> list[list[str]]:
    found = re.search(f"^{intro}.*", MARKDOWN, flags=re.MULTILINE)
    assert found, f"no {intro} in protocol.md"
    return rows(found[0])


FIELDS: list[tuple[type[Message], str, str]] = [
    (cls, name.strip("`"), kind)
    for cls in ALL_MESSAGES.values()
    for name, kind, _ in table_after(f"`{cls.type}`: ")
]
NAMES = [f"{cls.type}.{name}" for cls, name, _ in FIELDS]


def test_conversations_are_up_to_date() -> None:
    page = RECORDED.read_text(encoding="utf-8")
    assert page[page.index("## ") : page.index("**Next:** ")] == section(), (
        "run python -m tests.support.conversations"
    )


def test_links_lead_somewhere() -> None:
    titles = re.findall(r"^#+ (.*)", MARKDOWN, flags=re.MULTILINE)
    anchors = {re.sub(r"[,']", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]*)\)", MARKDOWN)) <= anchors


# --- messages --------------------------------------------------------------------------------------------


def documented(heading: str) -> list[str]:
    part = MARKDOWN.split(f"\n{heading}\n")[1].split("\n##")[0]
    return re.findall(r"^`(\w+)`: ", part, flags=re.MULTILINE)


def test_messages_of_each_side() -> None:
    assert documented("### From the server") == [cls.type for cls in SERVER_MESSAGES]
    assert documented("### From the client") == [cls.type for cls in CLIENT_MESSAGES]


@pytest.mark.parametrize("cls", ALL_MESSAGES.values(), ids=ALL_MESSAGES)
def test_fields_in_order(cls: type[Message]) -> None:
    table = {name: kind for owner, name, kind in FIELDS if owner is cls}
    assert cls.names == tuple(table)
    assert cls.required == tuple(name for name, kind in table.items() if "optional" not in kind)


def test_optional_fields_have_the_documented_default() -> None:
    documented = {(cls, name): kind.split("; optional, ")[1] for cls, name, kind in FIELDS if "optional" in kind}
    defaults = {
        (cls, field.name): "nil" if field.default is None else f'`"{field.default}"`'
        for cls in ALL_MESSAGES.values()
        for field in fields(cls)
        if field.default is not MISSING
    }
    assert documented == defaults


# --- what each field may hold ----------------------------------------------------------------------------

WHATEVER = [None, True, 0, 1.5, float("inf"), "", "x", [], {}, [[1, 2], [3, 4]], {"a": [None]}]
NOT_INTS: list[Any] = [None, True, 1.0, "1", [1]]
NOT_TEXTS: list[Any] = [None, False, 1, 1.5, ["x"], {}]
GAME: dict[str, Any] = {"game": "hop", "options": {"size": 8}, "time_kind": "move", "time_ms": 1}
DRAWING: list[Any] = ["mark", [2, 3], "7", None]
WIDE_BOARDS = [[[0, 2**31]], [[-(2**31) - 1, 0]], [[2**63]]]

KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "anything": (WHATEVER, []),
    "[notes](#notes-of-a-move), or nil": ([None, {"say": "x"}, {"tags": ["a"], "draw": [DRAWING]}], []),
    "a move, or nil": (WHATEVER, []),
    "boolean": ([True, False], [None, 0, 1, "true", []]),
    "boolean, or nil": ([True, False, None], [0, 1, "true", []]),
    "array of int": ([[1], [1, 2**31 - 1]], [None, 1, {}, "1", [True], [1.0], ["1"], [None]]),
    "array of arrays of int": (
        [[], [[]], [[0, -1, 99]], [[-(2**31), 2**31 - 1]], [[7] * 128] * 2],
        [None, 0, {}, [0], [{}], [["1"]], [[True]], [[1.0]], [[None]], *WIDE_BOARDS],
    ),
    "map of text to int": (
        [{}, {"size": 8, "": -1}, {"x" * 100: 2**31 - 1}],
        [None, 0, [], {"size": "8"}, {"size": True}, {"size": 8.0}, {"size": None}],
    ),
    "array of 1 to 20 moves, or nil": (
        [None, [[0, 1]], [[[2, 2], [2, 3]], None, "x"], [[7, 7]] * 20],
        [0, {}, "72", [], [[7, 7]] * 21],
    ),
    "array of 2, or nil": (
        [None, [7, 2], [[1, 0, 1], [2]], [None, "x"]],
        [0, {}, "72", [], [7], [7, 2, 1]],
    ),
}
WRONG_GAMES: list[dict[str, Any]] = [
    *({"game": 1}, {"options": []}, {"time_kind": "day"}, {"time_ms": 0}),
    *({"increment_ms": wrong} for wrong in (-1, 0.5, "1", 86_400_001)),
]
ARRAYS_OF_GAMES: tuple[list[Any], list[Any]] = (
    [[], [GAME], [GAME | {"later": None}], [GAME] * 5, [GAME | {"increment_ms": 86_400_000}]],
    [
        *(None, {}, "", [0], [None], [[]], [{}]),
        *([{key: value for key, value in GAME.items() if key != missing}] for missing in GAME),
        *([GAME | wrong] for wrong in WRONG_GAMES),
    ],
)


def number(text: str) -> int:
    return 2**31 - 1 if text == "2³¹−1" else int(text.replace(",", ""))


def values(kind: str) -> tuple[list[Any], list[Any]]:
    """Return values that a cell of "type and range" allows, up to its limits, and values that it refuses."""
    kind = kind.partition("; optional")[0]
    if kind in KINDS:
        return KINDS[kind]
    if kind.startswith("array of maps"):
        return ARRAYS_OF_GAMES
    if found := re.fullmatch(r"int (\S+?)…(\S+?)(, or nil)?", kind):
        low, high, nil = number(found[1]), number(found[2]), bool(found[3])
        beyond = [low - 1, high + 1, -(2**63), 2**64 - 1]
        return [low, high, *[None] * nil], beyond + NOT_INTS[nil:]
    if found := re.fullmatch(r"text (\d+)", kind):
        most = number(found[1])
        return ["", "x" * most, "\U0001f3b2" * most], ["x" * (most + 1), *NOT_TEXTS]
    if kind == "an address and a port, or nil":
        wrong = ["", "localhost:7777", "10.0.0.7", "10.0.0.7:0", "10.0.0.7:65536", "::1:80", *NOT_TEXTS[1:]]
        return ["192.168.1.10:7777", "[fe80::1]:65535", None], wrong
    if found := re.fullmatch(r"(\d+) lower-case hexadecimal digits(, or nil)?", kind):
        nil = bool(found[2])
        digits = "0123456789abcdef" * (number(found[1]) // 16)
        others = [other + digits[1:] for other in "/:`gxGF é٣"]
        wrong = [digits[1:], digits + "0", digits.upper(), "", *others, *NOT_TEXTS[nil:]]
        return [digits, digits[::-1], *[None] * nil], wrong
    words = re.findall(r'`"(\w+)"`', kind)
    assert words, f"no test knows the type {kind!r}"
    return words, ["", "later", words[0].upper(), words[0] + " ", *NOT_TEXTS]


Edge: TypeAlias = tuple[type[Message], str, Any]

ALLOWED: list[Edge] = [(cls, name, value) for cls, name, kind in FIELDS for value in values(kind)[0]]
REFUSED: list[Edge] = [(cls, name, value) for cls, name, kind in FIELDS for value in values(kind)[1]]


def shown(edge: Edge) -> str:
    cls, name, value = edge
    return f"{cls.type}.{name}={value!a:.40}"


def received(cls: type[Message], keys: dict[str, Any]) -> Event:
    """Return the event that a map causes at the peer, in the first state that allows such a message."""
    listener = hearer(cls)
    if listener.question and type(keys.get("id")) is int:
        listener.question = keys["id"]
    listener.receive_data(framed(msgpack.packb(keys)))
    return listener.next_event()


def refused(cls: type[Message], keys: dict[str, Any]) -> str:
    """Return the detail with which the peer refuses a map."""
    if cls in ANSWERS:
        event = received(cls, keys)
        assert isinstance(event, MalformedAnswer)
        return event.detail.removeprefix(f"{cls.type}: ")
    with pytest.raises(RemoteProtocolError, match=r"^bad_field: ") as caught:
        received(cls, keys)
    return caught.value.detail


@each(("cls", "name", "value"), ALLOWED, ids=map(shown, ALLOWED))
def test_field_allows(cls: type[Message], name: str, value: Any) -> None:
    message = replace(SAMPLES[cls], **{name: value})
    assert received(cls, message.to_fields()) == message


NAMED = {"games": "games|game|options|time_kind|time_ms|increment_ms", "options": "options|'size'"}
"""The name in an error, where it is not just the field."""


@each(("cls", "name", "value"), REFUSED, ids=map(shown, REFUSED))
def test_field_refuses(cls: type[Message], name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^({NAMED.get(name, name)}) (is|has) .*, expected ") as caught:
        replace(SAMPLES[cls], **{name: value})
    assert refused(cls, SAMPLES[cls].to_fields() | {name: value}) == str(caught.value)


@pytest.mark.parametrize(("name", "element"), [("versions", 1), ("games", GAME), ("board", [0])])
def test_array_is_bounded_before_it_is_sent(name: str, element: Any) -> None:
    (cls,) = (cls for cls in SERVER_MESSAGES if name in cls.names)
    assert replace(SAMPLES[cls], **{name: [element] * MAX_ARRAY})
    with pytest.raises(ValueError, match=f"^{name} is .* at most {MAX_ARRAY} elements$"):
        replace(SAMPLES[cls], **{name: [element] * (MAX_ARRAY + 1)})


def test_rows_are_bounded_before_they_are_sent() -> None:
    with pytest.raises(ValueError, match=f"^board is .* at most {MAX_ARRAY} elements$"):
        GetStep(
            id=1, move_number=1, board=[[0], [0] * (MAX_ARRAY + 1)], is_black=True, time_left_ms=0, last_move=None
        )


@pytest.mark.parametrize("key", [1, None, b"size"])
def test_options_are_named_by_text(key: Any) -> None:
    keys = SAMPLES[Start].to_fields() | {"options": {key: 8}}
    with pytest.raises(ValueError, match=r"^options has the name .*, expected text$"):
        Start(**{name: keys[name] for name in Start.required})


@each(("cls", "name", "kind"), FIELDS, ids=NAMES)
def test_missing_key(cls: type[Message], name: str, kind: str) -> None:
    keys = SAMPLES[cls].to_fields()
    keys.pop(name, None)  # what is optional may be missing already
    if "optional" in kind:
        assert received(cls, keys) == replace(SAMPLES[cls], **{name: default_of(cls, name)})
    else:
        assert refused(cls, keys) == f"{name} is missing"


def default_of(cls: type[Message], name: str) -> Any:
    (field,) = (field for field in fields(cls) if field.name == name)
    return field.default


@pytest.mark.parametrize(("cls", "name"), [field[:2] for field in FIELDS if "or nil; optional" in field[2]])
def test_nil_in_an_optional_field(cls: type[Message], name: str) -> None:
    message = replace(SAMPLES[cls], **{name: None})
    assert name not in message.to_fields()
    assert received(cls, SAMPLES[cls].to_fields() | {name: None}) == message


def test_the_longest_join_stays_below_512_bytes() -> None:
    """A server may refuse longer frames before the login (see "Limits")."""
    big = 2**31 - 1
    join = Join(big, big, mac="0" * 64, client="\U0001f3b2" * MAX_NAME, purpose="check", nonce="0" * 32)
    assert len(framed(msgpack.packb(join.to_fields()))) < 512


@pytest.mark.parametrize("cls", ALL_MESSAGES.values(), ids=ALL_MESSAGES)
def test_unknown_keys_are_ignored(cls: type[Message]) -> None:
    keys = {"later": [{"x": 1}], **SAMPLES[cls].to_fields(), "names": None, "": 0}
    assert received(cls, keys) == SAMPLES[cls]


# --- limits and codes ------------------------------------------------------------------------------------

LIMITS = {
    "client frame, bytes after the header": MAX_CLIENT_FRAME,
    "client frame before `welcome`, bytes after the header": MAX_LOGIN_FRAME,
    "server frame, bytes after the header": MAX_SERVER_FRAME,
    "containers inside each other, the message's map included": MAX_DEPTH,
    "elements of an array": MAX_ARRAY,
    "entries of a map": MAX_MAP,
    "characters of a text (`detail`, `error`)": MAX_TEXT,
    "characters of a name": MAX_NAME,
    "bytes of any string": MAX_TEXT_BYTES,
    "moves of an `opening`": MAX_OPENING,
    "bytes of [notes](#notes-of-a-move) that a client sends with an answer": NOTES_BYTES,
}


def test_limits() -> None:
    table = {limit: number(value) for limit, value in rows("## Limits")}
    assert {limit: table[limit] for limit in LIMITS} == LIMITS
    unknown_to_the_wire = [limit for limit in table if limit not in LIMITS]
    servers = ("seconds ", "connections ", "valid logins ", "bytes the server ")
    assert all(limit.startswith(servers) for limit in unknown_to_the_wire)


def test_limits_in_the_text() -> None:
    hostile = {code.strip("`"): meaning for code, meaning in rows("### Hostile codes")}
    assert f"at most {MAX_CLIENT_FRAME:,} from the client, at most {MAX_SERVER_FRAME:,} from the server" in MARKDOWN
    assert f"a {HEADER_BYTES}-byte length" in MARKDOWN
    longest = f"a length over {MAX_CLIENT_FRAME:,}, or over {MAX_LOGIN_FRAME:,} before the login"
    assert hostile["oversize_frame"] == longest
    assert f"said `welcome`,\n  *n* is at most {MAX_LOGIN_FRAME:,} from the client" in MARKDOWN
    assert hostile["too_deep"] == f"more than {MAX_DEPTH} containers inside each other"


def test_version() -> None:
    assert f"# The getstep protocol, version {VERSION}\n" in MARKDOWN
    assert f"\nThis is version {VERSION}. " in MARKDOWN


def test_hostile_codes_of_the_codec_are_documented() -> None:
    table = {code.strip("`") for code, _ in rows("### Hostile codes")}
    assert {code_of(listener, data) for listener, data in offences()} == codes_in_source()
    assert codes_in_source() <= table
    assert table - codes_in_source() == {"slow_frame", "never_reads", "flood"}  # need a clock or a socket


def offences() -> Iterator[tuple[Connection, bytes]]:
    for _, body, _ in hostile():
        yield hearer(Step), framed(body)
    yield hearer(Step), framed(b"")
    yield hearer(Step), b"GET "
    yield hearer(Step), frame(SAMPLES[Step])[:-1]
    yield hearer(Step), frame(Step(id=32, move=0))
    yield ends(State.MATCH)[0], frame(SAMPLES[Step])
    yield hearer(Step), frame(SAMPLES[Join])
    yield hearer(Join), framed(msgpack.packb({"type": "join"}))


def code_of(listener: Connection, data: bytes) -> str:
    listener.receive_data(data)
    listener.receive_data(b"")
    with pytest.raises(RemoteProtocolError) as caught:
        listener.next_event()
    return caught.value.code


def codes_in_source() -> set[str]:
    files = Path(str(getstep.wire.__file__)).parent.glob("*.py")
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r'RemoteProtocolError\(\s*"(\w+)"', sources))


def test_fresh_nonces_are_what_hello_takes() -> None:
    nonces = {new_nonce() for _ in range(100)}
    assert len(nonces) == 100
    for nonce in nonces:
        assert Hello(versions=[VERSION], nonce=nonce, contest="", server="").nonce == nonce
