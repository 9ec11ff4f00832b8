"""The client when a connection ends or is refused."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Any

import pytest

from getstep import Refused, Turn, Unreachable
from getstep._errors import NotProved
from getstep.client.client import Client
from getstep.client.connection import EARLIER_HOST, NOT_LOCATED, is_gone
from getstep.client.settings import Address, Login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import CLOSED, Goodbye, Hello, Step
from tests.support.fake_server import (
    ENDINGS,
    MOVE,
    OVER,
    TEAM,
    TOKEN,
    WIRE_MOVE,
    FakeServer,
    Session,
    SlowBot,
    _goes,
    _resets,
    always,
    ask,
    end,
    one_question,
    only_over,
    play,
    start,
    until_closed,
)

# --- connections that end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_match_is_resumed_after_a_lost_connection(
    ending: Callable[[Session], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def first(session: Session) -> None:
        session.let_in(start(), ask(31))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        ending(session)

    def second(session: Session) -> None:
        session.let_in(start(resumed=True), ask(32))
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(first, second) as server:
        [result] = play(always, server)
    assert result.moves == 2
    assert len(server.pauses) == 1
    out, problems = capsys.readouterr()
    assert len(problems.splitlines()) == 1
    assert "Reconnected.\nMatch 12 continues.\n" in out


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_first_connection_that_fails_is_tried_again(
    ending: Callable[[Session], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(ending, ending, one_question) as server:
        assert len(play(always, server)) == 1
    assert len(server.pauses) == 2
    # A reset may also be seen while connecting, and is another trouble then.
    assert len(capsys.readouterr().err.splitlines()) in ((1, 2) if ending is _resets else (1,))


def test_the_latest_10000_results_are_kept() -> None:
    """A ladder goes on for months, and a false server may end a match in no time."""
    client = Client(Callback(always), Address("127.0.0.1", 7777), Login(TEAM, TOKEN), Console(quiet=True))
    for match in range(1, 10_003):
        client._handle([start(match), end(match)])
    client._welcomed = True
    results = client._end_run(OVER)
    assert [results[0].match, results[-1].match, len(results)] == [3, 10_002, 10_000]


def test_different_problems_do_not_fill_the_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """A false server may say another goodbye each time. Each is reported, and few are kept."""
    client = Client(Callback(always), Address("127.0.0.1", 7777), Login(TEAM, TOKEN), Console())
    for number in range(250):
        for _ in range(2):
            client._warn_once(f"problem {number}")
    assert capsys.readouterr().err.splitlines() == [f"problem {number}" for number in range(250)]
    assert len(client._warned) <= 100


def friendly_client(server: FakeServer, *, friendly: bool = True) -> Client:
    address, login = Address("127.0.0.1", server.port), Login(TEAM, TOKEN)
    return Client(Callback(always), address, login, Console(), sleep=server.pause, friendly=friendly)


def test_a_friendly_match_says_so_and_ends_with_its_connection(capsys: pytest.CaptureFixture[str]) -> None:
    def first(session: Session) -> None:
        session.let_in(start(1, friendly=True), ask(31), friendly=True)
        assert isinstance(session.hear(), Step)

    def second(session: Session) -> None:
        session.let_in(start(1, friendly=True), ask(31), friendly=True)
        assert isinstance(session.hear(), Step)
        session.say(end(1), OVER)
        assert session.hear() is CLOSED

    with FakeServer(first, second) as server:
        assert len(friendly_client(server).run()) == 1
    out = capsys.readouterr().out
    assert "Your seat in the contest is not touched." in out
    assert out.count("Friendly match 1: hop against") == 2
    assert out.count(". It counts nowhere\n") == 2


@pytest.mark.parametrize("friendly", [True, False])
def test_a_client_does_not_log_in_to_the_other_port(friendly: bool) -> None:
    """A friendly bot on the port of the contest would take the seat of the bot that plays there."""

    def other(session: Session) -> None:
        assert session.greet(**({} if friendly else {"friendly": True})) is CLOSED

    with FakeServer(other) as server, pytest.raises(Refused, match="friendly matches") as raised:
        friendly_client(server, friendly=friendly).run()
    assert raised.value.reason == "wrong_port"


def test_a_server_that_has_proved_itself_and_changes_its_kind_is_asked_again() -> None:
    def other(session: Session) -> None:
        assert session.greet() is CLOSED

    with FakeServer(lambda s: s.let_in(friendly=True), other, lambda s: s.let_in(OVER, friendly=True)) as server:
        friendly_client(server).run()


def test_a_silent_server_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("getstep.client.connection.HELLO_SECONDS", 0.05)
    with FakeServer(until_closed, one_question) as server:
        assert len(play(always, server)) == 1
    assert "no getstep server: it sends nothing; the port may be wrong" in capsys.readouterr().err


def test_a_bot_may_be_started_before_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(one_question, opens_at_pause=8) as server:
        assert len(play(always, server)) == 1
    expected = [0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert all(0.9 * most <= pause <= most for pause, most in zip(server.pauses, expected, strict=True))
    assert capsys.readouterr().err == (
        f"No connection to 127.0.0.1:{server.port}: nothing listens there; the server is not running yet, "
        "or the port is wrong. Trying again until it works; Ctrl-C stops the bot.\n"
    )


def test_a_welcome_makes_the_pauses_short_again() -> None:
    with FakeServer(_goes, _goes, _goes, lambda s: s.let_in(), _goes, only_over) as server:
        play(always, server)
    assert all(
        0.9 * most <= pause <= most for pause, most in zip(server.pauses, [0.2, 0.4, 0.8, 0.2, 0.4], strict=True)
    )


def test_each_outage_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda s: s.let_in(), _goes, _goes, lambda s: s.let_in(), _goes, _goes, only_over) as server:
        play(always, server)
    problems = capsys.readouterr().err.splitlines()
    assert [line.split(" ")[:2] for line in problems] == [["Connection", "lost:"], ["No", "connection"]] * 2


def test_goodbye_says_when_to_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    def stop(session: Session) -> None:
        session.let_in(Goodbye(reason="shutting_down", detail="The host stopped the server.", retry_ms=2000))
        assert session.hear() is CLOSED

    with FakeServer(stop, only_over) as server:
        play(always, server)
    assert len(server.pauses) == 1
    assert 2.0 <= server.pauses[0] <= 2.2
    assert capsys.readouterr().err == "shutting_down: The host stopped the server. Connecting again.\n"


def test_an_unsent_answer_is_kept_for_the_same_question(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def lost(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))

    def repeats(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31, time_left_ms=3000))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lost, repeats) as server:
        [result] = play(bot, server)
    assert (bot.calls, result.moves) == (1, 1)


def test_another_question_with_the_same_id_calls_get_step_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def lost(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))

    def asks_again(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31, board=[[0, 0, 2]]))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lost, asks_again) as server:
        play(bot, server)
    assert bot.calls == 2


def test_a_match_that_ended_while_away(capsys: pytest.CaptureFixture[str]) -> None:
    def first(session: Session) -> None:
        session.let_in(start())

    def second(session: Session) -> None:
        session.let_in(start(match=13), end(match=13, result="void", scores=None), OVER)

    with FakeServer(first, second) as server:
        [result] = play(always, server)
    assert (result.match, result.result, result.scores) == (13, "void", None)
    out, problems = capsys.readouterr()
    assert "Match 12 ended while this bot was not connected; ask the host how." in problems
    assert "Match 13: void (finished):" in out


def test_a_match_that_another_run_of_the_bot_began(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(start(resumed=True), end(), OVER)

    with FakeServer(script) as server:
        assert len(play(always, server)) == 1
    assert "Match 12 continues: hop against Grashüpfer" in capsys.readouterr().out


def test_an_increment_is_printed_and_given_to_get_step(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []

    def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
        told.append(turn.increment_ms)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(time_kind="budget", time_ms=60_000, increment_ms=500), ask(31))
        assert isinstance(session.hear(), Step)
        session.say(end(), start(13), ask(32))
        assert isinstance(session.hear(), Step)
        session.say(end(13), OVER)

    with FakeServer(script) as server:
        assert len(play(get_step, server)) == 2
    assert told == [500, 0]
    out = capsys.readouterr().out
    assert (
        "; 60 s for all your moves together and 0.5 s more after each answer, plus 0.1 s for network delay\n" in out
    )
    assert "; 5 s a move, plus 0.1 s for network delay\n" in out


def test_goodbye_right_after_hello() -> None:
    full = Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000)

    def script(session: Session) -> None:
        session.say(Hello(versions=[1], nonce="0" * 32, contest="Autumn", server="fake 1"), full)
        assert session.hear() is CLOSED

    with FakeServer(script, only_over) as server:
        assert play(always, server) == []
    assert len(server.pauses) == 1


def test_nonsense_right_after_hello() -> None:
    def script(session: Session) -> None:
        hello = Hello(versions=[1], nonce="0" * 32, contest="Autumn", server="fake 1")
        session.sock.sendall(session.conversation.send(hello) + b"\0\0\0\0")
        assert until_closed(session) == b""

    with FakeServer(script, only_over) as server:
        play(always, server)
    assert len(server.pauses) == 1


# --- refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("bad_token", "Copy the token again"),
        ("unknown_team", "Ask the host for your team's id"),
        ("unsupported_version", "Update getstep"),
        ("some_new_code", "some_new_code"),
    ],
)
def test_a_refused_login_stops_at_once(reason: str, advice: str) -> None:
    def script(session: Session) -> None:
        session.greet()
        session.say(Goodbye(reason=reason, detail="Not you.", retry_ms=None))

    with FakeServer(script) as server:
        with pytest.raises(Refused, match=advice) as caught:
            play(always, server)
        assert caught.value.reason == reason
        assert "Not you" in str(caught.value)
    assert server.pauses == []


def test_a_server_of_another_version() -> None:
    def script(session: Session) -> None:
        assert session.greet(versions=[2, 3]) is CLOSED

    with FakeServer(script) as server:
        with pytest.raises(Refused, match=r"speaks version 2, 3 .*speaks 1\.\nUpdate getstep") as caught:
            play(always, server)
        assert caught.value.reason == "unsupported_version"


def test_a_server_of_several_versions() -> None:
    def script(session: Session) -> None:
        session.let_in(OVER, versions=[2, 1])
        assert session.join is not None
        assert session.join.version == 1

    with FakeServer(script) as server:
        assert play(always, server) == []


def test_replaced_during_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))
        session.say(Goodbye(reason="replaced", detail="A newer login has the seat.", retry_ms=None))
        assert session.hear() is CLOSED

    with FakeServer(script) as server, pytest.raises(Refused, match="second copy") as caught:
        play(bot, server)
    assert caught.value.reason == "replaced"


def never(seconds: float) -> None:
    raise AssertionError("there is no point in trying again")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300])
def test_a_name_that_does_not_resolve_stops_at_once(host: str) -> None:
    client = Client(Callback(always), Address(host, 7777), Login(TEAM, TOKEN), Console(), sleep=never)
    with pytest.raises(Unreachable, match="No computer is called"):
        client.run()


def test_a_name_that_no_longer_resolves_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, lookups = socket.getaddrinfo, []

    def getaddrinfo(*arguments: Any, **more: Any) -> Any:
        lookups.append(arguments)
        if len(lookups) == 2:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(*arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with FakeServer(lambda session: session.let_in(), only_over) as server:
        play(always, server)
    assert len(server.pauses) == 2
    assert "No computer is called '127.0.0.1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "scale"), [("0.01", 0.01), ("1", 1), ("0", 1), ("2", 1), ("-1", 1), ("nan", 1), ("x", 1), ("", 1)]
)
def test_a_variable_shortens_the_pauses(value: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only within bounds: with 0, a client would connect without a pause."""
    monkeypatch.setenv("GETSTEP_TIME_SCALE", value)
    with FakeServer(_goes, only_over) as server:
        play(always, server)
    (pause,) = server.pauses
    assert 0.17 * scale < pause <= 0.2 * scale


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        (OSError(errno.ETIMEDOUT, ""), True),
        (OSError(errno.EHOSTUNREACH, ""), True),
        (NotProved(EARLIER_HOST), True),
        (NotProved(NOT_LOCATED), False),
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), False),
        (TimeoutError("no answer within 5 s"), False),
    ],
)
def test_a_bot_searches_at_once_if_the_hosts_computer_is_gone(error: Exception, gone: bool) -> None:
    """A server that is started again is at the same address: the search waits for some attempts then."""
    assert is_gone(error) is gone
