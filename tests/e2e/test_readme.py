"""README.md and docs/, followed to the letter in a fresh copy of the tree: each command works, in that order.

Needs the package index, for the virtual environments that it says to make.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep
from getstep.cli import main
from getstep.conventions import CONVENTIONS
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.programs.store import ProgramStore
from getstep_server.sandbox.probes import PROBES
from getstep_server.storage.contest_state import results_of
from tests.support.archives import zipped
from tests.support.convention_programs import LINKAGE, PROGRAMS
from tests.support.languages import need
from tests.support.patience import INSTALL_SECONDS
from tests.support.submitted_programs import contest_of, needs_sandbox

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

ROOT = Path(__file__).parents[2]

TABLE = r"^# .*\n"
"""The form of a table's heading."""

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def blocks(page: str) -> list[str]:
    """Return the shell commands of a page, block by block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


DEMO, TEST, HOST, INSTALL, PRACTICE, TAKE_PART = blocks("README.md")
HOST_DEMO, WITHOUT_MAKE, PREPARE, IMPORT, GIVE, REHEARSE, RUN, WATCH, *_LATER = blocks("docs/host.md")
FREEZE, REVEAL, PAGE, AFTER, REPLAY = _LATER
ARENA, _ARCHIVE, POSTGRES, COMPARE, BEST, COMPARE_PROGRAMS, COMPARE_ON_CLUSTER = blocks("docs/course.md")
HOSTED, ON_A_CLUSTER, SANDBOX = blocks("docs/host-programs.md")
CONTESTANT_INSTALL, CONTESTANT_PRACTICE, CONTESTANT_PLAY, FRIENDLY, *_FOR_LATER = blocks("docs/contestant.md")
HIDE_TOKEN, PRACTISE_MORE, ANALYSE, *_OTHERS, PROGRAM, _LANGUAGE_MODEL, SUBMIT = _FOR_LATER
TRY_PROGRAM, PLAY_PROGRAM, SUBMIT_PROGRAM = blocks("docs/programs.md")
TRY_TOPCODER, WRAPPERS = blocks("docs/programs/topcoder.md")
(INIT,) = blocks("docs/formats.md")
SET_UP, THEN_DEMO, _ = re.split(r"^(\.venv/bin/getstep-server demo\n)", WITHOUT_MAKE, flags=re.MULTILINE)


def corrections() -> str:
    """Return the commands for a protest in docs/trouble.md that fit each contest: no team is a winner."""
    text = (ROOT / "docs" / "trouble.md").read_text(encoding="utf-8")
    part = text.partition("## A protest\n")[2].partition("\n## ")[0]
    found = re.findall(r"`(getstep-server (?:matches|teams|decisions) .*?)`", part)
    kinds = "matches list|matches rematch|matches adjudicate .* draw|teams withdraw|teams reinstate|decisions"
    lines = [line for line in found if re.match(rf"getstep-server (?:{kinds})", line)]
    assert len(lines) == len(kinds.split("|"))
    return "\n".join(lines) + "\n"


CORRECT = corrections()


def environment() -> dict[str, str]:
    """Return a newcomer's environment: nothing of this test run or of a make around it, and the same Python."""
    own = ("PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    python = Path(getattr(sys, "_base_executable", sys.executable)).parent
    path = [entry for entry in plain["PATH"].split(os.pathsep) if entry != str(Path(sys.prefix) / "bin")]
    cheap = {"PYTEST_ADDOPTS": "--collect-only -q tests/test_architecture.py", "PIP_NO_COMPILE": "1"}
    return {**plain, "PATH": os.pathsep.join([str(python), *path]), **cheap}


def typed(script: str, folder: Path) -> str:
    """Type it into a shell; what it printed. It must succeed."""
    done = subprocess.run(
        ["sh", "-e"],
        input=script,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh copy of what the repository holds."""
    git = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("readme") / "getstep"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def installed(tree: Path) -> Path:
    """The tree with the environment that README.md's way without make sets up; `make` then has little to do."""
    typed(SET_UP, tree)
    return tree


@needs_make
@pytest.mark.long
def test_make_demo(tree: Path) -> None:
    output = typed(DEMO, tree)
    assert "Setting up .venv (once)" in output
    assert re.search(r"^\[150/150\] ", output, re.MULTILINE)
    assert "Standings after 150 matches" in output
    again = typed(f"{DEMO.strip()} --dry-run", tree)
    assert again == ".venv/bin/getstep-server demo\n"  # nothing is set up twice


@needs_make
@pytest.mark.long
def test_make_test(tree: Path) -> None:
    output = typed(TEST, tree)
    assert "tests/test_architecture.py::test_the_engines_are_pure" in output  # collected only: see PYTEST_ADDOPTS
    assert re.search(r"^\d+ tests collected", output, re.MULTILINE)


@needs_make
@pytest.mark.long
def test_make_says_when_python_is_too_old(tree: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.10"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    script = f"make VENV={tmp_path}/venv PYTHON={old} demo && exit 9 || exit 0"
    assert "needs Python 3.11 or newer; name one with: make demo PYTHON=" in typed(script, tree)
    assert not (tmp_path / "venv").exists()


@pytest.mark.long
def test_without_make(installed: Path) -> None:
    short = THEN_DEMO.replace("demo\n", "demo --game hop --teams 2\n")  # the whole demo was played by make
    assert "Standings after 2 matches" in typed(short, installed)


def test_the_pages_repeat_what_the_readme_says() -> None:
    assert HOST_DEMO == DEMO
    assert PREPARE + GIVE + RUN == HOST
    assert (CONTESTANT_INSTALL, CONTESTANT_PRACTICE, CONTESTANT_PLAY) == (INSTALL, PRACTICE, TAKE_PART)
    assert HIDE_TOKEN.startswith(TAKE_PART.splitlines()[-1])
    assert f"{TAKE_PART.splitlines()[-1]} --friendly\n" == FRIENDLY
    assert PRACTISE_MORE.startswith(PRACTICE.splitlines()[-1])
    practice, check, play = PROGRAM.splitlines()
    assert TRY_PROGRAM.splitlines()[0] == practice.removesuffix(" --against greedy")
    assert PLAY_PROGRAM.splitlines()[1:] == [check, play.removesuffix(" --team 3")]
    assert SUBMIT_PROGRAM.split()[:2] == SUBMIT.split()[:2]
    assert BEST.split()[:2] == COMPARE.split()[:2]
    assert COMPARE_ON_CLUSTER.split()[:2] == COMPARE.split()[:2]
    assert ON_A_CLUSTER.splitlines()[1].startswith(f"{RUN.strip()} --dask ")


def test_a_program_practises_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "my_program"
    program.write_text(f"#!{sys.executable}\n{LINKAGE}", encoding="utf-8")
    program.chmod(0o755)
    practice, _, play = map(shlex.split, PROGRAM.splitlines())
    assert main([*practice[1:], "--games", "2"]) == 0
    assert capsys.readouterr().out.startswith("Game 1 of 2: ")
    assert play == ["getstep", "play", "./my_program", "--as", "linkage", "--team", "3"]


@pytest.mark.long  # 2 s of playing for a convention; `test_program_pages` plays one match of each
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_program_of_a_page_practises_as_the_page_says(
    convention: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = f"docs/programs/{convention}.md"
    (source,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "bot.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line) for line in blocks(page)[0].splitlines()]
    assert [line[:2] for line in lines if "--against" not in line] == [
        ["getstep", word] for word in ("practice", "check", "play", "submit")
    ]
    assert main(lines[0][1:]) == 0
    shown = capsys.readouterr().out
    assert "Game 2 of 2: " in shown
    assert "Faults" not in shown


@needs_sandbox
@pytest.mark.long  # 91 attempts to break out
def test_the_sandbox_holds_as_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(SANDBOX)
    assert (program, run_command(arguments)) == ("getstep-server", 0)
    assert f"{len(PROBES)} of {len(PROBES)}" in capsys.readouterr().out
    (ways,) = re.findall(r"more than (\d+) ways", (ROOT / "docs" / "host-programs.md").read_text(encoding="utf-8"))
    assert int(ways) < len(PROBES)


def test_the_command_that_copies_records_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    install, copy = map(shlex.split, POSTGRES.splitlines())
    assert install[1:] == ["install", "getstep-server[postgres]"]
    assert copy[0] == "getstep-server"
    assert run_command(["init", "autumn", "--game", "hop"]) == 0
    assert run_command(copy[1:]) == 1
    assert "autumn/contest.db: no such file; nothing has been played yet" in capsys.readouterr().err


def test_the_command_that_submits_a_program_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(SUBMIT)
    assert program == "getstep"
    assert main([*arguments, "--host", "127.0.0.1"]) == 2
    assert "my_bot.py cannot be read" in capsys.readouterr().err


@pytest.mark.long  # compiles in three languages
def test_classes_of_topcoder(tmp_path: Path) -> None:
    need("g++", "javac", "java", "mcs", "mono")
    for example in (ROOT / "bots" / "programs" / "topcoder").glob("PseudoTonga.*"):
        shutil.copy(example, tmp_path)
    ran = in_terminal(WRAPPERS.replace("--as topcoder", "--as topcoder --games 2"), tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert re.findall(r"^(\w+)\S* against greedy, pseudo_tonga", ran.stdout, re.MULTILINE) == [
        "PseudoTonga",
        "TopCoderWrapper",
        "PseudoTonga",
    ]


@pytest.mark.long  # 1 s of playing for a line; a quick test plays such programs
def test_two_programs_are_compared(tmp_path: Path) -> None:
    for name in ("p1", "p2"):
        (tmp_path / name).write_text(f"#!{sys.executable}\n{PROGRAMS['csefest-console']}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    ran = in_terminal(COMPARE_PROGRAMS, tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "p1 – p2: Chain Reaction, match, " in ran.stdout


def in_terminal(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Type commands where this Python's are on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-ec", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_SECONDS,
    )


# --- a contest, by a host and three contestants --------------------------------------------------------------


@dataclass(frozen=True)
class Autumn:
    """The contest that a host makes by README.md, on a port that is free here."""

    tree: Path
    port: int

    @property
    def folder(self) -> Path:
        return self.tree / "autumn"


@pytest.fixture
def autumn(installed: Path) -> Autumn:
    """All that the host types before the last line, which runs the contest."""
    before, init, rest = re.split(r"^(getstep-server init .*\n)", HOST, flags=re.MULTILINE)
    prepare, run, after = re.split(r"^(getstep-server run .*\n)", rest, flags=re.MULTILINE)
    assert (run, after) == ("getstep-server run autumn\n", "")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    script = before + init + use_port("autumn/contest.toml", port) + prepare
    assert "3 slips for host 127.0.0.1" in typed(script, installed)
    return Autumn(installed, port)


def use_port(path: str, port: int) -> str:
    """Return the commands of a host whose port 7777 is taken, and whose network is this machine."""
    change = f"sed -e 's/^port = 7777/port = {port}/' -e 's/0\\.0\\.0\\.0/127.0.0.1/'"
    return f"{change} {path} > changed.toml && mv changed.toml {path}\n"


def in_shell(programs: Programs, folder: Path, script: str, home: Path | None = None) -> Program:
    """Start what somebody types, in an environment that is active; each contestant has a ``home``."""
    own = {} if home is None else {"GETSTEP_LOGIN_FILE": str(home / "login.json")}
    clean = [f"{name}={value}" for name, value in (environment() | own).items()]
    return programs.start("env", "-i", *clean, "sh", "-ec", f". .venv/bin/activate\n{script}", cwd=folder)


@pytest.mark.long
def test_host_and_take_part(programs: Programs, autumn: Autumn, tmp_path: Path) -> None:
    wheel = f"getstep-{getstep.__version__}-py3-none-any.whl"
    assert wheel in INSTALL
    shutil.copy(autumn.folder / wheel, tmp_path)
    typed(INSTALL, tmp_path)

    host = in_shell(programs, autumn.tree, "exec getstep-server run autumn")
    host.expect(rf"^Listening on 127\.0\.0\.1, port {autumn.port}\.$")
    contest = load_contest(autumn.folder)
    assert [team.name for team in contest.teams.values()] == ["Ada", "Blaise", "Charles and Co."]
    bots = []
    for team in contest.teams.values():
        why = ANALYSE.replace(".html", ".html --seconds 1") if team.id == 1 else ""
        script = (PRACTICE + why + TAKE_PART).replace("my_bot", f"bot_{team.id}")
        script = script.replace("--team 1", f"--team {team.id}")
        script = script.replace("192.168.1.10", f"127.0.0.1 --port {autumn.port}").replace(
            "kq3m-x7fd-29pt", team.token
        )
        bots.append(in_shell(programs, tmp_path, script, tmp_path / f"home_{team.id}"))
    assert [bot.wait() for bot in bots] == [0, 0, 0]
    assert host.wait() == 0

    assert "Standings after 6 matches" in host.output
    table = re.split(TABLE, host.output, flags=re.MULTILINE)[-1]
    assert len(re.findall(r" 4(?: +\d+){4} +[+-]\d+", table)) == 3
    assert [line.split()[0] for line in table.splitlines()] == ["1", "2", "3", "Order:"]
    assert [result.reason for result in results_of(contest)] == ["finished"] * 6
    for bot in bots:
        assert "Wrote bot_" in bot.output
    assert "gave away" in bots[0].output
    for bot in bots:
        assert bot.output.count("The contest is over") == 1
    look_and_correct(programs, autumn, table)


def look_and_correct(programs: Programs, autumn: Autumn, table: str) -> None:
    """Type all that the pages for hosts say to type after a contest, in their order."""
    (autumn.tree / "roster.csv").write_text("name,room\nGrace,101\nHedy,102\n", encoding="utf-8")
    prepare_arena, _, run_arena = ARENA.strip().rpartition("\n")
    assert run_arena == "getstep-server run lab"  # it runs until Ctrl-C
    at_once = FREEZE + REVEAL.replace("reveal autumn", "reveal autumn --all")
    typed_by_host = WATCH + CORRECT + REPLAY + prepare_arena + "\n" + at_once + AFTER + REHEARSE + IMPORT
    host = in_shell(programs, autumn.tree, typed_by_host)
    assert host.wait() == 0
    assert [event.format.name for event in load_contest(autumn.tree / "lab").events] == ["arena"]
    assert table.partition("Order:")[0] in host.output
    assert "the jury decided so" in host.output
    pages = ("autumn/report.html", "final.html", "public/index.html")
    for name in ("standings.csv", "matches.jsonl", "grades.csv", *pages):
        assert (autumn.tree / name).stat().st_size > 0
    assert list(load_contest(autumn.folder).teams) == [1, 2, 3, 4, 5]
    page = in_shell(programs, autumn.tree, f"exec {PAGE}")
    page.expect(r"http://127\.0\.0\.1:\d+")
    page.signal(signal.SIGINT)
    assert page.wait() == 130


@pytest.mark.long
@needs_sandbox
def test_programs_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contest_of(tmp_path / "autumn", "linkage")
    (tmp_path / "my_bot.py").write_text(LINKAGE, encoding="utf-8")
    (tmp_path / "submission.zip").write_bytes(zipped({"bot/bot.py": LINKAGE.encode(), "bot/read.me": b""}))
    monkeypatch.chdir(tmp_path)
    for line in HOSTED.strip().splitlines():
        assert run_command(shlex.split(line)[1:]) == 0, line
    chosen = [ProgramStore(tmp_path / "autumn").current(team) for team in (1, 2)]
    assert [version.convention for version in chosen if version] == ["linkage", "linkage"]
    (tmp_path / "autumn" / "programs").rename(tmp_path / "before")
    table = (ROOT / "docs" / "host-programs.md").read_text(encoding="utf-8")
    actions = [
        shlex.split(line) for line in re.findall(r"^\| `(getstep-server programs .+?)`", table, re.MULTILINE)
    ]
    assert [line[2] for line in actions] == ["add", "add", "list", "use", "use", "remove"]
    assert [run_command(line[1:]) for line in actions] == [0] * 6
    first, second = ProgramStore(tmp_path / "autumn").versions(1)
    assert (first.removed, second.removed) == (False, True)
    assert ProgramStore(tmp_path / "autumn").current(1) is None


@pytest.mark.long
def test_formats_and_compare(programs: Programs, installed: Path, tmp_path: Path) -> None:
    init = re.sub(r"(init )(\w+)", rf"\g<1>{tmp_path}/\g<2>", INIT)
    host = in_shell(programs, installed, init + COMPARE)
    assert host.wait() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["autumn", "class", "club", "pair"]
    assert re.search(r"\bElo\b", host.output)
