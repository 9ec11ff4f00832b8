"""A client in another language, written from protocol.md alone by somebody who had not seen the code, plays on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.contests import MakeContest, token_of
from tests.support.processes import Program, Programs, Server

CLIENT = Path(__file__).with_name("foreign_client.mjs")
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def foreign(programs: Programs, server: Server, team: int, *options: str) -> Program:
    where = ["--host", "127.0.0.1", "--port", str(server.port)]
    who = ["--team", str(team), "--token", token_of(team)]
    return programs.start(str(NODE), str(CLIENT), *where, *who, *options)


def test_it_plays_a_contest_to_its_end(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve(make_contest())
    clients = [foreign(programs, server, team) for team in (1, 2)]
    assert server.wait() == 0
    assert [client.wait() for client in clients] == [0, 0]
    server.expect(r"^\[2/2\] ")
    assert server.complaints == []


def test_it_reconnects_during_a_match(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve(make_contest())
    clients = [foreign(programs, server, 1, "--drop-after", "5"), foreign(programs, server, 2, "--drop-open", "3")]
    assert server.wait() == 0
    assert [client.wait() for client in clients] == [0, 0]
    server.expect(r"^\+ Team 1 reconnected ")
    server.expect(r"^\+ Team 2 reconnected ")
    assert server.complaints == []


def test_it_understands_a_refusal(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve(make_contest())
    where = ["--host", "127.0.0.1", "--port", str(server.port)]
    client = programs.start(str(NODE), str(CLIENT), *where, "--team", "1", "--token", "wrong-token")
    assert client.wait() == 1
    client.expect("bad_token")
