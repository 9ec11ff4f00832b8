"""The commands of a freeze, and what the other commands show during one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from getstep_server.config.contest import Contest
from getstep_server.storage.lock import ContestLock
from tests.support.command import Command
from tests.support.random_results import make_up


@pytest.fixture
def hop(hop_contest: Contest, command: Command) -> Path:
    """A copy of a finished contest in the current folder."""
    shutil.copytree(hop_contest.folder, "hop")
    return Path("hop")


@pytest.fixture
def twins(command: Command) -> list[str]:
    """Two contests that are the same up to the freeze."""
    events = [{"game": "hop", "settings": {"legs": 1}}]
    for fate in (1, 2):
        make_up(Path(f"twin{fate}/made"), events, ["Ada", "Blaise", "Charles", "Dorothy"], freeze=3, fate=fate)
    return ["twin1/made", "twin2/made"]


def test_the_site_of_a_frozen_contest_hides_what_the_page_hides(command: Command, twins: list[str]) -> None:
    sites = []
    for folder in twins:
        ran = command("site", folder)
        assert "the results since the freeze are left out" in ran.err
        public = Path(folder) / "public"
        sites.append({str(path.relative_to(public)): path.read_text() for path in public.rglob("*.html")})
    assert sites[0] == sites[1]
    assert len([name for name in sites[0] if name.startswith("matches/")]) == 3
    assert "hidden until the host reveals them" in sites[0]["index.html"]
    assert command("reveal", twins[0], "--all", "--by", "Grace").code == 0
    ran = command("site", twins[0])
    assert "freeze" not in ran.err
    assert len(list(Path(twins[0], "public/matches").glob("*.html"))) == 6


def test_the_hosts_own_tables_have_everything_with_a_warning(command: Command, twins: list[str]) -> None:
    for name, *options in (
        ["standings"],
        ["crosstable"],
        ["report"],
        ["export", "--matches"],
        ["export", "--standings"],
        ["show", "1"],
    ):
        outputs = [command(name, folder, *options) for folder in twins]
        assert all("do not show it to the teams" in ran.err for ran in outputs), name
    assert command("standings", twins[0]).out != command("standings", twins[1]).out


# --- the commands of the freeze -------------------------------------------------------------------------------


def test_a_freeze_and_a_reveal_by_hand(command: Command, hop: Path) -> None:
    assert command.complaint("reveal", "hop").startswith("hop: no results are hidden; hide later ones with: ")
    assert command.complaint("reveal", "hop", "--all") == "no results are hidden, expected a freeze before a reveal"
    ran = command("freeze", "hop", "--by", "Grace")
    assert (ran.code, ran.out) == (0, "On record: results are hidden from the page.\n")
    assert command.complaint("freeze", "hop").startswith("results are hidden already")
    assert command("verify", "hop").code == 0
    ran = command("reveal", "hop", "--all", "--by", "Grace")
    assert (ran.code, ran.out) == (0, "On record: the page shows all results.\n")
    assert command("verify", "hop").code == 0
    listed = command("decisions", "hop").out.splitlines()
    assert [line.partition("  ")[2] for line in listed[-2:]] == [
        "results are hidden from the page. Grace: the host hides the last results",
        "the page shows all results. Grace: all results were revealed",
    ]


def test_a_contest_that_is_played_is_revealed_at_once_only(command: Command, twins: list[str]) -> None:
    made = make_up(Path("running"), [{"game": "hop"}], ["Ada", "Blaise", "Charles"], most=4, freeze=3)
    with ContestLock(made.folder):
        assert command.complaint("reveal", "running").startswith("running: a server still plays the contest; ")
        assert command("reveal", "running", "--all").code == 0
