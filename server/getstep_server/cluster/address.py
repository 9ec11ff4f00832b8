"""The value of ``--dask``: where the workers are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from getstep_server.errors import UsageError

MAX_LOCAL_WORKERS = 256
"""The workers of ``local:N``: more than any machine has cores."""

MAX_JOBS = 1000
"""The jobs of SLURM: the scheduler was measured with 500 workers."""


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
        UsageError: the text is not an address, or its file is missing or wrong.
    """
    if re.fullmatch(r"(tcp|tls|ws|wss|ucx)://\S+:\d{1,5}", text):
        return ClusterAddress("scheduler", text)
    if local := re.fullmatch(r"local:(\d{1,4})", text):
        if not 1 <= int(local[1]) <= MAX_LOCAL_WORKERS:
            raise UsageError(f"--dask {text!r}, expected local:1 to local:{MAX_LOCAL_WORKERS}")
        return ClusterAddress("local", local[1])
    if Path(text).suffix in (".yaml", ".yml"):
        try:
            slurm_settings(Path(text))
        except ValueError as error:
            raise UsageError(f"--dask {text!r}: {error}") from error
        return ClusterAddress("slurm", str(Path(text).resolve()))
    raise UsageError(
        f"--dask {text!r}, expected tcp://HOST:PORT, local:N, or a file for SLURM that ends with .yaml"
    )


def slurm_settings(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the number of jobs, and the arguments of `SLURMCluster`, which checks them itself.

    Raises:
        ValueError: the file cannot be read, or asks for what is not possible here; always with what is expected.
    """
    import yaml  # it comes with Dask, which a host without a cluster need not have

    try:
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(error.strerror) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise ValueError("expected arguments of dask_jobqueue.SLURMCluster, such as 'cores: 4', each on a line")
    jobs = settings.pop("jobs", 1)
    if type(jobs) is not int or not 1 <= jobs <= MAX_JOBS:
        raise ValueError(f"jobs: {jobs!r}, expected 1 to {MAX_JOBS}")
    # Dask finds the job of a lost worker by its name, which is also the worker's only if it is the only one.
    if settings.setdefault("processes", 1) != 1:
        raise ValueError("processes: expected 1; a worker plays as many matches at once as it has cores")
    return jobs, settings
