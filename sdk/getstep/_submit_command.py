"""The command ``getstep submit``: sends a program to the host, which builds it, tries it and plays it.

It logs in to the team's area of the live page as a browser does: the token signs a nonce, and never travels.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import secrets
import time
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ._errors import NotGetstep, NotProved, Refused, SetupError, Unreachable
from .client import saved_login
from .client.discovery import find_one
from .client.settings import PAGE_PORT, Address, Login, find_address, find_login, host_is_given
from .programs.folder import is_made_by_tools
from .text import Console, escape_control_chars
from .wire import sign_page_login, verify_server

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

_ANSWER_BYTES = 4_000_000
_TIMEOUT_SECONDS = 20.0
_POLL_SECONDS = 0.5
_HINT = "The address of the live page is on the slip from the host; --port is the port of that page."
_LOST_SECONDS = 60.0  # how long the result is asked for while the page does not answer: it may be started again


def submit(options: argparse.Namespace, console: Console) -> int:
    """Run ``getstep submit``.

    Raises:
        GetstepError: the program cannot be read, or the server does not take it.
    """
    name, data = _packed(Path(options.program))
    team = find_login(options.team, options.token, options.token_file)
    page = _Page(_address(options, console))
    page.log_in(team, console)
    given = {"as": options.convention, "entry": options.entry}
    query = {"name": name, **{key: value for key, value in given.items() if value}}
    page.send(f"/own/program?{urlencode(query)}", data)
    console.say(f"Sent {name}: {_size(len(data))}.")
    return _follow(page, console)


def _address(options: argparse.Namespace, console: Console) -> Address:
    """Return the address of the live page: of the given host, of the saved one, or of one that is found."""
    if not host_is_given(options.host) and saved_login.load() is None:
        console.say("Looking for contests on this network ...")
        found = find_one(console)
        if found is not None:
            return find_address(found.addresses[0].host, options.port or PAGE_PORT)
    return find_address(options.host, options.port or PAGE_PORT)


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


# --- the page ---------------------------------------------------------------------------------------------------


class _Page:
    """The team's area of a live page."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._cookie = ""
        self._has_answered = False

    def log_in(self, team: Login, console: Console) -> None:
        """Log in.

        Raises:
            GetstepError: the page cannot be reached, or does not accept the login.
            NotProved: the page does not prove that it knows the token; nothing but the login was sent.
        """
        console.say(f"Logging in at http://{self._address} ...")
        nonce, mine = self.get("/own/nonce.json").get("nonce"), secrets.token_hex(16)
        if not isinstance(nonce, str):
            raise self._strange()
        form = {
            "team": team.team,
            "nonce": nonce,
            "mac": sign_page_login(team.token, nonce),
            "client_nonce": mine,
        }
        answer = self.send(
            "/own/login", urlencode(form).encode(), **{"Content-Type": "application/x-www-form-urlencoded"}
        )
        proof = answer.get("proof")
        if not isinstance(proof, str) or not verify_server(team.token, nonce, mine, proof):
            raise NotProved(
                f"http://{self._address} does not prove that it knows your token, so your program was not sent."
            )

    def get(self, target: str) -> dict[str, Any]:
        """Return a document of the page."""
        return self._ask("GET", target, b"")

    def latest(self) -> dict[str, Any]:
        """Return the state of the team's latest program. The page is asked again for a minute if it is away.

        Raises:
            GetstepError: it does not answer, or does not know the program: it was started again.
        """
        until = time.monotonic() + _LOST_SECONDS
        while True:
            try:
                latest = self.get("/own/program.json").get("latest")
                break
            except Unreachable:
                if time.monotonic() > until:
                    raise
            time.sleep(_POLL_SECONDS)
        if not isinstance(latest, dict):
            raise Refused("lost", "The page was started again, and the result is not known: submit it again.")
        return latest

    def send(self, target: str, data: bytes, **headers: str) -> dict[str, Any]:
        """Send data, and return the answer."""
        return self._ask("POST", target, data, **headers)

    def _ask(self, method: str, target: str, data: bytes, **headers: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self._address.host, self._address.port, timeout=_TIMEOUT_SECONDS)
        if self._cookie:
            headers["Cookie"] = self._cookie
        try:
            connection.request(method, target, data or None, headers)
            answer = connection.getresponse()
            body, cookie = answer.read(_ANSWER_BYTES), answer.getheader("Set-Cookie", "")
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            if self._has_answered:  # the address is right; the program may be stored if only the answer is lost
                raise Unreachable(
                    f"The server has stopped, or cannot be reached any more: {reason}. It has not said that your"
                    " program is stored: submit it again when the server runs."
                ) from None
            raise Unreachable(
                f"The live page at http://{self._address} cannot be reached: {reason}.\n{_HINT}"
            ) from None
        except http.client.HTTPException:  # its text may be whatever the other side has sent
            raise NotGetstep(f"{self._address} is not a web page; bots use another port.\n{_HINT}") from None
        finally:
            connection.close()
        self._has_answered = True
        self._cookie = cookie.partition(";")[0] or self._cookie
        if answer.status >= 400:
            raise self._refusal(answer.status, body)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self._strange()
        return found

    def _refusal(self, status: int, body: bytes) -> Exception:
        text = body.decode("utf-8", "replace").strip()
        try:
            found = json.loads(text)
            text = found["problem"] if isinstance(found, dict) and isinstance(found.get("problem"), str) else text
        except ValueError:
            text = text.partition(": ")[2] or text  # "403 Forbidden: the reason"
        if status == 404 or not text:
            return self._strange()
        return Refused(str(status), f"{escape_control_chars(text[:1000])}.".replace("..", "."))

    def _strange(self) -> NotGetstep:
        return NotGetstep(f"http://{self._address} is not the live page of a getstep contest.\n{_HINT}")


def _follow(page: _Page, console: Console) -> int:
    """Print the progress until there is a result, and return the exit code."""
    printed, place = 0, ""
    while True:
        latest = page.latest()
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
        time.sleep(_POLL_SECONDS)


def _lines(latest: dict[str, Any], name: str) -> list[str]:
    lines = latest.get(name)
    return [escape_control_chars(str(line)) for line in lines] if isinstance(lines, list) else []
