"""The commands that write pages: replay, site, and the replays beside the report."""

from __future__ import annotations

import json
import re
import shutil
import webbrowser
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from getstep.replay import read_replays
from getstep_engines import GAMES
from getstep_server.cli._pages import write_folder
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.reports.kept_parts import Page
from tests.old_contests.contests import unpack
from tests.support.command import Command
from tests.support.random_results import HOSTILE_NAMES, make_up
from tests.support.replays import not_installed


@pytest.fixture
def hop(hop_contest: Contest, command: Command) -> Path:
    """A copy of a finished contest in the current folder."""
    shutil.copytree(hop_contest.folder, "hop")
    return Path("hop")


def data_in(path: Path) -> dict[str, Any]:
    block = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    data: dict[str, Any] = json.loads(block[1])
    return data


# --- replay ---------------------------------------------------------------------------------------------------


def test_one_match(command: Command, hop: Path) -> None:
    ran = command("replay", "hop", "1", "--no-open")
    assert (ran.code, ran.out, ran.err) == (0, "hop/replay-1.html: open it in a browser.\n", "")
    data = data_in(Path("hop/replay-1.html"))
    assert [game["title"] for game in data["games"]] == ["match 1"]
    assert data["title"].startswith("Match 1: ")


def test_several_matches_and_each_of_their_attempts(command: Command, hop: Path) -> None:
    ran = command("replay", "hop", "2", "1", "9", "2", "--output", "final.html", "--no-open")
    assert (ran.code, ran.out) == (0, "final.html: open it in a browser.\n")
    titles = [game["title"] for game in data_in(Path("final.html"))["games"]]
    assert titles == ["match 2", "match 2, attempt 2", "match 1", "match 9"]


def test_a_contestant_can_analyse_what_the_host_writes(command: Command, hop: Path) -> None:
    command("replay", "hop", "1", "--no-open")
    command("site", "hop", "--output", "public")
    [of_replay], [of_site] = read_replays(Path("hop/replay-1.html")), read_replays(Path("public/matches/1.html"))
    assert of_replay.game is GAMES["hop"]
    assert of_replay.position(len(of_replay.turns)).outcome is not None
    assert [turn.move for turn in of_site.turns] == [turn.move for turn in of_replay.turns]


def test_the_analysis_of_a_match(command: Command, hop: Path) -> None:
    ran = command("analyse", "hop", "1", "--seconds", "1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("match 1: ")
    assert "The page with the curve of the values and the better moves: hop/analysis-1.html" in ran.out
    whole = data_in(Path("hop/analysis-1.html"))["games"][0]
    assert whole["title"] == "match 1, analysed"
    assert all("e" in turn for turn in whole["turns"] if "k" not in turn)
    wrong = command("analyse", "hop", "99")
    assert (wrong.code, wrong.out) == (1, "")


@pytest.mark.parametrize("number", ["99", "-1", "0", str(2**70)])
def test_a_match_that_does_not_exist(command: Command, hop: Path, number: str) -> None:
    ran = (
        command("replay", "hop", "--no-open", "--", number) if number == "-1" else command("replay", "hop", number)
    )
    assert (ran.code, ran.out) == (1, "")
    expected = f"match {number}: not played yet, or no such match; see getstep-server matches list hop"
    assert ran.err == f"getstep-server: {expected}\n"
    assert not list(hop.glob("*.html"))


def test_a_contest_without_records(command: Command) -> None:
    command("init", "autumn")
    ran = command("replay", "autumn", "1")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing has been played yet" in ran.err
    assert "no contest.toml here" in command.complaint("replay", "nowhere", "1")


def test_a_place_that_cannot_be_written(command: Command, hop: Path) -> None:
    said = command.complaint("replay", "hop", "1", "--output", "nowhere/page.html")
    assert said == "nowhere/page.html: No such file or directory; write it somewhere else with --output"


def test_it_opens_the_file_in_a_browser(command: Command, hop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setenv("DISPLAY", ":0")
    assert command("replay", "hop", "1").out == "hop/replay-1.html: opened in a browser.\n"
    assert opened == [Path("hop/replay-1.html").resolve().as_uri()]
    assert command("replay", "hop", "1", "--no-open").out == "hop/replay-1.html: open it in a browser.\n"
    assert len(opened) == 1


def test_without_a_display_it_prints_the_path(command: Command, hop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> bool:
        raise AssertionError("a text browser would take the terminal")

    monkeypatch.setattr(webbrowser, "open", fail)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert command("replay", "hop", "1").out == "hop/replay-1.html: open it in a browser.\n"


def test_a_contest_whose_game_is_not_installed(command: Command, hop: Path) -> None:
    with not_installed("hop"):
        ran = command("replay", "hop", "1", "--no-open")
    assert ran.code == 0
    assert "the replay is made from the records alone" in ran.err
    (game,) = data_in(Path("hop/replay-1.html"))["games"]
    assert game["problem"] == "The rules of hop are not installed: no boards."


# --- site -----------------------------------------------------------------------------------------------------


def links_in(page: Path) -> set[str]:
    """The addresses that a page links to, with the links of a replay's data."""
    text = page.read_text(encoding="utf-8")
    found = {unescape(link) for link in re.findall(r'(?:href|src)="([^"]*)"', text)}
    if 'id="data"' in text:
        found |= {href for _, href in data_in(page)["links"]}
    return {link for link in found if link != "data:,"}


def check_links(folder: Path) -> int:
    """Check that all links of all pages are relative and lead somewhere; return the number of links."""
    count = 0
    for page in folder.rglob("*.html"):
        for link in links_in(page):
            parts = urlsplit(link)
            assert (parts.scheme, parts.netloc) == ("", ""), link
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), f"{page}: {link}"
            if parts.fragment:
                assert f'id="{parts.fragment}"' in target.read_text(encoding="utf-8"), f"{page}: {link}"
            count += 1
    return count


def test_the_site_of_a_contest(command: Command, hop: Path) -> None:
    ran = command("site", "hop", "--output", "public")
    files = sorted(str(path.relative_to("public")) for path in Path("public").rglob("*.*") if path.is_file())
    assert ran.code == 0
    assert ran.out == f"public/index.html: open it in a browser, or publish the folder ({len(files) - 1} files).\n"
    assert [name for name in files if name.startswith("teams/")] == [f"teams/{n}.html" for n in range(1, 5)]
    pairs = [f"pairs/{one}-{other}.html" for one in range(1, 5) for other in range(one + 1, 5)]
    assert [name for name in files if name.startswith("pairs/")] == pairs
    assert {f"matches/{n}.html" for n in range(1, 13)} | {"matches/replay.css", "matches/replay.js"} <= set(files)
    assert check_links(Path("public")) > 100
    index = links_in(Path("public/index.html"))
    assert {f"matches/{n}.html" for n in range(1, 13)} | {f"teams/{n}.html" for n in range(1, 5)} <= index
    assert set(pairs) <= index
    assert {"../pairs/1-2.html", "../pairs/2-3.html"} <= links_in(Path("public/teams/2.html"))
    assert len([link for link in links_in(Path("public/pairs/1-2.html")) if link.startswith("../matches/")]) == 2


def test_each_team_has_a_page_with_its_matches(command: Command, hop: Path) -> None:
    command("site", "hop")
    text = Path("hop/public/teams/2.html").read_text(encoding="utf-8")
    assert "<h1><bdi>=1+1</bdi></h1>" in text
    linked = {link for link in links_in(Path("hop/public/teams/2.html")) if link.startswith("../matches/")}
    assert len(linked) == 6


def test_a_site_has_the_error_texts_of_bots_only_if_the_host_wants_them(command: Command) -> None:
    unpack("0.1.0-before-settings/finished", Path("finished"))

    def pages(*options: str) -> str:
        assert command("site", "finished", *options).code == 0
        return "".join(path.read_text(encoding="utf-8") for path in Path("finished/public").rglob("*.html"))

    public = pages()
    assert "ZeroDivisionError" not in public
    assert "an exception in its program" in public
    assert "ZeroDivisionError" in pages("--error-texts")
    assert "ZeroDivisionError" not in pages()


def test_a_second_site_replaces_the_first_and_leaves_other_files(command: Command, hop: Path) -> None:
    command("site", "hop", "--output", "public")
    Path("public/CNAME").write_text("example.org")
    Path("public/matches/1.html").write_text("old")
    listed = json.loads(Path("public/.getstep-pages.json").read_text(encoding="utf-8"))
    Path("public/matches/77.html").write_text("of an earlier contest")
    Path("public/old/1.html").parent.mkdir()
    Path("public/old/1.html").write_text("of an earlier version")
    more = {name: ["", 0, 0] for name in ("matches/77.html", "old/1.html", "../outside.html")}
    Path("public/.getstep-pages.json").write_text(json.dumps(listed | more))
    Path("outside.html").write_text("somebody else's")
    assert command("site", "hop", "--output", "public").code == 0
    assert Path("public/CNAME").read_text() == "example.org"
    assert Path("public/matches/1.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert not Path("public/matches/77.html").exists()
    assert not Path("public/old").exists()
    assert Path("outside.html").exists()
    assert json.loads(Path("public/.getstep-pages.json").read_text(encoding="utf-8")).keys() == listed.keys()


def test_the_folder_of_somebody_else_is_left_alone(command: Command, hop: Path) -> None:
    Path("thesis").mkdir()
    Path("thesis/index.html").write_text("mine")
    expected = "thesis: not empty, and not written by this command; name a new folder with --output"
    assert command.complaint("site", "hop", "--output", "thesis") == expected
    assert [path.name for path in Path("thesis").iterdir()] == ["index.html"]
    assert command.complaint("site", "hop", "--output", "thesis/index.html").startswith("thesis/index.html: ")


def page(name: str, text: str) -> Page:
    return Page(name, lambda: text)


def test_a_site_that_could_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    assert write_folder(tmp_path / "public", [page("index.html", "old"), page("a/1.html", "old")], "--output") == 2

    def pages() -> Any:
        yield page("index.html", "new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "public", pages(), "--output")
    assert (tmp_path / "public" / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["public"]


def test_a_disk_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write it somewhere else with --output"):
        write_folder(tmp_path / "no" / "public", [page("index.html", "")], "--output")


def test_hostile_names_are_escaped_on_every_page(command: Command, tmp_path: Path) -> None:
    make_up(tmp_path / "made", [{"game": "hop"}], [*HOSTILE_NAMES[:8], HOSTILE_NAMES[8]], most=12)
    assert command("site", "made").code == 0
    for page in Path("made/public").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text, page
        assert "'\"><b>" not in text, page
    check_links(Path("made/public"))


# --- the replays beside the report ----------------------------------------------------------------------------


def test_the_report_links_every_result_to_its_replay(command: Command, hop: Path) -> None:
    ran = command("report", "hop", "--output", "my report.html")
    assert ran.out.endswith("Its replays are in my report_matches: keep both together.\n")
    links = links_in(Path("my report.html"))
    assert {f"my%20report_matches/{n}.html" for n in range(1, 13)} <= links
    assert check_links(Path()) > 40


def test_a_report_without_replays_is_one_file(command: Command, hop: Path) -> None:
    ran = command("report", "hop", "--no-replays")
    assert ran.out == "hop/report.html: open it in a browser, or print it from there.\n"
    assert links_in(Path("hop/report.html")) == set()
    assert not Path("hop/report_matches").exists()
