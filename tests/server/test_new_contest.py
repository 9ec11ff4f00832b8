"""Making a contest, and the ports that the command line sets."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from getstep_engines import GAMES
from getstep_server.config.contest import Contest, init_contest, load_contest
from getstep_server.errors import ConfigError, UsageError
from tests.support.contests import ALL_GAMES, CONTEST, HOP, OTHER, TEAM, folder_with

# --- making one ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_a_new_contest_can_be_read_and_has_the_games_defaults(tmp_path: Path, game: str) -> None:
    folder = tmp_path / "deep" / "down"
    init_contest(folder, name='Ada\'s "\\first"', games=[game], seed=5)
    contest = load_contest(folder)
    (event,) = contest.events
    assert (contest.name, event.game.name, contest.file.contest.seed) == ('Ada\'s "\\first"', game, 5)
    assert event.time_control == GAMES[game].time_control
    assert contest.teams == {}
    text = (folder / "contest.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text.replace("# classic_port", "classic_port"))
    assert written["server"] == {
        "host": "0.0.0.0",
        "port": 7777,
        "classic_port": 8888,
        "web_port": 8080,
        "friendly_port": 7780,
    }
    assert written["start"]["absent_seconds"] == contest.file.start.absent_seconds


def test_a_new_contest_with_all_games(tmp_path: Path) -> None:
    init_contest(tmp_path / "a", name="A", games=list(GAMES))
    events = load_contest(tmp_path / "a").events
    assert [(event.name, event.game, event.time_control) for event in events] == [
        (name, game, game.time_control) for name, game in GAMES.items()
    ]


def test_a_new_contest_has_a_seed_of_its_own(tmp_path: Path) -> None:
    for name in "abc":
        init_contest(tmp_path / name, name=name, games=["hop"])
    assert len({load_contest(tmp_path / name).file.contest.seed for name in "abc"}) > 1


def test_tokens_are_for_the_host_alone(tmp_path: Path) -> None:
    init_contest(tmp_path / "a", name="A", games=["hop"])
    assert stat.S_IMODE((tmp_path / "a" / "teams.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"games": ["hop", "chess"]}, f"unknown game 'chess'; installed: {ALL_GAMES}"),
        ({"name": "\x1b[2J"}, r"--name = '\x1b[2J', expected visible characters, without spaces around them"),
        ({"name": "x" * 65}, f"--name = '{'x' * 65}', expected at most 64 characters"),
        ({"name": "\udcff"}, r"--name = '\udcff', expected visible characters, without spaces around them"),
        ({"seed": -1}, "--seed = -1, expected at least 0"),
    ],
)
def test_nothing_is_made_from_wrong_arguments(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        init_contest(tmp_path / "a", **{"name": "A", "games": ["hop"], **wrong})
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_contest_that_is_there_stays(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    with pytest.raises(UsageError, match=r"contest\.toml: there is a contest here already"):
        init_contest(folder, name="Another", games=["linkage"])
    assert (folder / "contest.toml").read_text() == CONTEST + HOP
    assert (folder / "teams.toml").read_text() == TEAM + OTHER


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/a: Not a directory"):
        init_contest(tmp_path / "file" / "a", name="A", games=["hop"])


# --- other ports ---------------------------------------------------------------------------------------------


@pytest.fixture
def hop(tmp_path: Path) -> Contest:
    return load_contest(folder_with(tmp_path))


def test_the_command_line_goes_before_contest_toml(hop: Contest) -> None:
    moved = hop.listening_on(host="127.0.0.1", port=0, classic_port=8888)
    assert moved.file.server == replace(hop.file.server, host="127.0.0.1", port=0, classic_port=8888)
    assert (moved.file.contest, moved.teams, moved.folder) == (hop.file.contest, hop.teams, hop.folder)
    assert hop.listening_on(host=None, port=None, classic_port=None) == hop


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"port": 99999}, "--port = 99999, expected at most 65535"),
        ({"port": -1}, "--port = -1, expected at least 0"),
        ({"classic_port": 65536}, "--classic-port = 65536, expected at most 65535"),
        ({"classic_port": 7777}, "--classic-port = 7777, expected another port than the server's own"),
        ({"host": "a..b"}, "--host = 'a..b', expected a host name or an IP address"),
        ({"host": ""}, "--host = '', expected visible characters, without spaces around them"),
        (
            {"port": 65536, "host": " "},
            "--host = ' ', expected visible characters, without spaces around them\n"
            "--port = 65536, expected at most 65535",
        ),
    ],
)
def test_a_port_on_the_command_line_is_checked(hop: Contest, where: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        hop.listening_on(**{"host": None, "port": None, "classic_port": None, **where})
    assert str(caught.value) == message


def test_a_classic_port_on_the_command_line_needs_the_game_for_it(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, CONTEST + '[[event]]\ngame = "linkage"\n'))
    with pytest.raises(UsageError, match=r"^--classic-port = 8888, expected no classic_port"):
        contest.listening_on(host=None, port=None, classic_port=8888)
