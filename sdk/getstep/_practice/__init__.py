"""Practice: whole games on this machine, judged as in a contest.

The parts, each of which knows only those above it:

- ``players``: the judge's end: asks a bot, in a thread or in a `getstep.bot_process`, and knows when and what it
  answered. ``human`` asks a person at the terminal,
  and ``browser`` one at a page, which the host's package offers.
- ``match``: plays one match by `getstep.referee`, which decides; it only measures time.
- ``series``: a number of matches, with the colours swapped.
- ``results``, ``replays``, ``screen``: the views for people.

The package is private because `getstep.practice` is the function.
"""

from .results import Results
from .series import practice

__all__ = ["Results", "practice"]
