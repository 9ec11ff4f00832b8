"""A contest that its host runs from the console alone, from the list of teams to the grades."""

from __future__ import annotations

import csv
import io
import re
import signal
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest, teams_path
from getstep_server.config.host_key import new_link
from getstep_server.records.reasons import DecisionKind
from getstep_server.storage.contest_state import tournament_of
from tests.support.browser import GONE, LAPTOP, PHONE, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.contests import make_contest
from tests.support.director import SMALL
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.processes import Programs

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL"),
]

NAMES = ["Ada", "Blaise", "Carl", "Dora", "Emil", "Fay", "Gus", "Hedy", "Ivan", "Joan", "Kurt"]
LATE = "Lena"
"""The twelfth team."""

BOTS = """\
import sys, threading, time
from getstep import play
from getstep_bots import random_bot

def get_step(board, is_black, turn):
    time.sleep(0.03)
    return random_bot.get_step(board, is_black, turn)

port, *teams = sys.argv[1:]
for one in teams:
    team, token = one.split("=")
    where = {"team": int(team), "token": token, "host": "127.0.0.1", "port": int(port)}
    threading.Thread(target=play, args=(get_step,), kwargs=where).start()
"""


class Console:
    """The host at a browser."""

    def __init__(self, visitor: Visitor, url: str, link: str, size: tuple[int, int] = LAPTOP) -> None:
        self.url = url
        self.page: Any = visitor.open(f"{url}/host?key={link}", size)
        expect_text(self.page, "h1", "Host's console")
        self.checked()

    def checked(self) -> None:
        """Look for barriers, and for what is wider than the window."""
        assert barriers(self.page) == []
        assert no_sideways_scrolling(self.page)

    def decide(self, what: str, why: str, **fields: str) -> None:
        """Fill in a form, look at the preview, and confirm it."""
        self.page.get_by_text(what, exact=True).click()
        form = self.page.locator("details[open] form")
        for label, text in fields.items():
            form.get_by_label(label.replace("_", " ")).fill(text)
        form.get_by_label("Reason").fill(why)
        form.get_by_role("button", name="Preview").click()
        expect_text(self.page, "main", "Would be on record")
        self.confirm(why)

    def press(self, button: str, why: str) -> None:
        """Press a button with a preview, write a reason, and confirm it."""
        self.page.get_by_role("button", name=button, exact=True).first.click()
        expect_text(self.page, "main", "Would be on record")
        self.confirm(why)

    def confirm(self, why: str) -> None:
        self.checked()
        self.page.get_by_label("Reason").fill(why)
        self.page.get_by_role("button", name="Put it on record").click()
        expect_text(self.page, "p.alert", "On record|In teams.toml")
        assert self.page.url == f"{self.url}/host"

    def tokens(self) -> list[str]:
        """Return what the page shows of teams that were added: their ids and tokens."""
        rows = self.page.locator("main > table tbody tr").all()
        return [f"{row.locator('td').first.inner_text()}={row.locator('code').inner_text()}" for row in rows]

    def load(self, name: str) -> bytes:
        answer = self.page.context.request.get(f"{self.url}/host/files/{name}")
        assert answer.ok, answer.text()
        return bytes(answer.body())


def shown_command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--web-port", "0"]


def address(program: Any) -> str:
    return str(program.expect(r"^Live page .*: (http://\S+)/$")[1])


def printed_link(server: Any) -> str:
    return str(server.expect(r"^Host's console, on this computer only: \S+\?key=(\S+)$")[1])


def verify_backup(console: Console, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(console.load("backup.zip"))) as packed:
        packed.extractall(folder)
    assert run_command(["verify", str(folder / "autumn")]) == 0


def test_a_contest_from_its_teams_to_its_grades(visitor: Visitor, programs: Programs, tmp_path: Path) -> None:
    folder = tmp_path / "autumn"
    event = {**SMALL["event"], "settings": {"legs": 1}}
    ports = {"port": free_port(), "web_port": free_port()}
    make_contest(folder, 0, event, on_disk=True, patient=True, server=ports)
    teams_path(folder).write_text("")  # as `init` leaves it
    visitor.tolerated = GONE
    before = programs.start(*shown_command(folder))
    console = Console(visitor, address(before), new_link(folder, name="Ada"), PHONE)
    console.decide("Add teams by name", "the class of today", Names_of_the_new_teams="\n".join(NAMES))
    teams = console.tokens()
    assert len(teams) == len(NAMES)
    before.end()

    server = programs.serve(folder, "--web-port", str(load_contest(folder).file.server.web_port))
    bots = tmp_path / "bots.py"
    bots.write_text(BOTS)
    programs.start(sys.executable, str(bots), str(server.port), *teams[:-1])
    console = Console(visitor, address(server), printed_link(server), PHONE)
    other = Console(visitor, console.url, new_link(folder, name="Blaise"))
    expect_text(console.page, "#part-state", "waits for the teams.*Not connected ?Kurt")
    other.page.get_by_role("button", name="Start now, without missing teams").click()
    expect_text(other.page, "p.alert", "The server starts now")
    server.expect("the host Blaise has asked for it")
    programs.start(sys.executable, str(bots), str(server.port), teams[-1])

    expect_text(console.page, "#part-matches", "#.*turn [1-9]")
    console.checked()
    console.decide("Add teams by name", "the train was late", Names_of_the_new_teams=LATE)
    expect_text(other.page, "#part-log", f"{LATE} joins.*the host: the train was late")
    server.expect(f"The host: {LATE} joins")
    programs.start(sys.executable, str(bots), str(server.port), *console.tokens())
    expect_text(other.page, "#part-teams", f"{LATE} 12 connected")

    verify_backup(console, tmp_path / "copy")  # of one moment, while the server adds records

    console.page.get_by_label("Announcement to everybody").fill("Pizza at noon")
    console.page.get_by_role("button", name="Announce", exact=True).click()
    expect_text(console.page, "p.alert", "announcement is on record")
    console.press("Pause it at once", "fire alarm")
    expect_text(other.page, "#part-state", "Paused: the contest – fire alarm")
    expect_text(other.page, "#part-matches", "paused: fire alarm")
    wall = visitor.open(f"{console.url}/wall")
    for number in re.findall(r"#(\d+)", other.page.locator("#part-matches").inner_text())[:2]:
        other.page.get_by_label("Pin the board of match").fill(number)
        other.page.get_by_role("button", name="Pin", exact=True).click()
        expect_text(wall, ".card-head", f"#{number}")
    other.page.get_by_label("Message on the wall only").fill("Everybody out")
    other.page.get_by_role("button", name="Show it").click()
    expect_text(wall, ".wall-state", "Everybody out")
    wall.close()
    server.signal(signal.SIGKILL)
    server.wait()

    server = programs.serve(folder, "--web-port", console.url.rpartition(":")[2], "--now")
    console = Console(visitor, address(server), printed_link(server))
    expect_text(console.page, "#part-state", "Paused: the contest – fire alarm")
    expect_text(console.page, "#part-matches", "paused: fire alarm")
    turns = re.findall(r"turn (\d+)", console.page.locator("#part-matches").inner_text())
    assert turns
    expect_text(console.page, "#part-teams", f"{LATE} 12 connected")
    assert re.findall(r"turn (\d+)", console.page.locator("#part-matches").inner_text()) == turns
    console.press("Resume the contest", "a false alarm")

    done = tournament_of(load_contest(folder)).results[0]
    first, second = (load_contest(folder).team_name(team) for team in done.match.teams)
    winner, loser = (first, second) if done.winner == 0 else (second, first)
    number = str(done.match.number)
    console.decide("Set the result of a match", "a protest", Match_number=number, Winner=loser)
    expect_text(console.page, "#part-log", f"won by {loser}.*a protest")
    result = "draw" if done.winner is None else winner
    console.decide("Set the result of a match", "the ruling is undone", Match_number=number, Winner=result)
    assert server.wait() == 0

    after = programs.start(*shown_command(folder))
    console = Console(visitor, address(after), new_link(folder))
    expect_text(console.page, "#part-state", "Matches ?66 of 66 are over")
    grades = list(csv.DictReader(io.StringIO(console.load("grades.csv?scale=place&format=csv").decode())))
    assert {row["team_name"] for row in grades} == {*NAMES, LATE}
    assert float(grades[0]["grade"]) == 100.0
    verify_backup(console, tmp_path / "backup")
    decisions = tournament_of(load_contest(folder)).decisions
    assert [(one.kind, one.by) for one in decisions] == [
        (DecisionKind.JOIN, "the host"),
        (DecisionKind.PAUSE, "the host"),
        (DecisionKind.RESUME, "the host"),
        (DecisionKind.ADJUDICATE, "the host"),
        (DecisionKind.ADJUDICATE, "the host"),
    ]
