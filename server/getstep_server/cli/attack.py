"""The command `attack`: hostile test cases against a server on this machine."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from contextlib import aclosing
from ipaddress import ip_address
from pathlib import Path

import trio

from getstep_conformance.attack import (
    CASES,
    Address,
    Case,
    CaseRunner,
    Credential,
    MissingOption,
    NotAsExpected,
    NotRun,
    Times,
)
from getstep_server.config.contest import load_contest
from getstep_server.errors import ConfigError

_DESCRIPTION = """\
Run hostile test cases against a server on this machine, and compare its
reactions with protocol.md. For a host, this tests the server. For an author of
a client or of another server, it is a conformance suite: --list prints each
input with the reaction that protocol.md requires.

Cases of players play real matches and lose most of them: use a contest made
for that, without bots.
"""
_EXAMPLE = """\
examples:
  getstep-server attack --list                 # inputs and reactions
  getstep-server attack 127.0.0.1:7777         # all cases without a login
  getstep-server attack 127.0.0.1:7777 --case 3 --case 7.13 --contest target

a contest for the cases of players:
  getstep-server init target --game hop
  getstep-server teams add --classic target A B C D E F G H I J
  (in target/contest.toml: absent_seconds = 3600)
  getstep-server run target --host 127.0.0.1 --port 7777 \\
      --classic-port 8888 --now
in another terminal:
  getstep-server attack 127.0.0.1:7777 --classic 127.0.0.1:8888 \\
      --contest target

exit codes: 0 all cases as expected, 1 a case failed or could not be run,
2 a wrong command
"""


def add_attack(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLE
    parser.add_argument("server", nargs="?", metavar="HOST:PORT", help="the main port, at a loopback address")
    parser.add_argument("--classic", metavar="HOST:PORT", help="the classic port")
    parser.add_argument(
        "--case",
        action="append",
        metavar="N",
        help="run only this case, or this group; repeatable, or with commas: 1,2.3",
    )
    parser.add_argument("--list", action="store_true", help="print the cases and exit")
    teams = parser.add_argument_group("teams to play for; without them, only cases without a login are run")
    teams.add_argument("--contest", type=Path, metavar="FOLDER", help="all teams of this contest folder")
    teams.add_argument("--team", type=int, metavar="A", help="the id of a team that sends")
    teams.add_argument("--token", metavar="T", help="its token")
    teams.add_argument("--opponent", type=int, metavar="B", help="the id of its opponent")
    teams.add_argument("--opponent-token", metavar="U", help="the opponent's token")
    parser.set_defaults(command=_attack)


def _attack(args: argparse.Namespace) -> int:
    if args.list:
        _print_list()
        return 0
    if args.server is None:
        raise ConfigError("no server, expected HOST:PORT, such as 127.0.0.1:7777, or --list")
    classic = None if args.classic is None else loopback(args.classic)
    runner = CaseRunner(loopback(args.server), _credentials(args), classic)
    cases = _cheapest_first(_chosen(args.case), len(runner.teams))
    _print_what_is_left_out(runner)
    return trio.run(_run_all, runner, cases, bool(args.case))


def loopback(text: str) -> Address:
    """Return the address of ``HOST:PORT``; a name is resolved once.

    Raises:
        ConfigError: the text is not HOST:PORT, or the host has an address outside the loopback interface.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    # `getaddrinfo` takes larger ports too, and cuts them to 16 bits
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{text!r}, expected HOST:PORT, such as 127.0.0.1:7777")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"{text!r}: {error.strerror or error}") from error
    # IPv4 first: by default the server listens only there.
    addresses = sorted({str(place[0]) for *_, place in found}, key=lambda address: (":" in address, address))
    for address in addresses:
        # a link-local address ends in its interface: fe80::1%eth0
        if not ip_address(address.partition("%")[0]).is_loopback:
            raise ConfigError(f"{text!r} is {address}, expected a loopback address: attack only your own server")
    return Address(addresses[0], int(port))


def _credentials(args: argparse.Namespace) -> list[Credential]:
    pair = (args.team, args.token, args.opponent, args.opponent_token)
    if args.contest is not None:
        return [Credential(team.id, team.token) for team in load_contest(args.contest).contestants.values()]
    if all(value is None for value in pair):
        return []
    if any(value is None for value in pair) or args.team == args.opponent:
        raise ConfigError(
            "--team, --token, --opponent, --opponent-token: expected all four, of two different teams, or none"
        )
    return [Credential(args.team, args.token), Credential(args.opponent, args.opponent_token)]


def _chosen(numbers: Sequence[str] | None) -> list[Case]:
    """Return the cases with these numbers; a number without a dot names a group."""
    if numbers is None:
        return list(CASES.values())
    chosen = []
    for number in (one.strip() for text in numbers for one in text.split(",")):
        cases = [case for case in CASES.values() if number in (case.number, case.number.partition(".")[0])]
        if not cases:
            raise ConfigError(f"--case {number!r}, expected a number of --list")
        chosen += cases
    return chosen


def _cheapest_first(cases: list[Case], teams: int) -> list[Case]:
    """Return the cases by number; if there are too few matches for all, cases that use up a match come last."""
    costs = {
        case.number: 0 if not case.sender.needs_match else 2 if case.expected.match == "lost" else 1
        for case in cases
    }
    # A double round robin, the default format, has so many matches.
    if list(costs.values()).count(2) < teams * (teams - 1):
        return cases
    return sorted(cases, key=lambda case: costs[case.number])


# --- printing ---------------------------------------------------------------------------------------------------


def _print_list() -> None:
    print(f"Sender, input and required reaction, within {Times().slack:g} s or after the time limit that is named:")
    for case in CASES.values():
        print(f"{case.number:<6} {case.sender.value}: {case.title}: {case.expected.describe(case.sender)}")


def _print_what_is_left_out(runner: CaseRunner) -> None:
    if not runner.teams:
        print("No teams to play for (--contest): only cases without a login are run.")
    if runner.classic is None:
        print("No classic port (--classic): cases of the classic wire are not run.")


async def _run_all(runner: CaseRunner, cases: Sequence[Case], asked_for: bool) -> int:
    """Run the cases and return the exit code.

    A case that could not be run is a failure if it was asked for by number, or if no case could be run.
    """
    failed = left_out = 0
    async with aclosing(runner):
        for case in cases:
            try:
                await runner.run(case)
                _print_line("ok", case)
            except NotRun as outcome:
                left_out += 1
                if asked_for or not isinstance(outcome, MissingOption):
                    _print_line("not run", case, outcome)
            except NotAsExpected as outcome:
                failed += 1
                _print_line("NOT AS EXPECTED", case, outcome)
    print(f"{len(cases) - failed - left_out} cases ok, {failed} not as expected, {left_out} not run")
    # Without a login most cases cannot be run: that is an error only if they were named, or if none was run.
    return 1 if failed or (asked_for and left_out) or left_out == len(cases) else 0


def _print_line(outcome: str, case: Case, why: Exception | None = None) -> None:
    print(
        f"{case.number:<6} {outcome:<16} {case.sender.value}: {case.title}" + (f": {why}" if why else ""),
        flush=True,  # a case takes seconds, and a pipe is buffered
    )
