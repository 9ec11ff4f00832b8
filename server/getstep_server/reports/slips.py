"""Credential slips: one printed page for each team, with all that a contestant has to type.

A *slip* has the team's id and secret token, the host's address and port, and the commands to install the package,
to write a bot, to practise, to log in and to play.
"""

from __future__ import annotations

import html
import shlex
import textwrap
from collections.abc import Sequence
from urllib.parse import urlsplit

from getstep_engines import GAMES
from getstep_server.addresses import reachable_host
from getstep_server.config.certificate import certificate_of, tls_words
from getstep_server.config.contest import Contest, Team, contest_path
from getstep_server.config.contestants_package import NAME as WHEEL
from getstep_server.config.contestants_package import package_hash
from getstep_server.config.event import ContestEvent, game_heading
from getstep_server.errors import ConfigError

from .qr_code import qr_code_svg

HASH = "#sha256="
"""The text that pip expects between the address of a package and its hash."""

_SHOWN_EVENTS = 6
"""The number of games of a team that are named, so that a slip stays one page: a contest may have 256 events."""

PAPERS = ("a4", "letter")
"""The sizes of paper that a slip can ask the printer for. Without one, the browser uses the printer's own."""

# An environment of its own: many systems refuse to install anything outside of one (PEP 668), and inside it the
# command `getstep` is on the path.
_INSTALL = """\
python3 -m venv .venv
. .venv/bin/activate
python -m pip install {source}"""

_NOTES = """\
Type the second line again in each new terminal. On Windows, type only the last
command, with "py" for "python", and then "py -m getstep" wherever this page
says "getstep"."""
_CHECKED = """\
The last command is one line, with no space between the quotes. If the digits
after #sha256= are typed as here, pip installs this package or nothing."""

_FROM_PAGE = "Install once, with Python 3.10 or newer. The host's page must be running"
_FROM_FILE = f"Install once, with Python 3.10 or newer and the file {WHEEL} from the host"
_OR_FILE = f"""\
Without the page, ask the host for a file and type:
python -m pip install {WHEEL}"""

_PLAY = "Check everything, and play. The bot waits for its matches: start it early"
_PLAY_SEVERAL = f"""\
{_PLAY}.
This team may connect {{seats}} bots at once. Start the last command {{seats}} times,
each in a terminal of its own, on one computer or several"""

_PAGE = """\
<section>
<header>
<div><p>{contest}</p>
<h1>{name}</h1>
<p>{games}</p></div>
{qr}</header>
<table>
<tr><th>host</th><td>{host}</td><th>port</th><td class="short">{port}</td></tr>
<tr><th>team id</th><td>{team}</td><th>token</th><td class="short">{token}</td></tr>
<tr><th>live page</th><td colspan="3">{page}</td></tr>
<tr><th>rules</th><td colspan="3">{rules}</td></tr>
</table>
<p>The token is your team's password: show it to nobody.</p>
<ol>
<li><p>{get}:</p>
<pre>{install}</pre>
<p class="lines">{notes}</p></li>
<li><p>Write a bot that already plays, then make it better:</p>
<pre>{new}</pre></li>
<li><p>Practise at home, without the host:</p>
<pre>{practice}</pre></li>
<li><p>Log in, once on each computer:</p>
<pre>{login}</pre></li>
<li><p>{start}:</p>
<pre>{check}
{play}</pre></li>
</ol>
</section>
"""
_TEXT_PAGE = """\
{name}
{contest}

{games}

  host       {host}
  port       {port}
  team id    {team}
  token      {token}
  live page  {page}
  rules      {rules}

The token is your team's password: show it to nobody.

1. {get}:

{install}

{notes}

2. Write a bot that already plays, then make it better:

  {new}

3. Practise at home, without the host:

  {practice}

4. Log in, once on each computer:

  {login}

5. {start}:

  {check}
  {play}
"""
_BETWEEN = "\n" + 79 * "-" + "\n\f"
"""The end of a page: a line for terminals, which do not show a form feed, and the form feed for printers."""

# The page is for paper, so its lengths are millimetres and points. A slip fits on a page as wide as A4 and as high
# as US Letter, also with the longest names.
_DOCUMENT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}: slips</title><style>
@page {{ {size}margin: 12mm; }}
* {{ box-sizing: border-box; overflow-wrap: anywhere; }}
body {{ font: 10pt/1.4 system-ui, sans-serif; margin: 0; color: #000; background: #fff; }}
section {{ max-width: 186mm; margin: 0 auto; padding: 12mm 0; }}
section {{ border-bottom: 1px dashed #555; break-inside: avoid; }}
header {{ display: flex; gap: 8mm; justify-content: space-between; align-items: start; }}
h1 {{ font-size: 18pt; line-height: 1.2; margin: 1mm 0; }}
p {{ margin: 0 0 1mm; }}
.lines {{ white-space: pre-line; }}
figure {{ flex: none; width: 34mm; margin: 0; text-align: center; font-size: 9pt; }}
.qr {{ display: block; width: 34mm; height: 34mm; }}
table {{ width: 100%; margin: 3mm 0 2mm; border-collapse: collapse; }}
th, td {{ padding: 1mm 2mm; border: 1px solid #999; text-align: left; }}
th {{ width: 22mm; font-weight: normal; white-space: nowrap; }}
.short {{ white-space: nowrap; }}
.whole {{ display: inline-block; }}
td, pre, code {{ font-family: ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }}
td {{ font-weight: bold; }}
ol {{ margin: 3mm 0 0; padding-left: 6mm; }}
li {{ margin-bottom: 2.5mm; }}
li::marker {{ font-weight: bold; }}
pre {{ margin: 0 0 1mm; padding: 1.5mm 3mm; border: 1px solid #999; font-size: 1em; white-space: pre-wrap; }}
@media screen {{ body {{ padding: 0 4mm; }} }}
@media print {{ section {{ padding: 0; border: 0; line-height: 1.25; font-size: 9.5pt; }} }}
@media print {{ section + section {{ break-before: page; }} }}
</style></head><body>
{pages}</body></html>
"""


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


def commands(contest: Contest, team: Team, host: str, package: str) -> dict[str, str]:
    """Return the commands of a team: "install" (three lines), "new", "practice", "login", "check" and "play".

    ``package`` is the hash of the contestants' package.

    Raises:
        ConfigError: the certificate of the contest cannot be read.
    """
    port = contest.file.server.port
    words = ["--host", shlex.quote(host), *(["--port", str(port)] if port != 7777 else []), tls_words(contest)]
    where = " ".join(word for word in words if word)
    games = list(dict.fromkeys(event.game.name for event in _events(contest, team)))
    asked = f" --game {games[0]}" if len(games) > 1 else ""
    return {
        "install": _INSTALL.format(source=_source(contest, host, package)),
        "new": f"getstep new my_bot.py {_game_options(games)}",
        "practice": f"getstep practice my_bot.py{asked}",
        "login": f"getstep login {where} --team {team.id} --token {team.token}",
        "check": "getstep check my_bot.py",
        "play": "getstep play my_bot.py",
    }


def as_text(contest: Contest, host: str) -> str:
    """Return all slips as plain text, with a line and a form feed between the pages."""
    package = package_hash(contest)
    return _BETWEEN.join(_text_page(contest, team, host, package) for team in contest.contestants.values())


def as_html(contest: Contest, host: str, paper: str | None = None) -> str:
    """Return all slips as one HTML page for the printer, which loads nothing from the network.

    Args:
        contest: with its teams.
        host: the address that contestants type.
        paper: one of `PAPERS`; None leaves the size to the printer.
    """
    package = package_hash(contest)
    pages = "".join(_html_page(contest, team, host, package) for team in contest.contestants.values())
    size = f"size: {paper}; " if paper else ""
    return _DOCUMENT.format(title=html.escape(contest.name), pages=pages, size=size)


def _events(contest: Contest, team: Team) -> list[ContestEvent]:
    """Return the events of a team; all events, if it is in none yet."""
    return [event for event in contest.events if team.id in event.teams] or list(contest.events)


def _game_options(games: Sequence[str]) -> str:
    return "--game all" if len(games) == len(GAMES) else " ".join(f"--game {game}" for game in games)


def _source(contest: Contest, host: str, package: str) -> str:
    """Return the operand of ``pip install``: the package on the live page, or a file if that has no fixed address.

    The page may have no certificate, or one that pip does not know, and any computer can answer in its place. The
    hash on paper is not from there. Quotes keep a shell from giving the number sign a meaning.
    """
    page = page_address_to_type(contest, host)
    if not page:
        return WHEEL
    certificate = None if contest.file.server.page_address else certificate_of(contest)
    trust = "" if certificate is None or not certificate.self_signed else f"--trusted-host {urlsplit(page).netloc} "
    return f'{trust}"{page}wheels/{WHEEL}{HASH}{package}"'


def _text_page(contest: Contest, team: Team, host: str, package: str) -> str:
    fields = _fields(contest, team, host, package)
    # 79: a text slip fits 80 columns
    install, games = textwrap.indent(str(fields["install"]), "  "), textwrap.fill(str(fields["games"]), 79)
    return _TEXT_PAGE.format_map({**fields, "install": install, "games": games})


def _html_page(contest: Contest, team: Team, host: str, package: str) -> str:
    fields = _fields(contest, team, host, package)
    escaped = {name: html.escape(str(value)) for name, value in fields.items()}
    command, quote, package_at = escaped["install"].partition("&quot;")
    if (
        quote
    ):  # the address and the digits are lines of their own, which break only if they are longer than the paper
        address, _, digits = package_at.partition(HASH)
        parts = (f"{quote}{address}{HASH}", digits)
        escaped["install"] = command + "<wbr>".join(f'<span class="whole">{part}</span>' for part in parts)
    return _PAGE.format_map({**escaped, "qr": _qr_figure(page_address_to_type(contest, host))})


def page_address_to_type(contest: Contest, host: str) -> str:
    """Return the address of the live page; "" if contest.toml leaves its port to the system."""
    server = contest.file.server
    return contest.page_at(host, server.web_port) if server.web_port or server.page_address else ""


def _qr_figure(address: str) -> str:
    return f"<figure>{qr_code_svg(address)}live page</figure>\n" if address else ""


def _games(contest: Contest, team: Team) -> str:
    """Return the games of a team with their time limits, as many as fit."""
    events = _events(contest, team)
    games = list(dict.fromkeys(f"{game_heading(event.game)}, {event.time_control}" for event in events))
    more = [f"{len(games) - _SHOWN_EVENTS} more"] if len(games) > _SHOWN_EVENTS else []
    return "; ".join([*games[:_SHOWN_EVENTS], *more])


def _fields(contest: Contest, team: Team, host: str, package: str) -> dict[str, object]:
    page = page_address_to_type(contest, host)
    return {
        "name": team.name,
        "contest": contest.name,
        "games": _games(contest, team),
        "host": host,
        "port": contest.file.server.port,
        "team": team.id,
        "token": team.token,
        "page": page or "see the host's screen",
        "rules": f"{page}rules" if page else "getstep rules",
        "get": _FROM_PAGE if page else _FROM_FILE,
        "notes": f"{_CHECKED}\n{_NOTES}\n{_OR_FILE}" if page else _NOTES,
        "start": _PLAY if team.seats == 1 else _PLAY_SEVERAL.format(seats=team.seats),
        **commands(contest, team, host, package),
    }
