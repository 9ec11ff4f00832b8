"""All distributions as contestants and hosts get them: built, looked into, installed and played with."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep
from getstep.languages import LANGUAGES, PACKED
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.config.contestants_package import write_contestants_package
from getstep_server.storage.contest_state import results_of
from getstep_server.storage.journal import read, segments
from getstep_server.web.downloads import DOCUMENTS
from release import dist
from tests.support.contests import make_contest as new_contest
from tests.support.interrupted_contest import wait_until
from tests.support.ledger import on_record
from tests.support.patience import INSTALL_SECONDS
from tests.support.plugins import OTHELLO
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Program, Programs, Server

ROOT = Path(__file__).parents[2]
VERSION = getstep.__version__
PROJECTS = {name: ROOT / folder for name, folder in dist.PROJECTS.items()}
"""The folder of each distribution's pyproject.toml."""

HOMES = {**PROJECTS, "getstep_server": ROOT / "server"}
"""The folder of each distribution's package, which has the distribution's name."""

CONTESTANTS = ["getstep", "getstep-bots", "getstep-engines"]
LARGEST = 3_300_000
"""The bytes that a contestant's installation may take beside msgpack."""

LARGEST_HOST = 150_000_000
"""The bytes that a host's installation may take beside Python; numpy takes 70 MB of them, cryptography 16."""


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
        timeout=INSTALL_SECONDS,
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
        """Return the files of the sdist, without the folder that all of them are in."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}

    def about(self, name: str) -> str:
        """Return a file of the wheel's ``dist-info``."""
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.read(f"{self.name}-{VERSION}.dist-info/{name}").decode()


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release, made of this checkout."""
    out = tmp_path_factory.mktemp("dist")
    dist.release(ROOT, out)
    return out


@pytest.fixture(scope="module")
def distributions(release: Path) -> dict[str, Built]:
    """All distributions: sdists from the source, wheels from the sdists; with the tools installed here."""
    return {
        name: Built(name, release / f"{name}-{VERSION}.tar.gz", release / f"{name}-{VERSION}-py3-none-any.whl")
        for name in PROJECTS
    }


def wheels_of(distributions: dict[str, Built]) -> list[Path]:
    return [built.wheel for built in distributions.values()]


def sources(name: str) -> list[tuple[Path, Path]]:
    """Return the files of a distribution's packages, each with the folder that its package is in."""
    home = HOMES[name]
    found = [(path, home) for path in (home / name).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert found
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_has_its_packages_whole_and_nothing_else(distributions: dict[str, Built], name: str) -> None:
    about = f"{name}-{VERSION}.dist-info/"
    found = distributions[name].wheel_names
    packaged = {path.relative_to(folder).as_posix() for path, folder in sources(name)}
    if name == "getstep_server":  # the live page shows them
        packaged |= {f"getstep_server/web/documents/{document}.md" for document in DOCUMENTS}
        packaged |= {f"getstep_server/web/examples/{path}" for path in example_paths()}
    if name == "getstep":  # they are in folders of their own in the checkout
        packaged |= {f"getstep/languages/{PACKED}"}
        with zipfile.ZipFile(distributions[name].wheel) as wheel:
            archive = zipfile.ZipFile(io.BytesIO(gzip.decompress(wheel.read(f"getstep/languages/{PACKED}"))))
            assert set(archive.namelist()) == language_paths()
    assert {file for file in found if not file.startswith(about)} == packaged
    assert f"{name}/py.typed" in found
    assert f"{about}licenses/LICENSE" in found


def language_paths() -> set[str]:
    """Return the files of all languages, by their paths in the package `getstep.languages`."""
    return {f"{language.name}/{path}" for language in LANGUAGES.values() for path, _ in language.all_files()}


def example_paths() -> set[str]:
    """Return the programs for the conventions, which the live page offers."""
    folder = ROOT / "bots" / "programs"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.suffix != ".pyc"}


@pytest.mark.long
def test_the_contestants_wheel_has_the_templates(distributions: dict[str, Built]) -> None:
    assert "getstep/_templates/one_game.txt" in distributions["getstep"].wheel_names


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "command", "needs"),
    [
        ("getstep_engines", "", []),
        ("getstep_bots", "", ["getstep-engines"]),
        ("getstep", "getstep = getstep.cli:main", ["getstep-bots", "getstep-engines"]),
        ("getstep_conformance", "", ["getstep", "getstep-engines"]),
        ("getstep_training", "", ["getstep-engines"]),
        (
            "getstep_server",
            "getstep-server = ",
            ["getstep", "getstep-bots", "getstep-conformance", "getstep-engines"],
        ),
    ],
)
def test_a_wheel_says_what_it_is(
    distributions: dict[str, Built], name: str, command: str, needs: list[str]
) -> None:
    headers = HeaderParser().parsestr(distributions[name].about("METADATA"))
    assert headers["Version"] == VERSION
    assert headers["License-Expression"] == "MIT"
    required = [line for line in headers.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert {line for line in required if line.startswith("getstep")} == {f"{n}=={VERSION}" for n in needs}
    assert not command or command in distributions[name].about("entry_points.txt")


@pytest.mark.long
@pytest.mark.parametrize("name", PROJECTS)
def test_an_sdist_has_what_a_wheel_is_made_of_and_no_tests(distributions: dict[str, Built], name: str) -> None:
    found = distributions[name].sdist_names
    assert {path.relative_to(PROJECTS[name]).as_posix() for path, _ in sources(name)} <= found
    assert name != "getstep" or language_paths() <= found
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"} <= found
    assert not [file for file in found if file.startswith(("tests", "benchmarks"))]


@pytest.mark.long
def test_the_hosts_sdist_has_the_documents(distributions: dict[str, Built]) -> None:
    assert {"protocol.md", "CHANGELOG.md", "docs/host.md", "docs/pictures/run.svg"} <= distributions[
        "getstep_server"
    ].sdist_names


# --- the other files of a release ------------------------------------------------------------------------------


def test_the_section_of_a_version_ends_where_the_next_one_begins() -> None:
    text = "# Changes\n\n## 1.1.0\n\nNew.\n\n### For hosts\n\nMore.\n\n## 1.0.0\n\nOld.\n"
    assert dist.changes(text, "1.1.0") == "## 1.1.0\n\nNew.\n\n### For hosts\n\nMore.\n"
    assert dist.changes(text, "1.0.0") == "## 1.0.0\n\nOld.\n"
    with pytest.raises(ValueError, match=r"no section for 1\.0;"):
        dist.changes(text, "1.0")


def test_a_release_is_made_of_the_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout, out = tmp_path / "checkout", tmp_path / "out"
    git = ("git", "-C", checkout, "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run("git", "init", "--quiet", checkout)
    (checkout / "kept.txt").write_text("committed")
    run(*git, "add", ".")
    run(*git, "commit", "--quiet", "-m", "One")
    (checkout / "kept.txt").write_text("changed")
    (checkout / "new.txt").touch()

    def release(source: Path, out: Path) -> None:
        assert [path.name for path in source.iterdir() if path.name != ".git"] == ["kept.txt"]
        (out / "made.txt").write_text((source / "kept.txt").read_text())

    monkeypatch.setattr(dist, "ROOT", checkout)
    monkeypatch.setattr(dist, "release", release)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")  # is set for the builds, and set back here
    dist.main(["--out", str(out)])
    assert (out / "made.txt").read_text() == "committed"
    with pytest.raises(SystemExit):
        dist.main(["--out", str(out)])
    assert (out / "made.txt").exists()


@pytest.mark.long
def test_a_release_has_all_files_with_their_checksums(release: Path, distributions: dict[str, Built]) -> None:
    archives = [f"getstep-{name}-{VERSION}.zip" for name in LANGUAGES]
    built = [path.name for each in distributions.values() for path in (each.sdist, each.wheel)]
    others = [f"changes-{VERSION}.md", f"sbom-{VERSION}.cdx.json", dist.SUMS]
    assert sorted(path.name for path in release.iterdir()) == sorted([*archives, *built, *others])
    lines = run("sha256sum", "--check", dist.SUMS, cwd=release).splitlines()
    assert len(lines) == len(archives) + len(built) + len(others) - 1
    assert all(line.endswith(": OK") for line in lines)


@pytest.mark.long
@pytest.mark.parametrize("name", LANGUAGES)
def test_an_archive_of_a_language_has_file_first_bots_and_page(release: Path, name: str) -> None:
    language, top = LANGUAGES[name], f"getstep-{name}-{VERSION}"
    with zipfile.ZipFile(release / f"{top}.zip") as archive:
        bots = [f"{stem}{language.suffix}" for stem in (*language.games(), "several")]
        assert set(archive.namelist()) == {
            f"{top}/{file}" for file in (*language.files, *bots, f"{name}.md", "LICENSE")
        }
        first = archive.read(f"{top}/hop{language.suffix}").decode()
    assert "@goal" not in first
    assert "legal" in first


@pytest.mark.long
def test_the_sbom_names_all_parts_and_no_place_of_this_machine(release: Path) -> None:
    text = (release / f"sbom-{VERSION}.cdx.json").read_text(encoding="utf-8")
    bom = json.loads(text)
    assert bom["bomFormat"] == "CycloneDX"
    main = bom["metadata"]["component"]
    assert (main["name"], main["version"]) == ("getstep-server", VERSION)
    parts = {part["name"]: part["version"] for part in bom["components"]}
    ours = {name: version for name, version in parts.items() if name.startswith("getstep")}
    assert ours == dict.fromkeys(sorted(set(dist.HOST) - {"getstep-server"}), VERSION)
    assert {"msgpack", "numpy", "trio"} <= set(parts)
    assert "pip" not in parts
    assert "file:" not in text


# --- every Python -------------------------------------------------------------------------------------------------


def python(minor: int) -> str:
    """Return the command of Python 3.``minor``; skip the test if this machine has none.

    It looks for ``python3.N`` where commands are, and among the versions of pyenv.
    """
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    kept = [str(path) for path in versions.glob(f"3.{minor}.*/bin/python")]
    for command in (*kept, shutil.which(f"python3.{minor}")):
        if command and subprocess.run([command, "-c", "import ssl, sqlite3, venv"], check=False).returncode == 0:
            return command
    # a version that cannot be installed here says nothing about the files; the others are tried
    pytest.skip(f"no Python 3.{minor} with its whole library on this machine")


@pytest.mark.long
@pytest.mark.parametrize("minor", range(10, 15))
def test_a_release_runs_with_every_python(
    release: Path, programs: Programs, make_contest: MakeContest, tmp_path: Path, minor: int
) -> None:
    """Install from the built files, play the demo and a contest; with 3.10, what a contestant has."""
    hosts = minor > 10
    environment = Environment(tmp_path / "environment")
    assert dist.make_environment(environment.folder, python(minor)) == environment.python
    dist.install(environment.python, release, VERSION, dist.HOST if hosts else CONTESTANTS)
    run(environment.scripts / "getstep", "new", "my_bot.py", "--game", "hop", cwd=tmp_path)
    assert "won" in run(environment.scripts / "getstep", "practice", "my_bot.py", "--games", "2", cwd=tmp_path)
    server = programs.serve(make_contest(), python=environment.python if hosts else sys.executable)
    own = (str(environment.python), "-I", "-u")
    bots = [programs.play(server, tmp_path / "my_bot.py", team, python=own) for team in (1, 2)]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    assert [result.reason for result in results_of(load_contest(server.folder))] == ["finished"] * 2
    if hosts:
        command = environment.scripts / "getstep-server"
        assert f"Python 3.{minor}." in run(command, "--version")
        assert "[2/2]" in run(command, "demo", "--game", "hop", "--teams", "2", "--plain", cwd=tmp_path)
        assert "Everything fits" in run(command, "verify", server.folder)


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

    def install(self, *wheels: Path) -> None:
        """Install wheels, and nothing that they ask for."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        run(*pip, "install", "--quiet", "--no-index", "--no-deps", *wheels)

    def copy(self, name: str) -> None:
        """Copy an installed distribution from the environment of the tests, which needs no network."""
        for file in metadata.files(name) or []:
            target = self.packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_binary())


def make_environment(folder: Path) -> Environment:
    dist.make_environment(folder)
    return Environment(folder)


@pytest.fixture(scope="module", params=["wheels", "one file"])
def contestant(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, distributions: dict[str, Built]
) -> Environment:
    """A contestant's machine: msgpack and ours, from the package index or from the host; nothing else."""
    made = make_environment(tmp_path_factory.mktemp("contestant"))
    made.copy("msgpack")
    if request.param == "wheels":
        for name in CONTESTANTS:
            made.install(distributions[name.replace("-", "_")].wheel)
    else:
        folder = tmp_path_factory.mktemp("host") / "autumn"
        init_contest(folder, name="Autumn", games=["hop"])
        made.install(write_contestants_package(load_contest(folder)))
    return made


@pytest.mark.long
def test_a_contestants_machine_needs_no_more_than_msgpack(contestant: Environment) -> None:
    listing = "from importlib.metadata import distributions as d; print(*sorted(x.name for x in d()))"
    installed = run(contestant.python, "-I", "-c", listing).split()
    assert installed in ([*CONTESTANTS, "msgpack"], ["getstep", "msgpack"])
    found = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
    names = ("trio", "numpy", "pydantic", "getstep_server", "getstep_engines", "getstep_bots")
    assert run(contestant.python, "-I", "-c", found, *names).split() == ["getstep_engines", "getstep_bots"]
    run(sys.executable, "-m", "pip", "--python", contestant.python, "check")
    ours = [path for path in contestant.packages.glob("getstep*/**/*") if path.is_file()]
    assert sum(path.stat().st_size for path in ours) < LARGEST


@pytest.mark.long
def test_the_command_is_installed(contestant: Environment) -> None:
    python = sys.version.split()[0]
    assert run(contestant.scripts / "getstep", "--version") == f"getstep {VERSION}, Python {python}\n"


@pytest.mark.long
def test_a_new_bot_plays_a_contest_from_a_contestants_machine(
    contestant: Environment, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    run(contestant.scripts / "getstep", "new", "my_bot.py", "--game", "hop", cwd=tmp_path)
    server = programs.serve(make_contest())
    bots = [
        programs.play(server, tmp_path / "my_bot.py", 1, python=(str(contestant.python), "-I", "-u")),
        programs.play(server, tmp_path / "my_bot.py", 2),
    ]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(server.folder))
    assert [(result.reason, result.faults) for result in played] == [("finished", (0, 0))] * 2


def make_host(folder: Path, wheels: Iterable[Path]) -> Environment:
    """Return a host's machine: wheels of ours, and the dependencies of the environment of the tests."""
    host = make_environment(folder)
    host.install(*wheels)
    # What the server asks for comes from here. A path in a .pth file does not bring in the .pth files found there,
    # so the packages under test do not.
    (host.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return host


@pytest.mark.long
def test_the_hosts_wheel_runs_the_demo_and_reports_on_it(distributions: dict[str, Built], tmp_path: Path) -> None:
    host = make_host(tmp_path / "host", wheels_of(distributions))
    where = run(host.python, "-I", "-c", "import getstep_server as s, getstep as g; print(s.__file__, g.__file__)")
    assert [Path(path).is_relative_to(host.folder) for path in where.split()] == [True, True]
    server, kept = host.scripts / "getstep-server", tmp_path / "kept"
    output = run(server, "demo", "--game", "hop", "--teams", "2", "--plain", "--keep", kept, cwd=tmp_path)
    assert "[2/2]" in output
    (database,) = kept.rglob("contest.db")
    run(server, "report", database.parent, "--output", "report.html", cwd=tmp_path)
    assert "2 played of 2" in (tmp_path / "report.html").read_text(encoding="utf-8")


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes that the files of a folder take on a disk with blocks of 4 KiB."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


@pytest.mark.long
def test_a_hosts_machine_is_small_and_shows_ratings_at_once(
    distributions: dict[str, Built], tmp_path: Path
) -> None:
    """A host's installation, with all requirements, from the package index."""
    host = make_environment(tmp_path / "host")
    before = bytes_on_disk(host.packages)
    pip = [sys.executable, "-m", "pip", "--python", host.python, "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", *(built.wheel for built in distributions.values()))
    assert bytes_on_disk(host.packages) - before < LARGEST_HOST

    server, kept = host.scripts / "getstep-server", tmp_path / "kept"
    output = run(server, "demo", "--game", "hop", "--teams", "2", "--plain", "--keep", kept, cwd=tmp_path)
    assert "Standings after 2 matches" in output
    (database,) = kept.rglob("contest.db")
    run(server, "report", database.parent, "--output", "report.html", cwd=tmp_path)
    assert 'id="event-1-ratings"' in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Elo" in run(server, "ratings", database.parent, cwd=tmp_path)
    test = ("--sprt", "--elo1", "300", "--game", "pseudo_tonga", "--option", "size=6", "--plain")
    assert "H1 after " in run(server, "duel", "greedy", "random_bot", *test, cwd=tmp_path)


@pytest.mark.long
def test_a_game_of_another_package_is_played_beside_untouched_ones(
    distributions: dict[str, Built], tmp_path: Path
) -> None:
    host = make_host(tmp_path / "host", wheels_of(distributions))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", OTHELLO)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    host.install(wheel)
    assert "turn over enclosed discs" in run(host.scripts / "getstep", "rules", "othello") + run(
        host.scripts / "getstep", "new", "--help"
    )
    server = host.scripts / "getstep-server"
    output = run(server, "demo", "--game", "othello", "--teams", "2", "--plain", "--keep", "kept", cwd=tmp_path)
    assert "[2/2]" in output
    assert "Everything fits" in run(server, "verify", tmp_path / "kept" / "demo")


# --- upgraded -----------------------------------------------------------------------------------------------------

OLD = "6a6cbc9603a42b9ef030037833c83fb0fbe5d1fb"
"""The revision of this repository that wrote the contests in tests/old_contests/0.1.0."""

OLD_VERSION = "0.1.0.dev0"
"""The version that it gets here: it has the number of the release that it became."""

OLD_PROJECTS = ("engines", "bots", "sdk", ".")

BOT = """\
import time
from pathlib import Path
from moves import move

def get_step(board, is_black, turn):
    while turn.match > 2 and turn.move_number > 8 and not Path("go-on").exists():
        time.sleep(0.01)
    return move(turn.game, turn.match, board, is_black)
"""
"""It chooses by the match and the board, and waits in the middle of all matches but the first two."""


def old_wheels(folder: Path) -> list[Path]:
    """Build the old version from the history of the repository; skip the test where that is not there."""
    known = subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{OLD}^{{commit}}"], check=False)
    if known.returncode != 0:  # a source archive has no history, and a shallow clone not all of it
        pytest.skip(f"there is no commit {OLD} here, from which the old version is built")
    source, out = folder / "source", folder / "wheels"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", OLD], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(source, filter="data")
    versions = [source / project / "pyproject.toml" for project in OLD_PROJECTS]
    for path in (*versions, source / "sdk/getstep/_version.py", source / "server/getstep_server/__init__.py"):
        path.write_text(path.read_text("utf-8").replace("0.1.0", OLD_VERSION), "utf-8")
    for project in OLD_PROJECTS:
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", out, source / project)
    return sorted(out.glob("*.whl"))


def held_matches(contest: Path) -> int:
    """Return how many matches wait in their middle; the first two are over."""
    lines = [line for path in segments(contest / "running") for line in read(path).lines]
    turns = Counter(line.tag for line in lines if "player" in line.entry and line.tag not in (b"1-1", b"2-1"))
    return sum(number >= 8 for number in turns.values())


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the files of a contest but its lock, which names the process that has it."""
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "run.lock"}


@pytest.mark.long
@pytest.mark.timeout(2 * INSTALL_SECONDS)
@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
def test_a_host_upgrades_in_the_middle_of_matches(
    distributions: dict[str, Built], programs: Programs, tmp_path: Path
) -> None:
    """The results are those of a contest that the new version has played alone; bots keep the old SDK."""
    teams, bot = 4, tmp_path / "bots" / "bot.py"
    bot.parent.mkdir()
    bot.write_text(BOT, "utf-8")
    shutil.copy(ROOT / "tests" / "old_contests" / "moves.py", bot.parent)
    wheels = old_wheels(tmp_path / "old")
    old, host = (make_host(tmp_path / name, wheels) for name in ("old-machine", "host"))

    def contest(name: str) -> Path:
        event = {"game": "pseudo_tonga", "options": {"size": 6}}
        server = {"port": free_port()}
        return new_contest(tmp_path / name, teams, on_disk=True, patient=True, event=event, server=server).folder

    def bots(server: Server) -> list[Program]:
        own = (str(old.python), "-I", "-u")
        return [programs.play(server, bot, team, python=own) for team in range(1, teams + 1)]

    disturbed = contest("disturbed")
    server = programs.serve(disturbed, python=host.python)
    playing = bots(server)
    server.expect(r"^\[2/12\] ")
    wait_until(lambda: held_matches(disturbed) == 2)
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    before = on_record(disturbed)

    host.install(*wheels_of(distributions))
    (bot.parent / "go-on").touch()
    upgraded = programs.serve(disturbed, python=host.python)
    assert upgraded.wait() == 0
    assert [program.wait() for program in playing] == [0] * teams
    assert len(re.findall(r"resumes after turn \d+", upgraded.output)) == 2
    after = on_record(disturbed, head=before.head)
    assert [game["software"] for game in after.games] == [
        *[f"getstep-server {OLD_VERSION}"] * 4,  # two of them were resumed
        *[f"getstep-server {VERSION}"] * 8,
    ]
    assert "Everything fits" in run(host.scripts / "getstep-server", "verify", disturbed)

    undisturbed = contest("undisturbed")
    server = programs.serve(undisturbed, python=host.python)
    playing = bots(server)
    assert server.wait() == 0
    assert [program.wait() for program in playing] == [0] * teams
    assert on_record(undisturbed).played == after.played

    # the way back: the old version does not know that teams may join while a contest runs
    run(host.scripts / "getstep-server", "teams", "add", disturbed, "Late", "--yes")
    kept = contents(disturbed)
    refused = programs.serve(disturbed, python=old.python)
    assert refused.wait() == 1
    assert "decision is 'join', expected one of: " in refused.output
    assert contents(disturbed) == kept
