"""Makes answers of a tournament, as the reader may see it: see `getstep_server.api`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from msgspec.structs import replace

from getstep_engines import GAMES
from getstep_server.config.event import ContestEvent, describe_event
from getstep_server.formats.knockout import Knockout
from getstep_server.formats.ladder import Ladder
from getstep_server.records.match import Match
from getstep_server.records.message import Message
from getstep_server.records.reasons import Reason
from getstep_server.records.result import PLAYERS, Result, winner_text
from getstep_server.tournament.combined import as_shown
from getstep_server.tournament.crosstable import crosstable_of
from getstep_server.tournament.estimate import Estimate
from getstep_server.tournament.messages import Question
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament

from .answers import (
    BracketPairing,
    CombinedAnswer,
    CombinedStandings,
    ContestAnswer,
    Crosstable,
    EventAnswer,
    EventBracket,
    EventRatings,
    EventStandings,
    MatchAnswer,
    MessageAnswer,
    Notices,
    Outcome,
    OwnResult,
    PauseAnswer,
    QuestionAnswer,
    RatingAnswer,
    RatingInterval,
    ResultAnswer,
    Rung,
    StandingAnswer,
    TeamRef,
    TeamTotals,
)
from .visibility import visible_messages

CROSSTABLE_TEAMS = 64
"""The most teams of a crosstable, the best ones: with more it is too wide to read."""

RATED_TEAMS = 64
"""The most teams whose ratings are computed for a page: 64 take half a second in a thread."""

_POINTS: dict[str, str] = {"win": "1", "draw": "½", "loss": "0"}

# --- teams, matches, results ------------------------------------------------------------------------------------


def outcome_of(result: Result, team: int) -> Outcome:
    """Return the outcome of a result for one of its two teams."""
    return _outcome(result.outcome_for(PLAYERS[result.match.teams.index(team)]))


def team_ref(tournament: Tournament, team: int) -> TeamRef:
    return TeamRef(id=team, name=tournament.contest.team_name(team))


def match_answer(tournament: Tournament, match: Match) -> MatchAnswer:
    return MatchAnswer(
        match=match.number,
        event=_event_name(tournament, match),
        event_number=match.event,
        round=match.round,
        teams=_teams(tournament, match),
    )


def result_answer(tournament: Tournament, result: Result) -> ResultAnswer:
    first, second = (_POINTS[result.outcome_for(player)] for player in PLAYERS)
    match = result.match
    return ResultAnswer(
        match=match.number,
        event=_event_name(tournament, match),
        event_number=match.event,
        round=match.round,
        teams=_teams(tournament, match),
        points=(first, second),
        winner=result.winner,
        text=winner_text(result, tournament.contest.team_name),
        reason="" if result.reason == Reason.FINISHED else str(result.reason).replace("_", " "),
        why=result.detail,
        turns=result.turns,
        thought=(round(result.thought[0], 3), round(result.thought[1], 3)),
        faults=result.faults,
        seconds=round(result.seconds, 3),
        ended=round(1000 * (result.started + result.seconds)),
    )


def own_result(tournament: Tournament, result: Result, team: int) -> OwnResult:
    """Return a result from a team's point of view."""
    player = PLAYERS[result.match.teams.index(team)]
    game, seen = GAMES.get(result.match.game), result_answer(tournament, result)
    return OwnResult(
        **{name: getattr(seen, name) for name in seen.__struct_fields__},
        outcome=_outcome(result.outcome_for(player)),
        opponent=seen.teams[1 - player],
        role=game.players[player] if game is not None else "",
        own_faults=result.faults[player],
        own_thought=seen.thought[player],
    )


def team_totals(own: Sequence[Result], team: int) -> TeamTotals:
    """Return the counts of a team's own results."""
    players = [PLAYERS[result.match.teams.index(team)] for result in own]
    outcomes = [result.outcome_for(player) for result, player in zip(own, players, strict=True)]
    thought = sum(result.thought[player] for result, player in zip(own, players, strict=True))
    moves = sum(result.turns for result in own) / 2
    return TeamTotals(
        played=len(own),
        won=outcomes.count("win"),
        drawn=outcomes.count("draw"),
        lost=outcomes.count("loss"),
        faults=sum(result.faults[player] for result, player in zip(own, players, strict=True)),
        thought_ms=round(1000 * thought),
        move_ms=round(1000 * thought / moves, 1) if moves else None,
    )


def _teams(tournament: Tournament, match: Match) -> tuple[TeamRef, TeamRef]:
    return team_ref(tournament, match.first), team_ref(tournament, match.second)


def _event_name(tournament: Tournament, match: Match) -> str:
    """Return the name of a match's event; of its game, if the event is no longer in the contest."""
    contest = tournament.contest
    return contest.event(match.event).heading if match.event <= len(contest.events) else match.game


def _outcome(text: str) -> Outcome:
    return "win" if text == "win" else "loss" if text == "loss" else "draw"


# --- messages and pauses ----------------------------------------------------------------------------------------

PAGE_MESSAGES = 5
"""The latest messages at the top of each page."""


STANDBY_MISSING = "the second computer does not have the latest results"
"""Why a contest stands still whose results wait for a standby host."""


def notices(
    whole: Tournament, seen: Tournament, latest: int = PAGE_MESSAGES, standby_missing: float | None = None
) -> Notices:
    """Return the latest messages that everybody may read, and what is paused.

    Args:
        whole: the contest by all its records.
        seen: the contest as spectators may see it: they do not know of other matches.
        latest: the most messages.
        standby_missing: the Unix time since which the contest stands still without a standby host, if it does.
    """
    waits = [] if standby_missing is None else [_standby_pause(standby_missing)]
    return Notices(
        messages=[message_answer(whole, one) for one in visible_messages(whole, latest)],
        paused=waits
        + [
            PauseAnswer(
                event=one.event,
                match=one.match,
                name=_pause_name(whole, one.event, one.match),
                why=one.why,
                at=round(1000 * datetime.fromisoformat(one.at).timestamp()),
            )
            for one in whole.pauses.decisions
            if one.match is None or one.match in seen.matches
        ],
    )


def _standby_pause(since: float) -> PauseAnswer:
    return PauseAnswer(event=None, match=None, name="the contest", why=STANDBY_MISSING, at=round(1000 * since))


def message_answer(tournament: Tournament, message: Message) -> MessageAnswer:
    """Return an announcement or an answer. Call it for a reader who may see it: see `visibility`."""
    asked = None if message.question is None else tournament.messages.questions[message.question]
    return MessageAnswer(
        kind="announcement" if asked is None else "answer",
        text=message.text,
        by=message.by or "",
        at=round(1000 * message.at),
        to_all=message.kind == "announcement" or message.to_all,
        team=None if asked is None else team_ref(tournament, asked.team),
        question=None if asked is None else asked.text,
    )


def question_answer(tournament: Tournament, question: Question) -> QuestionAnswer:
    return QuestionAnswer(
        number=question.number,
        text=question.text,
        at=round(1000 * question.at),
        answers=[message_answer(tournament, one) for one in question.answers],
    )


def _pause_name(tournament: Tournament, event: int | None, match: int | None) -> str:
    if match is not None:
        return f"match {match}"
    if event is None:
        return "the contest"
    contest = tournament.contest
    return contest.event(event).heading if event <= len(contest.events) else f"event {event}"


# --- the contest and its events ---------------------------------------------------------------------------------


def contest_answer(tournament: Tournament) -> ContestAnswer:
    contest = tournament.contest
    return ContestAnswer(
        name=contest.name,
        teams=len(contest.teams),
        events=[event_answer(tournament, event) for event in contest.events],
    )


def event_answer(tournament: Tournament, event: ContestEvent) -> EventAnswer:
    return EventAnswer(
        number=event.number,
        name=event.name,
        game=event.game.name,
        title=event.game.title,
        format=event.format.name,
        about=describe_event(event, tournament.contest.file.time.lag_ms),
        teams=len(event.teams),
    )


def event_standings(tournament: Tournament, event: ContestEvent) -> EventStandings:
    """Return the standings of an event. This takes some milliseconds for each thousand results."""
    rows = as_shown(tournament.tables().events[event.number])
    return EventStandings(event=event.number, rows=[_standing(tournament, row) for row in rows])


def _standing(tournament: Tournament, row: Standing) -> StandingAnswer:
    return StandingAnswer(
        team=team_ref(tournament, row.team),
        rank=None if row.waiting else row.rank,
        played=row.played,
        won=row.won,
        drawn=row.drawn,
        lost=row.lost,
        points=row.points,
        difference=row.difference,
        place=row.place,
        byes=row.byes,
        direct=row.direct,
        buchholz=row.buchholz,
        lot=row.lot,
        status=str(row.status),
        rating=None if row.rating is None else row.rating.value,
        rating_margin=None if row.rating is None else row.rating.margin,
        league=row.league,
    )


def combined_standings(tournament: Tournament) -> CombinedStandings:
    """Return the table of all events. This takes as long as all their standings."""
    return CombinedStandings(
        rows=[
            CombinedAnswer(
                team=team_ref(tournament, row.team),
                rank=None if row.waiting else row.rank,
                total=row.total,
                shares=dict(row.shares),
                firsts=row.firsts,
                lot=row.lot,
                status=str(row.status),
            )
            for row in as_shown(tournament.tables().combined)
        ]
    )


def event_ratings(tournament: Tournament, event: ContestEvent) -> EventRatings | None:
    """Return the ratings of an event; None if it has too many teams. Call it in a thread."""
    if len(event.teams) > RATED_TEAMS:
        return None
    from getstep_server.tournament.ratings import ratings_of  # here: it imports numpy, which takes 100 ms

    rows = [
        RatingAnswer(
            team=team_ref(tournament, row.team),
            games=row.games,
            elo=_interval(row.elo),
        )
        for row in ratings_of(tournament, event).table
    ]
    return EventRatings(event=event.number, rows=rows)


def _interval(elo: Estimate | None) -> RatingInterval | None:
    return None if elo is None else RatingInterval(value=elo.value, low=elo.low, high=elo.high)


def crosstable(tournament: Tournament, event: ContestEvent) -> Crosstable:
    """Return the crosstable: for each pair of teams the points, and who has more."""
    return tournament.cached(event, "crosstable answer", lambda: _crosstable(tournament, event))


def _crosstable(tournament: Tournament, event: ContestEvent) -> Crosstable:
    table = crosstable_of(tournament, event)
    teams = [row.team for row in table.rows[:CROSSTABLE_TEAMS]]
    form = {"signed_roots": ".1f", "percentage": ".0f", "points": "g"}[event.scoring.kind]

    def cell(team: int, other: int) -> tuple[str, Outcome] | None:
        own, others = table.points(team, other), table.points(other, team)
        if team == other or own is None or others is None:
            return None
        return format(own, form), "win" if own > others else "loss" if own < others else "draw"

    return Crosstable(
        teams=[team_ref(tournament, team) for team in teams],
        rows=[[cell(team, other) for other in teams] for team in teams],
        left_out=len(table.rows) - len(teams),
        percent=event.scoring.kind == "percentage",
    )


def event_bracket(tournament: Tournament, event: ContestEvent) -> EventBracket:
    return EventBracket(event=event.number, rounds=bracket(tournament, event), ladder=ladder(tournament, event))


def bracket(tournament: Tournament, event: ContestEvent) -> list[list[BracketPairing]] | None:
    """Return the rounds of a knockout, each a list of its pairings from the top down; None for other formats."""
    return tournament.cached(event, "bracket answer", lambda: _bracket(tournament, event))


def _bracket(tournament: Tournament, event: ContestEvent) -> list[list[BracketPairing]] | None:
    if not isinstance(event.format, Knockout):
        return None
    teams, played = tournament.played(event)
    if not played:
        return None
    numbers: dict[int, list[int]] = {}
    for match in tournament.matches.values():
        if match.event == event.number:
            numbers.setdefault(match.pairing, []).append(match.number)
    rounds: dict[int, list[BracketPairing]] = {}
    for pairing in event.format.bracket(teams, played).pairings():
        first, second = (None if team is None else team_ref(tournament, team) for team in pairing.teams)
        rounds.setdefault(pairing.round, []).append(
            BracketPairing(
                teams=(first, second),
                wins=(pairing.wins[0], pairing.wins[1]),
                winner=pairing.winner,
                third=pairing.third_place,
                bye=pairing.bye,
                matches=numbers.get(pairing.number, []),
            )
        )
    found = [rounds[number] for number in sorted(rounds)]
    for before, after in pairwise(found):
        after[:] = [_by_feeders(one, before[2 * place : 2 * place + 2]) for place, one in enumerate(after)]
    return found


def _by_feeders(pairing: BracketPairing, feeders: Sequence[BracketPairing]) -> BracketPairing:
    """Put each team beside the pairing that it comes from, also before its opponent is known."""
    winners = [next((team for team in one.teams if team and team.id == one.winner), None) for one in feeders]
    known = {team.id: wins for team, wins in zip(pairing.teams, pairing.wins, strict=True) if team}
    if pairing.third or not known.keys() <= {team.id for team in winners if team}:
        return pairing
    first, second = (team if team and (team.id in known or not known) else None for team in winners)
    wins = [known.get(team.id, 0) if team else 0 for team in (first, second)]
    return replace(pairing, teams=(first, second), wins=(wins[0], wins[1]))


def ladder(tournament: Tournament, event: ContestEvent) -> list[Rung] | None:
    """Return the rungs of a ladder from the top down, each with the games against the rung below in this round."""
    return tournament.cached(event, "ladder answer", lambda: _ladder(tournament, event))


def _ladder(tournament: Tournament, event: ContestEvent) -> list[Rung] | None:
    if not isinstance(event.format, Ladder):
        return None
    teams, played = tournament.played(event)
    order = event.format.order(teams, played)
    latest = max((game.pairing.round for game in played), default=0)
    between: dict[frozenset[int], list[int]] = {}
    for game in played:
        if game.pairing.round == latest and game.counts:
            for team in game.pairing.teams:
                between.setdefault(frozenset(game.pairing.teams), []).extend([team] * game.won_by(team))
    below: list[tuple[int, int] | None] = []
    for upper, lower in pairwise(order):
        wins = between.get(frozenset([upper, lower]))
        below.append(None if wins is None else (wins.count(upper), wins.count(lower)))
    return [
        Rung(team=team_ref(tournament, team), round=latest, below=wins)
        for team, wins in zip(order, [*below, None], strict=True)
    ]
