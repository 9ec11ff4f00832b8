"""The pages about programs of the original contests: what they show is what the conventions and the host do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from getstep._errors import BotError
from getstep.conventions import CONVENTIONS, MAX_OUTPUT, ConventionError, Input, Output, Question, Talk
from getstep.games import first_move_error
from getstep.programs.program import LocalProgram, ProgramBot, identity_of
from getstep.turn import Turn
from getstep_engines import GAMES, Player
from getstep_server.limits import MAX_PROGRAM_BYTES, MAX_PROGRAM_FILES
from tests.support.convention_programs import game_of
from tests.support.patience import PATIENCE_SECONDS

DOCS = Path(__file__).parents[1] / "docs"
EVERY_CONVENTION = pytest.mark.parametrize("name", CONVENTIONS)
PLAYERS: dict[str, Player] = {
    "prodrive": 1,
    "csefest-console": 1,
    "csefest-file": 0,
    "topcoder": 0,
    "linkage": 1,
    "ugi": 1,
}
"""The player that the program of a page is in its example."""

Exchange = list[tuple[str, bytes]]
"""Who writes, and what; a program's start has its arguments."""


def text_of(name: str) -> str:
    return (DOCS / "programs" / f"{name}.md").read_text(encoding="utf-8")


def block_of(name: str, language: str, beginning: str = "") -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if re.search(f"^{beginning}", block, re.MULTILINE)]
    assert isinstance(found, str)
    return found


# --- the examples byte by byte ----------------------------------------------------------------------------------


@pytest.fixture
def exchange(name: str, monkeypatch: pytest.MonkeyPatch) -> Exchange:
    """All that a program of the convention ``name`` reads and writes during the test."""
    convention, noted = CONVENTIONS[name], []
    read, reply = convention.read, convention.reply

    def host_noted(method: Callable[..., Input]) -> Callable[..., Input]:
        def call(*arguments: Any) -> Input:
            text = method(*arguments)
            noted.append(("host", text.stdin or b"".join(text.files.values())))
            return text

        return call

    def read_noted(talk: Talk, output: Output) -> tuple[Any, int] | None:
        found = read(talk, output)
        if found is not None:
            noted.append(("program", output.data[: found[1]]))
        return found

    def reply_noted(talk: Talk, output: Output) -> tuple[Input, int] | None:
        found = reply(talk, output)
        if found is not None:
            noted.extend((("program", output.data[: found[1]]), ("host", found[0].stdin)))
        return found

    for method in ("ask", "after"):
        monkeypatch.setattr(convention, method, host_noted(getattr(convention, method)))
    monkeypatch.setattr(convention, "read", read_noted)
    monkeypatch.setattr(convention, "reply", reply_noted)
    return noted


def shown(name: str) -> list[Exchange]:
    """Return the parts of a page's example, which `...` separates; consecutive lines of one side are one text."""
    parts: list[Exchange] = [[]]
    for line in block_of(name, "text", "start ").splitlines():
        if line == "...":
            parts.append([])
            continue
        side, _, text = line.partition("|")
        written = re.sub(r"(?<=[⏎·]) .*", "", text[1:]) if "⏎" in text or "·" in text else text[1:]
        data = written.replace("·", " ").replace("⏎", "\n").encode()
        if parts[-1] and parts[-1][-1][0] == side.strip():
            parts[-1][-1] = (side.strip(), parts[-1][-1][1] + data)
        else:
            parts[-1].append((side.strip(), data))
    return parts


def joined(exchange: Exchange) -> Exchange:
    """Return an exchange in which consecutive texts of one side are one."""
    found: Exchange = []
    for side, data in exchange:
        if not data:
            continue
        if found and found[-1][0] == side:
            found[-1] = (side, found[-1][1] + data)
        else:
            found.append((side, data))
    return found


def program_of(name: str, folder: Path) -> Path:
    path = folder / "bot.py"
    path.write_text(block_of(name, "python"), encoding="utf-8")
    return path


def play(name: str, path: Path) -> None:
    """Play a whole match with a program, against an opponent that takes the last legal move."""
    game, player = game_of(name), PLAYERS[name]
    state, last, number = game.start(), None, 0
    bot = ProgramBot(name, path)
    try:
        while state.outcome is None:
            number += 1
            if state.to_move == player:
                turn = Turn(game.name, 1, number, "Other", last, round(1000 * PATIENCE_SECONDS), {})
                state.play(bot.get_step(state.board(), player == 0, turn))
            else:
                last = list(state.legal_moves())[-1]
                state.play(last)
    finally:
        bot.close()
    assert "fault" not in state.outcome.reason


@EVERY_CONVENTION
def test_the_program_of_a_page_plays_a_match_byte_by_byte_as_shown(
    name: str, exchange: Exchange, tmp_path: Path
) -> None:
    play(name, program_of(name, tmp_path))
    talk = CONVENTIONS[name](PLAYERS[name])
    limited = re.compile(rb"(?<=go movetime )\d+")  # of a turn of 3 s, which is too short for a test
    sent = [(side, limited.sub(b"2950", data)) for side, data in exchange]
    written = joined([("host", talk.begin().stdin), *sent])
    first, rest = shown(name)
    at = [side for side, _ in first].index("start")
    before, start, beginning = first[:at], first[at], first[at + 1 :]
    assert before == joined([("host", b"".join(talk.begin().files.values()))])
    assert (start[0], start[1].split()) == ("start", [b"./my_program", *map(str.encode, talk.arguments())])
    assert len(beginning) >= 4
    assert written[: len(beginning)] == beginning
    assert rest == (written[-len(rest) :] if rest else [])


def test_the_calls_of_topcoder_are_those_of_its_lines() -> None:
    lines = re.findall(r"^(host|program) +\| (.*)⏎ +(.+)$", block_of("topcoder", "text", "start "), re.MULTILINE)
    assert len(lines) == 8
    for number, (side, text, call) in enumerate(lines):
        method = "move" if number else "init"
        numbers = ", ".join(text.split())
        assert call == (f"{method}({numbers})" if side == "host" else f"returned {{{numbers}}}")


def test_an_example_is_read_with_its_blanks_and_newlines() -> None:
    (before, start, host, program, *_) = shown("csefest-file")[0]
    assert before == ("host", b"G\n" + b"\n".join([b"No " * 8] * 8))
    assert start == ("start", b"./my_program R")
    assert host == ("host", b"R\n" + b"\n".join([b"No " * 8] * 8))
    assert program == ("program", b"0\n0 0\n")


def test_the_id_line_of_the_example(tmp_path: Path) -> None:
    identity = identity_of(program_of("linkage", tmp_path))
    assert (identity.name, identity.version) == ("First Linker", "1.0")


# --- messages ---------------------------------------------------------------------------------------------------


def row_cells(text: str, columns: int) -> list[list[str]]:
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]


def answer_to(name: str, written: bytes) -> str:
    """Return what the host says to a program's output in its first turn as the first player."""
    talk, game = CONVENTIONS[name](0), game_of(name)
    talk.ask(Question(game.start().board(), None, Turn(game.name, 1, 1, "Other", None, 1000)))
    for answer in (b"ugiok\n", b"readyok\n"):
        talk.reply(Output(answer))
    try:
        found = talk.read(Output(written, silent=True, ended=True))
    except ConventionError as error:
        return str(error)
    assert found is not None
    return first_move_error(game.name, {}, found[0])


@EVERY_CONVENTION
def test_the_mistakes_of_a_page_get_the_messages_that_it_shows(name: str) -> None:
    table = text_of(name).partition("## Common mistakes")[2]
    rows = [cells for cells in row_cells(table, 3) if cells[0] not in ("the program writes", "the wrapper writes")]
    assert len(rows) >= 3
    for written, message, _ in rows:
        data = b"" if written == "nothing" else written.strip("`").replace("⏎", "\n").encode()
        assert f"`{answer_to(name, data)}`" == message


def failure_of(
    folder: Path, source: str, seconds: float = PATIENCE_SECONDS, *, game: str = "longest_path", number: int = 1
) -> str:
    """Return why a program of `prodrive` has no move."""
    (folder / "bot.py").write_text(source, encoding="utf-8")
    bot = ProgramBot("prodrive", folder / "bot.py")
    asked = Turn(game, 1, number, "Other", None, round(1000 * seconds), {})
    with pytest.raises((RuntimeError, ConventionError)) as failed:
        bot.get_step(GAMES["longest_path"].start().board(), True, asked)
    return str(failed.value)


def test_the_messages_for_all_conventions(tmp_path: Path) -> None:
    section = (DOCS / "programs.md").read_text(encoding="utf-8").partition("## Messages, and what they mean")[2]
    messages = [message.strip("`") for message, _ in row_cells(section, 2) if message.startswith("`")]
    said = [
        failure_of(tmp_path, "raise SystemExit(1)\n"),
        failure_of(tmp_path, "import sys\nsys.stdin.read()\n", 0.01),
        failure_of(tmp_path, f"print(' ' * {MAX_OUTPUT + 1}, flush=True)\nwhile True: print(' ' * 100)\n"),
        failure_of(tmp_path, "", number=7),
        failure_of(tmp_path, "", game="hop"),
    ]
    for file in ("bot.cpp", "bot"):
        (tmp_path / file).touch(0o600)
        with pytest.raises(BotError) as refused:
            LocalProgram("prodrive", tmp_path / file)
        said.append(str(refused.value))
    assert len(messages) == len(said)
    assert [message for message, text in zip(messages, said, strict=True) if not text.startswith(message)] == []


# --- facts ------------------------------------------------------------------------------------------------------


@EVERY_CONVENTION
def test_a_page_names_the_limit_of_its_game(name: str) -> None:
    control = game_of(name).time_control
    span = {"move": "a move", "budget": "a game"}[control.kind]
    limits = text_of(name).partition("## Limits\n")[2].partition("\n## ")[0]
    assert f"\n- {control.seconds:g} s {span}" in limits
    assert f"`{game_of(name).name}`]" in text_of(name)


@pytest.mark.parametrize("name", ["csefest-console", "csefest-file"])
def test_a_page_says_why_a_limit_is_not_that_of_the_original_and_how_to_have_it(name: str) -> None:
    limits = text_of(name).partition("## Limits\n")[2].partition("\n## ")[0]
    rules = GAMES["chain_reaction"].rules
    for text in (limits, rules):
        (seconds,) = re.findall(r"`move_seconds = (\d+)`", text)
        assert float(seconds) > 6 > GAMES["chain_reaction"].time_control.seconds
        assert re.search(r"more\s+than 6 s for a program that uses\s+the file, and without limit for", text)
        assert re.search(r"one limit holds for both, and a program that\s+hangs does not stop a contest", text)


def test_the_overview_has_every_convention_and_the_limits_of_the_host() -> None:
    text = (DOCS / "programs.md").read_text(encoding="utf-8")
    listed = {cells[0]: cells[1].strip("`") for cells in row_cells(text, 3) if cells[0].startswith("[")}
    games = {name: talk.game or "every game" for name, talk in CONVENTIONS.items()}
    assert listed == {f"[`{name}`](programs/{name}.md)": game for name, game in games.items()}
    assert f"| output for one move | {MAX_OUTPUT:,} bytes |" in text
    assert f"{MAX_PROGRAM_BYTES // 10**6} MB, {MAX_PROGRAM_FILES:,} files" in text


@EVERY_CONVENTION
def test_a_page_links_an_example_in_each_language(name: str) -> None:
    linked = re.findall(r"\]\(\.\./\.\./bots/programs/(\w+)/([\w.]+)\)", text_of(name))
    folder = DOCS.parent / "bots" / "programs" / name.replace("-", "_")
    assert {file for _, file in linked} == {path.name for path in folder.iterdir() if path.is_file()}
    assert {folder_name for folder_name, _ in linked} == {folder.name}
