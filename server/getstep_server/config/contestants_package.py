"""The contestants' package: one wheel with everything that a contestant needs, written from the installed packages.

`getstep` needs the rules and the sample bots, which are distributions of their own. A contest on a LAN has no
package index for them, and one file is easier to hand out than three. So this wheel is `getstep` with those
packages inside. If the contest has games of other packages, it has those, too.

The Python part of msgpack is inside as well, for machines without msgpack. So the wheel needs nothing else: one
hash, on a slip of paper, covers all that a contestant installs, and no internet is needed. Without its part in C,
msgpack takes 0.13 ms more for a question of hop (`python -m timeit`, 0.3 ms for a board of 16 by 16).
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import getstep
from getstep.languages import PACKED, packed
from getstep_engines import GAMES, GROUP

from .contest import Contest
from .packages import PACKAGES

NAME = f"getstep-{getstep.__version__}-py3-none-any.whl"
"""The file name of the contestants' package. pip requires the form of a wheel's name."""

_DIST_INFO = f"getstep-{getstep.__version__}.dist-info"
_INSIDE = ("Requires-Dist: getstep", "Requires-Dist: msgpack")
"""The starts of the lines that name the packages inside."""
_VENDORED = "getstep/_vendored"
_WHEEL = """\
Wheel-Version: 1.0
Generator: getstep-server
Root-Is-Purelib: true
Tag: py3-none-any
"""
_INSTALLED = Path(getstep.__file__).parent
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip file: the same content gives the same file


def write_contestants_package(contest: Contest) -> Path:
    """Write the contestants' package of a contest into its folder and return its path.

    Raises:
        OSError: the file cannot be written.
    """
    path = contest.folder / NAME
    path.write_bytes(contestants_package(contest))
    return path


def package_hash(contest: Contest) -> str:
    """Return the SHA-256 of the contestants' package, in hexadecimal digits."""
    return hashlib.sha256(contestants_package(contest)).hexdigest()


def contestants_package(contest: Contest) -> bytes:
    """Return the contestants' package of a contest: the same bytes each time, so that its hash is known before."""
    games = {event.game.name for event in contest.events}
    plugins = [plugin for plugin in GAMES.plugins() if plugin.game and plugin.name in games]
    modules = dict.fromkeys([*PACKAGES, *(plugin.module.partition(".")[0] for plugin in plugins)])
    points = [f"{plugin.name} = {plugin.value}" for plugin in plugins]
    record = f"{_DIST_INFO}/RECORD"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        lines = []
        for name, content in (*_sources(modules), *_msgpack(), *_metadata(points)):
            wheel.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
            lines.append(f"{name},sha256={_digest(content)},{len(content)}\n")
        wheel.writestr(zipfile.ZipInfo(record, _EPOCH), "".join([*lines, f"{record},,\n"]), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _sources(modules: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of modules and packages, by their paths in the wheel."""
    for module in modules:
        spec = find_spec(module)
        origin = Path(spec.origin) if spec and spec.origin else Path()
        # Sorted: the order in a folder differs between machines, and the hash is on the slips.
        paths = sorted(origin.parent.rglob("*")) if origin.name == "__init__.py" else [origin]
        top = origin.parent.parent if origin.name == "__init__.py" else origin.parent
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(top).as_posix(), path.read_bytes()
    if not (_INSTALLED / "languages" / PACKED).exists():  # a checkout, where they are in folders of their own
        yield f"getstep/languages/{PACKED}", packed()


def _msgpack() -> Iterator[tuple[str, bytes]]:
    """Yield the Python files of msgpack, which find each other at any place, and its license."""
    yield f"{_VENDORED}/__init__.py", b""
    # Not its compiled module: the package has to work on every system.
    for file in sorted(distribution("msgpack").files or ()):
        if file.parts[0] == "msgpack" and file.suffix == ".py":
            yield f"{_VENDORED}/{file.as_posix()}", file.read_binary()
        elif file.name == "COPYING":
            yield f"{_VENDORED}/msgpack/COPYING", file.read_binary()


def _metadata(points: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that make a zip file a wheel, but for the list of all files."""
    installed = distribution("getstep")
    about = (installed.read_text("METADATA") or "").splitlines(keepends=True)
    kept = "".join(line for line in about if not line.startswith(_INSIDE))
    yield f"{_DIST_INFO}/METADATA", kept.encode()
    yield f"{_DIST_INFO}/WHEEL", _WHEEL.encode()
    yield f"{_DIST_INFO}/licenses/LICENSE", (installed.read_text("licenses/LICENSE") or "").encode()
    commands = installed.read_text("entry_points.txt") or ""
    games = "\n".join(["", f"[{GROUP}]", *points, ""]) if points else ""
    yield f"{_DIST_INFO}/entry_points.txt", f"{commands}{games}".encode()


def _digest(content: bytes) -> str:
    """Return the hash of a file as a wheel's RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
