"""A server is killed, and a bit of the database's log flips: SQLite then reads fewer records, and says nothing."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.contests import MakeContest
from tests.support.processes import Programs
from tests.support.scripts import SCRIPTS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

ANNOUNCED = 80
HEADER = 32
FRAME = 24 + 4096


def superseded(wal: bytes | bytearray) -> int:
    """Where the first frame at or behind the middle of `wal` starts whose page is written again further on.

    SQLite stops reading at a damaged frame, so what follows is lost to it. The page itself is not lost:
    a later frame holds all of it. In a frame with the last copy of its page, a record would be lost for good.
    """
    starts = range(HEADER, len(wal) - FRAME + 1, FRAME)
    last = {bytes(wal[start : start + 4]): start for start in starts}
    return next(start for start in starts[len(starts) // 2 :] if start < last[bytes(wal[start : start + 4])])


def logged(folder: Path) -> list[int]:
    lines = (folder / "contest.log").read_bytes().splitlines()
    return [json.loads(line)["match"] for line in lines if b'"match_ended"' in line and line.endswith(b"}")]


@pytest.mark.long
def test_results_behind_a_damaged_frame_are_missed_and_rescued(
    programs: Programs,
    make_contest: MakeContest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = make_contest(
        12, start={"absent_seconds": 1}
    )  # nobody comes: each match is a forfeit, on record at once
    killed = (str(SCRIPTS / "crash_server.py"), "after-announcing", str(ANNOUNCED))
    assert programs.serve(folder, "--now", server=killed).wait() == -signal.SIGKILL
    monkeypatch.chdir(tmp_path)
    command = Command(capsys)
    shutil.copytree("contest", "whole")
    whole = command("verify", "whole")
    assert whole.code == 0
    tip = whole.out.split()[-1]

    wal = Path("contest/contest.db-wal")
    content = bytearray(wal.read_bytes())
    content[superseded(content) + 1000] ^= 1
    wal.write_bytes(content)
    with sqlite3.connect("file:contest/contest.db?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
        (played,) = database.execute("SELECT count(*) FROM records WHERE number IS NOT NULL").fetchone()
    database.close()
    assert 0 < played < len(logged(Path("contest"))), "the damage has to cost results that were announced"

    missing = "the newest records are missing: contest.log has results of matches "
    table = command("standings", "contest")
    assert table.code == 0
    assert missing in table.err
    assert "This table may be wrong" in table.err
    verified = command("verify", "contest")
    assert verified.code == 1
    assert f"DOES NOT FIT: contest/contest.db: {missing}" in verified.out
    for words in ("run contest --now --no-web --no-announce", "teams withdraw contest Ada --why late"):
        refused = command(*words.split())
        assert (refused.code, refused.out) == (2, "")
        assert missing in refused.err
        assert "getstep-server rescue contest (" in refused.err
    assert wal.read_bytes() == content, "nobody cuts off what SQLite cannot read"

    assert command("rescue", "contest").code == 0
    assert command("verify", "contest-rescued").out.split()[-1] == tip

    accepted = command(
        "run", "contest", "--accept-loss", "--now", "--host", "256.0.0.1", "--no-web", "--no-announce"
    )
    assert "The old log, and a copy of the records, are in contest/earlier-" in accepted.out
    (kept,) = Path("contest").glob("earlier-*")
    assert (kept / "contest.db-wal").read_bytes() == content
    assert logged(kept)
    assert "missing" not in command("standings", "contest").err
    assert command("verify", "contest").code == 0
