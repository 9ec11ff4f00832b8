"""The scripts and looks that the pages of a contest and of practice share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from rjsmin import jsmin  # type: ignore[import-untyped]  # the package has no types

from getstep.drawing import svg_style
from getstep.replay import MODULES, STYLE_FILE, source
from getstep_engines import GAMES, look_json

from .http import JSON, Request, Response, problem
from .topics import encode

_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


def look(name: str, played: Collection[str] = ()) -> Response:
    """Return how a game looks, for the script that draws boards.

    Games that are not listed, such as those of OpenSpiel, are loaded only if they are ``played``: it takes time.
    """
    game = GAMES.get(name) if name in played or name in list(GAMES) else None
    if game is None:
        return problem(404, "there is no such game")
    return Response(encode(look_json(game)), JSON, headers=(("Cache-Control", "no-cache"),))


def static(name: str) -> Response:
    """Return a script or a style sheet."""
    text = static_files().get(name)
    if text is None:
        return problem(404, "there is no such file")
    return Response(text, _TYPES[name.rpartition(".")[2]], headers=(("Cache-Control", "no-cache"),))


@cache
def static_files() -> Mapping[str, bytes]:
    """Return the scripts and style sheets by name.

    Boards and replays are drawn by the modules of `getstep.replay`. Scripts have no comments and needless spaces.
    """
    folder = files("getstep_server.web").joinpath("static")
    texts = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.is_file()}
    texts |= {name: source(name) for name in (*MODULES, STYLE_FILE)}
    found = {name: jsmin(text) if name.endswith(".js") else text for name, text in texts.items()}
    return {
        **{name: text.encode() for name, text in found.items()},
        "board.css": svg_style().encode(),  # all colours: bots may draw in each of them
    }


def unless_known(request: Request, answer: Response) -> Response:
    """Return the response, without its body if the browser has it already."""
    if answer.status != 200 or not any(name == "Cache-Control" for name, _ in answer.headers):
        return answer
    tag = f'"{sha256(answer.body).hexdigest()[:24]}"'  # 96 bits: no two versions of a page share them
    headers = (*answer.headers, ("ETag", tag))
    if tag in re.split(r"\s*,\s*(?:W/)?", request.headers.get("if-none-match", "").removeprefix("W/")):
        return Response(b"", answer.content_type, 304, headers)
    return Response(answer.body, answer.content_type, 200, headers)
