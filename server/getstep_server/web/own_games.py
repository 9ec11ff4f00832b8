"""A team's own matches for its area: its penalties with the board of each, the times of its moves, and its records.

A freeze hides nothing here: a team's own client has seen how its matches ended.

To read the turns of a match takes a few milliseconds. So a match that is over is read once, in a thread, and a
summary of it is kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import nlargest
from pathlib import Path
from typing import Any

import trio
from msgspec.structs import asdict

from getstep.drawing.picture import squares_of
from getstep.referee import UNANSWERED, EndCode, FaultCode, WrongTurn
from getstep.replay import Replay, replay_data, replay_page
from getstep.tags import results_by_tag, tags_of
from getstep_engines import GAMES, Game
from getstep_server import json_text
from getstep_server.api.build import match_answer, own_result, team_ref
from getstep_server.api.visibility import VisibleGame
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_OWN_CACHE, OWN_MATCHES, OWN_PENALTIES, OWN_PENALTIES_OF_A_MATCH
from getstep_server.programs.store import ProgramStore
from getstep_server.records.game import match_state_of, opening_turns_of, validate_game
from getstep_server.records.match import Match
from getstep_server.records.record import RecordError, parse
from getstep_server.records.result import PLAYERS
from getstep_server.reports.corrections import correction_facts
from getstep_server.reports.notation import game_text, move_text
from getstep_server.reports.replays import Seen, match_replays
from getstep_server.storage.database import StoreError
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .live import LiveMatch
from .parts import BOARD_SECONDS
from .topics import encode

EDGES_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000)
"""The upper ends of the classes of times: each move belongs to the first one that it does not exceed."""

SLOWEST = 5
"""The slowest moves of each event that are listed."""

ADVICE: Mapping[str, str] = {
    FaultCode.ILLEGAL_MOVE: "Compare the framed squares with the rules: the text names the one that is broken.",
    FaultCode.MALFORMED_ANSWER: "Return a move as the rules of the game write it, in lists and whole numbers.",
    FaultCode.RAISED: "Call get_step with this board: the last lines name the error and its place.",
    FaultCode.MISSED_LIMIT: "Search less deep, or stop while turn.time_left_ms has some milliseconds to spare.",
    FaultCode.STALLED: "Stop your bot with Ctrl-C: it shows where it hung; correct that, and start it again.",
    EndCode.ABSENT: "Start your bot again if it has ended; else look at the network of its computer.",
    EndCode.HOSTILE: "Send frames as protocol.md says: the clients of getstep do so without your help.",
}
"""What the author of a bot can do about each penalty, by its code."""

TRIED_CHARS = 200
"""The characters of an illegal move that are shown."""


@dataclass(frozen=True, slots=True)
class OwnTurns:
    """One player's turns in an attempt at a match.

    Attributes:
        penalties: as JSON, OWN_PENALTIES_OF_A_MATCH at most, the latest first; equal ones are one with a ``count``.
        more: the number of penalties that are in none of them.
        slowest: the slowest moves, each with its time in ms and its number.
        counts: the number of moves by the class of `EDGES_MS`.
        total_ms: the time of all moves.
        missed: the number of turns without an answer.
        tags: the words with which it marked the match.
    """

    penalties: Sequence[Mapping[str, Any]] = ()
    more: int = 0
    slowest: Sequence[tuple[float, int]] = ()
    counts: Mapping[int, int] = field(default_factory=dict)
    total_ms: float = 0.0
    missed: int = 0
    tags: Sequence[str] = ()


def own_turns(game: Mapping[str, Any], player: int) -> OwnTurns:
    """Return the summary of a player's turns.

    Args:
        game: the fields of a game's record, or what the journal has of it.
        player: 0 or 1.
    """
    turns, before = game["turns"], opening_turns_of(game)  # links to moves count the opening, too
    own = [(number, turn) for number, turn in enumerate(turns, start=1) if turn["player"] == player]
    answered = [
        (float(turn["ms"]), before + number)
        for number, turn in own
        if "ms" in turn and turn.get("fault") not in UNANSWERED and turn.get("end") not in (*EndCode,)
    ]
    wrong: dict[tuple[str, str], list[int]] = {}
    for number, turn in reversed(own):
        if _is_penalty(turn):
            wrong.setdefault(_kind(turn), []).append(number)
    kinds = list(wrong.values())
    return OwnTurns(
        penalties=_penalties(game, player, kinds[:OWN_PENALTIES_OF_A_MATCH]),
        more=sum(map(len, kinds[OWN_PENALTIES_OF_A_MATCH:])),
        slowest=nlargest(SLOWEST, answered),
        counts=Counter(bisect_left(EDGES_MS, ms) for ms, _ in answered),
        total_ms=sum(ms for ms, _ in answered),
        missed=sum(turn.get("fault") in UNANSWERED or turn.get("end") == EndCode.ABSENT for _, turn in own),
        tags=tags_of(turn.get("notes") for _, turn in own),
    )


def _is_penalty(turn: Mapping[str, Any]) -> bool:
    return "fault" in turn or ("end" in turn and turn["end"] != EndCode.RESIGNED)


def _kind(turn: Mapping[str, Any]) -> tuple[str, str]:
    """Return what equal penalties have in common: the code and the text."""
    return str(turn.get("fault") or turn.get("end")), turn.get("detail", "")


def _penalties(game: Mapping[str, Any], player: int, kinds: Sequence[Sequence[int]]) -> list[Mapping[str, Any]]:
    """Return the latest turn of each kind, with the board before it; a kind has the turns of equal penalties."""
    found: list[Mapping[str, Any]] = []
    rules = GAMES.get(game["game"])
    boards, before = dict(_boards(game, rules, {numbers[0] for numbers in kinds})), opening_turns_of(game)
    for numbers in kinds:
        number = numbers[0]
        turn, board = game["turns"][number - 1], boards.get(number)
        tried, (code, detail) = turn.get("tried"), _kind(turn)
        found.append(
            {
                "match": game["match"],
                "attempt": game["attempt"],
                "turn": before + number,
                "game": game["game"],
                "role": rules.players[player] if rules is not None else "",
                "opponent": game["teams"][1 - player]["name"],
                "code": code.replace("_", " "),
                "count": len(numbers),
                "detail": detail,
                "advice": ADVICE.get(code, ""),
                "penalty": rules.penalty if rules is not None and "fault" in turn else "the match is lost",
                "ms": turn.get("ms"),
                "tried": move_text(tried, rules)[:TRIED_CHARS] if "tried" in turn else "",
                "board": board,
                "fault": squares_of(tried, len(board), len(board[0])) if board else [],
            }
        )
    return found


def _together(penalties: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return penalties of several matches, equal ones of a game once, at the place of the first."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in penalties:
        known = found.setdefault((one["game"], one["code"], one["detail"]), {**one, "count": 0})
        known["count"] += one["count"]
    return list(found.values())


def _boards(
    game: Mapping[str, Any], rules: Game | None, wanted: Collection[int]
) -> Iterable[tuple[int, list[list[int]]]]:
    """Yield the boards before these turns, until one that the installed rules do not allow."""
    if rules is None or not wanted:
        return
    try:
        state = match_state_of(game)
        for number, turn in enumerate(game["turns"][: max(wanted)], start=1):
            if number in wanted:
                yield number, rules.view(state.state)
            state.apply(turn)
    except (ValueError, KeyError, TypeError, WrongTurn):
        return


def program_in_use(folder: Path, team: int) -> int | None:
    """Return the number of the version that the host plays with for a team. It reads one small file: 50 µs."""
    try:
        return ProgramStore(folder).in_use(team)
    except ConfigError:
        return None  # the host sees the reason in `programs list`


class OwnGames:
    """The matches of all teams, each for that team only: it knows its own results in a freeze, too.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._cache: dict[tuple[Store, int, int], tuple[int, list[OwnTurns]]] = {}
        self._reading = trio.CapacityLimiter(1)  # one at a time: the page's own views come first
        self._made: dict[int, tuple[object, str, bytes]] = {}

    async def state(self, team: int) -> tuple[str, bytes]:
        """Return the state of a team's area as JSON, and the tag of this state."""
        async with self._reading:
            running = [live for live in self._feed.live.running.values() if team in live.match.teams]
            program = program_in_use(self._feed.folder, team)
            version = self._feed.version
            stamp = (version["records"], version["status"], program, [live.played for live in running])
            made = self._made.get(team)
            if made is None or made[0] != stamp:
                body = encode(await self._build(team, running, program))
                # the version of the answer: a browser that has it gets no body
                made = self._made[team] = (stamp, sha256(body).hexdigest()[:24], body)
            return made[1], made[2]

    async def _build(self, team: int, running: Sequence[LiveMatch], program: int | None) -> dict[str, Any]:
        feed, tournament = self._feed, self._feed.whole
        results = [result for result in tournament.results if team in result.match.teams]
        latest = results[-OWN_MATCHES:]
        now = [_summary_of(live, team) for live in running]
        read = await trio.to_thread.run_sync(self._read, team, [result.match for result in latest], tournament)
        every = [turns for _, summaries in read for turns in summaries]
        # the latest first
        penalties = _together(one for turns in (*reversed(now), *reversed(every)) for one in turns.penalties)
        shown = penalties[:OWN_PENALTIES]
        times = [*read, *((live.match, [turns]) for live, turns in zip(running, now, strict=True))]
        connected = feed.status.connected.get(team, 0) if feed.server_runs and feed.status else 0
        tags = {match.number: summaries[-1].tags for match, summaries in read if summaries}
        tagged = [
            (tags.get(one.match.number, ()), one.outcome_for(PLAYERS[one.match.teams.index(team)]))
            for one in latest
        ]
        hangs = feed.server_runs and feed.status is not None and team in feed.status.hanging
        return {
            "team": {
                **asdict(team_ref(tournament, team)),
                "connected": connected,
                "hangs": hangs,
                "program": program,
            },
            "penalties": shown,
            "more": sum(one["count"] for one in penalties[OWN_PENALTIES:])
            + sum(turns.more for turns in (*every, *now)),
            "times": _times(times, tournament),
            "edges": EDGES_MS,
            "running": [match_answer(tournament, live.match) for live in running],
            "matches": [own_result(tournament, result, team) for result in reversed(latest)],
            "tags": [[found.tag, str(found)] for found in results_by_tag(tagged)],
            "older": len(results) - len(latest),
        }

    def _read(
        self, team: int, matches: Sequence[Match], tournament: Tournament
    ) -> list[tuple[Match, list[OwnTurns]]]:
        """Return the summaries of all attempts at these matches."""
        store = self._feed.store
        if store is None:
            return []
        read = []
        for match in matches:
            attempts, key = tournament.attempts[match.number], (store, team, match.number)
            kept = self._cache.pop(key, None)
            if kept is None or kept[0] != attempts:
                player = match.teams.index(team)
                lines = [record.line for record in store.records(match.number)]
                kept = attempts, [own_turns(parse(line), player) for line in lines]
            self._cache[key] = kept  # the latest that was used is the last one
            read.append((match, kept[1]))
        # a list: the dictionary changes in the loop
        for old in list(self._cache)[: max(0, len(self._cache) - MAX_OWN_CACHE)]:
            del self._cache[old]
        return read

    # --- files ---

    def _store(self) -> Store:
        """Return the records.

        Raises:
            StoreError: there are none now. A download that has begun ends, and the browser says that it failed.
        """
        if self._feed.store is None:
            raise StoreError("there are no records now: nothing was played yet, or they are being read again")
        return self._feed.store

    def matches(self, team: int) -> list[int]:
        """Return the numbers of the matches of a team of which there are records."""
        tournament = self._feed.whole
        return [match.number for match in tournament.matches.values() if team in match.teams]

    async def records(self, team: int, numbers: Sequence[int], *, text: bool) -> AsyncGenerator[bytes, None]:
        """Yield the records of a team's matches, as `export` writes them, without the errors of its opponents."""
        for number in numbers:
            async with self._reading:
                record = await trio.to_thread.run_sync(self._record, team, number, text)
            yield record  # outside: a client that reads slowly, or is gone, must not keep other teams waiting

    def _record(self, team: int, number: int, text: bool) -> bytes:
        store, tournament = self._store(), self._feed.whole
        lines = [stored.line for stored in store.records(number)]
        if not text:
            seen = VisibleGame(self._feed.tournament, team)
            return b"".join(_own_line(line, seen) + b"\n" for line in lines)
        games = [validate_game(parse(line)) for line in lines]
        texts = ("\n".join([*game_text(game, correction_facts(tournament, game)), "", ""]) for game in games)
        return "".join(f"{one}\n" for one in texts).encode()

    async def replay(self, team: int, number: int) -> bytes | None:
        """Return a match's replay as a file; None if nothing of it was played."""
        async with self._reading:
            return await trio.to_thread.run_sync(self._replay, team, number)

    def _replay(self, team: int, number: int) -> bytes | None:
        replays = self._replays(team, number, self._feed.contest.running)
        return replay_page(replay_data(replays, title=f"match {number}")).encode() if replays else None

    def _replays(self, team: int, number: int, running: Path | None) -> list[Replay]:
        feed = self._feed
        return match_replays(self._store(), number, running, feed.whole, VisibleGame(feed.tournament, team))

    async def latest(self, team: int, number: int) -> tuple[str, Replay] | None:
        """Return the hash of the record of a match's last attempt, and that game; None if it is not over."""

        def read() -> tuple[str, Replay] | None:
            hashes = [record.hash for record in self._store().records(number)]
            return (hashes[-1], self._replays(team, number, None)[-1]) if hashes else None

        async with self._reading:
            return await trio.to_thread.run_sync(read)


def _own_line(line: bytes, seen: Seen) -> bytes:
    """Return a record as its team may see it, byte for byte if that is all of it."""
    fields = parse(line)
    shown = seen(fields)
    return line if shown is fields else json_text.encode(shown)


def _summary_of(live: LiveMatch, team: int) -> OwnTurns:
    """Return the turns of a running match, as far as they could be applied within BOARD_SECONDS."""
    live.catch_up(BOARD_SECONDS)
    fields = {**live.head, "attempt": live.attempt, "turns": live.turns}
    try:
        return own_turns(fields, live.match.teams.index(team))
    except (RecordError, KeyError, ValueError):  # the journal of another version
        return OwnTurns()


def _times(read: Sequence[tuple[Match, list[OwnTurns]]], tournament: Tournament) -> list[dict[str, Any]]:
    found = []
    for event in tournament.contest.events:
        own = [(match, turns) for match, attempts in read if match.event == event.number for turns in attempts]
        counts: Counter[int] = Counter()
        for _, turns in own:
            counts.update(turns.counts)
        moves = counts.total()
        if not moves and not any(turns.missed for _, turns in own):
            continue
        slowest = nlargest(
            SLOWEST, ((ms, match.number, turn) for match, turns in own for ms, turn in turns.slowest)
        )
        found.append(
            {
                "event": event.heading,
                "limit": str(event.time_control),
                "moves": moves,
                "mean_ms": sum(turns.total_ms for _, turns in own) / moves if moves else None,
                "missed": sum(turns.missed for _, turns in own),
                "counts": [counts[place] for place in range(len(EDGES_MS) + 1)],
                "slowest": [{"ms": ms, "match": match, "turn": turn} for ms, match, turn in slowest],
            }
        )
    return found
