"""People who play on the page: places, forms and bounds, without a browser."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import trio
from trio.testing import MockClock

from getstep.referee import MatchState
from getstep_engines import GAMES, TimeControl
from getstep_server.bot_runner.sample_bots import SampleBot, sample_bots
from getstep_server.config.contest import Team
from getstep_server.errors import BotFailed
from getstep_server.programs.store import ProgramStore
from getstep_server.storage.run_status import RunStatus
from getstep_server.web.friendly_bots import FriendlyBots
from getstep_server.web.http import Request, Response
from getstep_server.web.people import IDLE_SECONDS, People, _Place
from getstep_server.web.person import Person, Refusal
from getstep_server.web.sample_game import SampleGame, SampleSettings
from tests.support.submitted_programs import stored

HOP = {"game": "hop", "bot": "random_bot", "me": "0", "time": "patient"}


def request(path: str, form: Any = None, address: str = "127.0.0.1", **headers: str) -> Request:
    method = "GET" if form is None else "POST"
    found = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Request(method, path, {}, found, urlencode(form or {}).encode(), address)


def render(template: str, *, status: int = 200, **values: object) -> Response:
    return Response(f"{template} {values.get('text', '')} {values.get('program')}".encode(), status=status)


ADA = Team(id=7, name="Ada", token="test-token-7")


@asynccontextmanager
async def peopled(
    team: Team | None = None, status: RunStatus | None = None, folder: Path = Path("none")
) -> AsyncIterator[People]:
    """People at a page; their browsers are logged in for the team, if there is one."""
    contest = SimpleNamespace(events=(), teams={})
    feed = SimpleNamespace(contest=contest, status=status, server_runs=status is not None, folder=folder)
    friendly = FriendlyBots(lambda: contest)  # type: ignore[arg-type,return-value]  # all that these tests need
    people = People(feed, render, lambda _: team, friendly)  # type: ignore[arg-type]  # the same of the feed
    async with trio.open_nursery() as nursery:
        nursery.start_soon(people.run)
        await trio.testing.wait_all_tasks_blocked()
        yield people
        nursery.cancel_scope.cancel()


async def answer(people: People, path: str, form: Any = None, **headers: str) -> Response:
    found = await people(request(path, form, **headers))
    assert isinstance(found, Response)
    return found


async def begin(people: People, address: str = "127.0.0.1", **form: str) -> str:
    """Begin a game; return the browser's cookie."""
    found = await answer(people, "/play/sample", {**HOP, **form}, address=address)
    assert found.status == 303
    return dict(found.headers)["Set-Cookie"].partition(";")[0]


async def test_a_game_begins_and_asks_for_a_move() -> None:
    async with peopled() as people:
        cookie = await begin(people)
        await trio.testing.wait_all_tasks_blocked()
        picked = json.dumps([[2, 2]])
        found = await answer(people, "/play/pick", {"question": 1, "picked": picked}, cookie=cookie)
        assert [2, 3] in json.loads(found.body)["squares"]
        for wrong in ("[[0, 1]]", "[", "{}", "[[0]]"):
            found = await answer(people, "/play/pick", {"question": 1, "picked": wrong}, cookie=cookie)
            assert json.loads(found.body)["problem"]
        found = await answer(people, "/play/move", {"question": 2, "picked": picked}, cookie=cookie)
        assert json.loads(found.body) == {"problem": "It is not your turn now."}
        found = await answer(people, "/play/move", {"question": 1, "picked": picked}, cookie=cookie)
        assert json.loads(found.body) == {"problem": "The move is not complete."}


@pytest.mark.parametrize("wrong", [{"game": "chess"}, {"bot": "../mcts"}, {"me": "2"}, {"me": ""}])
async def test_a_wrong_choice_is_refused(wrong: dict[str, str]) -> None:
    async with peopled() as people:
        assert (await answer(people, "/play/sample", {**HOP, **wrong})).status == 400


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}, {"origin": "null"}]
)
async def test_another_site_can_do_nothing(headers: dict[str, str]) -> None:
    async with peopled() as people:
        assert (await answer(people, "/play/sample", HOP, **headers)).status == 403
        assert (await answer(people, "/play/sample", HOP, origin="http://localhost")).status == 303


async def test_without_a_cookie_there_is_no_game() -> None:
    async with peopled() as people:
        await begin(people)
        for cookie in ("", "getstep_play=x", "getstep_play=" + "a" * 32):
            assert (await answer(people, "/play/events", cookie=cookie)).status == 404
            assert (await answer(people, "/play/board", cookie=cookie)).status == 303


async def test_so_many_people_play_at_the_same_time() -> None:
    async with peopled() as people:
        cookies = [await begin(people, f"10.0.0.{number}") for number in range(8)]
        found = await answer(people, "/play/sample", HOP)
        assert (found.status, b"try again" in found.body) == (503, True)
        assert (await answer(people, "/play/sample", HOP, cookie=cookies[0])).status == 303


async def test_one_computer_leaves_games_to_others() -> None:
    async with peopled() as people:
        cookies = [await begin(people, "10.0.0.1") for _ in range(4)]
        found = await answer(people, "/play/sample", HOP, address="10.0.0.1")
        assert (found.status, b"at your address" in found.body) == (503, True)
        moved = await answer(people, "/play/sample", HOP, address="10.0.0.1", cookie=cookies[0])
        assert moved.status == 303, "a new game in place of its own"
        for _ in range(4):
            await begin(people, "10.0.0.2")


async def test_an_address_that_holds_its_share_displaces_nobody_else(autojump_clock: MockClock) -> None:
    async with peopled() as people:
        other = await begin(people, "10.0.0.2")
        await trio.sleep(IDLE_SECONDS + 1)
        for _ in range(4):
            await begin(people, "10.0.0.1")
        assert (await answer(people, "/play/sample", HOP, address="10.0.0.1")).status == 503
        await trio.sleep(IDLE_SECONDS + 1)
        await begin(people, "10.0.0.1")
        place = people._places[other.removeprefix("getstep_play=")]
        assert not place.over


async def test_so_many_finished_games_are_kept() -> None:
    async with peopled() as people:
        cookies = []
        for _ in range(66):
            cookies.append(await begin(people))
            await trio.testing.wait_all_tasks_blocked()
            await answer(people, "/play/resign", {"question": 1}, cookie=cookies[-1])
            await trio.testing.wait_all_tasks_blocked()
        await begin(people)
        kept = [(await answer(people, "/play/board", cookie=cookie)).status == 200 for cookie in cookies]
        assert kept == [False] * 2 + [True] * 64


async def test_a_game_that_nobody_follows_makes_room(autojump_clock: MockClock) -> None:
    async with peopled() as people:
        for number in range(8):
            await begin(people, f"10.0.0.{number}")
        await trio.sleep(IDLE_SECONDS + 1)
        await begin(people)


async def test_a_game_ends_when_nobody_is_at_the_board(autojump_clock: MockClock) -> None:
    async with peopled() as people:
        cookie = await begin(people)
        await trio.sleep(118)
        assert (await answer(people, "/play/board", cookie=cookie)).status == 200
        await trio.sleep(245)
        assert (await answer(people, "/play/board", cookie=cookie)).status == 303


async def test_a_missed_limit_costs_the_games_penalty_and_three_lose(autojump_clock: MockClock) -> None:
    person = Person()
    settings = SampleSettings(GAMES["hop"], "echo", sample_bots()["random_bot"], 0, TimeControl("move", 5.0))
    game = SampleGame(person, settings, trio.CapacityLimiter(1))
    state: MatchState = game._state
    for misses in (1, 2):
        await game._persons_turn()
        assert (state.faults, state.state.to_move, state.outcome) == ([misses, 0], 1, None)
        state.move(next(state.state.legal_moves()), 0.0)
    await game._persons_turn()
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.reason) == (1, "absent")


async def test_a_closed_question_takes_no_answer() -> None:
    person = Person()
    game = GAMES["pseudo_tonga"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(person.ask, game, game.start())
        await trio.testing.wait_all_tasks_blocked()
        person.play(1, [(0, 0)])
        with pytest.raises(Refusal):
            person.play(1, [(0, 0)])


async def test_a_sample_bot_answers_in_a_process_and_one_that_fails_is_named(tmp_path: Path) -> None:
    turn = {"game": "hop", "match": 1, "move_number": 1, "opponent": "a person", "last_move": None}
    board = GAMES["hop"].start().board()
    thinking = tmp_path / "thinking.py"  # a bot whose move is the priority at which it thinks
    thinking.write_text(
        "import os\ndef get_step(board, is_black):\n    return os.getpriority(os.PRIO_PROCESS, 0), 0\n"
    )
    async with SampleBot(thinking) as bot:
        assert await bot.move(board, True, {**turn, "time_left_ms": 5000}) == [19, 0], "the lowest there is"
    async with SampleBot(sample_bots()["random_bot"]) as bot:
        move = await bot.move(board, True, {**turn, "time_left_ms": 5000})
        assert GAMES["hop"].start().is_legal(move)
        with pytest.raises(BotFailed, match="random_bot: ValueError: the board is "):
            await bot.move([], True, {**turn, "time_left_ms": 5000})
    exiting = tmp_path / "exiting.py"
    exiting.write_text("import os\ndef get_step(board, is_black):\n    print('bye')\n    os._exit(1)\n")
    async with SampleBot(exiting) as bot:
        with pytest.raises(BotFailed, match="exiting: the sample bot exited"):
            await bot.move(board, True, {**turn, "time_left_ms": 5000})


NOBODY = RunStatus(address=("192.0.2.1", 9))


async def test_only_a_team_that_is_logged_in_plays_in_the_contest() -> None:
    async with peopled(status=NOBODY) as people:
        found = await answer(people, "/play/team", {"x": "y"})
        assert (found.status, dict(found.headers)["Location"]) == (303, "/own")
    for status in (None, RunStatus(), RunStatus("over", address=("192.0.2.1", 9))):
        async with peopled(ADA, status) as people:
            found = await answer(people, "/play/team", {"x": "y"})
            assert (found.status, b"No server runs" in found.body) == (409, True)


async def test_the_seat_of_a_bot_is_taken_only_if_the_person_says_so() -> None:
    async with peopled(ADA, RunStatus(connected={7: 1}, address=("192.0.2.1", 9))) as people:
        found = await answer(people, "/play/team", {"x": "y"})
        assert (found.status, b"Your team's bot is connected" in found.body) == (409, True)
        assert (await answer(people, "/play/team", {"take": "1"})).status == 303


async def test_nobody_plays_for_a_team_whose_program_the_host_runs(tmp_path: Path) -> None:
    stored(ProgramStore(tmp_path), ADA.id)
    async with peopled(ADA, RunStatus(connected={7: 1}, address=("192.0.2.1", 9)), tmp_path) as people:
        found = await answer(people, "/play/team", {"take": "1"})
        assert (found.status, found.body) == (409, b"play The host plays with your team's program. 1")


async def test_a_team_plays_on_as_many_pages_as_it_has_seats() -> None:
    async with peopled(ADA, NOBODY) as people:
        found = await answer(people, "/play/team", {"x": "y"})
        cookie = dict(found.headers)["Set-Cookie"].partition(";")[0]
        assert (await answer(people, "/play/team", {"x": "y"})).status == 409
        assert (await answer(people, "/play/team", {"x": "y"}, cookie=cookie)).status == 303
        assert (await answer(people, "/play/team", {"x": "y"}, origin="http://evil.example")).status == 403


async def test_so_many_people_play_for_their_teams() -> None:
    async with peopled(Team(id=7, name="Ada", token="test-token-7", seats=16), NOBODY) as people:
        for number in range(64):
            people._places[str(number)] = place = _Place(Person(), "team", "127.0.0.1", {}, number)
            place.person.topic.subscribers = 1
        assert (await answer(people, "/play/team", {"x": "y"})).status == 503
