"""Takes the limits away one by one, and names the test that fails: ``python tests/limits_removed.py [NAME ...]``.

In a scratch copy of the project each limit is set to a value as good as none, and the tests that hold it are run.
It takes some minutes, and ends with 1 if a limit is held by no test.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIRE = "sdk/getstep/wire/_limits.py"
SERVER = "server/getstep_server/limits.py"
SESSION = "server/getstep_server/session.py"
LIMITS = (WIRE, SERVER)
SECONDS = 90.0
"""A test that has not failed by then does not hold anything."""

_HOME = ("sdk", "server", "engines", "bots")
_WIRE = "tests/sdk/test_wire_limits.py::"
_BOUND = _WIRE + "test_one_more_is_too_much"
_HERE = "tests/server/test_limits.py::"
_ATTACK = "tests/server/test_attack.py::"
_DOOR = "tests/server/test_doorkeeper.py::"
_FLOODS = "tests/server/test_incidents.py::"
_LOG = "tests/server/test_log.py::"
_ALIVE = "tests/server/test_listening.py::test_a_dead_link_is_noticed_after_half_a_minute"
_SESSION = "tests/server/test_session.py::"

REMOVED: dict[str, tuple[str, ...]] = {
    # name: the value that removes it, the tests that hold it
    "MAX_CLIENT_FRAME": ("10**6", f"{_BOUND}[a client's frame]"),
    "MAX_SERVER_FRAME": ("10**6", f"{_WIRE}test_a_servers_frame_is_refused_by_its_header"),
    "MAX_DEPTH": ("10**6", f"{_BOUND}[depth]"),
    "MAX_ARRAY": ("10**6", f"{_BOUND}[an array]"),
    "MAX_MAP": ("10**6", f"{_BOUND}[a map]"),
    "MAX_TEXT": ("10**6", f"{_WIRE}test_a_text_of_one_character_more_is_a_fault"),
    "MAX_NAME": ("10**6", f"{_BOUND}[a name]"),
    "MAX_TEXT_BYTES": ("10**6", f"{_BOUND}[a string]"),
    "MAX_TEAM": ("2**64", f"{_BOUND}[a team]"),
    "MAX_ID": ("2**64", f"{_BOUND}[a version]"),
    "MAX_MS": ("2**64", f"{_BOUND}[a time]"),
    "LOGIN_SECONDS": ("1e9", f"{_ATTACK}test_the_clocks_are_protocol_md_s"),
    "FRAME_SECONDS": ("1e9", f"{_ATTACK}test_the_clocks_are_protocol_md_s"),
    "LINGER_SECONDS": ("1e9", f"{_HERE}test_who_does_not_close_after_goodbye_is_cut_off"),
    "LINGER_BYTES": ("10**12", f"{_HERE}test_who_goes_on_sending_after_goodbye_is_cut_off"),
    "FAREWELL_SECONDS": ("1e9", f"{_SESSION}test_the_end_does_not_wait_for_ever_for_who_went_away"),
    "RECEIVE_BYTES": ("10**6", "tests/server/test_arrivals.py::test_a_flood_is_taken_in_by_parts"),
    "CLOCK_STEP_SECONDS": (
        "1e9",
        "tests/server/test_arrivals.py::test_a_stamp_from_before_the_second_step_has_its_age_too",
    ),
    "READS_AT_ONCE": ("10**6", "tests/server/test_switchboard.py::test_the_other_tasks_get_their_turn"),
    "ACCEPTS_AT_ONCE": ("10**9", "tests/server/test_listening.py::test_the_other_tasks_get_their_turn"),
    "KEEPALIVE_IDLE_SECONDS": ("7200", _ALIVE),
    "KEEPALIVE_EVERY_SECONDS": ("7200", _ALIVE),
    "KEEPALIVE_TRIES": ("100", _ALIVE),
    "MAX_CONNECTIONS": ("10**9", f"{_HERE}test_so_many_connections_and_no_more[all addresses]"),
    "MAX_CONNECTIONS_PER_ADDRESS": ("10**9", f"{_HERE}test_so_many_connections_and_no_more[one address]"),
    "SPARE_FILES": (
        "-(10**9)",
        "tests/server/test_listening.py::test_connections_leave_descriptors_free_for_files",
    ),
    "CROWDED_PAUSE_SECONDS": ("0", "tests/server/test_listening.py::test_too_many_are_taken_in_slowly"),
    "BAD_LOGIN_FIRST_SECONDS": ("0", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "BAD_LOGIN_LONGEST_SECONDS": ("1e9", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "BAD_LOGIN_FORGET_SECONDS": ("0", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "MAX_ADDRESSES_KEPT": ("10**9", f"{_DOOR}test_wrong_logins_are_remembered_of_so_many_addresses_and_no_more"),
    "LOGINS_PER_WINDOW": ("10**9", f"{_DOOR}test_a_team_may_log_in_so_often_in_so_long"),
    "LOGIN_WINDOW_SECONDS": ("0", f"{_DOOR}test_a_team_may_log_in_so_often_in_so_long"),
    "CLASSIC_REFUSAL_SECONDS": ("0", f"{_ATTACK}test_the_clocks_are_protocol_md_s"),
    "CLASSIC_MAX_SQUARES": (
        "10**6",
        "tests/server/test_classic_codec.py::test_numbers_out_of_range_are_a_bad_field[a count of 101]",
    ),
    "CLASSIC_STRAYS": ("10**9", f"{_HERE}test_stale_answers_of_a_classic_client_come_to_an_end"),
    "ABSENT_MISSES": ("10**9", "tests/server/test_judge.py::test_three_misses_without_a_connection_lose"),
    "MAX_EVENTS": ("10**6", "tests/server/test_contest.py::test_too_many_events"),
    "MAX_MATCHES": ("10**12", f"{_HERE}test_settings_may_ask_for_so_many_matches_and_no_more"),
    "MAX_SEATS": ("10**6", "tests/server/test_contest.py::test_a_mistake_in_teams_toml[too many seats]"),
    "MAX_TEAMS": ("10**6", "tests/server/test_contest.py::test_too_many_teams"),
    "MAX_CONFIG_BYTES": ("1 << 24", "tests/server/test_toml.py::test_a_file_that_is_too_large"),
    "MATCH_ATTEMPTS": (
        "10**9",
        "tests/server/test_containment.py::test_what_always_fails_stops_the_contest_and_says_so",
    ),
    "WATCH_SECONDS": ("1e9", "tests/server/test_timekeeper.py::test_standing_still_is_noticed"),
    "STALLS_KEPT": ("10**9", f"{_HERE}test_only_the_last_times_of_standing_still_are_kept"),
    "INCIDENT_ROWS_PER_TEAM": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "INCIDENT_ROWS_OF_STRANGERS": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "INCIDENT_DETAIL_CHARS": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "INCIDENTS_SAVED_EVERY_SECONDS": ("1e-3", f"{_HERE}test_a_flood_costs_a_transaction_a_second"),
    "NOTED_PER_MINUTE": ("10**5", f"{_FLOODS}test_a_reconnect_storm_is_collapsed_and_what_is_said_last_is_true"),
    "SERVER_FAULTS_KEPT": ("10**9", f"{_FLOODS}test_server_faults_are_alike_if_they_happened_in_the_same_place"),
    "LOG_QUEUE_LINES": ("10**6", f"{_LOG}test_a_disk_that_stands_still_costs_lines_and_no_time"),
    "LOG_FILE_BYTES": ("10**12", f"{_LOG}test_no_flood_fills_the_disk"),
    "LOG_FILES_KEPT": ("10**6", f"{_LOG}test_no_flood_fills_the_disk"),
    "LOG_TEXT_CHARS": ("10**6", f"{_LOG}test_a_long_text_loses_its_middle"),
    "SUMMARY_ROWS": ("10**6", f"{_FLOODS}test_an_error_ends_the_run_and_the_records_are_complete"),
    "SEGMENT_BYTES": ("10**12", f"{_HERE}test_a_segment_of_the_journal_that_is_full_is_followed_by_another"),
    "MAX_SEGMENT_BYTES": ("10**12", f"{_HERE}test_a_journal_larger_than_it_can_be_is_not_read"),
    "DISK_LEAST_FREE_BYTES": ("0", f"{_HERE}test_some_room_is_left_on_the_disk"),
    "DISK_LOOKED_AT_EVERY_SECONDS": ("0", f"{_HERE}test_a_full_disk_is_tried_once_a_second"),
    "GAME_INCIDENTS_KEPT": ("10**9", f"{_HERE}test_so_many_kinds_of_incidents_are_kept_with_a_game"),
    "HOSTILE_RETRY_MS": ("0", f"{_SESSION}test_a_hostile_frame_out_of_turn_loses_the_match"),
    "FULL_RETRY_MS": ("0", f"{_SESSION}test_of_too_many_connections_the_longest_without_a_seat_goes"),
    "SHUTDOWN_RETRY_MS": ("0", f"{_HERE}test_a_server_that_stops_asks_for_a_pause"),
    "FIRST_BYTES": ("10**9", f"{_HERE}test_of_a_hostile_frame_the_first_bytes_are_kept"),
}

NO_LIMITS = {"VERSION", "HEADER_BYTES", "NONCE_DIGITS", "MAC_DIGITS"}
"""Forms, not bounds: with any other value nobody could speak to anybody."""


class Scratch:
    """A copy of the project, to be changed.

    Args:
        folder: where to put it.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder / "project"
        shutil.copytree(ROOT, self._root, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
        paths = [str(self._root), *(str(self._root / name) for name in _HOME)]
        self._env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}

    def without(self, name: str) -> str | None:
        """The test that fails when a limit is removed, or None."""
        value, *tests = REMOVED[name]
        path, text = self._defining(name)
        removed = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        path.write_text(removed, encoding="utf-8")
        try:
            return self.failing(tests)
        except subprocess.TimeoutExpired:
            return None
        finally:
            path.write_text(text, encoding="utf-8")

    def failing(self, tests: Iterable[str]) -> str | None:
        """The first of ``tests`` that fails, or None if all pass.

        Raises:
            RuntimeError: pytest could not run them.
            TimeoutExpired: they go on for more than SECONDS.
        """
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *tests]
        output, code = self._run(command)
        if code == 0:
            return None
        found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
        if code != 1 or found is None:
            raise RuntimeError(f"pytest ended with {code}:\n{output}")
        return found[1]

    def _run(self, command: list[str]) -> tuple[str, int]:
        """What a command prints, and its exit code."""
        with subprocess.Popen(
            command,
            cwd=self._root,
            env=self._env,
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                output, _ = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with the servers that it has started
                raise
            return output, process.returncode

    def _defining(self, name: str) -> tuple[Path, str]:
        for path in (self._root / module for module in (*LIMITS, SESSION)):
            text = path.read_text(encoding="utf-8")
            if re.search(rf"^{name} = ", text, re.MULTILINE):
                return path, text
        raise SystemExit(f"{name}: no such limit, expected one of {', '.join(REMOVED)}")


def main(names: list[str]) -> int:
    """Remove the limits ``names``, or all; 1 if one of them is not held."""
    unknown = [name for name in names if name not in REMOVED]
    if unknown:
        raise SystemExit(f"{unknown[0]!r}, expected one of {', '.join(REMOVED)}")
    with tempfile.TemporaryDirectory(prefix="limits-removed-") as folder:
        scratch = Scratch(Path(folder))
        loose = 0
        for name in names or REMOVED:
            value, *tests = REMOVED[name]
            broken = scratch.failing(tests)  # else it would seem to hold whatever is removed
            if broken is not None:
                raise SystemExit(f"{broken} fails with all limits in place")
            test = scratch.without(name)
            loose += test is None
            print(f"{name:<30} {value:<10} {test or 'NOT HELD'}", flush=True)
    return 1 if loose else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
