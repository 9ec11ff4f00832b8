"""Practice: whole games on one machine, judged as in a contest."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep import cli
from getstep._errors import BotError, SetupError
from getstep.games import games_named, read_move
from getstep.local_matches import Results, series
from getstep.local_matches.browser import GROUP, BrowserPlayer
from getstep.local_matches.human import HumanPlayer, Quit
from getstep.local_matches.levels import beaten, openings_for
from getstep.local_matches.match import PlayedMatch
from getstep.local_matches.players import Player, ProcessPlayer
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Entrant, Plan, entrant, find_game
from getstep.openings import BALANCED
from getstep.referee import STALLED_MISSES
from getstep.sprt import Sprt, wilson
from getstep_engines import GAMES, Game, State, Touched
from tests.support.patience import PATIENCE_SECONDS

Board = list[list[int]]


def first_legal(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def play(bot: Callable[..., Any] | Path, game: str = "linkage", **more: Any) -> Results:
    return getstep.practice(bot, game, **{"against": first_legal, "games": 2, "quiet": True, **more})


def write(folder: Path, source: str, name: str = "bot.py") -> Path:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


LEGAL = """
from getstep_engines import GAMES, Game, State, Touched

def legal(board, is_black, turn):
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))
"""


# --- whole games ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", list(GAMES))
def test_every_game_is_played_to_its_end_with_the_colours_swapped(game: str) -> None:
    results = play(first_legal, game)
    assert [match.bot for match in results.matches] == [0, 1]
    assert all(match.outcome for match in results.matches)
    assert results.won + results.drawn + results.lost == 2
    assert results.faults == []


def test_a_bot_gets_what_it_gets_in_a_contest() -> None:
    seen: list[tuple[Board, bool, getstep.Turn]] = []

    def looks(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        seen.append((board, is_black, turn))
        return first_legal(board, is_black, turn)

    play(looks, "hop", games=1, limit=7)
    board, is_black, turn = seen[1]
    assert is_black
    assert len(board) == 8
    assert (turn.game, turn.move_number, turn.opponent, turn.time_left_ms) == ("hop", 3, "first_legal", 7000)
    assert isinstance(turn.last_move, list)
    assert isinstance(turn.last_move[0], tuple)


def test_a_budget_is_spent_as_in_a_contest() -> None:
    left: list[int] = []

    def looks(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        left.append(turn.time_left_ms)
        return first_legal(board, is_black, turn)

    results = play(looks, "pseudo_tonga", games=1, options={"size": 6})
    assert left[0] == 20_000
    assert left == sorted(left, reverse=True)
    assert results.matches[0].turns[-1].left is not None


def test_an_exception_costs_the_penalty_and_is_told_with_its_line_and_the_board() -> None:
    def breaks(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        if turn.move_number >= 3:
            raise ValueError("no idea")
        return first_legal(board, is_black, turn)

    results = play(breaks, games=1)
    assert results.lost == 1
    (match, turn) = results.faults[0]
    assert (turn.number, turn.code, turn.reason) == (3, "raised", "ValueError: no idea")
    report = str(results)
    assert "Game 1, move 3, raised: ValueError: no idea" in report
    assert 'raise ValueError("no idea")' in report
    assert "Legal: ('R', (" in report
    assert match.outcome is not None
    assert match.outcome.reason == "raised"


def test_a_bot_of_another_game_gives_up_and_says_why() -> None:
    results = play(getstep.plays("hop")(lambda board, is_black: None), "linkage", games=1)
    assert (results.lost, results.matches[0].turns[-1].code) == (1, "resigned")
    assert "this bot plays hop; the match is linkage" in str(results)


def test_an_illegal_move_is_marked_on_the_board() -> None:
    results = play(lambda board, is_black: [(0, 0), (7, 7)], "hop", games=1)
    report = str(results)
    assert "illegal_move" in report
    assert "get_step returned [(0, 0), (7, 7)]" in report
    assert "!B!" in report
    assert "Legal: [(0, 0), (0, 1)]" in report
    assert f"Faults of <lambda>: {len(results.faults)}" in report
    assert len(results.faults) == 200


def test_a_fault_of_the_opponent_is_only_counted() -> None:
    results = play(first_legal, games=1, against=lambda board, is_black: None)
    assert results.won == 1
    assert "Faults of <lambda>: 1" in str(results)


def test_a_function_in_an_endless_loop_is_told_with_its_line_and_interrupted() -> None:
    def loops(board: Board, is_black: bool) -> Any:
        while True:
            pass

    results = play(loops, limit=0.3)
    assert results.lost == 2
    assert {turn.code for _, turn in results.faults} == {"missed_limit"}
    for thread in threading.enumerate():
        if thread.name == "getstep bot":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


# --- processes --------------------------------------------------------------------------------------------------


def test_a_bot_that_hangs_misses_its_limits_and_then_its_turns_are_skipped(tmp_path: Path) -> None:
    bot = write(tmp_path, "def get_step(board, is_black):\n    while True:\n        pass\n")
    results = play(bot, "hop", games=1, limit=0.2)
    codes = [turn.code for _, turn in results.faults]
    assert codes[:STALLED_MISSES] == ["missed_limit"] * STALLED_MISSES
    assert set(codes[STALLED_MISSES:]) == {"stalled"}
    assert re.fullmatch(r"bot\.py line [23]", results.faults[-1][1].where)
    assert f"get_step was at {results.faults[-1][1].where}" in str(results)


def test_a_bot_that_was_late_once_goes_on(tmp_path: Path) -> None:
    source = (
        "import time\nlate = []\ndef get_step(board, is_black, turn):\n    if not late:\n        late.append(1)\n"
    )
    bot = write(tmp_path, f"{LEGAL}{source}        time.sleep(1.5)\n    return legal(board, is_black, turn)\n")
    results = play(bot, "hop", games=1, limit=1)
    missed = [turn for _, turn in results.faults]
    assert [turn.code for turn in missed[:1]] == ["missed_limit"]
    assert any(turn.kind == "move" and turn.player == 0 for turn in results.matches[0].turns)


def test_a_bot_that_exits_is_absent_at_once_and_starts_again_for_the_next_game(tmp_path: Path) -> None:
    bot = write(tmp_path, "import os\ndef get_step(board, is_black):\n    print('bye')\n    os._exit(3)\n")
    results = play(bot, "hop")
    assert [match.outcome.reason for match in results.matches if match.outcome] == ["absent", "absent"]
    assert "exit code 3; it printed last: bye" in results.faults[0][1].reason
    assert results.printed == {"bot.py": "2 lines; the last: bye"}


def test_a_bot_that_closes_its_pipe_loses_and_ends(tmp_path: Path) -> None:
    bot = write(tmp_path, "import os\ndef get_step(board, is_black):\n    os.closerange(0, 50)\n")
    results = play(bot, "linkage", games=1)
    assert results.lost == 1
    assert results.faults[0][1].code == "missed_limit"


def test_a_bot_that_answers_twice_or_writes_nonsense_harms_nobody(tmp_path: Path) -> None:
    bot = write(
        tmp_path,
        f"{LEGAL}import gc, io\n"
        "def get_step(board, is_black, turn):\n"
        "    pipe = next(o for o in gc.get_objects() if type(o) is io.BufferedWriter"
        " and not o.closed and o.fileno() > 2)\n"
        '    for text in (\'{"type": "answer", "id": 0, "move": 5}\', \'{"type": "late"}\', \'[]\'):\n'
        "        pipe.write(text.encode() + b'\\n')\n"
        '        if turn.move_number < 3 and text == \'{"type": "late"}\':\n'
        "            break\n"
        "    return legal(board, is_black, turn)\n",
    )
    results = play(bot, "linkage", games=1)
    turns = [turn for turn in results.matches[0].turns if turn.player == 0]
    assert turns[0].kind == "move"  # the answer with a wrong id was ignored
    assert turns[1].kind == "fault"  # nonsense ends the connection
    assert "closed the connection" in turns[1].reason


def test_what_a_bot_prints_is_kept_and_summed_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = "import os\ndef get_step(board, is_black, turn):\n    print('x' * 9)\n    os.write(1, b'raw\\n')\n"
    bot = write(tmp_path, f"{LEGAL}{source}    return legal(board, is_black, turn)\n")
    results = play(bot, games=1)
    assert results.faults == []
    assert re.fullmatch(r"\d+ lines; the last: raw", results.printed["bot.py"])
    assert [turn.notes for turn in results.matches[0].turns[::2]][:3] == [{"output": "xxxxxxxxx\nraw\n"}] * 3
    assert "raw" not in "".join(capfd.readouterr())


def test_a_bot_that_reads_the_keyboard_gets_nothing(tmp_path: Path) -> None:
    bot = write(tmp_path, "def get_step(board, is_black):\n    input()\n")
    assert play(bot, games=1).faults[0][1].reason == "EOFError: EOF when reading a line"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("1 / 0\n", "does not load; the error is above"),
        ("x = 1\n", "has no get_step"),
        ("import os\nos._exit(4)\n", "does not load: its process has ended with exit code 4"),
    ],
)
def test_a_bot_that_does_not_load(tmp_path: Path, source: str, says: str) -> None:
    with pytest.raises(BotError, match=says):
        ProcessPlayer(write(tmp_path, source), "bot.py")


def test_the_processes_end_with_practice(tmp_path: Path) -> None:
    players: list[ProcessPlayer] = []

    def start(seed: str) -> Player:
        players.append(ProcessPlayer(bot, "bot.py", seed))
        return players[-1]

    bot = write(tmp_path, "def get_step(board, is_black):\n    while True:\n        pass\n")
    plan = Plan(GAMES["linkage"], 2, 0.1)
    series.run(plan, Entrant("bot.py", start), entrant(first_legal), Screen(None, 2))
    assert len(players) == 2
    assert all(player._process.wait(PATIENCE_SECONDS) is not None for player in players)


def test_the_same_seed_gives_the_same_games() -> None:
    def moves(seed: int) -> list[Any]:
        results = getstep.practice("random", "linkage", "random", 1, seed=seed, quiet=True)
        return [turn.move for turn in results.matches[0].turns]

    assert moves(1) == moves(1) != moves(2)


# --- stopping ---------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_is_known() -> None:
    class Stops(Screen):
        def end(self, match: PlayedMatch) -> None:
            super().end(match)
            if match.number == 2:
                raise KeyboardInterrupt

    results = series.run(Plan(GAMES["linkage"], 9), entrant(first_legal), entrant(first_legal), Stops(None, 9))
    assert results.stopped
    assert len(results.matches) == 2
    assert "(stopped)" in str(results)


def test_a_match_that_was_stopped_counts_for_nobody() -> None:
    class Stops(Screen):
        def turn(self, match: PlayedMatch, turn: Any) -> None:
            raise KeyboardInterrupt

    results = series.run(Plan(GAMES["linkage"], 9), entrant(first_legal), entrant(first_legal), Stops(None, 9))
    assert (results.won, results.drawn, results.lost) == (0, 0, 0)
    assert results.interval == (0.0, 1.0)
    assert "stopped" in results.html()
    assert "0 won, 0 drawn, 0 lost (stopped)" in str(results)


# --- results ----------------------------------------------------------------------------------------------------


def test_wilson_is_what_the_tables_say() -> None:
    low, high = wilson(0.7, 10)  # Newcombe 1998
    assert (round(low, 4), round(high, 4)) == (0.3968, 0.8922)
    assert wilson(0.0, 4)[0] == 0.0
    assert wilson(1.0, 4)[1] == 1.0


def test_equal_games_are_said_to_be_equal() -> None:
    assert "Only 2 of the 4 games differ: both bots repeat their moves." in str(play(first_legal, games=4))


def compare(games: int, screen: Screen | None = None, **options: int | str) -> Results:
    """Compare a legal bot with one that loses each game at once: the moves of all pairs on a board are the same."""
    test = Sprt(0, 400)
    plan = Plan(GAMES["pseudo_tonga"], games, options={"size": 6, **options}, seed=1, test=test)
    return series.run(plan, entrant(first_legal), entrant(_raises), screen or Screen(None, games, test=test))


def test_a_comparison_stops_when_it_is_sure_and_says_how_sure_and_from_which_side() -> None:
    out = io.StringIO()
    results = compare(100, Screen(out, 100, test=Sprt(0, 400)), size="6-16")
    said = " ".join(str(results).split())
    pairs = len(results.matches) // 2
    assert results.test
    assert (results.test.verdict, 2 < pairs < 20, results.stopped) == ("H1", True, False)
    assert out.getvalue().count("\n") == pairs
    assert "Game 1" not in out.getvalue()
    assert f" {pairs} pairs: {2 * pairs} won, 0 drawn, 0 lost (100.0%), Elo +∞ [+" in said
    assert f"H1 after {pairs} pairs: first_legal is stronger than _raises (+400 Elo rather than +0; 5%" in said
    won = rf"{pairs} won, 0 drawn, 0 lost \(100 % \[\d\d, 100\]\)"
    assert re.search(f"As the first player: {won} As the second player: {won}", said)
    assert "--option" not in said  # the boards differ already
    assert results.elo
    assert results.elo[0] > results.elo[1] > 0


def test_practice_in_python_compares_as_the_command_does() -> None:
    seeds = {"options": {"size": "6-16"}, "seed": 1}
    results = play(first_legal, "pseudo_tonga", against=_raises, games=None, sprt={"elo1": 400}, **seeds)
    assert results.test
    assert results.test.verdict == "H1"
    assert len(results.matches) < 40


def test_a_comparison_of_bots_that_repeat_their_moves_says_what_it_needs() -> None:
    said = " ".join(str(compare(4)).split())
    assert "Not decided after 2 pairs: the LLR is still between its bounds. Allow more with --games." in said
    assert "! All 2 pairs are copies of 1 pair, move for move." in said
    assert "A comparison needs --openings, which begins each pair with other moves, or bots that choose" in said


def test_a_comparison_that_is_stopped_counts_whole_pairs() -> None:
    class Stops(Screen):
        def end(self, match: PlayedMatch) -> None:
            if match.number == 3:
                raise KeyboardInterrupt

    results = compare(100, Stops(None, 100))
    assert "1 pair: 2 won, 0 drawn, 0 lost" in str(results)
    assert "Not decided after 1 pair: the LLR is still between its bounds.\n" in str(results)


def test_the_results_are_told_by_tag() -> None:
    def tagging(board: Board, is_black: bool, turn: getstep.Turn) -> Any:
        getstep.tag("dark" if is_black else "light")
        return first_legal(board, is_black, turn)

    results = play(tagging)
    for match, word in zip(results.matches, ("dark", "light"), strict=True):
        counts = [int(match.result == result) for result in ("won", "drawn", "lost")]
        assert "tagging where tagging noted the tag {}: {} won, {} drawn, {} lost".format(word, *counts) in str(
            results
        )


def test_jupyter_shows_the_report_and_the_replay() -> None:
    shown = play(first_legal, games=1)._repr_html_()
    assert shown.startswith("<pre>first_legal against first_legal, linkage:")
    frame = re.search(r'<iframe [^>]*srcdoc="([^"]*)"></iframe>$', shown)
    assert frame
    assert "&lt;!doctype html&gt;" in frame[1]


def test_the_report_fits_80_columns() -> None:
    results = play(lambda board, is_black: [(0, 0), (7, 7)], "hop")
    assert max(map(len, str(results).splitlines())) < 80


# --- a person ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "typed", "move"),
    [
        ("hop", "(2, 2) (2, 3)", [[2, 2], [2, 3]]),
        ("hop", "2,2-2,4-4,4", [[2, 2], [2, 4], [4, 4]]),
        ("hop", "2 2", None),
        ("hop", "2 2 3", None),
        ("linkage", "r 0,0 0,1", ["R", [0, 0], [0, 1]]),
        ("linkage", "X 0,0 0,1", None),
        ("linkage", "R 0,0", None),
        ("longest_path", "10 3", [10, 3]),
        ("longest_path", "a b", None),
        ("longest_path", "1 2 3", None),
        ("longest_path", "1 999999999999", None),
        ("longest_path", "", None),
        ("longest_path", "² ³", None),
    ],
)
def test_what_a_person_types(game: str, typed: str, move: Any) -> None:
    assert read_move(GAMES[game], typed) == move


def play_human(lines: list[str], game: str = "longest_path") -> tuple[list[str], Results]:
    said: list[str] = []
    typed = iter(lines)

    def read(prompt: str) -> str:
        said.append(prompt)
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    human = Entrant("you", lambda _seed: HumanPlayer(GAMES[game], read, said.append, lambda picture: "BOARD"))
    results = series.run(Plan(GAMES[game], 1), entrant(first_legal), human, Screen(None, 1))
    return said, results


def test_an_illegal_move_of_a_person_is_explained_and_costs_nothing() -> None:
    said, results = play_human(["0 0", "what", "?", "5 5", "resign"])
    assert any("You have no clock; your bot has." in line.replace("\n  ", " ") for line in said)
    text = "\n".join(said)
    assert re.search(r"^Not legal: .*\(0, 0\)", text, re.MULTILINE), text
    assert "'what' is not a move; expected (row, column), such as 0,1" in text
    assert "120 legal moves: 0,1" in text
    assert "Move 1, first_legal" in text
    assert results.won == 1
    outcome = results.matches[0].outcome
    assert outcome is not None
    assert outcome.reason == "resigned"
    assert all(turn.seconds is None for turn in results.matches[0].turns if turn.player == 1)
    assert [turn.kind for turn in results.matches[0].turns if turn.player == 1] == ["move", "end"]


@pytest.mark.parametrize("lines", [["quit"], []])
def test_a_person_who_quits_stops_practice(lines: list[str]) -> None:
    _, results = play_human(lines)
    assert results.stopped


class FakePage:
    """A page whose person gives some answers, then legal moves."""

    address = "http://127.0.0.1:1/play/key"

    def __init__(self, *answers: tuple[str, Any]) -> None:
        self._answers = list(answers)
        self.log: list[Any] = []

    def begin(self, _game: Game, names: tuple[str, str], me: int, _position: State) -> bool:
        self.log.append((names, me))
        return not self._answers or self._answers[0][0] != "no game"

    def show(self, _game: Game, position: State, touched: Touched, note: str, _number: int) -> None:
        self.log.append((note, bool(touched.to), position.outcome is not None))

    def ask(self, _game: Game, position: State) -> tuple[str, Any]:
        return self._answers.pop(0) if self._answers else ("move", next(iter(position.legal_moves())))

    def end(self, won: bool | None, text: str) -> None:
        self.log.append((won, text))

    def close(self) -> None:
        self.log.append("closed")


def play_in_browser(page: FakePage, games: int = 1) -> Results:
    person = Entrant("you", lambda _seed: BrowserPlayer(page))
    return series.run(Plan(GAMES["linkage"], games), entrant(first_legal), person, Screen(None, games))


def test_a_person_plays_in_the_browser_with_both_colours() -> None:
    page = FakePage()
    results = play_in_browser(page, 2)
    assert [match.outcome is not None for match in results.matches] == [True, True]
    begun = [entry for entry in page.log if isinstance(entry[0], tuple)]
    assert begun == [(("first_legal", "You"), 1), (("You", "first_legal"), 0)]
    assert page.log[1] == ("first_legal: RA1B1", True, False)
    assert page.log[2][0].startswith("You: ")
    ends = [entry[0] for entry in page.log if len(entry) == 2 and not isinstance(entry[0], tuple)]
    assert ends == [match.result == "lost" for match in results.matches]
    assert page.log[-1] == "closed"
    assert all(turn.seconds is None for turn in results.matches[0].turns if turn.player == 1)


def test_a_person_resigns_in_the_browser() -> None:
    page = FakePage(("resign", None))
    results = play_in_browser(page)
    assert (results.won, results.stopped) == (1, False)
    assert page.log[-2] == (False, "Fewer resigned")


@pytest.mark.parametrize("answer", [("leave", None), ("no game", None)])
def test_a_person_who_leaves_the_page_stops_practice(answer: tuple[str, Any]) -> None:
    page = FakePage(answer)
    assert play_in_browser(page).stopped
    assert page.log[-1] == "closed"


def test_quit_is_no_answer() -> None:
    human = HumanPlayer(GAMES["longest_path"], lambda prompt: "q", print, str)
    question = {"board": [[0] * 11 for _ in range(11)], "is_black": True, "turn": {"move_number": 1}}
    with pytest.raises(Quit):
        human.ask(question, 0.0)


# --- the command ------------------------------------------------------------------------------------------------


def practise(*arguments: str) -> int:
    return cli.main(["practice", *arguments])


def test_the_command_says_who_won_and_where_the_replays_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "my_bot.py", "--game", "linkage"]) == 0
    assert practise("my_bot.py", "--against", "random", "--games", "2") == 0
    out = capsys.readouterr().out
    assert "  getstep practice my_bot.py\n" in out
    assert re.search(r"^Game 2 of 2: (won|lost) as", out, re.MULTILINE)
    assert "my_bot.py against random, linkage:" in out
    page = tmp_path / "my_bot-practice.html"
    assert str(page) in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_open_shows_the_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))  # type: ignore[func-returns-value]  # it is None, so this is True
    monkeypatch.setenv("DISPLAY", ":0")
    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return None\n")
    page = tmp_path / "r.html"
    assert practise(str(bot), "--games", "1", "--open", "--html", str(page)) == 1
    assert opened == [page.as_uri()]


def offering(monkeypatch: pytest.MonkeyPatch, *pages: str) -> None:
    points = [EntryPoint("board", page, "getstep.browser") for page in pages]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == GROUP else [])


def test_browser_opens_the_page_that_a_package_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offering(monkeypatch, f"{__name__}:FakePage")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return None\n")
    assert practise(str(bot), "--human", "--browser", "--html", str(tmp_path / "r.html")) == 1  # the bot's faults
    out = capsys.readouterr().out
    assert FakePage.address in out
    assert "Game 1 of 1: lost" in out


@pytest.mark.parametrize("offered", [[], ["getstep_nothing:Page"], ["getstep.cli:Nothing"]])
def test_browser_without_a_page_says_what_to_install(
    offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offering(monkeypatch, *offered)
    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return None\n")
    assert practise(str(bot), "--human", "--browser") == 2
    err = capsys.readouterr().err
    assert "getstep-server: install its file" in err if not offered else f"{offered[0]} cannot be loaded" in err
    assert not list(tmp_path.glob("*.html"))


def test_browser_is_for_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return None\n")
    assert practise(str(bot), "--browser") == 2
    assert "--human" in capsys.readouterr().err


def test_watch_prints_each_board_where_there_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return None\n")
    practise(str(bot), "--games", "1", "--watch", "--html", str(tmp_path / "r.html"))
    out = capsys.readouterr().out
    assert "Game 1 of 1: bot.py - greedy\nMove 1, bot.py (More): illegal_move" in out or "raised" in out
    assert "#" in out


@pytest.mark.parametrize("typed", ["size=10", "options.size = 10"])
def test_options_of_the_game_are_as_in_contest_toml(
    typed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = write(tmp_path, "# pseudo_tonga\ndef get_step(board, is_black): raise ValueError(f'{len(board)} rows')\n")
    page = str(tmp_path / "r.html")
    assert practise(str(bot), "--games", "1", "--option", typed, "--html", page, "--against", "random") == 1
    assert "ValueError: 10 rows" in capsys.readouterr().out


def test_a_range_is_drawn_for_each_two_games_with_swapped_colours() -> None:
    def drawn(seed: int) -> list[int]:
        played = play(_raises, "pseudo_tonga", against="random", games=12, options={"size": "6-16"}, seed=seed)
        return [match.options["size"] for match in played.matches]

    sizes = drawn(1)
    assert sizes[::2] == sizes[1::2]
    assert set(sizes) <= set(range(6, 17, 2))
    assert len(set(sizes)) > 2
    assert drawn(1) == sizes != drawn(2)


def _raises(board: Any, is_black: bool) -> Any:
    raise ValueError("the game is over at once")


def test_help_lists_the_options_of_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        practise("--help")
    said = " ".join(capsys.readouterr().out.split())
    assert "pseudo_tonga has size, a whole number from 6 to 16 in steps of 2 (squares along a side" in said


def test_levels_are_played_until_one_is_not_beaten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "r.html")
    assert practise("greedy", "--game", "linkage", "--levels", "--games", "6", "--seed", "1", "--html", page) == 0
    out = capsys.readouterr().out
    assert "Level 1 (random) is beaten: Elo +" in out
    assert "Level 2 (greedy) is not beaten yet: Elo " in out, "it is itself"
    assert "Level 3" not in out
    assert "greedy beats level 1, not yet level 2 (greedy). A level is beaten if" in out
    assert out.count("Game 6 of 6") == 2


def test_a_level_is_a_sample_bot_of_known_strength(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "r.html")
    assert practise("random", "--game", "linkage", "--level", "3", "--games", "2", "--html", page) == 0
    out = capsys.readouterr().out
    assert "random against search_100, linkage: 0 won, 0 drawn, 2 lost" in out
    assert "Level 3 (search_100) is not beaten yet: Elo -∞ [-∞, " in out


def repeated(pairs: int) -> Results:
    """Return the results of a bot that has won all games, each of which is a copy of two."""
    played = [play(first_legal, "pseudo_tonga", games=2, against=_raises, seed=1).matches for _ in range(pairs)]
    return Results("a", "b", "pseudo_tonga", tuple(match for pair in played for match in pair))


def test_copies_of_a_few_games_do_not_beat_a_level() -> None:
    results = repeated(1)
    assert results.copied is None
    results = repeated(4)
    assert results.elo is not None
    assert results.elo[1] > 0
    assert "copies of 1 pair" in str(results.copied)
    assert not beaten(results)


@pytest.mark.parametrize(
    ("game", "options", "convention", "expected"),
    [
        ("hop", {}, "", BALANCED),
        ("pseudo_tonga", {"size": 8}, "", BALANCED),
        ("pseudo_tonga", {"size": 6}, "", None),
        ("pseudo_tonga", {"size": "6-16"}, "", None),
        ("longest_path", {}, "prodrive", None),
    ],
)
def test_games_against_a_level_begin_with_the_book_if_there_is_one(
    game: str, options: dict[str, int | str], convention: str, expected: str | None
) -> None:
    bot = replace(entrant("greedy"), convention=convention)
    assert openings_for(GAMES[game], options, bot) == expected


_TONGA = ("greedy", "--game", "pseudo_tonga", "--option")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing.py",), "There is no file nothing.py"),
        (("greedy",), "Which game? greedy"),
        (("greedy", "--game", "chess"), "unknown game 'chess'"),
        (("greedy", "--game", "hop", "--games", "0"), "games: expected a number from 1"),
        (("greedy", "--game", "hop", "--limit", "nan"), "limit: expected seconds"),
        (("greedy", "--game", "hop", "--option", "size=10"), "options: hop has no option 'size'"),
        (("greedy", "--game", "hop", "--elo1", "3"), "--elo1 3: there is no test without --sprt"),
        (("greedy", "--game", "hop", "--sprt", "--elo1", "-3"), "--sprt: elo0 = 0.0, elo1 = -3.0, expected"),
        (("greedy", "--game", "hop", "--sprt", "--games", "3"), "games: a test counts pairs, so expected an even"),
        (("greedy", "--game", "hop", "--levels", "--sprt"), "--levels plays whole games"),
        (("greedy", "--game", "hop", "--levels", "--games", "3"), "games: a level is measured by pairs"),
        (("greedy", "--game", "hop", "--sprt", "--human"), "--sprt compares two bots"),
        ((*_TONGA, "size=9"), "options: size is 9; expected a whole number from 6 to 16 in steps of 2"),
        ((*_TONGA, "size=7-16"), "options: size is '7-16'; expected a whole number from 6 to 16 in steps of 2, or"),
        ((*_TONGA, "size"), "--option: expected NAME=NUMBER, such as size=10 or size=6-16 ('size')"),
        ((*_TONGA, "size=" + "9" * 5000), "--option: expected NAME=NUMBER"),
        ((*_TONGA, "size=10", "--option", "options.size=8"), "--option: size is given twice"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert practise(*arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("level", ["0", "7", "x", "", "-1", "²"])
def test_a_level_that_there_is_not(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        practise("greedy", "--game", "hop", f"--level={level}")
    assert f"argument --level: expected a level, 1 to 6 ({level!r})" in capsys.readouterr().err


def test_the_game_is_the_one_that_the_file_names(tmp_path: Path) -> None:
    one = write(tmp_path, '"""A bot for hop. It is not for linkage."""\nx = "linkage"\n')
    assert games_named(one) == ["hop", "linkage"]
    two = write(tmp_path, '"""A bot for hop."""\nx = "linkage"\n')
    assert find_game(None, entrant(two)) is GAMES["hop"]
    none = write(tmp_path, "import shop\n")
    with pytest.raises(SetupError, match=r"Which game\? bot\.py names no game\. Give one with --game"):
        find_game(None, entrant(none))
    with pytest.raises(SetupError, match=r"plays several\. Give one .*: hop, linkage\."):
        find_game(None, entrant(write(tmp_path, "# hop linkage")))


def test_practice_does_not_start_while_the_bot_is_loaded(tmp_path: Path) -> None:
    bot = write(
        tmp_path, "import getstep\ndef get_step(board, is_black): pass\ngetstep.practice(get_step, 'hop')\n"
    )
    with pytest.raises(BotError):
        ProcessPlayer(bot, "bot.py")


# --- a terminal -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty")
@pytest.mark.parametrize("more", [("--watch",), ("--human",), ("--sprt", "--games", "2"), ()])
def test_in_a_terminal(tmp_path: Path, more: tuple[str, ...]) -> None:
    from tests.support.terminal import run_in_terminal

    bot = write(tmp_path, "# linkage\ndef get_step(board, is_black): return ('R', (0, 0), (0, 1))\n")
    arguments = ["practice", str(bot), "--games", "1", "--html", str(tmp_path / "r.html"), *more]
    shown, code = run_in_terminal(arguments, typed=b"0 0\nresign\n" if more == ("--human",) else b"")
    assert code == (0 if more == ("--human",) else 1)
    assert "bot.py against " in shown
    assert ("\x1b[H" in shown) == (more == ("--watch",))
    assert ("Move 2" in shown) == (more in [("--watch",), ("--human",)])
    assert ("Game 2 of 2, move 0 | LLR 0.00 [-2.94, 2.94] | " in shown) == ("--sprt" in more)


class SlowToTell(Player):
    """A bot in an endless loop, whose process says where it is after the limit has ended."""

    def _send(self, question: dict[str, Any]) -> None:
        late = {"type": "late", "id": question["id"], "where": "my_bot.py line 2", "calls": ""}
        threading.Timer(0.05, self._inbox.put, [(0.0, late)]).start()


def test_the_place_of_an_endless_loop_may_arrive_after_the_limit() -> None:
    bot = SlowToTell("my_bot.py")
    assert bot.ask({"id": 1}, 0.0) is None
    assert bot.late_at == "my_bot.py line 2"
