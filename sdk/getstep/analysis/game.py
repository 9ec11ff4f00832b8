"""A game with the value of each position, its turning points, and the better moves as further games."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from getstep.drawing import Picture, draw_text
from getstep.replay import Replay, ReplayTurn
from getstep.text import escape_control_chars
from getstep_bots.analysis import SECONDS, Clock, Interval, JudgedMove, judge, turning_points
from getstep_engines import Game

__all__ = ["SECONDS", "Analysis", "JudgedMove", "analyse"]

_WIDTH = 79


@dataclass(frozen=True)
class Analysis:
    """A game with the value of each position, and its turning points, the largest first."""

    replay: Replay
    game: Game
    moves: Sequence[JudgedMove]

    @property
    def turning_points(self) -> list[JudgedMove]:
        """The moves that gave away most, at most 3; those that the search is sure of stand first."""
        return turning_points(self.moves)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The texts and addresses of the turning points, in the page that shows `replays`."""
        return [
            (f"Turning point {place}: move {move.number}", f"#game=1&move={move.number}")
            for place, move in enumerate(self.turning_points, 1)
        ]

    def text(self, draw: Callable[[Picture], str] = draw_text) -> str:
        """Return the turning points for people, at most 79 columns wide; ``draw`` draws their boards."""
        return "\n".join(self._lines(draw))

    def _lines(self, draw: Callable[[Picture], str]) -> Iterator[str]:
        found = self.turning_points
        if not found:
            yield from _wrap("The search has found no move that gave anything away.")
            return
        yield from _wrap(
            "A value is the expected result: -1 is lost, 0 equal, 1 won. The numbers in brackets are its 95 %"
            " interval; a move whose interval reaches 0 may have been as good as the other."
        )
        for place, move in enumerate(found, 1):
            yield ""
            yield from _wrap(f"{place}. {self._words(move)}")
            yield from _wrap(f"   Better: {self._line_text(move)}")
            position = self.replay.position(move.number - 1)
            picture = Picture.after(self.game, self.game.trace(position, move.played))
            yield from (f"   {line}" for line in draw(picture).splitlines())

    def _words(self, move: JudgedMove) -> str:
        name = escape_control_chars(self.replay.names[move.player])
        who = f"Move {move.number}, {name} ({self.game.players[move.player]}): {self.game.notation(move.played)}"
        away = move.given_away
        sure = "" if move.sure else " Not sure: the other move may only have been luckier in the search."
        return (
            f"{who} gave away {_number(away)}. The value was {_number(move.best_value)} before it,"
            f" and {_number(move.played_value)} after it.{sure}"
        )

    def _line_text(self, move: JudgedMove) -> str:
        return " ".join(map(self.game.notation, move.line))

    def replays(self) -> list[Replay]:
        """Return the game with its values, and for each turning point the game up to it with the better moves."""
        judged = {move.number: move for move in self.moves}
        words = {
            move.number: f"{self._words(move)} Better: {self._line_text(move)}" for move in self.turning_points
        }
        turns = [
            self._with_value(turn, judged.get(n), words.get(n, "")) for n, turn in enumerate(self.replay.turns, 1)
        ]
        first = [
            (f"turning point {place}", words[move.number]) for place, move in enumerate(self.turning_points, 1)
        ]
        title = f"{self.replay.title}, analysed".lstrip(", ")
        whole = replace(self.replay, turns=turns, title=title, facts=[*first, *self.replay.facts])
        return [whole, *(self._better(place, move, turns) for place, move in enumerate(self.turning_points, 1))]

    def _with_value(self, turn: ReplayTurn, judged: JudgedMove | None, remark: str) -> ReplayTurn:
        if judged is None:
            return turn
        value = judged.played_value.value
        return replace(
            turn, value=-value if judged.player else value, remarks=[*turn.remarks, *([remark] if remark else [])]
        )

    def _better(self, place: int, move: JudgedMove, turns: Sequence[ReplayTurn]) -> Replay:
        state = self.replay.position(move.number - 1)
        line: list[ReplayTurn] = []
        for step in move.line:
            remark = f"The line of the search, in place of {self.game.notation(move.played)}." if not line else ""
            line.append(ReplayTurn(state.to_move, move=step, remarks=[remark] if remark else []))
            state.play(step)
            line += [ReplayTurn(player, "pass") for player in state.passed]
        return replace(
            self.replay,
            turns=[*turns[: move.number - 1], *line],
            title=f"turning point {place}: better at move {move.number}",
            result="",
            reason="",
        )


def analyse(
    played: Replay,
    *,
    seconds: float = SECONDS,
    on_move: Callable[[int, int], None] = lambda _done, _all: None,
    seed: object = None,
    clock: Clock = time.perf_counter,
) -> Analysis:
    """Judge each move of a game.

    Args:
        played: the game.
        seconds: of one core, for the whole game.
        on_move: called with the positions that are done, and with all of them.
        seed: of the random numbers of the search.
        clock: measures the seconds, see `getstep_bots.analysis.judge`.

    Raises:
        ValueError: the rules of the game are not installed, or do not allow one of its moves.
    """
    if played.game is None:
        raise ValueError(f"the rules of {played.rules} are not installed")
    # A pass and an end leave the board as it is; each keeps its number.
    numbers = [n for n, turn in enumerate(played.turns, 1) if turn.kind in ("move", "fault")]
    turns = [played.turns[n - 1] for n in numbers]
    judged = judge(
        played.game,
        dict(played.options),
        [("fault", None) if turn.kind == "fault" else ("move", turn.move) for turn in turns],
        seconds=seconds,
        on_move=on_move,
        seed=seed,
        only={place for place, turn in enumerate(turns, 1) if turn.given != "opening"},  # nobody has chosen those
        clock=clock,
    )
    return Analysis(played, played.game, [replace(move, number=numbers[move.number - 1]) for move in judged])


def _number(interval: Interval) -> str:
    if interval.exact:
        return f"{interval.value:.2f} (exact)"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _wrap(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 3)
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
