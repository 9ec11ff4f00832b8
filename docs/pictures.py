"""Draws the pictures of the documents: ``python docs/pictures.py``, in the environment that ``make test`` sets up.

It runs a real contest on a terminal of its own, and keeps what the terminal shows at some point of it. So the
pictures are what a host sees. Times and results differ from one drawing to the next. Linux or macOS; 30 s.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import tomllib
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURES = Path(__file__).with_name("pictures")
WIDTH, HEIGHT = 84, 25
TEAMS = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy")
SHOWN_AT = 0.6
"""The share of matches that are over in the picture: results, a table and matches in progress are all there."""

REDRAWN = re.compile(r"\x1b\[H|\x1b\[\?1049l")
"""The control codes that rich writes before it draws the live view again, and at its end."""

SECONDS_A_MOVE = 0.01
"""So that matches last seconds, and the live view, drawn four times a second, shows some in progress."""

BOT = """\
import os, time
os.environ["DOUBT"] = "{doubt}"
from getstep_bots import hesitant

def get_step(board, is_black, turn):
    time.sleep({seconds})
    return hesitant.get_step(board, is_black, turn)
"""

BACKGROUND, TEXT = (22, 27, 34), (201, 209, 217)
"""Contrast 11:1."""

THEME = TerminalTheme(BACKGROUND, TEXT, [TEXT] * 8)
"""Our terminal output uses the 256 colours, whose values are fixed, and none of the 16 that a theme chooses."""

SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A host's terminal during a contest</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
    font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>
<g transform="translate({terminal_x}, 24)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own, without its window, and with the reader's fonts: a picture in a README may load none."""


def draw_run() -> None:
    """Draw what the host sees while a contest runs."""
    with tempfile.TemporaryDirectory() as folder:
        frames = played(Path(folder) / "autumn")
    save("run", next(frame for frame in frames if share_done(frame) >= SHOWN_AT))


def played(contest: Path) -> list[str]:
    """Play a contest of `TEAMS` and return all that its terminal showed, picture by picture."""
    server("init", str(contest), "--name", "Autumn contest", "--game", "hop")
    server("teams", "add", str(contest), *TEAMS)
    teams = tomllib.loads((contest / "teams.toml").read_text(encoding="utf-8"))["team"]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    port = free_port()
    where = ["--host", "127.0.0.1", "--port", port]
    command = [sys.executable, "-m", "getstep_server", "run", str(contest), "--no-web", *where]
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment):
        os.close(slave)
        bots = [play(contest, team, port, doubt=place / len(teams)) for place, team in enumerate(teams)]
        shown = read_all(master)
    for bot in bots:
        bot.wait()
    return REDRAWN.split(shown.replace("\r\n", "\n"))


def server(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "getstep_server", *arguments], check=True, stdout=subprocess.DEVNULL)


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def play(contest: Path, team: dict[str, Any], port: str, *, doubt: float) -> subprocess.Popen[bytes]:
    """Start the bot of a team, which makes a random move in a share of its turns: ``doubt``."""
    bot = contest / f"bot_{team['id']}.py"
    bot.write_text(BOT.format(doubt=doubt, seconds=SECONDS_A_MOVE), encoding="utf-8")
    login = ["--team", str(team["id"]), "--token", team["token"], "--port", port]
    command = [sys.executable, "-m", "getstep", "play", str(bot), *login]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_all(master: int) -> str:
    """Return the output on a terminal until no program has it open."""
    data = bytearray()
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that it is closed
            piece = b""
        if not piece:
            return data.decode(errors="replace")
        data += piece


def share_done(frame: str) -> float:
    """Return the share of matches that are over in a picture; 0 if it does not say."""
    found = re.search(r"^(\d+)/(\d+) matches", frame, re.MULTILINE)
    return int(found[1]) / int(found[2]) if found else 0.0


def save(name: str, frame: str) -> None:
    """Write a terminal's picture as SVG, with all its colours."""
    console = Console(record=True, width=WIDTH, file=StringIO(), legacy_windows=False)
    console.print(Text.from_ansi(frame.strip("\n")), no_wrap=True, overflow="ignore", crop=False)
    path = PICTURES / f"{name}.svg"
    path.parent.mkdir(exist_ok=True)
    console.save_svg(str(path), theme=THEME, code_format=SVG, font_aspect_ratio=0.6, unique_id="terminal")
    print(path)


if __name__ == "__main__":
    draw_run()
