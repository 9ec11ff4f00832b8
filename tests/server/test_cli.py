"""The host's command: what each part of it prints, and its exit code."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from getstep import cli as contestants_commands
from getstep_engines import GAMES
from getstep_server.cli import main as server_commands
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.lock import ContestLock
from tests.support.command import Command, Ran
from tests.support.golden import assert_golden
from tests.support.patience import PATIENCE_SECONDS

COMMANDS = [
    *("init", "teams", "teams add", "teams import", "teams list", "teams slips", "run", "demo", "duel", "gamehost"),
    *("programs", "programs add", "programs list", "programs use", "programs remove"),
    *("standings", "crosstable", "ratings", "matches", "matches list", "matches adjudicate", "matches rematch"),
    *("matches forfeit", "teams rename", "teams token", "teams seats"),
    *("teams withdraw", "teams disqualify", "teams reinstate", "decisions", "incidents"),
    *("show", "replay", "analyse", "export", "report", "site", "rescue", "verify", "freeze", "reveal", "openings"),
]


def test_a_running_server_takes_up_new_teams(command: Command, autumn: Path) -> None:
    Path("roster.csv").write_text("Eve\n", encoding="utf-8")
    applies = "The server that runs this contest applies it within two seconds."
    assert applies not in command("teams", "add", "autumn", "Dorothy").out
    with ContestLock(autumn):
        added = command("teams", "add", "autumn", "Edsger").out.splitlines()
        imported = command("teams", "import", "autumn", "roster.csv").out.splitlines()
    assert added[0].startswith("team 5: Edsger, token ")
    assert (added[-1], imported[-1]) == (applies, applies)
    assert [team.name for team in load_contest(autumn).teams.values()][-3:] == ["Dorothy", "Edsger", "Eve"]


# --- help ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_terminal(command: Command, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = command(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"usage: getstep-server {name}" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    usage, text = ran.out.split("\n\n", maxsplit=1)
    shown = f"{' '.join(usage.split())}\n\n{text}"  # where argparse breaks the usage depends on Python's version
    assert_golden("-".join(["help", *name.split()]), shown)


def _subcommands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield a parser and those of its actions, with the words to type; a name that no list shows is left out."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for shown in action._choices_actions:
                yield from _subcommands(action.choices[shown.dest], f"{name} {shown.dest}")


def _every_command() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for name in server_commands._COMMANDS:
        top = server_commands._parser(name, [name])
        (commands,) = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
        yield from _subcommands(commands.choices[name], f"getstep-server {name}")
    yield from _subcommands(contestants_commands._parser(), "getstep")


def test_every_help_has_an_example_and_its_exit_codes_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    flags: dict[str, str] = {}
    for name, parser in _every_command():
        text = parser.format_help()
        assert "exit codes" in text, name
        assert "example" in text, name
        assert max(map(len, text.splitlines())) <= 80, name
        flags[name] = text
    assert len(flags) > 50
    # one meaning for each flag: what a page, a file or the contest's port is given with
    assert {name for name, text in flags.items() if "--web-port" in text} == {
        *(f"getstep-server {command}" for command in ("run", "take-over", "web", "reveal", "host-key")),
        *("getstep submit", "getstep challenge"),
    }
    assert not [name for name, text in flags.items() if re.search(r"--out\b", text)]


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("replay autumn 1 --out x", "replay autumn 1 --output x"),
        ("site autumn --out x", "site autumn --output x"),
        ("web autumn --port 1", "web autumn --web-port 1"),
        ("reveal autumn --port 1", "reveal autumn --web-port 1"),
        ("show autumn 1 --all", "show autumn 1 --boards"),
        ("matches list autumn --open", "matches list autumn --unfinished"),
        ("conformance --json x", "conformance --results x"),
    ],
)
def test_a_former_flag_still_works(former: str, now: str) -> None:
    assert vars(server_commands._parse(former.split())) == vars(server_commands._parse(now.split()))


@pytest.mark.parametrize("name", ["", "teams"])
def test_a_command_typed_alone_explains_itself(command: Command, name: str) -> None:
    ran = command(*name.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == command(*name.split(), "--help").out


def test_help_names_every_command(command: Command) -> None:
    out = command("--help").out
    assert all(re.search(rf"^    {name}\b", out, re.MULTILINE) for name in COMMANDS if " " not in name)
    assert "  1    failed: the contest stopped" in out


def test_version(command: Command) -> None:
    assert re.fullmatch(r"getstep-server \d+\.\d+\.\d+, Python 3\.\d+\.\S+\n", command("--version").out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rnu autumn", "invalid choice: 'rnu'"),
        ("teams ad autumn", "invalid choice: 'ad'"),
        ("run", "required: CONTEST"),
        ("run autumn --port x", "argument --port: invalid int value: 'x'"),
        ("run autumn --now --at 14:30", "argument --at: not allowed with argument --now"),
        ("teams add autumn", "required: NAME"),
    ],
)
def test_a_wrong_command_line(command: Command, arguments: str, message: str) -> None:
    ran = command(*arguments.split())
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


# --- init ----------------------------------------------------------------------------------------------------


def test_init_says_what_comes_next(command: Command) -> None:
    ran = command("init", "my contest")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Made my contest/contest.toml and my contest/teams.toml. Next, add teams by name or from a class list:\n"
        "  getstep-server teams add 'my contest' NAME [NAME ...]\n"
        "  getstep-server teams import 'my contest' roster.csv\n"
    )
    assert load_contest(Path("my contest")).name == "my contest"


def test_init_twice(command: Command) -> None:
    command("init", "autumn", "--game", "linkage")
    assert (
        command.complaint("init", "autumn")
        == "autumn/contest.toml: there is a contest here already; name another folder"
    )
    assert load_contest(Path("autumn")).events[0].game.name == "linkage"


def test_init_with_an_unknown_game(command: Command) -> None:
    games = ", ".join(GAMES)
    assert command.complaint("init", "autumn", "--game", "chess") == f"unknown game 'chess'; installed: {games}"
    assert not Path("autumn").exists()


def test_init_here(command: Command, tmp_path: Path) -> None:
    assert command("init", ".").code == 0
    assert load_contest(tmp_path).name == tmp_path.name


# --- teams ---------------------------------------------------------------------------------------------------


def test_add_prints_ids_and_tokens(command: Command, autumn: Path) -> None:
    ran = command("teams", "add", "autumn", " Dorothy ", "--id", "9", "--classic")
    assert re.fullmatch(r"team 9: Dorothy, token \w{4}-\w{4}-\w{4}\n", ran.out)
    assert load_contest(autumn).teams[9].classic
    assert not load_contest(autumn).teams[1].classic


def test_add_with_mistakes(command: Command, autumn: Path) -> None:
    message = command.complaint("teams", "add", "autumn", "Dorothy", "Ada", "Dorothy")
    assert message == (
        "NAME 2: name = 'Ada', expected one that is free; team 1 in teams.toml has it\n"
        "NAME 3: name = 'Dorothy', expected one that is free; NAME 1 has it"
    )
    assert len(load_contest(autumn).teams) == 3
    one = command.complaint("teams", "add", "autumn", "Dorothy", "Edsger", "--id", "9")
    assert one == "--id 9: 2 names given; an id needs exactly one NAME"


def test_import(command: Command, autumn: Path) -> None:
    Path("roster.csv").write_text("id;name\n7;Dorothy\n;Edsger\n")
    ran = command("teams", "import", "autumn", "roster.csv")
    assert ran == (
        0,
        "2 teams added. To see them, and to write their slips:\n"
        "  getstep-server teams list autumn\n  getstep-server teams slips autumn\n",
        "",
    )
    assert list(load_contest(autumn).teams) == [1, 2, 3, 7, 4]
    assert command.complaint("teams", "import", "autumn", "roster.csv").startswith("roster.csv:2: id = 7, expected")
    assert command.complaint("teams", "import", "autumn", "no.csv") == "no.csv: No such file or directory"


def test_list(command: Command, autumn: Path) -> None:
    command("teams", "add", "autumn", "[red]D[/red]", "--classic")
    lines = command("teams", "list", "autumn").out.splitlines()
    assert [line.split() for line in lines] == [
        ["id", "team", "classic"],
        ["1", "Ada"],
        ["2", "Blaise"],
        ["3", "Charles"],
        ["4", "[red]D[/red]", "yes"],
    ]
    tokens = [team.token for team in load_contest(autumn).teams.values()]
    assert not any(token in line for token in tokens for line in lines)
    out = command("teams", "list", "autumn", "--tokens").out
    assert all(token in out for token in tokens)


def test_seats(command: Command, autumn: Path) -> None:
    command("teams", "add", "autumn", "Dorothy", "Edsger", "--seats", "3")
    assert [team.seats for team in load_contest(autumn).teams.values()] == [1, 1, 1, 3, 3]
    lines = command("teams", "list", "autumn").out.splitlines()
    assert [line.split() for line in lines[:2]] == [["id", "team", "seats"], ["1", "Ada", "1"]]
    assert lines[4].split() == ["4", "Dorothy", "3"]
    message = command.complaint("teams", "add", "autumn", "Frances", "--seats", "17")
    assert message == "NAME 1: seats = 17, expected at most 16"


@pytest.mark.parametrize("name", ["teams list", "teams slips", "standings", "crosstable", "ratings"])
def test_no_teams_yet(command: Command, name: str) -> None:
    command("init", "autumn")
    message = command.complaint(*name.split(), "autumn")
    assert message == "autumn/teams.toml: no teams; add some with: getstep-server teams add autumn NAME"


@pytest.mark.parametrize("name", ["teams add", "teams import", "teams list", "teams slips", "run", "standings"])
def test_no_contest_there(command: Command, name: str) -> None:
    Path("roster.csv").write_text("Ada\n")
    more = {"teams add": ["Ada"], "teams import": ["roster.csv"]}.get(name, [])
    message = command.complaint(*name.split(), "spring", *more)
    assert message == "spring: no contest.toml here; make a contest with: getstep-server init spring"


@pytest.mark.parametrize("name", ["teams add", "teams list", "teams slips", "run", "standings"])
def test_every_command_reports_mistakes_in_the_folder(command: Command, autumn: Path, name: str) -> None:
    path = autumn / "contest.toml"
    path.write_text('[contest]\nname = "A"\nseed = true\nsed = 1\n[[event]]\ngame = "hop"\n')
    message = command.complaint(*name.split(), "autumn", *(["Ada"] if name == "teams add" else []))
    assert message == (
        "autumn/contest.toml:3: contest.seed = True, expected a whole number\n"
        "autumn/contest.toml:4: contest.sed = 1: no such setting, "
        "expected one of: name, seed"
    )


# --- standings -----------------------------------------------------------------------------------------------


def test_standings_before_any_match(command: Command, autumn: Path) -> None:
    ran = command("standings", "autumn")
    title, heading, *rows, order = [line.split() for line in ran.out.splitlines()]
    assert title == ["Autumn", "contest,", "0", "matches", "played"]
    assert heading == ["#", "team", "played", "won", "drawn", "lost", "points", "diff", "DE", "lot"]
    assert order[0] == "Order:"
    assert order[-1] == "lot."
    assert [row[0] for row in rows] == [row[-1] for row in rows] == [*"123"]
    assert sorted(row[1:-1] for row in rows) == [[name, *"00000", "+0"] for name in ("Ada", "Blaise", "Charles")]
    assert (ran.code, ran.err) == (0, "")
    assert not (autumn / "contest.db").exists()


def test_standings_show_teams_that_were_removed(command: Command, autumn: Path) -> None:
    assert command("run", "autumn", "--now").code == 0
    path = autumn / "teams.toml"
    path.write_text(path.read_text().rpartition("[[team]]")[0])
    ran = command("standings", "autumn")
    assert ran.err == (
        'getstep-server: autumn/teams.toml: team 3 is nothing, on record "Charles": what is on record counts until'
        " the next run\n"
    )
    assert re.search(r"^\d +Charles  ", ran.out, re.MULTILINE)
    assert command("run", "autumn", "--now").code == 0
    ran = command("standings", "autumn")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^\d +Charles \(withdrawn\) ", ran.out, re.MULTILINE)
    assert "6 matches played" in ran.out


# --- demo ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--teams 1", "--teams 1, expected 2 to 40"),
        ("--teams 41", "--teams 41, expected 2 to 40"),
        ("--game chess", f"unknown game 'chess'; installed: {', '.join(GAMES)}"),
        ("--seed -1", "--seed = -1, expected at least 0"),
    ],
)
def test_wrong_arguments_of_the_demo(command: Command, arguments: str, message: str) -> None:
    assert command.complaint("demo", *arguments.split()) == message


def test_the_demo_keeps_out_of_a_contest_that_is_there(command: Command) -> None:
    command("init", "kept/demo")
    assert (
        command.complaint("demo", "--keep", "kept")
        == "kept/demo/contest.toml: there is a contest here already; name another folder"
    )


# --- where the output goes -----------------------------------------------------------------------------------


def run_process(*arguments: str, stdout: int, **environment: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "getstep_server", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Ran(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


@contextmanager
def closed_pipe() -> Iterator[int]:
    """A pipe whose reader has gone: `| head -1`, at its worst."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("name", ["standings", "teams list", "teams slips --text"])
def test_a_reader_that_closes_the_pipe(autumn: Path, name: str) -> None:
    path = autumn / "contest.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("port = 0", "port = 7777"), encoding="utf-8")
    with closed_pipe() as pipe:
        ran = run_process(*name.split(), "autumn", stdout=pipe)
    assert ran == (1, "", "")


def test_a_contest_continues_when_the_reader_of_its_output_has_ended(autumn: Path) -> None:
    command = [sys.executable, "-m", "getstep_server", "run", "autumn", "--now"]
    reader, writer = os.pipe()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        seen = b""
        while b"Listening" not in seen:
            more = os.read(reader, 4096)
            assert more, seen
            seen += more
        os.close(reader)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert errors == b""
    assert len(results_of(load_contest(autumn))) == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_under_the_output(autumn: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = run_process("standings", "autumn", stdout=full.fileno())
    assert (ran.code, ran.err) == (1, "getstep-server: [Errno 28] No space left on device\n")


def test_a_terminal_without_the_letters(command: Command, autumn: Path) -> None:
    command("teams", "add", "autumn", "短い名前")
    ran = run_process("standings", "autumn", stdout=subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert r"\u77ed\u3044\u540d\u524d" in ran.out


def test_long_names_are_whole_where_there_is_no_terminal(command: Command, autumn: Path) -> None:
    command("teams", "add", "autumn", "x" * 64)
    assert "x" * 64 in run_process("standings", "autumn", stdout=subprocess.PIPE, COLUMNS="40").out


def test_duel_is_also_called_match(command: Command) -> None:
    ran = command("match", "nobody.py", "greedy")
    assert ran.code == 2
    (error,) = ran.err.splitlines()
    assert error.startswith("getstep-server: 'nobody.py', expected a bot's file or one of the sample bots: ")
    assert "\n    match " not in command("--help").out
