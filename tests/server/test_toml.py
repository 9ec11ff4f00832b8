"""Files that people write: every way to break one is answered with file, line, value and what was expected."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep_server.config.toml_file import line_of, load, parse, read_text
from getstep_server.errors import ConfigError
from getstep_server.validation import Mistake, Model, wrong
from tests.support.quick import each


class Anything(Model, frozen=True, kw_only=True):
    a: int = 0
    b: str = ""


def raises_at(text: str, model: type[Model] = Anything) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(Path("x.toml"), text, model)
    return str(caught.value)


# --- files that cannot be read -------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"x\.toml: No such file or directory$"):
        read_text(tmp_path / "x.toml")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r": Is a directory$"):
        read_text(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that even root cannot read")
def test_a_file_that_fails_while_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.toml").symlink_to("/proc/self/mem")
    with pytest.raises(ConfigError, match=r"x\.toml: Input/output error$"):
        read_text(tmp_path / "x.toml")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * 2**20)
    assert len(read_text(path)) == 2**20
    path.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ConfigError, match="the file is too large; expected at most 1048576 bytes"):
        read_text(path)


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes("a = 1\nb = 'Grashüpfer'\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"x\.toml:2: not UTF-8"):
        read_text(path)
    path.write_bytes("a = 1\n".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"x\.toml:1: not UTF-8"):
        read_text(path)


def test_a_byte_order_mark_and_line_ends_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 'x'\r\n")
    assert load(path, Anything) == Anything(a=1, b="x")


# --- invalid TOML --------------------------------------------------------------------------------------------

NOT_TOML = {
    "a name without quotes": ("[t]\nname = Autumn\n", 2, "name = Autumn"),
    "no value": ("a = 1\nb =\n", 2, "b ="),
    "no equals sign": ("a = 1\nb 2\n", 2, "b 2"),
    "a quote that is not closed": ('a = 1\nb = "x\nc = 2\n', 2, 'b = "x'),
    "a setting twice": ("[t]\nx = 1\n\nx = 2\n", 4, "x = 2"),
    "a table twice": ("[t]\nx = 1\n[u]\n[t]\n", 4, "[t]"),
    "a header that is not closed": ("a = 1\n[t\n", 2, "[t"),
    "an array that is not closed": ("a = 1\nb = [1,\n2\n", 3, "2"),
    "a text that is not closed": ('a = 1\nb = """x\ny\n', 3, "y"),
    "an inline table over two lines": ("a = {b = 1,\nc = 2}\n", 1, "a = {b = 1,"),
    "a control character": ("a = 1\nb = '\x1b[2J'\n", 2, "\\u001b"),
}


@pytest.mark.parametrize("case", NOT_TOML)
def test_invalid_toml(case: str) -> None:
    text, line, shown = NOT_TOML[case]
    message = raises_at(text)
    assert message.startswith(f"x.toml:{line}: not valid TOML: ")
    assert message.endswith(shown) or "\\u001b" in message
    assert shown in message
    assert "\n" not in message
    assert "\x1b" not in message


def test_a_long_line_is_shortened() -> None:
    assert len(raises_at(f"a = {'x' * 5000}\n")) < 250


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000], ids=["digits", "brackets"])
def test_toml_that_the_parser_cannot_handle(value: str) -> None:
    assert raises_at(f"a = {value}").startswith(
        "x.toml: not valid TOML: a number with too many digits, or too many"
    )


# --- lines ---------------------------------------------------------------------------------------------------

TOML = '''\
# [contest]
title = "[team]"  # name = 1
other = """
[contest]
name = "not this one"
"""
literal = \'\'\'
[[team]]
\'\'\'
array = [  # [contest]
  "a",
  ["b",
   "c"],
  {x = 1}, {y = 2},
]
inline = {x = 1, y.z = 2}
comment = 1 # a line separator \u2028 and a page \u0085 are no ends of lines

[ contest ]
"name" = "A"
'game' = "hop"
options . size = 8
options.depth = 3

[server.deep."quoted [x] key"]
port = 1

[[team]]
id = 1

[[team.player]]
name = "first of the first"

[[ team ]] # [contest]
id = 2
[[team.player]]
name = "first of the second"
[[team.player]]
name = "second of the second"

[contest.later]
x = 1
'''
LINES: list[tuple[tuple[str | int, ...], int | None]] = [
    (("title",), 2),
    (("other",), 3),
    (("literal",), 7),
    (("array",), 10),
    (("array", 0), 11),
    (("array", 1), 12),
    (("array", 1, 1), 13),
    (("array", 2, "x"), 14),
    (("array", 3), 14),
    (("inline", "y", "z"), 16),
    (("comment",), 17),
    (("contest",), 19),
    (("contest", "name"), 20),
    (("contest", "game"), 21),
    (("contest", "options"), 22),
    (("contest", "options", "size"), 22),
    (("contest", "options", "depth"), 23),
    (("server", "deep"), 25),
    (("server", "deep", "quoted [x] key"), 25),
    (("server", "deep", "quoted [x] key", "port"), 26),
    (("team",), 28),
    (("team", 0), 28),
    (("team", 0, "id"), 29),
    (("team", 0, "player", 0, "name"), 32),
    (("team", 1), 34),
    (("team", 1, "id"), 35),
    (("team", 1, "player", 0, "name"), 37),
    (("team", 1, "player", 1), 38),
    (("team", 1, "player", 1, "name"), 39),
    (("contest", "later", "x"), 42),
    # What is missing is where its table begins
    (("contest", "seed"), 19),
    (("team", 0, "name"), 28),
    (("team", 1, "name"), 34),
    (("team", 7, "name"), 28),
    (("nowhere",), None),
    (("nowhere", "at", "all"), None),
    ((), None),
]


@each(("location", "line"), LINES, ids=[".".join(map(str, where)) for where, _ in LINES])
def test_the_line_of_a_value(location: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(TOML, location) == line


_keys = st.text("ab[]\"'#=. \\", min_size=1, max_size=4)
_texts = st.text("ab[]\"'#=\n\\ ,{}", max_size=12)


def _written(text: str, way: int) -> str:
    """Return the same text in one of TOML's ways to write it, over several lines if it may be."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return (f'"{plain}"'.replace("\n", "\\n"), f'"""{plain}"""', f'[\n  """\n{plain}""", # ]\n]')[way]


@given(st.lists(st.tuples(_keys, _texts, st.integers(0, 2)), unique_by=lambda entry: entry[0], max_size=8))
def test_the_line_of_any_value_in_any_document(entries: list[tuple[str, str, int]]) -> None:
    text, lines = "", {}
    for key, value, way in entries:
        lines[key] = text.count("\n") + 1
        text += f"{_written(key, 0)} = {_written(value, way)}\n"
    assert set(tomllib.loads(text)) == set(lines)
    assert {key: line_of(text, (key,)) for key in lines} == lines


def test_a_class_of_256_takes_no_time() -> None:
    text = "".join(f"[[team]]\nid = {n}\n" for n in range(256))
    assert line_of(text, ("team", 200, "id")) == 402
    assert line_of('x = """\n' + "\n" * 300 + '"""\n' + text, ("team", 200, "id")) == 704


# --- what does not fit the model -----------------------------------------------------------------------------


def test_values_that_cannot_be_shown() -> None:
    class Texts(Model, frozen=True, kw_only=True):
        n: str

    digits = "f" * 5000  # hexadecimal: it can be read, and is too long to be written
    assert (
        raises_at(f"n = 0x{digits}", Texts)
        == "x.toml:1: n = a number with too many digits, expected text in quotes"
    )
    assert len(raises_at(f"n = {[1] * 1000}", Texts)) < 200
    assert "\u202e" not in raises_at('"\u202en" = 1\nn = ["\u202e"]', Texts)


def test_setting_errors_are_located_below_their_table() -> None:
    class Table(Model, frozen=True, kw_only=True):
        t: dict[str, Any]

        @classmethod
        def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
            yield wrong(("t", "a"), 1, "something else")
            yield wrong(("t", "b", 1), 3, "less")

    assert raises_at("[t]\na = 1\nb = [2,\n3]\n", Table) == (
        "x.toml:2: t.a = 1, expected something else\nx.toml:4: t.b = 3, expected less"
    )
