"""Replays: games to look at in a browser, as one html file without network.

>>> from getstep.replay import Replay, ReplayTurn, replay_data, replay_page

In: games as `Replay` and `ReplayTurn`: who played, and each turn as it is on record. Out: data for a script, or a
page, which `read_replays` reads back. It must not know records or results of practice: `getstep.local_matches` and
the server describe their games here.

`replay_data` computes the boards, and `replay_page` returns the page.
The files with the script (`board.js`, `frames.js`, `viewer.js`) are ES modules, which other pages may serve, too.
"""

from ._data import Replay, ReplayTurn, TurnKind, opening_turns, replay_data
from ._page import (
    MODULES,
    SCRIPT_FILE,
    STYLE_FILE,
    as_data_block,
    replay_page,
    script,
    source,
    style,
)
from ._read import NotAReplayError, read_replays

__all__ = [
    "MODULES",
    "SCRIPT_FILE",
    "STYLE_FILE",
    "NotAReplayError",
    "Replay",
    "ReplayTurn",
    "TurnKind",
    "as_data_block",
    "opening_turns",
    "read_replays",
    "replay_data",
    "replay_page",
    "script",
    "source",
    "style",
]
