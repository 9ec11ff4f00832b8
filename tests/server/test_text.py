"""Text for people: counts with nouns, and full stops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import cells

from getstep import text as sdk
from getstep_server.text import cell_len, escape_control_chars, fold, pluralize, sentence


@pytest.mark.parametrize(
    ("count", "what", "text"),
    [
        (0, "pair", "0 pairs"),
        (1, "pair", "1 pair"),
        (1, "match", "1 match"),
        (2, "match", "2 matches"),
        (3, "void attempt", "3 void attempts"),
    ],
)
def test_pluralize(count: int, what: str, text: str) -> None:
    assert pluralize(count, what) == text


@pytest.mark.parametrize("text", ["match 7 is won by Ada", "match 7 is won by Charles and Co."])
def test_a_sentence_has_one_full_stop(text: str) -> None:
    assert sentence(text) == text.rstrip(".") + "."


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("می\u200cخواهم", None),  # Persian: two letters that would join
        ("کِ\u200cتاب", None),  # with a vowel sign between
        ("ශ්\u200dරී", None),  # Sinhala: virama, joiner
        ("क्\u200cष", None),  # Devanagari: the virama is to be seen
        ("ന്\u200d ന", None),  # Malayalam: at the end of a word
        ("র\u200d্য", None),  # Bengali: ra, joiner, virama, ya
        ("👩🏽\u200d💻 & 🏳️\u200d🌈", None),
        ("👨\u200d👩\u200d👧\u200d👦", None),
        ("A\u200dda", "A\\u200dda"),
        ("\u200dمی", "\\u200dمی"),
        ("می\u200c", "می\\u200c"),
        ("می\u200c\u200cخ", "می\\u200c\\u200cخ"),
        ("می\u200ca", "می\\u200ca"),
        ("می\u200c خ", "می\\u200c خ"),
        ("\u064e\u200cخ", "\u064e\\u200cخ"),  # a vowel sign without a letter
        ("کِِِِِ\u200cت", "کِِِِِ\\u200cت"),  # too many marks
        ("क\u200dष", "क\\u200dष"),  # no virama
        ("👩\u200c💻", "👩\\u200c💻"),
        ("a\u200d💻", "a\\u200d💻"),
        ("م\u202eی", "م\\u202eی"),
    ],
)
def test_joiners_stay_where_a_script_or_an_emoji_needs_them(name: str, shown: str | None) -> None:
    assert escape_control_chars(name) == sdk.escape_control_chars(name) == (shown or name)


def test_the_cells_of_a_text_are_those_that_rich_counts() -> None:
    assert all(cell_len(char) == cells.cell_len(char) for char in map(chr, range(0x3000)))
    assert [cell_len(text) for text in ("", "é", "Дороти", "寿限無", "e\u0301", "\t")] == [0, 1, 6, 6, 1, 0]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("short", ["short"]),
        ("exactly te", ["exactly te"]),
        ("  a first line", ["  a first", " line"]),
        ("before it  two  spaces", ["before it", " two", " spaces"]),
        ("abcdefghijklmnop", ["abcdefghij", " klmnop"]),
        ("寿限無寿限無", ["寿限無寿限", " 無"]),
        ("a 寿限無寿限", ["a", " 寿限無寿", " 限"]),
        ("         寿", [" 寿"]),
    ],
)
def test_folded_lines(text: str, lines: list[str]) -> None:
    assert fold(text, 10, indent=1) == lines


@given(st.text("ab 寿e\u0301-", max_size=60), st.integers(4, 20), st.integers(0, 2))
def test_folded_lines_fit_and_have_all_words(text: str, width: int, indent: int) -> None:
    lines = fold(text, width, indent)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
