"""A server under attack, with limits that a test can wait for."""

from __future__ import annotations

from typing import Any

from getstep_conformance.attack import (
    Address,
    CaseRunner,
    Credential,
    Times,
)
from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Running

QUICK = Times(login=6.0, frame=2.0, refusal=0.2, grace=PATIENCE_SECONDS, prompt=PATIENCE_SECONDS)
TARGET: dict[str, Any] = {"server": {"classic_port": 0}, "start": {"absent_seconds": 3600}}


def runner_at(server: Running, times: Times = QUICK) -> CaseRunner:
    teams = [Credential(team, token_of(team)) for team in server.contest.teams]
    classic_port = None if server.classic_port is None else Address("127.0.0.1", server.classic_port)
    return CaseRunner(Address("127.0.0.1", server.port), teams, classic_port, times)
