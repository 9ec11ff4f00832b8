"""Ways to tamper with a contest's records: each changes a copied database, and says what has to be found.

``RAW`` leave the hashes as they were; after ``RESEALED`` all hashes are recomputed, so that only the content can
give them away. The records are those of `recorded.scenes_of_hop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.tampering import Forged, Turns, swap

NORMAL, SILENT, FAULTY, ABSENT, RESIGNED, HOSTILE, LATE, RESUMED, LONELY, NOBODY = range(1, 11)
PASSES = 12
"""The match in which what a forgery needs has happened."""


class Forgery(NamedTuple):
    """A forgery, and a pattern of the finding that it causes."""

    do: Callable[[Forged], object]
    found: str


def in_head(match: int, found: str, **values: Any) -> Forgery:
    """Fields of a match's last record are set."""
    return Forgery(lambda f: f.head(f.place(match), lambda head: head.update(values)), found)


def in_turn(match: int, turn: int, found: str, **values: Any) -> Forgery:
    """Fields of one turn, from 1, are set."""
    return Forgery(lambda f: f.turns(match, lambda turns: turns[turn - 1].update(values)), found)


def without(match: int, turn: int, key: str, found: str) -> Forgery:
    """Return the forgery that removes a key of one turn."""
    return Forgery(lambda f: f.turns(match, lambda turns: turns[turn - 1].pop(key)), found)


def turns(match: int, change: Callable[[Turns], object], found: str) -> Forgery:
    return Forgery(lambda f: f.turns(match, change), found)


SEAL = r"hash is '[0-9a-f]{64}', expected '[0-9a-f]{64}': the text is not what was sealed"

RAW: dict[str, Forgery] = {
    "a move": in_turn(NORMAL, 3, "^place 2, match 1, attempt 1: " + SEAL, move=[[0, 0], [0, 1]]),
    "a dropped turn": turns(NORMAL, lambda t: t.pop(4), SEAL),
    "the last turn dropped": turns(PASSES, lambda t: t.pop(), SEAL),
    "swapped turns": turns(NORMAL, lambda t: swap(t, 2, 4), SEAL),
    "a repeated turn": turns(NORMAL, lambda t: t.insert(4, t[4]), SEAL),
    "a time": in_turn(NORMAL, 3, SEAL, ms=1.0),
    "a thousandth of a millisecond": turns(NORMAL, lambda t: t[2].update(ms=t[2]["ms"] + 0.001), SEAL),
    "how a time was taken": in_turn(NORMAL, 3, SEAL, timed="kernel"),
    "a limit": in_head(NORMAL, SEAL, time={"kind": "move", "ms": 6000.0, "lag_ms": 100.0}),
    "a winner": in_head(NORMAL, SEAL, winner=0),
    "scores": in_head(NORMAL, SEAL, scores=[9, 0]),
    "a reason": in_head(FAULTY, SEAL, reason="resigned"),
    "faults": in_head(FAULTY, SEAL, faults=[0, 3]),
    "a team's name": Forgery(lambda f: f.head(2, lambda head: head["teams"][0].update(name="Eve")), SEAL),
    "a team": Forgery(lambda f: f.head(2, lambda head: head["teams"][0].update(id=9)), SEAL),
    "teams swapped": Forgery(lambda f: f.head(2, lambda head: head["teams"].reverse()), SEAL),
    "when it began": in_head(NORMAL, SEAL, started="2024-01-01T00:00:00.000Z"),
    "whose software": in_head(NORMAL, SEAL, software="another 1.0"),
    "an incident left out": in_head(HOSTILE, SEAL, incidents=[]),
    "a void attempt's turn": Forgery(
        lambda f: f.write(f.place(2, 1), "turns", b""), "^place 3, match 2, attempt 1: " + SEAL
    ),
    "a key more": in_head(NORMAL, SEAL, comment="nothing to see here"),
    "a blank": Forgery(
        lambda f: f.sql("UPDATE records SET head = replace(head, ',\"match\"', ', \"match\"') WHERE place = 2"),
        SEAL,
    ),
    "another record's head": Forgery(
        lambda f: f.sql("UPDATE records SET head = (SELECT head FROM records WHERE place = 9) WHERE place = 8"),
        SEAL,
    ),
    "another record's turns": Forgery(
        lambda f: f.sql("UPDATE records SET turns = (SELECT turns FROM records WHERE place = 9) WHERE place = 8"),
        SEAL,
    ),
    "no head": Forgery(lambda f: f.write(2, "head", b""), SEAL),
    "no UTF-8": Forgery(lambda f: f.write(2, "head", b"\xff\xfe"), SEAL),
    "the seed": Forgery(lambda f: f.head(1, lambda head: head.update(seed=6)), "^place 1: " + SEAL),
    "the pairings": Forgery(lambda f: f.pairings(lambda matches: swap(matches, 0, 1)), "^place 1: " + SEAL),
    "the first record removed": Forgery(
        lambda f: f.remove(1), "^place 1, match 1, attempt 1: the next record has place 2, expected 1"
    ),
    "a record removed": Forgery(
        lambda f: f.remove(5), "^place 5, match 4, attempt 1: the next record has place 6, expected 5"
    ),
    "a record removed, and the gap closed": Forgery(
        lambda f: f.remove(5).reorder(), "^place 5, match 4, attempt 1: " + SEAL
    ),
    "the last record removed": Forgery(
        lambda f: f.remove(f.last), "^14 records, expected 15: so many the database has counted"
    ),
    "all records removed": Forgery(lambda f: f.sql("DELETE FROM records"), "^0 records, expected 15"),
    "two records swapped": Forgery(
        lambda f: f.reorder(lambda order: swap(order, 5, 6)), "^place 6, match 5, attempt 1: " + SEAL
    ),
    "a record twice": Forgery(lambda f: f.repeat(6, attempt=2), "^place 16, match 4, attempt 2: " + SEAL),
    "a record inserted": Forgery(
        lambda f: f.repeat(6, attempt=2).reorder(lambda order: order.insert(6, order.pop())),
        "^place 7, match 4, attempt 2: " + SEAL,
    ),
    "a place": Forgery(
        lambda f: f.sql("UPDATE records SET place = 99 WHERE place = 15"),
        "^place 15, match 12, attempt 1: the next record has place 99, expected 15",
    ),
    "a place before the first": Forgery(
        lambda f: f.sql("UPDATE records SET place = -5 WHERE place = 7"),
        "^place 1, match 5, attempt 1: the next record has place -5",
    ),
    "what a record follows": Forgery(
        lambda f: f.sql("UPDATE records SET previous = ? WHERE place = 7", "0" * 64),
        "^place 7, match 5, attempt 1: " + SEAL,
    ),
    "a hash": Forgery(
        lambda f: f.sql("UPDATE records SET hash = ? WHERE place = 7", "0" * 64),
        "^place 7, match 5, attempt 1: " + SEAL.replace("[0-9a-f]{64}", "0{64}", 1),
    ),
    "a hash that is none": Forgery(
        lambda f: f.sql("UPDATE records SET hash = ? WHERE place = 7", 'x","winner":0,"y":"'),
        'hash is \'x","winner":0',
    ),
    "one record resealed": Forgery(
        lambda f: f.head(6, lambda head: head.update(seconds=1.0)).reseal(6, count=False),
        "^place 7, match 5, attempt 1: previous is '[0-9a-f]{64}', expected '[0-9a-f]{64}', the hash of",
    ),
    "the last record resealed": Forgery(
        lambda f: f.head(15, lambda head: head.update(seconds=1.0)).reseal(15, count=False),
        "^place 15: hash is '[0-9a-f]{64}', expected '[0-9a-f]{64}' by the database's count",
    ),
    "the count": Forgery(lambda f: f.sql("UPDATE chain SET length = 16"), "^15 records, expected 16"),
    "a lower count": Forgery(lambda f: f.sql("UPDATE chain SET length = 14"), "^15 records, expected 14"),
    "the last hash": Forgery(lambda f: f.sql("UPDATE chain SET hash = ?", "f" * 64), "by the database's count"),
    "the table's match": Forgery(
        lambda f: f.column(NORMAL, number=77),
        r"^place 2, match 77, attempt 1: the table has match, event, pairing, leg and attempt \(77, ",
    ),
    "the table's pairing": Forgery(lambda f: f.column(NORMAL, pairing=77), "the table has match, event, pairing"),
    "the table's leg": Forgery(lambda f: f.column(NORMAL, leg=77), "the table has match, event, pairing"),
    "the table's attempt": Forgery(lambda f: f.column(NORMAL, attempt=77), "the table has match, event, pairing"),
    "the table takes a game for none": Forgery(
        lambda f: f.column(NORMAL, number=None), "the table has match, event, pairing"
    ),
}


def _legal_but_other(f: Forged) -> None:
    """Another legal first move, which everything after it was not an answer to."""
    one, other = [[4, 2], [4, 3]], [[2, 2], [2, 3]]
    f.turns(NORMAL, lambda t: t[0].update(move=other if t[0]["move"] == one else one))


def _longer_thought(ms: float) -> Callable[[Forged], None]:
    """Return a change: a turn took longer, and so did the sum."""

    def do(f: Forged) -> None:
        added: list[float] = []

        def change(turns: Turns) -> None:
            added.append(ms - turns[2]["ms"])
            turns[2]["ms"] = ms

        f.turns(NORMAL, change)
        f.head(
            f.place(NORMAL),
            lambda head: head["thought_ms"].__setitem__(0, round(head["thought_ms"][0] + added[0], 3)),
        )

    return do


def _inject(f: Forged) -> None:
    """Make the head state one winner, and the turns, which end early, another."""
    ((text,),) = f.sql("SELECT turns FROM records WHERE place = ?", f.place(RESIGNED))
    f.head(f.place(RESIGNED), lambda head: head.update(winner=0))
    f.write(f.place(RESIGNED), "turns", text + b'],"winner":1,"zeal":[')


def _deep(f: Forged) -> None:
    f.head(2, lambda head: head.update(deep=0))
    ((text,),) = f.sql("SELECT head FROM records WHERE place = 2")
    f.write(2, "head", text.replace(b'"deep":0', b'"deep":' + b"[" * 900 + b"]" * 900))


MISSED = 2  # the turn of match SILENT in which the second player was silent first

RESEALED: dict[str, Forgery] = {
    # the turns
    "an illegal move": in_turn(
        NORMAL, 3, r"^place 2, match 1, attempt 1, turn 3: .*\(3, 3\)", move=[[3, 3], [3, 4]]
    ),
    "another legal move": Forgery(_legal_but_other, "^place 2, match 1, attempt 1(, turn \\d+)?: "),
    "no move": in_turn(NORMAL, 3, "turn 3: .*the move is None", move=None),
    "a dropped turn": turns(NORMAL, lambda t: t.pop(4), "turn 5: player is 1, expected 0, who is on turn"),
    "two dropped turns": turns(
        NORMAL, lambda t: (t.pop(4), t.pop(4)), "^place 2, match 1, attempt 1(, turn \\d+)?: "
    ),
    "the last turn dropped": turns(
        NORMAL,
        lambda t: t.pop(),
        "^place 2, match 1, attempt 1: reason is 'finished', expected more turns: after 44",
    ),
    "all turns dropped": turns(NORMAL, lambda t: t.clear(), "expected more turns: after 0"),
    "swapped turns": turns(NORMAL, lambda t: swap(t, 2, 4), "^place 2, match 1, attempt 1, turn \\d+: "),
    "swapped neighbours": turns(NORMAL, lambda t: swap(t, 2, 3), "turn 3: player is 1, expected 0"),
    "a repeated turn": turns(NORMAL, lambda t: t.insert(4, t[4]), "turn 6: player is 0, expected 1"),
    "a turn after the end": turns(
        NORMAL, lambda t: t.append(t[0]), "turn 46: .*expected nothing: the match is over"
    ),
    "a player": in_turn(NORMAL, 3, "turn 3: player is 1, expected 0, who is on turn", player=1),
    "a player that is none": in_turn(NORMAL, 3, "turn 3: player is 2, expected less than or equal to 1", player=2),
    "a pass more": turns(NORMAL, lambda t: t.insert(2, {"player": 0, "pass": True}), "turn 3: .*expected no pass"),
    "a pass less": turns(
        PASSES, lambda t: t.remove({"player": 1, "pass": True}), "turn \\d+: .*expected a pass of player 1"
    ),
    "the wrong player's pass": turns(
        PASSES, lambda t: next(turn for turn in t if "pass" in turn).update(player=0), "expected a pass of player 1"
    ),
    "a pass that is none": turns(
        PASSES,
        lambda t: next(turn for turn in t if "pass" in turn).update({"pass": False}),
        "pass is False, expected true",
    ),
    "a fault made a move": turns(
        FAULTY,
        lambda t: t.__setitem__(2, {**t[0], "move": [[6, 0], [6, 1]]}),
        "^place 4, match 3, attempt 1(, turn \\d+)?: ",
    ),
    "a legal move called illegal": in_turn(
        FAULTY,
        3,
        r"turn 3: tried is \[\[6, 0\], \[6, 1\]\], expected a move that the rules",
        tried=[[6, 0], [6, 1]],
    ),
    "an illegal move that is not told": without(FAULTY, 3, "tried", "turn 3: tried is missing"),
    "a cut move that is no text": in_turn(
        FAULTY, 3, r"turn 3: tried is \[\[0, 0\], \[7, 7\]\], expected a text: by tried_bytes", tried_bytes=1025
    ),
    "a short move that was cut": in_turn(
        FAULTY, 3, "turn 3: tried_bytes is 1024, expected greater", tried_bytes=1024
    ),
    "a cut move of a legal turn": in_turn(
        NORMAL, 3, "turn 3: tried_bytes is 2000, expected nothing in", tried_bytes=2000
    ),
    "a fault left out": turns(FAULTY, lambda t: t.pop(2), "turn 3: player is 1, expected 0"),
    "another fault": in_turn(FAULTY, 3, "turn 3: waited_ms is missing", fault="missed_limit"),
    "a fault that there is not": in_turn(
        FAULTY, 3, "turn 3: fault is 'bad luck', expected one of: illegal_move, ", fault="bad luck"
    ),
    "a fault that is no text": in_turn(FAULTY, 3, r"turn 3: fault is \['illegal_move'\]", fault=["illegal_move"]),
    "a fault and a move": in_turn(
        FAULTY, 3, "turn 3: .*expected one of the keys move, pass, fault, end", move=[0, 0]
    ),
    "a turn of nothing": turns(NORMAL, lambda t: t.insert(2, {"player": 0}), "turn 3: .*expected one of the keys"),
    "an end that there is not": in_turn(
        RESIGNED, 9, "turn 9: end is 'tired', expected one of: resigned, absent, hostile", end="tired"
    ),
    "another end": in_turn(RESIGNED, 9, "turn 9: timed is 'wake', expected nothing", end="hostile"),
    "the other one resigned": in_turn(RESIGNED, 9, "turn 9: player is 1, expected 0, who is on turn", player=1),
    "an end in the middle": turns(
        NORMAL,
        lambda t: t.insert(2, {"player": 0, "end": "resigned", "detail": "", "ms": 1.0, "timed": "wake"}),
        "turn 4: .*expected nothing: the match is over",
    ),
    # the clocks
    "a time over the limit": Forgery(
        _longer_thought(5100.002),
        r"turn 3: ms is 5100\.002, expected at most 5100\.000 \(limit 5000\.0 \+ lag 100\.0\), or a missed limit",
    ),
    "a time that the sum does not have": in_turn(
        NORMAL, 3, r"attempt 1: thought_ms is \[.*\], expected \[.*\] by its turns", ms=1.0
    ),
    "a time below nothing": in_turn(
        NORMAL, 3, r"turn 3: ms is -1\.0, expected greater than or equal to 0", ms=-1.0
    ),
    "a time that is none": in_turn(NORMAL, 3, "turn 3: ms is 'long', expected a valid number", ms="long"),
    "a time left out": without(NORMAL, 3, "ms", "turn 3: ms is missing"),
    "the lower limit": in_head(
        NORMAL,
        r"turn \d+: ms is .*, expected at most 301\.000 \(limit 300\.0 \+ lag 1\.0\)",
        time={"kind": "move", "ms": 300.0, "lag_ms": 1.0},
    ),
    "the higher limit": in_head(
        SILENT,
        r"turn \d+: ms is 5000\.0, expected the limit that was missed, 6000\.0",
        time={"kind": "move", "ms": 6000.0, "lag_ms": 100.0},
    ),
    "the higher allowance": in_head(
        SILENT,
        r"turn \d+: waited_ms is 5100\.0, expected more than 5200\.000",
        time={"kind": "move", "ms": 5000.0, "lag_ms": 200.0},
    ),
    "a budget": in_head(
        NORMAL,
        r"turn \d+: (ms is|an answer, expected a missed limit)",
        time={"kind": "budget", "ms": 5000.0, "lag_ms": 100.0},
    ),
    "a limit of nothing": in_head(
        NORMAL, r"time\.ms is 0\.0, expected greater than 0", time={"kind": "move", "ms": 0.0, "lag_ms": 100.0}
    ),
    "not waited long enough": in_turn(
        SILENT, MISSED, r"turn 2: waited_ms is 5099\.998, expected more than 5100\.000", waited_ms=5099.998
    ),
    "a missed limit that was charged less": in_turn(
        SILENT, MISSED, r"turn 2: ms is 4000\.0, expected the limit that was missed, 5000\.0", ms=4000.0
    ),
    "a missed limit with an arrival": in_turn(
        SILENT, MISSED, "turn 2: timed is 'kernel', expected nothing", timed="kernel"
    ),
    "an arrival that nobody timed": without(NORMAL, 3, "timed", "turn 3: timed is missing"),
    "another way of timing": in_turn(
        NORMAL, 3, "turn 3: timed is 'guess', expected 'kernel' or 'wake'", timed="guess"
    ),
    "away, and in a row": turns(
        SILENT,
        lambda t: [
            turn.update(fault="missed_limit", detail="", ms=5000.0, waited_ms=5200.0, away=True)
            or [turn.pop(key, 0) for key in ("move", "timed")]
            for turn in t
            if turn["player"] == 1
        ],
        "fault is 'missed_limit', expected end 'absent': 3 limits missed",
    ),
    "not away": in_turn(
        ABSENT, 3, r"turn 5: end is 'absent' after 1 limits missed in a row while away, expected 3", away=False
    ),
    "absent and here": in_turn(ABSENT, 5, "turn 5: away is False, expected true", away=False),
    "a lateness left out": turns(
        LATE, lambda t: [turn.pop("late_ms", 0) for turn in t], r"turn \d+: ms is .*, expected at most 5100\.000"
    ),
    "a lateness that is none": in_turn(
        NORMAL, 3, r"turn 3: late_ms is 50\.0, expected nothing, or more than the 100\.0 for lag", late_ms=50.0
    ),
    "a violation that took time": turns(
        HOSTILE, lambda t: t[-1].update(ms=5.0), r"turn 13: ms is 5\.0, expected 0\.0"
    ),
    # the result
    "a winner": in_head(PASSES, "^place 15, match 12, attempt 1: winner is 1, expected 0 by its turns", winner=1),
    "a winner of a draw": in_head(NORMAL, "winner is 0, expected None by its turns", winner=0),
    "no winner": in_head(PASSES, "winner is None, expected 0", winner=None),
    "a winner that is true": in_head(FAULTY, "winner is True, expected a valid integer", winner=True),
    "a third winner": in_head(FAULTY, "winner is 2, expected less than or equal to 1", winner=2),
    "scores": in_head(NORMAL, r"scores is \[9, 0\], expected \(\d+, \d+\) by its turns", scores=[9, 0]),
    "no scores": in_head(NORMAL, "scores is None, expected", scores=None),
    "scores of one who resigned": in_head(RESIGNED, r"scores is \[9, 0\], expected None", scores=[9, 0]),
    "three scores": in_head(
        NORMAL, r"scores is \[1, 2, 3\], expected|List should have at most 2", scores=[1, 2, 3]
    ),
    "a reason": in_head(RESIGNED, "reason is 'absent', expected 'resigned'", reason="absent"),
    "a reason that there is not": in_head(NORMAL, "reason is 'luck', expected 'finished'", reason="luck"),
    "the wording": in_head(NORMAL, "detail is 'Black wins', expected '", detail="Black wins"),
    "how many turns": in_head(NORMAL, "turns_played is 46, expected 45", turns_played=46),
    "how many turns, as a fraction": in_head(
        NORMAL, r"turns_played is 45\.0, expected a valid integer", turns_played=45.0
    ),
    "faults": in_head(FAULTY, r"faults is \[0, 3\], expected \[3, 0\]", faults=[0, 3]),
    "thinking time": in_head(NORMAL, r"thought_ms is \[1\.0, 2\.0\], expected", thought_ms=[1.0, 2.0]),
    "a void attempt that won": Forgery(
        lambda f: f.head(f.place(2, 1), lambda head: head.update(winner=0)),
        "^place 3, match 2, attempt 1: winner is 0, expected None",
    ),
    "a void attempt that counts": Forgery(
        lambda f: f.head(f.place(2, 1), lambda head: head.update(reason="finished")),
        "^place 3, match 2, attempt 1: reason is 'finished', expected more turns: after 6",
    ),
    "a walkover with turns": in_head(
        NORMAL, "reason is 'never_arrived' and there are 45 turns, expected none", reason="never_arrived"
    ),
    "a walkover with scores": in_head(
        LONELY, r"^place 11, match 9, attempt 1: scores is \[9, 0\], expected None", scores=[9, 0]
    ),
    "a walkover with thought": in_head(NOBODY, "thought_ms is", thought_ms=[1.0, 0.0]),
    "resumed after the end": in_head(RESUMED, r"resumed is \[99\], expected rising numbers up to 45", resumed=[99]),
    "resumed backwards": in_head(RESUMED, r"resumed is \[11, 5\], expected rising", resumed=[11, 5]),
    "an incident of an unknown team": Forgery(
        lambda f: f.head(f.place(HOSTILE), lambda head: head["incidents"][0].update(team=99)),
        r"an incident of team 99, expected one of \[",
    ),
    "an incident after the end": Forgery(
        lambda f: f.head(f.place(HOSTILE), lambda head: head["incidents"][0].update(after_turn=99)),
        "an incident after turn 99, expected at most 12",
    ),
    "an incident that did not happen": Forgery(
        lambda f: f.head(f.place(HOSTILE), lambda head: head["incidents"][0].update(count=0)),
        r"incidents\.0\.count is 0, expected",
    ),
    # which match
    "a match that there is not": Forgery(
        lambda f: f.column(NORMAL, number=99).head(2, lambda head: head.update(match=99)),
        "^place 2, match 99, attempt 1: match is 99, expected one of the 12 in the pairings",
    ),
    "another match": Forgery(
        lambda f: f.column(NORMAL, number=2).head(2, lambda head: head.update(match=2)),
        "^place 2, match 2, attempt 1: pairing of match 2 is 1, expected 2 by the pairings|first of match 2",
    ),
    "another round": in_head(NORMAL, "round of match 1 is 2, expected 1 by the pairings", round=2),
    "another game": in_head(NORMAL, "game of match 1 is 'linkage', expected 'hop' by the pairings", game="linkage"),
    "a game that there is not": in_head(NORMAL, "unknown game 'go'; installed: longest_path, ", game="go"),
    "an option": in_head(NORMAL, "options are {'size': 8}: hop has no option 'size'", options={"size": 8}),
    "a team": Forgery(
        lambda f: f.head(2, lambda head: head["teams"][0].update(id=9)),
        r"first of match 1 is 9, expected \d by the pairings",
    ),
    "teams swapped": Forgery(lambda f: f.head(2, lambda head: head["teams"].reverse()), "first of match 1 is"),
    "three teams": Forgery(lambda f: f.head(2, lambda head: head["teams"].append(head["teams"][0])), "teams is"),
    "the seed of a game": in_head(NORMAL, "seed is 6, expected 5 by the pairings", seed=6),
    "an attempt": Forgery(
        lambda f: f.column(NORMAL, attempt=2).head(2, lambda head: head.update(attempt=2)),
        "^place 2, match 1, attempt 2: attempt is 2, expected 1: a record is missing, or out of order",
    ),
    "a void attempt removed": Forgery(
        lambda f: f.remove(f.place(2, 1)).reorder(), "^place 4, match 2, attempt 2: attempt is 2, expected 1"
    ),
    "attempts swapped": Forgery(
        lambda f: f.reorder(lambda order: swap(order, 2, 4)),
        "^place 3, match 2, attempt 2: attempt is 2, expected 1",
    ),
    "a result twice": Forgery(
        lambda f: f.again(NORMAL),
        "^place 16, match 1, attempt 2: match 1 again, expected none: its result is at place 2",
    ),
    # the pairings
    "the pairings removed": Forgery(
        lambda f: f.remove(1).reorder(), "^place 1, match 1, attempt 1: type is 'game', expected 'settings' or"
    ),
    "the pairings twice": Forgery(lambda f: f.repeat(1), "^place 16: 12 matches, expected 0"),
    "the pairings' seed": Forgery(
        lambda f: f.head(1, lambda head: head.update(seed=6)),
        "^place 1: .* of match 1 is .* by the format and the seed",
    ),
    "the pairings' order": Forgery(
        lambda f: f.pairings(lambda matches: swap(matches, 0, 1)), "^place 1: number of match 1 is 2, expected 1"
    ),
    "a pairing's colours": Forgery(
        lambda f: f.pairings(
            lambda matches: matches[0].update(first=matches[0]["second"], second=matches[0]["first"])
        ),
        "^place 1: first of match 1",
    ),
    "a pairing less": Forgery(
        lambda f: f.pairings(lambda matches: matches.pop()), "^place 1: 11 matches, expected 12"
    ),
    "a pairing more": Forgery(
        lambda f: f.pairings(lambda matches: matches.append(matches[0])), "^place 1: 13 matches, expected 12"
    ),
    "pairings beyond all bounds": Forgery(
        lambda f: f.head(1, lambda head: head.update(settings={"legs": 1000}, teams=list(range(256)))),
        "^place 1: settings make up to 32640000 matches of these teams, expected at most 525000",
    ),
    "no pairings": Forgery(
        lambda f: f.pairings(lambda matches: matches.clear()),
        "^place 1: 0 matches, expected 12",
    ),
    "a team less": Forgery(
        lambda f: f.head(
            1, lambda head: head.update(matches=[m for m in head["matches"] if 4 not in (m["first"], m["second"])])
        ),
        "^place 1: 6 matches, expected 12",
    ),
    "a pairing without a round": Forgery(
        lambda f: f.pairings(lambda matches: matches[0].pop("round")), r"^place 1: matches\.0\.round is missing"
    ),
    "a team that is true": Forgery(
        lambda f: f.pairings(lambda matches: matches[0].update(first=True)),
        r"^place 1: matches\.0\.first is True, expected a valid integer",
    ),
    # no record at all
    "another version": in_head(NORMAL, "expected a record of version 1", record=2),
    "another type": in_head(NORMAL, "type is 'joke', expected one of: settings, pairings, game, ", type="joke"),
    "no type": Forgery(
        lambda f: f.head(2, lambda head: head.pop("type")),
        "type is None, expected one of: settings, pairings, game, ",
    ),
    "no JSON": Forgery(lambda f: f.write(2, "head", b'{"record":1,}'), "is not JSON"),
    "no UTF-8": Forgery(lambda f: f.write(2, "head", b'{"record":1,"type":"\xff"}'), "is not JSON"),
    "a list": Forgery(lambda f: f.write(2, "head", b"[]"), "is not JSON|expected a record"),
    "nothing": Forgery(lambda f: f.write(2, "head", b""), "is not JSON"),
    "nearly nothing": Forgery(lambda f: f.write(2, "head", b'{"record":1,"type":"game"}'), "contest is missing"),
    "turns that are none": Forgery(
        lambda f: f.write(2, "turns", b"1,2"), r"turns\.0 is 1, expected a valid dictionary"
    ),
    "two winners": Forgery(_inject, "its head has {'winner': 0}, expected {'winner': 1} as in the whole record"),
    "a nest": Forgery(_deep, "nested more than 254 deep"),
    "a time that was never": in_head(NORMAL, "started is 'yesterday', expected a time in UTC", started="yesterday"),
    "a game that took less than nothing": in_head(NORMAL, r"seconds is -1\.0, expected", seconds=-1.0),
    "a time that is to come": in_head(
        NORMAL, "started is '9999-12-31T23:59:59.999Z', expected a time in UTC", started="9999-12-31T23:59:59.999Z"
    ),
    "a game without end": in_head(NORMAL, r"seconds is 1e\+308, expected less than or equal to", seconds=1e308),
    "a turn without end": in_turn(NORMAL, 3, r"ms is 1e\+308, expected less than or equal to", ms=1e308),
    "incidents without end": Forgery(
        lambda f: f.head(f.place(HOSTILE), lambda head: head["incidents"][0].update(count=10**15)),
        r"incidents\.0\.count is 1000000000000000, expected less than or equal to 1000000000000",
    ),
    "a contest that repaints the terminal": in_head(
        NORMAL, r"contest is '\\x1b\[2J', expected visible characters", contest="\x1b[2J"
    ),
    "pairings that repaint it": Forgery(
        lambda f: f.head(1, lambda head: head.update(contest="\x1b[2J")), "^place 1: contest is .*expected visible"
    ),
    "a contest that is too long": in_head(NORMAL, "contest is 'xxx.*, expected .* at most 64", contest="x" * 65),
    "a team that repaints it": Forgery(
        lambda f: f.head(2, lambda head: head["teams"][0].update(name="\x1b[2J")),
        r"teams\.0\.name is '\\x1b\[2J', expected visible characters",
    ),
    "a text that is a number": in_head(NORMAL, "detail is 5, expected a valid string", detail=5),
}
