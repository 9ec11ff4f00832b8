"""Play in a getstep bot contest.

>>> import getstep
>>> def get_step(board, is_black):
...     return [(2, 2), (2, 3)]
>>> getstep.play(get_step, team=7, token="kq3m-x7fd-29pt", host="192.168.1.10")  # doctest: +SKIP
"""

from ._client import play
from ._errors import BotError, GetstepError, Refused, SetupError, Unreachable
from ._match import Result
from ._turn import Turn
from ._version import __version__

__all__ = [
    "BotError",
    "GetstepError",
    "Refused",
    "Result",
    "SetupError",
    "Turn",
    "Unreachable",
    "__version__",
    "play",
]
