"""The button "analyse" in a team's area: what waits, what it costs, who sees the result, and what is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep_engines import GAMES
from getstep_server import limits
from getstep_server.web import analyses
from getstep_server.web.analyses import COMMAND, FOLDER, Analyses
from getstep_server.web.app import App
from tests.old_contests.contests import unpack
from tests.support.patience import PATIENCE_SECONDS
from tests.support.site import STORED, TOKENS, Browser, following

WORKER = """
import json, sys
task = json.loads(sys.stdin.readline())
print(json.dumps({"done": 1, "of": 2}), flush=True)
moves = [(n, turn) for n, turn in enumerate(task["turns"], 1) if turn[1] == "move"]
for n, (player, _, move) in moves[:3]:
    value = {"value": -0.5, "low": -0.6, "high": -0.4}
    best = {"value": 0.5, "low": 0.4, "high": 0.6}
    judged = {"number": n, "player": player, "played": move, "best": None, "line": [], "played_value": value}
    print(json.dumps({"done": 2, "of": 2, "move": {**judged, "best_value": best}}), flush=True)
"""
"""Stands for the process that searches."""
ENDLESS = "import sys; sys.stdin.read()"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """The pages of a contest that is over. Nothing is analysed until a test lets it."""
    folder = tmp_path / "finished"
    unpack(STORED, folder)
    async with trio.open_nursery() as nursery:
        app = (await following(folder, nursery)).app
        use(app, WORKER)
        yield app
        nursery.cancel_scope.cancel()


def use(app: App, worker: str) -> None:
    app.own.analyses = Analyses(app.feed, app.own.games, (sys.executable, "-c", worker))


async def logged_in(app: App, team: int) -> Browser:
    browser = Browser(app)
    assert (await browser.log_in(team, TOKENS[team])).status == 200
    return browser


def matches(app: App, team: int, other: int | None = None) -> list[int]:
    """Return the numbers of the matches of a team, or of two teams, that are over."""
    found = [result.match for result in app.feed.whole.results]
    return [match.number for match in found if team in match.teams and (other is None or other in match.teams)]


async def ask(browser: Browser, match: int | str) -> int:
    return (await browser.get("/own/analysis", {"match": str(match)})).status


async def result(browser: Browser) -> dict[str, Any]:
    """Return the state of the latest analysis once it has ended."""
    with trio.fail_after(PATIENCE_SECONDS):
        while True:
            latest: dict[str, Any] = (await browser.json("/own/analyses.json"))["latest"]
            if latest["state"] in ("done", "failed"):
                return latest
            await trio.sleep(0.01)


async def analysed(app: App, browser: Browser, match: int) -> dict[str, Any]:
    assert await ask(browser, match) == 202
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app.own.analyses.run)
        latest = await result(browser)
        nursery.cancel_scope.cancel()
    return latest


async def test_both_teams_of_a_match_share_its_analysis_and_nobody_else_gets_it(app: App) -> None:
    browsers = {team: await logged_in(app, team) for team in (1, 2, 3)}
    match = matches(app, 1, 2)[0]
    assert await ask(browsers[3], match) == 404
    assert (await browsers[1].get(f"/own/analysis/{match}.json")).status == 404
    latest = await analysed(app, browsers[1], match)
    assert (latest["match"], latest["state"], latest["done"], latest["of"]) == (match, "done", 2, 2)
    for team, ready in ((1, [match]), (2, [match]), (3, [])):
        state = await browsers[team].json("/own/analyses.json")
        assert state["ready"] == ready
        assert (await browsers[team].get(f"/own/analysis/{match}.json")).status == (200 if ready else 404)
    data = await browsers[2].json(f"/own/analysis/{match}.json")
    assert len(data["links"]) == 3
    whole, *better = data["games"]
    assert [fact[0] for fact in whole["facts"][:3]] == [f"turning point {place}" for place in (1, 2, 3)]
    assert "gave away 1.00 (" in whole["facts"][0][1]
    assert len(better) == 3
    assert await ask(browsers[2], match) == 200  # nothing is searched again, and it costs nothing
    assert (await browsers[2].json("/own/analyses.json"))["left"] == limits.ANALYSES_A_DAY
    assert (await Browser(app).get(f"/own/analysis/{match}")).status == 401
    assert await ask(Browser(app), match) == 401


@pytest.mark.parametrize("match", ["", "0", "99999", "-1", "1x", "9" * 30])
async def test_a_match_that_is_not_the_teams_or_is_not_over_is_refused(app: App, match: str) -> None:
    assert await ask(await logged_in(app, 1), match) == 404


async def test_a_team_has_one_at_a_time_and_so_many_wait(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "MAX_ANALYSES_WAITING", min(2, limits.MAX_ANALYSES_WAITING // 16))
    assert limits.MAX_ANALYSES_WAITING < 100
    one, two, three = [await logged_in(app, team) for team in (1, 2, 3)]
    assert await ask(one, matches(app, 1)[0]) == 202
    assert await ask(one, matches(app, 1)[1]) == 409
    assert await ask(two, matches(app, 2)[0]) == 202
    assert (await two.json("/own/analyses.json"))["latest"]["before"] == 1
    assert await ask(three, matches(app, 3)[0]) == 503


async def test_a_team_has_a_quota_for_24_hours(
    app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, autojump_clock: MockClock
) -> None:
    assert limits.ANALYSES_A_DAY < 100
    browser = await logged_in(app, 1)
    used = app.own.analyses._begun[1]
    used.extend([trio.current_time()] * limits.ANALYSES_A_DAY)
    assert (await browser.json("/own/analyses.json"))["left"] == 0
    assert await ask(browser, matches(app, 1)[0]) == 429
    used.clear()
    used.extend([trio.current_time() - 86_400.0] * limits.ANALYSES_A_DAY)
    assert (await browser.json("/own/analyses.json"))["left"] == limits.ANALYSES_A_DAY


async def test_an_analysis_that_does_not_end_has_failed(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "ANALYSIS_SECONDS", min(0.2, limits.ANALYSIS_SECONDS / 4000))
    assert limits.ANALYSIS_SECONDS < 10_000
    use(app, ENDLESS)
    browser = await logged_in(app, 1)
    match = matches(app, 1)[0]
    assert (await analysed(app, browser, match))["state"] == "failed"
    assert await ask(browser, match) == 202  # it may be asked for again


@pytest.mark.parametrize("worker", ["raise SystemExit(3)", "print('no JSON')", "pass"])
async def test_a_process_that_fails_is_told(app: App, worker: str) -> None:
    use(app, worker)
    browser = await logged_in(app, 1)
    assert (await analysed(app, browser, matches(app, 1)[0]))["state"] == "failed"
    assert (await browser.json("/own/analyses.json"))["ready"] == []


async def test_the_oldest_files_are_deleted(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.ANALYSES_KEPT < 10_000
    monkeypatch.setattr(analyses, "ANALYSES_KEPT", 2)
    folder = Path(app.feed.folder) / FOLDER
    folder.mkdir()
    for age in (1, 2, 3):
        path = folder / f"match-{age}-{'0' * 16}.json"
        path.write_text("[]")
        os.utime(path, (1000 - age, 1000 - age))
    (folder / "mine.txt").write_text("a host's own file stays")
    match = matches(app, 1)[0]
    assert (await analysed(app, await logged_in(app, 1), match))["state"] == "done"
    kept = sorted(path.name.rpartition("-")[0] or path.name for path in folder.iterdir())
    assert kept == sorted(["match-1", f"match-{match}", "mine.txt"])


@pytest.mark.long
def test_the_process_searches_when_nobody_else_wants_the_processor_and_ends_with_its_input() -> None:
    state = GAMES["linkage"].start()
    turns = []
    while state.outcome is None:
        turns.append([state.to_move, "move", next(iter(state.legal_moves()))])
        state.play(turns[-1][2])
    task = {"game": "linkage", "options": {}, "turns": turns}
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({**task, "seconds": 3600.0}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["done"] == 0
        if hasattr(os, "SCHED_IDLE"):
            assert os.sched_getscheduler(process.pid) == os.SCHED_IDLE
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 1
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({**task, "seconds": 0.2}).encode() + b"\n")
        process.stdin.flush()
        lines = [json.loads(line) for line in process.stdout]
        assert process.wait(PATIENCE_SECONDS) == 0
    assert [line["move"]["number"] for line in lines if line["move"]] == list(range(1, len(turns) + 1))
