"""The results of practice: counts with an interval, faults, the slowest moves, and replays."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from getstep.adjudication import AgreementCheck
from getstep.drawing import Picture, draw_text
from getstep.referee import AGREED, Agreement, FaultCode
from getstep.replay import Replay, ReplayTurn, TurnKind, opening_turns, replay_data, replay_page
from getstep.sprt import PairOutcomes, Sprt, copies, elo_interval, score_line, verdict_text, wilson
from getstep.tags import results_by_tag, results_text, tags_of
from getstep.text import duration

from .match import PlayedMatch, PlayedTurn, tried_text

WIDTH = 80
MOST_REPLAYS = 50
"""Matches on one page, lost ones first: 50 long ones are 2 MB."""

_MOST_FAULTS = 3  # kinds of faults with a board; each takes half a screen
_MOST_SLOW = 3
_TRACE_LINES = 8
_ANSWERED = (FaultCode.ILLEGAL_MOVE, FaultCode.RAISED)
_OUTCOMES = {"won": "win", "drawn": "draw", "lost": "loss"}


@dataclass(frozen=True)
class Results:
    """The results of practice. ``print(results)`` shows the report, and Jupyter the replay below it.

    ``bot`` and ``against`` are names, ``game`` the game's name. ``matches`` are the games in order; the last one is
    not over if practice was ``stopped``. ``printed`` says how much each bot printed, if it did. ``test`` is the
    sequential test that could end practice, if there was one. ``checked`` is the agreement of estimates that would
    have ended games, if practice was to count how often that would have been wrong.
    """

    bot: str
    against: str
    game: str
    matches: tuple[PlayedMatch, ...]
    stopped: bool = False
    printed: dict[str, str] = field(default_factory=dict)
    test: Sprt | None = None
    checked: Agreement | None = None

    @property
    def won(self) -> int:
        """The games that the bot won."""
        return self._count("won")

    @property
    def drawn(self) -> int:
        """The draws."""
        return self._count("drawn")

    @property
    def lost(self) -> int:
        """The games that the bot lost."""
        return self._count("lost")

    @property
    def score(self) -> float:
        """The share of the points, from 0 to 1; a draw is half a point. 0 if no game is over."""
        played = self.won + self.drawn + self.lost
        return (self.won + self.drawn / 2) / played if played else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds between which the true score lies with 95 % confidence (Wilson)."""
        return wilson(self.score, self.won + self.drawn + self.lost)

    @property
    def elo(self) -> tuple[float, float, float] | None:
        """The Elo difference and the ends of its 95 % interval, from pairs of games with swapped colours.

        None before the first pair is over. It is infinite if one bot won all games.
        """
        return elo_interval(pairs_of(self.matches))

    @property
    def check(self) -> AgreementCheck | None:
        """How often ``checked`` would have been wrong, from the games that are over; None without it."""
        if self.checked is None:
            return None
        check = AgreementCheck(self.checked)
        for match in self.matches:
            if match.outcome is not None:
                check.add(map(recorded_turn, match.turns), match.outcome.winner)
        return check

    @property
    def copied(self) -> str | None:
        """A warning if at most half of the pairs of games are different, move for move; else None."""
        moves = _moves([match for match in self.matches if match.outcome])
        return copies(zip(moves[::2], moves[1::2]))  # noqa: B905 - see pairs_of

    @property
    def faults(self) -> list[tuple[PlayedMatch, PlayedTurn]]:
        """The bot's faults, each with its match."""
        return [(match, turn) for match, turn in self._turns() if turn.kind in ("fault", "end")]

    @property
    def slowest(self) -> list[tuple[PlayedMatch, PlayedTurn]]:
        """The bot's answered turns, the slowest first; those whose time was not measured come last."""
        answered = [(match, turn) for match, turn in self._turns() if turn.kind == "move" or turn.code in _ANSWERED]
        return sorted(answered, key=lambda entry: -(entry[1].seconds or 0.0))

    def html(self) -> str:
        """Return the replays as one html page."""
        chosen = sorted(self.matches, key=lambda match: match.result != "lost")[:MOST_REPLAYS]
        replays = [_replay(match) for match in sorted(chosen, key=lambda match: match.number)]
        return replay_page(replay_data(replays, title=f"{self.bot} against {self.against}: {self.game}"))

    def save(self, path: str | Path) -> Path:
        """Write the replays to an html file and return its whole path."""
        path = Path(path).resolve()
        path.write_text(self.html(), encoding="utf-8")
        return path

    def report(self, draw: Callable[[Picture], str] = draw_text) -> str:
        """Return the report for people, at most 80 columns wide; ``draw`` draws the boards of faults."""
        return "\n".join(_report(self, draw))

    def first_fault(self, draw: Callable[[Picture], str] = draw_text, trace_lines: int = _TRACE_LINES) -> str:
        """Return the text of the bot's first fault with its board, or an empty string."""
        found = self.faults[:1]
        return "\n".join(line for match, turn in found for line in _fault(match, turn, 1, draw, trace_lines))

    def __str__(self) -> str:
        """Return the report."""
        return self.report()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the report and the replay for Jupyter."""
        report = f"<pre>{html.escape(str(self))}</pre>"
        if not self.matches:
            return report
        frame = 'style="width:100%;height:640px;border:0" title="replay"'
        return f'{report}<iframe {frame} srcdoc="{html.escape(self.html())}"></iframe>'

    def _count(self, result: str) -> int:
        return sum(match.result == result for match in self.matches)

    def _turns(self) -> Iterator[tuple[PlayedMatch, PlayedTurn]]:
        for match in self.matches:
            for turn in match.turns:
                if turn.player == match.bot:
                    yield match, turn


def pairs_of(matches: Sequence[PlayedMatch]) -> list[PairOutcomes]:
    """Return the bot's outcomes in each two games with swapped colours, as far as both are over."""
    return [
        (_OUTCOMES[one.result], _OUTCOMES[other.result])
        for one, other in zip(matches[::2], matches[1::2])  # noqa: B905 - the last pair may have one game
        if one.outcome and other.outcome
    ]


# --- the report -------------------------------------------------------------------------------------------------


def _report(results: Results, draw: Callable[[Picture], str]) -> Iterator[str]:
    over = results.won + results.drawn + results.lost
    yield from _wrap(
        f"{results.bot} against {results.against}, {results.game}: {results.won} won, {results.drawn} drawn,"
        f" {results.lost} lost" + (" (stopped)" if results.stopped else "")
    )
    if results.test is not None:
        yield from _tested(results, results.test)
    elif over:
        low, high = results.interval
        sure = f"with 95 % confidence between {_percent(low)} and {_percent(high)}"
        yield f"  Score {_percent(results.score)}; {sure}"
    yield from _colours(results.matches)
    yield from _agreed(results)
    yield from _tags(results)
    yield from _same_games(results)
    yield from _slowest(results)
    for name, text in results.printed.items():
        yield from _wrap(f"  {name} printed {text}")
    yield from _faults(results, draw)


def _tested(results: Results, test: Sprt) -> Iterator[str]:
    pairs = pairs_of(results.matches)
    yield from _wrap(f"  {score_line(pairs, test)}")
    more = "" if test.verdict or results.stopped else " Allow more with --games."
    yield from _wrap(f"  {verdict_text(test, len(pairs), results.bot, results.against)}{more}")


def _colours(matches: Sequence[PlayedMatch]) -> Iterator[str]:
    for bot, who in enumerate(("first", "second")):
        found = [match.result for match in matches if match.bot == bot]
        won, drawn, lost = (found.count(result) for result in ("won", "drawn", "lost"))
        if won + drawn + lost:
            yield f"  As the {who} player: {results_text(won, drawn, lost)}"


def _agreed(results: Results) -> Iterator[str]:
    ended = sum(match.outcome is not None and match.outcome.reason == AGREED for match in results.matches)
    if ended:
        yield f"  The estimates of both bots ended {ended} of {len(results.matches)} games."
    if results.check is not None:
        for line in results.check.lines():
            yield from _wrap(f"  {line}")


def recorded_turn(turn: PlayedTurn) -> dict[str, Any]:
    """Return what an agreement needs of a turn, as a record has it."""
    return {"player": turn.player, turn.kind: turn.move, "notes": turn.notes}


def _tags(results: Results) -> Iterator[str]:
    over = [match for match in results.matches if match.outcome]
    for name, own in ((results.bot, True), (results.against, False)):
        tagged = (
            (tags_of(t.notes for t in m.turns if (t.player == m.bot) is own), _OUTCOMES[m.result]) for m in over
        )
        for found in results_by_tag(tagged):
            yield from _wrap(f"  {results.bot} where {name} noted the tag {found.tag}: {found}")


def _same_games(results: Results) -> Iterator[str]:
    over = [match for match in results.matches if match.outcome]
    games = set(_moves(over))
    if len(games) < len(over):
        yield from _wrap(f"  Only {len(games)} of the {len(over)} games differ: both bots repeat their moves.")
    if results.test is not None and (warning := results.copied):
        yield from _wrap(f"  ! {warning} A comparison needs {_variety(results.matches)}.")


def _moves(matches: Sequence[PlayedMatch]) -> list[tuple[object, ...]]:
    """Return the moves of each match with the bot's side: what is equal if a match is a copy."""
    return [(match.bot, *(repr((turn.code, turn.move)) for turn in match.turns)) for match in matches]


def _variety(matches: Sequence[PlayedMatch]) -> str:
    """Return what makes the games of bots that repeat their moves differ."""
    seeds = "bots that choose between equal moves at random, with different seeds"
    ranges = [f"{option.name}={option.lowest}-{option.highest}" for option in matches[0].game.options.values()]
    if not matches[0].opening and not matches[0].begins:
        return f"--openings, which begins each pair with other moves, or {seeds}"
    if not ranges or any(match.options != matches[0].options for match in matches):
        return seeds
    return f"--option {ranges[0]}, which draws a board for each pair, or {seeds}"


def _slowest(results: Results) -> Iterator[str]:
    texts = [
        f"{duration(turn.seconds * 1000)} (game {match.number}, move {turn.number})"
        for match, turn in results.slowest[:_MOST_SLOW]
        if turn.seconds is not None and turn.seconds >= 0.01
    ]
    if texts:
        yield from _wrap(f"  Slowest moves, limit {results.matches[0].control}: {', '.join(texts)}")
    if results.matches and not results.matches[0].clock:
        yield "  The time of the moves is not measured."


def _faults(results: Results, draw: Callable[[Picture], str]) -> Iterator[str]:
    faults = results.faults
    theirs = sum(t.kind in ("fault", "end") and t.player != m.bot for m in results.matches for t in m.turns)
    if theirs:
        yield f"  Faults of {results.against}: {theirs}"
    if not faults:
        return
    kinds: dict[tuple[str, str], list[tuple[PlayedMatch, PlayedTurn]]] = {}
    for match, turn in faults:
        kinds.setdefault((turn.code, turn.problem or turn.where), []).append((match, turn))
    yield f"  Faults of {results.bot}: {len(faults)}"
    for number, found in enumerate(kinds.values()):
        if number == _MOST_FAULTS:
            yield ""
            yield f"Further kinds of faults: {len(kinds) - number}. The replays show them all."
            break
        yield ""
        yield from _fault(*found[0], len(found), draw)


def _fault(
    match: PlayedMatch,
    turn: PlayedTurn,
    count: int,
    draw: Callable[[Picture], str],
    trace_lines: int = _TRACE_LINES,
) -> Iterator[str]:
    times = f" ({count} times; the first:)" if count > 1 else ""
    yield from _wrap(f"Game {match.number}, move {turn.number}, {turn.code}: {turn.reason}{times}")
    if turn.where:
        yield f"  get_step was at {turn.where}"
    if turn.problem and turn.code != FaultCode.STALLED and turn.problem not in turn.reason:
        lines = turn.problem.splitlines()
        cut = ["  ..."] if len(lines) > trace_lines else []
        yield from (f"  {line}" for line in [*cut, *lines[-trace_lines:]])
    if turn.kind == "fault" and turn.code != FaultCode.STALLED:
        if tried := tried_text(turn):
            yield from _wrap(f"  get_step returned {tried}")
        yield from (f"  {line}" for line in draw(turn.picture).splitlines())
        unlisted = turn.legal_count - len(turn.legal)
        more = f" and {unlisted} more" if unlisted > 0 else ""
        yield from _wrap(f"  Legal: {'  '.join(turn.legal)}{more}")


def _wrap(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(text, WIDTH - 1, subsequent_indent=indent, break_on_hyphens=False)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


# --- the replays -----------------------------------------------------------------------------------------------


def _replay(match: PlayedMatch) -> Replay:
    outcome, begins = match.outcome, match.begins
    return Replay(
        game=match.game,
        rules=match.game.name,
        names=match.names,
        turns=[
            *(begins.turns if begins else opening_turns(match.game, match.options, match.opening)),
            *map(_turn, match.turns),
        ],
        limit=match.control,
        options=match.options,
        title=f"game {match.number}: {match.result}",
        result=_result_text(match),
        reason=outcome.detail if outcome else "",
        facts=[("begins with", begins.text)] if begins else [],
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
        given="replay" if turn.recorded else "",
        notes=turn.notes,
    )


def _result_text(match: PlayedMatch) -> str:
    if match.outcome is None:
        return "stopped"
    winner = match.outcome.winner
    return "draw" if winner is None else f"{match.names[winner]} wins"
