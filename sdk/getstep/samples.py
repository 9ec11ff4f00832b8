"""The sample bots that are installed with getstep, and the levels among them.

In: nothing. Out: names. It must not know how a bot is started, nor load one.
"""

from __future__ import annotations

LEVELS = ("random", "greedy", "search_100", "search_1000", "search_10000", "search_100000")
"""The sample bots of levels 1 to 6, from the weakest on; docs/experiments.md has their ratings."""

LEVEL_GAMES = 20
"""The games against each level, unless another number is asked for: in ten pairs with swapped colours."""

SAMPLES = {
    "random": "random_bot",
    **{name: name for name in ("greedy", "mcts", "hesitant", "house_pseudo_tonga", *LEVELS[2:])},
}
"""The names of the sample bots, and their modules in `getstep_bots`."""

DEFAULT_OPPONENT = "greedy"
"""The opponent in practice, unless another is asked for."""
