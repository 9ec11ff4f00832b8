"""The parts of the conformance suite: the encoder, the client's process, and cases that run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from getstep.wire import MAX_SERVER_FRAME, decode
from getstep_conformance.client import Outcome, Suite, Times, Verdict
from getstep_conformance.client._case import cases_in
from getstep_conformance.client._client import OUTPUT_BYTES, started
from getstep_conformance.client._line import Line
from getstep_conformance.client._pack import STYLES, Raw, pack
from getstep_conformance.client._play import padded

VALUE: dict[str, Any] = {
    "integers": [
        0,
        31,
        127,
        128,
        255,
        256,
        65535,
        65536,
        2**31 - 1,
        2**32,
        2**63 - 1,
        -1,
        -32,
        -33,
        -129,
        -(2**63),
    ],
    "texts": ["", "ä", "x" * 31, "x" * 32, "x" * 255, "x" * 256, "🎲" * 400],
    "arrays": [[], [None, True, False, 1.5], [0] * 16],
    "maps": {str(number): number for number in range(16)},
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_decodes_to_the_same_value(style: str) -> None:
    assert decode(pack(VALUE, STYLES[style])) == VALUE


def test_styles_differ_and_raw_values_are_written_as_they_are() -> None:
    value = {"k": [1, -1, "x"]}
    assert len({pack(value, style) for style in STYLES.values()}) >= 10
    assert pack({"k": Raw(b"\xc1")}, STYLES["shortest"]) == b"\x81\xa1k\xc1"


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_an_integer_that_has_no_encoding(value: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        pack(value, STYLES["shortest"])


@pytest.mark.parametrize("size", [1000, 2345, MAX_SERVER_FRAME])
def test_padding_is_exact(size: int) -> None:
    fields = padded({"type": "end", "match": 1}, size)
    assert len(pack(fields, STYLES["shortest"])) == size
    assert decode(pack(fields, STYLES["shortest"])) == fields


VARIABLES = {"GETSTEP_HOST": "h", "GETSTEP_PORT": "1", "GETSTEP_TEAM": "7", "GETSTEP_TOKEN": "t"}


async def test_the_output_of_a_client_is_read_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", "mine")
    program = "import os, sys; print('x' * 300_000, os.environ['GETSTEP_LOGIN_FILE'] != 'mine', sys.argv[1:])"
    async with started([sys.executable, "-c", program, "{host}:{port}", "{team}"], VARIABLES) as client:
        assert await client.wait() == 0
    assert client.output.endswith("x True ['h:1', '7']\n")
    assert len(client.output) <= OUTPUT_BYTES


async def test_a_client_is_ended_after_the_case() -> None:
    program = "import time; time.sleep(1000)"
    async with started([sys.executable, "-c", program], VARIABLES) as client:
        assert client.exit_code is None
    assert client.exit_code not in (None, 0)


@pytest.mark.parametrize(("timing", "starts"), [(False, 1), (True, 2)])
async def test_a_case_whose_timing_failed_runs_again(timing: bool, starts: int, tmp_path: Path) -> None:
    table = {"number": "3.1", "title": "t", "requires": "r", "see": "frames", "steps": ["accept"], "timing": timing}
    (case,) = cases_in({"group": 3, "title": "Three", "case": [table]})
    program = f"open({str(tmp_path / 'starts')!r}, 'a').write('x')"
    told: list[Outcome] = []
    (outcome,) = await Suite([sys.executable, "-c", program], Times(patience=60)).run([case], told.append)
    assert (told, outcome.verdict) == ([outcome], Verdict.FAIL)
    assert len((tmp_path / "starts").read_text()) == starts


async def test_a_line_may_be_closed_while_a_task_of_the_case_sends() -> None:
    """A script sends in the background while the case notices that the client has gone."""
    ours, theirs = trio.socket.socketpair()
    with theirs:
        line = Line(trio.SocketStream(ours))
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(line.send, b"x" * 10_000_000)  # more than the kernel keeps for a client
            await wait_all_tasks_blocked()
            await line.close()


async def test_a_task_of_the_case_may_begin_to_send_while_a_line_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To close the stream counts as sending, too: the task has to wait, and finds it closed then."""
    ours, theirs = trio.socket.socketpair()
    with theirs:
        line = Line(trio.SocketStream(ours))
        close = line.stream.send_eof

        async def while_a_task_begins_to_send() -> None:
            nursery.start_soon(line.send, b"x")
            with line.stream._send_conflict_detector:  # as trio's does, for a moment
                await wait_all_tasks_blocked()
            await close()

        monkeypatch.setattr(line.stream, "send_eof", while_a_task_begins_to_send)
        async with trio.open_nursery() as nursery:
            await line.close()
