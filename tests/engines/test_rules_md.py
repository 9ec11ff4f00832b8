"""rules.md, held against the engines: its worked examples are played, and its facts are the registry's.

An example is a ``text`` block of columns parted by ``|``. Read from left to right, and each from top to bottom,
they are sentences, some with a board below them, and every one has to be true.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest

from getstep.referee import ABSENT_MISSES, STALLED_MISSES
from getstep_engines import GAMES, Game, Player, State
from getstep_server.config.contest import StartTable, TimeTable
from getstep_server.config.event import Scoring

Board = list[list[int]]

MARKDOWN = (Path(__file__).parents[2] / "rules.md").read_text(encoding="utf-8")
SECTIONS = {section.partition("\n")[0]: section for section in MARKDOWN.split("\n## ")[1:]}
LABELS = ("Game", "Idea", "Board", "Move", "Legal", "What happens", "End", "Score and winner", "Time", "Faults")
DOCUMENTED = [name for name in GAMES if name in SECTIONS]
"""A game of another package has its rules in its own docstring alone."""

EVERY_GAME = pytest.mark.parametrize("name", DOCUMENTED)


# --- what a section states ------------------------------------------------------------------------------------


def stated(name: str, label: str) -> str:
    """Return the text of the section ``name`` after a bold ``label``, on one line."""
    found = re.search(rf"^- \*\*{label}\.?\*\*(.+?)(?=\n- |\n\n)", SECTIONS[name], re.MULTILINE | re.DOTALL)
    assert found, f"{name} says nothing under {label!r}"
    return " ".join(found[1].split())


def size_of(game: Game) -> str:
    """Return the board's size as people write it, with its range if that is an option."""
    options = game.options.values()
    starts = [game.start(**{o.name: size}) for o in options for size in (o.lowest, o.highest)] or [game.start()]
    sizes = [len(state.board()) for state in starts]
    return " to ".join(f"{size}×{size}" for size in sizes)


def test_the_table_of_games_is_the_registry() -> None:
    assert len(DOCUMENTED) >= 5
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", MARKDOWN, re.MULTILINE)
    spans = {"move": "move", "budget": "game"}
    assert rows == [
        (
            name,
            f"{size_of(game)} | {game.players[0]} | {game.players[1]}"
            f" | {game.time_control.seconds:g} s a {spans[game.time_control.kind]} | {game.penalty}",
        )
        for name, game in ((name, GAMES[name]) for name in DOCUMENTED)
    ]


@EVERY_GAME
def test_a_game_has_a_section_with_every_part(name: str) -> None:
    assert all(stated(name, label) for label in LABELS)


@EVERY_GAME
def test_a_section_states_what_the_registry_does(name: str) -> None:
    game = GAMES[name]
    assert stated(name, "Game") == f"{game.title}, {game.players[0]} against {game.players[1]}."
    assert stated(name, "Board").startswith(f"{size_of(game)}, ")
    assert re.match(rf"{re.escape(str(game.time_control))}(\.|$)", stated(name, "Time"))
    assert game.penalty in stated(name, "Faults")
    for o in game.options.values():
        option = f"the option `{o.name}`, {o.lowest} to {o.highest} in steps of {o.step}, by default {o.default};"
        assert option in stated(name, "Board")


@EVERY_GAME
def test_the_idea_takes_two_sentences(name: str) -> None:
    assert len(re.findall(r"\w\.(?= |$)", stated(name, "Idea"))) == 2


@EVERY_GAME
def test_the_sample_move_can_begin_a_game(name: str) -> None:
    sample = re.search(r"for example `(.+?)`", stated(name, "Move"))
    assert sample
    assert GAMES[name].start().is_legal(ast.literal_eval(sample[1]))


@EVERY_GAME
def test_every_decision_of_an_engine_is_in_the_rules(name: str) -> None:
    module = sys.modules[type(GAMES[name].start()).__module__]
    assert SECTIONS[name].count("**Decision:**") >= (module.__doc__ or "").count("Decision:")


@EVERY_GAME
def test_a_section_is_the_docstring_of_the_games_module(name: str) -> None:
    """`getstep rules` prints it: the engine's module is the source, and rules.md is a copy."""
    _, _, rules = GAMES[name].rules.partition("\n\n")
    assert SECTIONS[name].partition("\n\n")[2].strip() == rules.strip()


# --- worked examples ------------------------------------------------------------------------------------------


def blocks(name: str) -> list[str]:
    return re.findall(r"^```text\n(.*?)^```$", SECTIONS[name], re.MULTILINE | re.DOTALL)


def steps(example: str) -> list[tuple[str, Board]]:
    """Return the sentences of an example, each with the board below it: no rows if there is none."""
    found: list[tuple[str, Board]] = []
    for column in zip_longest(*(line.split("|") for line in example.splitlines()), fillvalue=""):
        for line in filter(None, map(str.strip, column)):
            if re.fullmatch(r"[-\d ]+", line):
                found[-1][1].append([int(cell) for cell in line.split()])
            else:
                found.append((line, []))
    return found


def opened(game: Game, sentence: str, board: Board) -> State:
    """Return the position that an example begins with."""
    if sentence == "At the start":
        return game.start()
    name = sentence.removesuffix(" to move")
    return game.from_board(board, is_black=player(game, name) == 0)


def player(game: Game, name: str) -> Player:
    assert name in game.players, f"{name!r} does not play {game.name}"
    return 0 if name == game.players[0] else 1


def check_legal(game: Game, state: State, move: str) -> None:
    assert state.is_legal(ast.literal_eval(move)), move


def check_illegal(game: Game, state: State, move: str) -> None:
    assert not state.is_legal(ast.literal_eval(move)), move


def play(game: Game, state: State, name: str, move: str) -> None:
    assert state.to_move == player(game, name)
    state.play(ast.literal_eval(move))


def fault(game: Game, state: State, name: str) -> None:
    assert state.to_move == player(game, name)
    state.fault()


def check_passed(game: Game, state: State, name: str) -> None:
    assert state.passed == (player(game, name),)


def check_won(game: Game, state: State, name: str, first: str, second: str) -> None:
    assert state.outcome
    assert state.outcome.winner == player(game, name)
    assert state.outcome.scores == (ast.literal_eval(first), ast.literal_eval(second))


SENTENCES: dict[str, Callable[..., None]] = {
    r"legal: +(.+)": check_legal,
    r"illegal: +(.+)": check_illegal,
    r"(.+) plays (.+)": play,
    r"(.+) makes a fault": fault,
    r"(.+) is passed over": check_passed,
    r"(.+) wins: (.+) and (.+)": check_won,
}


def tell(game: Game, state: State, sentence: str) -> None:
    """Do, or check, what a sentence after the first says."""
    for pattern, act in SENTENCES.items():
        if found := re.fullmatch(pattern, sentence):
            act(game, state, *found.groups())
            return
    raise AssertionError(f"no test understands {sentence!r}")


def replay(game: Game, example: str) -> State:
    """Play an example; its last position."""
    (sentence, board), *rest = steps(example)
    state = opened(game, sentence, board)
    assert state.board() == board
    for sentence, board in rest:
        tell(game, state, sentence)
        assert state.board() == (board or state.board())
    assert bool(state.outcome) == any(" wins: " in sentence for sentence, _ in rest)
    return state


@EVERY_GAME
def test_the_worked_examples_are_true(name: str) -> None:
    ends = [replay(GAMES[name], example) for example in blocks(name)]
    assert any(state.outcome for state in ends), "no example shows how a game ends"


SLIPS = [
    ("hop", "0 0 0 0 0 0 1 1", "0 0 0 0 0 1 0 1"),
    ("hop", "legal:   [(4, 3), (3, 3)] ", "illegal: [(4, 3), (3, 3)] "),
    ("hop", "illegal: [(4, 3), (4, 5), (4, 3)]", "legal:   [(4, 3), (4, 5), (4, 3)]"),
    ("hop", "Black plays", "White plays"),
    ("hop", "White wins", "Black wins"),
    ("hop", "3 and 4", "3 and 5"),
    ("hop", "White wins: 3 and 4", ""),
    ("linkage", "Fewer is", "More is"),
    ("linkage", "is passed over", "has to wait"),
    ("pseudo_tonga", "Black makes", "White makes"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), SLIPS)
def test_a_mistake_in_an_example_is_found(name: str, right: str, wrong: str) -> None:
    example = blocks(name)[-1]
    assert right in example
    with pytest.raises(AssertionError):
        replay(GAMES[name], example.replace(right, wrong, 1))


# --- the tournament -------------------------------------------------------------------------------------------


def test_the_rules_describe_what_the_server_does() -> None:
    shared, tournament = "What all games share", "The tournament"
    scoring = Scoring()
    assert stated(tournament, "Points").startswith(
        f"A win is {scoring.win:g} points, a draw {scoring.draw:g}, a loss {scoring.loss:g}."
    )
    assert f"for {StartTable().absent_seconds:g} s (unless the host" in stated(tournament, "No-shows")
    assert f"({TimeTable().lag_ms} ms unless the host" in stated(shared, "Time")
    assert f"misses {ABSENT_MISSES} limits in a row" in stated(shared, "Lost connections")
    assert f"missed {STALLED_MISSES} limits in a row" in stated(shared, "Stalled players")
