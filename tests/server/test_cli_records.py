"""The host's commands for records: what they print, and their exit codes."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from getstep_server.config.contest import Contest
from tests.support.command import Command
from tests.support.tampering import Forged
from tests.support.terminal import OnTerminal


@pytest.fixture
def contest(hop_contest: Contest) -> Contest:
    return hop_contest


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


@pytest.fixture
def autumn(contest: Contest, tmp_path: Path) -> Path:
    """A copy of the contest, to be changed."""
    shutil.copytree(contest.folder, tmp_path / "autumn")
    return Path("autumn")


@pytest.fixture
def forged(autumn: Path, tmp_path: Path) -> Iterator[Forged]:
    path = tmp_path / "forged.db"
    forged = Forged(autumn / "contest.db", path)
    yield forged
    forged.close()


@pytest.mark.parametrize("name", ["show", "export", "verify"])
def test_help_fits_a_terminal(command: Command, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = command(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) < 82
    assert re.search(rf"^    {name}\b", command("--help").out, re.MULTILINE)


@pytest.mark.parametrize("words", ["show autumn 1", "export autumn --matches", "verify autumn"])
def test_no_database_yet(command: Command, words: str) -> None:
    command("init", "autumn")
    ran = command(*words.split())
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "getstep-server: autumn/contest.db: no such file; nothing has been played yet\n"
    assert not Path("autumn/contest.db").exists()


# --- verify ---------------------------------------------------------------------------------------------------


def test_verify_says_that_all_fits(command: Command, autumn: Path) -> None:
    ran = command("verify", "autumn")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(
        r"Everything fits: 16 records, 12 of 12 matches played \(further attempts: 2 void\),"
        r" \d{3} turns replayed\.\n"
        r"Hash of the last record: [0-9a-f]{64}\n",
        ran.out,
    )


def test_verify_names_what_does_not_fit(command: Command, autumn: Path, forged: Forged) -> None:
    forged.head(5, lambda head: head.update(detail="Black \x1b[2J wins")).reseal().close()
    shutil.copy(forged.path, autumn / "contest.db")
    ran = command("verify", "autumn")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(
        "DOES NOT FIT: place 5, match 3, attempt 1: detail is 'Black \\x1b[2J wins', expected '"
    )


def test_verify_finds_an_expected_hash(command: Command, autumn: Path, forged: Forged) -> None:
    head = command("verify", "autumn").out.split()[-1]
    assert (
        "The expected hash is in the chain, as its last.\n"
        in command("verify", "autumn", "--expect-hash", head).out
    )
    earlier = forged.sql("SELECT hash FROM records WHERE place = 10")[0][0].decode()
    ran = command("verify", "autumn", "--expect-hash", earlier)
    assert ran.code == 0
    assert "The expected hash is in the chain; 6 records came later.\n" in ran.out
    ran = command("verify", "autumn", "--expect-hash", "f" * 64)
    assert (ran.code, ran.out.partition(":")[0]) == (1, "DOES NOT FIT")
    former = command("verify", "autumn", "--head", earlier)
    assert former == command("verify", "autumn", "--expect-hash", earlier)


def test_verify_wants_a_whole_hash(command: Command, autumn: Path) -> None:
    ran = command("verify", "autumn", "--expect-hash", "09AF")
    assert (ran.code, ran.out) == (2, "")
    assert "--expect-hash: '09AF', expected 64 hexadecimal digits" in ran.err


def test_verify_shows_how_far_it_is(autumn: Path, tmp_path: Path) -> None:
    with OnTerminal([sys.executable, "-m", "getstep_server", "verify", str(autumn)], cwd=tmp_path) as terminal:
        assert terminal.wait() == 0
        shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.raw)
        assert re.search("verified ━+ +16 of 16", shown)
        assert terminal.screen.text.startswith("Everything fits: 16 records")  # and nothing is left of the bar
        assert terminal.screen.unknown == []
