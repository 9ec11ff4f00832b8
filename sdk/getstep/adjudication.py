"""Matches that the estimates of both bots end: the options of commands, and how often that would be wrong.

In: options of a command; the turns of matches that were played to their end, with notes, and their winners. Out: an
`Agreement`; counts, and the lines about them. It must not know who plays the matches, or how.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from getstep_engines import Player

from ._errors import SetupError
from .referee.agreement import MEANINGS, MOVES, Agreement, Estimates
from .sprt import share_text

_METAVARS = {"resign": "X", "draw": "X", "agree": "N", "draw_from": "N"}
_DEFAULTS = {"agree": f" (default: {MOVES})", "draw_from": " (default: 0)"}


def add_agreement(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("end games early, by the estimates that both bots note")
    for name, meaning in MEANINGS.items():
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=float if name in ("resign", "draw") else int,
            metavar=_METAVARS[name],
            help=meaning + _DEFAULTS.get(name, ""),
        )
    group.add_argument(
        "--play-on",
        action="store_true",
        help="end no game early, and say how often the result would have been wrong",
    )


def agreement_settings(options: argparse.Namespace) -> dict[str, float]:
    """Return the options that were given, by the names of the fields of `Agreement`; empty if there is none.

    Raises:
        SetupError: an option needs another one.
    """
    given = {name: value for name in MEANINGS if (value := getattr(options, name)) is not None}
    if given.keys() & {"resign", "draw"}:
        if "draw_from" in given and "draw" not in given:
            raise SetupError("--draw-from is for --draw: give --draw as well, such as --draw 0.05.")
        return given
    if given or options.play_on:
        flag = f"--{next(iter(given), 'play-on').replace('_', '-')}"
        raise SetupError(f"{flag} needs --resign or --draw, such as --resign 0.95.")
    return given


def agreement_of(settings: Mapping[str, Any]) -> Agreement | None:
    """Return the agreement of `agreement_settings`; None without any.

    Raises:
        SetupError: a value is not in its range.
    """
    if not settings:
        return None
    try:
        return Agreement(**settings)
    except ValueError as error:
        raise SetupError(f"--{error}.") from None


class AgreementCheck:
    """Counts, from matches that were played to their end, how often an agreement would have been wrong.

    Args:
        agreement: the one to be checked.
    """

    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.matches = 0
        self.turns = 0
        self.turns_saved = 0
        """The turns after those at which the agreement would have ended their match."""
        self.won, self.won_wrongly = 0, 0
        """The matches that the estimates of both say are won, and those of them with another result."""
        self.drawn, self.drawn_wrongly = 0, 0

    def add(self, turns: Iterable[Mapping[str, Any]], winner: Player | None) -> None:
        """Count a match.

        Args:
            turns: as on record, with their notes.
            winner: at the end of the game; None for a draw.
        """
        played = [turn for turn in turns if "pass" not in turn]
        self.matches += 1
        self.turns += len(played)
        estimates = Estimates(self.agreement)
        for number, turn in enumerate(played, start=1):
            agreed = estimates.note(turn)
            if agreed is None or number == len(played):  # the last turn has ended the game by its rules
                continue
            self.turns_saved += len(played) - number
            if agreed.winner is None:
                self.drawn += 1
                self.drawn_wrongly += winner is not None
            else:
                self.won += 1
                self.won_wrongly += winner != agreed.winner
            return

    def lines(self) -> list[str]:
        """Return what was counted, in words."""
        if not self.matches:
            return []
        ended = self.won + self.drawn
        saved = f"and saved {self.turns_saved / max(1, self.turns):.0%} of the turns"
        lines = [f"Estimates would have ended {ended} of {self.matches} games, {saved}."]
        for what, count, wrong, asked in (
            ("won", self.won, self.won_wrongly, self.agreement.resign),
            ("drawn", self.drawn, self.drawn_wrongly, self.agreement.draw),
        ):
            if asked is not None and count:
                lines.append(f"As {what}: {count}, wrong in {wrong} ({share_text(wrong, count)})")
        return lines
