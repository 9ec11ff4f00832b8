"""The catalogue. The number of a case is its place in its group: new cases go to the end, and none is removed."""

from __future__ import annotations

from ._answers import ANSWERS
from ._case import Case
from ._classics import CLASSICS
from ._floods import FLOODS
from ._frames import FRAMES, MSGPACK, OTHER_PROTOCOLS
from ._logins import LOGINS
from ._notes import NOTES

CATALOGUE: list[Case] = [*FRAMES, *OTHER_PROTOCOLS, *MSGPACK, *LOGINS, *ANSWERS, *FLOODS, *CLASSICS, *NOTES]

CASES: dict[str, Case] = {case.number: case for case in CATALOGUE}
"""All cases by number, in their order."""
