"""Slips: a page per team with all that a contestant has to type."""

from __future__ import annotations

import html
import shlex
import socket
import textwrap

import getstep
from getstep_engines import GAMES

from ._toml import ConfigError
from .contest import Contest, Team, contest_path
from .contest_event import ContestEvent

WHEEL = f"getstep-{getstep.__version__}-py3-none-any.whl"
"""The contestants' package, as ``pip wheel ./sdk`` names it."""

_INSTALL = f"""\
python3 -m venv .venv
. .venv/bin/activate
python -m pip install {WHEEL}"""
"""Into an environment of its own: many systems refuse anything else, and the command is on the path there."""

_NOTES = f"""\
In each new terminal the second line again. On Windows type this instead:
py -m pip install {WHEEL}
and then "py -m getstep" wherever it says "getstep"."""

_START = "Play (start it again whenever you like; it finds its match)"
_START_SEVERAL = f"""\
{_START}.
This team may run {{seats}} bots at once, on one computer or several: each in a
terminal of its own, with the same command"""

_PAGE = """\
<section>
<h1>{name}</h1>
<p>{contest}: {games}</p>
<table>
<tr><th>host</th><td>{host}</td></tr>
<tr><th>port</th><td>{port}</td></tr>
<tr><th>team id</th><td>{team}</td></tr>
<tr><th>token</th><td>{token}</td></tr>
</table>
<p>Once, with the file <code>{wheel}</code> from the host and Python 3.10 or newer:</p>
<pre>{install}</pre>
<p>{notes}</p>
<p>Write a bot that already plays, then make it better:</p>
<pre>{new}</pre>
<p>{start}:</p>
<pre>{play}</pre>
<p>If something does not work:</p>
<pre>{check}</pre>
</section>
"""
_TEXT_PAGE = """\
{name}
{contest}: {games}

  host     {host}
  port     {port}
  team id  {team}
  token    {token}

Once, with the file {wheel} from the host
and Python 3.10 or newer:

{install}

{notes}

Write a bot that already plays, then make it better:

  {new}

{start}:

  {play}

If something does not work:

  {check}
"""
_BETWEEN = "\n" + 79 * "-" + "\n\f"
"""A rule for the terminal, which shows nothing for a form feed, and the form feed for the printer."""

_DOCUMENT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14pt/1.5 sans-serif; margin: 2em; }}
section {{ break-after: page; border-bottom: 1px dashed; padding-bottom: 2em; }}
th {{ text-align: left; padding-right: 2em; }} td, pre, code {{ font-family: monospace; }}
pre {{ white-space: pre-wrap; background: #eee; padding: .5em; }}
@media print {{ section {{ border: 0; }} }}
</style></head><body>
{pages}</body></html>
"""


def lan_address() -> str:
    """This machine's address on the LAN, as far as its routing table tells; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address reserved for documentation; UDP connect only looks up
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def address_to_type(contest: Contest) -> str:
    """Where contestants find the server: the address it listens on; if that is all of them, the one on the LAN.

    Raises:
        ConfigError: contest.toml leaves the port to the system, so that nobody knows it yet.
    """
    if contest.file.server.port == 0:
        raise ConfigError(
            f"{contest_path(contest.folder)}: server.port = 0, expected a port that stays, such as 7777:"
            " contestants type it from their slips"
        )
    host = contest.file.server.host
    return lan_address() if host in ("0.0.0.0", "::") else host  # noqa: S104 - nothing listens here


def commands(contest: Contest, team: Team, host: str) -> dict[str, str]:
    """What the team types: to install (three lines), to make a bot, to play, and to find out what is wrong."""
    port = contest.file.server.port
    where = f"--host {shlex.quote(host)}" + (f" --port {port}" if port != 7777 else "")
    login = f"{where} --team {team.id} --token {team.token}"
    return {
        "install": _INSTALL,
        "new": f"getstep new my_bot.py {_games_to_type(contest, team)}",
        "play": f"getstep play my_bot.py {login}",
        "check": f"getstep check my_bot.py {login}",
    }


def as_text(contest: Contest, host: str) -> str:
    """All slips as plain text, a rule and a form feed between the pages."""
    return _BETWEEN.join(_text_page(contest, team, host) for team in contest.teams.values())


def as_html(contest: Contest, host: str) -> str:
    """All slips as one self-contained page for the printer."""
    pages = "".join(_html_page(contest, team, host) for team in contest.teams.values())
    return _DOCUMENT.format(title=html.escape(contest.name), pages=pages)


def _events(contest: Contest, team: Team) -> list[ContestEvent]:
    """The events that the team is in; all, if it is in none yet."""
    return [event for event in contest.events if team.id in event.teams] or list(contest.events)


def _games_to_type(contest: Contest, team: Team) -> str:
    games = dict.fromkeys(event.game.name for event in _events(contest, team))
    return "--game all" if len(games) == len(GAMES) else " ".join(f"--game {game}" for game in games)


def _text_page(contest: Contest, team: Team, host: str) -> str:
    facts = _facts(contest, team, host)
    install = textwrap.indent(_INSTALL, "  ")
    return _TEXT_PAGE.format_map({**facts, "install": install})


def _html_page(contest: Contest, team: Team, host: str) -> str:
    facts = _facts(contest, team, host)
    return _PAGE.format_map({name: html.escape(str(fact)) for name, fact in facts.items()})


def _facts(contest: Contest, team: Team, host: str) -> dict[str, object]:
    return {
        "name": team.name,
        "contest": contest.name,
        "games": "; ".join(f"{event.game.name}, {event.time_control}" for event in _events(contest, team)),
        "host": host,
        "port": contest.file.server.port,
        "team": team.id,
        "token": team.token,
        "wheel": WHEEL,
        "notes": _NOTES,
        "start": _START if team.seats == 1 else _START_SEVERAL.format(seats=team.seats),
        **commands(contest, team, host),
    }
