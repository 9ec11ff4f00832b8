"""The host's command ``getstep-server attack``: the cases, against a server on this machine."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import trio

from getstep_server._toml import ConfigError
from getstep_server.contest import load_contest

from ._case import Case, NotAsExpected, NotRun, Times
from ._cases import CASES
from ._stage import Address, Credential, Stage

_DESCRIPTION = """\
Send a server on this machine all that hostile clients might, and see that it holds. Cases that take a team play
real matches and mostly lose them: attack a contest made for that, with no bots in it.
"""
_EXAMPLE = """\
a contest made for it:
  getstep-server init target --game hop
  getstep-server teams add --classic target A B C D E F G H I J
  (in target/contest.toml: absent_seconds = 3600)
  getstep-server run target --host 127.0.0.1 --port 7777 --classic-port 8888 --now
and in another terminal:
  getstep-server attack 127.0.0.1:7777 --classic 127.0.0.1:8888 --contest target
"""


def add_attack(commands: Any) -> None:
    """Add the command to the host's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "attack",
        help="see that a server on this machine holds against hostile clients",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("server", nargs="?", metavar="HOST:PORT", help="its main port, at a loopback address")
    parser.add_argument("--classic", metavar="HOST:PORT", help="its classic port")
    parser.add_argument(
        "--case", action="append", metavar="N", help="run this one only, or all of a group (repeatable)"
    )
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    teams = parser.add_argument_group("teams to play for; without any, only the cases of strangers are run")
    teams.add_argument("--contest", type=Path, metavar="FOLDER", help="all teams of this contest folder")
    teams.add_argument("--team", type=int, metavar="A")
    teams.add_argument("--token", metavar="T")
    teams.add_argument("--opponent", type=int, metavar="B")
    teams.add_argument("--opponent-token", metavar="U")
    parser.set_defaults(command=_attack)


def _attack(args: argparse.Namespace) -> int:
    if args.list:
        _print_list()
        return 0
    if args.server is None:
        raise ConfigError("no server, expected HOST:PORT, such as 127.0.0.1:7777 (or --list)")
    classic = None if args.classic is None else loopback(args.classic)
    stage = Stage(loopback(args.server), _credentials(args), classic)
    cases = _cheapest_first(_chosen(args.case), len(stage.teams))
    _say_what_is_left_out(stage)
    return trio.run(_run_all, stage, cases, bool(args.case))


def loopback(text: str) -> Address:
    """Where ``HOST:PORT`` is, as an address that needs no looking up.

    Raises:
        ConfigError: it is not this machine's loopback interface, and nothing but that.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{text!r}, expected HOST:PORT, such as 127.0.0.1:7777")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"{text!r}: {error.strerror or error}") from error
    addresses = sorted({str(place[0]) for *_, place in found}, key=lambda address: (":" in address, address))
    for address in addresses:
        if not ip_address(address.partition("%")[0]).is_loopback:
            raise ConfigError(
                f"{text!r} is {address}, expected a loopback address: attack a server of your own only"
            )
    return Address(addresses[0], int(port))


def _credentials(args: argparse.Namespace) -> list[Credential]:
    pair = (args.team, args.token, args.opponent, args.opponent_token)
    if args.contest is not None:
        return [Credential(team.id, team.token) for team in load_contest(args.contest).teams.values()]
    if all(value is None for value in pair):
        return []
    if any(value is None for value in pair) or args.team == args.opponent:
        raise ConfigError(
            "--team, --token, --opponent and --opponent-token of two teams, expected all four or none"
        )
    return [Credential(args.team, args.token), Credential(args.opponent, args.opponent_token)]


def _chosen(numbers: Sequence[str] | None) -> list[Case]:
    """The cases with these numbers; a number without a dot means the group."""
    if numbers is None:
        return list(CASES.values())
    chosen = []
    for number in numbers:
        cases = [case for case in CASES.values() if number in (case.number, case.number.partition(".")[0])]
        if not cases:
            raise ConfigError(f"--case {number!r}, expected a number that --list shows")
        chosen += cases
    return chosen


def _cheapest_first(cases: list[Case], teams: int) -> list[Case]:
    """In the order of their numbers; if there are not enough matches, those that lose one come last."""
    costs = {case.number: 0 if not case.who.plays else 2 if case.expected.match == "lost" else 1 for case in cases}
    if list(costs.values()).count(2) < teams * (teams - 1):
        return cases
    return sorted(cases, key=lambda case: costs[case.number])


# --- printing ---------------------------------------------------------------------------------------------------


def _print_list() -> None:
    print(f"Who sends what, and what has to come of it within {Times().slack:g} s (after a time that is named):")
    for case in CASES.values():
        print(f"{case.number:<6} {case.who.value}: {case.title}: {case.expected.described(case.who)}")


def _say_what_is_left_out(stage: Stage) -> None:
    if not stage.teams:
        print("No teams to play for (--contest): only the cases of strangers are run.")
    if stage.classic is None:
        print("No classic port (--classic): the cases of the classic wire are not run.")


async def _run_all(stage: Stage, cases: Sequence[Case], asked_for: bool) -> int:
    """Run the cases; 0 if all went as expected, and none that was asked for by number was left out."""
    failed = left_out = 0
    async with aclosing(stage):
        for case in cases:
            try:
                await stage.run(case)
                _print_line("ok", case)
            except NotRun as verdict:
                left_out += 1
                if asked_for or not str(verdict).startswith("it takes"):
                    _print_line("not run", case, verdict)
            except NotAsExpected as verdict:
                failed += 1
                _print_line("NOT AS EXPECTED", case, verdict)
    print(f"{len(cases) - failed - left_out} cases ok, {failed} not as expected, {left_out} not run")
    return 1 if failed or (asked_for and left_out) or left_out == len(cases) else 0


def _print_line(verdict: str, case: Case, why: Exception | None = None) -> None:
    print(
        f"{case.number:<6} {verdict:<16} {case.who.value}: {case.title}" + (f": {why}" if why else ""), flush=True
    )
