"""The slip of one team, as the host's console and a team that has signed up get it."""

from __future__ import annotations

import trio
from msgspec.structs import replace

from getstep_server.config.contest import Contest, load_contest
from getstep_server.reports.slips import address_to_type, as_html

from .feed import Feed
from .http import Request, Response

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""A slip has its style in itself, because it is a file of its own elsewhere. It has no script."""

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
"""What people type on the computer that serves the page. No other computer finds the page there."""


def slip_contest(feed: Feed, team: int, request: Request) -> Contest | None:
    """Return the contest with this team alone, as its slip has it; None if there is no such team. It reads files.

    The slip names the page as the sender of ``request`` has found it, unless the contest has a `page_address`.

    Raises:
        ConfigError: the files of the contest cannot be read.
    """
    contest = load_contest(feed.folder)
    if team not in contest.contestants:
        return None
    status = feed.status if feed.server_runs else None
    if status is not None and status.address is not None:  # `run` may listen on another port than contest.toml says
        contest = contest.listening_on(port=status.address[1])
    server = contest.file.server
    if request.by_proxy:
        server = replace(server, page_address=server.page_address or request.page)
    else:
        server = replace(server, web_port=request.port)
    return replace(contest, teams={team: contest.teams[team]}, file=replace(contest.file, server=server))


def contest_host(contest: Contest, request: Request) -> str:
    """Return the address of the bots' port for the person who has sent a request: the one that they have typed.

    Raises:
        ConfigError: they have typed one that only this computer has, and no other is known.
    """
    return address_to_type(contest) if request.typed_host in LOOPBACK_NAMES else request.typed_host


async def slip_response(contest: Contest, host: str) -> Response:
    """Return the slip of the only team of ``contest``, for the printer.

    Raises:
        ConfigError: the certificate of the contest cannot be read.
    """
    page = await trio.to_thread.run_sync(as_html, contest, host)
    return Response(page.encode(), headers=(("Content-Security-Policy", _POLICY),))
