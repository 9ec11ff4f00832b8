"""The journal, followed from another process while a server writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_server.storage import journal as journal_module
from getstep_server.storage.journal import Journal, segments, tag_of
from getstep_server.storage.journal_tail import JournalTail, TailedLine

ENTRY = b'{"player":0}'


def lines(tail: JournalTail) -> list[tuple[int, int, int]]:
    return [line[:3] for line in tail.poll()]


def test_lines_come_once_in_their_order(tmp_path: Path) -> None:
    journal, tail = Journal(tmp_path), JournalTail(tmp_path)
    assert tail.poll() == []
    journal.append(tag_of(7, 1), ENTRY, ENTRY)
    journal.append(tag_of(8, 2), b'{"head":1}')
    assert tail.poll() == [
        TailedLine(7, 1, 1, ENTRY),
        TailedLine(7, 1, 2, ENTRY),
        TailedLine(8, 2, 1, b'{"head":1}'),
    ]
    assert tail.poll() == []
    journal.append(tag_of(7, 1), ENTRY)
    assert lines(tail) == [(7, 1, 3)]
    journal.close()


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    journal, tail = Journal(tmp_path), JournalTail(tmp_path)
    journal.append(tag_of(7, 1), ENTRY, ENTRY)
    journal.close()
    (path,) = segments(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert lines(tail) == [(7, 1, 1)]
    with path.open("ab") as file:
        file.write(whole[-5:])
    assert lines(tail) == [(7, 1, 2)]


def test_segments_follow_each_other_and_go_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 100)
    journal, tail = Journal(tmp_path), JournalTail(tmp_path)
    found = []
    for match in range(1, 6):
        journal.append(tag_of(match, 1), ENTRY, ENTRY, ENTRY)
        found += lines(tail)
        journal.finish(tag_of(match, 1))
    assert found == [(match, 1, number) for match in range(1, 6) for number in (1, 2, 3)]
    assert len(segments(tmp_path)) <= 1
    journal.close()


def test_a_new_run_begins_again_at_the_first_segment(tmp_path: Path) -> None:
    tail = JournalTail(tmp_path)
    for match in (1, 2):
        journal = Journal(tmp_path)
        journal.append(tag_of(match, 1), ENTRY)
        assert lines(tail) == [(match, 1, 1)]
        journal.finish(tag_of(match, 1))
        journal.close()
        assert segments(tmp_path) == []
        assert tail.poll() == []


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    journal, tail = Journal(tmp_path), JournalTail(tmp_path)
    journal.append(tag_of(7, 1), ENTRY, b'{"player":1}', ENTRY)
    journal.close()
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"player":1', b'"player":2'))
    assert lines(tail) == [(7, 1, 1), (7, 1, 3)]


def test_a_long_journal_is_read_in_portions(tmp_path: Path) -> None:
    journal, tail = Journal(tmp_path), JournalTail(tmp_path)
    journal.append(tag_of(7, 1), *[b'{"player":0,"text":"%b"}' % (b"x" * 200) for _ in range(10_000)])
    journal.close()
    first = tail.poll()
    assert 3000 < len(first) < 6000  # 1 MiB of 2.5 MB
    rest = [line for _ in range(4) for line in tail.poll()]
    assert [line.number for line in first + rest] == list(range(1, 10_001))
