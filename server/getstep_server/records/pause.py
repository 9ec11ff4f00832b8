"""A pause of a match, as the judge gets it: the decisions of the host are in `decision`."""

from __future__ import annotations

from msgspec import Struct


class Pause(Struct, frozen=True):
    """A pause of a match: why, and if an open question stops at once and not only at the turn's end."""

    why: str
    at_once: bool = False
