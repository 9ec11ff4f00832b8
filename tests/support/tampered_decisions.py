"""Ways to tamper with decisions: as in `tampered_records`.

The host's are in the records of `scenes_of_decisions`, late arrivals in those of `scenes_of_lateness`.
"""

from __future__ import annotations

from typing import Any

from tests.support.tampered_records import SEAL, Forgery
from tests.support.tampering import swap

ADJUDICATE, REPLAY, CALLED_OFF, AGAIN, WITHDRAW, GONE, REINSTATE, BACK, DISQUALIFY, LAST = (
    *(3, 4, 5, 8, 12, 13, 15, 16, 18, 19),
)
"""The place of the record that a forgery needs."""


def said(place: int, found: str, **values: Any) -> Forgery:
    """Fields of a record are set."""
    return Forgery(lambda f: f.head(place, lambda head: head.update(values)), found)


def unsaid(place: int, key: str, found: str) -> Forgery:
    """Return the forgery that removes a key of a record."""
    return Forgery(lambda f: f.head(place, lambda head: head.pop(key)), found)


def removed(*places: int, found: str) -> Forgery:
    return Forgery(lambda f: [f.remove(place) for place in places] and f.reorder(), found)


def _made_a_replay(head: dict[str, Any]) -> None:
    head.update(decision="replay", match=9)
    del head["winner"], head["scores"]


DECISIONS: dict[str, Forgery] = {
    # what it says
    "another kind": said(ADJUDICATE, "^place 3: decision is 'pardon', expected one of: ", decision="pardon"),
    "no kind": unsaid(ADJUDICATE, "decision", "^place 3: decision is None, expected one of"),
    "without an author": unsaid(ADJUDICATE, "by", "^place 3: by is missing"),
    "no reason": said(ADJUDICATE, "^place 3: why is '', expected visible characters", why=""),
    "a reason with a bell": said(ADJUDICATE, r"^place 3: why is '\\x07', expected visible", why="\a"),
    "a reason without end": said(ADJUDICATE, "^place 3: why is 'x", why="x" * 501),
    "never": said(ADJUDICATE, "^place 3: at is 'now', expected a time in UTC", at="now"),
    "a contest that repaints the terminal": said(
        ADJUDICATE, "^place 3: contest is .*expected vis", contest="\x1b[2J"
    ),
    "another contest": said(ADJUDICATE, "^place 3: seed is 6, expected 5 by the pairings", seed=6),
    "a third player": said(ADJUDICATE, "^place 3: winner is 2, expected less than or equal to 1", winner=2),
    "a winner that is true": said(ADJUDICATE, "^place 3: winner is True, expected a valid integer", winner=True),
    "no winner": unsaid(ADJUDICATE, "winner", "^place 3: winner is missing"),
    "no scores": unsaid(ADJUDICATE, "scores", "^place 3: scores is missing"),
    "scores of the loser": said(
        ADJUDICATE, r"^place 3: scores \(1, 2\), expected more for the winner", scores=[1, 2]
    ),
    "scores that are none": said(
        ADJUDICATE, "^place 3: scores.0 is True, expected a valid integer", scores=[True, 0]
    ),
    "scores beyond all games": said(
        ADJUDICATE, "^place 3: scores.0 is 1000001, expected less than or equal to 1000000", scores=[1_000_001, 0]
    ),
    "three scores": said(ADJUDICATE, "^place 3: scores is", scores=[3, 2, 1]),
    "a team and a match": said(ADJUDICATE, "^place 3: team is 1, expected nothing in a decision to adj", team=1),
    "a match of nobody": said(ADJUDICATE, "^place 3: match 9, expected one of the 6 issued ones", match=9),
    "a match and a team": said(WITHDRAW, "^place 12: match is 1, expected nothing in a decision to with", match=1),
    "no team": unsaid(WITHDRAW, "team", "^place 12: team is missing"),
    "no event": unsaid(WITHDRAW, "event", "^place 12: event is missing"),
    "an event that there is not": said(
        REINSTATE, "^place 15: event 2, expected one of the 1 in contest.toml", event=2
    ),
    "the table takes it for a game": Forgery(
        lambda f: f.sql("UPDATE records SET number = 3 WHERE place = 3"),
        r"^place 3, match 3: the table has match, event, pairing, leg and attempt \(3, ",
    ),
    # where it stands
    "before the pairings": Forgery(
        lambda f: f.reorder(lambda order: order.insert(0, order.pop(2))),
        "^place 1: type is 'decision', expected 'settings' or 'pairings'",
    ),
    "a replay removed": removed(
        AGAIN, found="^place 8, match 3, attempt 2: match 3 again, expected none: its result is at place 7"
    ),
    "a replay of another match": said(
        AGAIN, "^place 9, match 3, attempt 2: match 3 again, expected none: its result is at place 7", match=2
    ),
    "an adjudication made a replay": Forgery(
        lambda f: f.head(ADJUDICATE, _made_a_replay),
        "^place 3: match 9, expected one of the 6",
    ),
    "called off by nobody": removed(
        REPLAY,
        found="^place 4, match 2, attempt 1: reason is 'called_off', expected a decision about match 2",
    ),
    "called off because of another": said(
        REPLAY, "^place 5, match 2, attempt 1: reason is 'called_off', expected a decision", match=3
    ),
    "called off twice": Forgery(
        lambda f: (
            f.repeat(CALLED_OFF, attempt=3),
            f.head(f.last, lambda head: head.update(attempt=3)),
        ),
        "^place 20, match 2, attempt 3: reason is 'called_off', expected a decision about match 2",
    ),
    "called off before it was decided": Forgery(
        lambda f: f.reorder(lambda order: swap(order, 3, 4)),
        "^place 4, match 2, attempt 1: reason is 'called_off', expected a decision about match 2",
    ),
    "called off and won": said(CALLED_OFF, "^place 5, match 2, attempt 1: winner is 0, expected None", winner=0),
    "called off, and fewer turns": said(CALLED_OFF, "turns_played is 0, expected 6 by its turns", turns_played=0),
    "called off, and less thought": said(
        CALLED_OFF, r"thought_ms is \[0\.0, 0\.0\], expected \[", thought_ms=[0.0, 0.0]
    ),
    "called off, and faults": said(CALLED_OFF, r"faults is \[0, 1\], expected \[0, 0\]", faults=[0, 1]),
    "called off and scored": said(CALLED_OFF, r"scores is \[1, 2\], expected None", scores=[1, 2]),
    "a match of who has withdrawn": removed(
        REINSTATE, BACK, found="^place 15, match 5, attempt 2: match 5 was cancelled, expected no game of it"
    ),
    "who has withdrawn takes part": said(
        GONE, "^place 13: team 1 takes part, expected none that is withdrawn by the host", teams=[2, 3, 1]
    ),
    "who is disqualified takes part": said(
        LAST, "^place 19: team 2 takes part, expected none that is disqualified by the host", teams=[2, 3, 1]
    ),
    "who is back stays away": said(
        BACK, "^place 17, match 5, attempt 2: match 5 was cancelled, expected no game of it", teams=[2, 3]
    ),
    "withdrawn only afterwards": Forgery(
        lambda f: f.reorder(lambda order: order.append(order.pop(order.index(1000 + WITHDRAW)))),
        "^place 13, match 5, attempt 1: reason is 'called_off'",
    ),
    "reinstated twice": Forgery(
        lambda f: f.repeat(REINSTATE), "^place 20: team 1 takes part, expected one that is out"
    ),
    "disqualified twice": Forgery(lambda f: f.repeat(DISQUALIFY), "^place 20: team 2 is disqualified already"),
    "decided about who is disqualified": Forgery(
        lambda f: f.repeat(ADJUDICATE), "^place 20: team 2 of match 1 is disqualified, expected it to take part"
    ),
}

RAW: dict[str, Forgery] = {
    "who was it": said(ADJUDICATE, "^place 3: " + SEAL, by="Eve"),
    "why": said(ADJUDICATE, "^place 3: " + SEAL, why="because"),
    "who won": said(ADJUDICATE, "^place 3: " + SEAL, winner=1),
    "removed": Forgery(lambda f: f.remove(DISQUALIFY), "^place 18: the next record has place 19, expected 18"),
}
"""With the hashes as they were."""


ARRIVAL = 6
"""The place of the record of the late arrival."""

_NO_FORFEIT = "expected one with a provisional forfeit of team"

LATE: dict[str, Forgery] = {
    "decided by a host": said(ARRIVAL, "^place 6: by is 'Grace', expected 'the no-show rule'", by="Grace"),
    "no team": unsaid(ARRIVAL, "team", "^place 6: team is missing"),
    "another team": said(ARRIVAL, f"^place 6: match 1, {_NO_FORFEIT} 2", team=2),
    "no matches": unsaid(ARRIVAL, "matches", "^place 6: matches is missing"),
    "an empty list of matches": said(ARRIVAL, r"^place 6: matches is \[\], expected", matches=[]),
    "a match twice": said(ARRIVAL, r"^place 6: matches is \[1, 1\], expected each of them once", matches=[1, 1]),
    "a match that is true": said(ARRIVAL, "^place 6: matches.0 is True, expected a valid integer", matches=[True]),
    "matches and a match": said(ARRIVAL, "^place 6: match is 1, expected nothing in a decision to late", match=1),
    "matches and an event": said(ARRIVAL, "^place 6: event is 1, expected nothing in a decision to late", event=1),
    "a match that was not issued": said(
        ARRIVAL, "^place 6: match 9, expected one of the 6 issued ones", matches=[1, 9]
    ),
    "a match that was played": said(ARRIVAL, f"^place 6: match 3, {_NO_FORFEIT} 3", matches=[1, 3]),
    "a match that is open": said(ARRIVAL, f"^place 6: match 5, {_NO_FORFEIT} 3", matches=[5]),
    "a match left out": said(
        ARRIVAL, "^place 8, match 4, attempt 2: match 4 again, expected none: its result is at", matches=[1, 2]
    ),
    "a replay of the host instead": said(ARRIVAL, "^place 6: match is missing", decision="replay"),
    "nobody has arrived": removed(
        ARRIVAL, found="^place 6, match 1, attempt 2: match 1 again, expected none: its result is at place 2"
    ),
    "arrived twice": Forgery(lambda f: f.repeat(ARRIVAL), f"^place 10: match 1, {_NO_FORFEIT} 3"),
    "arrived before the no-show": Forgery(
        lambda f: f.reorder(lambda order: order.insert(1, order.pop(ARRIVAL - 1))),
        f"^place 2: match 1, {_NO_FORFEIT} 3",
    ),
    "forfeits are final": said(1, f"^place 6: match 1, {_NO_FORFEIT} 3", no_show="final"),
    "forfeits of an earlier version are final": unsaid(1, "no_show", f"^place 6: match 1, {_NO_FORFEIT} 3"),
    "another rule": said(1, "^place 1: no_show is 'perhaps', expected 'final' or 'provisional'", no_show="perhaps"),
    "a team that is out": Forgery(
        lambda f: (
            f.repeat(ARRIVAL),
            f.head(f.last, _withdrawn),
            f.reorder(lambda order: order.insert(ARRIVAL - 1, order.pop())),
        ),
        "^place 7: team 2 of match 1 no longer takes part, expected both its teams to take part",
    ),
}


def _withdrawn(head: dict[str, Any]) -> None:
    head.update(decision="withdraw", team=2, event=None)
    del head["matches"]
