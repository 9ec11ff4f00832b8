"""The replay page: data, script and style as one html file without network, or with script and style beside it.

Contestants choose names and cause error texts. They stand in the page only as JSON in a data block, in which ``<``
is escaped, and the script shows them with ``textContent``. A Content-Security-Policy allows this page's own script
and style and nothing else, so that a mistake here would still run no foreign script.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from getstep.drawing import svg_style

MODULES = ("board.js", "drawings.js", "frames.js", "sound.js", "viewer.js")
"""The ES modules of the viewer, each after those that it imports."""

SCRIPT_FILE, STYLE_FILE = "replay.js", "replay.css"
"""The names of script and style beside pages that share them."""

_START = 'mountReplay(document.getElementById("replay"), JSON.parse(document.getElementById("data").textContent));'

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
{style}
</head>
<body>
<main id="replay"><p>{title}</p><noscript><p>To see this replay, allow JavaScript.</p></noscript></main>
<script type="application/json" id="data">{data}</script>
{script}
</body>
</html>
"""


def replay_page(data: dict[str, Any], *, assets: str | None = None) -> str:
    """Return the html page of a replay.

    Args:
        data: from `replay_data`.
        assets: the relative address of a folder with `script` and `style` in the files `SCRIPT_FILE` and
            `STYLE_FILE`, such as ``"../"``, for many pages that share them; None to put both into the page.
    """
    if assets is None:
        sources = f"script-src {_hash(script())}; style-src {_hash(style())}"
        parts = {"style": f"<style>{style()}</style>", "script": f"<script>{script()}</script>"}
    else:
        folder = escape(assets)
        # file: is for a copy that is opened from a disk, where not all browsers take 'self' for the folder.
        sources = "script-src 'self' file:; style-src 'self' file:"
        parts = {
            "style": f'<link rel="stylesheet" href="{folder}{STYLE_FILE}">',
            "script": f'<script src="{folder}{SCRIPT_FILE}"></script>',
        }
    policy = f"default-src 'none'; img-src data:; {sources}; base-uri 'none'; form-action 'none'"
    return _PAGE.format(policy=policy, title=escape(data["title"]), data=as_data_block(data), **parts)


def as_data_block(data: object) -> str:
    """Return JSON in ASCII that cannot end the script element it stands in, nor begin another one."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


@cache
def script() -> str:
    """Return the viewer as one script, without comments: modules cannot be loaded from a file."""
    lines = []
    for name in MODULES:
        for line in _without_comments(source(name)).splitlines():
            if not line.startswith("import "):
                lines.append(re.sub(r"^export ", "", line))
    return "(() => {\n" + "\n".join(lines) + "\n" + _START + "\n})();\n"


@cache
def style() -> str:
    """Return the style of the page, with the colours of all pieces."""
    return source(STYLE_FILE) + svg_style()


def _without_comments(text: str) -> str:
    """Return a script as a browser needs it: without indentation and the lines that are comments."""
    lines = map(str.strip, text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith(("//", "/*", "*")))


def source(name: str) -> str:
    """Return the text of one of the `MODULES`, or of the style."""
    return files("getstep.replay").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
