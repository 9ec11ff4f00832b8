"""The command ``getstep challenge``: asks for a friendly match against another team of an arena."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .client.own_area import POLL_SECONDS, OwnArea, page_address
from .client.settings import find_login
from .text import Console, escape_control_chars

CHALLENGE_HELP = """\
Ask for a friendly match against another team of an arena. Both teams need a bot that is connected; as soon as
both are free, usually within 10 seconds, the match begins. It counts nowhere: no table, no rating. Both bots'
terminals show it, and so do both teams' areas on the live page. A challenge that has not begun after a minute
lapses. The host limits how often a team may ask, and be asked, in 24 hours.

The team is named by its id, its name or the beginning of it.

examples:
  getstep challenge Ada
  getstep challenge 7
  getstep challenge Ada --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt

exit codes: 0 played, 1 refused or not begun, 2 wrong usage, 130 stopped by Ctrl-C"""

_RESULT_SECONDS = 10.0
"""The page may know that a match is over before it has read the result."""

_ENDS = {"win": "Won", "draw": "Draw", "loss": "Lost"}


def challenge(options: argparse.Namespace, console: Console) -> int:
    """Run ``getstep challenge``.

    Raises:
        GetstepError: the page cannot be reached, or refuses.
    """
    team = find_login(options.team, options.token, options.token_file)
    page = OwnArea(
        page_address(options, console),
        not_sent="nobody was challenged",
        unsure="Your bot's terminal shows whether the match begins.",
    )
    page.log_in(team, console)
    answer = page.send_form("/own/challenge", {"opponent": options.opponent})
    name = escape_control_chars(str(answer.get("opponent", options.opponent)))
    console.say(f"{name} is challenged. The match begins as soon as both bots are free.")
    return _follow(page, answer.get("number"), name, console)


def _follow(page: OwnArea, number: Any, name: str, console: Console) -> int:
    """Print what becomes of a challenge, and return the exit code."""
    until = None
    while True:
        latest = page.watch("/own/challenges.json").get("latest")
        found = [one for one in latest if isinstance(one, dict)] if isinstance(latest, list) else []
        mine = next((one for one in found if one.get("number") == number), {})
        state = mine.get("state")
        if state == "playing":
            if until is None:
                console.say(f"Friendly match {number} against {name} is being played.")
            until = time.monotonic() + _RESULT_SECONDS
        elif state in _ENDS:
            why = escape_control_chars(str(mine.get("why") or ""))
            console.say(f"{_ENDS[state]} against {name}{f': {why}' if why else ''}. It counts nowhere.")
            return 0
        elif state != "waiting":
            if until is None:
                console.warn(f"The match against {name} did not begin: the teams were not free at the same time.")
                return 1
            if time.monotonic() > until:
                console.warn(f"The match against {name} was broken off. It counts nowhere.")
                return 1
        time.sleep(POLL_SECONDS)
