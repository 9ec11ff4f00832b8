"""Events, names and texts for the tests of the progress that `run` shows."""

from __future__ import annotations

from getstep_server.events import TeamArrived
from getstep_server.records.match import Match
from tests.support.tables import contest_of

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\u202e[bold red]:boom:[/]"
"""Text that would clear the screen, set the window's title, overwrite the line, reverse the text, and is markup."""

THREE = contest_of("Ada", "Blaise", "Charles")
FIRST = Match(1, 1, 1, 1, 1, 2, "hop")
ADA, BLAISE = TeamArrived(1, "10.0.0.1", "getstep 0.1.0", False), TeamArrived(2, "10.0.0.2", "", True)
LONG = [f"Die außerordentlich lange Mannschaft aus dem letzten Winkel {n}" for n in range(10, 50)]
