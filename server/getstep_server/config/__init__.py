"""The files that the host writes (contest.toml, teams.toml, class lists, certificates).

In: files and arguments that people wrote. Out: a checked `contest.Contest`, or one `ConfigError` with a line for
each mistake.
It must not know matches, results, sockets or the database.
"""

__all__ = [
    "certificate",
    "contest",
    "event",
    "roster",
    "template",
    "toml_file",
]
