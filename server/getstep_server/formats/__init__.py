"""Formats: they make the next pairings of a tournament from its teams and current results.

A format is a pure function with options and a seed: it knows nothing of sockets, files or clocks. A new one is one
module and one line in `_CLASSES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ._format import DIGITS, Format, FormatOptions, Pairing, Played, Rating, TieBreak

_CLASSES = {
    "round_robin": ("round_robin", "RoundRobin"),
    "gauntlet": ("gauntlet", "Gauntlet"),
    "swiss": ("swiss", "Swiss"),
    "knockout": ("knockout", "Knockout"),
    "ladder": ("ladder", "Ladder"),
    "match": ("duel", "Duel"),  # its name in contest.toml and in records is older than the word of the command
    "best": ("best", "Best"),
    "arena": ("arena", "Arena"),
}
"""By the name that a format has in contest.toml: its module and its class."""


class _Formats(Mapping[str, type[Format[Any]]]):
    """Every format by its name. A format is imported on first use: all of them take 20 ms of CPU time."""

    def __getitem__(self, name: str) -> type[Format[Any]]:
        module, class_name = _CLASSES[name]
        found: type[Format[Any]] = getattr(import_module(f"getstep_server.formats.{module}"), class_name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


FORMATS: Mapping[str, type[Format[Any]]] = _Formats()

__all__ = [
    "DIGITS",
    "FORMATS",
    "Format",
    "FormatOptions",
    "Pairing",
    "Played",
    "Rating",
    "TieBreak",
]
