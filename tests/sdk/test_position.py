"""Practice and one move from a position of a replay."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import getstep
from getstep import cli
from getstep._errors import SetupError
from getstep.local_matches import Results, series
from getstep.local_matches.position import Position, position_after
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Bot, Plan, entrant
from getstep.replay import Replay, ReplayTurn, read_replays, replay_data, replay_page
from getstep.turn import as_move
from getstep_engines import GAMES, Player, TimeControl
from tests.support.convention_programs import PROGRAMS

Board = list[list[int]]


def first_legal(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def recording(name: str, faults: tuple[int, ...] = (), limit: TimeControl | None = None) -> Replay:
    """Return a random game, with some faults."""
    game, dice = GAMES[name], Random(name)
    options = {"size": 6} if name == "pseudo_tonga" else {}
    control = limit or game.time_control
    state, left = game.start(**options), [control.seconds] * 2
    turns: list[ReplayTurn] = []
    while state.outcome is None and len(turns) < 60:
        player: Player = state.to_move
        left[player] = max(0.0, left[player] - 0.25)
        timing: dict[str, Any] = {"seconds": 0.25, "left": left[player] if control.kind == "budget" else None}
        if len(turns) in faults:
            turns.append(ReplayTurn(player, "fault", tried="9,9", code="missed_limit", reason="no", **timing))
            state.fault()
        else:
            move = dice.choice(list(state.legal_moves()))
            turns.append(ReplayTurn(player, move=move, **timing))
            state.play(move)
        turns += [ReplayTurn(who, "pass") for who in state.passed]
    return Replay(game, name, ("Ada", "Grace"), turns, control, options, "match 7")


def page(folder: Path, *games: Replay) -> Path:
    path = folder / "match.html"
    path.write_text(replay_page(replay_data(games, title="a contest")), encoding="utf-8")
    return path


def play(begins: Position, bot: Bot = first_legal, against: Bot = first_legal, **more: Any) -> Results:
    more = {"games": 1, "sides": (begins.to_move,), **more}
    plan = Plan(begins.game, begins=begins, **more)
    return series.run(plan, entrant(bot), entrant(against), Screen(None, plan.games))


# --- the match --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_match_goes_on_in_each_game_and_its_replay_marks_the_turns_that_were_given(
    name: str, tmp_path: Path
) -> None:
    read = read_replays(page(tmp_path, recording(name)))[0]
    begins = position_after(read, 7, "match.html")
    results = play(begins)
    match = results.matches[0]
    assert match.outcome is not None
    assert results.faults == []
    assert (match.turns[0].number, match.turns[0].player) == (len(begins.turns) + 1, begins.to_move)
    again = read_replays(results.save(tmp_path / "again.html"))[0]
    assert [turn.move for turn in again.turns[:7]] == [turn.move for turn in read.turns[:7]]
    assert [bool(turn.given) for turn in again.turns] == [n < len(begins.turns) for n in range(len(again.turns))]
    assert again.facts == [("begins with", "move 7 of match.html (match 7: Ada - Grace)")]


def test_the_bot_gets_the_position_the_last_move_and_the_rest_of_its_budget() -> None:
    asked: list[tuple[Board, bool, getstep.Turn]] = []

    def looks(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        asked.append((board, is_black, turn))
        return first_legal(board, is_black, turn)

    replay = recording("pseudo_tonga")
    play(position_after(replay, 5, "r.html"), looks)
    board, is_black, turn = asked[0]
    assert (is_black, turn.move_number, turn.options) == (False, 6, {"size": 6})
    assert turn.last_move == replay.turns[4].move
    assert sum(map(bool, (cell for row in board for cell in row))) == 5
    assert turn.time_left_ms == 20_000 - 2 * 250
    asked.clear()
    play(position_after(replay, 5, "r.html"), looks, limit=7.0)
    assert asked[0][2].time_left_ms == 7000  # whole at the position


def test_limits_that_others_missed_do_not_stall_a_new_bot() -> None:
    replay = recording("hop", faults=(1, 3, 5))
    begins = position_after(replay, 7, "r.html")
    assert [turn.kind for turn in begins.turns].count("fault") == 3
    results = play(begins)
    assert (begins.to_move, results.matches[0].turns[0].kind) == (1, "move")
    assert results.faults == []


def test_the_opponent_repeats_its_moves_as_long_as_they_are_legal() -> None:
    replay = recording("linkage")
    begins = position_after(replay, 2, "r.html")

    def repeats(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        return replay.turns[turn.move_number - 1].move

    same = play(begins, repeats, lambda board, is_black: None, recorded=True).matches[0]
    moves = [turn.move for turn in replay.turns[2:] if turn.kind == "move"]
    assert [as_move(turn.move) for turn in same.turns if turn.kind == "move"] == moves
    theirs = [turn for turn in same.turns if turn.player == 1 and turn.kind == "move"]
    assert all(turn.recorded and turn.seconds == 0.25 for turn in theirs)
    assert not any(turn.recorded for turn in same.turns if turn.player == 0)

    taken = as_move(theirs[1].move)  # the bot takes its square, so it does not fit

    def takes(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        legal = list(GAMES["linkage"].from_board(board, is_black).legal_moves())
        return next((move for move in legal if set(move[1:]) & set(taken[1:])), legal[-1])

    other = play(begins, takes, first_legal, recorded=True).matches[0]
    recorded = [turn.recorded for turn in other.turns if turn.player == 1]
    assert recorded == sorted(recorded, reverse=True)  # once the other bot has taken over, it goes on
    assert True in recorded
    assert False in recorded


def test_sides_are_changed_after_each_game_if_asked() -> None:
    begins = position_after(recording("linkage"), 3, "r.html")
    results = play(begins, games=3, sides=(1, 0))
    assert [(match.bot, match.turns[0].player) for match in results.matches] == [(1, 1), (0, 1), (1, 1)]


def test_a_program_that_keeps_its_own_position_cannot_take_over(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\n")
    replay = recording("longest_path")
    prodrive = entrant(program, "prodrive")

    def begin(move: int, bot: Any, other: Any, recorded: bool = False) -> None:
        begins = position_after(replay, move, "r.html")
        plan = Plan(begins.game, 1, 0.5, begins=begins, sides=(begins.to_move,), recorded=recorded)
        series.run(plan, bot, other, Screen(None, 1))

    with pytest.raises(SetupError, match=r"a prodrive program: .* after others have moved for it\. Give --move 1,"):
        begin(5, prodrive, entrant(first_legal))
    with pytest.raises(SetupError, match=r"Give --move 0,"):
        begin(5, entrant(first_legal), prodrive)
    with pytest.raises(SetupError, match="Add --no-recorded"):
        begin(0, entrant(first_legal), prodrive, recorded=True)
    begin(1, prodrive, entrant(first_legal))  # it has not moved yet


@pytest.mark.parametrize(
    ("move", "says"),
    [
        (-1, r"the game has \d+ turns; expected 0, the start, to \d+ \(-1\)"),
        (999, r"expected 0, the start, to \d+ \(999\)"),
        (None, r"the game is over after turn \d+; give an earlier one"),
    ],
)
def test_a_position_that_is_none(move: int | None, says: str) -> None:
    replay = recording("linkage")
    with pytest.raises(SetupError, match=says):
        position_after(replay, len(replay.turns) if move is None else move, "r.html")


def test_a_game_that_was_lost_by_another_rule_is_over() -> None:
    replay = recording("hop")
    ended = replace(replay, turns=[*replay.turns[:4], ReplayTurn(0, "end", code="resigned", reason="resigned")])
    assert position_after(ended, 4, "r.html").recorded_moves(0) == []
    with pytest.raises(SetupError, match="the game is over after turn 5"):
        position_after(ended, 5, "r.html")


def test_a_replay_with_a_pass_that_the_rules_do_not_know_is_refused() -> None:
    replay = recording("linkage")
    wrong = replace(replay, turns=[replay.turns[0], ReplayTurn(1, "pass"), *replay.turns[1:]])
    with pytest.raises(SetupError, match=r"do not allow a turn of the replay \(.*expected no pass\)"):
        position_after(wrong, 1, "r.html")  # a pass belongs to the move before it


# --- the commands -----------------------------------------------------------------------------------------------


def write(folder: Path, body: str, plays: str = "linkage") -> Path:
    path = folder / "my_bot.py"
    path.write_text(
        "import getstep\nfrom getstep_engines import GAMES\n"
        f"@getstep.plays({plays!r})\ndef get_step(board, is_black, turn):\n    {body}\n",
        encoding="utf-8",
    )
    return path


LEGAL = "return next(GAMES[turn.game].from_board(board, is_black).legal_moves())"


def test_practice_from_a_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    replay, bot = page(tmp_path, recording("hop"), recording("linkage")), write(tmp_path, LEGAL)
    before = replay.read_bytes()
    chosen = ("--from", "match.html", "--number", "2", "--move", "5")
    assert cli.main(["practice", str(bot), *chosen, "--games", "2", "--side", "both"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "From move 5 of match.html (match 7: Ada - Grace): Fewer is on turn, my_bot.py plays Fewer, then" in out
    assert re.search(r"Game 2 of 2: (won|lost) as More, \d+ turns \(\d+ as in the replay\)", out)
    assert "my_bot.py against the replay, then greedy, linkage: " in out
    assert replay.read_bytes() == before
    assert len(read_replays(tmp_path / "match-from-5.html")) == 2


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (f"print('x', turn.move_number); {LEGAL}", 0, ["my_bot.py (More): R", "Legal. In the replay: ", "  x 3"]),
        (
            f"getstep.say('hm'); getstep.estimate(0.25); getstep.draw((2, 3), 7, 'blue'); {LEGAL}",
            0,
            ["It noted:\n  says: hm; estimate 0.25\n  draws: mark (2, 3) 7 blue\n"],
        ),
        ("return ('R', (3, 3), (3, 4))", 1, ["illegal_move", "!#!", "Legal: ('R'", "It took "]),
        ("raise ValueError('no idea')", 1, ["raised: ValueError: no idea", "line 5, in get_step", "It took "]),
    ],
)
def test_move_asks_once(
    body: str, code: int, says: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay, bot = page(tmp_path, recording("linkage")), write(tmp_path, body)
    assert cli.main(["move", str(bot), "--from", str(replay), "--move", "2"]) == code
    out = capsys.readouterr().out
    assert "After move 2 of match.html (match 7: Ada - Grace); More is on turn." in out
    assert "(limit 5 s a move)" in out
    assert [text for text in says if text not in out] == []


def test_move_asks_without_a_clock_in_this_process_with_debug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = f"sys.modules['tests_asked'] = None; {LEGAL}"
    replay, bot = page(tmp_path, recording("linkage")), write(tmp_path, f"import sys; {body}")
    assert cli.main(["move", str(bot), "--from", str(replay), "--move", "2", "--debug"]) == 0
    assert sys.modules.pop("tests_asked", "elsewhere") is None
    out = capsys.readouterr().out
    assert "The clocks are stopped. my_bot.py runs here: breakpoint() opens pdb" in out
    assert "my_bot.py (More): R" in out


def test_practice_in_python_takes_a_position_as_the_command_does(tmp_path: Path) -> None:
    replay = page(tmp_path, recording("hop"), recording("linkage"))
    results = getstep.practice(
        first_legal, against=first_legal, replay=replay, number=2, move=5, side="both", games=2, quiet=True
    )
    assert [match.bot for match in results.matches] == [1, 0]
    assert results.game == "linkage"
    begun = getstep.practice(first_legal, replay=replay, move=3, against=first_legal, recorded=False, quiet=True)
    [match] = begun.matches
    assert match.turns[0].number == 4
    assert not any(turn.recorded for turn in match.turns)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"move": 3}, "give replay as well"),
        ({"recorded": False}, "give replay as well"),
        ({"replay": "match.html"}, "--from: which position?"),
        ({"replay": "match.html", "move": 3, "side": "third"}, "side: expected first, second or both ('third')"),
        ({"replay": "match.html", "move": 3, "sprt": True}, "leave out replay, or sprt"),
        ({"replay": "match.html", "move": 3, "options": {"size": 6}}, "the replay has the options"),
        ({"game": "hop", "sprt": {"elo0": 5.0, "elo1": 0.0}}, "--sprt: "),
        ({"game": "hop", "sprt": {"elo2": 5.0}}, "--sprt: "),
        ({"game": "hop", "sprt": True, "debug": True}, "sprt needs the clocks"),
        ({"game": "hop", "sprt": True, "games": 3}, "a test counts pairs"),
    ],
)
def test_wrong_arguments_in_python(
    arguments: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page(tmp_path, recording("linkage"))
    with pytest.raises(SetupError, match=re.escape(says)):
        getstep.practice(first_legal, against=first_legal, quiet=True, **arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("practice", "--move", "3"), "--move is for a position of a replay: add --from"),
        (("practice", "--no-recorded"), "--no-recorded is for a position of a replay"),
        (("practice", "--from", "match.html"), "--from: which position? Add --move"),
        (
            ("practice", "--from", "match.html", "--move", "3", "--game", "hop"),
            "the replay's game is linkage ('hop')",
        ),
        (("practice", "--from", "match.html", "--move", "3", "--option", "size=6"), "--option: the replay has"),
        (
            ("practice", "--from", "match.html", "--move", "3"),
            "my_bot.py plays hop, and the replay's game is linkage",
        ),
        (("move", "--from", "match.html", "--move", "3"), "my_bot.py plays hop, and the replay's game is linkage"),
        (("move", "--from", "match.html", "--move", "999"), "expected 0, the start, to"),
        (("practice", "--from", "match.html", "--move", "3", "--sprt"), "leave out --from, or --sprt"),
        (("move",), "Which position? Give a replay with --from"),
        (("move", "--from", "nothing.html", "--move", "3"), "nothing.html: it cannot be read"),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    page(tmp_path, recording("linkage"))
    bot = write(tmp_path, LEGAL, "hop")
    assert cli.main([arguments[0], str(bot), *arguments[1:]]) == 2
    assert says in capsys.readouterr().err


def test_a_budget_that_is_spent_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = page(tmp_path, recording("pseudo_tonga", limit=TimeControl("budget", 0.5)))
    asked = ["move", str(write(tmp_path, LEGAL, "pseudo_tonga")), "--from", str(replay), "--move", "4"]
    assert cli.main(asked) == 2
    assert "Black has no time left at move 4 of match.html" in capsys.readouterr().err
    assert cli.main([*asked, "--limit", "5"]) == 0


def test_a_program_on_the_wire_is_asked_in_a_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = page(tmp_path, recording("hop"))
    bot = write(tmp_path, LEGAL, "hop")
    bot.write_text(f"{bot.read_text()}getstep.play(get_step)\n")
    asked = ["move", "--from", str(replay), "--move", "9", "--", sys.executable, str(bot)]
    assert cli.main(asked) == 0
    assert "Move 10, my_bot.py (White): " in capsys.readouterr().out


@pytest.mark.long
def test_a_program_that_reads_the_board_plays_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAMS["csefest-console"], encoding="utf-8")
    page(tmp_path, recording("chain_reaction"))
    chosen = ("--from", "match.html", "--move", "6", "--as", "csefest-console")
    assert cli.main(["practice", "program.py", *chosen, "--against", "random"]) == 0
    assert cli.main(["move", "program.py", *chosen]) == 0
    assert "Legal. In the replay: " in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_bot_in_another_language_plays_on_with_its_own_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page(tmp_path, recording("pseudo_tonga"))
    assert cli.main(["new", "my_bot.mjs", "--game", "pseudo_tonga"]) == 0
    chosen = ("--from", "match.html", "--move", "7")
    assert cli.main(["move", "my_bot.mjs", *chosen]) == 0
    assert (
        cli.main(["practice", "my_bot.mjs", *chosen, "--against", "random", "--side", "both", "--games", "2"]) == 0
    )
    out = capsys.readouterr().out
    assert "Move 8, my_bot.mjs (White): " in out
    assert "2 of 2" in out
    played = read_replays(tmp_path / "match-from-7.html")
    assert [[turn.given for turn in game.turns].count("replay") >= 7 for game in played] == [True, True]
    assert all(turn.left is not None and turn.left <= 20 - 3 * 0.25 for game in played for turn in game.turns[7:])
