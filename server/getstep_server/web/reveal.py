"""The page of the reveal: everybody sees it, and only the host steers it.

The host's command ``reveal`` makes a random key and prints it in the terminal as a part of an address. The browser
that has opened this address sends the key with each step. The key is in no page and no topic, and nobody can guess
it. So wrong ones are refused without further limits. A step names the state that the browser has seen: a key that
is pressed twice, or in two windows, reveals one result and not two.

The results that were revealed are kept in a file of the contest's folder after each step. So the reveal goes on
where it was if its process dies. When nothing is hidden any more, a decision on record ends the freeze for all
pages.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import trio
from msgspec.structs import asdict, replace

from getstep_server.api.answers import Board, ResultAnswer, RevealParts, RevealState, Table
from getstep_server.api.build import match_answer, result_answer
from getstep_server.json_text import decode
from getstep_server.records.record import RecordError, parse
from getstep_server.records.result import Result
from getstep_server.tournament.reveal import Reveal

from .feed import Feed
from .http import JSON, Request, Response, problem
from .live import ended_match
from .parts import board_answer, freeze_answer, notices_answer, state_of
from .tables import PageTables, main_table
from .topics import Parts, encode

LATEST = 12
"""The results of one step that are shown: all matches of a team may be a hundred."""

_FILE = "reveal.json"
_MAX_BYTES = 1 << 24
"""The size of a file that is read: a million matches."""


class Steering:
    """The steps of a reveal.

    Args:
        feed: the contest, which is frozen.
        end_freeze: puts the end of the freeze on record, unless it has ended; it blocks.
    """

    def __init__(self, feed: Feed, end_freeze: Callable[[], None]) -> None:
        self.key = secrets.token_urlsafe(24)  # 192 bits, in the address that the terminal shows
        """The key that the browser of the host sends."""
        self.over = False
        """True if the freeze has ended."""
        self.latest: list[ResultAnswer] = []
        """The first results of the latest step."""
        self.count = 0
        """The number of the results of the latest step."""
        self._board: Board | None = None
        self._feed = feed
        self._end_freeze = end_freeze
        self._reveal: Reveal | None = None
        self._made: tuple[object, object, int] | None = None
        self._stepping = trio.Lock()  # one step at a time: a step waits for the database
        self._shown: RevealState | None = None
        self._table = Table()

    async def __call__(self, request: Request) -> Response:
        try:
            form = request.form()
        except ValueError:
            return problem(400, "expected at most 16 fields in the form")
        if not hmac.compare_digest(form.get("key", "").encode(), self.key.encode()) or not request.is_own:
            return problem(403, "only the host can do this: the address with the key is in the terminal")
        if form.get("what") not in ("next", "team", "all"):
            return problem(400, "what is next, team or all")
        try:
            self._stepping.acquire_nowait()  # not `acquire`: a second click must not reveal a second result
        except trio.WouldBlock:
            return problem(409, "the step before is not done yet")
        try:
            await self.prepare()
            if form.get("seen") == str(self._step_now):
                await self._step(form["what"])
        finally:
            self._stepping.release()
        return Response(encode({"step": self._step_now}), JSON)

    @property
    def _step_now(self) -> int | None:
        return None if self._shown is None else self._shown.step

    async def prepare(self) -> None:
        """Make the state before the next step, if records have come since the latest one."""
        feed = self._feed
        made = (feed.tournament, feed.whole, feed.whole.place)
        if self.over or not feed.frozen or made == self._made:
            return
        known = self._kept() if self._reveal is None else self._reveal.revealed
        self._reveal = await trio.to_thread.run_sync(Reveal, feed.tournament, feed.whole, known)
        self._made = made
        await trio.to_thread.run_sync(self._show)
        self._feed.version["reveal"] += 1

    def shown(self) -> tuple[RevealState, Table] | None:
        """Return what spectators see; None before the first state is made."""
        return None if self._shown is None else (replace(self._shown, over=self.over), self._table)

    async def _step(self, what: str) -> None:
        reveal = self._reveal
        if reveal is None or self.over:
            return
        step = {"next": reveal.step, "team": reveal.step_team, "all": reveal.finish}[what]
        found = await trio.to_thread.run_sync(step)
        matches = found if isinstance(found, list) else [] if found is None else [found]
        results = [reveal.tournament.final_result(match) for match in matches[:LATEST]]
        self.count = len(matches)
        known = [result for result in results if result is not None]
        self.latest = [result_answer(reveal.tournament, result) for result in known]
        one = known[0] if len(matches) == len(known) == 1 else None
        self._board = None if one is None else await trio.to_thread.run_sync(self._final_board, reveal, one)
        if not reveal.hidden:
            await trio.to_thread.run_sync(self._end_freeze)
            self.over = True
        await trio.to_thread.run_sync(self._keep)
        await trio.to_thread.run_sync(self._show)  # afterwards: a restart must not take back what was shown
        self._feed.version["reveal"] += 1

    def _show(self) -> None:
        """Make what spectators see. It takes some milliseconds for each thousand results."""
        reveal = self._reveal
        if reveal is None:
            return
        following = reveal.next_match()
        self._table = main_table(reveal.tournament)
        self._shown = RevealState(
            step=len(reveal.revealed),
            left=len(reveal.hidden),
            focus=reveal.next_team(),
            board=self._board,
            next=None if following is None else match_answer(reveal.tournament, following),
            next_game=None if following is None else following.game,
            by_team=reveal.hidden_by_team,
            latest=self.latest,
            count=self.count,
            over=self.over,
        )

    def _final_board(self, reveal: Reveal, result: Result) -> Board | None:
        """Return the board at the end of a match; None if no move was played, or the game is not installed."""
        store, number = self._feed.store, result.match.number
        games = [] if store is None else [parse(record.line) for record in store.records(number)]
        found = next((game for game in games if game["attempt"] == result.attempt), None)
        if found is None or not found["turns"]:
            return None
        try:
            return board_answer(reveal.tournament, ended_match(found, result))
        except RecordError:
            return None

    # --- the file ---

    def _path(self) -> Path:
        return self._feed.folder / _FILE

    def _kept(self) -> list[int]:
        """Return the matches that an earlier process has revealed of this freeze."""
        try:
            if self._path().stat().st_size > _MAX_BYTES:
                return []
            fields = decode(self._path().read_bytes())
            if fields["freeze"] != self._feed.whole.frozen_at:
                return []
            return [number for number in fields["revealed"] if type(number) is int]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _keep(self) -> None:
        """Keep the revealed matches; without a freeze, delete the file. A full disk ends no ceremony."""
        path, reveal = self._path(), self._reveal
        try:
            if self.over or reveal is None:
                path.unlink(missing_ok=True)  # nothing has been revealed yet
                return
            new = path.with_name(f"{_FILE}.new")
            new.write_bytes(encode({"freeze": self._feed.whole.frozen_at, "revealed": reveal.revealed}))
            os.replace(new, path)  # noqa: PTH105 - it is called in a thread, for one file
        except OSError as error:
            print(f"getstep-server: {path}: {error}; a restart begins the reveal anew", file=sys.stderr)


class RevealPage:
    """Builds the topic of the reveal.

    Args:
        feed: the contest.
        tables: returns the current tables.
        steering: the steps; None in a process that only shows the contest.
    """

    def __init__(self, feed: Feed, tables: Callable[[], PageTables], steering: Steering | None) -> None:
        self._feed = feed
        self._tables = tables
        self._steering = steering

    def __call__(self) -> Parts:
        feed = self._feed
        shown = None if self._steering is None else self._steering.shown()
        if shown is None:
            shown = _nothing_revealed(over=not feed.frozen), self._tables().main
        reveal, table = shown
        return asdict(
            RevealParts(
                notices=notices_answer(feed),
                reveal=reveal,
                playing=state_of(feed),
                freeze=freeze_answer(feed),
                table=table,
            )
        )


def _nothing_revealed(*, over: bool) -> RevealState:
    return RevealState(
        step=None,
        left=0,
        focus=None,
        board=None,
        next=None,
        next_game=None,
        by_team={},
        latest=[],
        count=0,
        over=over,
    )
