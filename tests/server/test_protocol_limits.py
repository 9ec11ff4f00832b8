"""protocol.md is normative: what it says of the server's limits, codes and pauses is compared with the server.

The codec's own rows are in tests/sdk/test_protocol_md.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio

import getstep_server
from getstep import referee, wire
from getstep.referee import ABSENT_MISSES, AGREED, STALLED_MISSES, EndCode, FaultCode
from getstep.wire import VERSION, End, GetStep, Goodbye, Penalty, Start, Step
from getstep_conformance.attack import _times
from getstep_engines import GAMES
from getstep_server import limits
from getstep_server.net import connection
from getstep_server.records.reasons import Reason, VoidReason
from getstep_server.runtime import run
from tests.support.contests import make_contest
from tests.support.conversations import PROTOCOL, rows
from tests.support.servers import connected, running, seated

TEXT = PROTOCOL.read_text(encoding="utf-8")
MARKDOWN = " ".join(TEXT.split())
CLASSIC = " ".join(PROTOCOL.with_name("docs").joinpath("classic.md").read_text(encoding="utf-8").split())
HOMES = (Path(getstep_server.__file__).parent, Path(referee.__file__).parent)
SOURCES = "".join(path.read_text(encoding="utf-8") for home in HOMES for path in home.rglob("*.py"))

SERVERS = ("seconds ", "connections ", "valid logins ", "bytes the server ")
LIMITS = {
    "seconds from connecting to a complete `join`": limits.LOGIN_SECONDS,
    "seconds from a frame's first byte to its last": limits.FRAME_SECONDS,
    "seconds the server waits for the client to close after `goodbye` (none after `too_many_connections`)": (
        limits.LINGER_SECONDS
    ),
    "bytes the server keeps of the [notes](#notes-of-a-move) of one player in a match, as JSON": (
        limits.MATCH_NOTES_BYTES
    ),
    "bytes the server reads after `goodbye`": limits.LINGER_BYTES,
    f"valid logins of one team in {limits.LOGIN_WINDOW_SECONDS:g} seconds for each of its seats, "
    "with purpose `check` included": limits.LOGINS_PER_WINDOW,
    "connections from one address that have not logged in (IPv6: from the same first 64 bits)": (
        limits.MAX_CONNECTIONS_PER_ADDRESS
    ),
    "connections in all that have not logged in, fewer if the server's system lets it open fewer files": (
        limits.MAX_CONNECTIONS
    ),
}


def test_the_servers_rows_of_the_table_of_limits() -> None:
    table = {limit: float(value.replace(",", "")) for limit, value in rows("## Limits")}
    servers = {limit: value for limit, value in table.items() if limit.startswith(SERVERS)}
    assert servers == LIMITS


@pytest.mark.parametrize(
    "sentence",
    [
        f"The client has {limits.LOGIN_SECONDS:g} seconds from connecting to a complete `join`",
        f"| `login_timeout` | no complete `join` within {limits.LOGIN_SECONDS:g} s |",
        f"a frame that was begun and not complete within {limits.FRAME_SECONDS:g} s |",
        f"the second one from an address after {limits.BAD_LOGIN_FIRST_SECONDS:g} s, "
        f"each further one after twice as long, up to {limits.BAD_LOGIN_LONGEST_SECONDS:g} s",
        f"After {limits.BAD_LOGIN_FORGET_SECONDS:g} s without a wrong login, the address starts again",
        f"after {limits.KEEPALIVE_IDLE_SECONDS} s of silence, then every {limits.KEEPALIVE_EVERY_SECONDS} s, "
        f"and the connection is lost after {limits.KEEPALIVE_TRIES} unanswered probes",
        f"A team has one *seat* unless the host gives it more (1 to {limits.MAX_SEATS}).",
        f"still listens, for {limits.SHUTDOWN_SECONDS:g} s at most",
        f"the first {connection.FIRST_BYTES} bytes of what arrived last",
        "A player that misses three limits in a row while it has no connection loses the match (`absent`)",
        "it has missed three limits in a row, and no sign of life came in between",
    ],
)
def test_limits_in_the_text(sentence: str) -> None:
    assert sentence in MARKDOWN
    assert ABSENT_MISSES == STALLED_MISSES == 3


@pytest.mark.parametrize(
    "sentence",
    [
        f"Of other stale answers, more than {limits.MAX_STALE_ANSWERS} between two questions are hostile",
        f"{limits.LOGIN_SECONDS:g} s for the team id, {limits.FRAME_SECONDS:g} s from an answer's first byte",
        f"is disconnected after a pause of {limits.CLASSIC_REFUSAL_SECONDS:g} s,",
        f"n, the number of squares in the path, 0…{wire.CLASSIC_MAX_SQUARES}",
        f"n outside 0…{wire.CLASSIC_MAX_SQUARES}, a coordinate outside",
    ],
)
def test_limits_in_the_text_of_the_classic_wire(sentence: str) -> None:
    assert sentence in CLASSIC


# --- codes ---------------------------------------------------------------------------------------------------


def codes(heading: str) -> list[str]:
    return [code for row in rows(heading) for code in re.findall(r"`(\w+)`", row[0])]


GOODBYES = {row[0].strip("`"): row[2] for row in rows("### Goodbye codes") if row[0].startswith("`")}
PAUSES = {
    "contest_over": run.OVER.retry_ms,
    "shutting_down": run.SHUTTING_DOWN.retry_ms,
    "checked": None,
    "replaced": None,
    "login_timeout": connection.HOSTILE_RETRY_MS,
    "tls_required": None,
    "unsupported_version": None,
    "unknown_team": None,
    "bad_token": None,
    "wrong_address": None,
    "hosted_program": None,
    "too_many_logins": connection.FULL_RETRY_MS,
    "too_many_connections": connection.FULL_RETRY_MS,
}


def test_the_time_to_reconnect() -> None:
    pauses = {code: "nil" if pause is None else f"{pause:,}" for code, pause in PAUSES.items()}
    assert pauses == GOODBYES
    (hostile,) = (row for row in rows("### Goodbye codes") if row[0] == "a hostile code")
    assert hostile[2] == f"{connection.HOSTILE_RETRY_MS:,}; nil before the login"
    assert (run.OVER.reason, run.SHUTTING_DOWN.reason) == ("contest_over", "shutting_down")


@pytest.mark.parametrize("code", [*GOODBYES, *codes("### Turn codes"), *codes("### End codes")])
def test_every_documented_code_is_the_servers(code: str) -> None:
    assert f'"{code}"' in SOURCES


@pytest.mark.parametrize("code", ["slow_frame", "never_reads", "flood"])
def test_every_hostile_code_that_the_codec_does_not_know_is_the_servers(code: str) -> None:
    assert code in codes("### Hostile codes")
    assert f'"{code}"' in SOURCES


def test_every_goodbye_of_the_server_is_documented() -> None:
    said = set(re.findall(r'Goodbye\(\s*"(\w+)"', SOURCES))
    assert said <= {*GOODBYES, "classic_refused"}  # the last one is for the host: the classic wire says nothing
    assert set(GOODBYES) <= said


def test_every_end_of_the_server_is_documented() -> None:
    never_sent = {FaultCode.STALLED, Reason.ROUND_LOST}  # a skipped turn, and a result after the match is over
    said = {*FaultCode, *EndCode, *Reason, *VoidReason, AGREED} - never_sent
    assert said == set(codes("### End codes"))


# --- as a client sees it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("login", "code"),
    [
        ({"team": 1, "purpose": "check"}, "checked"),
        ({"team": 1, "token": "of another team"}, "bad_token"),
        ({"team": 9}, "unknown_team"),
        ({"team": 1, "version": VERSION + 1}, "unsupported_version"),
    ],
)
async def test_a_goodbye_has_its_pause(tmp_path: Path, login: dict[str, Any], code: str) -> None:
    async with running(make_contest(tmp_path)) as server, connected(server.port) as player:
        await player.join(**login)
        goodbye = await player.until(Goodbye)
        assert (goodbye.reason, goodbye.retry_ms) == (code, PAUSES[code])


async def test_the_goodbye_that_ends_a_contest(tmp_path: Path) -> None:
    async with running(make_contest(tmp_path)) as server, trio.open_nursery() as nursery:
        for team in (1, 2):
            nursery.start_soon(_play_to_the_end, server.port, team)


async def _play_to_the_end(port: int, team: int) -> None:
    async with seated(port, team) as player:
        goodbye = await player.play()
        assert goodbye == run.OVER
        assert await player.next() is None


@pytest.mark.parametrize("game", GAMES)
async def test_the_cost_of_a_fault(tmp_path: Path, game: str) -> None:
    """The table under "Playing": loses, fills the board, or skips the turn."""
    line = rf"^\|[^|]*`{game}`[^|]*\|([^|]*(?:loses|scored|skipped)[^|]*)\|$"
    (cost,) = re.findall(line, TEXT, re.MULTILINE)
    contest = make_contest(tmp_path, event={"game": game})
    async with running(contest) as server, seated(server.port, 1) as one, seated(server.port, 2) as two:
        black = one if (await one.expect(Start)).is_black else two
        question = await black.until(GetStep)
        await black.say(Step(question.id, "no move"))
        assert (await black.expect(Penalty)).reason == "illegal_move"
        if "skipped" in cost:
            white = two if black is one else one
            assert (await white.until(GetStep)).move_number == 2
            return
        end = await black.expect(End)
        assert (end.result, end.reason) == ("loss", "illegal_move")
        assert ("scored" in cost) == (end.scores == [0, 64 * 64])


def test_the_suite_for_servers_has_the_limits_of_this_one() -> None:
    """It tests any server by protocol.md, and so has the promised limits in a module of its own."""
    names = [name for name in vars(_times) if name.isupper()]
    assert len(names) == 8
    assert {name: getattr(_times, name) for name in names} == {name: getattr(limits, name) for name in names}
