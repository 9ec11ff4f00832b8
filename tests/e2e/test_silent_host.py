"""A host whose computer is lost while an answer is on its way: the SDKs that cannot limit that try the computer."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from getstep.wire import Step
from tests.support.fake_server import TEAM, TOKEN, FakeServer, Session, ask, start
from tests.support.languages import of_sdk
from tests.support.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.support.processes import Programs

FULL_SECONDS = 0.5
"""After this time a connection to this machine is not accepted any more."""


class LostHost(FakeServer):
    """It hears one answer. From then on no connection to it is made, as if its computer were gone."""

    def __init__(self) -> None:
        super().__init__(self._lose)

    def _lose(self, session: Session) -> None:
        session.let_in(start(), ask(31))
        assert isinstance(session.hear(), Step)
        with ExitStack() as waiting:
            while self._accepts(waiting):
                pass
            assert session.sock.recv(1) == b""  # the bot has given it up

    def _accepts(self, waiting: ExitStack) -> bool:
        """Connect once more; return False when the queue of the listener is full, so the system ignores others."""
        sock = waiting.enter_context(socket.socket())
        sock.settimeout(FULL_SECONDS)
        try:
            sock.connect(("127.0.0.1", self.port))
        except TimeoutError:
            return False
        sock.settimeout(PATIENCE_SECONDS)
        return True


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses connections")
def test_the_other_languages_notice_a_host_that_is_lost_after_an_answer(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", "none")
    commands = [of_sdk(name, "conformance_bot") for name in ("csharp", "java", "javascript")]
    with ExitStack() as stack:
        bots = []
        for command in commands:
            host = stack.enter_context(LostHost())
            where = ("--host", "127.0.0.1", "--port", str(host.port), "--team", str(TEAM), "--token", TOKEN)
            bots.append(programs.start(*command, *where))
        for bot in bots:
            bot.expect("the host's computer does not answer")
