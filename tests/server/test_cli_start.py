"""The modules that a command loads before it does anything: a host waits for them at each start."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from getstep_server.cli import main as cli
from getstep_server.config.contest import Contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up

HEAVY = {"numpy", "matplotlib", "networkx"}
"""Each takes more than 100 ms to import, and is for ratings, plots or nothing at all."""

LIBRARIES = HEAVY | {
    *("trio", "pydantic", "rich", "jinja2", "tomlkit", "msgpack"),
    *("getstep", "getstep_engines"),
}


def loaded(*commands: str) -> set[str]:
    """Return the names of the top-level packages that commands import. A command may fail with exit code 1."""
    return {name.partition(".")[0] for name in modules_of(*commands)}


def modules_of(*commands: str) -> set[str]:
    """Return the names of all modules that commands import, run in order in one process."""
    program = (
        "import shlex, sys\n"
        "before = set(sys.modules)\n"
        "from getstep_server.cli.main import main\n"
        "for command in sys.argv[1:]:\n"
        "    try:\n        main(shlex.split(command))\n"
        "    except SystemExit as end:\n        assert end.code in (0, 1), (command, end.code)\n"
        "print(*sys.modules.keys() - before, file=sys.stderr)"
    )
    run = [sys.executable, "-c", program, *commands]
    ran = subprocess.run(run, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
    return set(ran.stderr.splitlines()[-1].split())


def test_help_imports_no_library_at_all() -> None:
    assert loaded("--help", "--version") & LIBRARIES == set()


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    return make_up(tmp_path_factory.mktemp("played") / "hop", [{"game": "hop"}], ["Ada", "Blaise"])


def test_a_table_takes_what_reading_takes(contest: Contest) -> None:
    found = loaded(*(f"{command} {contest.folder}" for command in ("standings", "crosstable", "incidents")))
    assert found & (HEAVY | {"trio", "pydantic", "jinja2", "tomlkit"}) == set()
    assert "sqlite3" in found


def test_the_standings_load_no_module_that_they_do_not_need(contest: Contest) -> None:
    """Together they took 20 ms of CPU time. OpenSSL is for hashes, and `dataclasses` takes `inspect` with it."""
    spared = {"dataclasses", "hashlib", "shutil", "json", "encodings.idna"}
    assert modules_of(f"standings {contest.folder}") & spared == set()


def test_tables_in_a_pipe_load_neither_rich_nor_the_codec_nor_other_formats(contest: Contest) -> None:
    found = modules_of(f"standings {contest.folder}", f"crosstable {contest.folder}")
    assert found & {"rich", "msgpack", "socket", "secrets", "logging", "asyncio"} == set()
    assert {name for name in found if name.startswith("getstep_server.formats.")} == {
        f"getstep_server.formats.{name}" for name in ("_format", "_table", "round_robin")
    }


def test_a_table_loads_the_limits_of_the_wire_and_neither_client_nor_events(contest: Contest) -> None:
    found = modules_of(f"standings {contest.folder}")
    assert "getstep.wire" in found
    assert found & {"getstep.client.client", "getstep_server.events", "getstep_server.records.turns"} == set()


def test_lists_load_no_heavy_library(contest: Contest) -> None:
    commands = ["teams list {}", "matches list {}", "decisions {}", "show {} 1 --moves", "verify {}"]
    assert loaded(*(command.format(contest.folder) for command in commands)) & (HEAVY | {"jinja2"}) == set()


@pytest.mark.parametrize("command", cli._COMMANDS)
def test_every_command_explains_itself(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")  # not the width of the terminal that runs the tests
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.run_command([command, "--help"])
    out = capsys.readouterr().out
    assert out.startswith(f"usage: getstep-server {command} ")
    about = out.split("\n\n")[1]
    assert re.match("[A-Z].*", about), "no description"


def test_an_option_before_the_command_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        cli.run_command(["--plain", "standings", "autumn"])
    assert "unrecognized arguments: --plain" in capsys.readouterr().err


def test_the_process_of_a_hosted_program_starts_without_what_it_does_not_need() -> None:
    """Two of them are started for each match of a ladder: with trio and the settings it took half as long again.

    The process of a bot is as light.
    """
    for name in ("hosted_process", "bot_process"):
        program = f"import sys, getstep_server.bot_runner.{name}; print(*sys.modules)"
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert set(ran.stdout.split()) & {"trio", "rich", "getstep_server.config.contest"} == set(), name
