"""The command ``getstep-server sdk``, which writes the files of other languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep.languages import LANGUAGES
from getstep_server.cli.main import run_command


@pytest.mark.parametrize("name", LANGUAGES)
def test_it_writes_the_files_and_says_where(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    files = dict(LANGUAGES[name].sdk_files())
    for _ in ("first", "again"):
        assert run_command(["sdk", name, str(folder)]) == 0
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
        assert capsys.readouterr().out.splitlines() == [str(folder / file) for file in files]


def test_it_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "getstep.hpp"
    mine.write_text("mine")
    assert run_command(["sdk", "cpp", str(tmp_path)]) == 2
    assert "getstep.hpp: another file of this name is there" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_it_knows_no_other_language(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run_command(["sdk", "cobol"])
    assert "invalid choice: 'cobol'" in capsys.readouterr().err
