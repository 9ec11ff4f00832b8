"""Programs that the host runs: their sources, builds and trial games, and the versions of each team.

In: a file, a folder or an archive of a contestant. Out: a numbered `version.ProgramVersion`, which never changes,
or one error that tells its author what is wrong.
It must not know matches of the contest, results, sockets or the database: the rooms above let a version play.
"""

__all__ = [
    "source",
    "store",
    "version",
]
