"""A rehearsal: sample bots play a copy of a prepared contest, which stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_server.cli.main import run_command
from getstep_server.cli.run import rehearsal_of
from getstep_server.config.certificate import certificate_of
from getstep_server.config.contest import Contest, database_path, load_contest
from getstep_server.errors import UsageError
from getstep_server.storage.contest_state import results_of
from tests.support.contests import make_contest


@pytest.fixture(name="prepared")
def a_prepared_contest(tmp_path: Path) -> Contest:
    return make_contest(tmp_path / "autumn", on_disk=True, event={"game": "hop", "settings": {"legs": 1}})


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_a_rehearsal_plays_a_copy(prepared: Contest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_in(prepared.folder)
    kept = tmp_path / "kept"
    assert run_command(["rehearse", str(prepared.folder), "--bots", "--plain", "--keep", str(kept)]) == 0
    assert files_in(prepared.folder) == before
    copy = load_contest(kept)
    played = results_of(copy)
    assert [result.reason for result in played] == ["finished"]
    assert copy.teams == prepared.teams
    out = capsys.readouterr().out
    assert "Standings after 1 match" in out
    assert f"{prepared.folder} is unchanged" in out


def test_the_copy_listens_on_this_machine_alone_and_has_a_bot_for_each_team(
    prepared: Contest, tmp_path: Path
) -> None:
    contest, bots = rehearsal_of(prepared, tmp_path / "copy")
    server = contest.file.server
    assert (server.host, server.port, server.classic_port) == ("127.0.0.1", 0, None)
    assert bots.keys() == prepared.teams.keys()
    assert contest.events[0].game == prepared.events[0].game


def test_the_copy_needs_no_certificate(tmp_path: Path) -> None:
    """Its files are beside the contest, and the bots of a rehearsal use no TLS."""
    settings = {"tls_certificate": "host.pem", "tls_key": "host.key"}
    contest, _ = rehearsal_of(make_contest(tmp_path / "tls", on_disk=True, server=settings), tmp_path / "copy")
    assert certificate_of(contest) is None


def test_the_copy_never_has_the_database_of_the_contest(prepared: Contest, tmp_path: Path) -> None:
    toml = prepared.folder / "contest.toml"
    text = toml.read_text(encoding="utf-8")
    assert "[server]\n" in text
    address = 'database = "postgresql://db.example/contests#autumn"'
    toml.write_text(text.replace("[server]\n", f"[server]\n{address}\n"), encoding="utf-8")
    contest, _ = rehearsal_of(load_contest(prepared.folder), tmp_path / "copy")
    assert contest.database == load_contest(tmp_path / "copy").database == database_path(tmp_path / "copy")


def test_a_folder_that_exists_is_not_used(prepared: Contest) -> None:
    before = files_in(prepared.folder)
    with pytest.raises(UsageError, match="already; expected a new one"):
        rehearsal_of(prepared, prepared.folder)
    assert files_in(prepared.folder) == before


def test_it_says_who_plays(prepared: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["rehearse", str(prepared.folder)]) == 2
    assert f"getstep-server rehearse {prepared.folder} --bots" in capsys.readouterr().err


def test_house_bots_are_the_same_bots_in_the_copy(tmp_path: Path) -> None:
    arena = {"game": "hop", "format": "arena", "settings": {"house_bots": ["random", "greedy"]}}
    prepared = make_contest(tmp_path / "lab", on_disk=True, event=arena)
    _, bots = rehearsal_of(prepared, tmp_path / "copy")
    files = {prepared.team_name(team): bots[team].file.name for team in prepared.house_bots}
    assert sorted(files.values()) == ["greedy.py", "random_bot.py"]
