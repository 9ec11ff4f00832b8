"""Records as text with a header: each reads back byte for byte, and hostile text is refused with a reason."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.json_text import encode
from getstep_server.limits import HEADED_TEXT_BYTES
from getstep_server.records.headed_text import headed_text, read_headed_text
from getstep_server.records.record import RecordError
from getstep_server.storage.store import Store
from tests.support.command import Command
from tests.support.played_contests import Scene, play_scenes


def read(text: bytes) -> list[bytes | RecordError]:
    return list(read_headed_text(io.BytesIO(text)))


def game_lines(contest: Contest) -> list[bytes]:
    with Store(contest.database) as store:
        return [line for line in store.lines() if json.loads(line)["type"] == "game"]


def refusal(text: bytes) -> str:
    (error,) = read(text)
    assert isinstance(error, RecordError)
    return str(error)


# --- records ----------------------------------------------------------------------------------------------------


def test_each_record_of_a_contest_reads_back(hop_contest: Contest) -> None:
    lines = game_lines(hop_contest)
    texts = [headed_text(line) for line in lines]
    assert read(b"".join(texts)) == lines
    assert not any(b"[whole" in text or b": {" in text for text in texts)


@pytest.mark.parametrize("game", GAMES)
def test_the_records_of_each_game_read_back(game: str, tmp_path: Path) -> None:
    (line,) = game_lines(play_scenes(tmp_path / game, game, lambda _: [Scene(1)]))
    text = headed_text(line)
    assert read(text) == [line]
    first = text.decode().split("\n\n")[1].splitlines()[0].split()
    move = json.loads(line)["turns"][0]["move"]
    assert first[:2] == ["1.", GAMES[game].notation(move)]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, width=64) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
_SQUARE = st.lists(st.integers(-2, 10**10), min_size=1, max_size=3)
_MOVES = _SQUARE | st.lists(_SQUARE, max_size=4) | _VALUES
_KEYS = ("move", "pass", "fault", "end", "ms", "timed", "notes", "player", "a key")
_TURNS = st.one_of(
    st.fixed_dictionaries({"player": st.integers(-1, 2) | st.booleans() | st.floats(0, 1), "move": _MOVES}),
    st.fixed_dictionaries({"move": _MOVES, "player": st.integers(0, 1)}),
    st.lists(st.tuples(st.sampled_from(_KEYS), _VALUES), max_size=5).map(dict),
    _VALUES,
)


@settings(max_examples=60)
@given(
    st.lists(_TURNS, max_size=5),
    st.dictionaries(st.text(), _VALUES, max_size=4),
    st.sampled_from([*GAMES, "none"]),
)
def test_any_record_reads_back(turns: list[Any], further: dict[str, Any], game: str) -> None:
    lines = [
        encode({"record": 1, **further, "type": "game", "game": game, "turns": turns, "hash": "0"}),
        encode(
            {"record": 1, "type": "game", "turns": turns, "game": game, **further, "hash": "0"} | {"type": "game"}
        ),
    ]
    lines = [line for line in lines if isinstance(json.loads(line)["turns"], list)]
    texts = [headed_text(line) for line in lines]
    assert [read(text) for text in texts] == [[line] for line in lines]
    assert read(b"".join(texts)) == lines


# --- text from outside ------------------------------------------------------------------------------------------


GOOD = b'[record 1]\n[type "game"]\n[turns 1]\n\n1. 0,0 {}\n\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[record 1]\n[turns 2]\n1. 0,0 {}\n", "line 1: 1 turns, expected 2 by the tag turns"),
        (b"[record 1]\n", "0 turns, expected None by the tag turns"),
        (b"[record 1]\n[turns true]\n1. 0,0 {}\n", "expected True by the tag turns"),
        (b"[record 1]\n[turns 0]\n[turns 0]\n", "the tag turns is there twice"),
        (b"[record 1]\n[turns 0\n", r"b'[turns 0', expected [name value]"),
        (b"[record 1]\n[turns {]\n", "is not JSON"),
        (b"[record 1]\n[turns 1]\n1. 0,0\n", "b'1. 0,0', expected a turn"),
        (b"[record 1]\n[turns 1]\n1. 0,0 {\xff}\n", "is not JSON"),
        (b"[record 1]\n[turns 1]\n1. 0,0 {" + b'"a":[' * 300 + b"\n", "expected a turn"),
        (b"[record 1]\n[turns 1]\n1. 0,0 " + b'{"a":' * 300 + b"1" + b"}" * 300, "nested more than"),
        (b"[record 1]\n[turns 1]\n1. " + b"0,0-" * 400 + b"0,0 {}\n", "expected a turn"),
        (b"[whole {]\n", "is not JSON"),
        (b"anything else\n", "b'anything else', expected a turn"),
    ],
)
def test_what_is_no_game_is_refused_with_a_reason(text: bytes, message: str) -> None:
    assert message in refusal(text)
    good = encode({"record": 1, "type": "game", "turns": [{"player": 0, "move": [0, 0]}]})
    assert read(text + b"\n" + GOOD)[-1] == good  # the next game is read


def test_a_game_takes_at_most_16_mib() -> None:
    assert "expected at most 16777216" in refusal(b'[record "' + b"x" * HEADED_TEXT_BYTES + b'"]\n')
    pieces = GOOD + (b" " * 2**20 + b"\n") * 16
    assert "expected at most 16777216" in refusal(pieces)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=60) | st.sampled_from(GOOD.split(b"\n")), max_size=12))
def test_any_text_gives_records_or_reasons(lines: list[bytes]) -> None:
    for one in read(b"\n".join(lines)):
        assert isinstance(one, (bytes, RecordError))
        if isinstance(one, bytes):
            json.loads(one)


# --- commands ---------------------------------------------------------------------------------------------------


def test_the_command_writes_all_games(hop_contest: Contest, command: Command) -> None:
    folder = str(hop_contest.folder)
    ran = command("export", folder, "--matches", "--format", "headed", "--output", "matches.txt")
    assert ran.code == 0
    with Path("matches.txt").open("rb") as file:
        assert list(read_headed_text(file)) == game_lines(hop_contest)
    assert "expected --matches" in command.complaint("export", folder, "--standings", "--format", "headed")
