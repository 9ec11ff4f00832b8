"""The replay page of practice: its games, in the form of `getstep.replay`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from getstep.replay import Replay, ReplayTurn, TurnKind, replay_data, replay_page

from .match import PlayedMatch, PlayedTurn, tried_text

MOST_REPLAYS = 50
"""Matches on one page, lost ones first: 50 long ones are 2 MB."""


def page(matches: Sequence[PlayedMatch], title: str) -> str:
    """Return one html file with the matches, at least one."""
    chosen = sorted(matches, key=lambda match: match.result != "lost")[:MOST_REPLAYS]
    replays = [_replay(match) for match in sorted(chosen, key=lambda match: match.number)]
    return replay_page(replay_data(replays, title=title))


def _replay(match: PlayedMatch) -> Replay:
    outcome = match.outcome
    return Replay(
        game=match.game,
        rules=match.game.name,
        names=match.names,
        turns=[_turn(turn) for turn in match.turns],
        limit=match.control,
        options=match.options,
        title=f"game {match.number}: {match.result}",
        result=result_text(match),
        reason=outcome.detail if outcome else "",
    )


def _turn(turn: PlayedTurn) -> ReplayTurn:
    return ReplayTurn(
        player=turn.player,
        kind=cast(TurnKind, turn.kind),
        move=turn.move,
        tried=tried_text(turn),
        code=turn.code,
        reason=f"{turn.reason}; it was at {turn.where}" if turn.where else turn.reason,
        seconds=turn.seconds,
        left=turn.left,
    )


def result_text(match: PlayedMatch) -> str:
    """Return the result in words, such as ``"my_bot.py wins"``."""
    if match.outcome is None:
        return "stopped"
    winner = match.outcome.winner
    return "draw" if winner is None else f"{match.names[winner]} wins"
