"""Games of OpenSpiel in a contest: played through a server that is killed and resumes, then shown and verified."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.interrupted_contest import Hosted
from tests.support.ledger import on_record
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytest.importorskip("pyspiel", reason="the extra `open_spiel` is not installed")
pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")]


def run(folder: Path, *command: str) -> str:
    """Run ``python -m`` a command in a folder, and return what it says."""
    ran = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE_SECONDS, check=True,
    )  # fmt: skip
    return ran.stdout


@pytest.mark.parametrize(
    ("game", "options", "character"),
    [
        ("openspiel_breakthrough", {"rows": 6, "columns": 5}, "w"),
        ("openspiel_dots_and_boxes", {"num_rows": 3, "num_cols": 3}, "├"),  # players act several times in a row
    ],
)
def test_a_contest_of_a_game_of_openspiel(
    programs: Programs,
    make_contest: MakeContest,
    tmp_path: Path,
    game: str,
    options: dict[str, int],
    character: str,
) -> None:
    folder = make_contest(4, event={"game": game, "options": options}, server={"port": free_port()})
    hosted = Hosted(programs, folder, 4)
    hosted.start()
    hosted.kill_in_the_middle(1, 2)
    assert "resumes after turn" in hosted.play_on()
    assert hosted.complaints() == []
    games = on_record(folder).games
    assert {each["reason"] for each in games} == {"finished"}
    assert all(isinstance(turn["move"], str) for each in games for turn in each["turns"] if "pass" not in turn)
    assert any("pass" in turn for each in games for turn in each["turns"]) == (game == "openspiel_dots_and_boxes")

    contest = str(folder)
    assert "Everything fits: " in run(tmp_path, "getstep_server", "verify", contest)
    shown = run(tmp_path, "getstep_server", "show", contest, "1")
    (first,) = (each["turns"][0]["move"] for each in games if each["match"] == 1)
    assert f"   1  {first} " in shown
    run(tmp_path, "getstep_server", "replay", contest, "1", "--no-open", "--out", "replay.html")
    assert first in (tmp_path / "replay.html").read_text(encoding="utf-8")
    run(tmp_path, "getstep_server", "report", contest, "--output", "report.html")
    text = run(tmp_path, "getstep_server", "export", contest, "--matches", "--format", "headed")
    assert f'[game "{game}"]' in text
    web = ("-u", "-m", "getstep_server", "web", contest, "--host", "127.0.0.1", "--port", "0")
    page = programs.start(sys.executable, *web, cwd=tmp_path)
    address = page.expect(r"(http://127\.0\.0\.1:\d+/)")[1]
    with urllib.request.urlopen(f"{address}look/{game}.json", timeout=PATIENCE_SECONDS) as answer:
        look: dict[str, Any] = json.load(answer)
    assert look["game"] == game
    assert character in [piece["text"] for piece in look["pieces"].values()]


def test_a_bot_practises_a_game_of_openspiel(tmp_path: Path) -> None:
    """The bot reads OpenSpiel's state from the board, and plays by OpenSpiel's numbers and texts."""
    (tmp_path / "my_bot.py").write_text(
        "# openspiel_connect_four\n"
        "from getstep_engines import GAMES\n"
        "def get_step(board, is_black, turn):\n"
        "    spiel = GAMES[turn.game].from_board(board, is_black).spiel\n"
        "    return spiel.action_to_string(spiel.legal_actions()[0])\n",
        encoding="utf-8",
    )
    said = run(tmp_path, "getstep", "practice", "my_bot.py", "--against", "random", "--games", "2")
    assert re.search(r"^my_bot.py against random, openspiel_connect_four: ", said, re.MULTILINE)
    assert "fault" not in said
    assert "x0" in (tmp_path / "my_bot-practice.html").read_text(encoding="utf-8")
    assert "- Move. OpenSpiel's text of the action" in run(tmp_path, "getstep", "rules", "openspiel_connect_four")
