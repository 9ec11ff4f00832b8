"""A contest as a pure projection of its records: pairings, standings, ratings, the queue of matches.

In: records in the order of the chain. Out: the next pairings, tables and ratings.
The same records always give the same answer. It must not know clocks, sockets, files or the event loop.
"""

__all__ = [
    "best_score",
    "combined",
    "crosstable",
    "duel_score",
    "estimate",
    "match_queue",
    "missed_limit_rule",
    "pace",
    "points",
    "ratings",
    "reveal",
    "standings",
    "tournament",
]
