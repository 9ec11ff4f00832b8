"""Single faults, planted in a client that is right otherwise: a case of the suite finds each, and says why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
import trio

from getstep_conformance.client import Suite, Times, Verdict, cases
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripts import WRONG_CLIENT

MUST, SHOULD = Verdict.FAIL, Verdict.NON_STRICT


@dataclass(frozen=True)
class Fault:
    """One fault of `wrong_client.py`, and how the suite finds it.

    Args:
        name: as in that program.
        case: the number of the case.
        verdict: of the case.
        why: a part of the reason that the case gives.
        patience: seconds; few if the case waits in vain for what the client does not do.
        scale: of the client's pauses; 1 where the case measures them, so that a busy machine does not matter.
    """

    name: str
    case: str
    verdict: Verdict
    why: str
    patience: float = PATIENCE_SECONDS
    scale: float = 0.1


def ignores(name: str, case: str, verdict: Verdict = SHOULD) -> Fault:
    """Return the fault of a client that reads over something that should end the connection."""
    return Fault(name, case, verdict, "expected it to close the connection", patience=4)


FAULTS = [
    # frames and encodings
    Fault("one read, one frame", "1.4", MUST, "nothing came", patience=4),
    Fault("little-endian", "1.1", MUST, "expected join"),
    ignores("empty frame", "2.1", MUST),
    ignores("bin and bytes behind", "5.7"),
    ignores("key twice", "5.27"),
    ignores("deep", "5.21"),
    ignores("large", "5.31"),
    # messages
    Fault("unknown option", "4.13", MUST, "it closed the connection, expected step"),
    Fault("unknown code", "4.8", MUST, "its output does not have 'end_of_the_world'", patience=4),
    Fault("hides codes", "4.8", MUST, "its output does not have 'struck_by_lightning'", patience=4),
    Fault("unknown game", "4.10", MUST, "it closed the connection, expected step or raised"),
    ignores("unknown type", "6.11", MUST),
    ignores("out of order", "6.9", MUST),
    ignores("wrong values", "6.26"),
    # the login
    Fault("purpose check", "1.1", MUST, "purpose is 'check'"),
    Fault("token in clear", "1.1", MUST, "it sent the token in clear"),
    Fault("token as typed", "7.2", SHOULD, "not the signature"),
    Fault("other team", "1.1", MUST, "expected version 1 and team 7"),
    Fault("version 2", "7.1", MUST, "expected version 1 and team 7"),
    Fault("any version", "7.7", MUST, "it sent join"),
    Fault("capital mac", "1.1", MUST, "the client sent join with a wrong value"),
    Fault("long name", "1.1", MUST, "client"),
    Fault("friendly port", "7.9", SHOULD, "it sent join"),
    Fault("refused with 0", "7.11", MUST, "exit code 0, expected another one than 0"),
    Fault("hides reasons", "7.11", SHOULD, "its output does not have", patience=4),
    Fault("waits for hello", "7.17", SHOULD, "expected it to close the connection", patience=4),
    # the proof
    Fault("no nonce", "7.1", SHOULD, "join has no nonce"),
    Fault("old nonce", "7.6", MUST, "expected a new one for each connection"),
    Fault("not dialled", "8.20", SHOULD, "join has no dialled"),
    Fault("believes", "8.4", MUST, "it sent step"),
    Fault("8 digits", "8.25", MUST, "it sent step"),
    Fault("last 8 digits", "8.26", MUST, "it sent step"),
    ignores("own mac", "8.3", MUST),
    ignores("undialled proof", "8.20", MUST),
    ignores("forgets proof", "8.14"),
    Fault("dialled or not", "8.23", SHOULD, "it sent join"),
    Fault("forgets the number", "8.27", SHOULD, "join has no fence"),
    Fault("lower number", "8.28", SHOULD, "it sent step"),
    Fault("any number", "8.30", SHOULD, "it sent step"),
    ignores("8 digits of the number", "8.32"),
    # trust and goodbyes
    Fault("anybody ends it", "8.7", SHOULD, "it has ended, with exit code 0"),
    Fault("obeys anybody", "8.11", SHOULD, "expected at least 1.00 s", scale=1),
    Fault("refused later", "8.15", SHOULD, "it has ended, with exit code 1"),
    Fault("exit code", "8.1", MUST, "it ended with exit code 3, expected 0"),
    Fault("at once", "9.2", MUST, "expected at least 2.00 s", scale=1),
    Fault("one pause", "9.16", MUST, "expected at least 3.00 s", scale=1),
    Fault("never replaced", "9.5", MUST, "expected it to end", patience=4),
    # playing
    Fault("crashes", "1.1", MUST, "expected step"),
    Fault("answers twice", "1.1", MUST, "it sent step"),
    Fault("other move", "10.2", MUST, "it played"),
    Fault("always black", "10.3", MUST, "it played"),
    Fault("turned board", "10.1", MUST, "it played"),
    Fault("first game", "10.9", MUST, "it played"),
    Fault("whole time", "10.25", MUST, "its bot was given [[60000, 7]"),
    Fault("old last move", "10.25", MUST, "its bot was given [[86400000, 9], [3, 4]]"),
    Fault("dies with its bot", "10.15", MUST, "it closed the connection, expected raised"),
    Fault("no error text", "10.15", SHOULD, "the error is 'error'"),
    Fault("dies of a long move", "10.19", MUST, "it closed the connection, expected raised"),
    # notes
    Fault("sends output", "1.1", MUST, "its notes have output"),
    Fault("wrong notes", "1.1", SHOULD, "expected the form of protocol.md"),
    Fault("many notes", "1.1", SHOULD, "bytes, expected at most 3584"),
    Fault("notes before", "16.5", SHOULD, "its notes are {'say': 'move 2'}, expected {'say': 'move 9'}"),
    # late answers, lost connections, silence
    Fault("no late answer", "11.2", SHOULD, "expected step 31"),
    Fault("thinks of each", "11.3", SHOULD, "expected step 35"),
    Fault("late after end", "11.4", SHOULD, "it sent step"),
    Fault("does not read", "11.16", SHOULD, "nothing came within 2 s"),
    Fault("old connection", "11.9", MUST, "it sent step (id 31"),
    Fault("ends", "12.1", MUST, "it has ended, with exit code 1"),
    Fault("spins", "12.16", MUST, "expected growing pauses", scale=1),
    Fault("even pauses", "12.16", SHOULD, "expected growing ones", scale=1),
    Fault("short without proof", "12.18", SHOULD, "expected growing ones", scale=1),
    Fault("pauses stay long", "12.19", SHOULD, "expected a short one"),
    Fault("raw names", "13.3", SHOULD, "its output has"),
    Fault("polls", "14.4", SHOULD, "it used or wanted a processor"),
    Fault("no keep-alive", "14.5", SHOULD, "its socket does not use TCP keep-alive"),
]
"""What may be wrong with a client: each has one fault, and no other."""

QUICK = [
    "purpose check",
    "token in clear",
    "whole time",
    "old last move",
    "unknown option",
    "8 digits",
    "believes",
    "spins",
]
"""The faults of the quick tests. They need a third of a second each, and wait for nothing in vain."""

RIGHT = [
    *(Fault("none", case, Verdict.PASS, "") for case in sorted({fault.case for fault in FAULTS})),
    # Nagle's algorithm delays no frame for long, and says nothing about the pauses between connections.
    Fault("small frames wait", "8.5", Verdict.PASS, ""),
]
"""The client without a fault passes all these cases, so that what they find is the fault."""


async def found_in(faults: Iterable[Fault], at_once: int = 10) -> dict[str, str]:
    """Run the case of each fault, and return what was found instead of what is in the table."""
    wrong: dict[str, str] = {}
    places, starting = trio.Semaphore(at_once), trio.Semaphore(2)

    async def find(fault: Fault) -> None:
        async with places:
            times = Times(patience=fault.patience, scale=fault.scale, scaled=True)
            suite = Suite([*WRONG_CLIENT, fault.name], times)
            outcome = await suite.run_case(cases()[fault.case], starting)
        if outcome.verdict is not fault.verdict or fault.why not in outcome.why:
            wrong[f"{fault.name}, {fault.case}"] = f"{outcome.verdict.value}: {outcome.why}"

    async with trio.open_nursery() as nursery:
        for fault in sorted(faults, key=lambda fault: not cases()[fault.case].table.slow):
            nursery.start_soon(find, fault)
    return wrong


async def test_faults_are_found() -> None:
    assert await found_in(fault for fault in FAULTS if fault.name in QUICK) == {}


@pytest.mark.long
async def test_every_single_fault_is_found_and_nothing_else() -> None:
    assert await found_in([*(fault for fault in FAULTS if fault.name not in QUICK), *RIGHT]) == {}


def test_each_fault_stands_once_and_the_quick_ones_are_among_them() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 48
    assert set(QUICK) <= set(names)
