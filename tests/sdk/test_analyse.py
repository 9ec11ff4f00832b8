"""A replay page is read back to its game, and ``getstep analyse`` says what gave away most."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from getstep import cli
from getstep.replay import NotAReplayError, Replay, ReplayTurn, read_replays, replay_data, replay_page
from getstep_engines import GAMES, Player, TimeControl

SIZES = {"pseudo_tonga": {"size": 10}}


def some_game(name: str, faults: bool = False) -> Replay:
    """Return a random game, with some faults if asked."""
    game, dice = GAMES[name], Random(name)
    options = SIZES.get(name, {})
    state = game.start(**options)
    turns: list[ReplayTurn] = []
    while state.outcome is None:
        player: Player = state.to_move
        if faults and len(turns) in (2, 5):
            turns.append(
                ReplayTurn(player, "fault", tried="(9, 9)", code="illegal_move", reason="no", seconds=0.25)
            )
            state.fault()
        else:
            move = dice.choice(list(state.legal_moves()))
            turns.append(ReplayTurn(player, move=move, seconds=0.5, remarks=["remark"] if len(turns) == 1 else []))
            state.play(move)
        turns += [ReplayTurn(who, "pass") for who in state.passed]
    return Replay(
        game, name, ("Ada </script>", "Grace"), turns, TimeControl("move", 5.0), options, "game 1", "Ada wins", "so"
    )


def written(folder: Path, *games: Replay) -> Path:
    path = folder / "my replay.html"
    path.write_text(replay_page(replay_data(games, title="a title")), encoding="utf-8")
    return path


@pytest.mark.parametrize("faults", [False, True], ids=["clean", "with faults"])
@pytest.mark.parametrize("name", GAMES)
def test_a_page_is_read_back_to_its_game(name: str, faults: bool, tmp_path: Path) -> None:
    game = some_game(name, faults)
    [read] = read_replays(written(tmp_path, game))
    assert (read.game, read.names, read.options, read.limit) == (game.game, game.names, game.options, game.limit)
    assert (read.title, read.result, read.reason) == (game.title, game.result, game.reason)
    assert [(t.player, t.kind, t.move, t.code, t.seconds) for t in read.turns] == [
        (t.player, t.kind, t.move, t.code, t.seconds) for t in game.turns
    ]
    assert replay_data([read], title="a title") == replay_data([game], title="a title")


def damaged(page: str, **changes: Any) -> str:
    """Return the page with other values in its first game."""
    [text] = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    data["games"][0] |= changes
    return page.replace(text, json.dumps(data).replace("<", "\\u003c"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"turns": [{"p": 0, "m": "Z99"}]}, r"turn 1: linkage does not allow it \('Z99'\)"),
        ({"turns": [{"p": 1, "m": "RA1B1"}]}, "turn 1: it is not this player's turn"),
        ({"turns": [{"p": 0, "k": "dance"}]}, "turn 1 is of the kind 'dance'"),
        ({"turns": [{"p": 0, "m": 4}]}, "the replay in it is damaged"),
        ({"turns": 7}, "the replay in it is damaged"),
        ({"look": 3}, "the replay in it is damaged"),
        ({"names": ["Ada"]}, "the replay in it is damaged"),
        ({"start": [[1]]}, "no game of linkage begins on its first board"),
        ({"limit": {"kind": "never", "ms": 1}}, "its limit is of the kind 'never'"),
        ({"limit": {"kind": "move", "ms": "long"}}, "a time of 'long' ms; expected 0 to 86400000"),
        ({"limit": {"kind": "budget", "ms": 1, "increment": -1}}, "a time of -1 ms; expected 0 to 86400000"),
        ({"turns": [{"p": 0, "m": "RA1B1", "t": float("nan")}]}, "a time of nan ms; expected 0 to 86400000"),
    ],
)
def test_a_damaged_page_is_refused_with_a_reason(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    page = written(tmp_path, some_game("linkage"))
    page.write_text(damaged(page.read_text(encoding="utf-8"), **changes), encoding="utf-8")
    with pytest.raises(NotAReplayError, match=says):
        read_replays(page)


def test_a_file_that_is_no_replay_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bot.py").write_text("print('hello')")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, says in (("bot.py", "not a replay"), ("binary", "not a replay"), ("none", "it cannot be read")):
        assert cli.main(["analyse", str(tmp_path / name)]) == 2
        assert says in capsys.readouterr().err


def test_the_command_says_what_gave_away_most_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = some_game("linkage")
    page = written(tmp_path, game, some_game("pseudo_tonga"))
    assert cli.main(["analyse", str(page), "--seconds", "2"]) == 0
    said = capsys.readouterr().out
    assert "The page has 2 games; this is the first. Another one: --number 2." in said
    assert re.search(
        r"^1\. Move \d+, (Ada </script>|Grace) \((More|Fewer)\): [RBGY]\w{4} gave away \d\.\d\d \(",
        said,
        re.MULTILINE,
    )
    assert "   Better: " in said
    assert "    0  1  2  3  4  5  6\n" in said
    assert max(map(len, said.splitlines()[:-1])) <= 79
    analysed = tmp_path / "my replay-analysis.html"
    whole, *better = read_replays(analysed)
    assert [turn.move for turn in whole.turns] == [turn.move for turn in game.turns]
    assert 1 <= len(better) <= 3
    assert better[0].title.startswith("turning point 1: better at move ")
    [text] = re.findall(r'id="data">(.*?)</script>', analysed.read_text(encoding="utf-8"), re.DOTALL)
    data = json.loads(text)
    assert [link.rpartition(":")[0] for link, _ in data["links"]] == [
        f"Turning point {place}" for place in range(1, len(better) + 1)
    ]
    first = re.search(r"\d+$", better[0].title)
    assert first
    assert data["links"][0][1] == f"#game=1&move={first[0]}"
    turns = data["games"][0]["turns"]
    assert all(-1 <= turn["e"] <= 1 for turn in turns if "k" not in turn)
    assert sum("n" in turn for turn in turns) >= len(better)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--number", "2"], "--number: the page has 1 games; expected 1 to 1 (2)"),
        (["--html", "/no/such/folder/x.html", "--seconds", "1"], "the page cannot be written"),
    ],
)
def test_wrong_words(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = written(tmp_path, some_game("linkage"))
    assert cli.main(["analyse", str(page), *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "nan", "1e9", "soon"])
def test_the_seconds_are_bounded(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["analyse", "x.html", "--seconds", text])
    assert ended.value.code == 2
    assert "expected a number from 1 to 86400" in capsys.readouterr().err
