"""The Makefile shows what pip does, and fails when pip does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]

PIP = """\
#!/bin/sh
cat <<'END'
Obtaining file:///home/ada/getstep/sdk
  Installing build dependencies: started
Collecting msgpack>=1.2.4 (from getstep==0.1.0)
  Downloading msgpack-1.2.4-cp311-cp311-manylinux2014_x86_64.whl (480 kB)
Collecting numpy>=1.26 (from getstep-server==0.1.0)
  Using cached numpy-2.4.6-cp311-cp311-macosx_11_0_arm64.whl (12.1 MB)
Processing /media/wheels/rich-15.0.0-py3-none-any.whl (from getstep-server==0.1.0)
Installing collected packages: msgpack, numpy, rich
END
echo "ERROR: No matching distribution found for trio>=99" >&2
exit CODE
"""


def made(venv: Path, code: int) -> subprocess.CompletedProcess[str]:
    """Make ``venv``'s stamp with a pip that ends with ``code``."""
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(PIP.replace("CODE", str(code)))
    python.chmod(0o755)
    command = ["make", f"VENV={venv}", str(venv / "installed")]
    # A make that runs the tests hands its flags and its depth down, and a make below another says where it is.
    outside = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    }
    return subprocess.run(
        command, cwd=ROOT, env=outside, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )


def test_each_package_is_a_line(tmp_path: Path) -> None:
    ran = made(tmp_path / "venv", 0)
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[1:] == [
        "  reading sdk/pyproject.toml",
        "  msgpack 1.2.4, 480 kB",
        "  numpy 2.4.6, downloaded before",
        "  rich 15.0.0",
        "  unpacking",
    ]
    assert (tmp_path / "venv" / "installed").exists()


def test_a_pip_that_fails_says_why_and_leaves_no_stamp(tmp_path: Path) -> None:
    made(tmp_path / "venv", 0)
    (tmp_path / "venv" / "installed").unlink()
    ran = made(tmp_path / "venv", 1)
    assert ran.returncode == 2
    assert "No matching distribution found for trio>=99" in ran.stderr
    assert not (tmp_path / "venv" / "installed").exists()
