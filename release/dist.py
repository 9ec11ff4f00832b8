"""Builds all files of a release into ``dist/``: ``make dist``, or ``python -m release.dist``.

They are made from a fresh clone of the last commit, so a release has nothing that is not in the repository:

- a source archive and a wheel of each distribution; the wheels are built from the source archives
- ``getstep-LANGUAGE-VERSION.zip`` for each SDK language: its file, its first bots and its page
- ``changes-VERSION.md``: the section of the changelog
- ``sbom-VERSION.cdx.json``: what a host installs, in the format CycloneDX: ours, and each dependency in the version
  that the package index has today
- ``SHA256SUMS`` of all these, for ``sha256sum --check``

The same commit gives the same files; only the SBOM changes when a dependency has a new version.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

PROJECTS = {
    "getstep_engines": "engines",
    "getstep_bots": "bots",
    "getstep": "sdk",
    "getstep_conformance": "conformance",
    "getstep_training": "training",
    "getstep_server": ".",
}
"""The distributions by name, with the folder of each one's pyproject.toml."""

HOST = [name.replace("_", "-") for name in PROJECTS if name != "getstep_training"]
"""The distributions that a host installs."""

SUMS = "SHA256SUMS"
"""The name of the file with the checksums of all others."""


def build_distributions(source: Path, out: Path) -> None:
    """Build the source archive and the wheel of each distribution, with the build tools of this environment.

    Args:
        source: a checkout.
        out: the folder for the files.

    Raises:
        subprocess.CalledProcessError: a build has failed; its output is printed.
    """
    for folder in PROJECTS.values():
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source / folder)


def changes(changelog: str, version: str) -> str:
    """Return the section of a version in the changelog.

    Raises:
        ValueError: there is none.
    """
    found = re.search(rf"^## {re.escape(version)}$.*?(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"CHANGELOG.md has no section for {version}; add the heading: ## {version}")
    return found[0].rstrip() + "\n"


def checksums(folder: Path) -> str:
    """Return a line for each file of a folder, with its SHA-256, as ``sha256sum --check`` reads it."""
    paths = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def make_environment(folder: Path, python: str | Path = sys.executable) -> Path:
    """Make an empty environment in a folder for the Python that ``python`` is; return the environment's own."""
    _run(python, "-m", "venv", "--without-pip", folder)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(python: Path, dist: Path, version: str, names: Sequence[str] = HOST) -> None:
    """Install distributions of a release into an environment.

    Ours come from the built wheels alone, whatever has their names on the package index. What they need comes from
    the index.

    Args:
        python: of the environment.
        dist: the folder with the wheels.
        version: of the release.
        names: of the distributions, with all of ours that they need.
    """
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet")
    ours = [f"{name}=={version}" for name in names]
    _run(*pip, "--no-index", "--no-deps", "--find-links", dist, *ours)
    _run(*pip, *ours)


def release(source: Path, out: Path) -> None:
    """Write all files of a release.

    Args:
        source: a checkout without other files.
        out: an empty folder.
    """
    project = source / "pyproject.toml"
    version: str = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    section = changes((source / "CHANGELOG.md").read_text("utf-8"), version)
    (out / f"changes-{version}.md").write_text(section, "utf-8")
    build_distributions(source, out)
    with tempfile.TemporaryDirectory() as home:
        python = make_environment(Path(home))
        install(python, out, version)
        _run(python, "-I", source / "release" / "languages.py", source, out)
        bom = ("--pyproject", project, "--output-reproducible", "--output-file", out / f"sbom-{version}.cdx.json")
        _run(sys.executable, "-m", "cyclonedx_py", "environment", *bom, python)
    (out / SUMS).write_text(checksums(out))


def _run(*command: object) -> None:
    """Run a command to its end; print its output if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        done.check_returncode()


def _git(folder: Path, *command: str) -> str:
    return subprocess.check_output(["git", "-C", folder, *command], text=True).strip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files of the last commit's release into the output folder."""
    parser = argparse.ArgumentParser(description="Build all files of a release from the last commit.")
    parser.add_argument("--out", type=Path, help="an empty folder for them (default: dist, which is emptied)")
    out: Path = parser.parse_args(arguments).out or ROOT / "dist"
    if out == ROOT / "dist":
        shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        parser.error(f"--out {out}: the folder is not empty; name another one")
    if _git(ROOT, "status", "--porcelain"):
        print("Changes that are not committed are left out.")
    with tempfile.TemporaryDirectory() as home:
        source = Path(home, "getstep")
        _git(ROOT, "clone", "--quiet", str(ROOT), str(source))
        os.environ["SOURCE_DATE_EPOCH"] = _git(source, "log", "-1", "--format=%ct")
        release(source, out)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path}")


if __name__ == "__main__":
    main()
