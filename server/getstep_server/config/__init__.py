"""The files that the host writes (contest.toml, teams.toml, class lists), and the slips made from them.

In: files and arguments that people wrote. Out: a checked `contest.Contest`, or one `ConfigError` with a line for
each mistake; credential slips for the teams.
It must not know matches, results, sockets or the database.
"""

__all__ = [
    "checks",
    "contest",
    "event",
    "handout",
    "roster",
    "scoring",
    "template",
    "toml_file",
]
