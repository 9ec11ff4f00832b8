"""Every sample bot plays whole games of its game, and only legal moves; the simple ones stay simple."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from benchmarks import levels
from benchmarks.bots import ask, bot, play
from getstep import Turn
from getstep.notes import Collector, collected
from getstep.samples import LEVELS, SAMPLES
from getstep_bots import counted, hesitant, mcts, random_bot
from getstep_engines import GAMES, State
from getstep_server.bot_runner.sample_bots import sample_bots
from tests.support.patience import PATIENCE_SECONDS
from tests.support.quick import quick

BOTS = sorted(sample_bots())
SHORT_LINES = 40


def games_of(name: str) -> list[str]:
    """Return the games that a bot plays: the one in its name, or all."""
    return [game for game in GAMES if name.endswith(game)] or list(GAMES)


PAIRINGS = [(name, game) for name in BOTS for game in games_of(name)]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcts, "LONGEST_THINK", 0.001)
    for name in LEVELS[2:]:
        monkeypatch.setattr(f"getstep_bots.{name}.POSITIONS", 20)


def the_turn(game: str, **fields: Any) -> Turn:
    turn = Turn(game, match=1, move_number=1, opponent="a bot", last_move=None, time_left_ms=5000)
    return replace(turn, **fields)


@pytest.mark.parametrize(("name", "game"), PAIRINGS)
def test_it_plays_whole_games_against_a_random_bot(name: str, game: str) -> None:
    players = bot(name), random_bot.get_step
    for first, second in (players, players[::-1]):
        assert play(game, first, second).outcome is not None


@pytest.mark.parametrize("size", quick([6, 16], [6]))
def test_the_bots_of_all_games_play_on_every_size_of_board(size: int) -> None:
    for name in BOTS:
        if "pseudo_tonga" in games_of(name) and not name.startswith("house"):
            play("pseudo_tonga", bot(name), random_bot.get_step, size=size)


@pytest.mark.parametrize("name", [name for name in BOTS if not name.startswith(("house_", "mcts"))])
def test_a_simple_bot_fits_on_a_page(name: str) -> None:
    lines = sample_bots()[name].read_text(encoding="utf-8").splitlines()
    assert sum(1 for line in lines if line.strip()) < SHORT_LINES
    assert any(line.startswith("def get_step(board") for line in lines)
    assert f"getstep play {name}.py --team 7``" in "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "game"), [pairing for pairing in PAIRINGS if pairing[0] != "mcts"], ids=lambda value: str(value)
)
def test_the_same_turn_again_gives_the_same_move(name: str, game: str) -> None:
    state = GAMES[game].start()
    for number in range(6):
        turn = the_turn(game, move_number=number)
        move = ask(bot(name), state, turn)
        assert ask(bot(name), state.copy(), turn) == move
        state.play(move)


@pytest.mark.parametrize("game", GAMES)
def test_the_random_bot_plays_another_game_in_another_match(game: str) -> None:
    state = GAMES[game].start()
    moves = [ask(random_bot.get_step, state, the_turn(game, match=match)) for match in range(20)]
    assert len({repr(move) for move in moves}) > 1


@pytest.mark.parametrize("game", GAMES)
def test_the_hesitant_bot_is_greedy_in_a_share_of_its_turns(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    greedy, chance, shares = bot("greedy"), bot("random_bot"), {}
    for doubt in (0.0, 0.3, 1.0):
        monkeypatch.setattr(hesitant, "DOUBT", doubt)
        turns = [the_turn(game, match=match) for match in range(40)]
        moves = [(ask(hesitant.get_step, GAMES[game].start(), turn), turn) for turn in turns]
        best = ask(greedy, GAMES[game].start(), turns[0])
        assert all(move in (best, ask(chance, GAMES[game].start(), turn)) for move, turn in moves)
        shares[doubt] = sum(move == best for move, _ in moves)
    assert shares[1.0] < shares[0.3] < shares[0.0] == len(turns)


# --- the Monte Carlo bot ----------------------------------------------------------------------------------------


def test_it_thinks_for_a_part_of_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(mcts, "LONGEST_THINK", 1.0)

    def search(_position: State, seconds: float, _style: mcts.Style) -> tuple[None, None]:
        asked.append(seconds)
        return None, None

    monkeypatch.setattr(mcts, "search", search)
    for game, ms in [("hop", 60_000), ("hop", 1000), ("pseudo_tonga", 20_000), ("pseudo_tonga", 100)]:
        ask(mcts.get_step, GAMES[game].start(), the_turn(game, time_left_ms=ms))
    assert asked == pytest.approx([1.0, 0.2, 0.5, 0.0025])


def test_a_budget_lasts_for_the_largest_board() -> None:
    left = 20.0
    for _ in range(16 * 16 // 2):
        left -= min(1.0, mcts.SHARES["budget"] * left)
    assert left > 0.5


def test_it_notes_what_it_expects() -> None:
    state = GAMES["pseudo_tonga"].start(size=6)
    notes = Collector(state.board())
    with collected(notes):
        ask(mcts.get_step, state, the_turn("pseudo_tonga", time_left_ms=2000))
    assert -1 <= (notes.take() or {})["estimate"] <= 1


def test_it_has_a_move_when_there_is_no_time_to_think() -> None:
    for game in GAMES:
        state = GAMES[game].start()
        assert state.is_legal(ask(mcts.get_step, state, the_turn(game, time_left_ms=0)))


def test_it_does_not_think_about_the_only_move() -> None:
    state = GAMES["pseudo_tonga"].start(size=6)
    while len(list(state.legal_moves())) > 1:
        state.play(next(state.legal_moves()))
    started = perf_counter()
    assert mcts.search(state, PATIENCE_SECONDS, mcts.TO_THE_END)[0] == (5, 5)
    assert perf_counter() - started < PATIENCE_SECONDS


@pytest.mark.parametrize(("game", "expected"), [("hop", False), ("chain_reaction", False), ("pseudo_tonga", True)])
def test_it_knows_in_which_games_moves_run_out(game: str, expected: bool) -> None:
    assert mcts.moves_run_out(game) is expected


def test_it_finds_a_win_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(step=0.001)  # so that it looks 200 times, however fast the machine is
    monkeypatch.setattr(mcts, "perf_counter", lambda: next(clock))
    board = [[0] * 8 for _ in range(8)]
    board[3][4], board[3][5], board[7][0] = 1, 2, 1  # hopping over White's last piece wins at once
    state = GAMES["hop"].from_board(board, True)
    assert mcts.search(state, 0.2, mcts.A_FEW_MOVES)[0] == [(3, 4), (3, 6)]


# --- the levels -------------------------------------------------------------------------------------------------


def test_a_level_is_a_sample_bot_and_says_which() -> None:
    assert set(SAMPLES.values()) == set(BOTS)
    for level, name in enumerate(LEVELS[2:], 3):
        first = sample_bots()[name].read_text(encoding="utf-8").partition("\n")[0]
        assert f"level {level} of {len(LEVELS)}" in first


@pytest.mark.parametrize("game", GAMES)
def test_a_level_visits_its_number_of_positions_whatever_the_time(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = []
    simulate = mcts.simulate

    def counting(*args: Any) -> tuple[float, int]:
        found = simulate(*args)
        visited.append(1 + found[1])
        return found

    monkeypatch.setattr(counted, "simulate", counting)
    state = GAMES[game].start()
    moves = [
        counted.counted_move(state.board(), True, the_turn(game, time_left_ms=ms), 300)
        for ms in (10**6, 10**9)  # it stops after some minutes, or some days
    ]
    assert moves[0] == moves[1]
    half = visited[: len(visited) // 2]
    assert half == visited[len(visited) // 2 :]
    assert sum(half[:-1]) < 300 <= sum(half)


@pytest.mark.parametrize("game", GAMES)
def test_a_level_without_time_plays_as_the_greedy_bot(game: str) -> None:
    state = GAMES[game].start()
    for number in range(5):
        turn = the_turn(game, move_number=number, time_left_ms=0)
        move = ask(bot(LEVELS[-1]), state, turn)
        assert move == ask(bot("greedy"), state, turn)
        state.play(move)


def test_a_level_stops_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(step=0.1)
    monkeypatch.setattr(counted, "perf_counter", lambda: next(clock))
    state = GAMES["hop"].start()
    counted.counted_move(state.board(), True, the_turn("hop", time_left_ms=4000), 10**9)
    assert next(clock) == pytest.approx(2.2, abs=0.15)


def test_a_budget_lasts_for_a_level_on_the_largest_board() -> None:
    left = 20.0
    for _ in range(16 * 16 // 2):
        left -= counted.SHARES["budget"] * left
    assert left > 0.1  # and the bot answers at once if there is no time


def test_the_ratings_in_the_documents_are_those_of_the_pairs_that_were_played() -> None:
    pairs = levels.read(levels.PAIRS)
    assert len({pair[:3] for pair in pairs}) == len(pairs)
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert (
        "\n".join(levels.table([game for game in GAMES if any(pair.game == game for pair in pairs)], pairs)) in page
    )


def test_a_pair_that_was_played_has_the_same_result_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the bots have changed, or the book, and the ratings are to be measured again: `benchmarks.levels`."""
    monkeypatch.undo()  # the bots of other tests are hasty
    played = {pair[:3]: pair for pair in levels.read(levels.PAIRS)}
    # level 3 searches without playouts, level 5 with them
    of_linkage = [("linkage", level) for level in (2, 3, 5)]
    for game, level in [*of_linkage, ("pseudo_tonga", 2), ("chain_reaction", 2), ("hop", 2)]:
        again = levels.play_pair(game, level, 0)
        before = played[game, level, 0]
        assert (again.outcomes, again.moves) == (before.outcomes, before.moves), (game, level)
