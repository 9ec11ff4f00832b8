"""Friendly matches: bots of teams on the page's own port, over real sockets, against a person without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import trio

from getstep.client.settings import FRIENDLY_PORT as BOT_PORT
from getstep.wire import End, GetStep, Goodbye, Hello, Penalty, Raised, Resign, Start, Step
from getstep_engines import GAMES
from getstep_server.config.contest import FRIENDLY_PORT, Contest
from getstep_server.web.friendly_bots import FriendlyBots
from getstep_server.web.friendly_game import FriendlySettings
from getstep_server.web.http import Request, Response
from getstep_server.web.kept import Keeper, KeptGame
from getstep_server.web.people import People, _Place
from getstep_server.web.person import Person
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, connected, first_legal, seated

HOST = "127.0.0.1"


@asynccontextmanager
async def friendly(contest: Contest) -> AsyncIterator[FriendlyBots]:
    """The page's port for bots, while the block runs."""
    bots = FriendlyBots(lambda: contest)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bots.run, HOST, 0)
        await until(lambda: bots.port is not None)
        yield bots
        nursery.cancel_scope.cancel()


async def until(true: Any) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        while not true():
            await trio.sleep(0.001)


def port_of(bots: FriendlyBots) -> int:
    assert bots.port is not None
    return bots.port


class Clicker:
    """A person who follows the board, and plays the first legal move whenever it is asked."""

    def __init__(self) -> None:
        self.person = Person()
        self.person.topic.subscribers = 1

    @property
    def shown(self) -> dict[str, Any]:
        return self.person._parts

    @property
    def result(self) -> Any:
        return self.shown["result"]

    async def play(self, turns: int = 10**6) -> None:
        """Play so many turns, or to the end."""
        while turns and self.result is None:
            await until(lambda: self.person.asked or self.result is not None)
            if self.person.asked:
                question = self.person._question
                assert question is not None
                self.person._answer(question, next(question.state.legal_moves()))
                turns -= 1


def settings(contest: Contest, **changed: Any) -> FriendlySettings:
    return FriendlySettings(**{"event": contest.events[0], "me": 0, "patient": True, **changed})


@asynccontextmanager
async def match(bots: FriendlyBots, contest: Contest, *, team: int = 1, **changed: Any) -> AsyncIterator[Clicker]:
    """A match of a person against the bot of a team; it is over at the end of the block, or broken off."""
    clicker = Clicker()
    await until(lambda: bots.is_free(team))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bots.play, clicker.person, team, settings(contest, **changed), KeptGame({}))
        yield clicker
        nursery.cancel_scope.cancel()


async def test_a_person_and_a_bot_play_to_the_end(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, event={"game": "linkage", "move_seconds": 20})
    async with friendly(contest) as bots, seated(port_of(bots), 1) as player:
        for number in (1, 2):
            async with match(bots, contest) as clicker, trio.open_nursery() as nursery:
                nursery.start_soon(clicker.play)
                start = await player.expect(Start)
                assert (start.friendly, start.match, start.is_black) == (True, number, False)
                assert start.opponent == "a person"
                assert (start.time_kind, start.time_ms, start.resumed) == ("move", 10_000, False)
                while isinstance(message := await player.next(), GetStep):
                    assert bots.is_free(1) is False
                    await player.say(Step(message.id, first_legal(start, message)))
                assert isinstance(message, End)
                assert (message.match, message.reason) == (number, "finished")
                await until(lambda: clicker.result is not None)
            assert {True: "loss", False: "win", None: "draw"}[clicker.result["won"]] == message.result
            assert clicker.shown["game"]["teams"] == ["You", "Team 1"]


async def test_a_match_goes_on_when_the_bot_has_come_back(tmp_path: Path) -> None:
    """The page was started again: the bot had lost its connection, too."""
    contest, clicker = make_contest(tmp_path, event={"game": "hop"}), Clicker()
    turns = [{"player": 0, "move": [[2, 2], [2, 3]], "ms": 5.0}]
    kept = KeptGame({"options": {}, "number": 7}, turns)
    async with friendly(contest) as bots, trio.open_nursery() as nursery:
        nursery.start_soon(bots.play, clicker.person, 1, settings(contest), kept)
        await until(lambda: clicker.shown.get("text"))
        assert not bots.is_free(1)
        async with seated(port_of(bots), 1) as player:
            start = await player.expect(Start)
            assert (start.match, start.resumed, start.is_black) == (7, True, False)
            question = await player.expect(GetStep)
            assert (question.move_number, question.last_move) == (2, [[2, 2], [2, 3]])
            assert clicker.shown["notes"] == ["You: 2,2-2,3"]
        nursery.cancel_scope.cancel()


async def test_the_contests_limit_and_the_other_side(tmp_path: Path) -> None:
    event = {"game": "pseudo_tonga", "options": {"size": 6}, "budget_seconds": 30, "increment_seconds": 2}
    contest = make_contest(tmp_path, event=event)
    async with friendly(contest) as bots, seated(port_of(bots), 1) as player:
        async with match(bots, contest, me=1, patient=False):
            start = await player.expect(Start)
            assert (start.options, start.is_black) == ({"size": 6}, True)
            assert (start.time_kind, start.time_ms, start.increment_ms) == ("budget", 30_000, 2000)
            question = await player.expect(GetStep)
            assert (question.move_number, question.time_left_ms) == (1, 30_000)
        assert (await player.expect(End)).result == "void"


@asynccontextmanager
async def asked(tmp_path: Path, **tables: Any) -> AsyncIterator[tuple[FriendlyBots, Player, Clicker, GetStep]]:
    """A match in which the bot has the first move, and has its question; ``tables`` are those of contest.toml."""
    contest = make_contest(tmp_path, **tables)
    async with friendly(contest) as bots, seated(port_of(bots), 1) as player:
        async with match(bots, contest, me=1) as clicker:
            await player.expect(Start)
            yield bots, player, clicker, await player.expect(GetStep)


async def test_a_bot_that_leaves_ends_the_game(tmp_path: Path) -> None:
    async with asked(tmp_path) as (bots, player, clicker, _):
        await player.close()
        await until(lambda: clicker.result is not None)
        assert clicker.result["text"] == "the bot of Team 1 has left."
        assert clicker.shown["clock"]["running"] is None
        await until(lambda: bots.present() == [])


async def test_a_bot_that_leaves_in_the_persons_turn_ends_the_game(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, player, clicker, question):
        await player.say(Step(question.id, next(GAMES["hop"].start().legal_moves())))
        await until(lambda: clicker.person.asked)
        await player.close()
        await until(lambda: clicker.result is not None)
        assert "has left" in clicker.result["text"]
        assert not clicker.person.asked


async def test_a_newer_connection_of_the_team_takes_the_game_over(tmp_path: Path) -> None:
    async with asked(tmp_path) as (bots, player, clicker, question):
        async with seated(port_of(bots), 1) as newer:
            assert (await player.until(Goodbye)).reason == "replaced"
            assert (await newer.expect(Start)).resumed
            again = await newer.expect(GetStep)
            assert again.id == question.id
            await newer.say(Resign(again.id))
            assert (await newer.expect(End)).result == "loss"
            assert clicker.result["won"] is True


async def test_a_fault_costs_the_games_penalty_and_its_text_is_for_the_author(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, player, clicker, question):
        await player.say(Raised(question.id, "ValueError: my secret"))
        penalty = await player.expect(Penalty)
        assert (penalty.id, penalty.reason) == (question.id, "raised")
        assert "my secret" in penalty.detail
        await clicker.play(1)
        question = await player.expect(GetStep)
        await player.say(Step(question.id, "nonsense"))
        assert (await player.expect(Penalty)).reason == "illegal_move"
        assert any("made an illegal move" in note for note in clicker.shown["notes"])
        assert "my secret" not in str(clicker.shown)


async def test_a_bot_that_is_silent_for_three_limits_ends_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getstep_server.web.friendly_game.BOT_SECONDS", 0.01)
    async with asked(tmp_path, time={"lag_ms": 0}) as (_, player, clicker, _):
        for _ in range(2):
            assert (await player.expect(Penalty)).reason == "missed_limit"
            await clicker.play(1)
            await player.expect(GetStep)
        await until(lambda: clicker.result is not None)
        assert "has not answered for 3 limits" in clicker.result["text"]


async def test_a_late_answer_shows_that_the_bot_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getstep_server.web.friendly_game.BOT_SECONDS", 0.01)
    async with asked(tmp_path, time={"lag_ms": 0}) as (bots, player, clicker, question):
        for _ in range(4):
            await player.until(Penalty)
            await player.say(Raised(question.id, "late"))
            await until(lambda: bots._seats[1][0]._sign_of_life)
            await clicker.play(1)
            question = await player.expect(GetStep)
        assert clicker.result is None


async def test_a_bot_that_breaks_the_protocol_ends_the_game(tmp_path: Path) -> None:
    async with asked(tmp_path) as (_, player, clicker, _):
        await player.say_bytes(b"GET / HTTP/1.1\r\n\r\n")
        assert (await player.until(Goodbye)).reason == "oversize_frame"
        await until(lambda: clicker.result is not None)
        assert "broke the protocol (oversize_frame)" in clicker.result["text"]


async def test_a_wrong_login_is_refused_and_a_right_one_is_told_where_it_is(tmp_path: Path) -> None:
    async with friendly(make_contest(tmp_path)) as bots:
        for team, token, reason in ((1, "wrong", "bad_token"), (9, "wrong", "unknown_team")):
            async with connected(port_of(bots)) as player:
                await player.join(team, token)
                assert (await player.expect(Goodbye)).reason == reason
        async with connected(port_of(bots)) as player:
            hello: Hello = await player.expect(Hello)
            assert hello.friendly is True
            await player.say_bytes(b"\0\0\2\1" + b"\0" * 513)
            assert (await player.expect(Goodbye)).reason == "oversize_frame"
        assert bots.present() == []


async def test_a_new_team_may_come_and_one_that_is_gone_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getstep_server.web.friendly_bots.CONTEST_SECONDS", 0.001)
    contests = [make_contest(tmp_path, 2)]
    bots = FriendlyBots(lambda: contests[-1])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bots.run, HOST, 0)
        await until(lambda: bots.port is not None)
        contests.append(make_contest(tmp_path, 3))
        await until(lambda: 3 in bots._seats)
        async with seated(port_of(bots), 3):
            await until(lambda: [team.id for team, _ in bots.present()] == [3])
            contests.append(make_contest(tmp_path, 2))
            assert bots.present() == []
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("most", "addresses"), [(64, [HOST] * 65), (256, [f"127.0.1.{1 + number % 8}" for number in range(257)])]
)
async def test_so_many_bots_are_connected(tmp_path: Path, most: int, addresses: list[str]) -> None:
    """64 from one address, 256 in all: the oldest one without a login makes room for one more."""
    async with friendly(make_contest(tmp_path)) as bots:
        players = []
        for address in addresses:
            sock = trio.socket.socket()
            await sock.bind((address, 0))
            await sock.connect((HOST, port_of(bots)))
            players.append(player := Player(trio.SocketStream(sock)))
            await player.expect(Hello)
        assert len(players) == most + 1
        assert (await players[0].expect(Goodbye)).reason == "too_many_connections"
        for player in players:
            await player.close()


async def test_a_port_that_is_taken_is_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contest = make_contest(tmp_path)
    async with friendly(contest) as bots:
        others = FriendlyBots(lambda: contest)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others.run, HOST, port_of(bots))
            await until(lambda: others.port is not None)
            assert others.port != bots.port
            nursery.cancel_scope.cancel()
    assert bots.port is None
    await bots.run("192.0.2.1", 7780)  # no address of this machine
    assert "no friendly matches" in capsys.readouterr().err


def test_client_and_page_agree_on_the_port() -> None:
    assert BOT_PORT == FRIENDLY_PORT


# --- the form ---

FORM = {"team": "1", "event": "1", "me": "0", "time": "patient"}


@asynccontextmanager
async def page(contest: Contest, bots: FriendlyBots) -> AsyncIterator[People]:
    def render(template: str, *, status: int = 200, **values: object) -> Response:
        shown = [values.get(name) for name in ("text", "friendly_command", "friendly")]
        return Response(f"{template} {shown}".encode(), status=status)

    feed = SimpleNamespace(contest=contest, status=None, server_runs=False)
    people = People(feed, render, lambda _: None, bots, Keeper())  # type: ignore[arg-type]  # all of the feed that it needs
    async with trio.open_nursery() as nursery:
        nursery.start_soon(people.run)
        await until(lambda: people._nursery is not None)
        yield people
        nursery.cancel_scope.cancel()


async def submit(people: People, form: Any = None, **headers: str) -> Response:
    method, path = ("POST", "/play/friendly") if form is not None else ("GET", "/play")
    body = urlencode({**FORM, **(form or {})}).encode()
    found = await people(Request(method, path, {}, {"host": "arena:8080", **headers}, body, HOST))
    assert isinstance(found, Response)
    return found


async def test_a_person_chooses_a_bot_that_is_free(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [{"game": "hop"}, {"game": "linkage", "name": "small", "teams": [2, 3]}]
    contest = make_contest(tmp_path, 3, *events)
    async with friendly(contest) as bots, page(contest, bots) as people:
        assert (await submit(people, {})).status == 409
        async with seated(port_of(bots), 1) as player:
            await until(lambda: bots.is_free(1))
            for wrong in ({"event": "9"}, {"me": "2"}, {"event": "x"}):
                assert (await submit(people, wrong)).status == 400
            for gone in ({"team": "2"}, {"team": "77"}, {"team": "x"}):
                assert (await submit(people, gone)).status == 409
            assert b"Team 1 does not take part in small" in (await submit(people, {"event": "2"})).body
            assert (await submit(people, {}, origin="http://evil.example")).status == 403
            assert (await submit(people, {})).status == 303
            await player.expect(Start)
            assert (await submit(people, {})).status == 409  # it plays
            assert f"--friendly --host arena --port {bots.port}".encode() in (await submit(people)).body


async def test_so_many_people_play_friendly_matches(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    async with friendly(contest) as bots, page(contest, bots) as people, seated(port_of(bots), 1):
        await until(lambda: bots.is_free(1))
        for number in range(32):
            people._places[str(number)] = place = _Place(Person(), "friendly", f"10.0.0.{number}")
            place.person.topic.subscribers = 1
        assert (await submit(people, {})).status == 503
        del people._places["0"]
        assert (await submit(people, {})).status == 303


async def test_one_computer_leaves_friendly_matches_to_others(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    async with friendly(contest) as bots, page(contest, bots) as people, seated(port_of(bots), 1):
        await until(lambda: bots.is_free(1))
        for number in range(16):
            people._places[str(number)] = place = _Place(Person(), "friendly", "127.0.0.1")
            place.person.topic.subscribers = 1
        assert (await submit(people, {})).status == 503
        people._places["0"].address = "10.0.0.1"
        assert (await submit(people, {})).status == 303


async def test_two_people_who_choose_the_same_bot_at_once(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    async with friendly(contest) as bots, seated(port_of(bots), 1), match(bots, contest):
        await until(lambda: not bots.is_free(1))
        late = Clicker()
        await bots.play(late.person, 1, settings(contest), KeptGame({}))
        assert "plays with somebody else" in late.result["text"]
