"""The option ``--dask``: matches between hosted programs on the workers of a cluster."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from getstep_server.cluster.address import cluster_address
from getstep_server.cluster.client import Cluster, ProcessLink
from getstep_server.cluster.venue import ClusterVenue
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.events import Publish
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.runtime.run import MakeCluster
from getstep_server.tournament.tournament import Tournament


def add_dask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dask",
        metavar="WHERE",
        help="play matches between programs on a Dask cluster: tcp://HOST:PORT of its scheduler, local:N for N"
        " workers on this machine, or a file FILE.yaml with the settings of SLURM jobs",
    )


def cluster_maker(where: str | None) -> MakeCluster | None:
    """Return a function that makes the cluster of a run; None without ``--dask``.

    Raises:
        UsageError: the value of ``--dask`` is wrong, or Dask is not installed.
    """
    if where is None:
        return None
    if find_spec("distributed") is None:
        raise UsageError('--dask needs Dask; pip install "getstep-server[dask]"')
    address = cluster_address(where)

    def make(contest: Contest, tournament: Tournament, hosted: HostedPrograms, publish: Publish) -> ClusterVenue:
        sandbox = contest.file.programs.sandbox == "required"
        files = contest.folder / "programs" / ".packed"
        command = [sys.executable, "-m", "getstep_server.cluster.process", address.kind, address.text, str(files)]
        cluster = Cluster(ProcessLink(command, contest.folder / "cluster.log"), files, publish, sandbox=sandbox)
        return ClusterVenue(cluster, contest, tournament, hosted, publish)

    return make
