"""The catalogue."""

from __future__ import annotations

from ._answers import ANSWERS
from ._case import Case
from ._classics import CLASSICS
from ._floods import FLOODS
from ._frames import FRAMES, MSGPACK, OTHER_PROTOCOLS
from ._logins import LOGINS

CASES: dict[str, Case] = {
    case.number: case for case in (*FRAMES, *OTHER_PROTOCOLS, *MSGPACK, *LOGINS, *ANSWERS, *FLOODS, *CLASSICS)
}
"""All cases by number, in their order."""
