"""README.md, followed to the letter in a fresh copy of the tree: what it says to type works, in that order.

Needs the package index, for the virtual environments that it says to make.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep
from getstep_server.contest import load_contest
from getstep_server.run import results_of

if TYPE_CHECKING:
    from .conftest import Program, Programs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECONDS = 240.0
"""How long a command may take that fills an environment from the package index."""

TABLE = r"^# .*\n"
"""What the head of a table looks like."""

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def blocks() -> list[str]:
    """What README.md says to type in a shell, block by block."""
    return re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


DEMO, TEST, WITHOUT_MAKE, HOST, INSTALL, TAKE_PART = blocks()
SET_UP, THEN_DEMO, THEN_TEST = re.split(r"^(\.venv/bin/getstep-server demo\n)", WITHOUT_MAKE, flags=re.MULTILINE)


def environment() -> dict[str, str]:
    """A newcomer's: nothing of this test run's own, nor of a make around it, and the same Python as ``python3``."""
    own = ("PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    python = Path(getattr(sys, "_base_executable", sys.executable)).parent
    path = [entry for entry in plain["PATH"].split(os.pathsep) if entry != str(Path(sys.prefix) / "bin")]
    return {**plain, "PATH": os.pathsep.join([str(python), *path]), "PYTEST_ADDOPTS": "--collect-only -q"}


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
        timeout=SECONDS,
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
def test_make_demo(tree: Path) -> None:
    output = typed(DEMO, tree)
    assert "Setting up .venv (once)" in output
    assert re.search(r"^\[150/150\] ", output, re.MULTILINE)
    assert "Standings after 150 matches" in output
    again = typed(f"{DEMO.strip()} --dry-run", tree)
    assert again == ".venv/bin/getstep-server demo\n"  # nothing is set up twice


@needs_make
def test_make_test(tree: Path) -> None:
    output = typed(TEST, tree)
    assert "tests/e2e/test_readme.py::test_make_test" in output  # collected only: see PYTEST_ADDOPTS
    assert re.search(r"^\d+ tests collected", output, re.MULTILINE)


@needs_make
def test_make_says_when_python_is_too_old(tree: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3.10"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    script = f"make VENV={tmp_path}/venv PYTHON={old} demo && exit 9 || exit 0"
    assert "needs Python 3.11 or newer; name one with: make demo PYTHON=" in typed(script, tree)
    assert not (tmp_path / "venv").exists()


def test_without_make(installed: Path) -> None:
    output = typed(THEN_DEMO + THEN_TEST, installed)
    assert "Standings after 150 matches" in output
    assert re.search(r"^\d+ tests collected", output, re.MULTILINE)


# --- a contest, by a host and three contestants --------------------------------------------------------------


@dataclass(frozen=True)
class Autumn:
    """The contest that README.md has the host make, on a port that is free here."""

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
    """What a host types whose port 7777 is taken, and whose network is this machine."""
    change = f"sed -e 's/^port = 7777/port = {port}/' -e 's/0\\.0\\.0\\.0/127.0.0.1/'"
    return f"{change} {path} > changed.toml && mv changed.toml {path}\n"


def in_shell(programs: Programs, folder: Path, script: str) -> Program:
    """Start what somebody types, in an environment that is active."""
    clean = [f"{name}={value}" for name, value in environment().items()]
    return programs.start("env", "-i", *clean, "sh", "-ec", f". .venv/bin/activate\n{script}", cwd=folder)


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
        script = TAKE_PART.replace("my_bot.py", f"bot_{team.id}.py").replace("--team 1", f"--team {team.id}")
        script = script.replace("192.168.1.10", f"127.0.0.1 --port {autumn.port}").replace(
            "kq3m-x7fd-29pt", team.token
        )
        bots.append(in_shell(programs, tmp_path, script))
    assert [bot.wait(seconds=60) for bot in bots] == [0, 0, 0]
    assert host.wait() == 0

    assert "Standings after 6 matches" in host.output
    table = re.split(TABLE, host.output, flags=re.MULTILINE)[-1]
    assert len(re.findall(r" 4(?: +\d+){4} +[+-]\d+", table)) == 3
    assert [line.split()[0] for line in table.splitlines()] == ["1", "2", "3", "Order:"]
    assert [result.reason for result in results_of(contest)] == ["finished"] * 6
    for bot in bots:
        assert "Wrote bot_" in bot.output
        assert bot.output.count("The contest is over") == 1
    standings = in_shell(programs, autumn.tree, "getstep-server standings autumn")
    assert standings.wait() == 0
    assert re.split(TABLE, standings.output, flags=re.MULTILINE)[-1] == table


def test_what_the_text_says_can_be_typed() -> None:
    """Commands and files named in the prose are there."""
    for name in re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE):
        assert name in (ROOT / "rules.md").read_text(encoding="utf-8")
    for folder in re.findall(r"^\| `([a-z_]+/[a-z_]+)` \|", README, re.MULTILINE):
        assert (ROOT / folder).is_dir()
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).is_file()
