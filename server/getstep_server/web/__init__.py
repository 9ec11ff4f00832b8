"""The live page: a process of its own that shows a contest in the browser.

In: records and turns, read from the database and the journal; HTTP requests of spectators. Out: pages, JSON
snapshots and server-sent events.
A team logs in to see its own errors, times and games. The host decides in a console, as by commands (`host`).
People play here, too: against sample bots in processes of their own, outside the contest; and for a team, as a
client of the contest's server like any other. `practice` shows the same board without a contest, for
``getstep practice --human --browser``.
It must not know sockets of bots, the judge or the inside of a running server: whatever happens here, no clock
notices.
"""

__all__ = [
    "app",
    "http",
    "practice",
    "process",
    "topics",
]
