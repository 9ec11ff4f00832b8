"""Passes on to the bots what the host has written: announcements, and answers to their teams' questions.

Each seat has the notices that its bot has not got yet. A bot that connects gets them then, once in each run of the
server. Clients that have not asked for notices get none (protocol.md, "Messages").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from getstep.wire import MAX_TEXT, Notice
from getstep_server.net.seat import Seat
from getstep_server.records.message import Message
from getstep_server.tournament.messages import Messages

LATE_NOTICES = 5
"""What a bot gets that connects late: the latest ones. Those before them are on the page."""


class NoticeDesk:
    """The notices that bots have not got yet.

    Args:
        messages: what is on record.
        seats: of each team.
    """

    def __init__(self, messages: Messages, seats: Mapping[int, Sequence[Seat]]) -> None:
        self._messages = messages
        self._seats = seats
        self._taken = 0
        """The number of messages of the host that are in `_waiting`, or were there."""
        self._waiting: dict[Seat, deque[Notice]] = {}

    def deliver(self) -> None:
        """Send what has come since the last call, and what bots that have connected since have not got."""
        sent = self._messages.sent
        while self._taken < len(sent):
            message = sent[self._taken]
            self._taken += 1
            for team, seats in self._seats.items():
                if self._messages.is_for(message, team):
                    for seat in seats:
                        self._waiting.setdefault(seat, deque(maxlen=LATE_NOTICES)).append(_notice(message))
        for seat in [seat for seat in self._waiting if seat.connected]:  # most have a bot, and nothing waits
            while self._waiting[seat] and seat.notify(self._waiting[seat][0]):
                self._waiting[seat].popleft()
            if not self._waiting[seat]:
                del self._waiting[seat]


def _notice(message: Message) -> Notice:
    return Notice(message.kind, None, message.text[:MAX_TEXT])
