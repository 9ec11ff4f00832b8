"""The list of teams changes while a contest goes on: on record, in teams.toml, and in the server that runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import Goodbye, Start
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import Contest, load_contest, teams_path
from getstep_server.decisions.making import Made, decide
from getstep_server.decisions.requests import AddTeams, ChangeSeats, NewToken, RenameTeam, Request
from getstep_server.errors import ConfigError, UsageError
from getstep_server.events import ContestStarted, TeamsChanged
from getstep_server.runtime import recorder
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.decisions import decisions, said
from tests.support.director import SMALL
from tests.support.judge_processes import judges_here
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up
from tests.support.servers import Running, connected, running, seated
from tests.support.site import Browser, following

BY: dict[str, Any] = {"by": "Grace"}


def joining(*names: str) -> AddTeams:
    return AddTeams(teams=tuple(map(NewTeam, names)), **BY)


def lines_of(contest: Contest) -> list[bytes]:
    with Store(contest.database, reading=True) as store:
        return list(store.lines())


def check(contest: Contest) -> None:
    with Store(contest.database, reading=True) as store:
        verify(contest, store)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server looks for records of other processes twenty times a second, not once."""
    monkeypatch.setattr(recorder, "REFRESH_SECONDS", 0.05)


async def decided(server: Running, request: Request, count: int) -> Made:
    """Put a request on record as another process does, and wait until the server has taken it up."""
    made = await trio.to_thread.run_sync(decide, server.contest.folder, request)
    await server.recorder.wait_for(TeamsChanged, count)
    return made


# --- on record --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("seeded")
def test_a_late_team_is_on_record_and_plays_in_the_next_run(command: Command, played: Path) -> None:
    lines = said(command, "teams", "add", "autumn", "Eve", "--seats", "2", "--by", "Grace")
    assert lines[:2] == [
        "On record: Eve joins as team 4 with 2 seats.",
        "  in Hop (round robin) a late team plays all others, in rounds after the issued ones",
    ]
    said(command, "teams", "rename", "autumn", "Eve", "Eva", "--why", "a typing error", "--by", "Grace")
    said(command, "teams", "seats", "autumn", "4", "3", "--by", "Grace")
    token = said(command, "teams", "token", "autumn", "Ada", "--by", "Grace")[-1].rpartition(" ")[2]
    kinds = [(one["decision"], one["team"], one.get("name"), one.get("seats")) for one in decisions(played)]
    assert kinds == [
        ("join", 4, "Eve", 2),
        ("rename", 4, "Eva", None),
        ("seats", 4, None, 3),
        ("token", 1, None, None),
    ]
    contest = load_contest(played)
    assert (contest.teams[4].name, contest.teams[4].seats, contest.teams[1].token) == ("Eva", 3, token)
    assert "Eva" in command("standings", "autumn").out
    assert command("standings", "autumn").err == ""  # files and records agree
    before = len(lines_of(contest))
    assert command("run", "autumn", "--now").code == 0
    assert len(lines_of(contest)) == before + 1 + 6  # pairings and games; no record of settings
    assert command("verify", "autumn").code == 0
    assert not [
        line for line in lines_of(contest) for team in contest.teams.values() if team.token.encode() in line
    ]


@pytest.mark.usefixtures("seeded")
def test_before_the_start_only_the_file_changes(command: Command, autumn: Path) -> None:
    teams_path(autumn).write_text("# our class\n" + teams_path(autumn).read_text())
    assert said(command, "teams", "rename", "autumn", "Ada", "Ada Lovelace") == []
    said(command, "teams", "seats", "autumn", "2", "4")
    contest = load_contest(autumn)
    assert (contest.teams[1].name, contest.teams[2].seats) == ("Ada Lovelace", 4)
    assert teams_path(autumn).read_text().startswith("# our class\n[[team]]\n")
    assert not contest.database.exists()  # type: ignore[union-attr]  # it is a file


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            RenameTeam(team="Ada", name="Blaise", **BY),
            "name 'Blaise', expected one that no team has; team 2 has it",
        ),
        (RenameTeam(team="Ada", name="\x1b", **BY), r"name = '\\x1b', expected visible characters"),
        (ChangeSeats(team="Ada", seats=17, **BY), "seats = 17, expected at most 16"),
        (NewToken(team="Eve", **BY), "team 'Eve': no team has this name"),
        (
            joining("Eve", "Ada"),
            "the new team: name = 'Ada', expected one that is free; team 1 in teams.toml has it",
        ),
    ],
)
@pytest.mark.usefixtures("seeded")
def test_what_is_refused_changes_nothing(begun: Path, request_: Request, message: str) -> None:
    before = teams_path(begun).read_text()
    with pytest.raises((UsageError, ConfigError), match=message):
        decide(begun, request_)
    assert (teams_path(begun).read_text(), decisions(begun)) == (before, [])


def test_a_record_that_cannot_be_stored_leaves_the_file_as_it_was(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = teams_path(begun).read_text()
    monkeypatch.setattr(Store, "save", full)
    with pytest.raises(OSError, match="No space"):
        decide(begun, joining("Eve"))
    assert teams_path(begun).read_text() == before


def test_a_late_team_is_refused_where_it_could_not_play(tmp_path: Path, command: Command) -> None:
    contest = make_contest(
        tmp_path / "cup", 4, {"format": "knockout"}, on_disk=True, start={"absent_seconds": 0.01}
    )
    decide(contest.folder, joining("Eve"))  # the bracket is not drawn yet
    assert command("run", str(contest.folder), "--now").code == 0
    with pytest.raises(
        UsageError, match=r"Hop \(knockout\): its pairings are drawn, and a late team does not play"
    ):
        decide(contest.folder, joining("Late"))


# --- while the server runs --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("judges", [1, 2])
async def test_a_team_joins_while_matches_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judges: int) -> None:
    judges_here(monkeypatch)
    contest = make_contest(tmp_path, 2, SMALL["event"], on_disk=True, patient=True, server={"judges": judges})
    async with running(contest, StartCondition(now=True)) as server, trio.open_nursery() as nursery:
        async with seated(server.port, 1) as one:
            await server.recorder.wait_for(ContestStarted)
            made = await decided(server, joining("Eve"), 1)
            assert made.teams[0].id == 3
            async with connected(server.port) as eve:
                await eve.join(3, made.teams[0].token)
                start = await eve.until(Start)  # against team 1: team 2 is not here
                nursery.start_soon(partial(eve.play, start=start))
                nursery.start_soon(one.play)
                async with seated(server.port, 2) as two:
                    nursery.start_soon(two.play)
                    await server.finished()
                    nursery.cancel_scope.cancel()
    tournament = tournament_of(load_contest(tmp_path))
    assert (tournament.done, {team for match in tournament.matches.values() for team in match.teams}) == (
        6,
        {1, 2, 3},
    )
    assert (tmp_path / "contest.log").read_text().count(made.teams[0].token) == 0
    check(load_contest(tmp_path))


def test_a_team_cannot_take_the_name_of_another_without_its_joiner(tmp_path: Path) -> None:
    make_contest(tmp_path, ["می\u200cخواهم", "Blaise"], SMALL["event"], on_disk=True)
    with pytest.raises(UsageError, match="expected one that no team has; team 1 has it"):
        decide(tmp_path, RenameTeam(team="Blaise", name="میخواهم", **BY))


@pytest.mark.usefixtures("at_once")
async def test_names_seats_and_tokens_change_while_matches_run(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, ["Ada", "Blaise"], SMALL["event"], on_disk=True, patient=True)
    async with running(contest, StartCondition(now=True)) as server, seated(server.port, 1) as one:
        await server.recorder.wait_for(ContestStarted)
        await decided(server, RenameTeam(team="Ada", name="Ada Lovelace", **BY), 1)
        await decided(server, ChangeSeats(team="1", seats=2, **BY), 2)
        async with connected(server.port) as second:
            assert (await second.login(1)).name == "Ada Lovelace"
            await decided(server, ChangeSeats(team="1", seats=1, **BY), 3)
            made = await decided(server, NewToken(team="1", **BY), 4)
            for player in (one, second):
                assert (await player.until(Goodbye)).reason == "bad_token"
        async with connected(server.port) as old, connected(server.port) as new:
            await old.join(1)
            assert (await old.until(Goodbye)).reason == "bad_token"
            await new.join(1, made.teams[0].token)
            assert (await new.next()).name == "Ada Lovelace"  # type: ignore[union-attr]  # a welcome


async def test_a_server_that_waits_for_its_teams_waits_for_a_new_one(tmp_path: Path) -> None:
    """Nothing is on record yet: teams.toml is what the contest begins with."""
    contest = make_contest(tmp_path, 2, SMALL["event"], on_disk=True, patient=True)
    async with running(contest) as server, seated(server.port, 1):
        made = await decided(server, joining("Eve"), 1)
        async with seated(server.port, 2), connected(server.port) as eve:
            assert not server.recorder.of(ContestStarted)
            await eve.join(3, made.teams[0].token)
            await server.recorder.wait_for(ContestStarted)
    tournament = tournament_of(load_contest(tmp_path))
    assert (tournament.decisions, len(tournament.matches)) == ([], 6)


@pytest.mark.usefixtures("at_once")
async def test_an_edited_file_counts_from_the_next_run(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 2, SMALL["event"], on_disk=True, patient=True)
    async with running(contest, StartCondition(now=True)) as server:
        await server.recorder.wait_for(ContestStarted)
        path = teams_path(tmp_path)
        path.write_text(path.read_text() + '\n[[team]]\nid = 9\nname = "Edited"\ntoken = "12345678"\n')
        await decided(server, joining("Eve"), 1)
        assert (sorted(server.contest.teams), sorted(load_contest(tmp_path).teams)) == ([1, 2, 3], [1, 2, 3, 9])


@pytest.fixture
def frozen(tmp_path: Path) -> Path:
    make_up(tmp_path / "made", [{"game": "hop", "settings": {"legs": 1}}], ["Ada", "Blaise", "Charles"], freeze=2)
    return tmp_path / "made"


async def test_the_pages_take_up_a_new_team(frozen: Path) -> None:
    """Its area is open to it during a freeze, too, in which spectators do not see it yet."""
    async with trio.open_nursery() as nursery:
        site = await following(frozen, nursery)
        made = await trio.to_thread.run_sync(decide, frozen, joining("Eve"))
        with trio.fail_after(PATIENCE_SECONDS):
            while 4 not in site.app.feed.whole.contest.teams:
                await trio.sleep(0.02)
        assert 4 not in site.app.feed.contest.teams
        assert (await Browser(site.app).log_in(4, made.teams[0].token)).status == 200
        nursery.cancel_scope.cancel()
