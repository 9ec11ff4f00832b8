"""Play in a getstep bot contest.

>>> import getstep
>>> def get_step(board, is_black):
...     return [(2, 2), (2, 3)]
>>> getstep.play(get_step, team=7, token="kq3m-x7fd-29pt", host="192.168.1.10")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import _program  # noqa: F401 - it notes the folder and the process before the bot changes them
from ._version import __version__

if TYPE_CHECKING:
    from ._errors import BotError, GetstepError, Refused, SetupError, Unreachable
    from .client.client import play
    from .client.match import Result
    from .local_matches import practice
    from .notes import draw, estimate, say, tag
    from .turn import Turn, plays

__all__ = [
    "BotError",
    "GetstepError",
    "Refused",
    "Result",
    "SetupError",
    "Turn",
    "Unreachable",
    "__version__",
    "draw",
    "estimate",
    "play",
    "plays",
    "practice",
    "say",
    "tag",
]

_MODULES = {
    "BotError": "_errors",
    "GetstepError": "_errors",
    "Refused": "_errors",
    "Result": "client.match",
    "SetupError": "_errors",
    "Turn": "turn",
    "Unreachable": "_errors",
    "draw": "notes",
    "estimate": "notes",
    "play": "client.client",
    "plays": "turn",
    "practice": "local_matches",
    "say": "notes",
    "tag": "notes",
}
"""The module of each public name. It is imported on first use (PEP 562): `getstep.wire` must not load the client.
The client takes 25 ms of CPU time, and the server's commands import the wire for its limits alone."""


if not TYPE_CHECKING:  # a type checker must still report a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"getstep.{_MODULES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
