"""Both distributions as contestants and hosts get them: built, looked into, installed and played with."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep
from getstep_engines import GAMES
from getstep_server.contest import load_contest
from getstep_server.run import results_of

if TYPE_CHECKING:
    from .conftest import MakeContest, Programs

ROOT = Path(__file__).parents[2]
VERSION = getstep.__version__
SECONDS = 120.0
PROJECTS = {"getstep": ROOT / "sdk", "getstep_server": ROOT}
"""Where each distribution's pyproject.toml is."""

PACKAGES = {
    "getstep": [ROOT / "sdk" / "getstep"],
    "getstep_server": [
        *(ROOT / "server" / "getstep_server", ROOT / "engines" / "getstep_engines", ROOT / "bots" / "getstep_bots")
    ],
}
"""What each distribution consists of."""


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a command to its end and return its output; it must succeed."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=outside,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


# --- the distributions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """One distribution's two files."""

    name: str
    sdist: Path
    wheel: Path

    @property
    def wheel_names(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    @property
    def sdist_names(self) -> set[str]:
        """What the sdist holds, without the folder that all of it is in."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def about(self, name: str) -> str:
        """A file of the wheel's ``dist-info``."""
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.read(f"{self.name}-{VERSION}.dist-info/{name}").decode()


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """Both distributions: sdists from the source, wheels from the sdists; with the tools installed here."""
    out = tmp_path_factory.mktemp("dist")
    for source in PROJECTS.values():
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source)
    return {
        name: Built(name, out / f"{name}-{VERSION}.tar.gz", out / f"{name}-{VERSION}-py3-none-any.whl")
        for name in PROJECTS
    }


def sources(name: str) -> list[tuple[Path, Path]]:
    """The files of a distribution's packages, each with the folder that its package is in."""
    found = [
        (path, package.parent)
        for package in PACKAGES[name]
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    assert found
    return found


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_has_its_packages_whole_and_nothing_else(distributions: dict[str, Built], name: str) -> None:
    about = f"{name}-{VERSION}.dist-info/"
    found = distributions[name].wheel_names
    packaged = {path.relative_to(folder).as_posix() for path, folder in sources(name)}
    assert {file for file in found if not file.startswith(about)} == packaged
    assert {f"{package.name}/py.typed" for package in PACKAGES[name]} <= found
    assert f"{about}licenses/LICENSE" in found


def test_the_contestants_wheel_has_a_template_for_every_game(distributions: dict[str, Built]) -> None:
    assert {f"getstep/_templates/{game}.py" for game in GAMES} <= distributions["getstep"].wheel_names


@pytest.mark.parametrize(
    ("name", "command", "needs"),
    [("getstep", "getstep = getstep.cli:main", "msgpack"), ("getstep_server", "getstep-server = ", "getstep==")],
)
def test_a_wheel_says_what_it_is(distributions: dict[str, Built], name: str, command: str, needs: str) -> None:
    headers = HeaderParser().parsestr(distributions[name].about("METADATA"))
    assert headers["Version"] == VERSION
    assert headers["License-Expression"] == "MIT"
    required = [line for line in headers.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert required[0].startswith(needs)
    assert command in distributions[name].about("entry_points.txt")


@pytest.mark.parametrize("name", PROJECTS)
def test_an_sdist_has_what_a_wheel_is_made_of_and_no_tests(distributions: dict[str, Built], name: str) -> None:
    found = distributions[name].sdist_names
    assert {path.relative_to(PROJECTS[name]).as_posix() for path, _ in sources(name)} <= found
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"} <= found
    assert not [file for file in found if file.startswith(("tests", "benchmarks"))]


def test_the_hosts_sdist_has_the_protocol(distributions: dict[str, Built]) -> None:
    assert {"protocol.md", "CHANGELOG.md"} <= distributions["getstep_server"].sdist_names


# --- installed ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own."""

    folder: Path

    @property
    def scripts(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        return self.scripts / ("python.exe" if os.name == "nt" else "python")

    @property
    def packages(self) -> Path:
        base = {"base": str(self.folder), "platbase": str(self.folder)}
        return Path(sysconfig.get_path("purelib", "venv", vars=base))

    def install(self, wheel: Path) -> None:
        """Install a wheel, and nothing that it asks for."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel)

    def copy(self, name: str) -> None:
        """Copy an installed distribution from the environment of the tests, which needs no network."""
        for file in metadata.files(name) or []:
            target = self.packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_binary())


def make_environment(folder: Path) -> Environment:
    venv.create(folder, with_pip=False)
    return Environment(folder)


@pytest.fixture(scope="module")
def contestant(tmp_path_factory: pytest.TempPathFactory, distributions: dict[str, Built]) -> Environment:
    """A contestant's machine: the client, msgpack, nothing else."""
    made = make_environment(tmp_path_factory.mktemp("contestant"))
    made.copy("msgpack")
    made.install(distributions["getstep"].wheel)
    return made


def test_a_contestants_machine_needs_no_more_than_msgpack(contestant: Environment) -> None:
    listing = "from importlib.metadata import distributions as d; print(*sorted(x.name for x in d()))"
    assert run(contestant.python, "-I", "-c", listing).split() == ["getstep", "msgpack"]
    absent = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
    others = ("trio", "numpy", "pydantic", "getstep_engines", "getstep_server", "getstep_bots")
    assert run(contestant.python, "-I", "-c", absent, *others).split() == []
    run(sys.executable, "-m", "pip", "--python", contestant.python, "check")


def test_the_command_is_installed(contestant: Environment) -> None:
    assert run(contestant.scripts / "getstep", "--version").strip() == f"getstep {VERSION}"


def test_a_new_bot_plays_a_contest_from_a_contestants_machine(
    contestant: Environment, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    run(contestant.scripts / "getstep", "new", "my_bot.py", "--game", "hop", cwd=tmp_path)
    server = programs.serve(make_contest(["", ""]))
    bots = [
        programs.play(server, tmp_path / "my_bot.py", 1, python=(str(contestant.python), "-I", "-u")),
        programs.play(server, tmp_path / "my_bot.py", 2),
    ]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(server.folder))
    assert [(result.reason, result.faults) for result in played] == [("finished", (0, 0))] * 2


def test_the_hosts_wheel_runs_the_demo_and_reports_on_it(distributions: dict[str, Built], tmp_path: Path) -> None:
    host = make_environment(tmp_path / "host")
    for built in distributions.values():
        host.install(built.wheel)
    # What the server asks for comes from here. A path in a .pth file does not bring in the .pth files found there,
    # so the packages under test do not.
    (host.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(host.python, "-I", "-c", "import getstep_server as s, getstep as g; print(s.__file__, g.__file__)")
    assert [Path(path).is_relative_to(host.folder) for path in where.split()] == [True, True]
    server, kept = host.scripts / "getstep-server", tmp_path / "kept"
    output = run(server, "demo", "--game", "hop", "--teams", "2", "--plain", "--keep", kept, cwd=tmp_path)
    assert "[2/2]" in output
    (database,) = kept.rglob("contest.db")
    run(server, "report", database.parent, "--output", "report.html", cwd=tmp_path)
    assert "2 played of 2" in (tmp_path / "report.html").read_text(encoding="utf-8")
