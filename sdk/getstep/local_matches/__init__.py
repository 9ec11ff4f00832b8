"""Practice: whole matches on this machine, judged as in a contest.

In: two players, a game and its limits. Out: each turn as it is played, results, pictures of faults and replays. A
host's trial games and ``getstep check`` play by the same ``match``. It must not know a server or its records, nor
decide a turn: `getstep.referee` does.

The parts, each of which knows only those above it:

- ``players``: the judge's end: asks a bot, in a thread or in a `getstep.bot_process`, and knows when and what it
  answered. ``human`` asks a person at the terminal, and ``browser`` one at a page, which the host's package offers.
- ``debug``: a bot that a debugger may stop.
- ``match``: plays one match by `getstep.referee`, which decides; it only measures time.
- ``series``: a number of matches, with the colours swapped.
- ``results``, ``screen``: the views for people; results have the page of replays.
- ``command``: ``getstep practice``. ``trial``: the games of ``getstep check``.

It is not called practice, because `getstep.practice` is the function.
"""

from .results import Results
from .series import practice

__all__ = ["Results", "practice"]
