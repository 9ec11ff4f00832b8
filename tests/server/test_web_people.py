"""People who play on the page: places, forms and bounds, without a browser."""

from __future__ import annotations

import json
import os
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
from getstep_server.web.kept import Keeper, hash_of
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
    team: Team | None = None,
    status: RunStatus | None = None,
    folder: Path = Path("none"),
    keeper: Keeper | None = None,
) -> AsyncIterator[People]:
    """People at a page; their browsers are logged in for the team, if there is one."""
    keeper = keeper or Keeper()
    contest = SimpleNamespace(events=(), teams={})
    live = SimpleNamespace(find=lambda _: None)
    feed = SimpleNamespace(contest=contest, status=status, server_runs=status is not None, folder=folder, live=live)
    friendly = FriendlyBots(lambda: contest)  # type: ignore[arg-type,return-value]  # all that these tests need
    people = People(feed, render, lambda _: team, friendly, keeper)  # type: ignore[arg-type]  # the same of the feed
    async with trio.open_nursery() as nursery:
        people.take_up()
        nursery.start_soon(keeper.run)
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
        place = people._places[hash_of(other.removeprefix("getstep_play="))]
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


def of_browser(people: People, cookie: str) -> Person:
    person = people.person(request("/play/events", cookie=cookie))
    assert person is not None
    return person


async def asked(person: Person) -> None:
    while not person.asked:
        await trio.sleep(0.01)


def kept_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("game-*")]


async def test_a_game_goes_on_at_the_next_page_where_it_was(tmp_path: Path) -> None:
    """The key of the cookie is in no file. A game that is left is in none, either."""
    async with peopled(keeper=Keeper(tmp_path)) as people:
        cookie = await begin(people, game="linkage", me="1")
        other = await begin(people)
        person = of_browser(people, cookie)
        await asked(person)
        person.play(person._parts["question"]["id"], ["R", *first_domino(person)])
        await asked(person)
        before = dict(person._parts)
        assert (before["numbers"], len(before["notes"])) == ([1, 2, 3], 3)
        await answer(people, "/play/leave", {"x": "y"}, cookie=other)
        while len(kept_in(tmp_path)) > 1 or (tmp_path / kept_in(tmp_path)[0]).read_bytes().count(b"\n") < 4:
            await trio.sleep(0.01)  # a thread writes them
    assert cookie.partition("=")[2] not in "".join([*kept_in(tmp_path), *texts(tmp_path)])
    async with peopled(keeper=Keeper(tmp_path)) as people:
        assert (await answer(people, "/play/board", cookie="getstep_play=guessed")).status == 303
        person = of_browser(people, cookie)
        await asked(person)
        assert {key: person._parts[key] for key in ("board", "notes", "numbers", "game")} == {
            key: before[key] for key in ("board", "notes", "numbers", "game")
        }
        assert person._parts["clock"]["running"] == 1
        person.play(person._parts["question"]["id"], ["R", *first_domino(person)])
        await asked(person)
        assert person._parts["numbers"] == [1, 2, 3, 4, 5]


def texts(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.iterdir()]


def first_domino(person: Person) -> list[tuple[int, int]]:
    question = person._question
    assert question is not None
    return next(list(map(tuple, move[1:])) for move in question.state.legal_moves() if move[0] == "R")


@pytest.mark.parametrize("spoilt", [b"{}\n", b"no json\n", b'{"kind":"sample","form":{},"team":null}\n', b""])
async def test_a_kept_game_of_another_version_is_forgotten(tmp_path: Path, spoilt: bytes) -> None:
    name = tmp_path / f"game-{hash_of('k' * 32)}.jsonl"
    name.write_bytes(spoilt)
    async with peopled(keeper=Keeper(tmp_path)) as people:
        assert (await answer(people, "/play/board", cookie="getstep_play=" + "k" * 32)).status == 303
        while name.exists():
            await trio.sleep(0.01)


async def test_a_game_that_nobody_was_at_is_forgotten(tmp_path: Path) -> None:
    async with peopled(keeper=Keeper(tmp_path)) as people:
        cookie = await begin(people)
        while not kept_in(tmp_path):
            await trio.sleep(0.01)
    (name,) = kept_in(tmp_path)
    os.utime(tmp_path / name, (1.7e9, 1.7e9))
    async with peopled(keeper=Keeper(tmp_path)) as people:
        assert (await answer(people, "/play/board", cookie=cookie)).status == 303
        while kept_in(tmp_path):
            await trio.sleep(0.01)


async def test_a_game_for_a_team_goes_on_for_that_team_only(tmp_path: Path) -> None:
    """The browser must still be logged in for it."""
    async with peopled(ADA, NOBODY, keeper=Keeper(tmp_path)) as people:
        cookie = dict((await answer(people, "/play/team", {"x": "y"})).headers)["Set-Cookie"].partition(";")[0]
        while not kept_in(tmp_path):
            await trio.sleep(0.01)
    async with peopled(ADA, NOBODY, keeper=Keeper(tmp_path)) as people:
        assert (await answer(people, "/play/board", cookie=cookie)).status == 200
        assert (await answer(people, "/play/team", {"x": "y"})).status == 409  # its one seat is taken
    other = Team(id=8, name="Blaise", token="test-token-8")
    async with peopled(other, NOBODY, keeper=Keeper(tmp_path)) as people:
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
