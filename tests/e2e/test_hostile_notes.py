"""A hostile client and its notes, over raw sockets at a real server: bounded, escaped, and nobody else's loss."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import trio

from getstep.wire import checked_notes
from getstep_conformance.attack._connection import RawConnection, frame, message
from getstep_conformance.attack._notes import FULL, HARMLESS_NOTES
from getstep_conformance.attack._player import Player
from getstep_server.config.contest import load_contest
from getstep_server.json_text import encode
from getstep_server.storage.contest_state import results_of
from tests.support.command import Command
from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import games_of

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs, ServerOutput

HOSTILE, HONEST = 1, 2

MEGABYTE = b"\x81\xa5notes\x81\xa3say\xdb" + (1_000_000).to_bytes(4, "big") + b"x" * 1_000_000
TEN_THOUSAND = b"\x81\xa5notes\x81\xa4draw\xdd" + (10_000).to_bytes(4, "big") + b"\xc0" * 4000


def after_the_answer(player: Player) -> bytes:
    """Return the answer, and a second one that only adds notes."""
    return player.legal_answer() + player.legal_answer(notes=FULL)


ATTACKS: dict[int, tuple[str, Any]] = {
    2: ("oversize_frame", lambda _: frame(MEGABYTE)),
    3: ("out_of_turn", after_the_answer),
    4: ("too_large", lambda _: frame(TEN_THOUSAND)),
    5: ("unknown_type", lambda _: message(type="notes", notes=FULL)),
}
"""What loses each match after the first one: the code of the incident, and the bytes in place of an answer."""


async def connected(server: ServerOutput, team: int) -> Player:
    connection = RawConnection(await trio.open_tcp_stream("127.0.0.1", server.port))
    await connection.join(team, token_of(team))
    player = Player(team, connection, set())
    await player.wait_for("welcome")
    return player


async def play_honestly(player: Player) -> None:
    while (received := await player.receive()) is not None:
        if received["type"] == "get_step":
            await player.answer()


async def play_with_hostile_notes(server: ServerOutput) -> None:
    """Play the first match with all kinds of notes, and lose each further one by an attack."""
    notes = cycle([FULL, *(one for _, wrong in HARMLESS_NOTES for one in (wrong, FULL))])
    attacked = set[int]()
    while attacked != set(ATTACKS):
        player = await connected(server, HOSTILE)
        while (received := await player.receive()) is not None:
            if received["type"] != "get_step" or player.start is None:
                continue
            match = player.start["match"]
            if match not in ATTACKS:
                await player.answer(notes=next(notes))
            elif match not in attacked:  # else it is back before the end of that match is on disk
                attacked.add(match)
                data, player.question = ATTACKS[match][1](player), None
                await player.connection.send(data)
        await player.connection.close()


@pytest.mark.long
async def test_a_client_whose_notes_are_hostile(
    programs: Programs, make_contest: MakeContest, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_contest(2, event={"game": "longest_path", "settings": {"legs": 5}})
    server = programs.serve(folder, "--no-web")
    honest = await connected(server, HONEST)
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play_honestly, honest)
            nursery.start_soon(play_with_hostile_notes, server)
    await honest.connection.close()
    assert await trio.to_thread.run_sync(server.wait) == 0

    # The first match is played to its end; each of the others is lost by its attack alone.
    first, *others = results_of(load_contest(folder))
    assert (first.reason, first.faults) == ("finished", (0, 0))
    assert [result.reason for result in others] == ["hostile"] * len(ATTACKS)
    games = games_of(folder)
    for game, (code, _) in zip(games[1:], ATTACKS.values(), strict=True):
        assert game["teams"][game["winner"]]["id"] == HONEST
        assert [incident["code"] for incident in game["incidents"]] == [code]

    # On record are right notes of the hostile team, within its bound. The opponent got none.
    turns = games[0]["turns"]
    noted = [turn["notes"] for turn in turns if "notes" in turn]
    assert all(games[0]["teams"][turn["player"]]["id"] == HOSTILE for turn in turns if "notes" in turn)
    assert all(checked_notes(notes) == notes for notes in noted)
    assert 131_072 - len(encode(FULL)) < sum(len(encode(notes)) for notes in noted) <= 131_072
    assert not any("notes" in received for received in honest.connection.received)
    assert FULL["say"] not in repr(honest.connection.received)

    # They are on record as they came, and are escaped when they are read.
    command = Command(capsys)
    for words in (["verify", str(folder)], ["show", str(folder), "1", "--all"], ["site", str(folder)]):
        ran = await trio.to_thread.run_sync(command, *words)
        assert ran.code == 0, ran.err
        assert "\x1b[2J" not in ran.out
    pages = [path.read_text(encoding="utf-8") for path in (folder / "public").rglob("*.html")]
    assert any("alert(1)" in page for page in pages)
    assert not any("<script>alert(1)" in page or "\x1b" in page for page in pages)
    assert "\x1b" not in (folder / "contest.log").read_text(encoding="utf-8")
