"""The documents, held against the project: links lead somewhere, commands and settings are understood.

`tests/e2e/test_readme.py` types the commands of README.md and of the pages for hosts into a shell.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from getstep_engines import GAMES
from getstep_server.config.contest import (
    ChallengesTable,
    PageTable,
    ProgramsTable,
    QuotasTable,
    ServerTable,
    StartTable,
    TimeTable,
    load_contest,
)
from getstep_server.formats.duel import MOST_PAIRS
from getstep_server.limits import LOST_ATTEMPTS
from getstep_server.web.host import KINDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "sdk/*.md", "bots/**/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)
README_LINES = 120
SENTENCE_WORDS = 35

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)">')
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"^(?:\.venv/bin/)?(getstep(?:-server)?) ")


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """Return a page without its blocks of code."""
    return BLOCK.sub("", text_of(page))


def blocks(page: str, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(text_of(page)) if name == language]


# --- links ------------------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """Return the anchor that GitHub and GitLab give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def anchors(page: str) -> set[str]:
    return {slug(heading) for heading in HEADING.findall(prose(page))} | set(ANCHOR.findall(text_of(page)))


def broken_links(page: str, text: str) -> list[str]:
    """Return the relative links in ``text``, as if it stood in ``page``, that lead to no file or no heading."""
    broken = []
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target.resolve().relative_to(ROOT).as_posix())):
            broken.append(link)
    return broken


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    found = {page: broken_links(page, prose(page)) for page in PAGES}
    assert {page: links for page, links in found.items() if links} == {}


def test_a_broken_link_is_found() -> None:
    text = "[a](docs/host.md#install) [b](docs/nowhere.md) [c](#nothing) [d](docs/host.md#nothing) [e](https://x.y)"
    assert broken_links("README.md", text) == ["docs/nowhere.md", "#nothing", "docs/host.md#nothing"]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[str](), {"README.md"}
    while new:
        reached |= new
        links = {(page, link.partition("#")[0]) for page in new for link in LINK.findall(prose(page))}
        targets = {((ROOT / page).parent / path).resolve() for page, path in links if path.endswith(".md")}
        new = {target.relative_to(ROOT).as_posix() for target in targets if target.is_file()} - reached
    assert {page for page in PAGES if page.startswith("docs/")} <= reached


# --- commands ---------------------------------------------------------------------------------------------------


class UnderstoodError(Exception):
    """Raised instead of running a command whose arguments were parsed without an error."""


def entry_point(name: str) -> Callable[[Sequence[str]], object]:
    """Return the function behind an installed command, by its line in the project's metadata."""
    for path in ("pyproject.toml", "sdk/pyproject.toml"):
        scripts = tomllib.loads(text_of(path))["project"]["scripts"]
        if name in scripts:
            module, _, function = scripts[name].partition(":")
            found: Callable[[Sequence[str]], object] = getattr(importlib.import_module(module), function)
            return found
    raise KeyError(name)


def commands(page: str) -> list[str]:
    """Return the page's lines that call our commands, in blocks and in the cells of tables."""
    lines = [line for language in ("sh", "text") for text in blocks(page, language) for line in text.splitlines()]
    lines += re.findall(r"^    (\S.*)$", prose(page), re.MULTILINE)
    cells = [
        code for row in re.findall(r"^\|.*$", prose(page), re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)
    ]
    return [line for line in [*lines, *cells] if OURS.match(line)]


def understood(line: str) -> bool:
    """Return True if the command's own parser accepts the line."""
    name, *arguments = shlex.split(line)
    try:
        entry_point(name.rpartition("/")[2])(arguments)
    except UnderstoodError:
        return True
    except SystemExit:  # how argparse refuses a command line
        return False
    raise AssertionError(f"{line!r} was run, although parsing it should have ended the test")


@pytest.fixture
def only_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop each command after its arguments were parsed."""
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(self: argparse.ArgumentParser, *arguments: Any) -> argparse.Namespace:
        parse(self, *arguments)
        raise UnderstoodError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)


@pytest.mark.usefixtures("only_parsed")
def test_every_command_shown_is_understood() -> None:
    assert [(page, line) for page in PAGES for line in commands(page) if not understood(line)] == []


@pytest.mark.usefixtures("only_parsed")
@pytest.mark.parametrize(
    "line",
    ["getstep-server standing autumn", "getstep-server run autumn --quick", "getstep play --seats 3 my_bot.py"],
)
def test_a_wrong_command_is_found(line: str) -> None:
    assert not understood(line)


PAGES_FOR_PEOPLE = (
    "README.md",
    *(f"docs/{name}.md" for name in ("host", "trouble", "course", "contestant", "formats")),
)


def test_the_pages_for_people_show_commands() -> None:
    shown = {page: len(commands(page)) for page in PAGES}
    assert all(shown[page] for page in PAGES_FOR_PEOPLE)


# --- facts ------------------------------------------------------------------------------------------------------


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= README_LINES


def sentences(page: str) -> list[str]:
    """Return the sentences of the running text: no tables, no blocks of code, a link is its text."""
    text = re.sub(r"^ {4}.*$|^ *\|.*$|^#.*$", "", prose(page), flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    paragraphs = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE)
    return [one for paragraph in paragraphs for one in re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split()))]


def test_no_sentence_is_too_long_for_readers_of_a_second_language() -> None:
    words = {(page, one): len(re.findall(r"\w[\w'’.,-]*", one)) for page in PAGES for one in sentences(page)}
    assert [found for found, count in words.items() if count > SENTENCE_WORDS] == []


def test_a_long_sentence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "# A heading\n\n- Short. See [a\n  link](a b c d e), with `a b c`.\n- one two\n  three four five six.\n"
    monkeypatch.setattr("tests.test_docs.text_of", lambda _: page)
    found = [sentence for sentence in sentences("x") if sentence]
    assert found == ["Short.", "See [a link], with CODE.", "one two three four five six."]


def test_the_readme_has_every_game_with_its_limit() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", text_of("README.md"), re.MULTILINE)
    spans = {"move": "a move", "budget": "a game"}
    controls = {name: game.time_control for name, game in GAMES.items()}
    others = {plugin.name for plugin in GAMES.plugins()}
    assert dict(rows) == {
        name: f"{control.seconds:g} s {spans[control.kind]}"
        for name, control in controls.items()
        if name not in others
    }


def test_the_readme_names_folders_that_exist() -> None:
    folders = re.findall(r"^\| `([a-z_]+/[a-z_]+)` \|", text_of("README.md"), re.MULTILINE)
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_every_page_for_people_ends_with_a_next_step() -> None:
    for page in (page for page in PAGES if page.startswith("docs/")):
        last = text_of(page).rstrip().rpartition("\n\n")[2]
        assert last.startswith("**Next:** "), page
        assert LINK.search(last), page


def test_the_games_an_hour_are_those_of_the_formula_up_to_the_measured_limit() -> None:
    page = text_of("docs/sizes.md")
    (measured,) = re.findall(r"measured with about 60 games a second, which are ([\d,]+) an hour", page)
    table = page.partition("| time of a game |")[2].partition("\n\n")[0]
    heading, _, *rows = table.splitlines()
    cores = [int(cell) for cell in re.findall(r"(\d+) cores?", heading)]
    assert (len(cores), len(rows)) == (5, 4)
    for row in rows:
        time, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        number, unit = time.split()
        seconds = int(number) * {"s": 1, "min": 60}[unit] + 0.5
        for count, cell in zip(cores, cells, strict=True):
            games = 3600 / seconds * count
            if games > number_of(measured):
                assert cell == "not measured"
            else:
                assert number_of(cell) == pytest.approx(games, rel=0.01)


def number_of(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_pages_for_hosts_have_the_limits_of_the_code() -> None:
    sizes, programs = text_of("docs/sizes.md"), text_of("docs/host-programs.md")
    assert re.findall(r"(\d+) attempts at", sizes + programs) == [str(LOST_ATTEMPTS)] * 3
    assert re.findall(r"failed (\d+) times, last with MatchLost", programs) == [str(LOST_ATTEMPTS)]
    assert re.findall(r"`--pairs` allows ([\d,]+)", sizes) == [f"{MOST_PAIRS:,}"]


def shown_by_the_console() -> str:
    """Return the texts of the host's console: in its code, its templates, and the summaries of decisions."""
    web = ROOT / "server" / "getstep_server" / "web"
    texts = [path.read_text(encoding="utf-8") for path in (web / "host.py", *web.glob("templates/host*.j2"))]
    summaries = [kind.summary for kinds in KINDS.values() for kind in kinds]
    return "\n".join([*texts, *(text[0].upper() + text[1:] for text in summaries)])


def test_the_pages_for_hosts_name_what_the_console_shows() -> None:
    shown = shown_by_the_console()
    named = {
        (page, " ".join(name.split()))
        for page in ("docs/host.md", "docs/trouble.md")
        for name in re.findall(r"(?<!\*)\*([A-Z][^*→]+)\*(?!\*)", prose(page))
    }
    assert len({name for _, name in named}) > 15
    assert [(page, name) for page, name in sorted(named) if name not in shown] == []


# --- what an editor and pre-commit run --------------------------------------------------------------------------


def test_every_picture_is_shown_and_all_are_small() -> None:
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert {path.suffix for path in pictures} == {".png", ".svg"}
    assert sum(path.stat().st_size for path in pictures) < 600_000
    shown = "".join(map(text_of, PAGES))
    assert [path.name for path in pictures if f"pictures/{path.name})" not in shown] == []


def test_pre_commit_runs_what_ci_runs() -> None:
    hooks = re.findall(r"^ +entry: \.venv/bin/(.+)$", text_of(".pre-commit-config.yaml"), re.MULTILINE)
    check = text_of("Makefile").partition("\ncheck:")[2].partition("\n\n")[0]
    assert hooks == re.findall(r"^\t\$\(BIN\)/(.+)$", check, re.MULTILINE)
    assert hooks
    assert "make check" in text_of(".ci/run")


def test_editors_take_the_line_length_of_ruff() -> None:
    ruff = tomllib.loads(text_of("pyproject.toml"))["tool"]["ruff"]
    assert f"max_line_length = {ruff['line-length']}\n" in text_of(".editorconfig")


# --- the first test of a newcomer -------------------------------------------------------------------------------


async def test_the_test_that_contributors_copy_passes(tmp_path: Path) -> None:
    (example,) = blocks("CONTRIBUTING.md", "python")
    defined: dict[str, Any] = {}
    exec(compile(example, "CONTRIBUTING.md", "exec"), defined)
    (test,) = (value for name, value in defined.items() if name.startswith("test_"))
    await test(tmp_path)


def test_the_page_of_the_tests_names_each_module_that_they_share() -> None:
    page = text_of("tests/support/README.md")
    listed = re.findall(r"`([a-z_/]+\.py)`", page.partition("## All modules")[2])
    folder = ROOT / "tests" / "support"
    modules = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if path.name != "__init__.py"}
    assert sorted(listed) == sorted(modules)


# --- settings ---------------------------------------------------------------------------------------------------


def test_every_setting_shown_is_understood(tmp_path: Path) -> None:
    found = blocks("docs/formats.md", "toml")
    teams = [text for text in found if "[[team]]" in text]
    contests = [text for text in found if "[[event]]" in text]
    assert (len(found), len(teams), len(contests)) == (4, 1, 3)
    for number, text in enumerate(contests):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "contest.toml").write_text(text, encoding="utf-8")
        (folder / "teams.toml").write_text(teams[0] + FURTHER_TEAMS, encoding="utf-8")
        contest = load_contest(folder)
        assert len(contest.events) == text.count("[[event]]")


FURTHER_TEAMS = "".join(f'\n[[team]]\nid = {n}\nname = "Team {n}"\ntoken = "test-token-{n}"\n' for n in (5, 7))


def test_the_table_of_all_other_settings_has_their_defaults() -> None:
    section = text_of("docs/formats.md").partition("## All other settings")[2]
    rows = {(table, name): default for name, table, default in re.findall(ROW_OF_A_SETTING, section, re.MULTILINE)}
    tables = {
        "time": TimeTable(),
        "server": ServerTable(),
        "page": PageTable(),
        "programs": ProgramsTable(),
        "challenges": ChallengesTable(),
        "quotas": QuotasTable(),
        "start": StartTable(),
    }
    assert rows == {
        (name, key): "off" if value is None else f"`{json.dumps(value)}`".replace(".0`", "`")
        for name, table in tables.items()
        for key, value in asdict(table).items()
    }


ROW_OF_A_SETTING = r"^\| `(\w+)` in `\[(\w+)\]` \| (\S+) \|"


@pytest.mark.parametrize("page", ["docs/host.md", "server/getstep_server/web/templates/start.html.j2"])
def test_a_page_that_activates_an_environment_on_windows_says_what_powershell_needs(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert r".venv\Scripts\activate" in text
    assert "Set-ExecutionPolicy -Scope Process RemoteSigned" in text
