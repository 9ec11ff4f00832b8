"""The files of a contest: the database, the journal of running matches, the lock, free space.

In: records and turns. Out: the same records and turns after a crash, verified.
It must not know sockets or the judge, nor how a result was reached.
"""

__all__ = [
    "contest_state",
    "disk",
    "journal",
    "journal_tail",
    "lock",
    "recovery",
    "run_status",
    "store",
    "verify",
]
