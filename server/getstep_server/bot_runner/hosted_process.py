"""The process that plays with one hosted program in one match: an ordinary client of the server, on loopback.

Its job is a line of JSON on its standard input: see `HostedJob`. It starts the program, waits until it is ready,
logs in, and answers questions. It does not reconnect: the server and this process are on one machine, and if one of
them fails the match is played again.

It sends nothing for a program that had to be ended: whether the limit is missed is for the judge's clock to say.

It ends, and the program with it, when its standard input ends or the connection does. So neither outlives the
server, however that one dies. The program itself is in the sandbox; this process is not.

This module imports no trio: a process is started for each program and match, and the import takes 50 ms.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, field

import msgspec

from getstep.client.connection import ServerConnection, connect, log_in, read_hello
from getstep.client.match import Match
from getstep.client.settings import Address, Login
from getstep.turn import answer_to
from getstep.wire import GetStep, Goodbye, Start
from getstep_server.children.parent import until_parent_ends
from getstep_server.programs.playing import ProgramJob, ProgramSession


@dataclass(frozen=True)
class HostedJob:
    """The job of the process of a hosted program.

    ``token`` is that of its one login, and on no disk. ``first`` is True for the first player of the match.
    """

    program: ProgramJob
    team: int
    token: str = field(repr=False)
    host: str
    port: int
    match: int
    first: bool
    startup_seconds: float

    def as_json(self) -> bytes:
        return msgspec.json.encode(self, enc_hook=str) + b"\n"

    @staticmethod
    def from_json(line: bytes) -> HostedJob:
        return msgspec.json.decode(line, type=HostedJob, dec_hook=lambda kind, text: kind(text))


def main() -> int:
    """Play one match; return 0 unless the host's side has failed."""
    # on standard input: other users can read a command line, and the job has a token
    job = HostedJob.from_json(sys.stdin.buffer.readline())
    with ProgramSession(job.program, job.match, 0 if job.first else 1) as session:
        # a daemon: else the process would not end after its match
        threading.Thread(target=_end_with_the_server, args=(session,), daemon=True).start()
        session.prepare(job.startup_seconds)
        with connect(Address(job.host, job.port)) as connection:
            _play(connection, Login(job.team, job.token), session)
    return 0


def _end_with_the_server(session: ProgramSession) -> None:
    """End the program and this process when standard input ends: the match is over, or the server has died."""
    until_parent_ends()
    try:
        session.close()
    finally:
        os._exit(0)  # the main thread may wait for the program


def _play(connection: ServerConnection, login: Login, session: ProgramSession) -> None:
    """Answer questions until the server ends the conversation.

    Raises:
        OSError, RemoteProtocolError: the connection has ended without a goodbye.
    """
    hello = read_hello(connection)
    if isinstance(hello, Goodbye):
        return
    answer = log_in(connection, hello, login)
    if isinstance(answer, Goodbye):
        raise ConnectionRefusedError(f"the server refuses the login: {answer.reason}: {answer.detail}")
    match: Match | None = None
    while True:
        for message in connection.wait_for_messages():
            if isinstance(message, Goodbye):
                return
            if isinstance(message, Start):
                match = Match(message)
            elif isinstance(message, GetStep) and match is not None and connection.open_question == message.id:
                call = session.call(message.board, message.is_black, match.turn(message))
                if session.silent:  # an answer from here would have the judge believe that the program is alive
                    continue
                # with its output: its team does not see this machine
                connection.send(answer_to(message.id, call, output=True))


if __name__ == "__main__":
    sys.exit(main())
