"""Formats: which pairings a tournament has next, given its teams and the results so far.

A format is a pure function with options and a seed: it knows nothing of sockets, files or clocks. A new one is one
module and one line in `FORMATS`.
"""

from __future__ import annotations

from typing import Any

from ._format import DIGITS, Format, FormatOptions, Pairing, Played, TieBreak
from .gauntlet import Gauntlet
from .knockout import Knockout
from .ladder import Ladder
from .match import MatchOptions, MatchPlay, PairOutcomes
from .round_robin import RoundRobin, berger
from .swiss import Swiss

FORMATS: dict[str, type[Format[Any]]] = {
    format_.name: format_ for format_ in (RoundRobin, Gauntlet, Swiss, Knockout, Ladder, MatchPlay)
}
"""Every format by the name it has in contest.toml."""

__all__ = [
    "DIGITS",
    "FORMATS",
    "Format",
    "FormatOptions",
    "Gauntlet",
    "Knockout",
    "Ladder",
    "MatchOptions",
    "MatchPlay",
    "PairOutcomes",
    "Pairing",
    "Played",
    "RoundRobin",
    "Swiss",
    "TieBreak",
    "berger",
]
