"""Signing up by a link of the host: ``/join/KEY`` asks for the team's name, and shows the new team its slip.

Theory of operation
-------------------

*A team joins as by the command* ``teams add``: the request `decisions.requests.SignUp` goes the way of all
decisions, before the contest and while matches run. It checks the link, the name and the room that there is, and
counts the use of the link, under the lock of teams.toml.

*To look at a link spends nothing*: programs that preview links in chats look, too. A form has a random word. If the
answer is lost on the way, the browser sends the same form again, and gets the same team's slip instead of another
team.

*Wrong links are delayed* as wrong logins are; while one of an address waits, other wrong ones are refused at once.
A right one never waits: a class may share an address. The teams that sign up from one address are counted, so that
one person does not use up a link that is good for many.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import trio

from getstep.languages import LANGUAGES, Language
from getstep_server.config.contest import Team
from getstep_server.config.contestants_package import package_hash
from getstep_server.config.invitations import Invitation, invitation_with
from getstep_server.decisions import making
from getstep_server.decisions.requests import SignUp
from getstep_server.errors import ConfigError, UsageError
from getstep_server.limits import BAD_LOGIN_LONGEST_SECONDS, SIGN_UP_SECONDS, SIGN_UPS_KEPT
from getstep_server.login_limits import LoginLimiter, Quota
from getstep_server.records.record import RecordError
from getstep_server.reports.slips import commands
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.text import pluralize

from .feed import Feed
from .http import AnyResponse, Request, Response, problem, retry_later
from .kept import hash_of
from .slip import contest_host, slip_contest, slip_response

_WORD = re.compile(r"[A-Za-z0-9_-]{32}")
_JOIN = re.compile(r"/join/([A-Za-z0-9_-]{16,64})")


def join_path(key: str) -> str:
    """Return the path of the link with this key."""
    return f"/join/{key}"


class SignUpPage:
    """The pages under ``/join``.

    Args:
        feed: the contest.
        render: makes a page from a template.
        log_in: logs a browser in to the area of a team, and returns its cookie as a header.
    """

    def __init__(
        self, feed: Feed, render: Callable[..., Response], log_in: Callable[[Request, Team], tuple[str, str]]
    ) -> None:
        self._feed = feed
        self._render = render
        self._log_in = log_in
        self._limiter = LoginLimiter()
        self._delayed: set[str] = set()
        """The addresses for which the answer to a wrong link waits."""
        self._most = feed.contest.file.quotas.sign_ups_per_hour
        self._quota = Quota(self._most, SIGN_UP_SECONDS)
        self._signing = trio.CapacityLimiter(1)  # each reads the records, as each decision does
        self._joined: dict[str, Team] = {}
        """The teams that have signed up, by the hashes of the words of their forms; the oldest first."""

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/join``."""
        found = _JOIN.fullmatch(request.path)
        if found is None:
            return self._refuse(404, "Open the link that you have from the host.")
        if request.method == "POST" and not request.is_own:
            return problem(403, "this form is not from this page; load the page again")
        try:
            return await self._answer(request, found[1])
        except ValueError:
            return problem(400, "expected at most 16 fields in the form")
        except (ConfigError, StoreError, DatabaseError, RecordError) as error:
            return self._refuse(503, f"The contest cannot be changed now ({error}). Try again.")

    async def _answer(self, request: Request, key: str) -> AnyResponse:
        form = request.form() if request.method == "POST" else {}
        word = hash_of(form["word"]) if _WORD.fullmatch(form.get("word", "")) else ""
        if word in self._joined:
            return await self._joined_page(request, word, form)
        invitation = await trio.to_thread.run_sync(invitation_with, self._feed.folder, key)
        if invitation is None:
            return await self._wrong(request)
        if closed := invitation.closed(time.time()):
            return self._refuse(410, f"This link does not sign up a team: {closed}. Ask the host for another one.")
        if request.method != "POST" or not word:
            return self._form(invitation)
        if wait := self._quota.seconds_left(request.address):
            text = f"{pluralize(self._most, 'team')} of your address signed up within an hour, which is the most"
            return retry_later(text, wait)
        async with self._signing:
            if word not in self._joined:  # a double click sends a form twice
                asked = SignUp(key=key, name=form.get("name", ""))
                try:
                    made = await trio.to_thread.run_sync(making.decide, self._feed.folder, asked)
                except (UsageError, ConfigError) as error:  # of a name that cannot be, for example
                    return self._form(invitation, asked.name, str(error).removeprefix("name: "))
                self._quota.count(request.address)
                self._joined[word] = made.teams[0]
                for old in list(self._joined)[:-SIGN_UPS_KEPT]:
                    del self._joined[old]
        return await self._joined_page(request, word, form)

    async def _wrong(self, request: Request) -> AnyResponse:
        if request.address in self._delayed:
            return retry_later("a wrong link has just been tried from here", BAD_LOGIN_LONGEST_SECONDS)
        self._delayed.add(request.address)
        try:
            await trio.sleep(self._limiter.record_failure(request.address))
        finally:
            self._delayed.discard(request.address)
        return self._refuse(
            404, "This link is wrong. Copy the whole link that the host has sent, or ask the host for another one."
        )

    # --- pages ---

    def _form(self, invitation: Invitation, name: str = "", problem: str = "") -> Response:
        return self._render(
            "join",
            status=409 if problem else 200,
            title="Sign up",
            word=secrets.token_urlsafe(24),
            left=invitation.uses - len(invitation.teams),
            name=name,
            problem=problem,
        )

    async def _joined_page(self, request: Request, word: str, form: Mapping[str, str]) -> AnyResponse:
        """Return the page of a new team, or its slip; both have the token."""
        joined = self._joined[word]
        contest = await trio.to_thread.run_sync(slip_contest, self._feed, joined.id, request)
        if contest is None or contest.teams[joined.id].token != joined.token:
            return self._refuse(410, "Your team has another token now: log in with it, or ask the host.")
        host = contest_host(contest, request)
        if "slip" in form:
            return await slip_response(contest, host)
        typed = await trio.to_thread.run_sync(
            lambda: commands(contest, joined, host, package_hash(contest))  # a package is made for the hash
        )
        page = self._render(
            "joined",
            title="Your team",
            team=joined,
            word=form["word"],
            python=[line for command in typed.values() for line in command.splitlines()],
            languages=_languages(typed["login"].removeprefix(_LOGIN)),
        )
        return replace(page, headers=(*page.headers, self._log_in(request, joined)))

    def _refuse(self, status: int, text: str) -> Response:
        return self._render("error", status=status, title="Sign up", text=text)


_LOGIN = "getstep login "


def _languages(options: str) -> list[tuple[Language, str, list[str]]]:
    """Return how a bot in each language is built and started: the language, the name of the file, the commands."""
    found = []
    for language in LANGUAGES.values():
        file = Path(("my_bot" if language.name_of_bot == ".+" else "MyBot") + language.suffix)
        *build, start = language.builds_here("linux")[0].commands(file)
        found.append((language, file.name, [*build, f"{start} {options}"]))
    return found
