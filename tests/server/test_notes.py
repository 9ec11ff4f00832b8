"""Notes of moves on the server: written with the turn, bounded for each player, checked wherever they come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import GetStep, Raised, Resign, Step
from getstep_server.json_text import decode, encode
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.record import RecordError, parse
from getstep_server.records.replay import DoesNotFit, replay
from getstep_server.records.turns import validate_turn
from getstep_server.storage.journal import WriteResult
from tests.support.journals import Kept
from tests.support.memory_peers import MemoryPeer, honest, play

NOTES: dict[str, Any] = {
    "say": "<b>\x1b[31m",
    "estimate": -1,
    "draw": [["mark", [127, 0], "é", "red"]],
    "tags": ["opening"],
}
FULL = {"say": "x" * 900, "draw": [["mark", [2, 3], "12345678", "orange"]] * 64}
MOVED = {"player": 0, "move": [[2, 2], [2, 3]], "ms": 1.0, "timed": "kernel"}


def noting(peer: MemoryPeer, question: GetStep) -> Any:
    answer = honest(peer, question)
    assert isinstance(answer, Step)
    if question.move_number == 3:
        return Step(question.id, None, NOTES)
    if question.move_number == 5:
        return Raised(question.id, "no move", NOTES)
    return Resign(question.id, NOTES) if question.move_number == 7 else Step(question.id, answer.move, NOTES)


async def test_notes_are_written_with_each_kind_of_answer(autojump_clock: trio.testing.MockClock) -> None:
    sheets: list[Scoresheet] = []

    class Sheet(Scoresheet):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            sheets.append(self)

    played = await play(noting, honest, sheet=Sheet)
    turns = [decode(line) for line in sheets[0].log.turns]
    kinds = [turn.get("fault", turn.get("end", "move")) for turn in turns if turn["player"] == 0]
    assert kinds == ["move", "illegal_move", "raised", "resigned"]
    assert [turn.get("notes") for turn in turns] == [NOTES, None] * 3 + [NOTES]
    assert all(validate_turn(turn) for turn in turns)
    assert not any("\\x1b" in repr(message) for peer in played.peers for message in peer.said)


async def move(sheet: Scoresheet, notes: Any, *, elsewhere: bool = False) -> dict[str, Any]:
    """Play a move with notes, judged here or on a worker, and return its turn as it is in the journal."""
    state = sheet.match_state
    legal = decode(encode(next(iter(state.state.legal_moves()))))
    turn: dict[str, Any] = {"player": state.state.to_move, "move": legal, "ms": 1.0, "timed": "kernel"}
    state.move(turn["move"], 1.0)
    if elsewhere:
        await sheet.write_judged([{**turn, "notes": notes}])
    else:
        sheet.add_notes(turn, notes)
        if sheet.write(turn) is not WriteResult.WRITTEN:
            await sheet.retry_until_written()
    written: dict[str, Any] = decode(sheet.log.turns[-1])
    return written


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_each_player_has_128_kb_in_a_match_also_if_it_is_resumed(tmp_path: Path, *, elsewhere: bool) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    written = [await move(sheet, FULL, elsewhere=elsewhere) for _ in range(40)]
    sheet = kept.resumed()
    written += [await move(sheet, FULL, elsewhere=elsewhere) for _ in range(40)]
    lent = await kept.begin()
    lent.restore(sheet.log)
    written += [await move(lent, FULL, elsewhere=elsewhere) for _ in range(10)]
    for player in (0, 1):
        notes = [turn["notes"] for turn in written if turn["player"] == player and "notes" in turn]
        assert 131_072 - len(encode(FULL)) < sum(len(encode(one)) for one in notes) <= 131_072
        assert len(notes) < 45
    assert len(written) == 90
    assert "notes" in await move(lent, {"say": "a short one has room"}, elsewhere=elsewhere)


async def test_what_a_worker_reports_is_checked(tmp_path: Path) -> None:
    sheet = await Kept(tmp_path).begin()
    turn = await move(sheet, NOTES | {"say": 7, "later": "x" * 9999, "tags": ["two words"]}, elsewhere=True)
    assert turn["notes"] == {key: NOTES[key] for key in ("estimate", "draw")}
    assert "notes" not in await move(sheet, "notes", elsewhere=True)


WRONG: list[Any] = [
    *({}, [], None, "x", {"say": ""}, {"say": "x" * 1001}, {"estimate": 2}, {"estimate": True}, {"draw": []}),
    *({"tags": ["a b"]}, {"draw": [["mark", [128, 0], None, None]]}, {"draw": NOTES["draw"] * 65}),
]


@pytest.mark.parametrize("notes", WRONG)
def test_wrong_notes_on_record_are_refused(notes: Any) -> None:
    assert validate_turn({**MOVED, "notes": {**NOTES, "later": 1}})
    with pytest.raises(RecordError, match="notes"):
        validate_turn({**MOVED, "notes": notes})
    with pytest.raises(RecordError, match="notes"):
        validate_turn({"player": 0, "pass": True, "notes": NOTES})


async def test_too_many_notes_on_record_are_found(tmp_path: Path) -> None:
    sheet = await Kept(tmp_path, "linkage").begin()
    while sheet.match_state.outcome is None:
        await move(sheet, NOTES)
    fields = parse(sheet.record(sheet.result(1.0)).content())
    assert [turn["notes"] for turn in fields["turns"] if "pass" not in turn] == [NOTES] * sheet.match_state.turns
    assert replay(fields)
    for turn in fields["turns"]:
        if turn["player"] == 1 and "pass" not in turn:
            turn["notes"] = {"output": "\x00" * 2000, "say": "\x00" * 1000, "later": "x" * 9999}
    with pytest.raises(DoesNotFit, match=r"^notes of player 1 take \d+ bytes, expected at most 131072$"):
        replay(fields)
