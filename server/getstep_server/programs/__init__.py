"""Programs that the host runs: their sources, builds and trial games, and the versions of each team.

In: a file, a folder or an archive of a contestant. Out: a numbered `version.ProgramVersion`, which never changes,
or one error that tells its author what is wrong; and the moves of a version in one match.
It must not know matches of the contest, results, sockets or the database: the rooms above say when a version plays.
"""

__all__ = [
    "adding",
    "playing",
    "source",
    "store",
    "version",
]
