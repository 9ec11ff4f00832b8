"""Openings in contests whose bots keep their own position, as a search with a tree does."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.contests import make_contest

if TYPE_CHECKING:
    from tests.support.processes import Programs

KEEPER = """
from random import Random

from getstep_engines import GAMES

state = match = None

def get_step(board, is_black, turn):
    global state, match
    if match != turn.match:
        match, state = turn.match, GAMES[turn.game].start(**turn.options)
        for move in turn.opening:
            state.play(move)
    if (state.to_move == 0) != is_black:
        state.play(turn.last_move)
    if state.board() != board:
        raise RuntimeError(f"own position {state.board()}, the server's {board}")
    dice = Random(str(board))  # the same board gives the same move
    move = dice.choice(list(state.legal_moves()))
    state.play(move)
    return move
"""


@pytest.mark.long  # two contests of five bots
@pytest.mark.parametrize(
    ("format_", "settings", "teams", "matches"),
    [
        ("arena", {"matches": 6, "pause_seconds": 0, "house_bots": []}, 2, 6),
        ("best", {"pairs": 2, "elo": 2000.0, "alpha": 0.01}, 3, 12),
    ],
)
def test_bots_that_keep_their_position_play_after_openings(
    programs: Programs, tmp_path: Path, format_: str, settings: dict[str, Any], teams: int, matches: int
) -> None:
    bot = tmp_path / "keeper.py"
    bot.write_text(KEEPER, encoding="utf-8")
    event = {"game": "pseudo_tonga", "options": {"size": 6}, "format": format_, "settings": settings, "openings": 4}
    folder = tmp_path / "contest"
    make_contest(folder, teams, event, on_disk=True)
    server = programs.serve_in_thread(folder)
    bots = [programs.play(server, bot, team) for team in range(1, teams + 1)]
    assert server.wait() == 0
    assert [each.wait() for each in bots] == [0] * teams
    tournament = tournament_of(load_contest(folder))
    assert [(result.reason, result.faults) for result in tournament.results] == [("finished", (0, 0))] * matches
    sides: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for match in tournament.matches.values():
        assert len(match.opening) == 4
        sides[repr(match.opening)].add(match.teams)
    assert len(sides) == matches // 2, "each opening is drawn once"
    assert all({teams[::-1] for teams in pair} == pair for pair in sides.values()), "and played with both sides"
    with Store(folder / "contest.db") as store:
        assert verify(load_contest(folder), store).played == matches
