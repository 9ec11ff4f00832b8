"""Credential slips: one printed page for each team, with all that a contestant has to type.

A *slip* has the team's id and secret token, the host's address and port, and the commands to install the package,
to write a bot, to play and to find out why something does not work.
"""

from __future__ import annotations

import html
import shlex
import socket
import textwrap

from getstep_engines import GAMES
from getstep_server.errors import ConfigError

from .contest import Contest, Team, contest_path
from .contestants_package import NAME as WHEEL
from .event import ContestEvent

# An environment of its own: many systems refuse to install anything outside of one (PEP 668), and inside it the
# command `getstep` is on the path.
_INSTALL = f"""\
python3 -m venv .venv
. .venv/bin/activate
python -m pip install {WHEEL}"""

_NOTES = f"""\
Type the second line again in each new terminal. On Windows, type this instead:
py -m pip install {WHEEL}
and then "py -m getstep" wherever this page says "getstep"."""

_START = "Play. Start it before the contest: it waits for its matches"
_START_SEVERAL = f"""\
{_START}.
This team may connect {{seats}} bots at once. Start the same command {{seats}} times,
each in a terminal of its own, on one computer or several"""

_PAGE = """\
<section>
{qr}<h1>{name}</h1>
<p>{contest}: {games}</p>
<table>
<tr><th>host</th><td>{host}</td></tr>
<tr><th>port</th><td>{port}</td></tr>
<tr><th>team id</th><td>{team}</td></tr>
<tr><th>token</th><td>{token}</td></tr>
<tr><th>live page</th><td>{page}</td></tr>
</table>
<p>The token is your team's password. Install once, with Python 3.10 or newer and the file <code>{wheel}</code> from
the host:</p>
<pre>{install}</pre>
<p>{notes}</p>
<p>Write a bot that already plays, then make it better:</p>
<pre>{new}</pre>
<p>{start}:</p>
<pre>{play}</pre>
<p>If something does not work, this says why:</p>
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

The live page has the contest, the rules and starter bots:

  {page}

The token is your team's password. Install once, with Python 3.10 or newer
and the file {wheel} from the host:

{install}

{notes}

Write a bot that already plays, then make it better:

  {new}

{start}:

  {play}

If something does not work, this says why:

  {check}
"""
_BETWEEN = "\n" + 79 * "-" + "\n\f"
"""The end of a page: a line for terminals, which do not show a form feed, and the form feed for printers."""

_DOCUMENT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14pt/1.5 sans-serif; margin: 2em; }}
section {{ break-after: page; border-bottom: 1px dashed; padding-bottom: 2em; }}
th {{ text-align: left; padding-right: 2em; }} td, pre, code {{ font-family: monospace; }}
.qr {{ float: right; width: 32mm; height: 32mm; }}
pre {{ white-space: pre-wrap; background: #eee; padding: .5em; }}
@media print {{ section {{ border: 0; }} }}
</style></head><body>
{pages}</body></html>
"""


def lan_address() -> str:
    """Return this machine's address on the LAN by its routing table, or its name if it has no route.

    Nothing is sent.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # `connect` on a UDP socket only looks up the route; the address is reserved for documentation
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def reachable_host(host: str) -> str:
    """Return the host that others type: this machine's address on the LAN if ``host`` means all addresses."""
    return lan_address() if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound


def address_to_type(contest: Contest) -> str:
    """Return the host that contestants type: the address that the server listens on, or this machine's on the LAN.

    Raises:
        ConfigError: contest.toml leaves the port to the system, so that it is not known before `run`.
    """
    if contest.file.server.port == 0:
        raise ConfigError(
            f"{contest_path(contest.folder)}: server.port = 0, expected a fixed port such as 7777:"
            " contestants type it from their slips"
        )
    return reachable_host(contest.file.server.host)


def commands(contest: Contest, team: Team, host: str) -> dict[str, str]:
    """Return the commands of a team: "install" (three lines), "new", "play" and "check"."""
    port = contest.file.server.port
    where = f"--host {shlex.quote(host)}" + (f" --port {port}" if port != 7777 else "")
    login = f"{where} --team {team.id} --token {team.token}"
    return {
        "install": _INSTALL,
        "new": f"getstep new my_bot.py {_game_options(contest, team)}",
        "play": f"getstep play my_bot.py {login}",
        "check": f"getstep check my_bot.py {login}",
    }


def as_text(contest: Contest, host: str) -> str:
    """Return all slips as plain text, with a line and a form feed between the pages."""
    return _BETWEEN.join(_text_page(contest, team, host) for team in contest.teams.values())


def as_html(contest: Contest, host: str) -> str:
    """Return all slips as one HTML page for the printer, which loads nothing from the network."""
    pages = "".join(_html_page(contest, team, host) for team in contest.teams.values())
    return _DOCUMENT.format(title=html.escape(contest.name), pages=pages)


def _events(contest: Contest, team: Team) -> list[ContestEvent]:
    """Return the events of a team; all events, if it is in none yet."""
    return [event for event in contest.events if team.id in event.teams] or list(contest.events)


def _game_options(contest: Contest, team: Team) -> str:
    games = dict.fromkeys(event.game.name for event in _events(contest, team))
    return "--game all" if len(games) == len(GAMES) else " ".join(f"--game {game}" for game in games)


def _text_page(contest: Contest, team: Team, host: str) -> str:
    install = textwrap.indent(_INSTALL, "  ")
    return _TEXT_PAGE.format_map({**_fields(contest, team, host), "install": install})


def _html_page(contest: Contest, team: Team, host: str) -> str:
    fields = _fields(contest, team, host)
    escaped = {name: html.escape(str(value)) for name, value in fields.items()}
    return _PAGE.format_map({**escaped, "qr": _qr_code(page_address_to_type(contest, host))})


def page_address_to_type(contest: Contest, host: str) -> str:
    """Return the address of the live page; "" if contest.toml leaves its port to the system."""
    port, name = contest.file.server.web_port, f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" if port else ""


def _qr_code(address: str) -> str:
    """Return a QR code as an SVG element; "" for no address."""
    if not address:
        return ""
    import segno  # here: only slips for the printer have it

    return str(segno.make(address, micro=False).svg_inline(svgclass="qr", lineclass=None, omitsize=True)) + "\n"


def _fields(contest: Contest, team: Team, host: str) -> dict[str, object]:
    return {
        "name": team.name,
        "contest": contest.name,
        "games": "; ".join(f"{event.game.name}, {event.time_control}" for event in _events(contest, team)),
        "host": host,
        "port": contest.file.server.port,
        "team": team.id,
        "token": team.token,
        "wheel": WHEEL,
        "page": page_address_to_type(contest, host) or "see the host's screen",
        "notes": _NOTES,
        "start": _START if team.seats == 1 else _START_SEVERAL.format(seats=team.seats),
        **commands(contest, team, host),
    }
