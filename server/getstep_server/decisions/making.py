"""Previews a decision, and puts it on record.

A decision is checked against the state that it is made on, and stored only if no record has been added since
(`storage.store.Conflict`); else it is checked again. A running server adds results all the time, so that is no
reason to ask the host again. But a host who has seen a preview is asked again if something came between that
concerns the decision: another decision, or a result of the same match.

All functions here block: a page calls them in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import trio
from msgspec import Struct

from getstep_server.config.contest import Contest, Team, load_contest
from getstep_server.config.invitations import invitations_written
from getstep_server.config.roster import roster_locked, teams_written
from getstep_server.errors import UsageError
from getstep_server.records.decision import (
    Decision,
    decision_fields,
    decision_of,
    describe_decision,
    record_of_decision,
    validate_decision,
)
from getstep_server.records.game import is_void, result_of
from getstep_server.records.record import RecordError
from getstep_server.reports.tables import result_line
from getstep_server.storage.contest_state import complete_tournament, load_tournament
from getstep_server.storage.database import not_there
from getstep_server.storage.lost_records import has_database
from getstep_server.storage.recovery import left_running
from getstep_server.storage.store import Conflict, Store
from getstep_server.tournament.tournament import Tournament

from .preview import Preview, consequences
from .requests import Request, Ruling, State


class StateChanged(UsageError):  # noqa: N818 - nothing is wrong
    """Raised when something that concerns a decision is on record since its preview; nothing was stored.

    ``between`` are the other decisions and results, in words.
    """

    def __init__(self, between: Iterable[str]) -> None:
        self.between = tuple(between)
        super().__init__(
            f"since the preview: {'; '.join(self.between)}; nothing was put on record, look at it again"
        )


class Made(Struct, frozen=True):
    """Decisions that are on record, or would be: the tournament after them, and what they change.

    ``teams`` are those that teams.toml has anew, with their tokens. ``keys`` are those of new invitations, by their
    numbers. ``begun`` is False if nothing is on record yet.
    """

    after: Tournament
    preview: Preview
    teams: Sequence[Team] = ()
    keys: Mapping[int, str] = {}
    begun: bool = True


def preview(folder: Path, request: Request, labels: Mapping[str, str] | None = None) -> Made:
    """Return what would change if the request was put on record now. Stores nothing.

    Args:
        folder: of the contest.
        request: what the host asks for.
        labels: see `requests.State`.

    Raises:
        UsageError: the request cannot be put on record now.
        ConfigError, StoreError, RecordError: the contest cannot be read.
    """
    contest = load_contest(folder)
    if not _has_begun(contest, request):
        return _before_the_start(contest, request.ruling(State(contest, Tournament(contest), labels or {})))
    with Store(contest.database, reading=True) as store:
        before, after = load_tournament(contest, store), load_tournament(contest, store)
        ruling = _ruling(contest, before, request, labels)
        for decision in ruling.decisions:
            after.apply_decision(decision)
    return Made(after, consequences(ruling, before, after, _running(before)))


def decide(
    folder: Path, request: Request, labels: Mapping[str, str] | None = None, *, seen: int | None = None
) -> Made:
    """Put a request on record, and return what has changed; its tables are not compared.

    Args:
        folder: of the contest.
        request: what the host asks for.
        labels: see `requests.State`.
        seen: ``place`` of the preview that the host has seen; None if there was none.

    Raises:
        UsageError: the request cannot be put on record now.
        StateChanged: something that concerns it has happened since the preview.
        ConfigError, StoreError, RecordError: the contest cannot be read.
    """
    contest = load_contest(folder)
    with roster_locked(folder) if request.before_the_start else nullcontext():
        if request.before_the_start:
            contest = load_contest(folder)  # again: another process may have changed the file until now
        if not _has_begun(contest, request):
            ruling = request.ruling(State(contest, Tournament(contest), labels or {}))
            with _files_written(folder, ruling):
                request.finish(folder, ruling.teams)
            return _before_the_start(contest, ruling)
        return _decide(contest, request, labels, seen)


def _decide(contest: Contest, request: Request, labels: Mapping[str, str] | None, seen: int | None) -> Made:
    complete_tournament(contest, quick=True)
    with Store(contest.database) as store:
        while True:
            before = load_tournament(contest, store)
            ruling = _ruling(contest, before, request, labels)
            if seen is not None and (between := list(_between(store, before, ruling, seen))):
                raise StateChanged(between)
            records = [record_of_decision(contest, decision) for decision in ruling.decisions]
            running = _running(before)
            try:
                # The files first: a server that reads the record finds the token there, and no crash lets a link
                # be used once more.
                with _files_written(contest.folder, ruling):
                    trio.run(partial(store.save, *records, based_on=before.place))
            # The server may add a result at any moment: look at the records again, and decide by what they say now.
            except Conflict:
                continue
            request.finish(contest.folder, ruling.teams)
            after = load_tournament(contest, store)
            made = consequences(ruling, before, after, running, tables=False)
            return Made(after, made, ruling.teams, ruling.keys)


@contextmanager
def _files_written(folder: Path, ruling: Ruling) -> Iterator[None]:
    """Write the files that a ruling changes; put them back if the block fails."""
    with ExitStack() as files:
        if ruling.teams:
            files.enter_context(teams_written(folder, ruling.teams))
        if ruling.invitations:
            files.enter_context(invitations_written(folder, ruling.invitations))
        yield


def _has_begun(contest: Contest, request: Request) -> bool:
    """Return False if nothing is on record, and the request is possible even so."""
    if not has_database(contest):
        if request.before_the_start:
            return False
        raise UsageError(f"{not_there(contest.database)}; the contest has not started, so edit its files instead")
    if not request.before_the_start:
        return True
    with Store(contest.database, reading=True) as store:
        return load_tournament(contest, store).place > 0


def _before_the_start(contest: Contest, ruling: Ruling) -> Made:
    """Return what a ruling changes in the files with which the contest will begin."""
    words = tuple(describe_decision(one, contest) for one in ruling.decisions)
    return Made(Tournament(contest), Preview(0, words), ruling.teams, ruling.keys, begun=False)


def _ruling(contest: Contest, tournament: Tournament, request: Request, labels: Mapping[str, str] | None) -> Ruling:
    """Return the decisions of a request, which can be put on record in this state."""
    ruling = request.ruling(State(contest, tournament, labels or {}))
    for decision in ruling.decisions:
        try:
            validate_decision(decision_fields(contest, decision))
        except RecordError as error:
            raise UsageError(f"this decision cannot be recorded: {error}") from error
        if objection := tournament.objection(decision):
            raise UsageError(objection)
    return ruling


def _running(tournament: Tournament) -> set[int]:
    return left_running(tournament.contest.running, tournament.recorded)


def _between(store: Store, tournament: Tournament, ruling: Ruling, seen: int) -> Iterator[str]:
    """Yield what was put on record behind the place ``seen``, if it concerns the decisions of a ruling."""
    if tournament.place == seen:
        return
    matches = {one.match for one in ruling.decisions}
    teams = {one.team for one in ruling.decisions}
    for fields in store.record_headers()[seen:]:
        if fields["type"] == "decision":
            other = decision_of(fields)
            if not other.made_by_rule or _shares(other, teams):
                yield _words(tournament, other)
        elif fields["type"] == "game" and fields["match"] in matches:
            result = result_of(fields)
            if not is_void(result):
                yield result_line(result, tournament.contest.team_name)


def _shares(other: Decision, teams: set[Any]) -> bool:
    return other.team is not None and other.team in teams


def _words(tournament: Tournament, decision: Decision) -> str:
    match = tournament.matches.get(decision.match or 0)
    return f"{describe_decision(decision, tournament.contest, match)} ({decision.by}: {decision.why})"
