"""One match: the judge, its mailbox, its deadlines and its scoresheet.

In: two seats and a scoresheet. Out: a `Result`; each turn is on the scoresheet before anybody hears of it.
It must not know sockets, other matches or the tournament.
"""

__all__ = [
    "deadlines",
    "judge",
    "mailbox",
    "scoresheet",
]
