"""Login limits on a mock clock: the delay of each refusal, and the bounded memory."""

from __future__ import annotations

from itertools import count

import trio
from trio.testing import MockClock

from getstep.wire import MAX_TEAM
from getstep_server.login_limits import LoginLimiter, Quota, Rate


async def test_wrong_logins_wait_longer_each_time_and_not_for_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    login_limiter = LoginLimiter()
    delays = [login_limiter.record_failure("10.0.0.1") for _ in range(9)]
    assert delays == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert login_limiter.record_failure("10.0.0.2") == 0.0
    await trio.sleep(60)
    assert login_limiter.record_failure("10.0.0.1") == 8.0
    await trio.sleep(61)
    assert login_limiter.record_failure("10.0.0.1") == 0.0


async def test_wrong_logins_are_remembered_of_so_many_addresses_and_no_more() -> None:
    login_limiter = LoginLimiter()
    for number in range(4096 + 10):
        login_limiter.record_failure(f"address {number}")
    assert len(login_limiter._failures) == 4096
    assert login_limiter.record_failure("address 4105") > 0
    assert login_limiter.record_failure("address 0") == 0.0  # the oldest are forgotten first


async def test_a_team_may_log_in_so_often_in_so_long(autojump_clock: trio.testing.MockClock) -> None:
    login_limiter = LoginLimiter()
    allowed = sum(login_limiter.allow_login(7) for _ in range(100))
    assert allowed == 20
    assert login_limiter.allow_login(MAX_TEAM)
    await trio.sleep(9.9)
    assert not login_limiter.allow_login(7)
    await trio.sleep(0.2)
    assert next(n for n in count() if not login_limiter.allow_login(7)) == 20


async def test_a_team_may_log_in_so_often_for_each_of_its_seats(autojump_clock: trio.testing.MockClock) -> None:
    login_limiter = LoginLimiter()
    assert sum(login_limiter.allow_login(7, seats=16) for _ in range(1000)) == 320


async def test_what_many_do_is_counted_in_a_bounded_memory(mock_clock: MockClock) -> None:
    quota, rate = Quota(1, 10.0), Rate(1.0, 1)
    for number in range(4097):
        quota.count(number)
        assert rate.take(number) == 0.0
    assert (quota.seconds_left(0), quota.seconds_left(1)) == (0.0, 10.0)  # the oldest is forgotten
    assert (rate.take(4096), rate.take(0)) == (1.0, 0.0)
    mock_clock.jump(4.0)
    assert quota.seconds_left(4096) == 6.0
    assert (rate.take(4096), rate.take(4096)) == (0.0, 1.0)  # no more than a burst is saved
