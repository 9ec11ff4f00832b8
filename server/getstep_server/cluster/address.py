"""The value of ``--dask``: where the workers are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from getstep_server.errors import UsageError

MAX_LOCAL_WORKERS = 256
"""The workers of ``local:N``: more than any machine has cores."""


@dataclass(frozen=True)
class ClusterAddress:
    """A scheduler that runs already, workers on this machine, or a file with settings of SLURM.

    ``text`` is the address of the scheduler, the number of workers, or the path of the file.
    """

    kind: Literal["scheduler", "local", "slurm"]
    text: str

    def __str__(self) -> str:
        if self.kind == "local":
            return f"{self.text} workers on this machine" if self.text != "1" else "1 worker on this machine"
        return self.text


def cluster_address(text: str) -> ClusterAddress:
    """Return what ``--dask TEXT`` means.

    Raises:
        UsageError: the text is no address, or there is no such file.
    """
    if re.fullmatch(r"(tcp|tls|ws|wss|ucx)://\S+:\d{1,5}", text):
        return ClusterAddress("scheduler", text)
    if local := re.fullmatch(r"local:(\d{1,4})", text):
        if not 1 <= int(local[1]) <= MAX_LOCAL_WORKERS:
            raise UsageError(f"--dask {text!r}, expected local:1 to local:{MAX_LOCAL_WORKERS}")
        return ClusterAddress("local", local[1])
    if Path(text).suffix in (".yaml", ".yml"):
        if not Path(text).is_file():
            raise UsageError(f"--dask {text!r}: there is no such file")
        return ClusterAddress("slurm", str(Path(text).resolve()))
    raise UsageError(
        f"--dask {text!r}, expected tcp://HOST:PORT, local:N, or a file for SLURM that ends with .yaml"
    )
