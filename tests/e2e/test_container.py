"""The steps of the Containerfile in a fresh Debian, without a container engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from release import dist
from tests.support.interrupted_contest import wait_until
from tests.support.patience import INSTALL_SECONDS
from tests.support.processes import Program, free_port

if TYPE_CHECKING:
    from tests.support.processes import Programs

ROOT = Path(__file__).parents[2]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
INDEX_CERTIFICATES = "etc/package-index.crt"
"""Where the root has them: its own packages write the usual place anew."""
NO_NETWORK = re.compile(r"Temporary failure|Failed to establish a new connection|Failed to fetch|SSLError")
"""What apt and pip say if they do not reach their server; each may be reached in its own way on this machine."""
LARGEST = 400_000_000
"""The bytes that the image may take; Debian and Python are half of it."""

# What each command runs in: the root, with a /proc of its own that ends with it.
IN_ROOT = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot --userspec="$1" "$0" "${@:2}"'


@dataclass
class Stage:
    """A stage of the build: its root, and what its instructions say."""

    root: Path
    user: str = "root"
    said: dict[str, str] = field(default_factory=dict)

    def command(self, *words: str) -> list[str]:
        """Return the command that runs other words in the root, as the user of the stage."""
        return [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "bash",
            "-c",
            IN_ROOT,
            str(self.root),
            self.user,
            *words,
        ]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        here = {"PATH": os.environ["PATH"], "HOME": "/tmp", "DEBIAN_FRONTEND": "noninteractive"}
        if (self.root / INDEX_CERTIFICATES).is_file():
            here["PIP_CERT"] = f"/{INDEX_CERTIFICATES}"
        done = subprocess.run(
            self.command(*words), env=here, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if done.returncode and NO_NETWORK.search(done.stderr):
            # the steps are not wrong: a root of its own lacks the settings with which this machine gets packages
            pytest.skip(f"packages cannot be had in a fresh Debian here: {done.stderr.strip().splitlines()[-1:]}")
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def words(self, instruction: str) -> list[str]:
        """Return the words of an instruction that has a list of them."""
        found: list[str] = json.loads(self.said[instruction])
        return found


def instructions() -> Iterator[tuple[str, str]]:
    text = (ROOT / "release" / "Containerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    for line in text.splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def made_root(folder: Path) -> None:
    """Make a root with the packages that the image debian:13-slim begins with."""
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        # in a container root may have no mounts, and no other way shows the steps in another root
        pytest.skip("root may not have mounts of its own here")
    made = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "trixie", folder],
        capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
    )  # fmt: skip
    if made.returncode:
        # without its mirror there is nothing to try the steps in
        pytest.skip(f"Debian 13 cannot be had here: {made.stderr.strip().splitlines()[-1:]}")
    shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")
    if CERTIFICATES.is_file():  # the package index may be behind a proxy of this machine
        shutil.copy(CERTIFICATES, folder / INDEX_CERTIFICATES)


def built(context: Path, folder: Path) -> Stage:
    """Follow the Containerfile, and return its last stage."""
    base = folder / "base"
    made_root(base)
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for name, rest in instructions():
        match name:
            case "FROM":
                assert rest.split()[0] == "docker.io/library/debian:13-slim"
                stage = stages[rest.partition(" AS ")[2] or "last"] = Stage(folder / f"stage-{len(stages)}")
                subprocess.run(["cp", "--archive", base, stage.root], check=True)
            case "RUN":
                stage.run("sh", "-c", rest)
            case "COPY" if rest.startswith("--from="):
                source, path, _ = rest.removeprefix("--from=").split()
                target = stage.root / path.lstrip("/")
                subprocess.run(["cp", "--archive", stages[source].root / path.lstrip("/"), target], check=True)
            case "COPY":
                pattern, path = rest.split()
                target = stage.root / path.lstrip("/")
                target.mkdir()
                for file in context.glob(pattern):
                    shutil.copy(file, target)
            case "USER":
                stage.user = rest
            case "HEALTHCHECK":
                stage.said[name] = rest.removeprefix("CMD ")
            case "WORKDIR" | "VOLUME" | "EXPOSE" | "ENTRYPOINT" | "CMD":
                stage.said[name] = rest
            case _:
                pytest.fail(f"{name}: this test does not know the instruction")
    return stage


@pytest.mark.long
@pytest.mark.timeout(2 * INSTALL_SECONDS)
@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("mmdebstrap"), reason="no mmdebstrap here")
@pytest.mark.skipif(sys.platform == "linux" and os.geteuid() != 0, reason="only root can change the root")
def test_the_image_is_healthy_while_it_runs_a_contest(programs: Programs, tmp_path: Path) -> None:
    files = tmp_path / "dist"
    files.mkdir()
    dist.build_distributions(ROOT, files)
    stage = built(files, tmp_path)
    try:
        used = subprocess.run(
            ["du", "--summarize", "--bytes", stage.root], capture_output=True, text=True, check=True
        )
        assert int(used.stdout.split()[0]) < LARGEST
        server = stage.words("ENTRYPOINT")
        assert "Python 3.13." in stage.run(*server, "--version").stdout
        stage.run(*server, "init", "/contest", "--name", "Autumn", "--game", "hop")
        stage.run(*server, "teams", "add", "/contest", "Ada", "Blaise")
        port = free_port()
        ports = ("--port", "0", "--web-port", str(port))
        healthy = [word.replace("8080", str(port)) for word in stage.words("HEALTHCHECK")]

        def health() -> int:
            return subprocess.run(stage.command(*healthy), capture_output=True, check=False).returncode

        assert health() != 0
        running: Program = programs.start(*stage.command(*server, *stage.words("CMD"), *ports))
        wait_until(lambda: health() == 0, every=0.2)
        owner = (stage.root / "contest" / "run.lock").stat().st_uid
        assert owner == 1000
        (child,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGTERM)
        assert running.wait() == 130
    finally:
        for path in tmp_path.iterdir():
            subprocess.run(["rm", "--recursive", "--force", "--one-file-system", path], check=True)
