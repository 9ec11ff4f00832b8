"""The mailbox of one match, and the driver of its judge.

Theory of operation
-------------------

The judge of a match is a generator (`MatchScript`). Where it has to wait it yields an *effect*, and the mailbox
resumes it with the effect's outcome:

=============  =============================================================  ====================================
effect         what the judge waits for                                       it is resumed with
=============  =============================================================  ====================================
`WaitUntil`    something from one of the two seats, at most until a deadline  a `Received`; None at the deadline or
                                                                              if a pause begins or ends
`AwaitCommit`  the write of its turn, which is part of a group commit         a `WriteResult`, WRITTEN or FAILED
`Run`          a coroutine to finish: a full disk, a checkpoint               None
=============  =============================================================  ====================================

An answer travels like this: the poller reads a socket, the connection decodes the answer, the seat puts it into the
mailbox and wakes it, and the judge continues *in that same call stack*. It applies the move, writes the turn, and
asks the other player, before the poller reads the next socket. No task is woken for a move.

The reason is cost. Waking a trio task takes 9 to 38 µs on the measured machine and resuming a generator 0.1 µs; a
whole judged move takes about 30 µs. With a task for each match, each move would cost half as much again or more.

One task per match is left (`MatchMailbox.play`). It sleeps until the deadline of the open question, and it runs the
coroutines that the judge asks for. Nearly no deadline ever passes, so this task hardly ever wakes up.

The turns of all answers that were read together are written to the journal with one call. `AwaitCommit` suspends a
judge until then, so that nobody hears of a turn before it is written. After the write the journal calls back, and
the judge continues in the poller's call stack again.

The queue is bounded by construction: each seat puts in at most one answer for each question and at most one
violation for each connection, and the first violation ends the match.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import trio

from getstep_server.net.seat import Received
from getstep_server.storage.journal import WriteResult

from .deadlines import DeadlineScheduler, Timer


@final
@dataclass(slots=True)
class WaitUntil:
    """Wait for something from a seat, at most until ``deadline`` on trio's clock, which may be in the past."""

    deadline: float


@final
@dataclass(slots=True)
class AwaitCommit:
    """Wait for a group commit.

    ``on_commit`` registers a callback that is called once, with WRITTEN or FAILED.
    """

    on_commit: Callable[[Callable[[WriteResult], None]], None]


@final
@dataclass(slots=True)
class Run:
    """Await what ``function`` returns, in the match's own task."""

    function: Callable[[], Awaitable[object]]


Effect: TypeAlias = WaitUntil | AwaitCommit | Run
MatchScript: TypeAlias = Generator[Effect, Any, None]
"""The judge of one match at work; what it is sent depends on the effect that it yielded."""

_NEVER = float("inf")


class MatchMailbox:
    """Queues what the two seats of a match receive, and drives the judge that takes it out.

    Args:
        scheduler: watches over the deadline of the open question.
    """

    def __init__(self, scheduler: DeadlineScheduler) -> None:
        self._received: deque[Received] = deque()
        self._timer = Timer(scheduler)
        self._script: MatchScript | None = None
        self._deadline = _NEVER
        self._waiting = False  # for something from a seat
        self._run: Run | None = None
        self._failure: Exception | None = None

    def put(self, received: Received) -> None:
        """Queue something for the judge, which takes it at the next `wake`."""
        self._received.append(received)

    def take(self) -> Received | None:
        """Remove and return the oldest entry, or None if there is none."""
        return self._received.popleft() if self._received else None

    def wake(self) -> None:
        """Resume the judge if it waits for an entry and there is one. An exception of the judge is raised by
        `play`.
        """
        if self._waiting and self._received:
            self._resume(self._received.popleft())

    def interrupt(self) -> None:
        """Resume the judge as at a deadline if it waits: the host has paused the match, or resumed it."""
        if self._waiting:
            self._resume(None)

    async def play(self, script: MatchScript) -> None:
        """Drive ``script`` to its end.

        Raises:
            Exception: whatever ``script`` raises.
        """
        self._script = script
        try:
            self._resume(None)
            while self._script is not None:
                await self._wait_or_run()
        finally:
            self._waiting, self._script = False, None  # a read or a commit that is under way resumes nothing now
            script.close()
        if self._failure is not None:
            raise self._failure

    async def _wait_or_run(self) -> None:
        if self._run is None:
            await self._timer.wait(self._deadline)
            # It is fired as well when the script is over, or when there is something to run.
            if self._waiting and self._deadline <= trio.current_time():
                self._resume(None)
        else:
            run, self._run = self._run, None
            await run.function()
            self._resume(None)

    def _resume(self, outcome: Received | WriteResult | None) -> None:
        """Resume the judge with the outcome of its latest effect, and run it until it has to wait."""
        script = self._script
        if script is None:
            return
        self._waiting = False
        try:
            effect = script.send(outcome)
            # What came while the judge wrote or ran has no `wake` left: it would wait for its deadline.
            while self._received and type(effect) is WaitUntil:
                effect = script.send(self._received.popleft())
        except StopIteration:
            self._script = None
        except Exception as error:  # raised again in the match's own task: this runs in that of a connection
            self._script, self._failure = None, error
        else:
            if type(effect) is WaitUntil:
                self._waiting, self._deadline = True, effect.deadline
                self._timer.move(effect.deadline)
                return
            if type(effect) is AwaitCommit:
                effect.on_commit(self._resume)
                return
            self._run = effect
        self._timer.fire()  # the match's own task has something to do
