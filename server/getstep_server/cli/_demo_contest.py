"""The contest of `demo`: sample bots of different strengths, in one game or in all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from getstep_engines import GAMES
from getstep_server.bot_runner.processes import Bot, Bots
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.config.class_list import TeamEntry
from getstep_server.config.contest import Contest, init_contest, load_contest
from getstep_server.config.event import installed_game
from getstep_server.config.roster import add_teams
from getstep_server.errors import UsageError

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy", "Ivan", "John")
MOST_TEAMS = 40
FIRST_GAME = "hop"
"""The first game in a demo of all games: its matches are short and easy to watch."""


def demo_games(game: str) -> list[str]:
    """Return the names of the games that ``--game`` chooses.

    Raises:
        UsageError: no game of this name is installed.
    """
    if game == "all":
        return sorted(GAMES, key=lambda name: name != FIRST_GAME)
    return [installed_game(game).name]


def demo_contest(folder: Path, games: Sequence[str], teams: int, seed: int) -> tuple[Contest, Bots]:
    """Make a contest folder for the demo, on a free port of the loopback interface.

    Returns:
        The contest and its bots. Each bot is greedy, and makes a random move more often than the one before it.

    Raises:
        UsageError: the number of teams is out of range, or there is a contest already.
    """
    if not 2 <= teams <= MOST_TEAMS:
        raise UsageError(f"--teams {teams}, expected 2 to {MOST_TEAMS}")
    title = GAMES[games[0]].title if len(games) == 1 else "all games"
    init_contest(folder, name=f"getstep demo: {title}", games=games, seed=seed)
    players = lineup(teams)
    added = add_teams(folder, [TeamEntry(name, "the demo") for name, _ in players])
    bots = {team.id: bot for team, (_, bot) in zip(added, players, strict=True)}
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None), bots


def lineup(teams: int) -> list[tuple[str, Bot]]:
    """Return names and bots for two teams or more, each bot weaker than the one before it."""
    doubts = [round(100 * index / (teams - 1)) for index in range(teams)]
    return [(_name(index, doubt), _bot(doubt)) for index, doubt in enumerate(doubts)]


def _name(index: int, doubt: int) -> str:
    """Return the name of a team whose bot makes a random move in ``doubt`` of 100 turns."""
    again, name = divmod(index, len(NAMES))
    bot = {0: "greedy", 100: "random"}.get(doubt, f"hesitant {doubt} %")
    return f"{NAMES[name]}{again + 1 if again else ''} ({bot})"


def _bot(doubt: int) -> Bot:
    name = {0: "greedy", 100: "random_bot"}.get(doubt, "hesitant")
    return Bot(sample_bots()[name], {"DOUBT": f"{doubt / 100:g}"})
