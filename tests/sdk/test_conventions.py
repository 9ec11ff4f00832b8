"""The conventions of the original contests: their bytes in both directions, as in the originals' documents."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep.conventions import (
    CONVENTIONS,
    MAX_OUTPUT,
    SILENCE_SECONDS,
    ConventionError,
    IdLine,
    Input,
    Output,
    Question,
    Talk,
)
from getstep.conventions.linkage import MAX_ID, read_identity
from getstep.conventions.ugi import MAX_LINE, MAX_LINES, Ugi
from getstep.games import named_move
from getstep.turn import Turn
from getstep_conformance.games import Playout, playout
from getstep_engines import GAMES, Game, Player, State
from tests.support.convention_programs import game_of

EMPTY = {11: [[0] * 11 for _ in range(11)], 8: [[0] * 8 for _ in range(8)]}
NONE_8 = b"\n".join([b"No " * 8] * 8)


def transcript(name: str, player: Player, seed: int = 1) -> tuple[list[Input], Playout]:
    """Return the input of a program in one random game: the beginning, each question, what follows a move."""
    played = playout(game_of(name), seed, {})
    talk, last = CONVENTIONS[name](player), None
    inputs = [talk.begin()]
    for state, move in zip(played.states, played.moves, strict=False):
        if state.to_move == player:
            question = Question(state.board(), last)
            inputs += [talk.ask(question), talk.after(question, move)]
        else:
            last = move
    return inputs, played


def stdin_of(name: str, player: Player) -> tuple[bytes, Playout]:
    """Return all that a program reads from standard input in one random game."""
    inputs, played = transcript(name, player)
    return b"".join(text.stdin for text in inputs), played


def test_each_convention_plays_a_game_of_ours() -> None:
    assert {name: talk.game for name, talk in CONVENTIONS.items()} == {
        "prodrive": "longest_path",
        "csefest-console": "chain_reaction",
        "csefest-file": "chain_reaction",
        "topcoder": "pseudo_tonga",
        "linkage": "linkage",
        "ugi": None,
    }
    assert all(game_of(name).name in GAMES for name in CONVENTIONS)


# --- prodrive -------------------------------------------------------------------------------------------------


def test_prodrive_is_told_its_id_and_each_move_of_the_opponent() -> None:
    first, second = CONVENTIONS["prodrive"](0), CONVENTIONS["prodrive"](1)
    assert (first.begin(), second.begin()) == (Input(b"0\n"), Input(b"1\n"))
    assert first.ask(Question(EMPTY[11], None)) == Input()
    assert second.ask(Question(EMPTY[11], (2, 7))) == Input(b"7 2\n")  # column, row
    assert first.read(Output(b"3 10\nx")) == ((10, 3), 5)


def test_prodrive_is_told_the_opponents_last_move() -> None:
    board = [[1] * 11 for _ in range(11)]
    board[4][5] = board[9][0] = 0
    talk = CONVENTIONS["prodrive"](1)
    assert talk.after(Question(board, (0, 0)), (4, 5)) == Input(b"0 9\n")
    board[8][8] = 0
    assert talk.after(Question(board, (0, 0)), (4, 5)) == Input()


@pytest.mark.parametrize("player", [0, 1])
def test_prodrive_reads_all_moves_of_the_opponent_and_nothing_else(player: Player) -> None:
    """The last one as well, and nothing before the first move of player 0."""
    read, played = stdin_of("prodrive", player)
    theirs = played.moves[1 - player :: 2]
    assert len(theirs) == (60, 61)[player]
    assert read == b"%d\n" % player + b"".join(b"%d %d\n" % (column, row) for row, column in theirs)


@pytest.mark.parametrize("text", [b"7 2\n", b"7 2\r\n", b"\n  7  2 \n", b"7 2", b"7\n2\n", b"7\r\n\r\n2\r\n"])
def test_prodrive_moves(text: bytes) -> None:
    talk = CONVENTIONS["prodrive"](0)
    assert talk.arguments() == ()
    assert talk.read(Output(text, ended=True)) == ((2, 7), len(text))  # row, column
    assert talk.read(Output(b"7 2", silent=True)) is None  # its programs print a newline


@pytest.mark.parametrize("begun", [b"7", b"7\n", b"7\n\n", b"7\r\n2", b"7 2"])
def test_prodrive_moves_that_may_go_on(begun: bytes) -> None:
    assert CONVENTIONS["prodrive"](0).read(Output(begun)) is None


@pytest.mark.parametrize(("text", "named"), [(b"hello\n1 2\n", "'hello'"), (b"7\n\nto\n2\n", r"'7\nto'")])
def test_prodrive_names_the_line_with_the_mistake(text: bytes, named: str) -> None:
    with pytest.raises(ConventionError, match=re.escape(f"wrote {named}; expected")):
        CONVENTIONS["prodrive"](0).read(Output(text))


def test_csefest_has_both_numbers_on_one_line() -> None:
    with pytest.raises(ConventionError, match="wrote '3'; expected"):
        CONVENTIONS["csefest-console"](0).read(Output(b"3\n4\n"))


# --- csefest ----------------------------------------------------------------------------------------------------


def test_csefest_console() -> None:
    board = [[0] * 8 for _ in range(8)]
    board[0][1], board[7][7] = 2, -3
    talk = CONVENTIONS["csefest-console"](1)
    assert talk.arguments() == ("G",)
    assert CONVENTIONS["csefest-console"](0).arguments() == ("R",)
    assert talk.begin() == Input(b"start\n")
    rows = [b"No R2 " + b"No " * 6, *[b"No " * 8] * 6, b"No " * 7 + b"G3 "]
    assert talk.ask(Question(board, None)).stdin == b"\n".join(rows) + b"\n"


@pytest.mark.parametrize("player", [0, 1])
def test_csefest_console_reads_start_once_and_then_boards(player: Player) -> None:
    read, played = stdin_of("csefest-console", player)
    assert read.startswith(b"start\n")
    lines = read.removeprefix(b"start\n").splitlines(keepends=True)
    assert len(lines) == 8 * len([state for state in played.states[:-1] if state.to_move == player])
    cell = rb"(No|[RG][123]) "
    assert all(re.fullmatch(cell * 8 + rb"\n", line) for line in lines)


def test_what_is_left_of_a_move_does_not_count_as_the_next_one() -> None:
    """A newline that comes after the silence is a blank line before the next move."""
    talk = CONVENTIONS["csefest-console"](0)
    assert talk.read(Output(b"\r\n", silent=True)) is None
    assert talk.read(Output(b"\r\n5 6\n")) == ((5, 6), 6)


def test_a_silence_is_50_ms() -> None:
    assert SILENCE_SECONDS == 0.05


@pytest.mark.parametrize("text", [b"3 4\n", b"3 4\r\n", b"\r\n\n 3 4 \n", b"3\t4\n"])
def test_csefest_console_moves(text: bytes) -> None:
    assert CONVENTIONS["csefest-console"](0).read(Output(text)) == ((3, 4), len(text))


def test_a_move_without_a_newline_counts_once_the_program_is_silent() -> None:
    talk = CONVENTIONS["csefest-console"](0)
    assert talk.read(Output(b"3 4")) is None  # it may become 3 42
    assert talk.read(Output(b"3 4", silent=True)) == ((3, 4), 3)
    assert talk.read(Output(b"3 4", ended=True)) == ((3, 4), 3)
    assert talk.read(Output(b"3 ", silent=True)) is None


def test_csefest_file() -> None:
    talk = CONVENTIONS["csefest-file"](0)
    (content,) = talk.ask(Question(EMPTY[8], None)).files.values()
    assert content == b"R\n" + NONE_8
    assert talk.read(Output(content, silent=True)) is None
    assert talk.read(Output(b"", silent=True)) is None
    assert talk.read(Output(b"0", silent=False)) is None
    assert talk.read(Output(b"0\n3 ")) is None
    assert talk.read(Output(b"0\n3 4\n")) == ((3, 4), 6)
    assert talk.read(Output(b"0\n3 4")) is None
    assert talk.read(Output(b"0\n3 4", silent=True)) == ((3, 4), 5)
    with pytest.raises(ConventionError, match=r"the first line of shared_file\.txt is '3 4'"):
        talk.read(Output(b"3 4\n", silent=True))


@pytest.mark.parametrize("player", [0, 1])
def test_csefest_file_says_the_colour_and_the_board(player: Player) -> None:
    inputs, played = transcript("csefest-file", player)
    beginning, *questions = [text.files["shared_file.txt"] for text in inputs if text.files]
    assert beginning == b"GR"[player : player + 1] + b"\n" + NONE_8  # nobody's turn but the opponent's
    assert len(questions) == len([state for state in played.states[:-1] if state.to_move == player])
    colour, cells = b"RG"[player : player + 1], rb"((No|[RG][123]) ){8}"
    assert all(re.fullmatch(colour + (rb"\n" + cells) * 8, question) for question in questions)
    assert not any(text.stdin for text in inputs)
    assert CONVENTIONS["csefest-file"](player).arguments() == (colour.decode(),)


@pytest.mark.parametrize(
    "text", [b"0\n3 4\n", b"0\r\n3 4\r\n", b"0 \n 3  4\n", b"\n0\n\n3 4\n", b"0\n3 4\n" + b"No " * 8]
)
def test_csefest_file_answers(text: bytes) -> None:
    assert CONVENTIONS["csefest-file"](1).read(Output(text)) == ((3, 4), len(text))


@pytest.mark.parametrize("whole", [b"0\n3 4\n", b"0\r\n3 4\r\n", b"G\n" + NONE_8])
def test_a_file_that_is_half_written_is_no_answer(whole: bytes) -> None:
    talk = CONVENTIONS["csefest-file"](1)
    written = [talk.read(Output(whole[:length])) for length in range(whole.index(b"4") + 1 if b"4" in whole else 9)]
    assert written == [None] * len(written)


# --- topcoder ---------------------------------------------------------------------------------------------------


def test_topcoder() -> None:
    talk = CONVENTIONS["topcoder"](0)
    assert talk.ask(Question(EMPTY[8], None)) == Input(b"8 -1 -1\n")
    assert talk.ask(Question(EMPTY[8], (1, 2))) == Input(b"1 2\n")
    assert CONVENTIONS["topcoder"](1).ask(Question(EMPTY[8], (1, 2))) == Input(b"8 1 2\n")
    assert talk.read(Output(b"5 6\n7")) == ((5, 6), 4)
    assert talk.read(Output(b"5 6")) is None
    for array, elements in ((b"\n", 0), (b"5\n", 1), (b"5 6 7\n", 3)):
        with pytest.raises(ConventionError, match=f"an array of {elements} elements"):
            talk.read(Output(array))


@pytest.mark.parametrize("player", [0, 1])
def test_topcoder_gets_each_move_but_the_last_one_of_player_1(player: Player) -> None:
    read, played = stdin_of("topcoder", player)
    theirs = [(-1, -1), *played.moves[1::2][:-1]] if player == 0 else played.moves[::2]
    assert len(theirs) == 32
    assert read == b"8 " + b"".join(b"%d %d\n" % tuple(move) for move in theirs)


@pytest.mark.parametrize(
    ("text", "array"), [(b"5 6\r\n", (5, 6)), (b" 5  6 \n", (5, 6)), (b"-1 2147483647\n", (-1, 2147483647))]
)
def test_topcoder_arrays(text: bytes, array: tuple[int, int]) -> None:
    assert CONVENTIONS["topcoder"](0).read(Output(text)) == (array, len(text))


@pytest.mark.parametrize("text", [b"[5, 6]\n", b"5 6.0\n", b"1 " * 600, b"5 "])
def test_a_wrapper_that_writes_no_array(text: bytes) -> None:
    with pytest.raises(ConventionError, match="expected an array's numbers on a line"):
        CONVENTIONS["topcoder"](0).read(Output(text, ended=True))


# --- linkage ----------------------------------------------------------------------------------------------------


def test_linkage_input() -> None:
    state = GAMES["linkage"].start()
    state.play(("R", (0, 0), (0, 1)))
    (content,) = CONVENTIONS["linkage"](1).ask(Question(state.board(), None)).files.values()
    assert content == b"F5666\nRRx....\nxx.....\n.......\n...X...\n.......\n.......\n.......\n"


def test_the_first_input_of_linkage() -> None:
    talk = CONVENTIONS["linkage"](0)
    (content,) = talk.ask(Question(GAMES["linkage"].start().board(), None)).files.values()
    assert content == b"M6666\n" + b".......\n" * 3 + b"...X...\n" + b".......\n" * 3
    assert (talk.arguments(), talk.process_per_turn, talk.output_file) == ((), True, "order.txt")


@pytest.mark.parametrize("player", [0, 1])
def test_linkage_reads_its_letter_the_dominoes_left_and_the_board(player: Player) -> None:
    inputs, played = transcript("linkage", player)
    texts = [text.files["input.txt"].decode() for text in inputs if text.files]
    states = [state for state in played.states[:-1] if state.to_move == player]
    for text, state in zip(texts, states, strict=True):
        first, *rows = text.splitlines()
        assert re.fullmatch("MF"[player] + "[0-6]{4}", first)
        assert sum(map(int, first[1:])) == 24 - sum(cell in "RBGY" for cell in "".join(rows)) // 2
        free = {(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == "."}
        assert all({one, other} <= free for _, one, other in state.legal_moves())


@pytest.mark.parametrize("text", [b"RA1A2", b"RA1A2\n", b"ra1a2\r\n", b" RA1a2\n"])
def test_linkage_order(text: bytes) -> None:
    talk = CONVENTIONS["linkage"](0)
    assert talk.read(Output(text, silent=True)) is None  # the program still runs
    assert talk.read(Output(text, ended=True)) == (("R", (0, 0), (1, 0)), len(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "missing or empty"),
        (b"Skip", "wrote Skip, though"),
        (b"skip\r\n", "wrote Skip, though"),
        (b"RA1A8", r"has 'RA1A8'; expected"),
        (b"\xff", "has"),
    ],
)
def test_linkage_without_an_order(text: bytes, why: str) -> None:
    with pytest.raises(ConventionError, match=why):
        CONVENTIONS["linkage"](0).read(Output(text, ended=True))


def test_linkage_orders_are_the_notation_of_the_game() -> None:
    game, talk = GAMES["linkage"], CONVENTIONS["linkage"](0)
    for move in game.start().legal_moves():
        found = talk.read(Output(game.notation(move).encode(), ended=True))
        assert found is not None
        assert found[0] == move


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "Smart Bot, Ada Smith, UK, 27, 2020-01-31, 1.2",
            ("Smart Bot", "Ada Smith", "UK", "27", "2020-01-31", "1.2"),
        ),
        (
            "Smart Bot. Ada Smith, UK, 27, 2020-01-31, 1.2",
            ("Smart Bot", "Ada Smith", "UK", "27", "2020-01-31", "1.2"),
        ),
        ("Bot 1.5, Ada, 2020, 1.5", ("Bot 1.5", "Ada", "", "", "2020", "1.5")),
        ("Bot, Ada, France, 2020, 2", ("Bot", "Ada", "France", "", "2020", "2")),
        ("Bot, Ada, 27, 2020, 2", ("Bot", "Ada", "", "27", "2020", "2")),
        ("Bot, Ada, 27 years old, May 5, 2020, v2", ("Bot", "Ada", "", "27 years old", "May 5, 2020", "v2")),
        ("Bot, Ada, Bob, Carl, UK, 1 May, 2020, v2", ("Bot", "Ada, Bob, Carl", "UK", "", "1 May, 2020", "v2")),
        ("Bot, Ada", ("Bot", "Ada", "", "", "", "")),
        ("Bot, Ada, 3", ("Bot", "Ada", "", "", "", "3")),
        ("Bot,Ada,,,2020,1", ("Bot", "Ada", "", "", "2020", "1")),
    ],
)
def test_the_id_line_of_linkage(line: str, fields: tuple[str, ...]) -> None:
    found = read_identity(f" {line} \r\nand more\n".encode())
    assert (found.name, found.author, found.country, found.age, found.date, found.version) == fields
    assert found.text == line


def test_the_id_line_is_asked_with_an_argument_and_read_to_its_end() -> None:
    talk = IdLine(0)
    assert len(talk.arguments()) == 1
    assert (talk.begin(), talk.ask(Question([], None))) == (Input(), Input())
    assert talk.read(Output(b"Bot, Ad", silent=True)) is None
    for output in (Output(b"Bot, Ada\n"), Output(b"Bot, Ada", ended=True)):
        found = talk.read(output)
        assert found is not None
        assert found[0].author == "Ada"
    assert read_identity(b"Bot, Andr\xe9").author == "André"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "is missing"),
        (b"\r\n", "is missing"),
        (b"Bot", "has no author"),
        (b"Bot, ", "has no author"),
        (b"Bot, Ada\x1b[2J", "cannot be shown"),
        (b"a, " * MAX_ID, "more than 200 characters"),
        ("é, ".encode() * 100_000, "more than 200 characters"),
    ],
)
def test_a_wrong_id_line(line: bytes, why: str) -> None:
    with pytest.raises(ConventionError, match=why) as refused:
        IdLine(0).read(Output(line, ended=True))
    assert len(str(refused.value)) < 300


@given(st.binary(max_size=2 * MAX_ID))
def test_any_id_line_is_read_or_refused(line: bytes) -> None:
    try:
        found = read_identity(line)
    except ConventionError:
        return
    assert found.name.strip()
    assert found.author.strip()
    assert found.text.isprintable()


# --- ugi --------------------------------------------------------------------------------------------------------


def ugi_turn(game: str, number: int, last: object = None, **more: Any) -> Turn:
    return Turn(game, 1, number, "Other", last, more.pop("ms", 3000), more.pop("options", {}), **more)


def ask_ugi(talk: Talk, state: State, turn: Turn, options: bytes = b"") -> list[str]:
    """Return the lines that a program is sent in one turn, which answers as it should."""
    sent = talk.ask(Question(state.board(), turn.last_move, turn)).stdin
    for answer in (b"id name Bot\n" + options + b"ugiok\n", b"readyok\n"):
        reply = talk.reply(Output(answer))
        assert reply is not None
        assert reply[1] == len(answer)
        sent += reply[0].stdin
    assert talk.awaits == "bestmove"
    return sent.decode().splitlines()


def ready_ugi(game: str = "longest_path") -> Ugi:
    talk = Ugi(0)
    ask_ugi(talk, GAMES[game].start(), ugi_turn(game, 1))
    return talk


def test_ugi_is_asked_as_guis_ask() -> None:
    state, talk = GAMES["longest_path"].start(), Ugi(0)
    assert talk.begin() == Input(b"ugi\n")
    assert ask_ugi(talk, state, ugi_turn("longest_path", 1)) == [
        "uginewgame", "isready", "position startpos", "go movetime 2950",
    ]  # fmt: skip
    assert talk.read(Output(b"bestmove 3,4 ponder 1,1\nx")) == ((3, 4), 24)
    before = state.copy()
    state.play((3, 4))
    assert talk.after(Question(before.board(), None), (3, 4)) == Input()
    state.play((0, 0))
    asked = ask_ugi(talk, state, ugi_turn("longest_path", 3, (0, 0), ms=100))
    assert asked == ["isready", "position startpos moves 3,4 0,0", "go movetime 90"]
    assert talk.end() == Input(b"quit\n")


def test_ugi_gets_the_board_where_the_moves_do_not_lead_to_it() -> None:
    state = GAMES["pseudo_tonga"].start(size=6)
    state.play((1, 2))
    talk = Ugi(1)
    turn = ugi_turn("pseudo_tonga", 2, (1, 2), options={"size": 6}, time_kind="budget", increment_ms=500, ms=20_000)
    options = b"option name UGI_Variant type string\noption name Size type spin\noption name Hash type spin\n"
    rows = ["0,0,0,0,0,0"] * 6
    rows[1] = "0,0,1,0,0,0"
    assert ask_ugi(talk, state, turn, options) == [
        "setoption name Size value 6",
        "setoption name UGI_Variant value pseudo_tonga",
        "uginewgame",
        "isready",
        f"position fen {'/'.join(rows)} p2 1",
        "go p1time 19950 p2time 19950 p1inc 500 p2inc 500",
    ]


def test_ugi_goes_on_after_a_skipped_turn() -> None:
    """Black's fault in hop is no move: from there on the position is the board, and then the moves after it."""
    state, talk = GAMES["hop"].start(), Ugi(1)
    state.fault()
    rows = "/".join(",".join(map(str, row)) for row in state.board())
    asked = ask_ugi(talk, state, ugi_turn("hop", 2))
    assert asked[2] == f"position fen {rows} p2 1"
    found = talk.read(Output(b"bestmove " + GAMES["hop"].notation(next(state.legal_moves())).encode() + b"\n"))
    assert found is not None
    state.play(found[0])
    talk.after(Question(state.board(), None), found[0])
    state.play(last := next(state.legal_moves()))
    asked = ask_ugi(talk, state, ugi_turn("hop", 4, last))
    moves = " ".join(map(GAMES["hop"].notation, (found[0], last)))
    assert asked[1] == f"position fen {rows} p2 1 moves {moves}"


@pytest.mark.parametrize("name", ["longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage"])
def test_ugi_has_the_position_and_every_move_of_each_game(name: str) -> None:
    game, played, last = GAMES[name], playout(GAMES[name], 1, {}), None
    talks = (Ugi(0), Ugi(1))
    for number, (state, move) in enumerate(zip(played.states, played.moves, strict=False), 1):
        talk = talks[state.to_move]
        line = next(
            line for line in ask_ugi(talk, state, ugi_turn(name, number, last)) if line.startswith("position")
        )
        assert rebuilt(game, line).board() == state.board()
        found = talk.read(Output(f"bestmove {game.notation(move)}\r\n".encode()))
        assert found is not None
        after = state.copy()
        after.play(found[0])
        assert after.board() == played.states[number].board()
        talk.after(Question(state.board(), last), move)
        last = move


def rebuilt(game: Game, line: str) -> State:
    """Return the position of a line, as a program would read it."""
    root, _, moves = line.removeprefix("position ").partition(" moves ")
    if root == "startpos":
        state = game.start()
    else:
        rows, side, _ = root.removeprefix("fen ").split()
        state = game.from_board([[int(cell) for cell in row.split(",")] for row in rows.split("/")], side == "p1")
    for text in moves.split():
        state.play(named_move(game, state, text))
    return state


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"bestmove\n", "wrote 'bestmove'; expected a legal move, such as bestmove 0,0"),
        (b"bestmove (none)\n", "wrote 'bestmove (none)'; expected"),
        (b"bestmove 0000\n", "expected a legal move"),
        (b"bestmove 3\x004\n", "expected a legal move"),
        (b"bestmove 3, 4\n", "expected a legal move"),
        (b"bestmove 03,4\n", "expected a legal move"),
        (b"bestmove \xff\xfe\n", "expected a legal move"),
        (b"bestmove " + b"9" * 5000 + b",1\n", "expected a legal move"),
        (b"\0" * (MAX_LINE + 1), f"more than {MAX_LINE} bytes without the end of a line"),
    ],
)
def test_ugi_refuses_a_bestmove_that_is_no_move(text: bytes, why: str) -> None:
    with pytest.raises(ConventionError, match=re.escape(why)) as refused:
        ready_ugi().read(Output(text))
    assert len(str(refused.value)) < 300


def test_ugi_leaves_an_illegal_move_to_the_judge() -> None:
    assert ready_ugi().read(Output(b"bestmove 11,11\n")) == ((11, 11), 15)


def test_ugi_takes_nothing_for_a_move_before_it_has_asked() -> None:
    """A second bestmove, or one before ugiok or readyok, answers nothing."""
    talk = Ugi(0)
    state, early = GAMES["longest_path"].start(), Output(b"bestmove 3,4\n")
    talk.begin()
    talk.ask(Question(state.board(), None, ugi_turn("longest_path", 1)))
    assert talk.reply(early) == (Input(), 13)
    assert talk.reply(Output(b"readyok\n")) == (Input(), 8)  # out of turn
    assert talk.awaits == "ugiok"
    talk.reply(Output(b"ugiok\n"))
    assert talk.reply(early) == (Input(), 13)
    assert talk.read(early) is None
    talk.reply(Output(b"readyok\nreadyok\nugiok\n"))
    assert talk.reply(early) is None
    assert talk.read(early) is not None


@pytest.mark.parametrize(
    ("info", "notes"),
    [
        (b"info depth 5 score cp 100 pv 1,2 3,4", ["say pv 1,2 3,4", "estimate 0.1821"]),
        (b"info score cp -999999999 lowerbound", ["estimate -1.0000"]),
        (b"info score mate 3", ["estimate 1.0000"]),
        (b"info score mate -1", ["estimate -1.0000"]),
        (b"info score wdl 500 300 200", ["estimate 0.3000"]),
        (b"info score wdl 0 0 0", ["estimate 0.0000"]),
        (b"info depth 1 score cp 50\ninfo score cp 0", ["estimate 0.0000"]),
        (b"info score cp 20 multipv 1\ninfo multipv 2 score cp -80 pv 9,9", ["estimate 0.0368"]),
        (b"info string I take the corner", ["say I take the corner"]),
        (b"info string score cp 100 pv 1,2", ["say score cp 100 pv 1,2"]),
        (b"info string one\ninfo string " + b"x" * 500, ["say one", "say " + "x" * 160]),
        (b"info pv " + b"1,2 " * 1000, ["say pv " + ("1,2 " * 75)]),
        (b"\n".join(b"info string %d" % n for n in range(9)), [f"say {n}" for n in (5, 6, 7, 8)]),
        (b"info score cp x\ninfo score\ninfo\ninfo nodes 5 nps 3\nmumble", []),
    ],
)
def test_the_info_of_ugi_is_notes(info: bytes, notes: list[str]) -> None:
    talk = ready_ugi()
    assert talk.reply(Output(info + b"\n")) == (Input(), len(info) + 1)
    assert talk.notes() == notes
    talk.ask(Question(GAMES["longest_path"].start().board(), None, ugi_turn("longest_path", 1)))
    assert talk.notes() == []


def test_a_flood_of_info_ends_the_turn() -> None:
    talk, lines = ready_ugi(), b"info nodes 1\n" * 4000
    for _ in range(MAX_LINES // len(lines)):
        assert talk.reply(Output(lines)) is not None
    with pytest.raises(ConventionError, match=f"more than {MAX_LINES} bytes without a move"):
        talk.reply(Output(lines))


def test_ugi_says_that_it_does_not_know_a_game() -> None:
    with pytest.raises(ConventionError, match="chess is not installed here"):
        Ugi(0).ask(Question([[0]], None, ugi_turn("chess", 1)))


@given(st.lists(st.binary(max_size=300)), st.booleans())
def test_any_lines_of_ugi_are_read_or_refused(parts: list[bytes], ended: bool) -> None:
    talk, data = ready_ugi(), b"\n".join(parts)
    while (reply := talk.reply(Output(data, ended=ended))) is not None:
        assert 0 < reply[1] <= len(data)
        data = data[reply[1] :]
    with contextlib.suppress(ConventionError):
        talk.read(Output(data, ended=ended))
    assert len("\n".join(talk.notes())) < 1000 + 20


# --- all of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONVENTIONS)
@given(data=st.binary(max_size=2000), silent=st.booleans(), ended=st.booleans())
def test_any_output_is_a_move_incomplete_or_a_complaint(name: str, data: bytes, silent: bool, ended: bool) -> None:
    talk, found, complaint = CONVENTIONS[name](0), None, ""
    try:
        found = talk.read(Output(data, silent, ended))
    except ConventionError as error:
        complaint = str(error)
    assert len(complaint) < 300
    assert not complaint or complaint.isprintable()
    if found is None:
        assert complaint or len(data) <= MAX_OUTPUT or talk.output_file is not None or name == "ugi"
    else:
        assert 0 < found[1] <= len(data)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_position_of_a_game_can_be_asked(name: str) -> None:
    game = game_of(name)
    talks: list[Talk] = [CONVENTIONS[name](0), CONVENTIONS[name](1)]
    played = playout(game, 1, {})
    for number, (state, move) in enumerate(zip(played.states, played.moves, strict=False), 1):
        question = Question(state.board(), None, Turn(game.name, 1, number, "Other", None, 1000))
        asked, after = talks[state.to_move].ask(question), talks[state.to_move].after(question, move)
        assert len(asked.stdin + after.stdin) < 400
        assert all(len(content) < 400 for content in asked.files.values())
