"""Hand-outs on the page: documents, starter bots, and the contestants' package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from getstep.conventions import CONVENTIONS
from getstep.languages import LANGUAGES
from getstep.languages import starter as language_starter
from getstep.starter import one_game, several_games
from getstep_engines import GAMES

if TYPE_CHECKING:
    from markdown_it.token import Token

DOCUMENTS = {
    "rules": "Rules",
    "protocol": "Protocol",
    "proofs": "Proofs, trust and TLS",
    "conversations": "Recorded conversations",
    "classic": "The classic wire",
    "guide": "A good bot in an hour",
    "api": "The HTTP API",
    **{language.name: f"A bot in {language.title}" for language in LANGUAGES.values()},
    "programs": "Programs of the original contests",
    **{name: f"Programs for {name}" for name in CONVENTIONS},
}
"""The documents by name, with their titles."""

_LONG_CODE = 24
"""The characters that a name or a short example in a table has at most."""

_CHECKOUT = Path(__file__).parents[3]  # where the examples are if the server is not installed from a wheel
_EXAMPLE = re.compile(r"bots/programs/(\w+)/([\w.]+)$")


# --- documents --------------------------------------------------------------------------------------------------


@cache
def document(name: str) -> str:
    """Return one of the `DOCUMENTS` as HTML.

    The text is the project's own. Raw HTML in it would be shown as text.
    """
    from markdown_it import MarkdownIt  # here: most processes show no document, and it takes 30 ms to import

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_source(name))
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", slug(inline.content))
    for token in _all(tokens):
        if token.type == "link_open":
            token.attrSet("href", _link(str(token.attrGet("href") or "")))
        if token.type == "code_inline" and len(token.content) > _LONG_CODE:
            token.attrSet("class", "long")  # a message, which is broken in a table
        if token.type == "table_open":
            token.attrSet("tabindex", "0")  # it scrolls on a phone, with the keyboard too
    text = str(parser.renderer.render(tokens, parser.options, {}))
    return text.replace("<pre>", '<pre tabindex="0">')


def _source(name: str) -> str:
    """Return a document's text: from the installed package, or from the checkout that this is."""
    packed = files("getstep_server.web").joinpath("documents", f"{name}.md")
    if packed.is_file():
        return packed.read_text(encoding="utf-8")
    folders = (_CHECKOUT, _CHECKOUT / "docs", _CHECKOUT / "docs" / "programs")
    path = next(path for folder in folders if (path := folder / f"{name}.md").is_file())
    return path.read_text(encoding="utf-8")


def _all(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _link(target: str) -> str:
    """Return the address of a link here: other documents of the project are not all on the page."""
    path, hash_, anchor = target.partition("#")
    name = path.rpartition("/")[2].removesuffix(".md")
    if not path or target.startswith(("http://", "https://")):
        return target
    if found := _EXAMPLE.search(path):
        return f"/examples/{found[1]}/{found[2]}"
    return f"/{name}{hash_}{anchor}" if name in DOCUMENTS else "/start"


# --- starter bots -----------------------------------------------------------------------------------------------


SEVERAL = "several"
"""The stem of the first bot for all games of a contest."""


def starter_stems(games: Sequence[str]) -> list[str]:
    """Return the names of the files with first bots for a contest's games, without the ending."""
    return [*games, SEVERAL] if len(games) > 1 else list(games)


def starter(stem: str, games: Sequence[str]) -> bytes | None:
    """Return the first bot that ``getstep new`` writes for a game, or for all of ``games``; None if none is."""
    if stem == SEVERAL:
        return several_games([GAMES[game] for game in games]).encode()
    found = GAMES.get(stem) if stem in games or stem in list(GAMES) else None
    return None if found is None else one_game(found).encode()


def language_file(name: str, file: str, games: Sequence[str]) -> bytes | None:
    """Return a file of a language: of its SDK, or its first bot for a game or for all of ``games``.

    None if there is no such file.
    """
    language = LANGUAGES.get(name)
    if language is None:
        return None
    if file in language.files:
        return (language.folder / file).read_bytes()
    stem = file.removesuffix(language.suffix)
    played = language.games_of(games) if stem == SEVERAL else [stem]
    if not played or not set(played) <= set(language.games()):
        return None
    return language_starter(language, [GAMES[game] for game in played], stem).encode()


def example_names(convention: str) -> list[str]:
    """Return the files with our programs for a convention, one for each language."""
    return sorted(file.name for file in _examples(convention).iterdir() if file.is_file())


def example(folder: str, name: str) -> bytes | None:
    """Return one of our programs for the conventions; None if there is no such file."""
    convention = folder.replace("_", "-")
    if convention not in CONVENTIONS or name not in example_names(convention):
        return None
    return _examples(convention).joinpath(name).read_bytes()


def _examples(convention: str) -> Traversable:
    """Return the folder of our programs for a convention: in the installed package, or in this checkout."""
    packed = files("getstep_server.web").joinpath("examples")
    folder: Traversable = packed if packed.is_dir() else _CHECKOUT / "bots" / "programs"
    return folder.joinpath(convention.replace("-", "_"))


# --- the contestants' package -----------------------------------------------------------------------------------


class ServedPackage:
    """The contestants' package in the contest's folder, which the host's commands write and replace."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[tuple[int, int], str] | None = None

    def content(self) -> bytes | None:
        """Return the package; None if the host has not written it."""
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def digest(self) -> str | None:
        """Return the package's SHA-256, computed once for each version of the file; None if there is none."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        key = (stat.st_size, stat.st_mtime_ns)
        if self._known is None or self._known[0] != key:
            content = self.content()
            if content is None:
                return None
            self._known = key, sha256(content).hexdigest()
        return self._known[1]

    def requirements(self, page: str) -> str | None:
        """Return the requirements file for ``pip install -r``, which installs the package from this page.

        Args:
            page: its address, such as ``http://192.168.1.10:8080``.

        Returns:
            None if the host has not written the package.
        """
        digest = self.digest()
        return None if digest is None else f"getstep @ {page}/wheels/{self._path.name}#sha256={digest}\n"
