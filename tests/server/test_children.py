"""Child processes: what they say, how they end, and how they are started again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from getstep_server.children import keeping, process
from getstep_server.children.log import ChildLog
from getstep_server.limits import CHILD_LINE_BYTES
from tests.support.patience import PATIENCE_SECONDS

PARENT_ENDS = "from getstep_server.children.parent import until_parent_ends; until_parent_ends()"


def python(code: str) -> list[str]:
    return [sys.executable, "-u", "-c", code]


async def test_lines_are_followed_and_errors_are_kept(tmp_path: Path) -> None:
    lines: list[bytes] = []
    code = "import sys; print(input()); print('two'); print('oh', file=sys.stderr); sys.exit(3)"
    with ChildLog(tmp_path / "log") as log, trio.fail_after(PATIENCE_SECONDS):
        child = await process.start(python(code), stderr=subprocess.PIPE)
        assert await process.run(child, log, on_line=lines.append, first=b"one\n") == 3
    assert (lines, (tmp_path / "log").read_bytes()) == ([b"one", b"two"], b"oh\n")


async def test_a_line_without_end_ends_the_child() -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        child = await process.start(python(f"print('x' * {2 * CHILD_LINE_BYTES}, end=''); input()"))
        assert await process.run(child, on_line=lambda _: None) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("code", "expected"),
    [(f"print(1); {PARENT_ENDS}", 0), ("import time; print(1); time.sleep(1000)", -signal.SIGKILL)],
    ids=["ends with its input", "is killed"],
)
async def test_a_child_ends_with_its_input_or_is_killed(code: str, expected: int) -> None:
    child = await process.start(python(code))
    seconds = PATIENCE_SECONDS if expected == 0 else 0.01
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            said = trio.Event()

            async def follow() -> None:
                await process.run(child, on_line=lambda _: said.set(), end_seconds=seconds)

            nursery.start_soon(follow)
            await said.wait()
            nursery.cancel_scope.cancel()
    assert child.returncode == expected


async def test_what_a_child_has_started_ends_with_it() -> None:
    code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()'], stdin=0).pid)"
    lines: list[bytes] = []
    with trio.fail_after(PATIENCE_SECONDS):
        child = await process.start(python(code))
        await process.run(child, on_line=lines.append)
        while Path(f"/proc/{int(lines[0])}/stat").exists() and " Z " not in stat(int(lines[0])):
            await trio.sleep(0.01)


def stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return " Z "


def test_a_child_ends_with_its_parent_even_after_sigkill() -> None:
    middle = f"""
import trio, sys
from getstep_server.children.process import run, start
async def main():
    child = await start([sys.executable, "-u", "-c", "print(1); {PARENT_ENDS}"])
    await run(child, on_line=lambda _: print(child.pid, flush=True))
trio.run(main)
"""
    with subprocess.Popen(python(middle), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    assert ended(child)


def ended(pid: int) -> bool:
    async def wait() -> None:
        while " Z " not in stat(pid):
            await trio.sleep(0.01)

    async def main() -> bool:
        with trio.move_on_after(PATIENCE_SECONDS):
            await wait()
            return True
        return False

    return trio.run(main)


async def test_pauses_grow_and_begin_anew_after_a_good_life(
    autojump_clock: trio.testing.MockClock,
) -> None:
    lives = iter([0, 0, 0, keeping.GOOD_SECONDS + 1, 0])
    pauses: list[float] = []

    async def live() -> int:
        await trio.sleep(next(lives))
        return 7

    def ended(code: int, pause: float) -> None:
        assert code == 7
        pauses.append(pause)
        if len(pauses) == 5:
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeping.keep_running, live, ended)
    assert pauses == [1, 2, 4, 1, 2]
