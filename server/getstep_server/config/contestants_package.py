"""The contestants' package: one wheel with everything that a contestant needs, written from the installed packages.

`getstep` needs the rules and the sample bots, which are distributions of their own. A contest on a LAN has no
package index for them, and one file is easier to hand out than three. So this wheel is `getstep` with those
packages inside, and needs nothing but msgpack. If the contest has games of other packages, it has those, too.
"""

from __future__ import annotations

import base64
import hashlib
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
_OURS = "Requires-Dist: getstep"  # the start of the lines that name the packages inside
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
    games = {event.game.name for event in contest.events}
    plugins = [plugin for plugin in GAMES.plugins() if plugin.game and plugin.name in games]
    modules = dict.fromkeys([*PACKAGES, *(plugin.module.partition(".")[0] for plugin in plugins)])
    points = [f"{plugin.name} = {plugin.value}" for plugin in plugins]
    record = f"{_DIST_INFO}/RECORD"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        lines = []
        for name, content in (*_sources(modules), *_metadata(points)):
            wheel.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
            lines.append(f"{name},sha256={_digest(content)},{len(content)}\n")
        wheel.writestr(zipfile.ZipInfo(record, _EPOCH), "".join([*lines, f"{record},,\n"]), zipfile.ZIP_DEFLATED)
    return path


def _sources(modules: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of modules and packages, by their paths in the wheel."""
    for module in modules:
        spec = find_spec(module)
        origin = Path(spec.origin) if spec and spec.origin else Path()
        paths = sorted(origin.parent.rglob("*")) if origin.name == "__init__.py" else [origin]
        top = origin.parent.parent if origin.name == "__init__.py" else origin.parent
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(top).as_posix(), path.read_bytes()
    if not (_INSTALLED / "languages" / PACKED).exists():  # a checkout, where they are in folders of their own
        yield f"getstep/languages/{PACKED}", packed()


def _metadata(points: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that make a zip file a wheel, but for the list of all files."""
    installed = distribution("getstep")
    about = (installed.read_text("METADATA") or "").splitlines(keepends=True)
    kept = "".join(line for line in about if not line.startswith(_OURS))
    yield f"{_DIST_INFO}/METADATA", kept.encode()
    yield f"{_DIST_INFO}/WHEEL", _WHEEL.encode()
    yield f"{_DIST_INFO}/licenses/LICENSE", (installed.read_text("licenses/LICENSE") or "").encode()
    commands = installed.read_text("entry_points.txt") or ""
    games = "\n".join(["", f"[{GROUP}]", *points, ""]) if points else ""
    yield f"{_DIST_INFO}/entry_points.txt", f"{commands}{games}".encode()


def _digest(content: bytes) -> str:
    """Return the hash of a file as a wheel's RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
