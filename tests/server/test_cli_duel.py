"""The command duel: arguments that do not fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nobody greedy", "'nobody', expected a bot's file or one of the sample bots: greedy, "),
        (
            "greedy house_pseudo_tonga --game hop",
            "house_pseudo_tonga.py plays pseudo_tonga only; give --game pseudo_tonga\n",
        ),
        ("greedy mcts --pairs 0", "--pairs = 0, expected at least 1\n"),
        ("greedy mcts --at-once 0", "--at-once 0, expected 1 to 8\n"),
        ("greedy mcts --elo1 3", "--elo1 3: there is no test without --sprt; give --sprt as well\n"),
        ("greedy mcts --sprt --elo1 -3", "--elo1 = -3.0, expected more than elo0, which is 0.0\n"),
        ("greedy mcts --sprt --alpha 2", "--alpha = 2.0, expected less than 0.5\n"),
        (
            "greedy house_pseudo_tonga --option size=3",
            '--option size = 3, expected a whole number from 6 to 16 in steps of 2, or a range such as "6-16"\n',
        ),
        (
            "greedy house_pseudo_tonga --option size=8-4",
            "--option size = '8-4', expected a whole number from 6 to 16 in steps of 2, or a range",
        ),
        ("greedy mcts --game go", "--game = 'go', expected an installed game (unknown game 'go'; installed: "),
        (
            "greedy mcts --option size",
            "--option 'size', expected a name and a whole number such as size=8, or a range: size=6-16\n",
        ),
        ("greedy mcts --option size=8", "--option size = 8, expected an option of hop, which has none\n"),
        ("greedy mcts random_bot", "3 bots; give --best to find the best of them\n"),
        ("greedy mcts --best --sprt", "--sprt compares two bots, and --best has tests of its own; leave out one"),
        (
            "greedy mcts --best --beta 0.1",
            "--beta: --best needs only --elo1, the difference that matters, and --alpha\n",
        ),
        (
            "greedy mcts --best --as-a linkage",
            "--as-a linkage: with --best all programs talk in the same way; give --as",
        ),
        ("greedy mcts --url http://localhost:1", "--url is for a language model: add --as-a llm or --as-b llm\n"),
        ("greedy tiny --as-b llm", "--as llm needs --url, such as --url http://localhost:11434/v1\n"),
        ("greedy tiny --as-b llm --url ftp://x", "--url: "),
        ("greedy tiny --as-b llm --dask local:2", "--as llm: a language model has no program; leave out --dask\n"),
        ("greedy mcts --agree 3", "--agree needs --resign or --draw, such as --resign 0.95\n"),
        ("greedy mcts --play-on", "--play-on needs --resign or --draw, such as --resign 0.95\n"),
        ("greedy mcts --draw 0.1 --resign 0.1", "--draw = 0.1, expected at least 0 and less than 0.1\n"),
        ("greedy mcts --best --elo1 0", "--elo = 0.0, expected more than 0"),
        ("greedy mcts --move-seconds 0", "--move-seconds = 0.0, expected more than 0\n"),
        ("greedy mcts --increment 1", "--increment-seconds = 1.0, expected budget_seconds as well: "),
        ("greedy mcts --budget 9 --increment -1", "--increment-seconds = -1.0, expected at least 0\n"),
        ("greedy mcts --budget 9 --move-sec 1", "--budget-seconds = 9.0, expected either move_seconds or "),
    ],
)
def test_wrong_arguments(command: Command, arguments: str, message: str) -> None:
    complaint = command.complaint("duel", *arguments.split())
    assert f"{complaint}\n".startswith(message)
    assert "\n" not in complaint


def test_a_bot_of_ones_own_may_have_any_name(command: Command, tmp_path: Path) -> None:
    own = tmp_path / "house_mine.py"
    own.touch()
    assert command.complaint("duel", str(own), "greedy", "--pairs", "0").startswith("--pairs = 0, ")


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "p.py").touch()
    (tmp_path / "p.cpp").touch()
    return str(tmp_path / "p.py")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{p} {p} --as linkage --game hop", "p.py plays linkage only; give --game linkage"),
        (
            "{p} {p} --as csefest-console --as csefest-file",
            "--as is for both bots, and is given 2 times; for one each, type"
            " --as-a csefest-console --as-b csefest-file",
        ),
        ("{p} greedy --as-a linkage --game hop", "p.py plays linkage only; give --game linkage"),
        ("greedy {p} --as-b linkage --as prodrive --game hop", "p.py plays linkage only; give --game linkage"),
        (
            "{p} {p} --as csefest-file",
            "{folder}: both programs would talk through the same file here; use several folders",
        ),
        (
            "{p} greedy --as linkage --at-once 2",
            "{folder}: with --at-once, several programs would talk ",
        ),
        ("{cpp} greedy --as linkage", "p.cpp is source code; compile it first. Type:"),
        ("nobody greedy --as linkage", "'nobody', expected a bot's file or one of the sample bots: "),
    ],
)
def test_programs_that_do_not_fit_together(command: Command, program: str, arguments: str, message: str) -> None:
    words = arguments.format(p=program, cpp=program.replace(".py", ".cpp")).split()
    assert command.complaint("duel", *words).startswith(message.format(folder=Path(program).parent))
