"""The command ``getstep submit``: sends a program to the host, which builds it, tries it and plays it.

It logs in to the team's area of the live page; see `client.own_area`.
"""

from __future__ import annotations

import argparse
import io
import time
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ._errors import Refused, SetupError
from .client.own_area import POLL_SECONDS, OwnArea, page_address
from .client.settings import find_login
from .programs.folder import is_made_by_tools
from .text import Console, escape_control_chars

SUBMIT_HELP = """\
Send your program to the host, which then plays it in your team's place: your computer can be off. The host must
have allowed it. The server compiles the program, plays a trial game with it, and says here what is wrong, or
which version it has stored. From your team's next match on, the new version plays.

A program is one file, such as my_bot.py, a folder, or a zip or tar.gz archive. If a folder has several programs,
--entry names the file that starts the right one. A folder needs a file program.toml if it is not clear how to build
and run it; docs/contestant.md describes it. It may have 10 MB. Tools' own files, such as .git, are left out.

examples:
  getstep submit my_bot.py
  getstep submit my_bot/                        a folder
  getstep submit my_repository/ --entry src/bot.cpp
  getstep submit Linker.java --as linkage
  getstep submit my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt

exit codes: 0 stored, 1 refused or failed, 2 wrong usage or file, 130 stopped by Ctrl-C"""

MAX_BYTES = 10_000_000
"""The size of a program, as the server accepts it."""


def submit(options: argparse.Namespace, console: Console) -> int:
    """Run ``getstep submit``.

    Raises:
        GetstepError: the program cannot be read, or the server does not take it.
    """
    name, data = _packed(Path(options.program))
    team = find_login(options.team, options.token, options.token_file)
    page = OwnArea(
        page_address(options, console),
        not_sent="your program was not sent",
        unsure="It has not said that your program is stored: submit it again when the server runs.",
    )
    page.log_in(team, console)
    given = {"as": options.convention, "entry": options.entry}
    query = {"name": name, **{key: value for key, value in given.items() if value}}
    page.send(f"/own/program?{urlencode(query)}", data)
    console.say(f"Sent {name}: {_size(len(data))}.")
    return _follow(page, console)


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} byte{'s' if count != 1 else ''}"
    return f"{count / 1e6:.1f} MB" if count >= 10**6 else f"{count / 1e3:.1f} kB"


# --- the program ------------------------------------------------------------------------------------------------


def _packed(path: Path) -> tuple[str, bytes]:
    """Return the name and the content of a file, or of a zip archive with a folder.

    Raises:
        SetupError: there is no such file, or it is too large.
    """
    try:
        if path.is_dir():
            name, data = f"{path.resolve().name or 'program'}.zip", _zipped(path)
        else:
            name, data = path.name, _start_of(path)
    except OSError as error:
        raise SetupError(f"{error.filename or path} cannot be read: {error.strerror or error}.") from None
    if len(data) > MAX_BYTES:
        raise SetupError(
            f"{path} is larger than {MAX_BYTES // 10**6} MB; leave out what the program does not need."
        )
    if not data:
        raise SetupError(f"{path} is empty.")
    return name, data


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _zipped(folder: Path) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if not is_made_by_tools(inside.parts) and path.is_file():
                # A time of 1970 cannot be stored in a zip archive, and the server ignores times.
                archive.writestr(zipfile.ZipInfo(inside.as_posix()), _start_of(path), zipfile.ZIP_DEFLATED)
            if memory.tell() > MAX_BYTES:
                break
    return memory.getvalue()


# --- the result -------------------------------------------------------------------------------------------------


def _follow(page: OwnArea, console: Console) -> int:
    """Print the progress until there is a result, and return the exit code."""
    printed, place = 0, ""
    while True:
        latest = page.watch("/own/program.json").get("latest")
        if not isinstance(latest, dict):
            raise Refused("lost", "The page was started again, and the result is not known: submit it again.")
        said = latest.get("said")
        if isinstance(said, int) and said > printed:
            for line in _lines(latest, "lines")[-(said - printed) :]:
                console.say(f"  {line}")
            printed = said
        state, text = latest.get("state"), "\n".join(_lines(latest, "text"))
        if state == "stored":
            console.say(f"Stored: {text}")
            return 0
        if state not in ("waiting", "working"):
            console.warn(f"Not stored, {state}: {text}", folded=True)
            return 1
        if state == "waiting" and text not in ("", place):
            console.say(f"Waiting, {text}.")
            place = text
        time.sleep(POLL_SECONDS)


def _lines(latest: dict[str, Any], name: str) -> list[str]:
    lines = latest.get(name)
    return [escape_control_chars(str(line)) for line in lines] if isinstance(lines, list) else []
