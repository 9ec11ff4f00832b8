"""SLURM on this machine for tests: its daemons in a folder, on loopback ports, ended with the test."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.interrupted_contest import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=lab Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""

needs_slurm = pytest.mark.skipif(
    not os.environ.get("GETSTEP_REQUIRE_BROWSER") and not (shutil.which("slurmctld") and shutil.which("munged")),
    reason="there is no SLURM here: apt install slurmctld slurmd slurm-client munge",
)


class Slurm:
    """A cluster of one node with the partition ``lab``, as a context manager.

    ``environment`` has the variable that its commands need. The folder is not pytest's: the path of a socket may
    have 107 bytes.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="getstep-slurm-"))
        self._daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {"SLURM_CONF": str(self._folder / "slurm.conf")}

    def __enter__(self) -> Slurm:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()
            daemon.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        (self._folder / "munge.key").write_bytes(os.urandom(128))
        (self._folder / "munge.key").chmod(0o400)
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            ports = {"controller": one.getsockname()[1], "daemon": other.getsockname()[1]}
        host, user = socket.gethostname().partition(".")[0], pwd.getpwuid(os.geteuid()).pw_name
        conf = _CONF.format(folder=self._folder, host=host, user=user, **ports)
        Path(self.environment["SLURM_CONF"]).write_text(conf)
        names = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        files = [f"--{option}={self._folder}/munge.{ending}" for option, ending in names.items()]
        self._spawn(["munged", "--foreground", "--force", *files])
        wait_until(lambda: (self._folder / "munge.socket").exists())
        self._spawn(["slurmctld", "-D"])
        self._spawn(["slurmd", "-D"])
        wait_until(lambda: self.run("sinfo", "--noheader", "--format=%T") == "idle")

    def _spawn(self, command: Sequence[str]) -> None:
        path = f"{os.environ['PATH']}:/usr/sbin"  # where Debian has the daemons; a user's path may lack it
        self._daemons.append(
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | self.environment | {"PATH": path},
            )
        )

    def run(self, *command: str) -> str:
        """Return the output of one of SLURM's commands; empty if it fails."""
        done = subprocess.run(command, env=os.environ | self.environment, capture_output=True, check=False)
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def jobs(self) -> set[int]:
        """Return the numbers of the jobs that wait or run."""
        return {int(line) for line in self.run("squeue", "--noheader", "--format=%i").split()}
