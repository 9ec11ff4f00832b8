"""The runner starts a client for each case, plays the case, and finds the verdict. Cases run at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import trio

from ._case import Case, cases
from ._classic_steps import ClassicLogin, Stop
from ._client import ClientError, started
from ._network import Network, opened_network
from ._outcome import VERDICT_OF_NEED, NotAsRequired, Outcome, Verdict
from ._play import HOST, TEAM, TOKEN, Play, Times, listener
from ._scripts import is_scaled
from ._steps import Ended, Farewell

CASE_SECONDS = 120.0
"""Seconds after which a case is a failure, whatever its steps wait for."""

PROBE = "9.1"
"""The number of the case that finds out whether the client uses GETSTEP_TIME_SCALE."""

_OVER = {"reason": "contest_over", "detail": "The contest is over. Thank you for playing."}


@dataclass(frozen=True)
class Suite:
    """A client and how it is tested.

    Attributes:
        command: the client and its arguments.
        times: how time is measured.
        jobs: the most cases at the same time.
    """

    command: Sequence[str]
    times: Times = field(default_factory=Times)
    jobs: int = 16

    async def run(self, chosen: Iterable[Case], report: Callable[[Outcome], None]) -> list[Outcome]:
        """Run the cases, call ``report`` after each, and return the outcomes in the order of their numbers.

        Raises:
            ClientError: the client does not start.
        """
        wanted = list(chosen)
        suite, found, again = self, dict[str, Outcome](), list[Case]()
        if any(case.measures_pauses for case in wanted):
            probe, scaled = await self._probe()
            suite = replace(self, times=replace(self.times, scaled=scaled))
            if any(case.number == PROBE for case in wanted):
                found[PROBE] = probe
                report(probe)
        starting, places = trio.Semaphore(max(2, os.cpu_count() or 2)), trio.Semaphore(self.jobs)

        async def one(case: Case) -> None:
            async with places:
                outcome = await suite.run_case(case, starting)
            if outcome.verdict is not Verdict.PASS and case.table.timing:
                again.append(case)  # once more, when the machine is not busy with other cases
                return
            found[case.number] = outcome
            report(outcome)

        try:
            async with trio.open_nursery() as nursery:
                for case in sorted(wanted, key=lambda case: not case.table.slow):
                    if case.number not in found:
                        nursery.start_soon(one, case)
                        await trio.lowlevel.checkpoint()  # so that they start in this order
        except* ClientError as group:
            raise _first(group) from None  # the same for every case
        for case in again:
            found[case.number] = await suite.run_case(case, starting)
            report(found[case.number])
        return [found[case.number] for case in wanted]

    async def _probe(self) -> tuple[Outcome, bool]:
        case = cases()[PROBE]
        remarks: list[str] = []
        outcome = await self.run_case(case, trio.Semaphore(1), remarks)
        return outcome, is_scaled(remarks)

    async def run_case(self, case: Case, starting: trio.Semaphore, remarks: list[str] | None = None) -> Outcome:
        """Run a case and return its outcome.

        Args:
            case: to run.
            starting: is held from the start of the client to its first connection.
            remarks: gets what an informational case has found.

        Raises:
            ClientError: the client does not start.
        """
        began = trio.current_time()
        door, token = await listener(), case.table.token or TOKEN
        variables = {
            "GETSTEP_HOST": HOST,
            "GETSTEP_PORT": str(door.port),
            "GETSTEP_TEAM": str(TEAM),
            "GETSTEP_TOKEN": token,
            "GETSTEP_TIME_SCALE": f"{self.times.scale:g}",
        }
        await starting.acquire()
        release = _Once(starting.release)
        async with trio.open_nursery() as nursery:
            network: Network | None = None
            if case.table.finds:
                network = await opened_network()
                nursery.start_soon(network.answer)
                variables["GETSTEP_DISCOVERY"] = f"{HOST}:{network.port}"
            try:
                async with started(self.command, variables, saved=case.table.finds) as client:
                    play = Play(door, client, self.times, token, on_connection=release, network=network)
                    try:
                        verdict, why = await _verdict(case, play)
                    finally:
                        await play.finish()
                        play.listener.close()
            finally:
                release()
                door.close()
                nursery.cancel_scope.cancel()
        if remarks is not None:
            remarks += play.remarks
        if verdict is Verdict.PASS and play.remarks:
            verdict, why = Verdict.INFORMATIONAL, "; ".join(play.remarks)
        elif verdict is Verdict.PASS and play.other_moves:
            why = f"{play.other_moves} moves were on other empty squares than those of the test bot"
        seconds = trio.current_time() - began
        return Outcome(case.number, verdict, why, seconds, tuple(play.transcript), client.output)


def _first(error: BaseException) -> BaseException:
    """Return the first error in nested groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class _Once:
    """Calls a function at the first call, and does nothing at later ones."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function

    def __call__(self) -> None:
        function, self._function = self._function, None
        if function is not None:
            function()


async def _verdict(case: Case, play: Play) -> tuple[Verdict, str]:
    with trio.move_on_after(CASE_SECONDS):
        try:
            return await _play(case, play)
        except NotAsRequired as error:
            return VERDICT_OF_NEED[error.need or "must"], error.why
    return Verdict.FAIL, f"the case took more than {CASE_SECONDS:g} s"


async def _play(case: Case, play: Play) -> tuple[Verdict, str]:
    """Play a case to its end. A requirement that is not met ends it, with the need of its step."""
    if case.script is not None:
        await case.script(play)
    missed: NotAsRequired | None = None
    for step in case.steps:
        try:
            await step.do(play)
        except NotAsRequired as error:
            if not step.goes_on or error.need == "must":
                raise
            missed = missed or error
    if case.table.ends == "over" and case.classic:
        if not play.connected:
            await ClassicLogin().do(play)
        await Stop().do(play)
    elif case.table.ends == "over":
        await _say_over(play)
    if missed is not None:
        raise missed
    return Verdict.PASS, ""


async def _say_over(play: Play) -> None:
    """End the contest: the client ends. One that asks for no proof may come back instead."""
    if play.connected and play.asks_for_proof and not play.line.proved:
        await play.close()
    if not play.connected:
        await play.log_in()
    await Farewell(fields=_OVER, final=True).do(play)
    if play.asks_for_proof:
        await Ended(code="zero").do(play)
        return
    try:
        await play.accept()
    except NotAsRequired:
        if play.client.exit_code != 0:
            raise
