"""The bots of docs/guide.md: each is complete, plays every game, and wins as often as the page says.

The code is taken from the page, so what is tested is what people read.
"""

from __future__ import annotations

import random
import re
import runpy
import shlex
import sys
from importlib.util import module_from_spec, spec_from_file_location
from math import comb
from pathlib import Path
from types import ModuleType

import pytest

import getstep
from benchmarks.bots import Bot, play
from getstep import Turn, cli
from getstep.sprt import wilson
from getstep_bots import random_bot
from getstep_engines import GAMES

PAGE = Path(__file__).parents[2] / "docs" / "guide.md"
STEPS = ("step1", "step2", "step3", "step4", "step5")
SMALL = {"POSITIONS": 20, "PLAYOUTS": 4, "LONGEST": 3}
"""Budgets with which a whole game takes a moment."""

TRIAL_GAMES = 9
"""Games of each claim in the long test: the first ones of those on the page, since the seed is the same."""

FALSE_ALARM = 1e-3
"""The probability that a trial fails although the true score is only as low as the claim's lower bound.

The trial is the same each time while Python's `random` and the budgets stay the same, so it does not fail by chance
in one run of many; but a new version of Python may deal other games.
"""


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def files() -> dict[str, str]:
    """Return the files of the page: each block of code after a name of a file and a colon, and the bot of hop."""
    found = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", page(), re.MULTILINE | re.DOTALL))
    (new_value,) = re.findall(r"the new `value`:\n\n```python\n(.*?)^```$", page(), re.MULTILINE | re.DOTALL)
    (both,) = re.findall(r"last lines of `get_step`:\n\n```python\n(.*?)^```$", page(), re.MULTILINE | re.DOTALL)
    made = {
        "hop_bot.py": found["step2.py"].partition("def value")[0] + new_value,
        "both_bot.py": re.sub(r"^    return max\(.*\n", both, found["step2.py"], flags=re.MULTILINE),
    }
    return found | made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the page."""
    made = tmp_path_factory.mktemp("guide")
    for name, text in files().items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def load(folder: Path, name: str, **constants: int) -> ModuleType:
    """Return a file as a module of its own, with other budgets where it has them."""
    spec = spec_from_file_location(f"guide_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    for constant, value in constants.items():
        if hasattr(module, constant):
            setattr(module, constant, value)
    return module


def test_the_page_has_each_step_as_a_file() -> None:
    assert set(files()) == {*(f"{step}.py" for step in STEPS), "hop_bot.py", "both_bot.py", "profile_bot.py"}


@pytest.mark.parametrize("game", list(GAMES))
@pytest.mark.parametrize("step", STEPS)
def test_each_step_plays_every_game(folder: Path, step: str, game: str) -> None:
    bot: Bot = load(folder, step, **SMALL).get_step
    assert play(game, bot, random_bot.get_step).outcome is not None
    if game == "linkage":  # the second player's side of the search
        assert play(game, random_bot.get_step, bot).outcome is not None


def test_the_bot_of_hop_plays_it(folder: Path) -> None:
    bot = load(folder, "hop_bot")
    assert play("hop", bot.get_step, random_bot.get_step).outcome is not None
    board = GAMES["hop"].start().board()
    assert bot.progress(board, 1) == bot.progress(board, 2)  # the start is the same for both
    board[4][7], board[4][2] = 1, 0
    assert bot.progress(board, 1) == bot.progress(board, 2) + 4**2


def wins(bot: Bot, other: Bot, games: int, game: str = "linkage") -> int:
    """Return how many games a bot wins; half of them as the first player."""
    won = 0
    for number in range(games):
        seats = (bot, other) if number % 2 == 0 else (other, bot)
        outcome = play(game, *seats).outcome
        won += outcome is not None and outcome.winner == number % 2
    return won


@pytest.mark.parametrize("step", STEPS[1:])
def test_each_step_beats_random_moves(folder: Path, step: str) -> None:
    random.seed(1)  # so it is the same games each time
    small = load(folder, step, POSITIONS=300, PLAYOUTS=200).get_step
    assert wins(small, load(folder, "step1").get_step, 2) == 2


def test_the_opponents_value_of_a_square_is_worth_something(folder: Path) -> None:
    random.seed(1)
    both, own = load(folder, "both_bot"), load(folder, "step2")
    assert wins(both.get_step, own.get_step, 8, "pseudo_tonga") >= 6


class Clock:
    """Stands for the module `time`: a tenth of a second passes whenever somebody looks at it."""

    def __init__(self) -> None:
        self.reads = 0

    def perf_counter(self) -> float:
        self.reads += 1
        return self.reads / 10


@pytest.mark.parametrize("step", STEPS[2:])
def test_a_search_ends_in_time(folder: Path, step: str) -> None:
    module, clock = load(folder, step), Clock()
    vars(module)["time"] = clock
    state = GAMES["linkage"].start()
    turn = Turn("linkage", 1, 1, "a bot", None, time_left_ms=1000)
    assert state.is_legal(module.get_step(state.board(), True, turn))
    assert clock.reads <= 9  # the first read, five within half a second, and those that find that it is over


def test_a_fortieth_of_a_budget_and_half_of_a_limit_are_used(folder: Path) -> None:
    for step in STEPS[2:]:
        seconds = load(folder, step).seconds
        assert seconds(Turn("pseudo_tonga", 1, 1, "a bot", None, 20_000)) == pytest.approx(0.5)
        assert seconds(Turn("linkage", 1, 1, "a bot", None, 5_000)) == pytest.approx(2.5)


def test_the_profile_shows_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "step3", load(folder, "step3", POSITIONS=100))
    runpy.run_path(str(folder / "profile_bot.py"))
    assert re.search(r"tottime .*\n(.*\n)*.*step3\.py:\d+\(search\)", capsys.readouterr().out)


def test_the_faults_of_a_bot_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(
        r"^```python\n(import getstep\nimport my_bot\n.*?)^```$", page(), re.MULTILINE | re.DOTALL
    )
    faulty = ModuleType("my_bot")
    faulty.get_step = lambda board, is_black: None  # type: ignore[attr-defined]  # a module takes any attribute
    monkeypatch.setitem(sys.modules, "my_bot", faulty)
    exec(compile(block, PAGE, "exec"), {})
    assert re.search(r"^1 1 .+\n2 2 .+\n\Z", capsys.readouterr().out, re.MULTILINE)


# --- the claims -------------------------------------------------------------------------------------------------

Pair = tuple[str, str]


def claims() -> dict[Pair, tuple[int, int, int]]:
    """Return, for each pair of files in the table of results: the games, those won, and the lower bound in %."""
    row = r"^\| `(\w+\.py)` \| `(\w+\.py)` \| (\d+) \| (\d+) \| \d+ % \((\d+) to \d+\) \|$"
    return {
        (bot, other): (int(n), int(w), int(low)) for bot, other, n, w, low in re.findall(row, page(), re.MULTILINE)
    }


def commands() -> dict[Pair, list[str]]:
    """Return the commands of the page that play 60 games or more of linkage, by the pair of files."""
    lines = re.findall(r"^getstep (practice .* --game linkage --games (?:60|100) .*)$", page(), re.MULTILINE)
    split = [shlex.split(line) for line in lines]
    return {(words[1], words[words.index("--against") + 1]): words for words in split}


def test_each_claim_has_its_command_and_its_interval() -> None:
    assert claims().keys() == commands().keys()
    for pair, (games, won, low) in claims().items():
        assert commands()[pair][-4:] == ["--games", str(games), "--seed", "1"], pair
        assert low == round(100 * wilson(won / games, games)[0]), pair
        score = re.search(rf"`{pair[0]}` \| `{pair[1]}` \| \d+ \| \d+ \| (\d+) %", page())
        assert score is not None
        assert int(score[1]) == round(100 * won / games)


def chance_of_at_most(won: int, games: int, rate: float) -> float:
    """Return the probability of ``won`` wins or fewer in a number of games that are won at a rate."""
    return sum(comb(games, n) * rate**n * (1 - rate) ** (games - n) for n in range(won + 1))


def test_a_bot_that_has_lost_its_strength_is_found() -> None:
    assert chance_of_at_most(3, TRIAL_GAMES, 0.7) > FALSE_ALARM
    assert chance_of_at_most(1, TRIAL_GAMES, 0.7) < FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("pair", claims(), ids=" against ".join)
def test_a_step_wins_as_often_as_the_page_says(
    folder: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    words = commands()[pair]
    words[words.index("--games") + 1] = str(TRIAL_GAMES)
    assert cli.main([*words, "--limit", "600"]) == 0  # with time enough for all positions on any machine
    said = capsys.readouterr().out
    result = re.search(r"^\S+ against \S+, linkage: (\d+) won, (\d+) drawn, (\d+) lost$", said, re.MULTILINE)
    assert result is not None, said
    assert sum(map(int, result.groups())) == TRIAL_GAMES
    assert chance_of_at_most(int(result[1]), TRIAL_GAMES, claims()[pair][2] / 100) > FALSE_ALARM, said


def lower_bound(sentence: str) -> float:
    """Return the lower bound of the score that a sentence of the page claims."""
    (found,) = re.findall(rf"{sentence} \d+ % \((\d+) to \d+,\s+\d+ games\)", page())
    return int(found) / 100


@pytest.mark.long
@pytest.mark.parametrize(
    ("bot", "game", "sentence"),
    [
        ("hop_bot.py", "hop", "This scored"),
        ("both_bot.py", "longest_path", "It scored"),
        ("both_bot.py", "pseudo_tonga", "It scored"),
    ],
)
def test_one_idea_more_wins_as_often_as_the_page_says(folder: Path, bot: str, game: str, sentence: str) -> None:
    games = 2 * TRIAL_GAMES
    results = getstep.practice(folder / bot, game, folder / "step2.py", games, limit=600, seed=1, quiet=True)
    points = int(results.score * games)
    assert chance_of_at_most(points, games, lower_bound(sentence)) > FALSE_ALARM, results


@pytest.mark.long
def test_a_tree_of_estimates_wins_as_often_as_the_page_says(folder: Path, tmp_path: Path) -> None:
    source = files()["step5.py"]
    for line in re.findall(r"set `(LONGEST = 0)` in step 5, and `(CURIOSITY = 0\.05)`", page())[0]:
        source, changed = re.subn(rf"^{line.split()[0]} = [\d.]+", line, source, flags=re.MULTILINE)
        assert changed == 1
    (tmp_path / "tree.py").write_text(source, encoding="utf-8")
    tonga = getstep.practice(
        tmp_path / "tree.py", "pseudo_tonga", folder / "step3.py", TRIAL_GAMES, limit=3600, seed=1, quiet=True
    )
    points = int(tonga.score * TRIAL_GAMES)
    assert chance_of_at_most(points, TRIAL_GAMES, lower_bound("The tree scored")) > FALSE_ALARM, tonga
