"""Contest folders with records of matches that nobody played: results by chance, as many as one likes.

What `played_contests` plays move by move is made up here, so that there can be hundreds of teams.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import trio
from msgspec.structs import replace

from getstep_engines import GAMES, Player
from getstep_server.config.contest import Contest
from getstep_server.incident import Incident, IncidentRow
from getstep_server.json_text import encode
from getstep_server.records.decision import freeze_by_rule, record_of_decision
from getstep_server.records.game import MatchLog, game_header, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.record import Record
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.store import Store
from getstep_server.text import utc_time
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.records import connection_of
from tests.support.replays import random_move

STARTED = 1.7e9

HOSTILE_NAMES = (
    *("<script>alert(1)</script>", "<!--", "]]>", "{{ 7 * 7 }}", "{% raw %}", "$x^2$", "\\frac", "%s%n", "'\"><b>"),
    *("=1+1", "&lt;&amp;", "Дороти", "日本語チーム", "فريق", "a" * 64, "http://example.org/", "| `tick`", "🦘"),
)
"""Names that somebody may give a team."""


def make_up(
    folder: Path,
    events: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    *,
    seed: int = 1,
    most: int = 10**6,
    contest: str = "Test contest",
    freeze: int | None = None,
    fate: int = 1,
    absent: Collection[int] = (),
    moves: int = 0,
) -> Contest:
    """Return a contest folder with these events and teams, played to its end, or until ``most`` matches are over.

    The teams are the stronger the earlier they are in ``names``. After ``freeze`` matches the contest is frozen,
    and ``fate`` is the seed of the results from then on. The teams in ``absent`` never come. Each record has so
    many ``moves`` by chance, which do not lead to its result.
    """
    made = make_contest(folder, names, *events, on_disk=True, contest={"name": contest, "seed": seed})
    with Store(made.database) as store:
        store._run(lambda: connection_of(store).execute("PRAGMA synchronous = OFF"))  # nobody will miss it
        trio.run(_store, store, list(_played(made, Random(seed), most, freeze, fate, absent, moves)))
    return made


def play_on(contest: Contest, matches: int) -> None:
    """Store results of so many of the open matches, as `make_up` does."""
    with Store(contest.database) as store:
        tournament, records = Tournament(contest, store.record_headers()), []
        for match in tournament.open()[:matches]:
            attempt = 1 + sum(number == match.number for number, _ in tournament.recorded)
            result, happened = _result(match, tournament.done, Random(match.number))
            result = replace(result, attempt=attempt)
            head = game_header(contest, match, attempt, result.started)
            records.append(record_of_game(head, result, happened))
            tournament.apply_result(result)

        async def save() -> None:
            for record in records:
                await store.save(record)

        trio.run(save)


def half_played(folder: Path) -> Path:
    """Return the folder of a contest with three teams, in which two of three matches of hop are over."""
    return make_up(folder, [{"game": "hop", "settings": {"legs": 1}}], ["Ada", "Blaise", "Carl"], most=2).folder


async def _store(store: Store, records: Sequence[Record]) -> None:
    for record in records:
        await store.save(record)
    flood = Incident("flood", "more than 200 frames a second", "10.0.0.9", 2, "00")
    strange = Incident("unknown_team", "nobody's", "10.0.0.66", None, "00")
    await store.count_incidents(
        [IncidentRow(flood, 12, STARTED, STARTED), IncidentRow(strange, 3, STARTED, STARTED)]
    )


def _played(
    contest: Contest,
    dice: Random,
    most: int,
    freeze: int | None,
    fate: int,
    absent: Collection[int],
    moves: int,
) -> Iterator[Record]:
    tournament = Tournament(contest)
    settings = {**(tournament.settings.due() or {}), "at": utc_time(STARTED)}
    tournament.apply(settings)
    yield record_of_settings(settings)
    while True:
        yield from _issued_pairings(tournament)
        matches = tournament.open()[: most - tournament.done]
        if not matches:
            return
        for match in matches:
            if tournament.done == freeze and tournament.frozen_at is None:
                record = record_of_decision(contest, freeze_by_rule(30, utc_time(STARTED)))
                tournament.apply(record.fields)
                yield record
                dice = Random(fate)
            result, happened = _forfeit(match, absent) or _result(match, tournament.done, dice)
            happened.turns.extend(_moves(match, moves) if result.turns else ())
            yield record_of_game(game_header(contest, match, 1, result.started), result, happened)
            tournament.apply_result(result)


def _issued_pairings(tournament: Tournament) -> Iterator[Record]:
    for number in sorted(tournament.due):
        tournament.due.remove(number)
        fields = tournament.next_pairings(tournament.contest.event(number))
        if fields is not None:
            yield record_of_pairings(fields)
            tournament.apply_pairings(fields)


def _forfeit(match: Match, absent: Collection[int]) -> tuple[Result, MatchLog] | None:
    """Return the result of a match that a team, or both, did not come to."""
    here: list[Player] = [player for player in PLAYERS if match.teams[player] not in absent]
    if len(here) == 2:
        return None
    winner = here[0] if here else None
    return Result(match, winner, "never_arrived", "", None, 0, (0.0, 0.0), (0, 0), STARTED, 0.0), MatchLog()


def _result(match: Match, done: int, dice: Random) -> tuple[Result, MatchLog]:
    """By the rules nine times in ten."""
    difference = (match.second - match.first) / 8 + 0.1 + dice.gauss(0, 1)
    drawn = abs(difference) < 0.15 and match.game != "linkage"
    winner: Player | None = None if drawn else (0 if difference > 0 else 1)
    scores: Any = (7, 7) if drawn else (9, 4 + dice.randrange(4)) if winner == 0 else (3 + dice.randrange(4), 8)
    started = STARTED + 3 * done
    result = Result(match, winner, "finished", "", scores, 60, (1.5, 0.25), (0, 0), started, 2.5)
    if drawn or winner is None or dice.random() < 0.9:
        return result, MatchLog()
    return _disturbed(result, winner, dice)


def _moves(match: Match, count: int) -> Iterator[bytes]:
    """Yield the first turns of a match, as its record has them."""
    state, dice = GAMES[match.game].start(**match.options), Random(match.number)
    for _ in range(count):
        if state.outcome is not None:
            return
        move = random_move(state, dice)
        yield encode({"player": state.to_move, "move": move, "ms": 120.0, "timed": "wake"})
        state.play(move)


def _disturbed(result: Result, winner: Player, dice: Random) -> tuple[Result, MatchLog]:
    """Return the same result for another reason."""
    reason = dice.choice(["missed_limit", "illegal_move", "never_arrived", "hostile", "resigned"])
    loser, happened = 1 - winner, MatchLog()
    faults = (int(loser == 0), int(loser == 1)) if reason in ("missed_limit", "illegal_move") else (0, 0)
    if reason == "hostile":
        about = {
            "code": "oversize_frame",
            "detail": "<b>\u202e",
            "address": "10.0.0.9",
            "after_turn": 3,
            "count": 2,
        }
        happened.incidents.append({"team": result.match.teams[loser], **about})
    turns = 0 if reason == "never_arrived" else 12
    return replace(result, reason=reason, detail="as told", turns=turns, faults=faults), happened


def each_format() -> list[dict[str, Any]]:
    """Return an event of each game and format, with all ways of scoring among them."""
    return [
        {"game": "hop"},
        {"game": "longest_path", "name": "paths", "format": "swiss", "settings": {"rounds": 3, "legs": 1}},
        {"game": "chain_reaction", "format": "knockout", "settings": {"best_of": 1}},
        {"game": "pseudo_tonga", "format": "gauntlet", "settings": {"challengers": [1, 2]}},
        {"game": "linkage", "format": "ladder", "settings": {"rounds": 2, "games": 4}},
    ]
