"""The command `sandbox`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from getstep_server.reports.text_table import Column, TextTable
from getstep_server.sandbox.check import Finding, check, describe_machine, missing
from getstep_server.sandbox.interfaces import lacks
from getstep_server.sandbox.process import Protections
from getstep_server.text import escape_control_chars, pluralize

from ._parser import EXIT_FAILED, EXIT_OK
from ._shared import print_table, spinner

_SANDBOX = """\
Say what this system does not offer to the sandbox, and what to do about it.
Then try every protection of the sandbox: a program of ours runs in
it and tries to break out, as a hostile program would. The table says what was
tried and whether the protection held; below it is what to install or switch on
where one did not. It takes a few seconds, and needs no contest.

Programs that the host runs for teams are refused where the sandbox does not
work, unless contest.toml has sandbox = "none".

--none runs the same program without the sandbox. There most attempts succeed:
it shows that they are real. They do no harm: each is small, and ends.

examples:
  getstep-server sandbox
  getstep-server sandbox --none

exit codes: 0 all protections hold, 1 at least one does not
"""


def add_sandbox(parser: argparse.ArgumentParser) -> None:
    parser.description = _SANDBOX
    parser.add_argument("--none", action="store_true", help="try the same without the sandbox, as a control")
    parser.set_defaults(command=_sandbox)


def _sandbox(args: argparse.Namespace) -> int:
    for line in describe_machine():
        print(escape_control_chars(line))
    for lack in lacks():
        print(escape_control_chars(f"{'Missing' if lack.needed else 'Weaker'}: {lack.missing}."))
        print(escape_control_chars(f"To do: {lack.advice}"))
    reason = None if args.none else missing()
    if reason is not None:
        print(escape_control_chars(f"No protection holds: {reason}"))
        return EXIT_FAILED
    with spinner() as tick:
        tick("trying to break out")
        findings = check(Protections.NONE if args.none else Protections.ALL)
    print_table(_table(findings))
    broken = [finding for finding in findings if not finding.held]
    print(f"{len(findings) - len(broken)} of {pluralize(len(findings), 'protection')} hold.")
    if not args.none:
        _print_broken(broken)
    return EXIT_FAILED if broken else EXIT_OK


def _table(findings: Sequence[Finding]) -> TextTable:
    probes = [finding.probe for finding in findings]
    held = ["yes" if finding.held else "NO" for finding in findings]
    return TextTable(
        [
            Column("protection", [probe.protection for probe in probes], justify="left"),
            Column("tried", [probe.tried for probe in probes], names=True, justify="left"),
            Column("held", held, justify="left"),
        ]
    )


def _print_broken(broken: Sequence[Finding]) -> None:
    for finding in broken:
        print(escape_control_chars(f"It could {finding.probe.tried}: {finding.detail}"))
    for advice in dict.fromkeys(finding.advice for finding in broken):
        print(f"To do: {advice}")
