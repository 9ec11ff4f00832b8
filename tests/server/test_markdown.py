"""Tables in Markdown: a Markdown parser reads the names literally, and no name adds markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from getstep_server.reports.export import TABLES, WRITERS, table_as_markdown
from getstep_server.reports.text_table import Column, TextTable
from getstep_server.text import escape_control_chars
from tests.support.contests import make_contest
from tests.support.tournament_host import Host

HOSTILE = [
    "a | b",
    r"\| \\",
    "`code` ``",
    "<script>alert(1)</script>",
    "<b>&lt;&#124;",
    "[link](http://example.org)",
    "![picture](x.png)",
    "http://example.org www.example.org",
    "*bold* __it__ ~~gone~~ ==x== ^y^",
    "$x$ :boom: #1 @team {{ x }} {% y %}",
    "line\nbreak\r\t",
    "| --- | <!-- -->",
    "\x1b[2J\u202e",
    "1. one - + >",
]


class Read(HTMLParser):
    """A page as a Markdown parser reads it: rows of cells, and the set of tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        self.feed(reader.render(text))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data != "\n":
            self.rows[-1][-1] += data


TABLE_TAGS = {"table", "thead", "tbody", "tr", "th", "td"}


def table_of(names: Sequence[str]) -> TextTable:
    return TextTable(
        [Column("name", names, names=True, justify="left"), Column("#", [str(n) for n, _ in enumerate(names)])]
    )


@given(st.lists(st.one_of(st.text(), st.sampled_from(HOSTILE), st.text("|\\`*_<>[]()!&#~:=-. a\n")), max_size=4))
def test_markdown_shows_names_literally(names: list[str]) -> None:
    read = Read("\n".join(table_as_markdown(table_of(names))))
    assert read.rows[0] == ["name", "#"]
    shown = [escape_control_chars(name).strip() for name in names]  # as markdown strips a cell
    assert [row[0].strip() for row in read.rows[1:]] == shown
    assert [row[1] for row in read.rows[1:]] == [str(n) for n, _ in enumerate(names)]
    assert read.tags <= TABLE_TAGS


@pytest.mark.parametrize("name", HOSTILE)
def test_no_markup_of_a_dialect_is_left(name: str) -> None:
    *_, line = table_as_markdown(table_of([name]))
    assert not re.search(r"(?<!\\)(\\\\)*[`*_<>\[\]{}$~:@^=]", line)
    assert "www." not in line
    assert line.isprintable()


@pytest.mark.parametrize("what", TABLES)
def test_every_table_can_be_written_as_markdown(what: str, tmp_path: Path) -> None:
    contest = make_contest(tmp_path, len(HOSTILE[:6]), {"game": "hop"})
    teams = {n: replace_fields(team, name=HOSTILE[n - 1]) for n, team in contest.teams.items()}
    host = Host(replace(contest, teams=teams))
    for match in host.issue_pairings()[:25]:
        host.play(match)
    lines = WRITERS["markdown"](TABLES[what](host.tournament, host.contest.events[0]))
    read = Read("\n".join(line.decode() for line in lines))
    assert sorted(row[1] for row in read.rows[1:7]) == sorted(HOSTILE[:6])
    assert read.tags <= TABLE_TAGS | {"p"}
    assert {len(row) for row in read.rows} == {len(read.rows[0])}
