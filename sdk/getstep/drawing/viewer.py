"""Steps through the pictures of a match in a terminal, with the keyboard. It knows neither games nor matches.

``render`` is pure: it makes the lines of a screen of any size. ``run`` draws them and reads keys. It uses the
terminal's second screen, so that the first one is as before when it ends, whatever ends it. Where Python has no
``termios``, as on Windows, `can_run` is False: print the pictures instead.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from getstep.text import escape_control_chars

from .picture import Picture
from .terminal import can_show_glyphs, colour_depth, draw_terminal, theme_name

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]  # no module: no keys are read

FRAMES_PER_SECOND = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Speeds of playing. The first is for explaining a game, the last for finding a place in a long one."""

_FIRST_SPEED = 2
_SKIP = 10  # frames for Page Up and Page Down
_RESIZE_SECONDS = 0.2  # how soon a new size of the terminal is seen; drawing takes a few milliseconds
_ESCAPE_SECONDS = 0.05  # between the bytes of one key, which a terminal sends at once
_LIST_MIN = 22  # columns of the list beside the board; with fewer it is left out
_HELP = "arrows Home End Page: step | space: play, +/- | q: quit"


@dataclass(frozen=True)
class Frame:
    """One picture of a match. All texts may contain anything; each is cut to the terminal's width.

    ``title`` stands above the board, the lines ``below`` under it, ``line`` in the list beside it.
    """

    picture: Picture
    title: str
    below: tuple[str, ...]
    line: str


class Key(Enum):
    """The action of a key."""

    BACK = auto()
    ON = auto()
    FIRST = auto()
    LAST = auto()
    FAR_BACK = auto()
    FAR_ON = auto()
    PLAY = auto()
    FASTER = auto()
    SLOWER = auto()
    QUIT = auto()


_LETTERS: Mapping[int, Key] = {
    **dict.fromkeys(b"hkp", Key.BACK),
    **dict.fromkeys(b"ljn\r\n", Key.ON),
    ord("g"): Key.FIRST,
    ord("G"): Key.LAST,
    ord(" "): Key.PLAY,
    ord("+"): Key.FASTER,
    ord("-"): Key.SLOWER,
    **dict.fromkeys(b"qQ\x04", Key.QUIT),  # Ctrl-D, too
}
_SEQUENCES: Mapping[bytes, Key] = {
    **dict.fromkeys((b"D", b"A"), Key.BACK),
    **dict.fromkeys((b"C", b"B"), Key.ON),
    **dict.fromkeys((b"H", b"1~", b"7~"), Key.FIRST),
    **dict.fromkeys((b"F", b"4~", b"8~"), Key.LAST),
    b"5~": Key.FAR_BACK,
    b"6~": Key.FAR_ON,
}
"""The codes after ``ESC [`` or ``ESC O``: terminals differ in Home and End."""


def read_keys(typed: bytes) -> Iterator[Key]:
    """Yield the keys in what a terminal has sent; other keys are ignored."""
    at = 0
    while at < len(typed):
        if typed[at] != 0x1B:
            if typed[at] in _LETTERS:
                yield _LETTERS[typed[at]]
            at += 1
            continue
        end = at + 1
        if typed[end : end + 1] in (b"[", b"O"):
            end += 1
            start = end
            while typed[end : end + 1].isdigit() or typed[end : end + 1] == b";":
                end += 1
            end += 1
            if typed[start:end] in _SEQUENCES:
                yield _SEQUENCES[typed[start:end]]
        at = end


# --- the screen -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """The frame that is shown. ``speed`` is an index of `FRAMES_PER_SECOND`."""

    frames: int
    at: int
    playing: bool = False
    speed: int = _FIRST_SPEED

    def press(self, key: Key) -> Place:
        """Return the place after a key."""
        if key is Key.PLAY:
            at_end = self.at == self.frames - 1
            return replace(self, playing=not self.playing, at=0 if at_end and not self.playing else self.at)
        if key in (Key.FASTER, Key.SLOWER):
            speed = self.speed + (1 if key is Key.FASTER else -1)
            return replace(self, speed=min(max(speed, 0), len(FRAMES_PER_SECOND) - 1))
        steps = {Key.BACK: -1, Key.ON: 1, Key.FAR_BACK: -_SKIP, Key.FAR_ON: _SKIP, Key.FIRST: -self.frames}
        at = self.at + steps.get(key, self.frames)
        return replace(self, at=min(max(at, 0), self.frames - 1), playing=False)

    def tick(self) -> Place:
        """Return the place after the time of one frame while playing."""
        at = min(self.at + 1, self.frames - 1)
        return replace(self, at=at, playing=at < self.frames - 1)


def render(
    head: str,
    frames: Sequence[Frame],
    place: Place,
    size: tuple[int, int],
    draw: Callable[[Picture], str],
) -> list[str]:
    """Return the lines of a screen of ``size`` (columns, lines); no line is wider, and there are not more.

    Args:
        head: the first line, such as the names of the teams.
        frames: all pictures.
        place: which one is shown.
        size: the columns and lines of the terminal.
        draw: draws a board; its escape sequences take no room.
    """
    columns, height = size
    frame = frames[place.at]
    board = draw(frame.picture).splitlines()
    board_width = max(map(_shown_width, board), default=0)
    if board_width > columns or len(board) > height - 3:
        needed = f"{max(board_width, 20)}x{len(board) + 3}"
        board = [_clip(f"too small: {needed} needed", columns)]
        board_width = len(board[0])
    below = frame.below[: max(0, height - len(board) - 3)]
    top = [_clip(head, columns), _clip(frame.title, columns)]
    left = [*board, *(_clip(note, columns) for note in below)]
    rows = max(0, height - len(top) - 1)
    left += [""] * (rows - len(left))
    room = columns - board_width - 4
    if room >= _LIST_MIN:
        # These lines have the whole width: the list is beside the board, and goes on below them.
        free = [number for number, line in enumerate(left) if number < len(board) or not line]
        for number, entry in zip(free, _list(frames, place.at, len(free), room), strict=False):
            left[number] += " " * (board_width + 4 - _shown_width(left[number])) + entry
    return [*top, *left[:rows], _clip(_status(place), columns)][:height]


def _status(place: Place) -> str:
    speed = f"{FRAMES_PER_SECOND[place.speed]:g} a second" if place.playing else "paused"
    return f"{place.at}/{place.frames - 1} {speed} | {_HELP}"


def _list(frames: Sequence[Frame], at: int, height: int, width: int) -> list[str]:
    """Return the part of the list that has the current frame in its middle."""
    first = max(0, min(at - height // 2, len(frames) - height))
    shown = enumerate(frames[first : first + height], first)
    return [_clip(f"{'>' if number == at else ' '} {frame.line}", width) for number, frame in shown]


def _clip(text: str, cells: int) -> str:
    """Return any text without control characters, cut to the terminal cells that it may take."""
    text, used = escape_control_chars(text), 0
    for number, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:number]
    return text


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _shown_width(line: str) -> int:
    """Return the cells of a line of a board: its glyphs take one each, its escape sequences none."""
    first, *coloured = line.split("\x1b")
    return sum(map(_cells, first + "".join(part.partition("m")[2] for part in coloured)))


# --- the terminal -----------------------------------------------------------------------------------------------


def can_run() -> bool:
    """Return True if standard input and output are a terminal that can step through pictures."""
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()
    return termios is not None and is_terminal and os.environ.get("TERM", "dumb") != "dumb"


def painter(stream_encoding: str | None, *, is_terminal: bool) -> Callable[[Picture], str]:
    """Return the function that draws a board as the environment and the encoding of the output allow."""
    depth, theme = colour_depth(os.environ, is_terminal=is_terminal), theme_name(os.environ)
    glyphs = can_show_glyphs(stream_encoding)
    return lambda picture: draw_terminal(picture, depth=depth, theme=theme, glyphs=glyphs)


def run(head: str, frames: Sequence[Frame], at: int = 0) -> None:
    """Show the frames until the user quits. Call it only if `can_run`.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C; the terminal is as before.
    """
    draw = painter(sys.stdout.encoding, is_terminal=True)
    place, shown, due = Place(len(frames), at), None, 0.0
    with _own_screen(sys.stdin.fileno()):
        while True:
            size = _size()
            if shown != (place, size):
                _write(render(head, frames, place, size, draw))
                shown = (place, size)
            seconds = min(_RESIZE_SECONDS, max(0.0, due - time.monotonic())) if place.playing else _RESIZE_SECONDS
            for key in read_keys(_typed(sys.stdin.fileno(), seconds)):
                if key is Key.QUIT:
                    return
                place = place.press(key)
                due = time.monotonic() + 1 / FRAMES_PER_SECOND[place.speed]
            if place.playing and time.monotonic() >= due:
                place = place.tick()
                due += 1 / FRAMES_PER_SECOND[place.speed]


def _size() -> tuple[int, int]:
    """Return the columns and lines of the terminal as they are now; ``shutil`` would prefer ``COLUMNS``."""
    columns, lines = os.get_terminal_size(sys.stdout.fileno())
    return columns or 80, lines or 24  # 0 where nobody has told the terminal its size


def _typed(descriptor: int, seconds: float) -> bytes:
    """Return what was typed within some seconds; Ctrl-D if the terminal has gone."""
    if not select.select([descriptor], [], [], seconds)[0]:
        return b""
    typed = os.read(descriptor, 1024) or b"\x04"
    while typed.endswith((b"\x1b", b"\x1b[", b"\x1bO")) and select.select([descriptor], [], [], _ESCAPE_SECONDS)[0]:
        typed += os.read(descriptor, 1024)
    return typed


@contextlib.contextmanager
def _own_screen(descriptor: int) -> Iterator[None]:
    """Switch to the terminal's second screen and to single keys; undo both, however the block ends.

    Ctrl-C still interrupts. Ctrl-Z has no effect, because a stopped program would leave the terminal as it is. A
    signal that ends the program, such as SIGTERM, becomes a SystemExit, so that it undoes both as well.
    """
    before = termios.tcgetattr(descriptor)
    changed = termios.tcgetattr(descriptor)  # not a copy of `before`: both would have the same list of characters
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    changed[6][termios.VSUSP] = b"\x00"
    handlers = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
        _print("\x1b[?1049h\x1b[?25l\x1b[2J")
        yield
    finally:
        with contextlib.suppress(OSError):  # a terminal that has gone
            _print("\x1b[?25h\x1b[?1049l")
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _write(lines: list[str]) -> None:
    # Each line is cleared before it is written: after a full line the cursor is still on its last character.
    _print("\x1b[H" + "\r\n".join(f"\x1b[2K{line}" for line in lines))


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
