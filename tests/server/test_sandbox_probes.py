"""Attempts to break out of the sandbox, and the same without it: there most of them succeed, so they are real."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from getstep_server.cli.main import run_command
from getstep_server.sandbox import Protections
from getstep_server.sandbox.check import END_SECONDS, LIMITS, Finding, check
from getstep_server.sandbox.hostile import __name__ as hostile
from getstep_server.sandbox.hostile import files, kernel, network, processes, resources
from getstep_server.sandbox.hostile.attempt import ATTEMPTS
from getstep_server.sandbox.probes import PROBES, Part, Run
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import needs_sandbox

TOGETHER = {probe.name for probe in PROBES if probe.run is Run.TOGETHER}

SUCCEED_WITHOUT = {
    *("read_teams_file", "read_teams_file_by_link", "read_teams_file_above", "list_opponent", "read_users"),
    *("write_outside", "other_devices", "devices_of_the_kernel", "kernel_symbols"),
    *("fork", "start_program", "spawn_program", "clone_process", "see_processes", "signal_a_process"),
    *("connect_to_the_server", "send_a_datagram", "listen", "connect_to_a_socket_file", "netlink", "other_sockets"),
    *("connect_to_an_abstract_socket", "anonymous_files", "system_v_memory", "timer_with_sigcont"),
    *(
        "pipe_with_sigcont",
        "populate",
        "reserve_addresses",
        "locks_of_files",
        "watches_of_files",
        "locks_of_shared_files",
        "times_of_shared_devices",
        "continue_itself",
        "gain_rights_by_exec",
        "live_on_after_the_server",
    ),
}
"""Attempts of one process that every user can make without a sandbox, in a container too."""

ALONE_WITHOUT = {
    *("fill_folder", "fill_temporary_folder", "too_many_files", "file_with_holes", "become_another_program"),
    *("too_many_threads", "memory", "shared_memory", "memory_of_stacks", "memory_in_files", "processor_time"),
    *("fork_bomb", "escape_by_daemon", "compute_while_suspended", "continue_while_suspended"),
}
"""Further ones, each in a process of its own."""


def broken(findings: list[Finding]) -> dict[str, str]:
    return {finding.probe.name: finding.detail for finding in findings if not finding.held}


def test_there_are_many_probes_and_each_has_its_code() -> None:
    assert len(PROBES) >= 80
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names)
    modules = [files, kernel, network, processes, resources]
    assert {module.__name__.rpartition(".")[0] for module in modules} == {hostile}
    assert set(ATTEMPTS) - {"ignore_all_signals"} == set(names) - {"ignore_all_signals", "server_killed"}
    assert LIMITS.memory_bytes >= 4 * LIMITS.file_bytes  # so that the sum of both is more than either limit
    assert END_SECONDS <= 1


@needs_sandbox
def test_no_attempt_of_one_process_succeeds() -> None:
    findings = check(names=TOGETHER)
    assert len(findings) == len(TOGETHER)
    assert broken(findings) == {}


def test_without_the_sandbox_they_succeed() -> None:
    assert set(broken(check(Protections.NONE, TOGETHER))) >= SUCCEED_WITHOUT


SUSPENDED = ["compute_while_suspended", "compute_in_the_kernel", "continue_while_suspended", "fork_bomb"]


@pytest.mark.long
@needs_sandbox
def test_a_suspended_program_uses_no_processor_and_a_fork_bomb_is_gone_at_its_end() -> None:
    assert broken(check(names=SUSPENDED)) == {}


@needs_sandbox
@pytest.mark.long
def test_a_call_of_the_kernel_that_goes_on_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nobody waits for its end."""
    monkeypatch.setattr("getstep_server.sandbox.process.wait_until_stopped", lambda *_: True)
    assert set(broken(check(names=["compute_in_the_kernel"]))) == {"compute_in_the_kernel"}


@needs_sandbox
def test_nothing_is_left_of_a_program_whose_server_was_killed() -> None:
    assert broken(check(names=["server_killed"])) == {}


@needs_sandbox
@pytest.mark.long
def test_all_protections_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sandbox"]) == 0
    shown = capsys.readouterr().out
    assert f"{len(PROBES)} of {len(PROBES)} protections hold." in shown


@pytest.mark.long
def test_without_the_sandbox_most_attempts_succeed() -> None:
    found = broken(check(Protections.NONE))
    for _ in range(5):  # on a busy machine they may get no processor time
        found |= broken(
            check(Protections.NONE, {"compute_while_suspended", "continue_while_suspended"} - set(found))
        )
    assert set(found) >= SUCCEED_WITHOUT | ALONE_WITHOUT
    assert len(found) >= 50


@needs_sandbox
@pytest.mark.long
@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(), reason="needs root and a second Python"
)
def test_all_protections_hold_for_a_user_who_is_not_root() -> None:
    source = (
        "from getstep_server.sandbox.check import check\n"
        "print([(finding.probe.name, finding.detail) for finding in check() if not finding.held])"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-B", "-c", source],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server"), "PATH": os.environ["PATH"], "HOME": "/root"},
        cwd="/",
        user=12345,
        group=12345,
        extra_groups=[],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- the command ------------------------------------------------------------------------------------------------


def test_without_bubblewrap_the_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_command(["sandbox"]) == 1
    assert "No protection holds: bubblewrap is not installed; apt install bubblewrap" in capsys.readouterr().out


def test_a_bubblewrap_that_fails_is_quoted_with_what_to_switch_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_command(["sandbox"]) == 1
    shown = capsys.readouterr().out
    assert "setting up uid map: Permission denied" in shown
    assert "this machine or its container lets nobody make namespaces" in shown


def test_a_protection_that_does_not_hold_is_named_with_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = [Finding(probe, held=probe.name != "memory", detail="it has 2 GB") for probe in PROBES]
    monkeypatch.setattr("getstep_server.cli.sandbox.check", lambda _: findings)
    monkeypatch.setattr("getstep_server.cli.sandbox.missing", lambda: None)
    assert run_command(["sandbox"]) == 1
    shown = capsys.readouterr().out
    assert f"{len(PROBES) - 1} of {len(PROBES)} protections hold." in shown
    assert "It could use twice its memory: it has 2 GB" in shown
    assert f"To do: {Part.MEMORY.value}" in shown
