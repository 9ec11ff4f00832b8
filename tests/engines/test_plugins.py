"""Games of other packages: found when they are needed, and a broken one is named and costs that game only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from getstep_engines import GAMES, UnknownGameError
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plugins import installed, write_metadata

OWN = list(GAMES)
"""Before a test installs games: with those that are installed where the tests run."""

Install = Callable[..., None]

GO = """
from dataclasses import replace
from getstep_engines import GAMES
GO = replace(GAMES["hop"], name="go", title="Go", summary="surround")
"""
STATELESS = """
from dataclasses import replace
from getstep_engines import GAMES, State
class Half(State):
    def board(self): return []
GO = replace(GAMES["hop"], name="go", _start=lambda: {start})
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a package with one module; the registry forgets it after the test."""

    def install(package: str, source: str, **games: str) -> None:
        module = package.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        write_metadata(tmp_path, package, {name: f"{module}:{value}" for name, value in games.items()})
        GAMES.refresh()

    yield from (install for _ in installed(monkeypatch, tmp_path))


def test_a_game_of_another_package_is_a_game_as_all_others(install: Install) -> None:
    install("my-games", GO, go="GO")
    assert GAMES["go"].start().is_legal([(2, 2), (2, 3)])
    assert set(GAMES) == {*OWN, "go"}
    assert len(GAMES) == len(OWN) + 1
    assert "go" in GAMES
    assert ("go", "my-games", "my_games") in [(each.name, each.package, each.module) for each in GAMES.plugins()]
    assert GAMES.problems() == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "import no_such_module\nGO = 1",
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("GO_ = None", "cannot be imported: AttributeError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("GO = GO", "cannot be imported: NameError"),
        ("GO = 7", "the entry point names a int; expected a getstep_engines.Game"),
        (GO.replace('"go"', '"og"'), "the Game's name is 'og'; expected the entry point's name"),
        (GO.replace('"Go"', "None"), "the field title of the Game is None; expected a text"),
        (GO.replace('title="Go"', 'rules=""'), "the field rules of the Game is ''; expected a text"),
        (GO.replace('title="Go"', "players=('A',)"), "the field players of the Game is ('A',); expected the names"),
        (GO.replace('title="Go"', "time_control=5"), "the field time_control of the Game is 5; expected a Time"),
        (GO.replace('title="Go"', "look=None"), "the field look of the Game is None; expected a Look"),
        (GO.replace('title="Go"', "options={'a': 3}"), "the field options of the Game is not a mapping of names"),
        (
            "from getstep_engines import Game\nGO = Game(name='go')",
            "Game is missing values: title",
        ),
        (STATELESS.format(start="Half()"), "it does not start: TypeError: Can't instantiate abstract class Half"),
        (STATELESS.format(start="[]"), "start() returns a list; expected a getstep_engines.State"),
        (STATELESS.format(start="1 / 0"), "it does not start: ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_game_is_named_with_its_package_and_costs_no_other(
    install: Install, source: str, says: str
) -> None:
    install("my-games", source, go="GO")
    install("other-games", GO.replace('"go"', '"shogi"'), shogi="GO")
    assert set(GAMES) == {*OWN, "shogi"}
    [problem] = GAMES.problems()
    assert problem.startswith("game 'go' of the package my-games: ")
    assert says in problem
    with pytest.raises(UnknownGameError) as refusal:
        GAMES["go"]
    assert str(refusal.value) == f"unknown game 'go'; installed: {', '.join(GAMES)}; {problem}"
    assert "go" not in GAMES
    assert GAMES.get("go") is None


def test_missing_methods_are_named(install: Install) -> None:
    install("my-games", STATELESS.format(start="Half()"), go="GO")
    [problem] = GAMES.problems()
    assert all(method in problem for method in ("copy", "fault", "is_legal", "legal_moves", "play"))
    assert "board" not in problem


def test_a_state_without_its_fields_is_named(install: Install) -> None:
    source = STATELESS + "Half.__abstractmethods__ = frozenset()\n"
    install("my-games", source.format(start="Half()"), go="GO")
    assert GAMES.problems()[0].endswith("a new Half has no to_move and no passed and no outcome")


def test_the_first_of_two_games_of_one_name_is_taken(install: Install) -> None:
    install("b-games", GO, go="GO")
    install("a-games", GO.replace("surround", "first"), go="GO", hop="GO")
    assert GAMES["go"].summary == "first"
    assert GAMES["hop"].summary != "first"
    assert GAMES.problems() == [
        "game 'go' of the package b-games: the package a-games has a game of this name already",
        "game 'hop' of the package a-games: the package getstep-engines has a game of this name already",
    ]


def test_an_unknown_game_is_a_key_error_and_a_value_error_in_plain_words() -> None:
    for kind in (KeyError, ValueError):
        with pytest.raises(kind) as refusal:
            GAMES["chess"]
        assert str(refusal.value) == f"unknown game 'chess'; installed: {', '.join(GAMES)}"


def test_our_own_games_need_no_search_of_the_installed_packages() -> None:
    program = (
        "import sys, getstep_engines as e; e.GAMES['hop'].start(); 'hop' in e.GAMES; e.GAMES.get('linkage');"
        " print('importlib.metadata' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert ran.stdout == "False\n"
