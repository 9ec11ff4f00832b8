"""The output of the host's commands about one contest, word for word: one golden file for each screen.

Other tests compare codes and fields. The contest is one that an earlier version has left, so its records are fixed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.old_contests.contests import unpack
from tests.support.command import Command
from tests.support.golden import assert_golden

SCREENS = {
    "standings": "standings autumn",
    "crosstable": "crosstable autumn",
    "ratings": "ratings autumn",
    "matches-list": "matches list autumn",
    "teams-list": "teams list autumn",
    "incidents": "incidents autumn",
    "decisions": "decisions autumn",
    "show": "show autumn 1",
    "verify": "verify autumn",
    "export-standings": "export autumn --standings --format csv",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the contest; nothing here changes it."""
    made = tmp_path_factory.mktemp("screens")
    unpack("0.1.0-before-settings/finished", made / "autumn")
    return made


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    ran = Command(capsys)(*SCREENS[name].split())
    assert ran.code == 0
    assert_golden(name, f"{ran.out}{ran.err}")
