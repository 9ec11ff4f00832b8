"""Slips: a page per team with all that a contestant has to type."""

from __future__ import annotations

import html
import shlex
import socket

from .contest import Contest, Team

_PAGE = """\
<section>
<h1>{name}</h1>
<p>{contest}: {game}, {limit}</p>
<table>
<tr><th>host</th><td>{host}</td></tr>
<tr><th>port</th><td>{port}</td></tr>
<tr><th>team id</th><td>{team}</td></tr>
<tr><th>token</th><td>{token}</td></tr>
</table>
<p>Write a bot that already plays, then make it better:</p>
<pre>{new}</pre>
<p>Play (start it again whenever you like; it finds its match):</p>
<pre>{play}</pre>
<p>If something does not work: <code>{check}</code></p>
</section>
"""
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


def commands(contest: Contest, team: Team, host: str) -> tuple[str, str, str]:
    """The commands that make a bot, play with it, and find out what is wrong."""
    port = contest.file.server.port
    where = f"--host {shlex.quote(host)}" + (f" --port {port}" if port != 7777 else "")
    login = f"--team {team.id} {where} --token {team.token}"
    return (
        f"getstep new my_bot.py --game {contest.game.name}",
        f"getstep play my_bot.py {login}",
        f"getstep check my_bot.py {login}",
    )


def as_text(contest: Contest, host: str) -> str:
    """All slips as plain text, a form feed between the pages."""
    return "\f".join(_text_page(contest, team, host) for team in contest.teams.values())


def as_html(contest: Contest, host: str) -> str:
    """All slips as one self-contained page for the printer."""
    pages = "".join(_html_page(contest, team, host) for team in contest.teams.values())
    return _DOCUMENT.format(title=html.escape(contest.name), pages=pages)


def _text_page(contest: Contest, team: Team, host: str) -> str:
    new, play, check = commands(contest, team, host)
    return f"""\
{team.name}
{contest.name}: {contest.game.name}, {contest.time_control}

  host     {host}
  port     {contest.file.server.port}
  team id  {team.id}
  token    {team.token}

Write a bot that already plays, then make it better:

  {new}

Play (start it again whenever you like; it finds its match):

  {play}

If something does not work:

  {check}
"""


def _html_page(contest: Contest, team: Team, host: str) -> str:
    new, play, check = commands(contest, team, host)
    facts = {
        "name": team.name,
        "contest": contest.name,
        "game": contest.game.name,
        "limit": contest.time_control,
        "host": host,
        "port": contest.file.server.port,
        "team": team.id,
        "token": team.token,
        "new": new,
        "play": play,
        "check": check,
    }
    return _PAGE.format(**{key: html.escape(str(value)) for key, value in facts.items()})
