"""Challenges: a team of an arena asks for a friendly match, in its area or with `getstep challenge`.

Theory of operation. The page decides if a team may ask, by the records and by who is connected, and stores the wish
as a record, as a command of the host stores a decision. The server applies it within two seconds and begins the
match once both teams are free; the page tells it nothing else, and shows what the records say afterwards.

A refusal costs no disk. One request of a team is worked on at a time, and it holds both teams until its record is
read back: so the quotas hold however many requests come at once. This process alone writes challenges.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Literal

import trio

from getstep_server.api.answers import ChallengeAnswer, ChallengesAnswer, Outcome
from getstep_server.api.build import outcome_of, team_ref
from getstep_server.config.names import UnknownTeam, find_team
from getstep_server.records.challenge import Challenge, record_of_challenge
from getstep_server.records.record import Record
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.store import Store
from getstep_server.text import utc_time
from getstep_server.tournament.challenges import DAY_SECONDS

from .feed import POLL_SECONDS, Feed
from .http import JSON, Request, Response, problem
from .own_games import program_in_use
from .parts import state_of
from .topics import encode

SHOWN = 20
"""The latest challenges that a team's area shows."""

READ_BACK_SECONDS = 10.0
"""The longest wait for a record that was stored: the page reads new ones three times a second."""


class ChallengeForm:
    """Takes the challenges of all teams, and shows each team its own.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._busy: set[int] = set()
        """The teams of which a challenge is being stored."""
        self._writing = trio.CapacityLimiter(1)

    # --- what comes in ---

    async def take(self, team: int, request: Request) -> Response:
        """Answer a team that challenges the one in the field ``opponent``: its id, its name or the beginning of it.

        Raises:
            ValueError: the form has too many fields.
        """
        text = request.form().get("opponent", "")
        try:
            opponent = find_team(self._feed.contest, text)
        except UnknownTeam as error:
            return problem(409, f"{error}; your team's area lists the teams that are here")
        if (refused := self._refusal(team, opponent)) is not None:
            return refused
        self._busy |= {team, opponent}
        try:
            challenge = await self._put(team, opponent)
        except (StoreError, DatabaseError) as error:
            return problem(503, f"the challenge cannot be stored now ({error}); try again")
        finally:
            self._busy -= {team, opponent}
        if challenge is None:
            return problem(
                503, "the challenge is stored, and the page has not read it yet; look at your team's area"
            )
        return Response(encode({"number": challenge.number, "opponent": self._name(opponent)}), JSON, 202)

    def _refusal(self, team: int, opponent: int) -> Response | None:
        feed, now = self._feed, time.time()  # the wall clock, as in the records
        if (closed := self._closed(team)) is not None:
            return problem(403, closed)
        if opponent not in feed.contest.teams:
            return problem(
                409, f"team {opponent}: no team has this id; your team's area lists the teams that are here"
            )
        if opponent in feed.contest.house_bots:
            return problem(
                403, f"{self._name(opponent)} plays in the arena only; at home: getstep practice my_bot.py"
            )
        if {team, opponent} & self._busy:
            return problem(429, "another challenge of one of these teams is being stored; try again in a second")
        objection = feed.whole.challenges.objection(feed.contest, team, opponent, now)
        if objection is not None:
            return problem(409, objection)
        if program_in_use(feed.folder, opponent) is not None:
            return problem(
                409, f"the host plays the program of {self._name(opponent)}, which plays in the arena only"
            )
        if self._event(team, opponent) is None:
            return problem(409, f"your team and {self._name(opponent)} take part in no arena together")
        absent = [one for one in (team, opponent) if not self._connected(one)]
        if absent:
            who = "your team has no bot connected: start it with getstep play my_bot.py"
            return problem(409, who if team in absent else f"{self._name(opponent)} has no bot connected now")
        return None

    def _closed(self, team: int) -> str | None:
        """Return why the team can make no challenge at all now; None if it can."""
        feed = self._feed
        if not feed.contest.is_open_ended:
            return "this contest is no arena: its matches are paired by the host's format only"
        if feed.contest.file.challenges.made_per_day == 0:
            return "the host allows no challenges in this contest"
        if feed.frozen:
            return "results are hidden now, so there are no challenges until the host reveals them"
        if feed.whole.pauses.contest is not None:
            return "the contest is paused; try again when it goes on"
        if not feed.server_runs or state_of(feed) == "over":
            return "the contest is over, or its server does not run now"
        if program_in_use(feed.folder, team) is not None:
            return "the host plays your team's program, which plays in the arena only"
        return None

    async def _put(self, team: int, opponent: int) -> Challenge | None:
        """Store a challenge, and return it as it was read back; None if that takes too long."""
        feed, at = self._feed, utc_time(time.time())
        event = self._event(team, opponent)
        if event is None:
            return None
        before = set(feed.whole.challenges.made)
        record = record_of_challenge(feed.contest, team, opponent, event, at)
        write = partial(_store, feed, record)
        await trio.to_thread.run_sync(write, limiter=self._writing)
        with trio.move_on_after(READ_BACK_SECONDS):
            while True:
                made = feed.whole.challenges.made
                for number in made.keys() - before:
                    if made[number].teams == (team, opponent):
                        return made[number]
                await trio.sleep(POLL_SECONDS)  # the feed has no event for a new record
        return None

    def _event(self, team: int, opponent: int) -> int | None:
        """Return the first arena in which both teams take part."""
        both, status = {team, opponent}, self._feed.whole.status
        fitting = (one.number for one in self._feed.contest.events if both <= set(one.teams))
        return next((number for number in fitting if not any(status(one, number) for one in both)), None)

    def _connected(self, team: int) -> bool:
        return self._feed.status is not None and self._feed.status.connected.get(team, 0) > 0

    def _name(self, team: int) -> str:
        return self._feed.contest.team_name(team)

    # --- what goes out ---

    def state(self, team: int) -> ChallengesAnswer:
        """Return what a team's area shows: who can be challenged, and the latest challenges of and to the team."""
        feed, now = self._feed, time.time()
        contest, challenges = feed.contest, feed.whole.challenges
        latest = challenges.of(team, 0.0)[-SHOWN:]
        made = [one for one in challenges.of(team, now - DAY_SECONDS) if one.team == team]
        closed = self._closed(team)
        here = (
            [one for one in contest.contestants if one != team and self._connected(one)] if closed is None else []
        )
        return ChallengesAnswer(
            arena=contest.is_open_ended,
            closed=closed,
            left=max(0, contest.file.challenges.made_per_day - len(made)),
            here=[team_ref(feed.whole, one) for one in here if program_in_use(feed.folder, one) is None],
            latest=[self._shown(challenge, team, now) for challenge in reversed(latest)],
        )

    def _shown(self, challenge: Challenge, team: int, now: float) -> ChallengeAnswer:
        feed = self._feed
        result = feed.whole.challenges.results.get(challenge.number)
        other = challenge.opponent if challenge.team == team else challenge.team
        state: Outcome | Literal["waiting", "playing", "lapsed"]
        if result is not None:
            state = outcome_of(result, team)
        elif feed.status is not None and challenge.number in feed.status.friendly:
            state = "playing"
        else:
            # a moment longer than the server: it has perhaps just begun the match
            waiting = {one.number for one in feed.whole.challenges.waiting(now - READ_BACK_SECONDS)}
            state = "waiting" if challenge.number in waiting else "lapsed"
        return ChallengeAnswer(
            number=challenge.number,
            opponent=team_ref(feed.whole, other),
            ours=challenge.team == team,
            state=state,
            why="" if result is None else result.detail,
            at=round(1000 * challenge.at),
        )


def _store(feed: Feed, record: Record) -> None:
    """Append a record to the chain; any thread may call this.

    Raises:
        StoreError, DatabaseError: the database cannot be written.
    """
    with Store(feed.contest.database) as store:
        trio.run(store.save, record)
