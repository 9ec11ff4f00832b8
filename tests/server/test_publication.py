"""Programs that have led a ladder for long enough are published: when, once, and where their source is."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.referee import forfeit_scores
from getstep_engines import GAMES, Player
from getstep_server.api.visibility import VisibleGame
from getstep_server.cli.main import run_command
from getstep_server.programs.publication import check_publication, published_path
from getstep_server.programs.source import unzipped_source
from getstep_server.programs.store import ProgramStore
from getstep_server.records.decision import Decision, describe_decision, publication_by_rule, record_of_decision
from getstep_server.records.game import game_header, record_of_game
from getstep_server.records.pairings import TeamProgram, record_of_pairings, with_programs
from getstep_server.records.reasons import DecisionKind, Reason
from getstep_server.records.record import Record
from getstep_server.records.result import PLAYERS, unplayed
from getstep_server.reports.report import load_report_data
from getstep_server.reports.site import site_pages
from getstep_server.runtime.publication_rule import PublicationRule, leader_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError, verify
from getstep_server.text import utc_time
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament
from tests.support.archives import zipped
from tests.support.contests import make_contest
from tests.support.site import following
from tests.support.submitted_programs import GET_STEP, add_program

SHA256 = hashlib.sha256(f"{GET_STEP}# of team 1\n".encode()).hexdigest()
WEEK = 7 * 24 * 3600.0
STARTED = 1.7e9
AT = utc_time(STARTED)
LADDER: dict[str, Any] = {"game": "hop", "format": "ladder", "settings": {"rounds": 9, "games": 2}}


class Ladder:
    """A ladder of two teams with programs, whose rounds take no time. Team 1 begins at the top."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.contest = make_contest(folder, 2, LADDER, on_disk=True, programs={"publish_after_weeks": 4})
        self.store = store
        self.tournament = Tournament(self.contest)
        self.now = STARTED
        self.faults: list[object] = []
        for team in (1, 2):
            add_program(self.contest.folder, team, "getstep", f"{GET_STEP}# of team {team}\n")
        self.rule = PublicationRule(
            self.contest, self.tournament, self._decide, self.faults.append, clock=lambda: self.now
        )

    async def begin(self) -> None:
        settings = {**(self.tournament.settings.due() or {}), "at": utc_time(STARTED)}
        await self._put(record_of_settings(settings))

    async def round(self, winner: int, seconds: float) -> None:
        """Play a round ``seconds`` after the one before, in which this team wins both games."""
        self.now += seconds
        fields = self.tournament.next_pairings(self.contest.events[0])
        assert fields is not None
        store = ProgramStore(self.contest.folder)
        versions = [version for team in (1, 2) if (version := store.current(team)) is not None]
        named = [TeamProgram(team=one.team, version=one.number, sha256=one.sha256) for one in versions]
        await self._put(record_of_pairings(with_programs(fields, named)))
        for match in self.tournament.open():
            won: Player = 0 if match.first == winner else 1
            scores = forfeit_scores(GAMES["hop"].start(), PLAYERS[1 - won])
            result = unplayed(match, won, Reason.NO_SHOW, "late", scores, started=self.now, attempt=1)
            await self._put(record_of_game(game_header(self.contest, match, 1, self.now), result))

    async def _decide(self, decision: Decision) -> None:
        await self._put(record_of_decision(self.contest, decision))

    async def _put(self, record: Record) -> None:
        await self.store.save(record)
        self.tournament.apply(record.fields)

    @property
    def published(self) -> list[tuple[int | None, int | None]]:
        return [(one.team, one.version) for one in self.tournament.decisions]


@pytest.fixture
async def ladder(tmp_path: Path) -> AsyncIterator[Ladder]:
    with Store(tmp_path / "contest.db") as store:
        made = Ladder(tmp_path, store)
        await made.begin()
        yield made


async def test_the_leader_of_a_ladder(ladder: Ladder) -> None:
    event = ladder.contest.events[0]
    assert leader_of(ladder.tournament, event) is None
    for winner, leader in (
        (1, (1, STARTED)),
        (2, (2, STARTED + 10)),
        (2, (2, STARTED + 10)),
        (1, (1, STARTED + 30)),
    ):
        await ladder.round(winner, 0 if leader == (1, STARTED) else 10)
        assert leader_of(ladder.tournament, event) == leader


async def test_a_leader_whose_first_victory_is_replayed_leads_since_the_next_round(ladder: Ladder) -> None:
    event = ladder.contest.events[0]
    await ladder.round(2, 0)
    await ladder.round(2, 10)
    first = [result.match for result in ladder.tournament.results if result.match.round == 1]
    assert len(first) == 2
    for match in first:
        await ladder._decide(Decision(DecisionKind.REPLAY, "Grace", "the lights went out", AT, match=match.number))
    assert leader_of(ladder.tournament, event) == (2, STARTED + 10)


async def test_a_program_is_published_once_when_it_has_led_for_long_enough(ladder: Ladder) -> None:
    await ladder.round(1, 0)
    add_program(ladder.contest.folder, 1, "getstep", f"{GET_STEP}# the second version\n")
    await ladder.round(1, 4 * WEEK - 1)
    await ladder.rule.check()
    assert ladder.published == []
    ladder.now += 1
    for _ in range(2):
        await ladder.rule.check()
        assert ladder.published == [(1, 2)]
    (decision,) = ladder.tournament.decisions
    told = describe_decision(decision, ladder.contest)
    assert told == "the source of the program of Team 1, version 2, is published"
    with zipfile.ZipFile(published_path(ladder.contest.folder, 1, 2)) as archive:
        assert archive.read("program.py").decode().endswith("# the second version\n")
    published_path(ladder.contest.folder, 1, 2).unlink()
    await ladder.round(2, 1)
    await ladder.round(2, 4 * WEEK)
    await ladder.rule.check()
    assert ladder.published == [(1, 2), (2, 1)]
    assert published_path(ladder.contest.folder, 1, 2).exists(), "it is written again if it is missing"
    assert ladder.faults == []
    data = load_report_data(ladder.contest, ladder.store)
    pages = {page.name: page.content() for page in site_pages(data, ladder.store, VisibleGame(data.tournament))}
    content = published_path(ladder.contest.folder, 2, 1).read_bytes()
    assert pages["programs/2-1.zip"] == content
    async with trio.open_nursery() as nursery:
        site = await following(ladder.contest.folder, nursery)
        assert (await site.get("/programs/2-1.zip")).body == content
        assert (await site.get("/programs/2-2.zip")).status == 404
        assert 'href="/programs/2-1.zip" download' in (await site.get("/start")).body.decode()
        nursery.cancel_scope.cancel()


async def test_a_version_that_was_removed_is_a_fault_that_stops_nothing(ladder: Ladder) -> None:
    await ladder.round(1, 0)
    await ladder.round(1, 4 * WEEK)
    add_program(ladder.contest.folder, 1, "getstep", GET_STEP)
    ProgramStore(ladder.contest.folder).remove(1, 1)
    await ladder.rule.check()
    assert len(ladder.faults) == 1


@pytest.mark.parametrize(
    ("version", "sha256", "why"),
    [
        (1, SHA256, ""),
        (2, SHA256, "expected one that plays the latest round"),
        (1, "0" * 64, f"sha256 is 0+, expected {SHA256} by the pairings"),
    ],
)
async def test_verify_refuses_a_publication_of_another_version(
    ladder: Ladder, version: int, sha256: str, why: str
) -> None:
    await ladder.round(1, 0)
    decision = publication_by_rule(1, version, sha256, 1, 4, utc_time(STARTED))
    await ladder.store.save(record_of_decision(ladder.contest, decision))
    if not why:
        assert verify(ladder.contest, ladder.store).published == ((1, 1, SHA256),)
    else:
        with pytest.raises(VerifyError, match=why):
            verify(ladder.contest, ladder.store)


async def test_verify_compares_the_file_of_a_published_program(
    ladder: Ladder, capsys: pytest.CaptureFixture[str]
) -> None:
    await ladder.round(1, 0)
    await ladder.round(1, 4 * WEEK)
    await ladder.rule.check()
    path, command = published_path(ladder.contest.folder, 1, 1), ["verify", str(ladder.contest.folder)]

    def verified() -> tuple[int, str]:
        code, said = run_command(command), capsys.readouterr()
        return code, said.out + said.err

    assert verified()[0] == 0
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("program.py", GET_STEP)
    for content, why in ((other.getvalue(), "its files have the SHA-256"), (b"?", "the zip file is not complete")):
        path.write_bytes(content)
        code, said = verified()
        assert (code, why in said) == (1, True)
    path.unlink()
    code, said = verified()
    assert (code, "1-1.zip is missing" in said) == (0, True)


def test_a_source_of_several_files_keeps_its_hash_in_the_published_file(tmp_path: Path) -> None:
    source = unzipped_source("a.zip", zipped({"src/main.py": b"1", "src/a.b": b"2"}))
    assert [file.path for file in source.files] == ["src/a.b", "src/main.py"]
    (tmp_path / "a.zip").write_bytes(zipped({"src/main.py": b"1", "src/a.b": b"2"}))
    assert check_publication(tmp_path / "a.zip", source.sha256) is None
