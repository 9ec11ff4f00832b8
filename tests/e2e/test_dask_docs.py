"""docs/sizes.md, followed to the letter: the commands that start an encrypted cluster, and the file for SLURM."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.programs.version import GETSTEP
from tests.support.contests import make_contest
from tests.support.ledger import on_record
from tests.support.processes import free_port
from tests.support.submitted_programs import GET_STEP, add_program, needs_sandbox, trust_sandbox

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sizes.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


_INSTALL, SCHEDULER, WORKER, RUN, CERTIFICATES = blocks("sh")
ENCRYPTION, SLURM = blocks("yaml")


@pytest.mark.parametrize("page", ["sizes.md", "host-programs.md"])
def test_the_extra_is_the_one_with_dask(page: str) -> None:
    lines = re.findall(r"^.*pip install .*$", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert [re.findall(r"(?:getstep-server|\.)\[(\w+)\]", line) for line in lines] == [["dask"]]
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(line.startswith("distributed") for line in project["optional-dependencies"]["dask"])


class Shell:
    """Types the page's commands, with ports, a home and an installation of the test's own."""

    def __init__(self, programs: Programs, home: Path) -> None:
        self.home = home
        self._programs = programs
        self._ports = {port: str(free_port()) for port in ("8786", "8787", "8788", "8789")}

    def adapted(self, command: str) -> str:
        """Return a command of the page for this machine."""
        for port, free in self._ports.items():
            command = command.replace(port, free)
        command = command.replace("~/getstep/bin", str(Path(sys.executable).parent))
        return command.replace("lab1", "127.0.0.1").replace("tcp://", "tls://")

    def start(self, command: str) -> Program:
        """Start a command of the page."""
        return self._programs.start("sh", "-ec", f"export HOME={self.home}; {self.adapted(command)}")


@pytest.mark.long
@needs_sandbox
def test_a_lab_is_started_as_the_page_says(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".config/dask").mkdir(parents=True)
    monkeypatch.setenv("GETSTEP_WORKER_FOLDER", str(tmp_path / "workers"))
    monkeypatch.setenv("HOME", str(home))
    subprocess.run(["sh", "-ec", CERTIFICATES], check=True, capture_output=True)
    (home / ".config/dask/getstep.yaml").write_text(ENCRYPTION.replace("/home/ada", str(home)))
    shell = Shell(programs, home)
    scheduler = shell.start(f"exec {SCHEDULER.strip()} --protocol tls")
    scheduler.expect("Scheduler at: *tls://")
    (worker,) = re.findall(r"^while sleep 2; do\n(.*?)^done$", WORKER, re.MULTILINE | re.DOTALL)
    shell.start(f"exec {worker.strip()}")

    folder = make_contest(tmp_path / "autumn", 2, on_disk=True, patient=True, event={"game": "longest_path"}).folder
    trust_sandbox(folder)
    for team in (1, 2):
        add_program(folder, team, GETSTEP, GET_STEP)
    name, command, contest, option, address = shell.adapted(RUN).split()
    assert (name, command, contest, option) == ("getstep-server", "run", "autumn", "--dask")
    server = programs.serve(folder, "--now", option, address)
    assert server.wait() == 0
    games = on_record(folder).games
    assert [game["worker"] for game in games] == [1, 1]


@pytest.mark.long
def test_the_file_for_slurm_makes_a_job() -> None:
    import yaml
    from dask_jobqueue.slurm import SLURMJob

    settings = yaml.safe_load(SLURM)
    assert settings.pop("jobs") == 20
    script = SLURMJob(scheduler="tcp://127.0.0.1:8786", name="one", **settings).job_script()
    assert "#SBATCH --cpus-per-task=25\n" in script
    assert re.search(r"distributed.cli.dask_worker tcp://127.0.0.1:8786 .*--nthreads 25 .*--memory-limit 0", script)
