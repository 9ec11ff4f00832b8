"""Links by which teams sign up: what they are good for, on record and in the browser, also while matches run."""

from __future__ import annotations

import html
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from getstep.wire import Start
from getstep_server.config.contest import contest_path, load_contest, teams_path
from getstep_server.config.host_key import new_link
from getstep_server.config.invitations import Invitation, invitations, invitations_path
from getstep_server.decisions import requests
from getstep_server.decisions.making import decide
from getstep_server.decisions.requests import Invite, Revoke, SignUp
from getstep_server.errors import ConfigError, UsageError
from getstep_server.events import ContestStarted
from getstep_server.limits import BAD_LOGIN_FIRST_SECONDS
from getstep_server.runtime import recorder
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from getstep_server.web import sign_up as sign_up_page
from tests.support.command import Command
from tests.support.console import Host
from tests.support.contests import make_contest
from tests.support.decisions import said
from tests.support.director import SMALL
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played
from tests.support.servers import connected, running, seated
from tests.support.site import Browser, Site, following, without_status

BY: dict[str, Any] = {"by": "Grace"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    half_played(tmp_path)
    path = contest_path(tmp_path)
    path.write_text(path.read_text().replace("port = 0", "port = 7777"))  # a slip needs one that is fixed
    return tmp_path


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A contest of two teams that has not begun."""
    return make_contest(tmp_path, ["Ada", "Blaise"], SMALL["event"], on_disk=True).folder


def link(folder: Path, uses: int = 1, until: str | None = None) -> str:
    (key,) = decide(folder, Invite(uses=uses, until=until, **BY)).keys.values()
    return f"/join/{key}"


async def made_link(folder: Path, uses: int = 1) -> str:
    return await trio.to_thread.run_sync(partial(link, folder, uses=uses))


async def decided(folder: Path, request: requests.Request) -> None:
    await trio.to_thread.run_sync(decide, folder, request)


async def sign_up(browser: Browser, path: str, name: str) -> tuple[int, str]:
    """Open a link and send its form; return the status of the answer and its text."""
    shown = await browser.get(path)
    if shown.status != 200:
        return shown.status, shown.body.decode()
    (word,) = re.findall('name="word" value="([^"]+)"', shown.body.decode())
    answer = await browser.get(path, {"word": word, "name": name})
    return answer.status, html.unescape(answer.body.decode())


# --- what is stored ---------------------------------------------------------------------------------------------


def test_a_link_is_kept_as_a_hash_and_is_on_record(folder: Path, command: Command) -> None:
    output = command("teams", "invite", str(folder), "--count", "2", "--uses", "3", "--by", "Grace")
    keys = re.findall("^http://.*/join/([A-Za-z0-9_-]{32})$", output.out, re.MULTILINE)
    assert len(keys) == 2
    assert invitations_path(folder).stat().st_mode & 0o777 == 0o600
    with Store(load_contest(folder).database, reading=True) as store:
        written = b"".join(store.lines()) + invitations_path(folder).read_bytes() + teams_path(folder).read_bytes()
    assert not [key for key in keys if key.encode() in written]
    team = decide(folder, SignUp(key=keys[0], name="Eve")).teams[0]
    said(command, "teams", "revoke", str(folder), "2", "--by", "Grace")
    first, second, third = tournament_of(load_contest(folder)).decisions[-3:]
    assert (first.kind, first.invitations, first.uses, first.by) == ("invite", (1, 2), 3, "Grace")
    assert (second.kind, second.name, second.by) == ("join", "Eve", "invitation 1")
    assert (third.kind, third.invitations) == ("revoke", (2,))
    assert [one.teams for one in invitations(folder)] == [(team.id,), ()]
    listed = said(command, "teams", "invitations", str(folder))
    assert [line.split()[:4] for line in listed[1:]] == [["1", "1", "of", "3"], ["2", "0", "of", "3"]]
    assert "Eve joins as team" in "\n".join(said(command, "decisions", str(folder)))


def test_links_begin_with_the_address_that_people_type(waiting: Path, command: Command) -> None:
    path, plain = contest_path(waiting), contest_path(waiting).read_text()

    def printed(setting: str, *options: str) -> str:
        path.write_text(plain.replace("[server]\n", f"[server]\n{setting}"))
        return command("teams", "invite", str(waiting), "--by", "Grace", *options).out

    with_tls = 'web_port = 8443\ntls_certificate = "host.pem"\ntls_key = "host.key"\n'
    assert printed(with_tls, "--host", "192.0.2.7").startswith("https://192.0.2.7:8443/join/")
    assert printed('page_address = "https://contest.example.org"\n').startswith("https://contest.example.org/join/")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Invite(count=0, **BY), "count 0, expected 1 to 512"),
        (Invite(count=513, **BY), "count 513, expected 1 to 512"),
        (Invite(uses=1025, **BY), "uses 1025, expected 1 to 1024"),
        (Invite(until="2020-01-01 18:00", **BY), "until '2020-01-01 18:00', expected a local time within 366 days"),
        (Invite(until="9999-12-31 18:00", **BY), "expected a local time within 366 days"),
        (Invite(until="soon", **BY), "until 'soon', expected a local time within 366 days"),
        (Revoke(**BY), "invitations, expected one that is open: none is"),
        (Revoke(invitations=(3,), **BY), "invitations 3, expected one that is open: none is"),
        (SignUp(key="guess", name="Eve"), "this link does not sign up a team: it is wrong"),
    ],
)
def test_what_cannot_be_is_refused(waiting: Path, request_: requests.Request, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        decide(waiting, request_)
    assert not invitations_path(waiting).exists()


def test_a_contest_keeps_so_many_invitations(waiting: Path) -> None:
    decide(waiting, Invite(count=511, **BY))
    key = next(iter(decide(waiting, Invite(**BY)).keys.values()))
    with pytest.raises(UsageError, match="expected 1 to 0"):
        decide(waiting, Invite(**BY))
    decide(waiting, Revoke(invitations=tuple(range(1, 512)), **BY))
    decide(waiting, Invite(count=300, **BY))
    found = invitations(waiting)
    assert len(found) == 512
    assert found[-1].number == 812  # numbers are not given twice
    assert decide(waiting, SignUp(key=key, name="Eve")).teams  # the oldest that is open stays


def test_a_use_whose_record_cannot_be_stored_is_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    key = link(folder).removeprefix("/join/")
    before = teams_path(folder).read_text(), invitations(folder)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "save", full)
        with pytest.raises(OSError, match="No space"):
            decide(folder, SignUp(key=key, name="Eve"))
    assert (teams_path(folder).read_text(), invitations(folder)) == before
    assert decide(folder, SignUp(key=key, name="Eve")).teams[0].name == "Eve"


def test_an_invitation_says_why_it_is_closed() -> None:
    one = Invitation(number=1, sha256="", uses=2, until=100.0, by="Grace")
    assert one.closed(99.0) == ""
    assert one.closed(100.0) == "its time is over"
    assert replace(one, teams=(3, 4)).closed(99.0) == "2 teams have used it, which is the most"
    assert replace(one, revoked=True).closed(99.0) == "the host has revoked it"


# --- in the browser ---------------------------------------------------------------------------------------------


async def test_a_person_signs_a_team_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with without_status(folder, monkeypatch) as site:
        browser, path = Browser(site.app), await made_link(folder)
        for _ in range(3):  # looking spends nothing
            assert (await browser.get(path)).status == 200
        word = re.findall('name="word" value="([^"]+)"', (await browser.get(path)).body.decode())[0]
        form = {"word": word, "name": "  The Hoppers "}
        page = (await browser.get(path, form)).body.decode()
        team = load_contest(folder).contestants[max(load_contest(folder).contestants)]
        assert team.name == "The Hoppers"
        assert f"<code>{team.token}</code>" in page
        assert f"getstep login --host 192.0.2.7 --team {team.id} --token {team.token}" in page
        for start in ("./my_bot", "node my_bot.mjs", "java MyBot", "dotnet"):
            options = f"--host 192.0.2.7 --team {team.id} --token {team.token}"
            assert re.search(rf"(?:^|>){start}.* {options}$", page, re.MULTILINE)
        # The answer was lost: the browser sends the form again.
        assert team.token in (await browser.get(path, form)).body.decode()
        assert len(invitations(folder)[0].teams) == 1
        slip = await browser.get(path, {**form, "slip": "1"})
        assert team.token in slip.body.decode()
        assert "default-src 'none'" in dict(slip.headers)["Content-Security-Policy"]
        with trio.fail_after(PATIENCE_SECONDS):  # the page reads the record within a second
            while team.id not in site.app.feed.whole.contest.teams:
                await trio.sleep(0.01)
        assert "The Hoppers" in (await browser.get("/own")).body.decode()
        # another person with the same link
        status, text = await sign_up(Browser(site.app), path, "Late")
        assert (status, "it has been used" in text) == (410, True)
        # a new token since: the old page is worth nothing
        await decided(folder, requests.NewToken(team=str(team.id), **BY))
        answer = await browser.get(path, form)
        assert (answer.status, team.token in answer.body.decode()) == (410, False)


async def test_names_are_checked_and_a_refusal_spends_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with without_status(folder, monkeypatch) as site:
        path, browser = await made_link(folder), Browser(site.app)
        taken = next(iter(load_contest(folder).contestants.values())).name
        wrong = {taken: "one that is free", "": "visible", "a\x1b": "visible", "x" * 65: "at most 64"}
        for name, said_ in wrong.items():
            status, text = await sign_up(browser, path, name)
            assert (status, said_ in text, "Your team has not signed up" in text) == (409, True, True), text
        assert (await sign_up(browser, path, "Eve"))[0] == 200


async def test_of_many_at_once_a_link_takes_its_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with without_status(folder, monkeypatch) as site:
        path, found = await made_link(folder, uses=2), list[int]()

        async def one(number: int) -> None:
            found.append((await sign_up(Browser(site.app, f"192.0.2.{number}"), path, f"Team {number}"))[0])

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(one, number)
        assert sorted(found)[:2] == [200, 200]
        assert set(found[2:]) <= {200, 409, 410}
        assert len(invitations(folder)[0].teams) == 2


async def test_a_link_ends(waiting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with without_status(waiting, monkeypatch) as site:
        path, browser = await made_link(waiting), Browser(site.app)
        shown = await browser.get(path)
        word = re.findall('name="word" value="([^"]+)"', shown.body.decode())[0]
        later = time.time() + 8 * 86_400
        monkeypatch.setattr(time, "time", lambda: later)
        answer = await browser.get(path, {"word": word, "name": "Eve"})
        assert (answer.status, b"its time is over" in answer.body) == (410, True)
        monkeypatch.undo()
        await decided(waiting, Revoke(**BY))
        assert b"the host has revoked it" in (await browser.get(path)).body


async def test_wrong_links_wait_and_right_ones_do_not(waiting: Path, mock_clock: trio.testing.MockClock) -> None:
    async with trio.open_nursery() as nursery:
        site = await following(waiting, nursery)
        path, found = await made_link(waiting), list[int]()

        async def guess() -> None:
            found.append((await site.get("/join/" + 32 * "a")).status)

        await guess()  # a single mistake costs nothing
        async with trio.open_nursery() as guesses:
            for _ in range(30):
                guesses.start_soon(guess)
            while len(found) < 30:  # one waits, and the others are refused
                await trio.to_thread.run_sync(time.sleep, 0.01)
            assert (await sign_up(Browser(site.app), path, "Eve"))[0] == 200
            assert sorted(found) == [404, *[429] * 29]
            mock_clock.jump(BAD_LOGIN_FIRST_SECONDS)
        assert found[-1] == 404
        nursery.cancel_scope.cancel()


async def test_so_many_teams_of_one_address_sign_up(
    waiting: Path, mock_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_up_page, "package_hash", lambda _: "0" * 64)  # it takes 0.1 s for each page
    async with trio.open_nursery() as nursery:
        site = await following(waiting, nursery)
        path = await made_link(waiting, uses=41)
        for number in range(40):
            assert (await sign_up(Browser(site.app), path, f"Team {number}"))[0] == 200
        word = {"word": 32 * "w", "name": "One more"}
        refused = await Browser(site.app).get(path, word)
        assert refused.status == 429
        assert b"try again in 60 min" in refused.body
        assert dict(refused.headers)["Retry-After"] == "3600"
        assert (await Browser(site.app, "192.0.2.9").get(path)).status == 200  # other addresses are not refused
        mock_clock.jump(3600)
        assert (await Browser(site.app).get(path, word)).status == 200
        nursery.cancel_scope.cancel()


async def test_so_many_answers_are_kept(waiting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_up_page, "package_hash", lambda _: "0" * 64)
    async with trio.open_nursery() as nursery:
        site = await following(waiting, nursery)
        path, browser = await made_link(waiting, uses=3), Browser(site.app)
        forms = [{"word": 32 * letter, "name": letter} for letter in "abc"]
        assert (await browser.get(path, forms[0])).status == 200
        kept = site.app.sign_up._joined
        kept.update({str(number): next(iter(kept.values())) for number in range(254)})
        assert [(await browser.get(path, form)).status for form in forms[1:]] == [200, 200]
        assert (len(kept), (await browser.get(path, forms[2])).status) == (256, 200)
        assert (await browser.get(path, forms[0])).status == 410  # the oldest
        nursery.cancel_scope.cancel()


async def test_another_site_signs_nobody_up(waiting: Path) -> None:
    async with trio.open_nursery() as nursery:
        site = await following(waiting, nursery)
        path, form = await made_link(waiting), {"word": 32 * "w", "name": "Eve"}
        assert (await site.post(path, form, origin="http://evil.example")).status == 403
        assert (await site.get("/join")).status == 404
        assert (await site.get(path, method="HEAD")).status == 200
        assert not invitations(waiting)[0].teams
        nursery.cancel_scope.cancel()


async def test_a_host_makes_and_ends_links_in_the_console(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with without_status(folder, monkeypatch) as site:
        host = Host(site)
        await host.open(new_link(folder))
        page = (await host.decide(decision="invite", count="2", uses="5")).body.decode()
        paths = re.findall("<code>(/join/[^<]+)</code>", page)
        assert len(paths) == 2
        assert "Link 2 to sign up: 0 of 5 teams, until " in page
        assert (await sign_up(Browser(site.app), paths[1], "Eve"))[0] == 200
        page = (await host.ask("GET", "/host")).body.decode()
        assert not [path for path in paths if path in page]  # shown once
        host.page = page
        page = (await host.decide(decision="revoke", invitations="2")).body.decode()
        assert "Link 2 to sign up" not in page
        assert (await sign_up(Browser(site.app), paths[1], "Late"))[0] == 410
        assert (await sign_up(Browser(site.app), paths[0], "Late"))[0] == 200


async def test_before_the_start_the_pages_follow_teams_toml(waiting: Path) -> None:
    async with trio.open_nursery() as nursery:
        site: Site = await following(waiting, nursery)
        browser = Browser(site.app)
        assert (await sign_up(browser, await made_link(waiting), "Eve"))[0] == 200
        with trio.fail_after(PATIENCE_SECONDS):
            while b"Eve" not in (await browser.get("/own")).body:
                await trio.sleep(0.05)
        nursery.cancel_scope.cancel()


# --- while the server runs --------------------------------------------------------------------------------------


async def test_a_team_signs_up_and_plays_while_matches_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "REFRESH_SECONDS", 0.05)
    contest = make_contest(tmp_path, 2, SMALL["event"], on_disk=True, patient=True)
    async with running(contest, StartCondition(now=True)) as server, trio.open_nursery() as nursery:
        async with seated(server.port, 1) as one:
            await server.recorder.wait_for(ContestStarted)
            site = await following(tmp_path, nursery)
            path = await made_link(tmp_path)
            status, page = await sign_up(Browser(site.app), path, "Eve")
            assert status == 200
            token = re.findall("<code>([a-z0-9-]{14})</code>", page)[0]
            async with connected(server.port) as eve:
                await eve.join(3, token)
                start = await eve.until(Start)  # against team 1: team 2 is not here
                nursery.start_soon(partial(eve.play, start=start))
                nursery.start_soon(one.play)
                async with seated(server.port, 2) as two:
                    nursery.start_soon(two.play)
                    await server.finished()
                    nursery.cancel_scope.cancel()
    tournament = tournament_of(load_contest(tmp_path))
    assert (tournament.done, tournament.decisions[-1].by) == (6, "invitation 1")
    assert token not in (tmp_path / "contest.log").read_text()
    with Store(contest.database, reading=True) as store:
        verify(load_contest(tmp_path), store)


def test_the_file_of_invitations_has_a_bounded_size(waiting: Path) -> None:
    decide(waiting, Invite(**BY))
    path = invitations_path(waiting)
    path.write_bytes(path.read_bytes() + b" " * (1 << 20))
    with pytest.raises(ConfigError, match=r"invitations\.json: expected at most 1048576 bytes"):
        invitations(waiting)
