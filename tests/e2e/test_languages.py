"""Bots in other languages play real contests: the first bots, built by the lines that are printed for them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from getstep import __version__
from getstep.cli import main
from getstep.languages import LANGUAGES, Language
from getstep.wire import CLOSED, Goodbye
from getstep_engines import GAMES
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.contests import MakeContest, token_of
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Script, Session, end
from tests.support.fake_server import start as begin
from tests.support.languages import (
    COMPILERS,
    QUICK_START,
    compile_cpp,
    compile_csharp,
    compile_java,
    need,
    of_sdk,
)
from tests.support.processes import Program, Programs, ServerOutput
from tests.support.records import games_of

every_language = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)


def built(language: Language, folder: Path, game: str) -> list[str]:
    """Write and build the first bot of a game, or of ``all``, as a contestant does; return what starts it."""
    folder.mkdir()
    file = folder / f"my_bot{language.suffix}"
    assert main(["new", str(file), "--game", game]) == 0
    build = language.build_here()
    assert build is not None
    *building, run = build.commands(file)
    for line in building:
        subprocess.run(shlex.split(line), cwd=folder, check=True)
    program, *arguments = shlex.split(run)
    return [str(folder / program) if program.startswith("./") else shutil.which(program) or program, *arguments]


def start(programs: Programs, command: list[str], server: ServerOutput, team: int, folder: Path) -> Program:
    """Start a bot for a team."""
    where = ["--host", "127.0.0.1", "--port", str(server.port)]
    return programs.start(*command, *where, "--team", str(team), "--token", token_of(team), cwd=folder)


def plays_without_a_fault(
    language: Language, game: str, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    """Play a contest of the first bot against itself."""
    need(*COMPILERS[language.name])
    command = built(language, tmp_path / "bot", game)
    folder = make_contest(2, event={"game": game})
    server = programs.serve_in_thread(folder)
    bots = [start(programs, command, server, team, tmp_path / "bot") for team in (1, 2)]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(folder))
    assert [result.reason for result in played] == ["finished", "finished"]
    assert [result.faults for result in played] == [(0, 0), (0, 0)]
    assert server.complaints == []
    assert "Match 2: " in bots[0].output


@pytest.mark.long
@every_language
def test_a_first_bot_of_all_games_plays_each_and_one_of_hop_gives_up_the_others(
    language: Language, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    need(*COMPILERS[language.name])
    commands = {game: built(language, tmp_path / game, game) for game in ("all", "hop")}
    folder = make_contest(2, *({"game": game} for game in GAMES))
    server = programs.serve_in_thread(folder)
    every = start(programs, commands["all"], server, 1, tmp_path / "all")
    hop = start(programs, commands["hop"], server, 2, tmp_path / "hop")
    assert server.wait() == 0
    assert [every.wait(), hop.wait()] == [0, 0]
    played = results_of(load_contest(folder))
    ends = {(result.match.game, result.reason) for result in played}
    assert ends == {(game, "finished" if game == "hop" else "resigned") for game in GAMES}
    assert [result.faults for result in played] == [(0, 0)] * 10
    resigned = [result for result in played if result.reason == "resigned"]
    assert {result.match.teams[result.winner] for result in resigned if result.winner is not None} == {1}
    assert "this bot plays hop; the match is linkage. It gives up this match, and plays the next" in hop.output
    assert "gives up" not in every.output


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_the_first_bot_of_each_game_in_cpp_names_what_it_includes(game: str, tmp_path: Path) -> None:
    """In a bot for all games, one game's lines may hide that another's are missing."""
    need("g++")
    assert main(["new", str(tmp_path / "my_bot.cpp"), "--game", game]) == 0
    subprocess.run(["g++", "-std=c++17", "-fsyntax-only", str(tmp_path / "my_bot.cpp")], check=True)


def test_a_first_bot_plays(programs: Programs, make_contest: MakeContest, tmp_path: Path) -> None:
    """The quick one: a language that needs no compiler, and a game with few moves."""
    plays_without_a_fault(LANGUAGES["javascript"], "linkage", programs, make_contest, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", LANGUAGES)
def test_it_passes_the_strict_cases_of_the_conformance_suite(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = of_sdk(name, "conformance_bot")
    options = ["--patience=60", "--json", str(tmp_path / "report.json")]
    assert run_command(["conformance", *options, "--", *command]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert {case["verdict"] for case in report["cases"]} <= {"pass", "informational"}
    finding = [case["verdict"] for case in report["cases"] if case["number"].startswith("17.")]
    assert finding == ["pass"] * 7  # a client that does not look for its host is not wrong


@pytest.fixture(
    scope="module",
    params=[*(pytest.param(name, marks=pytest.mark.long) for name in ("cpp", "java", "csharp")), "javascript"],
    name="echo_bot",
)
def the_echo_bot(request: pytest.FixtureRequest) -> tuple[Language, list[str]]:
    """A language, and the command of its echo bot."""
    return LANGUAGES[request.param], of_sdk(request.param, "echo_bot")


def run(folder: Path, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a bot to its end with these variables for getstep, and without a saved login."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GETSTEP_")}
    environ |= {"GETSTEP_LOGIN_FILE": str(folder / "no_such_file"), **variables}
    return subprocess.run(command, env=environ, capture_output=True, text=True, encoding="utf-8")


def login_at(server: FakeServer) -> list[str]:
    """Return the arguments for the login at a fake server."""
    return ["--host", "127.0.0.1", "--port", str(server.port), "--team", str(TEAM), "--token", TOKEN]


@pytest.mark.parametrize(
    ("word", "says"), [("--help", "usage: "), ("--version", f"getstep {{title}} {__version__}")]
)
def test_the_program_says_what_it_is(
    word: str, says: str, echo_bot: tuple[Language, list[str]], tmp_path: Path
) -> None:
    language, command = echo_bot
    ran = run(tmp_path, [*command, word])
    assert ran.returncode == 0
    assert says.format(title=language.title) in ran.stdout


@pytest.mark.parametrize(
    ("words", "says"), [([], 'getstep: The port is "seven"'), (["--friendly"], "The team id is missing")]
)
def test_the_port_of_the_contest_is_not_the_one_for_friendly_matches(
    words: list[str], says: str, echo_bot: tuple[Language, list[str]], tmp_path: Path
) -> None:
    """GETSTEP_PORT is not looked at then, so it may even be wrong."""
    ran = run(tmp_path, [*echo_bot[1], *words], GETSTEP_PORT="seven")
    assert ran.returncode == 2
    assert says in ran.stderr


MANY = 105
"""Different problems in a row: more than the 100 that an SDK keeps, to report each once."""


def test_a_problem_is_reported_after_many_different_ones(
    echo_bot: tuple[Language, list[str]], tmp_path: Path
) -> None:
    def refuses(number: int) -> Script:
        goodbye = Goodbye(reason="full", detail=f"reason number {number} of many", retry_ms=0)
        return lambda session: session.say(goodbye)

    def is_over(session: Session) -> None:
        session.let_in(OVER)
        assert session.hear() is CLOSED

    with FakeServer(*map(refuses, range(MANY)), is_over) as server:
        ran = run(tmp_path, [*echo_bot[1], *login_at(server)], GETSTEP_TIME_SCALE="0.01")
    assert ran.returncode == 0
    assert [number for number in range(MANY) if f"reason number {number} of" not in ran.stderr] == []


COUNTERS = {
    "java": """public class Count {
    public static void main(String[] args) {
        int[][] none = {};
        Getstep.TurnBot bot = (board, isBlack, turn) -> none;
        System.out.println("results: " + Getstep.play(args, bot).size());
    }
}""",
    "csharp": """public static class Count
{
    public static void Main(string[] args)
    {
        Getstep.TurnBot bot = (board, isBlack, turn) => new int[0][];
        System.Console.WriteLine("results: " + Getstep.Play(args, bot).Count);
    }
}""",
}
"""Bots that print how many results `play` has returned. In C++ and JavaScript it returns none."""


@pytest.mark.long
@pytest.mark.parametrize("name", COUNTERS)
def test_the_latest_10000_results_are_kept(name: str, tmp_path: Path) -> None:
    """A ladder goes on for months, and a false server may end a match in no time."""
    need(*COMPILERS[name])
    source = tmp_path / f"Count{LANGUAGES[name].suffix}"
    source.write_text(COUNTERS[name])
    if name == "java":
        command = ["java", *QUICK_START, "-cp", str(compile_java(source)), "Count"]
    else:
        command = ["mono", str(compile_csharp(source))]

    def many(session: Session) -> None:
        session.let_in(*(message for match in range(1, 10_003) for message in (begin(match), end(match))), OVER)
        assert session.hear() is CLOSED

    with FakeServer(many) as server:
        ran = run(tmp_path, [*command, *login_at(server)], GETSTEP_TIME_SCALE="0.01")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "results: 10000"), ran.stderr
    assert "Match 10002: lost" in ran.stdout


NOTING = {
    "cpp": """
#include "getstep.hpp"
std::vector<int> GetStep(std::vector<std::vector<int>>& board, bool, const getstep::Turn& turn) {
    for (int row = 0; row < 11; ++row)
        for (int column = 0; column < 11; ++column)
            if (board[row][column] == 0) {
                getstep::say("move " + std::to_string(turn.move_number));
                std::thread([] { getstep::estimate(0.25); }).join();
                getstep::draw({row, column}, turn.move_number, "red");
                getstep::tag("cpp");
                getstep::estimate(7);
                return {row, column};
            }
    return {};
}
int main(int argc, char** argv) { return getstep::play(argc, argv, GetStep); }
""",
    "java": """
public class Noting {
    static Object getStep(int[][] board, boolean isBlack, Getstep.Turn turn) throws InterruptedException {
        for (int row = 0; row < 11; row++) {
            for (int column = 0; column < 11; column++) {
                if (board[row][column] == 0) {
                    Getstep.say("move " + turn.moveNumber);
                    Thread other = new Thread(() -> Getstep.estimate(0.25));
                    other.start();
                    other.join();
                    Getstep.draw(new int[] {row, column}, turn.moveNumber, "red");
                    Getstep.tag("java");
                    Getstep.estimate(7);
                    return new int[] {row, column};
                }
            }
        }
        return null;
    }

    public static void main(String[] args) {
        Getstep.play(args, Noting::getStep);
    }
}
""",
    "csharp": """
public static class Noting
{
    static object GetStep(int[][] board, bool isBlack, Getstep.Turn turn)
    {
        for (int row = 0; row < 11; row++)
        {
            int column = System.Array.IndexOf(board[row], 0);
            if (column >= 0)
            {
                Getstep.Say("move " + turn.MoveNumber);
                var other = new System.Threading.Thread(() => Getstep.Estimate(0.25));
                other.Start();
                other.Join();
                Getstep.Draw(new[] { row, column }, turn.MoveNumber, "red");
                Getstep.Tag("csharp");
                Getstep.Estimate(7);
                return new[] { row, column };
            }
        }
        return null;
    }

    static void Main(string[] args)
    {
        Getstep.Play(args, GetStep);
    }
}
""",
    "javascript": """
import { draw, estimate, play, say, tag } from "./getstep.mjs";
play((board, isBlack, turn) => {
  const row = board.findIndex((cells) => cells.includes(0));
  const column = board[row].indexOf(0);
  say(`move ${turn.moveNumber}`);
  estimate(0.25);
  draw([row, column], { label: turn.moveNumber, color: "red" });
  tag("javascript");
  estimate(7);
  return [row, column];
});
""",
    "python": """
import getstep

def get_step(board, is_black, turn):
    row, column = next((r, c) for r in range(11) for c in range(11) if board[r][c] == 0)
    getstep.say(f"move {turn.move_number}")
    getstep.estimate(0.25)
    getstep.draw((row, column), turn.move_number, "red")
    getstep.tag("python")
    getstep.estimate(7)
    return row, column

if __name__ == "__main__":
    getstep.play(get_step)
""",
    "prodrive": """
import sys
me = int(input())
taken = set()
for number in range(1, 122):
    if (number - 1) % 2 != me:
        taken.add(tuple(map(int, input().split())))
        continue
    x, y = next((x, y) for y in range(11) for x in range(11) if (x, y) not in taken)
    taken.add((x, y))
    lines = [f"say move {number}", "estimate 0.25", f"draw mark red {number} {y},{x}", "tag prodrive", "estimate 7"]
    sys.stderr.write("".join(f"getstep: {line}\\n" for line in lines) + "looking\\n")
    print(x, y, flush=True)
""",
}
"""Bots that take the first empty square, and note their move. The last estimate is wrong, and dropped."""


def noting(name: str, folder: Path) -> list[str]:
    """Build a bot that notes, and return the command that starts it."""
    source = folder / {"java": "Noting.java", "prodrive": "program.py", "python": "bot.py"}.get(
        name, f"noting{LANGUAGES[name].suffix}" if name in LANGUAGES else ""
    )
    source.write_text(NOTING[name])
    if name == "cpp":
        return [str(compile_cpp(source, ["-O0", "-Wno-conversion", "-Wno-sign-conversion"]))]
    if name == "java":
        return ["java", *QUICK_START, "-cp", str(compile_java(source)), "Noting"]
    if name == "csharp":
        return ["mono", str(compile_csharp(source))]
    if name == "javascript":
        for file, content in LANGUAGES[name].sdk_files():
            (folder / file).write_bytes(content)
        return ["node", str(source)]
    play = [sys.executable, "-m", "getstep", "play", source.name]
    return [*play, "--as", "prodrive"] if name == "prodrive" else [sys.executable, source.name]


@pytest.mark.long
def test_notes_of_bots_in_five_languages_and_of_a_program_are_on_record_as_they_were_sent(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    """Each plays one match, and one line says that the wrong estimate was dropped."""
    for tools in COMPILERS.values():
        need(*tools)
    folder = make_contest(
        6, {"format": "swiss", "settings": {"rounds": 1, "legs": 1}}, event={"game": "longest_path"}
    )
    server = programs.serve_in_thread(folder)
    bots = {}
    for team, name in enumerate(NOTING, 1):
        bots[name] = start(programs, noting(name, tmp_path), server, team, tmp_path)
    assert server.wait() == 0
    assert [bot.wait() for bot in bots.values()] == [0] * 6
    turns = [(game, number, turn) for game in games_of(folder) for number, turn in enumerate(game["turns"], 1)]
    assert len(turns) == 3 * 121
    names = dict(enumerate(NOTING, 1))
    for game, number, turn in turns:
        name = names[game["teams"][turn["player"]]["id"]]
        drawing = ["mark", turn["move"], str(number), "red"]
        expected = {"say": f"move {number}", "estimate": 0.25, "draw": [drawing], "tags": [name]}
        assert turn["notes"] == expected, (name, number)
    for name, bot in bots.items():
        assert len(re.findall("^.*estimate.*dropped.*$", bot.output, re.MULTILINE)) == 1, (name, bot.output)


MISCHIEF = """
import { play } from "./getstep.mjs";
play((board, isBlack, turn) => {
  if (turn.moveNumber > 397) for (;;);
  if (turn.moveNumber === 3 || turn.moveNumber === 4) process.exit(7);
  return "nothing";
});
"""


@pytest.mark.long
def test_a_bot_in_javascript_that_ends_its_thread_or_never_returns(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    """Each costs its turn. The thread is started again, and the end of the contest ends the program."""
    need(*COMPILERS["javascript"])
    for name, content in LANGUAGES["javascript"].sdk_files():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "mischief.mjs").write_text(MISCHIEF)
    command = ["node", str(tmp_path / "mischief.mjs")]
    server = programs.serve_in_thread(make_contest(2, event={"move_seconds": 1}))
    bots = [start(programs, command, server, team, tmp_path) for team in (1, 2)]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    for bot in bots:
        assert "getStep ended its thread:\nError: the thread of the bot has ended; does it call" in bot.output
        assert "getStep is still running; the program ends without it" in bot.output


@pytest.mark.long
@pytest.mark.parametrize("name", LANGUAGES)
def test_the_bot_that_searches(name: str, programs: Programs, make_contest: MakeContest, tmp_path: Path) -> None:
    """It beats a first bot within its time, on points: on a busy machine it may lose one of two games.

    The first bot is that of JavaScript, which needs no compiler.
    """
    need(*COMPILERS["javascript"])
    search = of_sdk(name, "search_pseudo_tonga", optimized=True)
    first = built(LANGUAGES["javascript"], tmp_path / "bot", "pseudo_tonga")
    folder = make_contest(2, event={"game": "pseudo_tonga", "budget_seconds": 3})
    server = programs.serve_in_thread(folder)
    bots = [start(programs, command, server, team, tmp_path / "bot") for team, command in ((1, search), (2, first))]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(folder))
    assert [result.reason for result in played] == ["finished"] * 2
    points = {1: 0, 2: 0}
    for result in played:
        assert result.scores is not None
        for team, score in zip(result.match.teams, result.scores, strict=True):
            points[team] += score
    assert points[1] > points[2]
