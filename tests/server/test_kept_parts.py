"""What is kept from one report or site to the next: the bytes are those of pages that are all made anew."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.reports import kept_parts, match_pages, report
from getstep_server.storage.store import Store
from tests.support.command import Command
from tests.support.random_results import make_up, play_on

EVENTS = [{"game": "hop", "settings": {"legs": 2}}, {"game": "chain_reaction", "settings": {"legs": 2}}]
NAMES = ["Ada", "Blaise", "Carl", "Dorothy"]
FOLDER = Path("autumn")
PLAYED = 16
"""All 12 matches of the first event, and 4 of the second."""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    make_up(FOLDER, EVENTS, NAMES, most=PLAYED)
    return Command(capsys)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What was made: replays, and the ratings of each event."""
    counts = Counter[str]()

    def count(module: Any, name: str, what: Callable[..., str]) -> None:
        function = getattr(module, name)

        def counted(*args: Any, **named: Any) -> Any:
            counts[what(*args)] += 1
            return function(*args, **named)

        monkeypatch.setattr(module, name, counted)

    count(match_pages, "replay_page", lambda *_: "replay")
    count(report, "ratings_of", lambda _, event: event.game.name)
    return counts


def done(command: Command, *arguments: str) -> None:
    assert command(*arguments).code == 0, arguments


def pages(command: Command, folder: Path) -> dict[str, bytes]:
    """Write the report and the site of a contest, and return all their files."""
    done(command, "report", str(folder))
    done(command, "site", str(folder))
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix in (".html", ".js", ".css"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def made_anew(command: Command) -> dict[str, bytes]:
    whole = FOLDER.with_name("whole")
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(FOLDER, whole, ignore=shutil.ignore_patterns(".getstep-*", "public", "report*"))
    return pages(command, whole)


def test_only_what_has_changed_is_made_again(command: Command, made: Counter[str]) -> None:
    done(command, "report", str(FOLDER))
    assert made == {"replay": PLAYED, "hop": 1, "chain_reaction": 1}
    made.clear()
    done(command, "report", str(FOLDER))
    assert made == {}
    play_on(load_contest(FOLDER), 1)
    done(command, "report", str(FOLDER))
    # the new match, and those of the same two teams in this event, which link to it
    assert made == {"replay": made["replay"], "chain_reaction": 1}
    assert 1 <= made["replay"] <= 2


def test_a_new_result_costs_the_parts_of_its_event(command: Command, made: Counter[str]) -> None:
    """In one process, without a file of parts."""

    def page(kept: kept_parts.KeptParts | None) -> str:
        with Store(contest.database, reading=True) as store:
            return report.as_html(report.load_report_data(contest, store), kept=kept)

    contest = load_contest(FOLDER)
    before = kept_parts.KeptParts()
    page(before)
    play_on(contest, 1)
    made.clear()
    after = kept_parts.KeptParts(before.parts)
    assert page(after) == page(None)
    assert made == {"hop": 1, "chain_reaction": 2}  # hop's only without kept parts
    of_hop = before.parts.html.keys() & after.parts.html.keys()
    assert (len(of_hop), len(after.parts.html)) == (2, 4)  # an event and its ratings each
    assert len(after.parts.fits.keys() - before.parts.fits.keys()) == 1  # the ratings after the new result


@pytest.mark.long
def test_kept_parts_make_the_same_bytes(command: Command, made: Counter[str]) -> None:
    """After new results, rulings and their reversal, a rename, a freeze and its reveal, and with damaged files."""
    contest = load_contest(FOLDER)
    first = pages(command, FOLDER)
    assert first == made_anew(command)
    changes: list[Callable[[], object]] = [
        lambda: play_on(contest, 3),
        lambda: done(command, "matches", "adjudicate", "autumn", "1", "--winner", "draw", "--why", "seen by all"),
        lambda: done(command, "matches", "rematch", "autumn", "2", "--why", "a power cut"),
        lambda: done(command, "teams", "rename", "autumn", "Ada", "Ada & <Lovelace>"),
        lambda: done(command, "teams", "disqualify", "autumn", "Carl", "--why", "two bots"),
        lambda: done(command, "teams", "reinstate", "autumn", "Carl", "--why", "it was one"),
        lambda: done(command, "freeze", "autumn"),
        lambda: play_on(load_contest(FOLDER), 2),
        lambda: done(command, "reveal", "autumn", "--all"),
        lambda: FOLDER.joinpath(".getstep-report.json").write_bytes(b'{"html":{"'),
        lambda: FOLDER.joinpath("report_matches", "3.html").write_text("changed by somebody"),
        lambda: FOLDER.joinpath("public", "matches", "3.html").unlink(),
    ]
    for change in changes:
        change()
        made.clear()
        kept = pages(command, FOLDER)
        again = made["replay"]
        made.clear()
        assert kept == made_anew(command)
        assert again < made["replay"], "all replays were made again"


def test_another_program_keeps_nothing(
    command: Command, made: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done(command, "report", str(FOLDER))
    made.clear()
    monkeypatch.setattr(kept_parts, "_program", lambda: "the next version")
    done(command, "report", str(FOLDER))
    assert made == {"replay": PLAYED, "hop": 1, "chain_reaction": 1}


def test_a_folder_that_cannot_be_written_stops_no_report(tmp_path: Path) -> None:
    with kept_parts.kept_parts(tmp_path / "nowhere", "report") as kept:
        assert kept.html("anything", lambda: "made") == "made"
    assert list(tmp_path.iterdir()) == []
