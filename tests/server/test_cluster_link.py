"""The process that talks to Dask: the messages on its pipes, its ends, and what ``--dask`` means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import trio

from getstep_server.children import keeping
from getstep_server.children.channel import ChannelError
from getstep_server.children.log import BEGINNING_BYTES, END_BYTES
from getstep_server.cli import clusters
from getstep_server.cluster.address import ClusterAddress, cluster_address
from getstep_server.cluster.client import ProcessLink
from getstep_server.cluster.messages import (
    MAX_MESSAGE_BYTES,
    Connected,
    FromProcess,
    Lost,
    Reported,
    Stop,
    framed,
    shortened,
)
from getstep_server.errors import UsageError
from getstep_server.events import ClusterChanged, ClusterConnected, ClusterTrouble, Event, WorkersRefused
from getstep_server.reports.event_lines import EventLines
from getstep_server.reports.progress_state import ProgressState
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS

# --- messages ----------------------------------------------------------------------------------------------------


def test_a_message_that_is_too_long_is_refused() -> None:
    with pytest.raises(ChannelError, match="Reported: "):
        framed(Reported(1, b" " * MAX_MESSAGE_BYTES))


def test_of_a_long_reason_the_end_is_kept() -> None:
    assert shortened("short") == "short"
    assert shortened("x" * 5000 + "the end").endswith("the end")
    assert len(shortened("x" * 5000)) < 2100


# --- the process -------------------------------------------------------------------------------------------------

ECHO = """
import socket, sys
sock = socket.socket(fileno=int(sys.argv[4]))
sock.sendall(bytes.fromhex(sys.argv[1]))
if sys.argv[2] == "stay":
    sock.sendall(bytes.fromhex(sys.argv[3]) if sock.recv(1) else b"")
    while sock.recv(4096):
        pass
sys.exit(3)
"""


def made_link(folder: Path, first: bytes, then: str, answer: bytes = b"") -> ProcessLink:
    """Return a link to a process that says ``first``, and ``answer`` when it hears something."""
    return ProcessLink([sys.executable, "-c", ECHO, first.hex(), then, answer.hex()], folder / "cluster.log")


async def test_both_sides_hear_each_other_and_the_process_ends_with_the_link(tmp_path: Path) -> None:
    link = made_link(tmp_path, framed(Connected("here")), "stay", framed(Lost(1, "heard")))
    heard: list[FromProcess] = []

    def receive(message: FromProcess) -> None:
        heard.append(message)
        if isinstance(message, Connected):
            link.tell(Stop(1))
        else:
            nursery.cancel_scope.cancel()

    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, receive, pytest.fail)
    assert heard == [Connected("here"), Lost(1, "heard")]


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (framed(Connected("here")), "has ended with code 3"),
        (b"\xff" * 8, "is out of step: a message of"),
        (framed(Connected("here"))[:-1] + b"\xc1", "is out of step"),
    ],
    ids=["exit", "length", "content"],
)
async def test_a_process_that_ends_or_talks_nonsense_is_started_again(
    tmp_path: Path, first: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 0.0)
    link = made_link(tmp_path, first, "go")
    reasons: list[str] = []

    def lost(reason: str) -> None:
        reasons.append(reason)
        if len(reasons) == 2:
            nursery.cancel_scope.cancel()

    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, lambda _: None, lost)
    assert all(why in reason for reason in reasons)


async def test_a_process_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    link = ProcessLink([str(tmp_path / "missing")], tmp_path / "cluster.log")

    def lost(reason: str) -> None:
        assert "cannot be started" in reason
        nursery.cancel_scope.cancel()

    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, lambda _: None, lost)


async def test_a_long_log_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "cluster.log").write_bytes(b" " * (BEGINNING_BYTES + END_BYTES + 1))
    link = made_link(tmp_path, b"", "go")
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(link.run, lambda _: None, lambda _: nursery.cancel_scope.cancel())
    assert (tmp_path / "cluster.log").stat().st_size == 0


# --- the address -------------------------------------------------------------------------------------------------


def test_the_address_of_a_cluster(tmp_path: Path) -> None:
    file = tmp_path / "slurm.yaml"
    file.write_text("cores: 4\n")
    assert cluster_address("tcp://lab1:8786") == ClusterAddress("scheduler", "tcp://lab1:8786")
    assert cluster_address("tls://[::1]:8786").kind == "scheduler"
    assert cluster_address("local:2") == ClusterAddress("local", "2")
    assert cluster_address(str(file)) == ClusterAddress("slurm", str(file))


@pytest.mark.parametrize(
    "text", ["", "lab1:8786", "tcp://lab1", "http://lab1:8786", "local:", "local:0", "local:257", "gone.yaml", "."]
)
def test_another_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--dask"):
        cluster_address(text)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("- cores", "expected arguments of dask_jobqueue.SLURMCluster"),
        ("1: cores", "expected arguments of dask_jobqueue.SLURMCluster"),
        ("cores: [", "flow"),
        ("jobs: 0", "jobs: 0, expected 1 to 1000"),
        ("jobs: 1001", "expected 1 to 1000"),
        ("jobs: many", "jobs: 'many', expected 1 to 1000"),
        ("jobs: true", "jobs: True, expected 1 to 1000"),
        ("processes: 2", "processes: expected 1"),
    ],
)
def test_a_file_for_slurm_is_checked(tmp_path: Path, settings: str, expected: str) -> None:
    file = tmp_path / "slurm.yaml"
    file.write_text(settings)
    with pytest.raises(UsageError, match=f"--dask '{file}': .*{expected}"):
        cluster_address(str(file))


def test_a_file_for_slurm_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"^--dask 'gone\.yaml': No such file or directory$"):
        cluster_address("gone.yaml")


def test_only_the_process_and_its_workers_import_dask() -> None:
    """It takes a second, and a host without a cluster need not have it."""
    code = "import sys, getstep_server.cli.main, getstep_server.cli.clusters; print('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"False"


def test_without_dask_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "find_spec", lambda _: None)
    assert clusters.cluster_maker(None) is None
    with pytest.raises(UsageError, match=r'pip install "getstep-server\[dask\]"'):
        clusters.cluster_maker("local:2")


# --- the terminal ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ClusterConnected("tcp://lab:8786"), "Connected to the Dask scheduler at tcp://lab:8786"),
        (ClusterChanged(1, 1), "The cluster has 1 worker, for 1 match at once"),
        (ClusterChanged(2, 8), "The cluster has 2 workers, for 8 matches at once"),
        (WorkersRefused(("w1",), "no sandbox"), "! Worker w1 plays no matches: no sandbox"),
        (WorkersRefused(("w1", "w2"), "no sandbox"), "! 2 workers, such as w1, play no matches: no sandbox"),
        (ClusterTrouble("gone"), "! Cluster: gone"),
    ],
    ids=["connected", "one", "several", "refused", "several refused", "trouble"],
)
def test_the_terminal_says_what_becomes_of_the_workers(tmp_path: Path, event: Event, line: str) -> None:
    assert EventLines(ProgressState(make_contest(tmp_path))).line(event) == line
