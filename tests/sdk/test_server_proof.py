"""The client's reactions to a server that proves that it knows the token, does not, or proves it wrongly.

docs/proofs.md, "Trust", says what a client should do; a fake server here tries the means of an attacker on the LAN.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from getstep import Refused, Result
from getstep.client.client import NOT_PROVED, Client
from getstep.client.connection import EARLIER_HOST, NOT_LOCATED, WRONG_FENCE
from getstep.client.settings import Address, Login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import CLOSED, Goodbye, Join, Step, Welcome, prove_fence, prove_server
from tests.support.fake_server import (
    HOP,
    OVER,
    TEAM,
    TOKEN,
    FakeServer,
    Script,
    Session,
    ask,
    end,
    no_proof,
    right_proof,
    start,
    wrong_proof,
)

WIRE_MOVE = [[0, 2], [0, 1]]
A_DAY_MS = 24 * 3600 * 1000


def play(server: FakeServer) -> list[Result]:
    callback = Callback(lambda board, is_black: [(0, 2), (0, 1)])
    address = Address("127.0.0.1", server.port)
    return Client(callback, address, Login(TEAM, TOKEN), Console(), sleep=server.pause).run()


def goodbye(reason: str = "shutting_down", retry_ms: int | None = None) -> Goodbye:
    return Goodbye(reason=reason, detail="So it is.", retry_ms=retry_ms)


def says(*messages: Goodbye, proof: Callable[[Session], str | None] | None = None) -> Script:
    """Accept the login, then say that."""

    def script(session: Session) -> None:
        session.let_in(*messages, proof=proof)
        if messages:
            assert session.hear() is CLOSED

    return script


def refuses(reason: str, retry_ms: int | None = None) -> Script:
    """Say goodbye instead of welcome."""

    def script(session: Session) -> None:
        session.greet()
        session.say(goodbye(reason, retry_ms))

    return script


only_over = says(OVER)
closes = says(proof=no_proof)


# --- the proof -------------------------------------------------------------------------------------------


def test_each_connection_asks_with_a_nonce_of_its_own() -> None:
    nonces = []

    def noted(*messages: Goodbye) -> Script:
        def script(session: Session) -> None:
            session.let_in(*messages)
            assert session.join is not None
            nonces.append(session.join.nonce)

        return script

    with FakeServer(noted(), noted(), noted(OVER)) as server:
        play(server)
    assert len(set(nonces)) == 3
    assert all(nonce is not None and re.fullmatch("[0-9a-f]{32}", nonce) for nonce in nonces)


def test_a_server_that_proves_itself_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    day, at_once = goodbye(retry_ms=A_DAY_MS), goodbye(retry_ms=0)
    with FakeServer(says(day), says(at_once), says(OVER)) as server:
        assert play(server) == []
    assert server.pauses[0] >= A_DAY_MS / 1000
    assert server.pauses[1] == 0
    assert len(server.pauses) == 2
    assert "proved" not in "".join(capsys.readouterr())


def plays_a_match(session: Session) -> None:
    session.let_in(start(), ask(31), proof=no_proof)
    assert session.hear() == Step(id=31, move=WIRE_MOVE)
    session.say(end())


def test_a_bot_plays_on_an_older_server_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(plays_a_match, closes, only_over) as server:
        [result] = play(server)
    assert (result.result, result.moves) == ("loss", 1)
    problems = capsys.readouterr().err
    assert problems.count(NOT_PROVED) == 1
    assert problems.startswith(f"Careful: {NOT_PROVED}. ")


def test_a_wrong_proof_ends_the_connection_and_nothing_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    """The client hears neither a question nor the end of the contest from such a server, and does not spin."""

    def false_server(session: Session) -> None:
        session.let_in(start(), ask(31), OVER, proof=wrong_proof)
        assert session.hear() is CLOSED  # without an answer

    with FakeServer(*[false_server] * 8, only_over) as server:
        assert play(server) == []
    expected = [0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert all(0.9 * most <= pause <= most for pause, most in zip(server.pauses, expected, strict=True))
    problems = capsys.readouterr().err
    assert problems.count("proof that it knows your token is wrong") == 1
    assert "No connection to" in problems


def test_a_server_that_no_longer_proves_itself_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """Once proved, an older server cannot be behind that address: a match that it starts is not the contest's."""

    def false_server(session: Session) -> None:
        session.let_in(start(), ask(31), proof=no_proof)
        assert session.hear() is CLOSED

    with FakeServer(says(), false_server, false_server, only_over) as server:
        assert play(server) == []
    assert len(server.pauses) == 3
    assert capsys.readouterr().err.count(f"{NOT_PROVED}, as it did before") == 1


def older(*messages: Goodbye) -> Script:
    """Let the client in like a server that does not check the dialled address."""
    return lambda session: session.let_in(*messages, dialled=None)


def test_a_server_that_does_not_check_the_address_is_obeyed_where_the_user_has_typed_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FakeServer(older(), older(OVER)) as server:
        assert play(server) == []
    assert "prove" not in capsys.readouterr().err


def test_a_server_that_no_longer_checks_the_address_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """A relay can remove the key from `hello`, and nothing else: the client signs nothing for it then."""

    def relay(session: Session) -> None:
        assert session.greet(dialled=None) is CLOSED

    with FakeServer(says(), relay, relay, only_over) as server:
        assert play(server) == []
    assert capsys.readouterr().err.count(NOT_LOCATED) == 1


def test_the_proof_of_another_address_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    def elsewhere(session: Session) -> str:
        assert session.join is not None
        assert session.join.nonce is not None
        return prove_server(TOKEN, session.nonce, session.join.nonce, "192.0.2.66:7777")

    def without(session: Session) -> str:
        assert session.join is not None
        assert session.join.nonce is not None
        return prove_server(TOKEN, session.nonce, session.join.nonce)

    with FakeServer(says(proof=elsewhere), says(proof=without), only_over) as server:
        assert play(server) == []
    assert capsys.readouterr().err.count("proof that it knows your token is wrong") == 1


def test_a_typed_address_that_is_not_the_servers_ends_the_bot_with_the_servers_reason() -> None:
    with FakeServer(refuses("wrong_address")) as server, pytest.raises(Refused, match="wrong_address"):
        play(server)


# --- what a server without proof says --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry_ms", "shortest", "longest"),
    [(A_DAY_MS, 60, 60), (60_000, 60, 60), (0, 1, 1.1), (999, 1, 1.1), (2000, 2, 2.2)],
)
@pytest.mark.parametrize("when", ["before welcome", "after welcome"])
def test_a_pause_is_between_a_second_and_a_minute(
    retry_ms: int, shortest: float, longest: float, when: str
) -> None:
    spoken = goodbye(retry_ms=retry_ms)
    script = says(spoken, proof=no_proof) if when == "after welcome" else refuses("shutting_down", retry_ms)
    with FakeServer(*[script] * 5, only_over) as server:
        assert play(server) == []
    assert len(server.pauses) == 5
    assert all(shortest <= pause <= longest for pause in server.pauses)


@pytest.mark.parametrize(
    "script",
    [says(OVER, proof=no_proof), refuses("contest_over"), says(goodbye("season_over"), proof=no_proof)],
    ids=["after welcome", "before welcome", "an unknown code"],
)
def test_the_end_of_the_contest_is_not_believed(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(script, script, plays_on, only_over) as server:
        [result] = play(server)
    assert result.moves == 1
    assert all(1 <= pause <= 5 for pause in server.pauses[:2])
    assert capsys.readouterr().err.count("has not proved that it is your host") == 1


def plays_on(session: Session) -> None:
    session.let_in(start(), ask(31))
    assert session.hear() == Step(id=31, move=WIRE_MOVE)
    session.say(end())


def test_connections_of_a_server_without_proof_are_bounded() -> None:
    """It accepts the login and closes: no pause becomes short again, so it gets one connection every 5 s."""
    with FakeServer(*[closes] * 20, only_over) as server:
        play(server)
    assert all(pause >= 0.9 * 5 for pause in server.pauses[5:])
    assert len(server.pauses) == 20


def test_a_steady_connection_makes_the_pause_short_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """So an older server whose network is unreliable is found again quickly."""
    monkeypatch.setattr("getstep.client.client.STEADY_SECONDS", 0.0)
    with FakeServer(*[closes] * 5, only_over) as server:
        play(server)
    assert all(pause <= 0.2 for pause in server.pauses)
    assert len(server.pauses) == 5


# --- refused without proof -------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["bad_token", "unknown_team", "unsupported_version", "bad_field"])
def test_a_first_login_that_is_refused_ends_the_bot(reason: str) -> None:
    """Nobody can prove anything with a wrong token; and somebody is there to read why the bot stops."""
    with FakeServer(refuses(reason)) as server, pytest.raises(Refused) as caught:
        play(server)
    assert caught.value.reason == reason
    assert server.pauses == []


def test_replaced_by_an_older_server_ends_the_bot() -> None:
    """Two copies of a bot that both came back would take the seat from each other for ever."""
    with FakeServer(says(goodbye("replaced"), proof=no_proof)) as server, pytest.raises(Refused) as caught:
        play(server)
    assert caught.value.reason == "replaced"


@pytest.mark.parametrize("reason", ["bad_token", "unknown_team", "unsupported_version", "contest_over", "later"])
def test_a_bot_that_was_logged_in_does_not_stop_without_proof(reason: str) -> None:
    """Its token was right a moment ago: a server that refuses it now may not be the host."""
    with FakeServer(says(), refuses(reason), refuses(reason), only_over) as server:
        assert play(server) == []
    assert len(server.pauses) == 3
    assert all(pause >= 1 for pause in server.pauses[1:])


def test_another_version_does_not_end_a_bot_that_was_logged_in(capsys: pytest.CaptureFixture[str]) -> None:
    def other(session: Session) -> Any:
        assert session.greet(versions=[2]) is CLOSED

    with FakeServer(says(), other, only_over) as server:
        assert play(server) == []
    assert "The server speaks version 2 of the protocol" in capsys.readouterr().err


# --- fencing numbers ------------------------------------------------------------------------------------------


def with_fence(number: int, *messages: Goodbye, proof: str = "") -> Script:
    """Accept the login of a client with a fencing number, then say that; keep what the client had in `join`."""

    def script(session: Session) -> None:
        assert isinstance(session.greet(), Join)
        join = session.join
        assert join is not None
        assert join.nonce is not None
        seen.append((join.fence, join.fence_certificate))
        certificate = f"{number:064x}"
        right = prove_fence(TOKEN, session.nonce, join.nonce, number, certificate)
        welcome = Welcome(TEAM, "The Hoppers", 100, [HOP], right_proof(session))
        if number:
            welcome = replace(welcome, fence=number, fence_certificate=certificate, fence_proof=proof or right)
        session.say(welcome, *messages)
        if messages:
            assert session.hear() is CLOSED

    return script


seen: list[tuple[int | None, str | None]] = []
"""The number and the certificate in each `join`."""


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_host_from_which_another_has_taken_over_is_refused(
    earlier: int, capsys: pytest.CaptureFixture[str]
) -> None:
    seen.clear()
    over = goodbye("contest_over")
    scripts = [with_fence(2, goodbye(retry_ms=0)), with_fence(earlier), with_fence(3, over)]
    with FakeServer(*scripts) as server:
        play(server)
    assert seen == [(None, None), (2, f"{2:064x}"), (2, f"{2:064x}")]
    assert EARLIER_HOST in capsys.readouterr().err


def test_a_wrong_proof_of_a_fencing_number_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    seen.clear()
    with FakeServer(with_fence(9, proof="0" * 64), with_fence(1, goodbye("contest_over"))) as server:
        play(server)
    assert seen == [(None, None), (None, None)]
    assert WRONG_FENCE in capsys.readouterr().err
