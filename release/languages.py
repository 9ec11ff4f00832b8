"""Writes an archive for each SDK language: its file, a first bot for each game, its page and the license.

``python -m release.languages SOURCE OUT``, in an environment with the package `getstep` of the release.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from getstep import __version__
from getstep.languages import LANGUAGES, Language, starter
from getstep_engines import GAMES

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip file: the same content gives the same file


def files(language: Language, source: Path) -> dict[str, bytes]:
    """Return the files of a language's archive by name.

    Args:
        language: one of `LANGUAGES`.
        source: a checkout, which has the page and the license.
    """
    games = language.games()
    bots = {**{game: [game] for game in games}, "several": games}
    return {
        **dict(language.sdk_files()),
        **{
            f"{stem}{language.suffix}": starter(language, [GAMES[name] for name in played], stem).encode()
            for stem, played in bots.items()
        },
        f"{language.name}.md": (source / "docs" / f"{language.name}.md").read_bytes(),
        "LICENSE": (source / "LICENSE").read_bytes(),
    }


def main(source: Path, out: Path) -> None:
    """Write the archives into the folder ``out``."""
    for language in LANGUAGES.values():
        top = f"getstep-{language.name}-{__version__}"
        with zipfile.ZipFile(out / f"{top}.zip", "w") as archive:
            for name, content in files(language, source).items():
                archive.writestr(zipfile.ZipInfo(f"{top}/{name}", _EPOCH), content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
