"""The vocabulary of one match and of its record.

In: the turns of a match, as played or as read back. Out: a `result.Result`, and the
JSON lines that the hash chain is made of. A match that is played, resumed or verified goes through the same code
here and in `getstep.referee`. It must not know tournaments, files or sockets.
"""

__all__ = [
    "decision",
    "game",
    "match",
    "pairings",
    "reasons",
    "record",
    "replay",
    "result",
    "settings",
    "turns",
    "values",
]
