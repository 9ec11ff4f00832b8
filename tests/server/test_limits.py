"""limits.py against protocol.md, and the doorkeeper's limits against a clock that jumps."""

from __future__ import annotations

from itertools import count

import trio

from getstep.wire import MAX_TEAM
from getstep_server import limits, session
from getstep_server.doorkeeper import Doorkeeper
from tests.sdk.conversations import rows

NOTICED_BY_CLIENTS = {
    "seconds from connecting to a complete `join`": limits.LOGIN_SECONDS,
    "seconds from a frame's first byte to its last": limits.FRAME_SECONDS,
    "seconds the server waits for the client to close after `goodbye`": limits.LINGER_SECONDS,
    f"valid logins of one team in {limits.LOGIN_WINDOW_SECONDS:g} seconds": limits.LOGINS_PER_WINDOW,
    "connections from one address": limits.MAX_CONNECTIONS_PER_ADDRESS,
    "connections in all": limits.MAX_CONNECTIONS,
}


def test_the_limits_that_clients_notice_are_protocol_md_s() -> None:
    table = dict(rows("## Limits"))
    assert {limit: float(table[limit]) for limit in NOTICED_BY_CLIENTS} == NOTICED_BY_CLIENTS


def test_the_pauses_before_a_retry_are_protocol_md_s() -> None:
    pauses = {code.strip("`"): retry for code, _, retry, _ in rows("### Goodbye codes")}
    assert pauses["too_many_logins"] == pauses["too_many_connections"] == f"{session.FULL_RETRY_MS:,}"
    assert pauses["shutting_down"] == f"{session.SHUTDOWN_RETRY_MS:,}"
    assert pauses["login_timeout"] == f"{session.HOSTILE_RETRY_MS:,}"
    assert pauses["a hostile code"] == f"{session.HOSTILE_RETRY_MS:,}; nil before the login"


async def test_wrong_logins_wait_longer_each_time_and_not_for_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    doorkeeper = Doorkeeper()
    delays = [doorkeeper.wrong_login("10.0.0.1") for _ in range(9)]
    assert delays == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert doorkeeper.wrong_login("10.0.0.2") == 0.0
    await trio.sleep(60)
    assert doorkeeper.wrong_login("10.0.0.1") == 8.0
    await trio.sleep(61)
    assert doorkeeper.wrong_login("10.0.0.1") == 0.0


async def test_wrong_logins_are_remembered_of_so_many_addresses_and_no_more() -> None:
    doorkeeper = Doorkeeper()
    for number in range(4096 + 10):
        doorkeeper.wrong_login(f"address {number}")
    assert len(doorkeeper._wrong) == 4096
    assert doorkeeper.wrong_login("address 4105") > 0
    assert doorkeeper.wrong_login("address 0") == 0.0  # the oldest are forgotten first


async def test_a_team_may_log_in_so_often_in_so_long(autojump_clock: trio.testing.MockClock) -> None:
    doorkeeper = Doorkeeper()
    allowed = sum(doorkeeper.may_login(7) for _ in range(100))
    assert allowed == 20
    assert doorkeeper.may_login(MAX_TEAM)
    await trio.sleep(9.9)
    assert not doorkeeper.may_login(7)
    await trio.sleep(0.2)
    assert next(n for n in count() if not doorkeeper.may_login(7)) == 20
