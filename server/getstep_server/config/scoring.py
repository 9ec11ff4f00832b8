"""The scoring of an event: points for a win, a draw and a loss, and how they are added up."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Annotated, Any, Literal, TypeAlias

from getstep_server.validation import Check, Mistake, wrong

from .fields import Model


def _check_finite(value: float) -> None:
    if not isfinite(value):
        raise ValueError("a number that is not infinite")


Number = Annotated[float, Check(_check_finite)]

ScoringKind: TypeAlias = Literal["points", "signed_roots", "percentage"]


class ScoringTable(Model, frozen=True, kw_only=True):
    """``[event.scoring]``; without a ``kind``, the game and the format decide it."""

    kind: ScoringKind | None = None
    win: Number = 2
    draw: Number = 1
    loss: Number = 0

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        if {"win", "draw", "loss"} <= fields.keys() and not fields["win"] >= fields["draw"] >= fields["loss"]:
            expected = f"a value from loss, {fields['loss']:g}, to win, {fields['win']:g}"
            yield wrong(("draw",), fields["draw"], expected)


class Scoring(ScoringTable, frozen=True, kw_only=True):
    """The rule by which match results become points.

    ``kind`` is one of:

    - ``"points"``: a win ``win``, a draw ``draw``, a loss ``loss``; a bye is worth a win.
    - ``"signed_roots"``: the sum of sign(d)·√|d|, where d is a match's score difference; a bye is worth 0. It is
      the original ranking of `pseudo_tonga`.
    - ``"percentage"``: 100 × matches won / played, the rating of a ladder; a bye is not a match.
    """

    kind: ScoringKind = "points"
