"""The host's console: who may open it, and decisions from it that are those of the commands."""

from __future__ import annotations

import html
import io
import re
import socket
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from getstep_server.api.answers import WallAnswer
from getstep_server.cli.host_key import console_lines
from getstep_server.cli.main import run_command
from getstep_server.config.contest import HostPage, load_contest
from getstep_server.config.host_key import host_key, new_link
from getstep_server.decisions import making, requests
from getstep_server.errors import ConfigError
from getstep_server.records.reasons import DecisionKind
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.run_status import RunStatus
from getstep_server.storage.start_request import take_start_request
from getstep_server.storage.store import Store
from getstep_server.web import host
from getstep_server.web.app import App
from getstep_server.web.host_access import COOKIE
from getstep_server.web.http import Download, EventStream, Request, Response
from getstep_server.web.listener import open_page_listener
from tests.support.console import Host, refresh
from tests.support.patience import PATIENCE_SECONDS
from tests.support.site import Site


async def test_a_link_opens_one_session(site: Site, folder: Path) -> None:
    browser, second = Host(site), Host(site)
    assert (await browser.ask("GET", "/host")).status == 401
    first = new_link(folder)
    link = new_link(folder)
    assert (folder / "host.key").stat().st_mode & 0o777 == 0o600
    assert await second.open(first) == 403  # another link was printed since
    assert await browser.open(link) == 303
    assert "Host's console" in browser.page or "Host&#39;s console" in browser.page
    assert await second.open(link) == 403  # spent
    assert await second.open(new_link(folder)) == 303  # two hosts at once
    assert (await browser.ask("GET", "/host")).status == 200
    new_link(folder, new_key=True)  # the host has lost the key, or somebody has seen it
    assert [(await one.ask("GET", "/host")).status for one in (browser, second)] == [401, 401]


async def test_wrong_links_wait(site: Site, folder: Path, autojump_clock: Any) -> None:
    link = new_link(folder)
    guesses = [Host(site) for _ in range(30)]
    found: list[int] = []

    async def guess(browser: Host) -> None:
        found.append(await browser.open("guess"))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for browser in guesses:
            nursery.start_soon(guess, browser)
    assert sorted(found) == [403, *[429] * 29]
    for _ in range(5):
        await Host(site).open("guess")
    assert trio.current_time() - began > 5
    assert await Host(site).open(link) == 303


@pytest.mark.parametrize(
    ("address", "name"),
    [("192.0.2.8", "127.0.0.1:8080"), ("127.0.0.1", "evil.example:8080"), ("127.0.0.1", "192.0.2.7:8080")],
)
async def test_it_is_open_on_this_computer_only(site: Site, folder: Path, address: str, name: str) -> None:
    link = new_link(folder)
    assert await Host(site, address, name).open(link) == 403
    assert await Host(site).open(link) == 303  # nobody else has spent it


@pytest.mark.parametrize(
    ("where", "address", "name", "status"),
    [
        ("lan", "192.0.2.8", "192.0.2.7:8080", 303),
        ("lan", "192.0.2.8", f"{socket.gethostname()}:8080", 303),
        ("lan", "127.0.0.1", "localhost:8080", 303),
        ("lan", "192.0.2.8", "evil.example:8080", 403),
        ("off", "127.0.0.1", "127.0.0.1:8080", 403),
    ],
)
async def test_a_host_chooses_where_it_is_open(
    site: Site, folder: Path, where: HostPage, address: str, name: str, status: int
) -> None:
    # `web_names` are names of the page, but not of the console: others may own them
    feed, tables = site.app.feed, site.app.tables
    server = msgspec.structs.replace(feed.contest.file.server, web_names=["evil.example"])
    file = msgspec.structs.replace(feed.contest.file, server=server)
    msgspec.structs.force_setattr(feed.contest, "file", file)
    there = Site(App(feed, tables, host_page=where))
    assert await Host(there, address, name).open(new_link(folder)) == status


async def test_two_hosts_are_told_apart_on_record(site: Site, folder: Path) -> None:
    for name, kind in (("Ada", "pause"), ("", "resume")):
        browser = Host(site)
        await browser.open(new_link(folder, name=name))
        assert (await browser.decide(decision=kind, match="3", why="lunch")).status == 200
    assert [one.by for one in tournament_of(load_contest(folder)).decisions] == ["the host Ada", "the host"]


async def test_a_key_file_that_cannot_be_written_opens_nothing(site: Site, folder: Path) -> None:
    link = new_link(folder)
    (folder / "host.key.new").mkdir()
    (folder / "host.key.new" / "kept").touch()  # so nothing can be written under this name
    browser = Host(site)
    answer = await browser.ask("GET", f"/host?key={link}")
    assert answer.status == 503
    assert b"host.key: cannot be written" in answer.body
    with pytest.raises(ConfigError, match=r"host\.key: cannot be written"):
        new_link(folder)


async def test_a_key_is_no_team_s_and_a_stolen_cookie_is_not_enough(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    pause = {"decision": "pause", "why": "a test"}
    assert (await browser.ask("POST", "/host/preview", {"word": "", **pause})).status == 403
    origin = {"origin": "http://evil.example", "word": browser.word}
    assert (
        await browser.ask("POST", "/host/decide", {**pause, "word": browser.word}, origin=origin["origin"])
    ).status == 403
    other = Host(site)
    await other.open(new_link(folder))
    assert (await browser.ask("POST", "/host/preview", {**pause, "word": other.word})).status == 403
    for token in [team.token for team in load_contest(folder).teams.values()]:
        thief = Host(site)
        thief.cookie = token
        assert (await thief.ask("GET", "/host")).status == 401
    key = host_key(folder)
    assert key is not None
    assert tournament_of(load_contest(folder)).decisions == []
    answers = [await browser.ask("GET", path) for path in ("/host", "/host/nothing")]
    assert [one.status for one in answers] == [200, 404]
    assert key.key not in answers[0].body.decode()


def decided(folder: Path) -> list[Any]:
    """Return the decisions on record, without their time and author."""
    return [msgspec.structs.replace(one, at="", by="") for one in tournament_of(load_contest(folder)).decisions]


@pytest.mark.long
async def test_decisions_are_those_of_the_commands(
    site: Site, folder: Path, typed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    until = f"{datetime.now() + timedelta(days=2):%Y-%m-%d %H:%M}"
    forms = [
        {"decision": "pause", "match": "3", "at_once": "on", "why": "lunch"},
        {"decision": "resume", "match": "3", "why": "after lunch"},
        {"decision": "adjudicate", "match": "1", "winner": "Carl", "scores": "3 1", "why": "a protest"},
        {"decision": "rematch", "matches": "1 2", "why": "the ruling is undone"},
        {"decision": "rename", "team": "Ada", "name": "Ada <b>L</b>", "why": "her wish"},
        {"decision": "seats", "team": "Blaise", "seats": "2", "why": "two computers"},
        {"decision": "pause", "event": "hop", "why": "a break"},
        {"decision": "forfeit", "match": "1", "team": "Carl", "why": "it used a phone"},
        {"decision": "join", "teams": "Dora\nEmil", "why": "they are late"},
        {"decision": "token", "team": "Carl", "why": "it was seen"},
        {"decision": "withdraw", "team": "Carl", "event": "hop", "why": "it is ill"},
        {"decision": "reinstate", "team": "Carl", "event": "hop", "why": "it is back"},
        {"decision": "disqualify", "team": "Emil", "why": "a bot of another team"},
        {"decision": "freeze", "why": "the last results"},
        {"decision": "reveal", "why": "the ceremony"},
        {"decision": "strict", "why": "the second laptop is here"},
        {"decision": "not_strict", "why": "it is gone"},
        {"decision": "invite", "count": "2", "uses": "3", "until": until, "why": "people may sign up"},
        {"decision": "revoke", "invitations": "1", "why": "a link was shown to others"},
    ]
    assert {form["decision"] for form in forms} == {
        kind.__struct_config__.tag for kinds in host.KINDS.values() for kind in kinds
    }
    shown = (await browser.send("preview", **forms[2])).body.decode()
    wanted = making.preview(folder, requests.Adjudicate(by="x", why="y", match=1, winner="Carl", scores=(3, 1)))
    for line in wanted.preview.lines(load_contest(folder)):
        assert line.strip().replace(">", "&gt;") in shown
    for form in forms:
        answer = await browser.decide(**form)
        assert answer.status == 200, answer.body
        assert b"On record" in answer.body
        browser.page = answer.body.decode()
    folder_text = str(typed)
    commands = [
        ["pause", folder_text, "--match", "3", "--now", "--why", "lunch"],
        ["resume", folder_text, "--match", "3", "--why", "after lunch"],
        ["matches", "adjudicate", folder_text, "1", "--winner", "Carl", "--scores", "3", "1", "--why", "a protest"],
        ["matches", "rematch", folder_text, "1", "2", "--why", "the ruling is undone"],
        ["teams", "rename", folder_text, "Ada", "Ada <b>L</b>", "--why", "her wish"],
        ["teams", "seats", folder_text, "Blaise", "2", "--why", "two computers"],
        ["pause", folder_text, "--event", "hop", "--why", "a break"],
        ["matches", "forfeit", folder_text, "1", "--team", "Carl", "--why", "it used a phone"],
        ["teams", "add", folder_text, "Dora", "Emil", "--why", "they are late"],
        ["teams", "token", folder_text, "Carl", "--why", "it was seen"],
        ["teams", "withdraw", folder_text, "Carl", "--event", "hop", "--why", "it is ill"],
        ["teams", "reinstate", folder_text, "Carl", "--event", "hop", "--why", "it is back"],
        ["teams", "disqualify", folder_text, "Emil", "--why", "a bot of another team"],
        ["freeze", folder_text, "--why", "the last results"],
        ["reveal", folder_text, "--all", "--why", "the ceremony"],
        ["standby", folder_text, "--strict", "on", "--why", "the second laptop is here"],
        ["standby", folder_text, "--strict", "off", "--why", "it is gone"],
        ["teams", "invite", folder_text, "--count", "2", "--uses", "3", "--until", until],
        ["teams", "revoke", folder_text, "1", "--why", "a link was shown to others"],
    ]
    for words in commands:
        assert await trio.to_thread.run_sync(run_command, words) == 0, capsys.readouterr()
    assert decided(folder) == decided(typed)
    assert "<b>L</b>" not in (await browser.ask("GET", "/host")).body.decode()


async def test_a_new_team_gets_its_token_on_the_page(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    answer = await browser.decide(decision="join", teams="Dora\nEmil", why="they are late")
    assert answer.status == 200
    added = [team for team in load_contest(folder).teams.values() if team.name in ("Dora", "Emil")]
    assert len(added) == 2
    assert all(team.token in answer.body.decode() for team in added)


async def test_what_came_between_is_named(site: Site, folder: Path) -> None:
    first, second = Host(site), Host(site)
    await first.open(new_link(folder))
    await second.open(new_link(folder))
    ruling = {"decision": "adjudicate", "match": "1", "why": "a protest"}
    shown = (await first.send("preview", **ruling, winner="Carl")).body.decode()

    assert (await second.decide(**ruling, winner="draw")).status == 200
    seen = re.findall('name="seen" value="([0-9]+)"', shown)[0]
    asked = html.unescape(re.findall('name="request" value="([^"]+)"', shown)[0])
    answer = await first.send("decide", request=asked, seen=seen)
    assert answer.status == 409
    assert b"since the preview: match 1" in answer.body
    kinds = [one.kind for one in tournament_of(load_contest(folder)).decisions]
    assert kinds == [DecisionKind.ADJUDICATE]


@pytest.mark.parametrize(
    "form",
    [
        {"decision": "nothing"},
        {},
        {"decision": "pause", "match": "many", "why": "x"},
        {"decision": "pause", "match": "999", "why": "x"},
        {"decision": "adjudicate", "winner": "Carl", "why": "x"},
        {"decision": "adjudicate", "match": "1", "winner": "<script>", "why": "x"},
        {"decision": "rematch", "matches": "one two", "why": "x"},
        {"decision": "forfeit", "match": "1", "team": "Ada", "why": "\x00"},
    ],
)
async def test_wrong_forms_change_nothing(site: Site, folder: Path, form: dict[str, str]) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    for what in ("preview", "decide"):
        answer = await browser.send(what, **form)
        assert answer.status == 409
        assert b"Nothing was done." in answer.body
        assert b"<script>" not in answer.body
    assert tournament_of(load_contest(folder)).decisions == []


async def test_messages(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    assert (await browser.send("announce", text="Lunch is at noon")).status == 303
    assert [one.text for one in tournament_of(load_contest(folder)).messages.sent] == ["Lunch is at noon"]
    assert (await browser.send("announce", text="")).status == 409
    assert (await browser.send("answer", question="1", text="yes")).status == 409  # nobody has asked
    assert (await browser.send("answer", question="x", text="yes")).status == 409


async def test_pages_follow_each_other_until_the_key_is_replaced(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "HOLDS_SECONDS", 0.05)
    first, second = Host(site), Host(site)
    await first.open(new_link(folder, name="Ada"))
    await second.open(new_link(folder))
    head = {"host": first.name, "cookie": f"{COOKIE}={first.cookie}"}
    stream = await site.app(Request("GET", "/host/changes", {}, head, b"", "127.0.0.1"))
    assert isinstance(stream, EventStream)
    events = list[dict[str, Any]]()

    async def send(data: bytes) -> None:
        events.append(msgspec.json.decode(data.removeprefix(b"data: ")))

    async def follow() -> None:
        await stream.follow(send)
        nursery.cancel_scope.cancel()

    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            nursery.start_soon(refresh, site)
            await second.decide(decision="pause", match="3", why="lunch")
            while not any("(<bdi>the host</bdi>: <bdi>lunch</bdi>)" in one.get("log", "") for one in events):
                await trio.sleep(0.01)
            assert set(host.PARTS) < set(events[0])
            assert second.word not in str(events)  # the word of a session is in its own page only
            new_link(folder, new_key=True)
    assert events[-1] == {"over": True}
    assert (await first.ask("GET", "/host/changes")).status == 401


async def load(browser: Host, path: str) -> bytes:
    head = {"host": browser.name, "cookie": f"{COOKIE}={browser.cookie}"}
    path, _, query = path.partition("?")
    fields = dict(one.split("=") for one in query.split("&") if one)
    answer = await browser.site.app(Request("GET", path, fields, head, b"", "127.0.0.1"))
    if isinstance(answer, Response):
        return answer.body
    assert isinstance(answer, Download)
    return b"".join([piece async for piece in answer.pieces()])


async def test_files_are_those_of_the_commands(
    site: Site, folder: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    capfdbinary.readouterr()
    same = {
        "standings.csv": ["--standings", "--format", "csv"],
        "grades.csv?scale=score&best=20&worst=1&format=excel": [
            *("--grades", "--scale", "score", "--best", "20", "--worst", "1", "--format", "excel")
        ],
    }
    for name, words in same.items():
        assert await trio.to_thread.run_sync(run_command, ["export", str(folder), *words]) == 0
        assert await load(browser, f"/host/files/{name}") == capfdbinary.readouterr().out
    with Store(load_contest(folder).database, reading=True) as store:
        lines = [record.line for record in store.records()]
    assert (await load(browser, "/host/files/records.jsonl")).splitlines() == lines
    assert b"<!doctype html>" in await load(browser, "/host/files/report.html")
    for wrong in ("grades.csv?scale=x", "grades.csv?best=nan", "grades.csv?format=x"):
        assert b"Nothing was done." in await load(browser, f"/host/files/{wrong}")
    assert b"There is no page" in await load(browser, "/host/files/teams.toml")


async def test_a_backup_is_a_contest_that_goes_on(site: Site, folder: Path, tmp_path: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    packed = await load(browser, "/host/files/backup.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "copy")
    copy = tmp_path / "copy" / folder.name
    assert sorted(path.name for path in copy.iterdir()) == ["contest.db", "contest.toml", "teams.toml"]
    assert await trio.to_thread.run_sync(run_command, ["standings", str(copy)]) == 0
    assert load_contest(copy).teams == load_contest(folder).teams
    with Store(copy / "contest.db", reading=True) as mine, Store(folder / "contest.db", reading=True) as other:
        assert mine.chain() == other.chain()


async def test_the_list_of_teams_has_the_time_to_each(site: Site, folder: Path) -> None:
    browser = Host(site)
    status = RunStatus("playing", {1: 1, 2: 1}, round_trip_ms={1: 3.2})
    site.app.feed.server_runs, site.app.feed.status = True, status
    await browser.open(new_link(folder))
    rows = re.findall(r'<tr id="team-\d+">.*?</tr>', browser.page)
    assert [">3.2 ms</td>" in row for row in rows] == [True, False, False]


async def test_a_slip_has_the_token_of_its_team_only(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    site.app.feed.server_runs, site.app.feed.status = True, RunStatus(address=("127.0.0.1", 7123))
    answer = await browser.ask("GET", "/host/slip/2")
    ada, blaise, _ = load_contest(folder).teams.values()
    assert blaise.token in answer.body.decode()
    assert "7123" in answer.body.decode()
    assert ada.token not in answer.body.decode()
    assert "script" not in dict(answer.headers)["Content-Security-Policy"]
    assert (await browser.ask("GET", "/host/slip/9")).status == 404


async def test_the_wall(site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    for form in ({"do": "pin", "match": "3"}, {"do": "message", "text": "Pizza is here"}):
        assert (await browser.send("wall", **form)).status == 303
    logged = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    assert logged == [
        "the host at 127.0.0.1: opened the console",
        *["the host at 127.0.0.1: The wall shows it now."] * 2,
    ]
    wall = (await site.json("/api/v1/pages/overview"))["wall"]
    assert wall == {"pinned": 3, "place": None, "nexts": 0, "text": "Pizza is here"}
    assert (await browser.send("wall", do="next")).status == 303
    assert (await browser.send("wall", do="message")).status == 303
    assert site.app.wall.answer([1, 3]) == WallAnswer(pinned=None, place=None, nexts=1, text="")
    await browser.send("wall", do="pin", match="3")
    assert site.app.wall.answer([1, 3]).place == "board1"
    for form in ({"do": "pin", "match": "9"}, {"do": "message", "text": "x" * 201}, {"do": "dance"}):
        assert (await browser.send("wall", **form)).status == 409


async def test_a_start_is_asked_of_the_server_that_waits(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder, name="Ada"))
    assert b"no server runs the contest" in (await browser.send("start")).body
    running = load_contest(folder).running
    running.mkdir(exist_ok=True)
    with ContestLock(folder):
        assert (await browser.send("start", at="14:30")).status == 303
        taken = take_start_request(running)
    assert taken is not None
    assert taken.by == "the host Ada"
    assert datetime.fromtimestamp(taken.at or 0).astimezone().strftime("%H:%M") == "14:30"


def test_the_command_prints_a_link(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["host-key", str(folder), "--web-port", "8123"]) == 0
    link = re.fullmatch(r"http://127\.0\.0\.1:8123/host\?key=(\S+)\n", capsys.readouterr().out)
    before = host_key(folder)
    assert link is not None
    assert before is not None
    assert before.link == link[1]
    assert run_command(["host-key", str(folder), "--new"]) == 0
    after = host_key(folder)
    assert after is not None
    assert after.key != before.key
    capsys.readouterr()
    assert run_command(["host-key", str(folder), "--lan", "--name", "Ada"]) == 0
    assert "/host?key=" in capsys.readouterr().out
    named = host_key(folder)
    assert named is not None
    assert (named.key, named.author) == (after.key, "the host Ada")
    assert run_command(["host-key", str(folder), "--key"]) == 0
    assert capsys.readouterr().out == f"{after.key}\n"
    assert run_command(["host-key", str(folder), "--key", "--new"]) == 0
    assert capsys.readouterr().out.strip() not in (after.key, "")
    assert run_command(["host-key", str(folder), "--name", "x" * 56]) == 2
    assert "expected at most 55 characters" in capsys.readouterr().err


def test_a_console_for_the_network_is_announced_with_a_warning(folder: Path) -> None:
    contest = load_contest(folder)
    with open_page_listener("0.0.0.0", 0) as listener:
        lines = {
            where: list(console_lines(contest.listening_on(host_page=where), listener))
            for where in ("loopback", "lan", "off")
        }
    assert lines["off"] == []
    assert [line.partition(": ")[0] for line in lines["loopback"]] == ["Host's console, on this computer only"]
    assert "http://127.0.0.1:" in lines["loopback"][0]
    assert lines["lan"][0].startswith("Host's console, from this network: http://")
    assert "without encryption" in lines["lan"][1]
    assert "only in a network that you trust" in lines["lan"][1]
