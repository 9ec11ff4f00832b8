"""Text for people: what is counted, what ends in a full stop."""

from __future__ import annotations

import pytest

from getstep_server._text import counted, sentence


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
def test_what_is_counted(count: int, what: str, text: str) -> None:
    assert counted(count, what) == text


@pytest.mark.parametrize("text", ["match 7 is won by Ada", "match 7 is won by Charles and Co."])
def test_a_sentence_has_one_full_stop(text: str) -> None:
    assert sentence(text) == text.rstrip(".") + "."
