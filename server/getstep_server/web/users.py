"""Which team a user plays for whose name a trusted proxy has checked (`proxies`): by its id, or by a class list."""

from __future__ import annotations

import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Set

import trio

from getstep_server.config.class_list import kept_lists, kept_path
from getstep_server.config.contest import Contest, Team
from getstep_server.errors import ConfigError
from getstep_server.text import escape_control_chars, utc_time

from .http import Request

LOOK_SECONDS = 2.0
"""The interval at which the page looks whether a class list was imported."""


class UserTeams:
    """Finds the teams of users.

    Args:
        contest: returns the contest with its teams of now.
    """

    def __init__(self, contest: Callable[[], Contest]) -> None:
        self._contest = contest
        self._teams: Mapping[str, Set[int]] = {}
        self._read: object = None
        """The state of the file with the class lists that was read last."""

    async def run(self) -> None:
        """Read the class lists whenever they change, until cancelled."""
        while self._contest().file.server.trusted_user_column is not None:
            await trio.to_thread.run_sync(self.refresh)
            await trio.sleep(LOOK_SECONDS)

    def refresh(self) -> None:
        """Read the class lists if they have changed; any thread may call this."""
        folder, column = self._contest().folder, self._contest().file.server.trusted_user_column
        try:
            found = kept_path(folder).stat()
            state: object = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:
            state = "none"
        if column is None or state == self._read:
            return
        self._read = state
        try:
            self._teams = _users(self._contest(), column)
        except ConfigError as error:  # nobody can log in by it; the token on the slip still works
            self._teams = {}
            print(utc_time(time.time()), escape_control_chars(str(error)), file=sys.stderr, flush=True)

    def team_of(self, request: Request) -> Team | None:
        """Return the team of the user that a trusted proxy names; None if there is none, or more than one."""
        if not request.user:
            return None
        contest = self._contest()
        if contest.file.server.trusted_user_column is not None:
            ids = [number for number in self._teams.get(_key(request.user), ()) if number in contest.contestants]
        else:
            ids = [int(request.user)] if re.fullmatch("0|[1-9][0-9]{0,9}", request.user) else []
        return contest.contestants.get(ids[0]) if len(ids) == 1 else None


def _users(contest: Contest, column: str) -> Mapping[str, Set[int]]:
    """Return the ids of the teams of each user in a column of the class lists; a cell may have several users.

    Raises:
        ConfigError: the lists cannot be read, or none has the column.
    """
    users = defaultdict[str, set[int]](set)
    lists = kept_lists(contest.folder)
    if lists and all(_key(column) not in map(_key, one.columns) for one in lists):
        raise ConfigError(f"no class list that was imported has the column {column!r} of trusted_user_column")
    for one in lists:
        places = [place for place, name in enumerate(one.columns) if _key(name) == _key(column)]
        for row in one.rows:
            for place in places:
                for user in re.split("[,;\n]", row.cells[place] if place < len(row.cells) else ""):
                    users[_key(user)].add(row.team)
    users.pop("", None)
    return users


def _key(text: str) -> str:
    return text.strip().casefold()
