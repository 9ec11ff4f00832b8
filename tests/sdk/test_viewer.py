"""The viewer: keys, the place that they lead to, and a screen of any size. `show` is tested on a real terminal."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from getstep.drawing import Picture, draw_terminal, draw_text, viewer
from getstep.drawing.viewer import FRAMES_PER_SECOND, Frame, Key, Place, read_keys, render
from getstep_engines import GAMES
from tests.support.games import picture
from tests.support.quick import each

SIZES = [(80, 24), (200, 60), (60, 15), (30, 8), (10, 3), (1, 1)]


def frames(name: str, number: int = 15) -> list[Frame]:
    hostile = "\x1b[2J 数独 \u202e e\u0301"
    return [
        Frame(picture(name, at + 1), f"turn {at} {hostile}", ("score", f"why {hostile}" * 9), f"{at} {hostile}")
        for at in range(number)
    ]


def cells(line: str) -> int:
    shown = viewer._shown_width(line)
    assert shown <= sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)
    return shown


# --- keys -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        (b"\x1b[C\x1bOC", [Key.ON, Key.ON]),
        (b"\x1b[D\x1bOD", [Key.BACK, Key.BACK]),
        (b"\x1b[H\x1bOH\x1b[1~\x1b[7~", [Key.FIRST] * 4),
        (b"\x1b[F\x1bOF\x1b[4~\x1b[8~", [Key.LAST] * 4),
        (b"\x1b[5~\x1b[6~", [Key.FAR_BACK, Key.FAR_ON]),
        (b" +-", [Key.PLAY, Key.FASTER, Key.SLOWER]),
        (b"q", [Key.QUIT]),
        (b"\x04", [Key.QUIT]),
        (b"xyz\x1b[1;5C\x1b[200~\x1b[Z\xc3\xa4\x00", []),
        (b"\x1b", []),
        (b"\x1b[", []),
        (b"\x1b\x1b[C", [Key.ON]),
    ],
)
def test_what_a_terminal_sends_for_a_key(typed: bytes, keys: list[Key]) -> None:
    assert list(read_keys(typed)) == keys


def test_keys_lead_to_a_frame_and_never_beyond_the_ends() -> None:
    place = Place(30, 0)
    assert [place.press(key).at for key in (Key.BACK, Key.ON, Key.LAST, Key.FAR_ON)] == [0, 1, 29, 10]
    end = Place(30, 29)
    assert [end.press(key).at for key in (Key.BACK, Key.ON, Key.FIRST, Key.FAR_BACK)] == [28, 29, 0, 19]


def test_playing_goes_to_the_end_and_stops_there() -> None:
    place = Place(3, 0).press(Key.PLAY)
    assert (place.at, place.playing) == (0, True)
    assert [place.tick().at, place.tick().tick().at] == [1, 2]
    end = place.tick().tick()
    assert not end.playing
    assert end.press(Key.PLAY) == Place(3, 0, playing=True), "from the beginning again"
    assert not place.press(Key.PLAY).playing
    assert not place.press(Key.ON).playing, "a step ends playing"


def test_the_speed_has_a_lowest_and_a_highest_value() -> None:
    place = Place(3, 0)
    for key, speed in ((Key.FASTER, len(FRAMES_PER_SECOND) - 1), (Key.SLOWER, 0)):
        for _ in range(20):
            place = place.press(key)
        assert place.speed == speed


# --- the screen -------------------------------------------------------------------------------------------------


@each("name", GAMES)
@each("size", SIZES)
@each("draw", [draw_text, draw_terminal])
def test_a_screen_fits_its_terminal_whatever_the_texts_are(name: str, size: tuple[int, int], draw: Any) -> None:
    shown = frames(name)
    for at in (0, 7, 14):
        lines = render("数" * 200, shown, Place(15, at), size, draw)
        assert len(lines) == size[1]
        assert max(map(cells, lines)) <= size[0]
        assert "\x1b[2J" not in "".join(lines)


@pytest.mark.parametrize("name", GAMES)
def test_at_80_by_24_the_whole_board_is_shown_with_its_list(name: str) -> None:
    shown = frames(name)
    lines = render("head", shown, Place(15, 9), (80, 24), draw_text)
    for number, line in enumerate(draw_text(shown[9].picture).splitlines()):
        assert lines[2 + number].startswith(line)
    assert "> 9 " in "\n".join(lines)
    assert "  10 " in "\n".join(lines)
    assert lines[-1].startswith("9/14 paused | arrows")
    assert lines[-1].endswith("q: quit")


def test_the_status_line_fits_80_columns_in_the_longest_match() -> None:
    frame = frames("hop", 1)[0]
    for playing in (False, True):
        place = Place(801, 800, playing=playing, speed=0)
        assert render("head", [frame] * 801, place, (80, 24), draw_text)[-1].endswith("q: quit")


def test_the_largest_board_fits_80_by_24() -> None:
    game = GAMES["pseudo_tonga"]
    (step,) = game.trace_fault(game.start(size=16))
    frame = Frame(Picture.after(game, [step]), "start", ("points: Black 0, White 65536",), "start")
    lines = render("head", [frame], Place(1, 0), (80, 24), draw_text)
    assert lines[18].startswith("15 ")
    assert lines[19] == "points: Black 0, White 65536"


def test_a_terminal_that_is_too_small_says_what_is_needed() -> None:
    shown = frames("hop")
    assert "too small: 27x12 needed" in "\n".join(render("head", shown, Place(15, 0), (26, 24), draw_text))
    assert "too small" not in "\n".join(render("head", shown, Place(15, 0), (27, 12), draw_text))


def test_nothing_is_stepped_through_without_a_terminal() -> None:
    assert not viewer.can_run(), "a test has none"
