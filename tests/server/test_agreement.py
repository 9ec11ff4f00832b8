"""Matches of a duel that the estimates of both bots end: on record, resumed, verified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getstep.wire import GetStep, Step
from getstep_server.config.contest import Contest, database_path
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError, verify
from tests.support.memory_peers import MemoryPeer, Reply
from tests.support.played_contests import Scene, clumsy, good, play_scenes
from tests.support.tampering import Forged


def expecting(first: float, second: float) -> Reply:
    """Return a bot that notes these estimates as the first and as the second player."""

    def answer(peer: MemoryPeer, question: GetStep) -> Any:
        async def later() -> Any:
            step = await clumsy(peer, question)()
            return Step(step.id, step.move, {"estimate": first if question.is_black else second})

        return later

    return answer


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Two matches: one ends by the estimates after a crash, the other by the rules: one bot alone notes some."""
    folder = tmp_path_factory.mktemp("played") / "tonga"
    sure = expecting(0.9, -0.95)
    scenes = [Scene(1, sure, sure, stop=2), Scene(2, sure, good)]
    return play_scenes(folder, "pseudo_tonga", lambda _: scenes, agreement=True)


@pytest.fixture
def forged(contest: Contest, tmp_path: Path) -> Iterator[Forged]:
    copy = Forged(database_path(contest.folder), tmp_path / "contest.db")
    yield copy
    copy.close()


def test_the_record_has_the_rule_and_the_match_verifies(contest: Contest) -> None:
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2
        agreed, played = (json.loads(line) for line in list(store.lines())[2:])
    assert agreed["agreement"] == {"resign": 0.9, "agree": 2, "draw_from": 0} == played["agreement"]
    assert (agreed["reason"], agreed["winner"], agreed["turns_played"]) == ("agreed", 0, 4)
    assert agreed["detail"] == "both bots' estimates of 2 moves say that Black wins"
    assert (agreed["faults"], agreed["resumed"]) == ([0, 0], [2])
    assert (played["reason"], played["turns_played"]) == ("finished", 64)
    results = tournament_of(contest).results
    assert results[0].outcome_for(0) == "win"
    assert results[0].difference_for(0) > 0  # this game's points are differences


def test_a_forged_estimate_is_found(contest: Contest, forged: Forged) -> None:
    def change(turns: list[dict[str, Any]]) -> None:
        turns[1]["notes"]["estimate"] = 0.5

    forged.turns(1, change).reseal()
    with Store(forged.path) as store, pytest.raises(VerifyError, match="after 4 the match is not over"):
        verify(contest, store)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"resign": 2.0, "agree": 2, "draw_from": 0}, "resign"),
        ({"agree": 2, "draw_from": 0}, "resign"),
        ({"resign": 0.9, "draw": 0.95, "agree": 2, "draw_from": 0}, "resign"),
        ({"resign": 0.9, "agree": 0, "draw_from": 0}, "agree"),
    ],
)
def test_a_rule_that_no_match_can_have_is_found(
    contest: Contest, forged: Forged, entry: dict[str, Any], says: str
) -> None:
    forged.head(3, lambda fields: fields.update(agreement=entry)).reseal()
    with Store(forged.path) as store, pytest.raises(VerifyError, match=f"agreement.{says}"):
        verify(contest, store)
