"""The sandbox in a fresh Debian 12 and 13, with their own bubblewrap and Python, as root and as a user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import INSTALL_SECONDS

ROOT = Path(__file__).parents[2]

PROBES = """
import json, sys
from getstep_server.sandbox.check import check, missing
from getstep_server.sandbox.interfaces import System, lacks
broken = [(finding.probe.name, finding.detail) for finding in check() if not finding.held]
needed = [str(lack) for lack in lacks() if lack.needed]
found = {"system": System().name(), "python": list(sys.version_info[:2]), "broken": broken, "missing": missing()}
print(json.dumps({**found, "needed": needed}))
"""
"""The package of the sandbox needs the standard library alone."""

# A root of its own, not chroot: the kernel lets no process in one make user namespaces.
IN_ROOT = """
mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && cd "$0" &&
mkdir -p old && pivot_root . old && umount -l /old &&
exec setpriv --reuid="$1" --regid="$1" --clear-groups \\
    env -i PATH=/usr/bin:/bin HOME=/tmp PYTHONPATH=/opt python3 -c "$2"
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("mmdebstrap"), reason="no mmdebstrap here")
@pytest.mark.skipif(sys.platform == "linux" and os.geteuid() != 0, reason="only root can change the root")
@pytest.mark.parametrize(("suite", "release", "python"), [("bookworm", 12, [3, 11]), ("trixie", 13, [3, 13])])
def test_all_protections_hold_in_debian_as_root_and_as_a_user(
    tmp_path: Path, suite: str, release: int, python: list[int]
) -> None:
    root = tmp_path / "root"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("root may not have mounts of its own here")  # as in many containers; the root needs /proc
    packages = "--include=bubblewrap,python3"
    made = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", packages, suite, root],
        capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
    )  # fmt: skip
    if made.returncode:
        # no package index has this release: other tests simulate such a system, and the other releases are tried
        pytest.skip(f"Debian {release} cannot be had here: {made.stderr.strip().splitlines()[-1:]}")
    try:
        source, target = ROOT / "server" / "getstep_server", root / "opt" / "getstep_server"
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        for user in (0, 1000):
            found = _found(root, user)
            assert found.pop("system").startswith(f"Debian GNU/Linux {release} ")
            assert found == {"python": python, "broken": [], "missing": None, "needed": []}
    finally:
        subprocess.run(["rm", "--recursive", "--force", "--one-file-system", root], check=True)


def _found(root: Path, user: int) -> dict[str, Any]:
    """Run the probes in a root as a user, and return what they have found."""
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    command = [*alone, "bash", "-c", IN_ROOT, str(root), str(user), PROBES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
