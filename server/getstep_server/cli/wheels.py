"""The command `wheels`, which prepares the contestants' packages for a room without internet."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from getstep_server.config.contest import load_contest
from getstep_server.config.contestants_package import write_contestants_package

from ._parser import EXIT_FAILED, EXIT_OK, folder_argument

_WHEELS = """\
Prepare the contestants' packages, so that they can be installed in a room
without internet: the live page offers them as a package index. They are the
contestants' package and the wheels of msgpack, which pip downloads now.

examples:
  getstep-server wheels autumn
  getstep-server wheels autumn --platform win_amd64 --python 3.12

exit codes: 0 all packages are there, 1 some could not be downloaded
"""

PLATFORMS = (
    "win_amd64",
    "macosx_11_0_arm64",
    "macosx_10_9_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux_2_17_aarch64",
)
"""The systems of contestants, as pip names them."""

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def add_wheels(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``wheels``."""
    parser.description = _WHEELS
    folder_argument(parser)
    systems, versions = ", ".join(PLATFORMS), ", ".join(PYTHONS)
    parser.add_argument("--platform", action="append", help=f"a system, repeatable (default: {systems})")
    parser.add_argument("--python", action="append", help=f"a version, repeatable (default: {versions})")
    parser.set_defaults(command=_wheels)


def _wheels(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    folder = contest.wheels
    folder.mkdir(exist_ok=True)
    package = write_contestants_package(contest)
    shutil.copyfile(package, folder / package.name)
    print(package.name)
    failed = list(_download(folder, args.platform or PLATFORMS, args.python or PYTHONS))
    for what in failed:
        print(f"getstep-server: no wheel of msgpack for {what}", file=sys.stderr)
    print(f"{len(list(folder.glob('*.whl')))} files in {folder}; the live page offers them at /simple/")
    return EXIT_FAILED if failed else EXIT_OK


def _download(folder: Path, platforms: Sequence[str], pythons: Sequence[str]) -> Iterator[str]:
    """Download msgpack for each system and version of Python; yield those for which pip found no wheel."""
    for platform in platforms:
        for python in pythons:
            print(f"msgpack for {platform}, Python {python}")
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            ]
            command += ["--only-binary=:all:", "--platform", platform, "--python-version", python]
            command += ["--dest", str(folder), "msgpack>=1.2.4"]
            if subprocess.run(command, check=False, capture_output=True).returncode:  # noqa: S603 - fixed words
                yield f"{platform}, Python {python}"
