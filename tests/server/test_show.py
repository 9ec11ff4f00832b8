"""The command `show`: what it prints agrees with the record, and in a terminal it steps with the keyboard."""

from __future__ import annotations

import json
import re
import signal
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from getstep.drawing import Picture, draw_text
from getstep.referee import FaultCode
from getstep_engines import GAMES
from getstep_server.config.contest import Contest, database_path
from getstep_server.config.event import heading_of_game
from getstep_server.reports.notation import turn_text
from getstep_server.reports.transcript import (
    Transcript,
    frames,
    head_line,
    list_lines,
    read_transcript,
    turn_lines,
)
from getstep_server.storage.store import Store
from getstep_server.text import cell_len, escape_control_chars
from tests.support.command import Command
from tests.support.played_contests import Scene, play_scenes
from tests.support.tampering import Forged
from tests.support.terminal import OnTerminal

SHOW = (sys.executable, "-m", "getstep_server", "show")


@pytest.fixture(scope="module", params=GAMES)
def each(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Two matches between two teams, in every game."""
    folder = tmp_path_factory.mktemp("each") / request.param
    return play_scenes(folder, request.param, lambda _: [Scene(1), Scene(2)])


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def out(command: Command, *arguments: object) -> str:
    ran = command(*map(str, arguments))
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def recorded(contest: Contest) -> list[dict[str, Any]]:
    with Store(contest.database) as store:
        return [fields for line in store.lines() if "turns" in (fields := json.loads(line))]


def transcript(contest: Contest, number: int) -> Transcript:
    return read_transcript([game for game in recorded(contest) if game["match"] == number][-1])


@pytest.mark.parametrize("names", [("W" * 64, "漢" * 64), ("Ada", "漢" * 64), ("Ada", "Blaise")])
def test_the_first_line_of_the_viewer_names_both_teams_and_the_game(each: Contest, names: tuple[str, str]) -> None:
    shown = transcript(each, 1)
    teams = tuple(replace_fields(team, name=name) for team, name in zip(shown.game.teams, names, strict=True))
    shown = replace(shown, game=replace_fields(shown.game, teams=teams))
    line = head_line(shown, 80)
    assert cell_len(line) <= 80
    assert line.endswith(f" ({shown.players[1]}), {heading_of_game(shown.game.game)}")
    assert all(name in line or name[:4] in line for name in names)


# --- printed ----------------------------------------------------------------------------------------------------


def test_all_boards_are_those_of_the_rules(command: Command, each: Contest) -> None:
    shown = out(command, "show", each.folder, 2, "--all")
    (_, fields) = recorded(each)
    game = GAMES[fields["game"]]
    state = game.start(**fields["options"])
    at = 0
    for number, turn in enumerate(fields["turns"], start=1):
        text = re.escape(turn_text(turn, game))
        found = re.compile(rf"^ *{number}  .*{text}(.*)\n((?:     .*\n)*)", re.MULTILINE).search(shown, at)
        assert found, (number, turn)
        at = found.end()
        if "move" in turn:
            assert found[1].endswith(f" {turn['ms']:.3f} ms")
            state.play(turn["move"])
            board = draw_text(Picture(game.look, state.board())).splitlines()
            for line, expected in zip(found[2].splitlines(), board, strict=False):
                assert is_the_line(line[5:], expected), (line, expected)
            assert game.score_line(state) in found[2]
    assert max(map(len, shown.splitlines())) <= 80


def is_the_line(line: str, unmarked: str) -> bool:
    """Whether a line of a board is this one, with marks: a square that a piece has left is drawn without a dot."""
    pairs = zip(line.ljust(len(unmarked)), unmarked.ljust(len(line)), strict=True)
    return all(one == other or (one in " [](" + ")" and other in " .:") for one, other in pairs)


def test_in_a_pipe_the_last_board_and_every_turn_are_printed(command: Command, each: Contest) -> None:
    shown = out(command, "show", each.folder, 2)
    found = transcript(each, 2)
    assert str(found.game.started) in shown
    board = draw_text(found.moments[-1].picture)
    assert "\n".join(f"     {line}".rstrip() for line in board.splitlines()) in shown
    for moment in found.moments[1:]:
        assert re.search(rf"(^|\s){moment.number}  {re.escape(moment.text)}(\s|$)", shown, re.MULTILINE), moment
    assert shown.count("\n") < len(found.moments) / 2 + len(board.splitlines()) + 30
    assert max(map(len, shown.splitlines())) <= 80
    without = out(command, "show", each.folder, 2, "--moves")
    assert board.splitlines()[0] not in without
    assert without.splitlines()[-1] == shown.splitlines()[-1]


def test_one_turn_is_printed_with_its_board(command: Command, hop_contest: Contest) -> None:
    found = transcript(hop_contest, 3)
    (fault,) = [moment for moment in found.moments if FaultCode.ILLEGAL_MOVE in moment.text][:1]
    shown = out(command, "show", hop_contest.folder, 3, "--move", fault.number).splitlines()
    assert shown[0].startswith("match 3: ")
    assert re.match(rf" *{fault.number}  (Black|White)  \(illegal_move\) +\d+\.\d+ ms$", shown[1])
    assert shown[2].strip().startswith("(0, 0) is not one of")
    start = out(command, "show", hop_contest.folder, 3, "--move", 0).splitlines()
    assert start[1].split() == [str(column) for column in range(8)]
    last = len(found.moments) - 1
    for number in (-1, last + 1):
        ran = command("show", str(hop_contest.folder), "3", "--move", str(number))
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"getstep-server: --move {number}: match 3 has turns 1 to {last}; 0 is its start\n"


def with_turns(contest: Contest, turns: list[dict[str, Any]]) -> Transcript:
    """The transcript of a match that was played like this; only its end does not fit."""
    timed = {"ms": 1.0, "timed": "wake"}
    fields = {**recorded(contest)[0], "resumed": [], "incidents": []}
    return read_transcript({**fields, "turns": [turn if "pass" in turn else {**turn, **timed} for turn in turns]})


def test_the_squares_of_an_illegal_move_are_marked(tmp_path: Path) -> None:
    played = play_scenes(tmp_path / "played", "hop", lambda _: [Scene(1)])
    tried: list[Any] = [[[4, 0], [4, 4]], [[2, 2], ["\x1b", 0], None], "nonsense"]
    faults = [{"fault": "illegal_move", "detail": "no", "tried": move} for move in tried]
    found = with_turns(played, [{"player": at % 2, **fault} for at, fault in enumerate(faults)])
    assert found.error is None
    shown = [draw_text(moment.picture) for moment in found.moments]
    assert shown[1].splitlines()[5] == " 4  !B! :  B  . !.! .  W  :"
    assert shown[2].splitlines()[3] == " 2   B  : !B! .  .  .  W  :"
    assert shown[3] == shown[0]


def test_incidents_and_restarts_are_shown_between_turns(command: Command, hop_contest: Contest) -> None:
    hostile = out(command, "show", hop_contest.folder, 6)
    assert "10.0.0.9: a\\u202e field\n" in hostile
    assert re.search(r"\n +6  \S+ +\d+\.\d\n      incident \(3 times\): Ada, bad_field from 10", hostile)
    assert hostile.count("incident") == 1
    assert re.search(r"\(hostile\) .*\n      White broke the protocol \(oversize_frame\)", hostile)
    assert out(command, "show", hop_contest.folder, 8).count("the server was restarted") == 1
    raised = out(command, "show", hop_contest.folder, 3, "--moves")
    assert re.search(r"\(raised\) .*\n      ZeroDivisionError\\u000a\\u001b\[2J", raised)
    assert re.search(r"\(illegal_move\) .*\n      \(0, 0\) is not one of", raised)


def test_which_attempt_is_shown(command: Command, hop_contest: Contest) -> None:
    assert re.search(r"^match +2, attempt 2$", out(command, "show", hop_contest.folder, 2), re.MULTILINE)
    first = out(command, "show", hop_contest.folder, 2, "--attempt", 1)
    assert re.search(r"^match +2, attempt 1$", first, re.MULTILINE)
    ran = command("show", str(hop_contest.folder), "2", "--attempt", "3")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("getstep-server: match 2, attempt 3 is not on record; it is not over or does ")
    ran = command("show", str(hop_contest.folder), "99")
    assert ran.err.startswith("getstep-server: match 99 is not on record; it is not over or does not exist, see ")


@pytest.mark.parametrize("form", [(), ("--moves",), ("--all",), ("--move", "4")])
def test_a_record_with_an_invalid_turn_is_shown_up_to_that_turn(
    command: Command, tmp_path: Path, form: tuple[str, ...]
) -> None:
    played = play_scenes(tmp_path / "played", "linkage", lambda _: [Scene(1), Scene(2)])
    forged = Forged(database_path(played.folder), tmp_path / "forged.db")
    forged.turns(1, lambda turns: turns.pop(4)).reseal().close()
    (tmp_path / "forged.db").replace(database_path(played.folder))
    ran = command("show", str(played.folder), "1", *form)
    assert ran.code == 1
    assert [number for number in range(1, 9) if re.search(rf"(^| ) {number}  (\w+  )?[RBGY] \d", ran.out)] in (
        [[1, 2, 3, 4], [4]]
    )
    assert ran.err.startswith("getstep-server: match 1, turn 5: player is 1, expected 0, who is on turn")


def test_long_paths_have_a_line_of_their_own(hop_contest: Contest) -> None:
    found = transcript(hop_contest, 1)
    start, first, second, *_ = found.moments
    path = "-".join(["0,0", "2,0"] * 50)
    long = replace(found, moments=(start, first, replace(second, text=path), replace(first, number=3)))
    head, *lines = list_lines(long)
    assert head.split() == ["turn", "Black", "ms", "turn", "White", "ms"]
    assert lines[0].split()[:2] == ["1", first.text]
    assert "".join("".join(lines[1:-1]).split()).startswith(f"2{path}")
    assert lines[-1].split()[:2] == ["3", first.text]
    assert max(map(len, lines)) <= 80


def game_with_a_pass() -> list[dict[str, Any]]:
    """The turns of a game of linkage in which a player was passed over."""
    for seed in range(1000):
        dice, state, turns = Random(seed), GAMES["linkage"].start(), []
        while state.outcome is None:
            move = dice.choice(list(state.legal_moves()))
            turns.append({"player": state.to_move, "move": json.loads(json.dumps(move))})
            state.play(move)
            turns += [{"player": player, "pass": True} for player in state.passed]
        if any("pass" in turn for turn in turns):
            return turns
    raise AssertionError("no pass in 1000 games")


def test_a_pass_keeps_the_marks_of_the_move_before_it(tmp_path: Path) -> None:
    played = play_scenes(tmp_path / "played", "linkage", lambda _: [Scene(1)])
    found = with_turns(played, game_with_a_pass())
    assert found.error is None
    passes = [(before, moment) for before, moment in pairwise(found.moments) if moment.text == "Skip"]
    assert passes
    for before, moment in passes:
        assert moment.picture is before.picture
        assert moment.ms is None


def test_what_a_bot_noted_stands_below_its_turn(hop_contest: Contest) -> None:
    fields = [game for game in recorded(hop_contest) if game["match"] == 1][-1]
    first, *rest = fields["turns"]
    notes = {
        "say": "I take\n\x1b[2J the corner",
        "estimate": -0.25,
        "tags": ["opening"],
        "draw": [["mark", [0, 0], None, None]],
    }
    said = read_transcript({**fields, "turns": [{**first, "notes": notes}, *rest]})
    assert said.moments[1].noted == "says: I take / \x1b[2J the corner; estimate -0.25; tags opening"
    assert said.moments[2].noted == ""
    assert said.moments[1].noted in frames(said)[1].below
    assert f"      {escape_control_chars(said.moments[1].noted)}" in list(turn_lines(said, said.moments[1]))
    assert all("corner" not in line for line in list_lines(said))


def test_the_last_frame_has_the_result(hop_contest: Contest) -> None:
    found = transcript(hop_contest, 6)
    *others, last = frames(found)
    assert last.below[0].startswith("Дороти wins (Black) (hostile): White broke the protocol (oversize_frame)")
    assert not any("(hostile):" in line for frame in others for line in frame.below)
    assert len(others) == len(found.moments) - 1


# --- stepped through --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_in_a_terminal_the_arrow_keys_step_through_the_match(tmp_path: Path) -> None:
    played = play_scenes(tmp_path / "played", "pseudo_tonga", lambda _: [Scene(1)])
    found = transcript(played, 1)
    last = len(found.moments) - 1
    with OnTerminal([*SHOW, str(played.folder), "1"]) as terminal:
        before = terminal.settings
        terminal.expect(rf"^0/{last} paused")
        assert terminal.settings != before, "single keys"
        assert terminal.screen.text.splitlines()[0].startswith("match 1: ")
        assert max(map(len, terminal.screen.text.splitlines())) <= 80
        terminal.type("\x1b[C")
        terminal.expect(rf"^1/{last} paused")
        terminal.expect(rf"^turn 1: Black  {found.moments[1].text}")
        terminal.expect(r"\[.\]")
        terminal.type("\x1b[F")
        terminal.expect(rf"^{last}/{last} paused")
        terminal.expect(re.escape(f": {found.game.detail}"))
        terminal.type("\x1b[H\x1b[C\x1b[C\x1b[D")
        terminal.expect(rf"^1/{last} paused")
        terminal.type("+++++ ")
        terminal.expect(rf"^\d+/{last} 16 a second")
        terminal.expect(rf"^{last}/{last} paused")
        terminal.resize(60, 15)
        terminal.expect(rf"^{last}/{last} paused \| arrows Home End Page: step \| spa")
        terminal.type("q")
        assert terminal.wait() == 0
        assert terminal.settings == before
        assert terminal.screen.cursor_shown
        assert terminal.screen.unknown == []
        assert "paused" not in terminal.screen.text, "the first screen is as before"


@pytest.mark.parametrize("how", ["interrupt", "terminate", "hang up"])
def test_the_terminal_is_as_before_after_every_end(how: str, tmp_path: Path) -> None:
    played = play_scenes(tmp_path / "played", "pseudo_tonga", lambda _: [Scene(1)])
    with OnTerminal([*SHOW, str(played.folder), "1"]) as terminal:
        before = terminal.settings
        terminal.expect(r"^0/\d+ paused")
        if how == "interrupt":
            terminal.interrupt()
        else:
            terminal.process.send_signal(signal.SIGTERM if how == "terminate" else signal.SIGHUP)
        assert terminal.wait() == {"interrupt": 130, "terminate": 143, "hang up": 129}[how]
        assert terminal.settings == before
        assert terminal.screen.cursor_shown


def test_a_dumb_terminal_and_options_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = play_scenes(tmp_path / "played", "pseudo_tonga", lambda _: [Scene(1)])
    with OnTerminal([*SHOW, str(played.folder), "1", "--move", "3"]) as terminal:
        assert terminal.wait() == 0
        terminal.expect(r"^ +3  Black  ")
        assert "\x1b[38;5;" in terminal.raw, "with colours"
        assert "1049" not in terminal.raw
