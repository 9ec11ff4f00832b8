"""The HTTP API for the host: its key, and decisions that are those of the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from msgspec.structs import replace

from getstep_server.api.answers import HostHealth, HostMessages, Problem
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.config.host_key import bearer_key
from getstep_server.decisions import starting
from getstep_server.storage.contest_state import tournament_of
from getstep_server.web.host_api import HOST_ROUTES, HostMade
from getstep_server.web.http import Response
from getstep_server.web.openapi import description
from tests.support.console import PAUSE, Program
from tests.support.site import Site

TEAMS = ["Ada", "Blaise", "Carl"]


def refused(answer: Response, status: int) -> str:
    assert (answer.status, answer.content_type) == (status, "application/problem+json"), answer.body
    assert "Access-Control-Allow-Origin" not in dict(answer.headers)
    return msgspec.json.decode(answer.body, type=Problem).detail


async def test_only_the_host_s_key_opens_it(site: Site, folder: Path, autojump_clock: Any) -> None:
    key = bearer_key(folder)
    tokens = [team.token for team in load_contest(folder).teams.values()]
    for wrong in ("", "x", key[:-1], *tokens):
        for route in HOST_ROUTES:
            answer = await Program(site, wrong).ask(route.path.rpartition("/")[2], PAUSE)
            assert "key" in refused(answer, 401)
            assert dict(answer.headers)["WWW-Authenticate"] == "Bearer"
    for where in ({"address": "192.0.2.8"}, {"name": "evil.example:8080"}, {"name": "192.0.2.7:8080"}):
        refused(await Program(site, key, **where).ask("health"), 403)
    assert (await Program(site, key).ask("health")).status == 200
    bearer_key(folder, new_key=True)
    refused(await Program(site, key).ask("health"), 401)
    assert tournament_of(load_contest(folder)).decisions == []


async def test_guesses_wait_and_the_right_key_does_not(site: Site, folder: Path) -> None:
    key, began, answered = bearer_key(folder), trio.current_time(), list[str]()

    async def ask(key: str, status: int) -> None:
        assert (await Program(site, key).ask("health")).status == status
        answered.append(key)

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(ask, f"guess {number}", 401)  # they wait for 0, 0.25, 0.5 and 1 s
        while not answered:
            await trio.sleep(0.001)
        for _ in range(3):
            nursery.start_soon(ask, key, 200)
    assert trio.current_time() - began >= 1
    assert answered[-1].startswith("guess")


async def test_decisions_are_those_of_the_commands(folder: Path, typed: Path, site: Site) -> None:
    program = Program(site, bearer_key(folder))
    shown = msgspec.json.decode((await program.ask("preview", PAUSE)).body, type=HostMade)
    assert shown.summary.startswith("Would be on record: match 3")
    assert tournament_of(load_contest(folder)).decisions == []
    seen = {"seen": str(shown.seen)}
    made = msgspec.json.decode((await program.ask("decide", PAUSE, seen)).body, type=HostMade)
    assert made.summary.startswith("On record: match 3")
    again = await program.ask("decide", {**PAUSE, "decision": "resume", "at_once": False}, seen)
    assert "since the preview: match 3" in refused(again, 409)
    joined = await program.ask("decide", {"decision": "join", "teams": [{"name": "Dora"}], "by": "Ada"})
    (dora,) = msgspec.json.decode(joined.body, type=HostMade).teams
    assert dora.token == load_contest(folder).teams[dora.id].token
    by = ["--by", "Ada"]
    words = ["pause", str(typed), "--match", "3", "--now", "--why", "lunch", *by]
    for command in (words, ["teams", "add", str(typed), "Dora", *by]):
        assert await trio.to_thread.run_sync(run_command, command) == 0
    clicked, commanded = (
        [replace(one, at="") for one in tournament_of(load_contest(where)).decisions] for where in (folder, typed)
    )
    assert clicked == commanded
    assert len(clicked) == 2


async def test_messages_health_and_start(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(site, bearer_key(folder))
    said = await program.ask("messages", {"text": "Lunch", "by": "Ada"})
    assert msgspec.json.decode(said.body, type=HostMessages).unanswered == 0
    assert "expected one of the 0" in refused(
        await program.ask("messages", {"text": "x", "by": "Ada", "question": 1}), 409
    )
    health = msgspec.json.decode((await program.ask("health")).body, type=HostHealth)
    assert (health.state, health.done, health.total) == ("stopped", 2, 3)
    assert [team.name for team in health.teams] == TEAMS
    assert health.disk_free > 0
    assert "no server runs" in refused(await program.ask("start", {"by": "Ada"}), 409)
    monkeypatch.setattr(starting, "server_of", lambda _: "process 1")
    load_contest(folder).running.mkdir(exist_ok=True)
    assert json.loads((await program.ask("start", {"by": "Ada"})).body) == {"at": None}
    assert "expected a time of day" in refused(await program.ask("start", {"by": "Ada", "at": "noon"}), 409)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[" * 4000, 400),
        (b"\xff", 400),
        ({"decision": "nothing", "by": "Ada", "why": "x"}, 400),
        ({"decision": "pause", "by": "Ada"}, 400),
        ({**PAUSE, "match": 999}, 409),
        ({**PAUSE, "why": "a\nb"}, 409),
        ({**PAUSE, "by": ""}, 409),
    ],
)
async def test_wrong_bodies_change_nothing(site: Site, folder: Path, body: Any, status: int) -> None:
    program = Program(site, bearer_key(folder))
    for what in ("preview", "decide"):
        refused(await program.ask(what, body), status)
    assert "there is no parameter" in refused(await program.ask("decide", PAUSE, {"colour": "red"}), 400)
    assert tournament_of(load_contest(folder)).decisions == []


async def test_bodies_and_answers_fit_the_description(site: Site, folder: Path) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    described, program = description(), Program(site, bearer_key(folder))

    def errors(schema: Any, value: Any) -> list[str]:
        wanted = {**schema, "components": described["components"]}
        return [error.message for error in validator(wanted).iter_errors(value)]

    bodies = {"preview": PAUSE, "decide": PAUSE, "messages": {"text": "Lunch", "by": "Ada"}}
    for route in HOST_ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        assert operation["security"] == [{"hostKey": []}]
        if (what := route.path.rpartition("/")[2]) == "start":
            continue  # no server waits
        body = bodies.get(what)
        if body is not None:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert errors(schema, body) == []
            assert errors(schema, {"by": "Ada"}) != []
        answer = await program.ask(what, body)
        content = operation["responses"][str(answer.status)]["content"]["application/json"]
        assert errors(content["schema"], json.loads(answer.body)) == []
