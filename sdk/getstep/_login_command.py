"""The commands ``getstep login`` and ``getstep logout``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from getpass import getpass

from ._errors import NotGetstep, NotProved, Refused, SetupError, Unreachable
from .client import saved_login
from .client.client import NOT_PROVED, refusal, version_text
from .client.connection import connect, explain, log_in, read_hello, speaks_our_version
from .client.discovery import FoundServer, NoneChosen, find_one, listing
from .client.saved_login import SavedLogin, Seen
from .client.settings import Address, Login, find_address, find_login, find_token, given_port, host_is_given
from .client.tls import ROOTS
from .text import Console, escape_control_chars
from .wire import Goodbye, RemoteProtocolError

LOGIN_HELP = """\
Ask for your team and its token, try them, and keep them with the host's address in a file that only you can
read. Then `getstep play my_bot.py` is all that you type. It does not ask for the values that you give here.
Without --host it finds the host on this network, or asks for it. A found host must prove that it knows your
token.
The token may be typed in either case, with or without dashes. `getstep logout` removes the file.

examples:
  getstep login
  getstep login --host 192.168.1.10 --team 7"""

LOGOUT_HELP = """\
Remove the file with the login that `getstep login` has kept.

example:
  getstep logout"""

_RELAYED = "your host is not at this address, and what answers there passes on what you send"
_NOT_SAVED = "Nothing was saved. If it is the address on your slip, give it with --host."

_WHICH_HOST = "The host's address, such as 192.168.1.10: "

ATTEMPTS = 3
"""The number of requests for a value. An input that never ends, with empty lines, does not loop."""

Ask = Callable[[str], str]


def login(options: argparse.Namespace, console: Console) -> int:
    """Run ``getstep login``.

    Raises:
        GetstepError: the login is not complete, or the server does not accept it; nothing is saved then.
    """
    found = None if host_is_given(options.host) else _find(given_port(options.port), console)
    addresses = _with_tls(found, options) if found else (_given_address(options),)
    team = options.team or _ask("Your team's id, a number: ", input)
    token = find_token(options.token, options.token_file) or _ask_token()
    saved = _first_success(addresses, find_login(team, token), console, found=found is not None)
    console.say(f"Saved in {saved_login.save(saved)}, which only you can read.")
    console.say("Next, type: getstep play my_bot.py")
    console.say("A bot in another language needs no options any more: ./my_bot, java MyBot, node my_bot.mjs")
    return 0


def logout(options: argparse.Namespace, console: Console) -> int:  # noqa: ARG001 - as all commands
    """Run ``getstep logout``."""
    path = saved_login.forget()
    console.say("No login is saved." if path is None else f"Removed {path}.")
    return 0


def _given_address(options: argparse.Namespace) -> Address:
    host = options.host or os.environ.get("GETSTEP_HOST") or _ask(_WHICH_HOST, input)
    return find_address(host, options.port, options.tls)


def _with_tls(found: FoundServer, options: argparse.Namespace) -> tuple[Address, ...]:
    """Return the addresses of a server that was found, with the TLS setting that the user has given."""
    way = find_address("127.0.0.1", tls=options.tls).tls  # with a host, so that none is read from a saved login
    return tuple(replace(address, tls=way) for address in found.addresses)


def _find(port: int | None, console: Console) -> FoundServer | None:
    """Return the server that was found on this network, or the one of several that the user chooses; None if there
    is none.

    Raises:
        SetupError: none was chosen.
    """
    console.say("Looking for contests on this network ...")
    try:
        return find_one(console, port)
    except NoneChosen as several:
        console.say(listing(several.servers))
        for _ in range(ATTEMPTS):
            typed = _ask("The number of yours: ", input)
            if typed.isascii() and typed.isdigit() and 1 <= int(typed[:4]) <= len(several.servers):
                return several.servers[int(typed[:4]) - 1]
        raise


def _first_success(addresses: Sequence[Address], team: Login, console: Console, *, found: bool) -> SavedLogin:
    """Try the addresses of a server in turn. Raises what `try_login` raises at the last one."""
    for address in addresses[:-1]:
        with suppress(Unreachable, NotProved, NotGetstep):
            return try_login(address, team, console, must_prove=found)
    return try_login(addresses[-1], team, console, must_prove=found)


def try_login(address: Address, team: Login, console: Console, *, must_prove: bool = False) -> SavedLogin:
    """Log in without taking a seat, and return what is to be saved.

    Args:
        address: the server's.
        team: its id and token.
        console: prints what was found out.
        must_prove: refuse a server that does not prove that it knows the token, and that it is at this address: one
            that was found on the network.

    Raises:
        GetstepError: the server cannot be reached, or does not accept the login.
    """
    try:
        with connect(address) as connection:
            hello = read_hello(connection)
            if isinstance(hello, Goodbye):
                raise refusal(hello, team.team, address.host)
            if not speaks_our_version(hello):
                raise Refused("unsupported_version", version_text(hello.versions, address.host))
            answer = log_in(connection, hello, team, purpose="check", must_be_there=must_prove)
            proved = connection.proved
    except NotProved as error:
        raise NotProved(f"{address}: {error}.\n{_NOT_SAVED}") from error
    except (OSError, RemoteProtocolError) as error:
        raise Unreachable(f"{address}: {explain(error, address)}.\nNothing was saved.") from error
    if isinstance(answer, Goodbye) and must_prove and answer.reason == "wrong_address":
        raise NotProved(f"{address}: {_RELAYED} ({escape_control_chars(answer.detail)}).\n{_NOT_SAVED}")
    if isinstance(answer, Goodbye):
        raise refusal(answer, team.team, address.host)
    if must_prove and not proved:
        raise NotProved(f"{address}: {NOT_PROVED}.\n{_NOT_SAVED}")
    contest = escape_control_chars(hello.contest)
    console.say(f"{contest}: team {answer.team} is {escape_control_chars(answer.name)}; the token was accepted.")
    if address.tls:
        console.say(f"The connection uses TLS; {_way(address.tls)}.")
    if not proved:
        console.warn(f"Careful: {NOT_PROVED}.")
    seen = Seen(contest, time.time()) if proved else None
    return SavedLogin(address.host, address.port, team.team, team.token, seen, address.tls)


def _way(tls: str) -> str:
    if tls == ROOTS:
        return "an authority that this computer trusts has signed the certificate"
    return f"the key of the certificate has the pin {tls}"


def _ask_token() -> str:
    # `getpass` needs a terminal: without one it would warn, and show the token.
    text = _ask("The token from the slip (it is not shown while you type): ", getpass if _at_terminal() else input)
    token = find_token(text)
    if token is None:
        raise SetupError("The token is missing; it is on the slip from the host.")
    return token


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(question: str, ask: Ask) -> str:
    """Return an answer that is not empty.

    Raises:
        SetupError: there was none.
    """
    for _ in range(ATTEMPTS):
        try:
            answer = ask(question).strip()
        except EOFError:
            break
        if answer:
            return answer
    raise SetupError("The login is not complete. Give --host, --team and --token (or --token-file), or type them.")
