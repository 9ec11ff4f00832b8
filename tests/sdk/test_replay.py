"""Replays: their data, the page, and the script that reads the data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from getstep.drawing import Picture, draw_svg
from getstep.replay import (
    MODULES,
    NotAReplayError,
    Replay,
    ReplayTurn,
    as_data_block,
    read_replays,
    replay_data,
    replay_page,
    script,
    source,
    style,
)
from getstep_engines import GAMES, TimeControl, Touched, look_json
from tests.support.node import NEEDS_NODE, NODE, Call, call_in_node
from tests.support.replays import decoded, noted, played_replay, with_texts

MOST_BYTES = 40_000
SEEDS = (1, 2)
ALL = [(name, seed) for name in GAMES for seed in SEEDS]

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u202e'\"&\x00\ud800"


def data_of(*replays: Replay) -> dict[str, Any]:
    """The data as a browser gets it."""
    data: dict[str, Any] = json.loads(as_data_block(replay_data(replays, title="Replay")))
    return data


def short(turns: list[ReplayTurn], **fields: Any) -> Replay:
    game = GAMES["hop"]
    return Replay(game, "hop", ("Ada", "Blaise"), turns, **{"limit": game.time_control, **fields})


# --- the data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), ALL)
def test_the_boards_of_a_game_come_back_from_its_data(name: str, seed: int) -> None:
    replay, boards = played_replay(name, seed, faults=0.1 if name in ("hop", "pseudo_tonga") else 0.0)
    (game,) = data_of(replay)["games"]
    assert decoded(game) == boards
    assert [turn["p"] for turn in game["turns"]] == [turn.player for turn in replay.turns]
    assert "problem" not in game


def test_the_score_line_has_its_numbers_after_each_turn() -> None:
    replay, _ = played_replay("chain_reaction", 3)
    (game,) = data_of(replay)["games"]
    state, score = GAMES["chain_reaction"].start(), game["score"]
    for turn, made in zip(game["turns"], replay.turns, strict=True):
        state.play(made.move)
        score = turn.get("g", score)
        assert score == list(GAMES["chain_reaction"].measures(state) or ())


def test_a_chain_of_hops_has_a_step_for_each_hop() -> None:
    replay, _ = played_replay("hop", 5)
    (game,) = data_of(replay)["games"]
    lengths = [len(turn["s"]) for turn in game["turns"] if "s" in turn]
    assert lengths == [len(turn.move) - 1 for turn in replay.turns if turn.kind == "move"]
    assert max(lengths) > 1


def test_a_turn_has_its_times_code_reason_and_remarks() -> None:
    turns = [
        ReplayTurn(0, move=[(2, 2), (2, 3)], seconds=0.00123, left=19.99877, remarks=["The server was restarted."]),
        ReplayTurn(1, "fault", code="illegal_move", tried="0,0", reason="not a piece", seconds=1.2344),
        ReplayTurn(0, "end", code="resigned", seconds=0.5),
    ]
    (game,) = data_of(short(turns))["games"]
    first, second, third = game["turns"]
    assert (first["m"], first["t"], first["l"], first["n"]) == (
        "2,2-2,3",
        1.2,
        19999,
        ["The server was restarted."],
    )
    assert {key: second[key] for key in "pkmcwt"} == {
        "p": 1, "k": "fault", "m": "0,0", "c": "illegal_move", "w": "not a piece", "t": 1234,
    }  # fmt: skip
    assert third == {"p": 0, "k": "end", "c": "resigned", "t": 500}


def test_a_game_without_its_rules_has_its_moves_and_says_so() -> None:
    gone = Replay(None, "othello", ("Ada", "Blaise"), [ReplayTurn(0, move=[3, 4])], TimeControl("move", 5.0))
    (game,) = data_of(gone)["games"]
    assert game["problem"] == "The rules of othello are not installed: no boards."
    assert game["turns"] == [{"p": 0, "m": "3,4", "t": 0}]
    assert "start" not in game


def test_options_that_the_installed_rules_do_not_have() -> None:
    (game,) = data_of(short([ReplayTurn(0, move=[[2, 2], [2, 3]])], options={"size": 9}))["games"]
    assert "hop has no option 'size'" in game["problem"]
    assert len(game["turns"]) == 1


@pytest.mark.parametrize("move", [[[0, 0], [7, 7]], None, "x", [[2, 2], [2, 3, 4]], {"a": 1}, [[0, 1e300]]])
def test_a_turn_that_the_rules_do_not_allow_ends_the_replay_there(move: Any) -> None:
    good = ReplayTurn(0, move=[[2, 2], [2, 3]])
    (game,) = data_of(short([good, ReplayTurn(1, move=move), good]))["games"]
    assert len(game["turns"]) == 1
    assert game["problem"].startswith("The turns from 2 on are missing: the rules do not allow it (")


def test_a_turn_of_the_wrong_player_or_after_the_end() -> None:
    good = ReplayTurn(0, move=[[2, 2], [2, 3]])
    assert "expected player 1" in data_of(short([good, good]))["games"][0]["problem"]
    whole, _ = played_replay("longest_path", 1)
    (game,) = data_of(replace(whole, turns=[*whole.turns, ReplayTurn(0, move=(0, 0))]))["games"]
    assert len(game["turns"]) == 121
    assert "the game is over" in game["problem"]


def test_a_game_without_any_turn() -> None:
    (game,) = data_of(short([], result="Ada wins", reason="never_arrived: Blaise did not come"))["games"]
    assert (game["turns"], game["result"]) == ([], "Ada wins")
    assert game["start"] == GAMES["hop"].start().board()


def test_a_page_of_many_games_has_each_look_once() -> None:
    data = data_of(*(played_replay(name, 1)[0] for name in ("hop", "linkage", "hop")))
    assert [game["look"] for game in data["games"]] == [0, 1, 0]
    assert [look["game"] for look in data["looks"]] == ["hop", "linkage"]


# --- the size -------------------------------------------------------------------------------------------------


def test_a_game_of_400_turns_takes_at_most_40_kb() -> None:
    games = [replay for replay, _ in (played_replay("hop", seed) for seed in range(6)) if len(replay.turns) == 400]
    assert games
    for replay in games:
        assert len(as_data_block(replay_data([replay], title="Match 7"))) <= MOST_BYTES


def test_a_game_of_400_turns_with_faults_takes_at_most_40_kb() -> None:
    replay, _ = played_replay("hop", 3, faults=0.7)
    assert len(replay.turns) == 400
    assert len(as_data_block(replay_data([replay], title="Match 7"))) <= MOST_BYTES


def test_a_long_game_of_chain_reaction_takes_at_most_40_kb() -> None:
    games = [played_replay("chain_reaction", seed)[0] for seed in range(20)]
    longest = max(games, key=lambda replay: len(as_data_block(replay_data([replay], title=""))))
    assert len(longest.turns) > 110
    assert len(as_data_block(replay_data([longest], title="Match 7"))) <= MOST_BYTES


def hostile(reason: Callable[[int], str], *, tried: Any = None) -> Replay:
    """A game of which every turn is a fault, with texts as a hostile bot writes them."""
    text = "" if tried is None else str(tried)[:200]
    turns = [
        ReplayTurn(n % 2, "fault", tried, text, "illegal_move", reason(n), 0.01234)  # type: ignore[arg-type]  # 0 or 1
        for n in range(400)
    ]
    return short(turns)


PATH = [[n % 8, n % 7] for n in range(90)]


@pytest.mark.parametrize(
    "reason",
    [
        lambda n: f"{n} {'x' * 500}",
        lambda n: f"ValueError: {n} {'寿限無' * 150}",
        lambda n: f"{'<' * 400}{n}",
        lambda n: f"\N{DUCK}\x00\ud800{n}" * 90,
        lambda n: "the same long text " * 30,
    ],
)
def test_400_faults_with_hostile_texts_take_at_most_40_kb(reason: Callable[[int], str]) -> None:
    for tried in (None, PATH):
        replay = hostile(reason, tried=tried)
        block = as_data_block(replay_data([replay], title="Match 7"))
        assert len(block) <= MOST_BYTES
        (game,) = json.loads(block)["games"]
        for turn, shown in zip(replay.turns, with_texts(game), strict=True):
            assert shown["c"] == "illegal_move"
            assert shown["w"] == turn.reason or turn.reason.startswith(shown["w"].removesuffix("…"))
            assert shown["w"]


def test_a_text_that_comes_again_is_stored_once_and_short_ones_stay_whole() -> None:
    replay = hostile(lambda n: "the same" if n % 2 else f"{n}: {'x' * 900}")
    (game,) = data_of(replay)["games"]
    assert game["texts"] == ["illegal_move", "the same"]
    shown = with_texts(game)
    assert {turn["w"] for turn in shown[1::2]} == {"the same"}
    lengths = {len(turn["w"]) for turn in shown[::2]}
    assert len(lengths) == 1  # each has the same room
    assert lengths.pop() > 60
    assert game["turns"][0]["w"].endswith("x…")


def test_texts_that_fit_are_whole() -> None:
    long = "why " * 200
    (game,) = data_of(short([ReplayTurn(0, "fault", code="raised", reason=long)]))["games"]
    assert game["turns"][0]["w"] == long
    assert "texts" not in game


def test_the_squares_of_an_illegal_move_are_marked() -> None:
    tried = [[2, 2], [2, 9], [7, 7], ["x", 1], [2, 2]]
    (game,) = data_of(short([ReplayTurn(0, "fault", tried, "2,2-2,9-7,7", "illegal_move", "not a move")]))["games"]
    assert game["turns"][0]["q"] == [18, 63]


def test_the_script_and_the_style_stay_small() -> None:
    """The live page may have 100 kB of script, and this is a part of it."""
    assert len(script().encode()) <= 40_000
    assert len(style().encode()) <= 14_000


def test_a_replay_of_a_newer_getstep_says_what_it_needs(tmp_path: Path) -> None:
    data = replay_data([played_replay("hop", 1)[0]], title="Replay")
    path = tmp_path / "replay.html"
    path.write_text(replay_page({**data, "format": 2, "needs": "1.4.0", "games": "other"}), encoding="utf-8")
    with pytest.raises(NotAReplayError, match=r"it needs getstep 1\.4\.0 or newer, and this is "):
        read_replays(path)
    del data["format"], data["needs"]  # as before there were formats
    path.write_text(replay_page(data), encoding="utf-8")
    assert len(read_replays(path)) == 1


# --- the notes of the bots ------------------------------------------------------------------------------------


def test_notes_come_back_from_a_page(tmp_path: Path) -> None:
    replay = noted(played_replay("linkage", 1)[0])
    path = tmp_path / "replay.html"
    path.write_text(replay_page(replay_data([replay], title="Replay")), encoding="utf-8")
    (read,) = read_replays(path)
    assert [turn.notes for turn in read.turns] == [turn.notes for turn in replay.turns]
    assert any(turn.notes for turn in replay.turns)


def test_notes_cost_the_texts_of_faults_no_room() -> None:
    replay = hostile(lambda n: f"{n} {'x' * 500}")
    replay = replace(replay, turns=replay.turns[:100])
    (without,) = data_of(replay)["games"]
    (game,) = data_of(replace(replay, turns=[replace(turn, notes={"say": "x" * 900}) for turn in replay.turns]))[
        "games"
    ]
    assert [{**turn, "v": None} for turn in game["turns"]] == [{**turn, "v": None} for turn in without["turns"]]


def test_hostile_notes_have_a_bound_and_the_page_says_that_some_are_left_out() -> None:
    worst = {
        "say": "<\n\u202e" * 300,
        "estimate": -0.123,
        "draw": [["region", [127, 127] * 64, "<" * 8, "purple"]] * 64,
        "tags": ["<" * 24] * 8,
        "output": "\x00" * 2000,
    }
    turns = [replace(turn, notes=worst) for turn in hostile(lambda n: "x" * 500).turns[:12]]
    for games in (1, 20):
        data = replay_data([short(turns)] * games, title="")
        assert len(as_data_block(data)) <= games * MOST_BYTES + min(games * 256_000, 4_000_000)
        for game in data["games"]:
            assert "Some notes are left out here" in game["problem"]
            assert {turn["v"]["estimate"] for turn in game["turns"]} == {-0.123}
    whole = replace(short(turns[:2]), turns=turns[:2])
    (game,) = replay_data([whole], title="")["games"]
    assert "problem" not in game
    assert game["turns"][1]["v"]["say"][0] == "<"
    assert game["turns"][1]["v"]["say"][1] == "\\u202e<"


# --- the page -------------------------------------------------------------------------------------------------


def test_hostile_texts_are_data_and_nothing_else() -> None:
    turn = ReplayTurn(0, "fault", code=HOSTILE, tried=HOSTILE, reason=HOSTILE, remarks=[HOSTILE])
    replay = short([turn], title=HOSTILE, result=HOSTILE, reason=HOSTILE, facts=[(HOSTILE, HOSTILE)])
    replay = replace(replay, names=(HOSTILE, HOSTILE))
    data = replay_data([replay], title=HOSTILE, links=[(HOSTILE, "7.html")])
    page = replay_page(data)
    page.replace("\ud800", "").encode()
    assert page.count("<script") == page.count("</script>") == 2
    assert page.count("alert(1)") == page.count(html.escape(HOSTILE)) + page.count(as_data_block(HOSTILE)[1:-1])
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    assert json.loads(block[1]) == data


def test_the_policy_allows_this_script_and_this_style_only() -> None:
    page = replay_page(data_of(short([])))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    inline = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
    assert len(hashes) == 2
    assert re.findall(r"'sha256-([^']*)'", policy[1]) == list(reversed(hashes))
    assert policy[1].startswith("default-src 'none'; img-src data:; script-src ")
    assert "unsafe" not in policy[1]
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_pages_may_share_script_and_style() -> None:
    page = replay_page(data_of(short([])), assets='a"b/')
    assert '<link rel="stylesheet" href="a&quot;b/replay.css">' in page
    assert '<script src="a&quot;b/replay.js"></script>' in page
    assert len(page) < 8_000


# --- the script -----------------------------------------------------------------------------------------------

in_node = pytest.mark.skipif(NODE is None, reason=NEEDS_NODE)


def test_the_script_is_one_text_without_modules_and_comments() -> None:
    assert not re.search(r"^\s*(import|export|//|/\*|\*)", script(), re.MULTILINE)
    for name in MODULES:
        assert max(map(len, source(name).splitlines())) <= 120, name


@in_node
def test_node_reads_the_script(tmp_path: Path) -> None:
    path = tmp_path / "replay.js"
    path.write_text(script(), encoding="utf-8")
    ran = subprocess.run([str(NODE), "--check", str(path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@in_node
@pytest.mark.parametrize("name", GAMES)
def test_the_script_computes_the_same_boards(name: str) -> None:
    played = [played_replay(name, seed, faults=0.1 if name == "hop" else 0.0) for seed in SEEDS]
    games = data_of(*(replay for replay, _ in played))["games"]
    for frames, (replay, boards) in zip(
        call_in_node([("frames.js", "expand", [game]) for game in games]), played, strict=True
    ):
        assert [frame["steps"][-1]["board"] for frame in frames] == boards
        check_touched(frames, replay)


def check_touched(frames: list[Any], replay: Replay) -> None:
    assert replay.game is not None
    state = replay.game.start()
    for frame, turn in zip(frames[1:], replay.turns, strict=True):
        if turn.kind == "pass":
            assert frame["steps"][0]["touched"] is None
            continue
        steps = replay.game.trace(state, turn.move) if turn.kind == "move" else replay.game.trace_fault(state)
        for found, step in zip(frame["steps"], steps, strict=True):
            touched = found["touched"] or asdict(Touched())
            squares = {name: tuple(map(tuple, touched[name])) for name in touched}
            assert squares == {name: getattr(step.touched, name) for name in squares}
        if turn.kind == "move":
            state.play(turn.move)
        else:
            state.fault()


@in_node
@pytest.mark.parametrize("name", GAMES)
def test_the_script_draws_the_boards_that_python_draws(name: str) -> None:
    """Each step of a game by itself, and the whole turn; both texts are equal to the last character."""
    game, replay = GAMES[name], played_replay(name, 7)[0]
    look, state = look_json(game), game.start()
    expected = [draw_svg(Picture(game.look, game.view(state)), title="a<b>&\"'\u202e\x01\n", style=False)]
    calls: list[Call] = [
        ("board.js", "drawBoard", [look, game.view(state), None, {"title": "a<b>&\"'\u202e\x01\n"}])
    ]
    turns = [turn for turn in replay.turns if turn.kind == "move"]
    for turn in turns:
        steps = game.trace(state, turn.move)
        for step in steps:
            expected.append(draw_svg(Picture(game.look, step.board, step.touched), title=game.title, style=False))
            calls.append(("board.js", "drawBoard", [look, step.board, asdict(step.touched)]))
        state.play(turn.move)
    assert call_in_node(calls) == expected


@in_node
def test_the_script_marks_a_whole_turn_as_python_does() -> None:
    game = GAMES["hop"]
    replay, state = played_replay("hop", 5)[0], game.start()
    expected, calls = [], []
    for turn in replay.turns:
        if turn.kind == "move":
            steps = game.trace(state, turn.move)
            expected.append(asdict(Picture.after(game, steps).touched))
            calls.append(("board.js", "mergeTouched", [[asdict(step.touched) for step in steps]]))
            state.play(turn.move)
    assert call_in_node(calls) == json.loads(json.dumps(expected))


@in_node
def test_the_script_draws_values_and_faults_that_no_game_knows() -> None:
    game = GAMES["longest_path"]
    board = [[0, 1, 2], [77777, -5, 0]]
    picture = Picture(game.look, board, Touched(to=((0, 1),)), fault=((1, 0), (0, 1)))
    options = {"title": "x", "fault": [[1, 0], [0, 1]]}
    drawn = call_in_node([("board.js", "drawBoard", [look_json(game), board, {"to": [[0, 1]]}, options])])
    assert drawn == [draw_svg(picture, title="x", style=False)]


@in_node
def test_the_script_writes_the_score_line_and_draws_a_players_piece() -> None:
    hop, linkage = look_json(GAMES["hop"]), look_json(GAMES["linkage"])
    calls: list[Call] = [
        ("board.js", "scoreLine", [hop, [3, 4]]),
        ("board.js", "scoreLine", [hop, None]),
        ("board.js", "drawPiece", [hop, 1]),
        ("board.js", "drawPiece", [linkage, 1]),
    ]
    line, nothing, piece, none = call_in_node(calls)
    assert (line, nothing, none) == ("pieces home: Black 3, White 4", "", "")
    assert "gs-white" in piece


@in_node
def test_the_script_knows_the_clocks_and_who_is_on_turn() -> None:
    budget = TimeControl("budget", 20.0)
    turns = [
        ReplayTurn(0, move=[[2, 2], [2, 3]], seconds=1.0, left=19.0),
        ReplayTurn(1, "fault", code="raised", seconds=0.25, left=19.75),
        ReplayTurn(0, "pass"),
        ReplayTurn(1, "fault", code="raised", seconds=0.75, left=19.0),
    ]
    (game,) = data_of(replace(short(turns, limit=budget), game=None))["games"]
    (frames,) = call_in_node([("frames.js", "expand", [game])])
    at = [("frames.js", "clocksAt", [game, frames, n]) for n in (0, 1, 4)]
    start, first, last = call_in_node(at)
    assert start == [{"used": None, "left": 20000}, {"used": None, "left": 20000}]
    assert first == [{"used": 1000, "left": 19000}, {"used": None, "left": 20000}]
    assert last == [{"used": 1000, "left": 19000}, {"used": 750, "left": 19000}]
    on_turn = call_in_node([("frames.js", "onTurn", [frames, n]) for n in range(5)])
    assert on_turn == [0, 1, 1, 1, None]


@in_node
def test_the_script_writes_times_and_turns_for_people() -> None:
    times = call_in_node([("frames.js", "duration", [ms]) for ms in (0.25, 12, 999, 1234, 5000, 61234)])
    assert times == ["0.3 ms", "12 ms", "999 ms", "1.23 s", "5 s", "1:01.2 min"]
    fault = {"k": "fault", "c": "illegal_move", "m": "0,0"}
    texts = call_in_node([("frames.js", "turnText", [turn]) for turn in ({"m": "3,4"}, {"k": "pass"}, fault)])
    assert texts == ["3,4", "Skip", "(illegal_move) 0,0"]


@in_node
def test_the_script_reads_stored_texts_and_squares_of_faults() -> None:
    replay = hostile(lambda n: f"reason {n % 3}", tried=[[2, 2], [7, 7]])
    (game,) = data_of(replay)["games"]
    (whole,) = call_in_node([("frames.js", "withTexts", [game])])
    assert whole["turns"] == with_texts(game)
    (frames,) = call_in_node([("frames.js", "expand", [whole])])
    assert [frame["fault"] for frame in frames] == [[], *[[[2, 2], [7, 7]]] * 400]


def drawn_in_node(*cases: list[Any]) -> list[tuple[ET.Element, str]]:
    """Boards of two rows and three columns with what the second player has drawn, each with its description."""
    look, board = look_json(GAMES["hop"]), [[0, 1, 0], [0, 0, 0]]
    found = call_in_node([("drawings.js", "drawingsOf", [look, board, drawings, 1]) for drawings in cases])
    return [(ET.fromstring(f"<svg>{one['under']}{one['over']}</svg>"), one["words"]) for one in found]


@in_node
def test_drawings_are_drawn_on_squares_of_the_board_only() -> None:
    drawings = [
        ["mark", [0, 1, 9, 9, 1, -1, 2, 0, 0, 3, 0, 1.5], None, "blue"],
        ["arrow", [0, 0, 5, 5], "lost", None],
        ["arrow", [0, 0, 0, 0], "same", None],
        ["domino", [0, 0, 0, 7], None, "red"],
        ["star", [0, 0], None, "red"],
        ["arrow", [0, 0, 0, 2, 1, 2], "1.5", None],
        ["region", [0, 0, 0, 1, 1, 0], "x", "no such"],
        ["domino", [1, 1, 1, 2], "", "red"],
    ]
    ((svg, words),) = drawn_in_node(drawings)
    assert words == (
        "drawn: mark on 0,1, arrow 1.5 on 0,0 to 0,2 to 1,2, region x on 0,0 and 0,1 and 1,0, domino on 1,1 and 1,2"
    )
    # a drawing without a colour of the palette has that of its player, who is White
    assert {group.get("class") for group in svg} == {"gs-note gs-blue", "gs-note gs-white", "gs-note gs-red"}
    numbers = [
        float(n) for path in svg.iter("path") for n in re.findall(r"(?<=[ML])([-\d.]+)", path.get("d") or "")
    ]
    assert all(0 <= number <= 300 for number in numbers)
    edges = [group[0].get("d") or "" for group in svg if (group[0].get("d") or "").count("M") == 8]
    assert len(edges) == 1  # around three squares of a region


@in_node
def test_labels_of_drawings_fit_their_square_and_are_only_text() -> None:
    labels = ["1", "-0.12345", "WWWWWWWW", "\u5bff\u9650\u7121" * 2, "\U0001f986" * 8, "<b>&\"'\u202e"]
    places = [([["mark", at, "1", None]]) for at in ([0, 0], [0, 1])]
    *drawn, empty, piece = drawn_in_node(*([["mark", [1, 1], label, '"><script>']] for label in labels), *places)
    for label, (svg, _) in zip(labels, drawn, strict=True):
        ((outline, text),) = svg
        assert text.text == label.replace("\u202e", "\\u202e")
        width = re.search(r"h([\d.]+)", outline.get("d") or "")
        assert width is not None
        assert 0 < float(width[1]) <= 100, label
        assert svg[0].get("class") == "gs-note gs-white"
    assert [svg[0][1].get("y") for svg, _ in (empty, piece)] == ["50", "80"]  # it does not hide a piece


@in_node
def test_the_script_knows_the_notes_of_a_move_and_of_a_match() -> None:
    turns = [
        {"p": 0, "m": "a", "v": {"estimate": 0.5, "tags": ["x", "y"]}},
        {"p": 1, "m": "b", "v": {"estimate": -0.25, "say": ["no"]}},
        {"p": 0, "m": "c"},
        {"p": 0, "k": "pass"},
        {"p": 1, "m": "d", "v": {"tags": [str(n) for n in range(20)]}},
    ]
    game = {"turns": turns, "limit": {}}
    (frames,) = call_in_node([("frames.js", "expand", [game])])
    at = call_in_node([("frames.js", "notesAt", [frames, n]) for n in (0, 2, 4)])
    assert at[0] == [{"turn": 0, "notes": None}] * 2
    assert at[1] == [{"turn": 1, "notes": turns[0]["v"]}, {"turn": 2, "notes": turns[1]["v"]}]
    assert at[2] == [{"turn": 3, "notes": None}, {"turn": 2, "notes": turns[1]["v"]}]
    curves = call_in_node([("frames.js", "estimatesOf", [game, player]) for player in (0, 1)])
    assert curves == [[[1, 0.5]], [[2, 0.25]]]
    tags = call_in_node([("frames.js", "tagsOf", [game, player]) for player in (0, 1)])
    assert (tags[0], len(tags[1])) == (["x", "y"], 16)
