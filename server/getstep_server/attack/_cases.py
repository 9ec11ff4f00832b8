"""The catalogue. A case's place in its group is its number: new ones come at the end, and none is taken out."""

from __future__ import annotations

from ._answers import ANSWERS
from ._case import Case
from ._classics import CLASSICS
from ._floods import FLOODS
from ._frames import FRAMES, MSGPACK, OTHER_PROTOCOLS
from ._logins import LOGINS

CATALOGUE: list[Case] = [*FRAMES, *OTHER_PROTOCOLS, *MSGPACK, *LOGINS, *ANSWERS, *FLOODS, *CLASSICS]

CASES: dict[str, Case] = {case.number: case for case in CATALOGUE}
"""All cases by number, in their order."""
