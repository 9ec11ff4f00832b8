"""What a host may decide: the preview of its consequences, the question before it, and what came between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from getstep_server.decisions.making import StateChanged, decide, preview
from getstep_server.decisions.requests import Adjudicate, AnyRequest, Disqualify, Rematch, Withdraw
from tests.support.command import Command
from tests.support.decisions import WHY, decisions, said

pytestmark = pytest.mark.usefixtures("seeded")

BY: dict[str, Any] = {"by": "Grace", "why": "it was agreed so"}


def test_the_preview_says_what_changes_and_stores_nothing(played: Path) -> None:
    won = preview(played, Adjudicate(match=2, winner="Ada", **BY)).preview
    assert won.decided == ("match 2 (Ada – Charles) is won by Ada",)
    assert [(move.name, move.points) for move in won.moves if move.points[0] != move.points[1]] == [
        ("Ada", (0.0, 2.0))
    ]
    out = preview(played, Disqualify(team="Ada", **BY)).preview
    assert (out.annulled, out.cancelled, out.opened) == ((2, 3, 5, 6), (), ())
    assert decisions(played) == []


def test_a_preview_is_what_the_decision_then_changes(played: Path) -> None:
    """The tables are not compared again: the rest is equal."""
    request = Rematch(team="Ada", no_shows=True, **BY)
    before = preview(played, request)
    made = decide(played, request, seen=before.preview.place)
    assert msgspec.structs.replace(before.preview, moves=(), pairings={}) == made.preview
    assert made.preview.opened == (2, 3, 5, 6)


def test_a_page_sends_a_request_as_json(begun: Path) -> None:
    text = b'{"decision":"withdraw","team":"Ada","by":"Grace","why":"ill"}'
    assert msgspec.json.decode(text, type=AnyRequest) == Withdraw(team="Ada", by="Grace", why="ill")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"decision":"withdraw","team":7,"by":"Grace","why":"ill"}', type=AnyRequest)


def test_another_decision_since_the_preview_is_told(played: Path) -> None:
    seen = preview(played, Withdraw(team="Ada", **BY)).preview.place
    decide(played, Adjudicate(match=2, winner="draw", **BY))
    with pytest.raises(StateChanged) as told:
        decide(played, Withdraw(team="Ada", **BY), seen=seen)
    assert told.value.between == ("match 2 (Ada – Charles) is a draw (Grace: it was agreed so)",)
    assert [one["decision"] for one in decisions(played)] == ["adjudicate"]
    decide(played, Withdraw(team="Ada", **BY), seen=seen + 1)


def test_results_of_other_matches_since_the_preview_are_no_reason_to_ask_again(
    command: Command, begun: Path
) -> None:
    """A busy server adds one at each moment; a result of the match itself is told."""
    other, own = Adjudicate(match=1, winner="draw", **BY), Rematch(matches=(2,), **BY)
    seen = preview(begun, other).preview.place
    assert command("run", "autumn", "--now").code == 0
    with pytest.raises(StateChanged) as told:
        decide(begun, other, seen=seen)
    assert len(told.value.between) == 1
    assert told.value.between[0].startswith("#1 ")
    decide(begun, own, seen=seen + 7)


def test_a_team_forfeits_a_match(command: Command, begun: Path) -> None:
    forfeit = ("matches", "forfeit", "autumn", "2", "--team")
    assert command.complaint(*forfeit, "Blaise", *WHY).startswith("--team 'Blaise': Blaise is not in match 2, expe")
    assert said(command, *forfeit, "Ada", *WHY)[0] == "On record: match 2 (Ada – Charles) is won by Charles."
    assert [(one["decision"], one["why"]) for one in decisions(begun)] == [
        ("adjudicate", "Ada forfeits: it was agreed so")
    ]


@pytest.mark.parametrize(("typed", "made"), [("y", 1), ("n", 0), ("", 0)])
def test_a_terminal_shows_the_preview_and_asks(
    command: Command, begun: Path, monkeypatch: pytest.MonkeyPatch, typed: str, made: int
) -> None:
    asked = []

    def answer(question: str) -> str:
        asked.append(question)
        return typed

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("getstep_server.cli.decisions._is_terminal", lambda: True)
    ran = command("teams", "withdraw", "autumn", "Ada", *WHY)
    assert asked == ["Put this on record? [y/N] "]
    assert ran.out.splitlines()[:2] == ["Would be on record: Ada has withdrawn.", "  cancelled: matches 2, 3, 5, 6"]
    assert (ran.code, len(decisions(begun))) == (0 if made else 1, made)
    command("teams", "withdraw", "autumn", "Blaise", *WHY, "--yes")
    assert (len(asked), len(decisions(begun))) == (1, made + 1)
