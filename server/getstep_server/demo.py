"""The demo: a small class tournament between sample bots of different strengths, in one game or in all."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from getstep_engines import GAMES

from ._toml import ConfigError
from .bot_processes import Bot, Bots
from .contest import Contest, init_contest, load_contest
from .roster import Newcomer, add_teams

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances", "Grace", "Hedy", "Ivan", "John")
MOST_TEAMS = 40
FIRST_GAME = "hop"
"""What the demo of all games begins with: the quickest to play, and the easiest to watch."""


def sample_bots() -> dict[str, Path]:
    """The files of the sample bots by their names."""
    paths = Path(str(files("getstep_bots"))).glob("[!_]*.py")
    return {path.stem: path for path in sorted(paths)}


def demo_games(game: str) -> list[str]:
    """The games that ``--game`` names.

    Raises:
        ConfigError: there is none of this name.
    """
    if game == "all":
        return sorted(GAMES, key=lambda name: name != FIRST_GAME)
    if game not in GAMES:
        raise ConfigError(f"--game {game!r}, expected all or one of: {', '.join(GAMES)}")
    return [game]


def demo_contest(folder: Path, games: Sequence[str], teams: int, seed: int) -> tuple[Contest, Bots]:
    """A contest folder for the demo, on a free port of the loopback interface, and the bots for it.

    Each bot is greedy, and hesitates more than the one before it; the last one always does.

    Raises:
        ConfigError: a number of teams that cannot be, or there is a contest already.
    """
    if not 2 <= teams <= MOST_TEAMS:
        raise ConfigError(f"--teams {teams}, expected 2 to {MOST_TEAMS}")
    title = GAMES[games[0]].title if len(games) == 1 else "all games"
    init_contest(folder, name=f"getstep demo: {title}", games=games, seed=seed)
    players = lineup(teams)
    added = add_teams(folder, [Newcomer(name, "the demo") for name, _ in players])
    bots = {team.id: bot for team, (_, bot) in zip(added, players, strict=True)}
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None), bots


def lineup(teams: int) -> list[tuple[str, Bot]]:
    """Names and bots for two teams or more, each weaker than the one before it."""
    doubts = [round(100 * place / (teams - 1)) for place in range(teams)]
    return [(_name(place, doubt), _bot(doubt)) for place, doubt in enumerate(doubts)]


def _name(place: int, doubt: int) -> str:
    """What a team is called whose bot is in ``doubt`` in so many of 100 turns."""
    again, name = divmod(place, len(NAMES))
    bot = {0: "greedy", 100: "random"}.get(doubt, f"hesitant {doubt} %")
    return f"{NAMES[name]}{again + 1 if again else ''} ({bot})"


def _bot(doubt: int) -> Bot:
    name = {0: "greedy", 100: "random_bot"}.get(doubt, "hesitant")
    return Bot(sample_bots()[name], {"DOUBT": f"{doubt / 100:g}"})
