"""Othello, a game from outside: beside an untouched getstep it is a game as all others."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep.drawing import Picture, draw_text
from getstep_engines import GAMES
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.config.contestants_package import write_contestants_package
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plugins import OTHELLO, installed, write_othello

if TYPE_CHECKING:
    from tests.support.processes import Programs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-game.md"


class Machine:
    """A computer on which Othello is installed, or not."""

    def __init__(self, folder: Path, *packages: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages)), "COLUMNS": "120"}

    def run(self, *command: str, code: int = 0) -> str:
        """Run ``python -m`` a command and return its output; it must end with ``code``."""
        ran = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode == code, ran.stdout
        return ran.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, *write_othello(tmp_path / "site"))


@pytest.fixture
def othello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from installed(monkeypatch, *write_othello(tmp_path / "site"))


@pytest.mark.long
def test_its_own_tests_pass(machine: Machine) -> None:
    said = machine.run("pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", str(OTHELLO))
    assert re.search(r"^\d\d passed", said, re.MULTILINE)


@pytest.mark.long
def test_it_is_played_shown_reported_and_verified(machine: Machine) -> None:
    server = "getstep_server"
    said = machine.run(server, "demo", "--game", "othello", "--teams", "2", "--plain", "--keep", "kept")
    assert "[2/2]" in said
    assert "illegal" not in said
    assert 'package = "getstep-othello"' in (machine.folder / "kept/demo/contest.toml").read_text(encoding="utf-8")
    assert "Othello" in machine.run(server, "show", "kept/demo", "1")
    assert "Everything fits: " in machine.run(server, "verify", "kept/demo")
    machine.run(server, "report", "kept/demo", "--output", "report.html")
    assert "Othello" in (machine.folder / "report.html").read_text(encoding="utf-8")
    machine.run(server, "replay", "kept/demo", "1", "--no-open", "--out", "replay.html")
    assert '"disc"' in (machine.folder / "replay.html").read_text(encoding="utf-8")
    said = machine.run(server, "duel", "greedy", "random_bot", "--game", "othello", "--pairs", "1", "--plain")
    assert "2 of 2" in said or "[2/2]" in said or "1 pair" in said

    without = Machine(machine.folder)
    for command in (("verify", "kept/demo"), ("show", "kept/demo", "1"), ("standings", "kept/demo")):
        said = without.run(server, *command, code=2)
        assert "unknown game 'othello'; installed: longest_path, " in said
        assert "it is in the package getstep-othello: python -m pip install getstep-othello" in said


@pytest.mark.long
def test_the_live_page_shows_it(machine: Machine, programs: Programs, tmp_path: Path) -> None:
    machine.run("getstep_server", "demo", "--game", "othello", "--teams", "2", "--plain", "--keep", "kept")
    path = os.pathsep.join(map(str, (tmp_path / "site", OTHELLO)))
    web = (sys.executable, "-u", "-m", "getstep_server", "web", "kept/demo", "--host", "127.0.0.1", "--port", "0")
    page = programs.start("env", f"PYTHONPATH={path}", *web, cwd=tmp_path)
    address = page.expect(r"(http://127\.0\.0\.1:\d+/)")[1]

    def get(name: str) -> Any:
        with urllib.request.urlopen(address + name, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    assert get("look/othello.json")["pieces"]["1"]["name"] == "black disc"
    overview = json.dumps(get("api/v1/pages/overview"))
    assert '"othello"' in overview
    page.signal(signal.SIGINT)
    page.wait()


def test_a_contestant_has_it(machine: Machine) -> None:
    assert "- Idea. Each disc shows its owner's colour." in machine.run("getstep", "rules", "othello")
    assert "a bot that plays othello" in machine.run("getstep", "new", "my_bot.py", "--game", "othello")
    source = (machine.folder / "my_bot.py").read_text(encoding="utf-8")
    assert "(row, column), for example (2, 3)" in source
    assert "# A disc in a corner can never be turned over." in source
    said = machine.run("getstep", "practice", "my_bot.py", "--against", "random", "--games", "2")
    assert re.search(r"^my_bot.py against random, othello: ", said, re.MULTILINE)
    assert '"disc"' in (machine.folder / "my_bot-practice.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("othello")
def test_the_contestants_package_of_a_contest_has_its_games(tmp_path: Path) -> None:
    init_contest(tmp_path / "autumn", name="Autumn", games=["othello"])
    contest = load_contest(tmp_path / "autumn")
    with zipfile.ZipFile(write_contestants_package(contest)) as wheel:
        assert wheel.read("getstep_othello.py") == (OTHELLO / "getstep_othello.py").read_bytes()
        (points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
        assert "[getstep.games]\nothello = getstep_othello:OTHELLO\n" in wheel.read(points).decode()
        sources = {name: wheel.read(name) for name in wheel.namelist()}
    assert "getstep/cli.py" in sources
    init_contest(tmp_path / "spring", name="Spring", games=["hop"])
    with zipfile.ZipFile(write_contestants_package(load_contest(tmp_path / "spring"))) as wheel:
        assert "getstep_othello.py" not in wheel.namelist()


@pytest.mark.parametrize(("language", "file"), [("python", "getstep_othello.py"), ("toml", "pyproject.toml")])
def test_the_tutorial_builds_it(language: str, file: str) -> None:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    built = [line for line in "\n".join(blocks).splitlines() if line]
    assert built == [line for line in (OTHELLO / file).read_text(encoding="utf-8").splitlines() if line]


@pytest.mark.usefixtures("othello")
def test_it_is_drawn_as_the_tutorial_shows() -> None:
    game = GAMES["othello"]
    shown = draw_text(Picture.after(game, game.trace(game.start(), (2, 3))))
    (on_page,) = re.findall(r"^>>> print\(draw_text.*\n((?:.+\n)+?)```$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in on_page.splitlines()]
