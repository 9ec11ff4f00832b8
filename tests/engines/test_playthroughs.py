"""Recorded games that a person can read and check, and that no change of an engine may alter unseen.

``playthroughs/<game>.txt`` holds one or more games. To record another, write its first lines (``game:`` and
``options:``) and its moves, a line each (``1. Black: [(2, 2), (2, 3)]``, or ``fault`` for the move); then
``python -m tests.engines.test_playthroughs`` plays every file's moves again and rewrites all the rest of it.
Read the difference before you commit it: it is what a change of an engine does to the games.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from getstep_engines import GAMES, Outcome, State

FOLDER = Path(__file__).with_name("playthroughs")
FILES = sorted(FOLDER.glob("*.txt"))

FIRST_LINE = re.compile(r"^game: (\w+)$", re.MULTILINE)
OPTIONS = re.compile(r"^options: (.+)$", re.MULTILINE)
TURN = re.compile(r"^\d+\. [^:]+: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Recording:
    """The contents of a recording. All else follows from them. A move is written as in Python, or ``fault``."""

    game: str
    options: dict[str, int]
    moves: list[str]


def read(text: str) -> list[Recording]:
    """Return the games of a file."""
    starts = [match.start() for match in FIRST_LINE.finditer(text)]
    return [_read_game(text[start:end]) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _read_game(text: str) -> Recording:
    name, options = FIRST_LINE.search(text), OPTIONS.search(text)
    assert name
    assert options
    pairs = [pair.split("=") for pair in options[1].split(", ") if pair != "none"]
    return Recording(name[1], {option: int(value) for option, value in pairs}, TURN.findall(text))


def write(recordings: list[Recording]) -> str:
    """Return the file of these games, played again."""
    return "\n".join("".join(f"{line}\n" for line in _lines(recording)) for recording in recordings)


def _lines(recording: Recording) -> Iterator[str]:
    game = GAMES[recording.game]
    state = game.start(**recording.options)
    yield f"game: {game.name}"
    yield f"options: {', '.join(f'{name}={value}' for name, value in recording.options.items()) or 'none'}"
    yield f"{game.title}: {game.players[0]} moves first, then {game.players[1]}"
    yield f"\n{state}"
    for number, move in enumerate(recording.moves, 1):
        yield f"\n{number}. {game.players[state.to_move]}: {move}"
        _apply(state, move)
        yield from (f"{game.players[player]} is passed over" for player in state.passed)
        yield str(state)
    assert state.outcome, f"the recorded game of {game.name} stops after {len(recording.moves)} moves"
    yield f"\n{_verdict(game.players, state.outcome)}"


def _apply(state: State, move: str) -> None:
    if move == "fault":
        state.fault()
    else:
        state.play(ast.literal_eval(move))


def _verdict(players: tuple[str, str], outcome: Outcome) -> str:
    result = "a draw" if outcome.winner is None else f"{players[outcome.winner]} wins"
    return f"outcome: {result}\nscores: {outcome.scores[0]} and {outcome.scores[1]}\nreason: {outcome.reason}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_game_is_played_as_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    recordings = read(text)
    assert {recording.game for recording in recordings} == {path.stem}
    assert write(recordings) == text


def test_the_recorded_games_are_in_the_registry() -> None:
    assert len(FILES) >= 5
    assert {path.stem for path in FILES} <= set(GAMES)


def test_a_game_that_is_not_over_cannot_be_recorded() -> None:
    with pytest.raises(AssertionError, match="stops after 1 moves"):
        write([Recording("hop", {}, ["[(2, 2), (2, 3)]"])])


if __name__ == "__main__":
    for file in FILES:
        file.write_text(write(read(file.read_text(encoding="utf-8"))), encoding="utf-8")
