"""Verifying: an untouched contest fits, and whatever is changed in its records is found and named."""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from getstep.wire import Step
from getstep_server.config.contest import Contest, database_path
from getstep_server.config.database_address import DatabaseAddress
from getstep_server.records.game import tried_fields
from getstep_server.records.reasons import TEAM_KINDS
from getstep_server.storage.database import StoreError
from getstep_server.storage.store import Store
from getstep_server.storage.verify import Verified, VerifyError, verify
from getstep_server.tournament.tournament import Tournament
from tests.support import tampered_decisions, tampered_stalling
from tests.support.played_contests import (
    INCREMENT,
    Scene,
    good,
    play_scenes,
    scenes_of_budget,
    scenes_of_decisions,
    scenes_of_hop,
    scenes_of_increments,
    scenes_of_lateness,
    scenes_of_spending,
    scenes_of_stalling,
)
from tests.support.records import compact
from tests.support.tampered_records import RAW, RESEALED, Forgery
from tests.support.tampering import Forged


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A finished contest in which everything has happened."""
    folder = tmp_path_factory.mktemp("played") / "hop"
    return play_scenes(folder, "hop", scenes_of_hop, teams=4, settings=False)


def verified(contest: Contest, path: DatabaseAddress, head: str | None = None) -> Verified:
    with Store(path) as store:
        return verify(contest, store, expected_hash=head)


def finding(contest: Contest, path: DatabaseAddress, head: str | None = None) -> VerifyError:
    with pytest.raises(VerifyError) as found:
        verified(contest, path, head)
    return found.value


CONTROL = "".join(map(chr, range(1, 32))) * 65
LONG_MOVES = {
    "control characters": [CONTROL[:1990], CONTROL[:1990]],
    "quotes and backslashes": [['"' * 1000, "\\" * 1000]],
    "letters of four bytes": "\U0001f600" * 900,
    "numbers": [list(range(700))],
    "one byte too many": "x" * 1023,
}


# --- what fits ------------------------------------------------------------------------------------------------


def test_an_untouched_contest_fits(contest: Contest) -> None:
    seen: list[tuple[int, int]] = []
    with Store(contest.database) as store:
        found = verify(contest, store, progress=lambda done, total: seen.append((done, total)))
        records = [json.loads(line) for line in store.lines()]
    assert (found.records, found.matches, found.played, found.void, found.beyond) == (15, 12, 12, 2, 0)
    assert found.turns == sum(len(record.get("turns", [])) for record in records)
    assert found.tip == records[-1]["hash"]
    assert seen == [(n, 15) for n in range(1, 16)]


def test_everything_happens_in_it(contest: Contest) -> None:
    """Else a forgery would be found for the wrong reason."""
    with Store(contest.database) as store:
        games = [json.loads(line) for line in store.lines()][1:]
    turns = [turn for game in games for turn in game["turns"]]
    assert {turn["fault"] for turn in turns if "fault" in turn} == {
        *("illegal_move", "raised", "malformed_answer", "missed_limit"),
    }
    assert {turn["end"] for turn in turns if "end" in turn} == {"resigned", "absent", "hostile"}
    assert any("pass" in turn for turn in turns)
    assert any("late_ms" in turn for turn in turns)
    assert any(game["resumed"] for game in games)
    assert any(game["incidents"] for game in games)
    reasons = {"finished", "server_fault", "absent", "resigned", "hostile", "never_arrived"}
    assert {game["reason"] for game in games} == reasons


@pytest.mark.parametrize(
    ("game", "scenes", "limit"),
    [
        ("pseudo_tonga", scenes_of_budget, "budget_seconds = 4.0"),
        ("hop", scenes_of_spending, "budget_seconds = 2.0"),
        ("hop", scenes_of_increments, INCREMENT),
    ],
)
def test_budgets_fit(tmp_path: Path, game: str, scenes: Any, limit: str) -> None:
    played = play_scenes(tmp_path / "played", game, scenes, limit=limit)
    assert verified(played, database_path(played.folder)).played == 2


@pytest.fixture(scope="module")
def increments(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Two games with increments."""
    folder = tmp_path_factory.mktemp("increments") / "played"
    return play_scenes(folder, "hop", scenes_of_increments, limit=INCREMENT, settings=False)


def test_a_record_names_the_increment(increments: Contest) -> None:
    with Store(increments.database) as store:
        games = [json.loads(line) for line in store.lines()][1:]
    assert {json.dumps(game["time"]) for game in games} == {
        '{"kind": "budget", "ms": 1000.0, "lag_ms": 100.0, "increment_ms": 500.0}'
    }
    assert games[0]["faults"] == [0, 0]
    assert games[0]["thought_ms"][0] > 1000.0
    assert games[1]["resumed"] == [6]
    faults = [turn["fault"] for turn in games[1]["turns"] if "fault" in turn]
    assert faults == ["illegal_move", "raised", *["missed_limit"] * (len(faults) - 2)]
    # It has answered four times, and nothing is left after the missed limit
    assert games[1]["thought_ms"][0] == 3000.0


OVER = r"turn \d+: ms is .*, expected at most .* \(limit .* \+ lag 100\.0\), or a missed limit"
MISSED = r"turn \d+: ms is .*, expected the limit that was missed"
OF_A_BUDGET = "expected more than 0 with the kind 'budget', and else nothing"


@pytest.mark.parametrize(
    ("match", "changes", "found"),
    [
        (1, {"increment_ms": 0.001}, OVER),
        (2, {"increment_ms": 499.999}, MISSED),
        (2, {"increment_ms": 500.001}, MISSED),
        (2, {"increment_ms": None}, rf"time\.increment_ms is None, {OF_A_BUDGET}"),
        (2, {"increment_ms": 0.0}, r"time\.increment_ms is 0\.0, expected greater than 0"),
        (2, {"increment_ms": -500.0}, r"time\.increment_ms is -500\.0, expected greater than 0"),
        (2, {"increment_ms": "500"}, r"time\.increment_ms is '500', expected a valid number"),
        (2, {"kind": "move"}, rf"time\.increment_ms is 500\.0, {OF_A_BUDGET}"),
    ],
)
def test_a_forged_increment_is_found(
    increments: Contest, tmp_path: Path, match: int, changes: dict[str, object], found: str
) -> None:
    forged = Forged(database_path(increments.folder), tmp_path / "contest.db")
    forged.head(forged.place(match), lambda head: head["time"].update(changes)).reseal()
    forged.close()
    assert re.search(found, str(finding(increments, forged.path)))


@pytest.mark.parametrize(("match", "found"), [(1, OVER), (2, MISSED)])
def test_a_dropped_increment_is_found(increments: Contest, tmp_path: Path, match: int, found: str) -> None:
    forged = Forged(database_path(increments.folder), tmp_path / "contest.db")
    forged.head(forged.place(match), lambda head: head["time"].pop("increment_ms")).reseal()
    forged.close()
    assert re.search(found, str(finding(increments, forged.path)))


def test_a_contest_without_records_fits(contest: Contest, tmp_path: Path) -> None:
    assert verified(contest, tmp_path / "new.db") == Verified(
        0, "0" * 64, 0, 0, 0, 0, 0, 0, 0, 0, (), (), (), (), 0, ()
    )


def test_a_contest_that_is_not_over_fits(contest: Contest, forged: Forged) -> None:
    forged.sql("DELETE FROM records WHERE place > 9")
    forged.reseal(9)
    found = verified(contest, forged.path)
    assert (found.records, found.matches, found.played) == (9, 12, 7)


def test_a_reader_ignores_keys_it_does_not_know(contest: Contest, forged: Forged) -> None:
    forged.head(2, lambda head: head.update(weather="fair"))
    forged.pairings(lambda matches: matches[0].update(weather="fair"))
    forged.turns(1, lambda turns: turns[0].update(mood="good"))
    forged.reseal()
    assert verified(contest, forged.path).records == 15


def test_another_version_may_word_a_detail_in_its_own_way(contest: Contest, forged: Forged) -> None:
    forged.head(2, lambda head: head.update(software="getstep-server 0.0.9", detail="All over."))
    forged.reseal()
    assert verified(contest, forged.path).records == 15


def test_half_a_microsecond_of_rounding_is_tolerated(contest: Contest, forged: Forged) -> None:
    forged.turns(2, lambda turns: turns[1].update(waited_ms=5099.9995))
    forged.reseal()
    assert verified(contest, forged.path).records == 15


def test_it_is_verified_as_it_was_at_one_moment(contest: Contest, forged: Forged) -> None:
    """Another process stores a record at the same time, as a running contest does."""
    (row,) = forged.sql("SELECT * FROM records WHERE place = 15")
    forged.sql("DELETE FROM records WHERE place = 15")
    forged.reseal(14)

    def store_one(done: int, total: int) -> None:
        if done == 3:
            other = sqlite3.connect(forged.path, isolation_level=None)
            other.execute("BEGIN")
            other.execute(f"INSERT INTO records VALUES (?, ?, ?, ?, ?, ?{4 * ', CAST(? AS TEXT)'})", row)
            other.execute("UPDATE chain SET length = 15, hash = ?", (row[-1].decode(),))
            other.execute("COMMIT")
            other.close()

    with Store(forged.path) as store:
        assert verify(contest, store, progress=store_one).records == 14
        assert verify(contest, store).records == 15


@pytest.mark.parametrize("name", LONG_MOVES)
def test_a_long_move_that_was_tried_is_cut(name: str, tmp_path: Path) -> None:
    """A frame of it may take 24 kB as JSON, and a bot may send one in each of 200 turns."""
    move = LONG_MOVES[name]
    tried = lambda _, question: Step(question.id, move)  # noqa: E731 - a Reply, like those of `played_contests`
    contest = play_scenes(tmp_path / "long", "hop", lambda _: [Scene(1, tried, good), Scene(2)])
    assert verified(contest, contest.database).played == 2
    with Store(contest.database) as store:
        (record,) = [json.loads(record.line) for record in store.records(1)]
    turns = [turn for turn in record["turns"] if turn.get("fault") == "illegal_move"]
    assert len(turns) > 20
    whole = compact(move)
    for turn in turns:
        assert turn["tried_bytes"] == len(whole)
        assert whole.decode().startswith(turn["tried"])
        assert 1024 - 6 < len(compact(turn["tried"])) <= 1024


def test_a_move_of_1_kb_that_was_tried_is_kept_whole() -> None:
    assert tried_fields("x" * 1022) == {"tried": "x" * 1022}
    assert tried_fields([[0, 0], [7, 7]]) == {"tried": [[0, 0], [7, 7]]}


# --- what does not --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forgery", RAW.values(), ids=RAW)
def test_a_change_is_found(contest: Contest, forged: Forged, forgery: Forgery) -> None:
    forgery.do(forged)
    assert re.search(forgery.found, str(finding(contest, forged.path)))


@pytest.mark.parametrize("forgery", RESEALED.values(), ids=RESEALED)
def test_a_change_is_found_even_with_recomputed_hashes(contest: Contest, forged: Forged, forgery: Forgery) -> None:
    forgery.do(forged)
    forged.reseal()
    assert re.search(forgery.found, str(finding(contest, forged.path)))


def test_another_valid_chain_is_distinguished_by_the_expected_hash(contest: Contest, forged: Forged) -> None:
    head = verified(contest, forged.path).tip
    forged.sql("DELETE FROM records WHERE place = 15")  # its last match was not played, it says
    forged.reseal()
    assert verified(contest, forged.path).played == 11
    assert str(finding(contest, forged.path, head)).startswith(f"no record has the hash '{head}'")


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A contest in which the host had to decide about much."""
    folder = tmp_path_factory.mktemp("decided") / "hop"
    return play_scenes(folder, "hop", scenes_of_decisions, teams=3, settings=False)


def test_decisions_fit(decided: Contest) -> None:
    found = verified(decided, database_path(decided.folder))
    assert (found.records, found.matches, found.played, found.void) == (19, 6, 2, 3)
    with Store(decided.database) as store:
        kinds = {fields["decision"] for fields in store.record_headers() if fields["type"] == "decision"}
    assert kinds == {*TEAM_KINDS, "adjudicate", "replay"}


@pytest.mark.parametrize("forgery", tampered_decisions.DECISIONS.values(), ids=tampered_decisions.DECISIONS)
def test_a_changed_decision_is_found(decided: Contest, tmp_path: Path, forgery: Forgery) -> None:
    forged = Forged(database_path(decided.folder), tmp_path / "contest.db")
    forgery.do(forged)
    forged.reseal()
    forged.close()
    assert re.search(forgery.found, str(finding(decided, tmp_path / "contest.db")))


@pytest.mark.parametrize("forgery", tampered_decisions.RAW.values(), ids=tampered_decisions.RAW)
def test_a_decision_with_its_old_hash_is_found(decided: Contest, tmp_path: Path, forgery: Forgery) -> None:
    forged = Forged(database_path(decided.folder), tmp_path / "contest.db")
    forgery.do(forged)
    forged.close()
    assert re.search(forgery.found, str(finding(decided, tmp_path / "contest.db")))


@pytest.fixture(scope="module")
def lateness(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A contest in which a team came late."""
    folder = tmp_path_factory.mktemp("late") / "hop"
    return play_scenes(folder, "hop", scenes_of_lateness, teams=3, settings=False)


def test_a_late_arrival_fits(lateness: Contest) -> None:
    found = verified(lateness, database_path(lateness.folder))
    assert (found.records, found.matches, found.played, found.overruled) == (9, 6, 4, 3)


@pytest.mark.parametrize("forgery", tampered_decisions.LATE.values(), ids=tampered_decisions.LATE)
def test_a_changed_late_arrival_is_found(lateness: Contest, tmp_path: Path, forgery: Forgery) -> None:
    forged = Forged(database_path(lateness.folder), tmp_path / "contest.db")
    forgery.do(forged)
    forged.reseal()
    forged.close()
    assert re.search(forgery.found, str(finding(lateness, tmp_path / "contest.db")))


@pytest.fixture(scope="module")
def stalling(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A contest in which players have stalled."""
    folder = tmp_path_factory.mktemp("stalling") / "hop"
    return play_scenes(folder, "hop", scenes_of_stalling, teams=3, settings=False)


def games_of(contest: Contest) -> list[Any]:
    with Store(contest.database) as store:
        return [fields for line in store.lines() if (fields := json.loads(line))["type"] == "game"]


def test_stalled_players_fit(stalling: Contest) -> None:
    assert verified(stalling, database_path(stalling.folder)).played == 5
    codes = [[turn["fault"] for turn in game["turns"] if "fault" in turn] for game in games_of(stalling)]
    hung, back, faults, resumed, slow = codes
    assert hung == ["missed_limit"] * 3 + ["stalled"] * (len(hung) - 3)
    skipped = back.count("stalled")
    assert skipped > 3
    assert back == ["missed_limit"] * 3 + ["stalled"] * skipped + ["missed_limit"] * 3
    assert set(faults) == {"raised", "malformed_answer"}
    assert resumed[3] == "stalled"
    assert resumed.count("missed_limit") == 6  # after the restart it was asked again
    assert set(slow) == {"missed_limit"}
    assert len(slow) > 3
    assert games_of(stalling)[2]["reason"] == "finished"
    assert games_of(stalling)[3]["resumed"] != []


def test_a_match_judged_by_an_older_edition_fits(stalling: Contest, tmp_path: Path) -> None:
    """Then nobody was stalled, and the last skipped turn's code was the reason of a game that ended with it."""
    forged = Forged(database_path(stalling.folder), tmp_path / "contest.db")
    forged.head(
        forged.place(tampered_stalling.FAULTS),
        lambda head: [head.pop("edition"), head.update(reason="malformed_answer")],
    )

    def wait_each_time(turns: Any) -> None:
        for turn in turns:
            turn.pop("heard", None)

    forged.turns(tampered_stalling.SLOW, wait_each_time)
    forged.head(forged.place(tampered_stalling.SLOW), lambda head: head.pop("edition"))
    forged.reseal()
    forged.close()
    assert verified(stalling, tmp_path / "contest.db").played == 5


@pytest.mark.parametrize("forgery", tampered_stalling.FORGED.values(), ids=tampered_stalling.FORGED)
def test_a_changed_silence_is_found(stalling: Contest, tmp_path: Path, forgery: Forgery) -> None:
    forged = Forged(database_path(stalling.folder), tmp_path / "contest.db")
    forgery.do(forged)
    forged.reseal()
    forged.close()
    assert re.search(forgery.found, str(finding(stalling, tmp_path / "contest.db")))


def test_a_head_that_was_kept_while_the_contest_ran(contest: Contest) -> None:
    with Store(contest.database) as store:
        hashes = [record.hash for record in store.records()]
    assert [verified(contest, contest.database, head=head).beyond for head in hashes] == list(range(14, -1, -1))
    assert "kept elsewhere" in str(finding(contest, contest.database, "0" * 64))


def test_the_standings_are_those_of_the_replayed_games(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Store.record_headers
    monkeypatch.setattr(Store, "record_headers", lambda store: honest(store)[:-1])
    assert re.match(r"in the standings Standing\(.*, expected Standing\(", str(finding(contest, contest.database)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM chain", "0 rows in the table chain, expected one"),
        ("INSERT INTO chain VALUES (3, 'x')", "2 rows in the table chain, expected one"),
        ("DROP TABLE chain", "no such table: chain"),
        ("DROP TABLE records", "no such table: records"),
        ("ALTER TABLE records RENAME COLUMN turns TO moves", "no such column: turns"),
        ("PRAGMA user_version = 0", "already exists"),
        ("PRAGMA user_version = 7", "schema 7, expected 1"),
    ],
)
def test_a_database_that_is_not_ours(contest: Contest, forged: Forged, change: str, message: str) -> None:
    forged.sql(change)
    with pytest.raises(StoreError, match=message):
        verified(contest, forged.path)


def test_a_table_that_takes_anything(contest: Contest, forged: Forged) -> None:
    """SQLite would let a column hold any type, were the table not made as it is."""
    columns = "place, number, event, pairing, leg, attempt, head, turns, previous, hash"
    forged.sql(f"CREATE TABLE other AS SELECT {columns} FROM records")
    forged.sql("DROP TABLE records")
    forged.sql("ALTER TABLE other RENAME TO records")
    assert verified(contest, forged.path).records == 15
    forged.sql("UPDATE records SET head = NULL WHERE place = 4")
    assert str(finding(contest, forged.path)).startswith("place 4, match 3, attempt 1: hash is")
    forged.sql("UPDATE records SET attempt = 'one', head = 5 WHERE place = 3")
    assert str(finding(contest, forged.path)).startswith("place 3, match 2, attempt one: hash is")
    forged.sql("UPDATE records SET place = 'two' WHERE place = 2")
    with pytest.raises(StoreError, match="a record at place 'two', expected a whole number"):
        verified(contest, forged.path)


def test_a_damaged_file_is_found(contest: Contest, tmp_path: Path) -> None:
    """A page of the file itself, below SQLite."""
    path = tmp_path / "contest.db"
    with sqlite3.connect(database_path(contest.folder)) as original:
        original.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    original.close()
    shutil.copy(database_path(contest.folder), path)
    data, dice, found = path.read_bytes(), random.Random(1), 0
    for start in range(0, len(data), 4096):
        path.write_bytes(data[:start] + dice.randbytes(4096) + data[start + 4096 :])
        try:
            assert verified(contest, path) == verified(
                contest, database_path(contest.folder)
            )  # a page that no record is on
        except (VerifyError, StoreError):
            found += 1
    assert found > len(data) / 4096 / 2


# --- fuzzing --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Two short games."""
    folder = tmp_path_factory.mktemp("small")
    return play_scenes(
        folder / "small", "pseudo_tonga", scenes_of_budget, limit="budget_seconds = 4.0", settings=False
    )


@settings(max_examples=150)
@given(data=st.data())
@pytest.mark.parametrize("reseal", [False, True])
def test_a_changed_byte_is_found_or_means_nothing(small: Contest, reseal: bool, data: st.DataObject) -> None:
    """With new hashes too: then it is found, or nothing that counts has changed."""
    place = data.draw(st.integers(1, 3), "place")
    column = data.draw(st.sampled_from(["head", "turns"] if place > 1 else ["head"]), "column")
    path = small.folder / "fuzz.db"
    forged = Forged(database_path(small.folder), path)
    ((text,),) = forged.sql(f"SELECT {column} FROM records WHERE place = ?", place)
    at = data.draw(st.integers(0, len(text) - 1), "at")
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[at]), "byte")
    forged.write(place, column, text[:at] + bytes([byte]) + text[at + 1 :])
    if reseal:
        forged.reseal()
    forged.close()
    if not reseal:
        assert finding(small, path).place == place
        return
    try:
        verified(small, path)
    except VerifyError as found:
        assert found.place == place  # noqa: PT017 - either is right
    else:
        with Store(small.database) as original, Store(path) as changed:
            tables = [Tournament(small, store.record_headers()).tables() for store in (original, changed)]
        assert tables[0] == tables[1]
