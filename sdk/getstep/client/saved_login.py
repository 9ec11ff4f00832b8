"""The login that `getstep login` keeps in a file of the user, and the latest contact with that host.

The library platformdirs knows more folders than are needed here, and contestants install this package from one file
without a network. So the three folders are written out below.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from getstep._errors import SetupError
from getstep._version import FORMAT, NEEDS, newer_format
from getstep.wire import MAX_TEAM

from .tls import parse_tls

FILE_VARIABLE = "GETSTEP_LOGIN_FILE"
"""The variable with another place for the file: for an account that several teams share."""

_MAX_BYTES = 10_000
"""A saved login has some 300 bytes; a larger file is something else."""


@dataclass(frozen=True)
class Seen:
    """The latest contact with a host: the contest's name, the Unix time in seconds, and True if it was over."""

    contest: str
    at: float
    over: bool = False


@dataclass(frozen=True)
class SavedLogin:
    """A host, a team and its token, what was last seen of that host, and its TLS setting (`settings.Address`)."""

    host: str
    port: int
    team: int
    token: str = field(repr=False)
    seen: Seen | None = None
    tls: str = ""


def login_file(
    platform: str = sys.platform, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Path:
    """Return the path of the file, in the folder that the system has for a user's settings."""
    if environ.get(FILE_VARIABLE):
        return Path(environ[FILE_VARIABLE])
    home = home or Path.home()
    if platform == "win32":
        folder = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "getstep" / "login.json"


def load() -> SavedLogin | None:
    """Return the saved login; None if there is none.

    Raises:
        SetupError: there is a file, but it cannot be read, or is not a saved login.
    """
    try:
        path = login_file()
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home folder
        raise SetupError(f"The saved login cannot be read: {error}.\n{_AGAIN}") from error
    try:
        return _parse(json.loads(data))  # cut off, and so not JSON, if it is too long
    except (AttributeError, ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError) as error:
        raise SetupError(f"{path}: not a saved login ({error!r:.150}).\n{_AGAIN}") from error


_AGAIN = "Type getstep login again, or getstep logout to remove it."


def _parse(data: Any) -> SavedLogin:
    if newer := newer_format(data):
        raise ValueError(newer)
    host, port, team, token = (data[name] for name in ("host", "port", "team", "token"))
    texts_ok = all(type(text) is str and text and text.isprintable() for text in (host, token))
    if not texts_ok or type(port) is not int or type(team) is not int:
        raise ValueError("a value of the wrong kind")
    if not (0 < port < 65536 and 0 <= team <= MAX_TEAM):
        raise ValueError(f"port {port}, team {team}")
    return SavedLogin(host, port, team, token, _parse_seen(data.get("seen")), _parse_tls(data.get("tls")))


def _parse_tls(data: Any) -> str:
    try:
        return parse_tls(data)
    except SetupError as error:
        raise ValueError("a TLS setting of another kind") from error


def _parse_seen(data: Any) -> Seen | None:
    if data is None:
        return None
    seen = Seen(str(data["contest"]), float(data["at"]), bool(data["over"]))
    time.localtime(seen.at)  # an error for an impossible time here, not when it is shown
    return seen


def save(saved: SavedLogin) -> Path:
    """Write the file in one step, readable by this user only, and return its path.

    Raises:
        SetupError: it cannot be written.
    """
    try:
        path = login_file()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = {"format": FORMAT, "needs": NEEDS, **asdict(saved)}
        _replace(path, json.dumps(data, indent=1).encode())
    except (OSError, RuntimeError) as error:
        raise SetupError(f"The login cannot be saved: {error}.") from error
    return path


def _replace(path: Path, data: bytes) -> None:
    # mkstemp makes the file with mode 0600, before anything is in it. On Windows a user's settings folder is
    # closed to other users, and its files inherit that.
    number, name = tempfile.mkstemp(dir=path.parent, prefix=".login-")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave an empty file under the new name
        Path(name).replace(path)
    except BaseException:  # Ctrl-C, too: the file has the token in it
        with suppress(OSError):
            Path(name).unlink()
        raise


def forget() -> Path | None:
    """Remove the file. Return its path; None if there was none.

    Raises:
        SetupError: it cannot be removed.
    """
    try:
        path = login_file()
        path.unlink()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        raise SetupError(f"The saved login cannot be removed: {error}.") from error
    return path


def saved_for(host: str, port: int) -> SavedLogin | None:
    """Return the saved login if it is for this host; None if not, also if the file cannot be read."""
    try:
        saved = load()
    except SetupError:
        return None
    return saved if saved is not None and (saved.host, saved.port) == (host, port) else None


def note_seen(host: str, port: int, team: int, contest: str, *, over: bool = False) -> None:
    """Keep what was seen of a host, if it is the saved one. A file that cannot be written stays as it is."""
    saved = saved_for(host, port)
    if saved is not None and saved.team == team:
        with suppress(SetupError):
            save(replace(saved, seen=Seen(contest, time.time(), over)))


def note_moved(old: SavedLogin, host: str, port: int) -> bool:
    """Keep the new address of a host that has proved itself there. Return False if the login is no longer the saved
    one, or the file cannot be written."""
    saved = saved_for(old.host, old.port)
    if saved is None or (saved.team, saved.token) != (old.team, old.token):
        return False
    try:
        save(replace(saved, host=host, port=port))
    except SetupError:
        return False
    return True


def absence(host: str, port: int) -> str:
    """Return what it means that nothing listens at an address, by what was last seen there."""
    saved = saved_for(host, port)
    if saved is None or saved.seen is None:
        return "nothing listens there; the server is not running yet, or the port is wrong"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(saved.seen.at))
    if saved.seen.over:
        return f"nothing listens there any more; {saved.seen.contest!r} was over when it was last seen, {when}"
    return (
        f"nothing listens there now; {saved.seen.contest!r} was there on {when} and was not over."
        " The host has stopped it for now, or has a new address"
    )
