"""All hostile cases, again and again, until told to stop: ``soak_attackers.py HOST PORT CLASSIC_PORT FIRST TEAMS``.

TEAMS teams from id FIRST are shared out among the lanes, which run one case after the other, all at the same time.
At a SIGTERM it prints how often which case was run and what was not as expected.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections import Counter
from contextlib import aclosing, nullcontext
from itertools import cycle

import trio

from getstep_conformance.attack import CASES, Address, Case, CaseRunner, Credential, NotAsExpected, NotRun, Times

TEAMS_OF_A_LANE = 4
ROUNDS = 50
STORM = 20
STORM_EVERY_SECONDS = 0.5
"""40 connections a second: a fifth of what the server takes in during matches, so that the cases get in as well."""
PATIENT = Times(grace=240.0, prompt=240.0)
"""The server is under attack, after all, and so is this process; how quick it is depends on the machine."""

FLOODS = {case.number for case in CASES.values() if case.number.startswith("9.") or case.number == "10.9"}
"""One of them at a time: this process has its limits too."""


RATES = {"5.13"}
"""Cases that exceed a rate of logins. The server throttles all logins during this attack; then they cannot."""


class Attack:
    """The state that all lanes share: the cases still to run, and their outcomes."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._cases = cycle(sorted(CASES.values(), key=lambda case: not case.expected.clock))  # slow ones first
        self._flood = trio.Lock()
        self._began = trio.current_time()

    async def lane(self, runner: CaseRunner) -> None:
        """Run whatever case is next, for ever."""
        async with aclosing(runner):
            for case in self._cases:
                async with self._flood if case.number in FLOODS else nullcontext():
                    await self._run(runner, case)

    async def _run(self, runner: CaseRunner, case: Case) -> None:
        try:
            await runner.run(case)
        except (NotAsExpected, NotRun) as outcome:
            if not (isinstance(outcome, NotRun) and case.number in RATES):
                expected = case.expected.describe(case.sender)
                self.wrong.append(
                    f"{case.number} {case.sender.value}: {case.title}: expected: {expected}; got: {outcome}"
                )
        self.ran[case.number] += 1
        if len(self.ran) == len(CASES) and self.ran[case.number] == 1:
            print(f"all cases ran within {trio.current_time() - self._began:.1f} s", flush=True)


async def storm(runner: CaseRunner) -> None:
    """Connections that come and go all the time, whatever else is going on."""
    while True:
        for number in range(STORM):
            connection = await runner.connect("127.0.0.7")
            if number % 2:
                connection.reset()
            else:
                await connection.close()
        runner._open.clear()
        await trio.sleep(STORM_EVERY_SECONDS)


async def main(host: str, port: int, classic_port: int, first: int, teams: int) -> None:
    server, classic = Address(host, port), Address(host, classic_port)
    attack = Attack()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(storm, CaseRunner(server))
        for team in range(first, first + teams, TEAMS_OF_A_LANE):
            ids = range(team, team + TEAMS_OF_A_LANE)
            credentials = [Credential(team, f"test-token-{team}") for team in ids]
            nursery.start_soon(attack.lane, CaseRunner(server, credentials, classic, PATIENT, ROUNDS))
        with trio.open_signal_receiver(signal.SIGTERM) as signals:
            await anext(signals)
        nursery.cancel_scope.cancel()
    print(json.dumps({"ran": attack.ran, "wrong": attack.wrong}), flush=True)


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    host, port, classic_port, first, teams = sys.argv[1:]
    trio.run(main, host, int(port), int(classic_port), int(first), int(teams))
