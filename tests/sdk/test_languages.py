"""The table of other languages: which files a bot gets, and what its author has to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep import __version__, cli
from getstep.languages import LANGUAGES, Language, language_of, starter
from getstep.languages.builds import Build
from getstep_engines import GAMES

ROOT = Path(__file__).parents[2]

LOGO = Language(
    "logo",
    "Logo",
    ".logo",
    ("getstep.turtle",),
    (
        Build("ucblogo", "ucblogo --check {file}", "ucblogo {file}", ("linux",)),
        Build("fmslogo", "", "fmslogo {file}", ("linux", "win32")),
    ),
    {"linux": "apt install ucblogo", "win32": "get FMSLogo"},
    name_of_bot=r"[a-z_]+",
    other_suffixes=(".lgo",),
)
HOP = "// MyBot\n//\n//   @goal\n//\n// @board\nto MyBot\n  // @hints\nend\n"


@pytest.fixture
def logo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Language:
    """A language that is not one of ours, with a starter for hop."""
    folder = tmp_path / "package" / "logo"
    (folder / "starters").mkdir(parents=True)
    (folder / "getstep.turtle").write_text("the SDK")
    (folder / "starters" / "hop.logo").write_text(HOP)
    monkeypatch.setattr(Language, "folder", property(lambda language: tmp_path / "package" / language.name))
    monkeypatch.setitem(LANGUAGES, "logo", LOGO)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return LOGO


def new(*words: str) -> int:
    return cli.main(["new", *words])


def test_a_starter_has_the_texts_of_the_game_as_comments(logo: Language) -> None:
    source = starter(logo, [GAMES["hop"]], "frog").splitlines()
    about = GAMES["hop"].starter
    assert [source[0], source[-1]] == ["// frog", "end"]
    said = " ".join(line.lstrip("/ ") for line in source)
    assert about.goal in said
    assert f"board[row][column] is {about.board}. Row 0 is at the top." in said
    assert [f"  // {hint}" for hint in about.hints] == source[-3:-1]
    assert next(line for line in source if line.startswith("//   ")).startswith("//   You have nine pieces.")


@pytest.mark.parametrize("file", ["frog.logo", "frog.lgo"])
def test_new_writes_the_bot_and_the_sdk_beside_it(
    file: str, logo: Language, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert new(file, "--game", "hop") == 0
    assert Path(file).read_text() == starter(logo, [GAMES["hop"]], "frog")
    assert Path("getstep.turtle").read_text() == "the SDK"
    said = capsys.readouterr().out
    assert f"Wrote {file}: a bot that plays hop" in said
    assert "This computer has no ucblogo nor fmslogo, which a bot in Logo needs" in said
    assert "\n  apt install ucblogo\n" in said
    assert "Wrote getstep.turtle, which belongs beside it." in said
    assert f"\n  getstep login\n  getstep check {file}\n  ucblogo --check {file}\n  ucblogo {file}\n" in said
    assert f"\n  ucblogo {file} --host " in said


def test_new_keeps_the_files_that_are_there(logo: Language, capsys: pytest.CaptureFixture[str]) -> None:
    assert [new("a.logo", "--game", "hop"), new("b.logo", "--game", "hop")] == [0, 0]
    assert "Kept" not in capsys.readouterr().out
    Path("getstep.turtle").write_text("mine")
    assert new("c.logo", "--game", "hop") == 0
    assert "Kept getstep.turtle, which differs" in capsys.readouterr().out
    assert Path("getstep.turtle").read_text() == "mine"
    Path("a.logo").write_text("mine")
    assert new("a.logo", "--game", "hop") == 2
    assert Path("a.logo").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("2.logo", "--game", "hop"), "2.logo cannot be the name of a bot in Logo"),
        (("a.logo", "--game", "linkage"), "There is no first bot for linkage in Logo; there are: hop."),
        (("a.logo", "--game", "all"), "There is no first bot for longest_path in Logo; there are: hop."),
        (("a.turtle", "--game", "hop"), "must end in .py"),
    ],
)
def test_new_refuses(words: tuple[str, ...], says: str, logo: Language, capsys: pytest.CaptureFixture[str]) -> None:
    assert new(*words) == 2
    assert says in capsys.readouterr().err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_every_language_is_whole(language: Language) -> None:
    """The files are there, each game has a starter with its texts, and there is a way to build on each system."""
    assert all(content for _, content in language.sdk_files())
    assert language.games() == list(GAMES)
    for game in GAMES.values():
        source = starter(language, [game], "MyBot")
        assert source.isascii()
        assert game.starter.hints[0] in source
        assert not [line for line in source.splitlines() if "@" in line]
    for system in ("linux", "darwin", "win32"):
        assert language.builds_here(system)
        assert language.install[system]


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_a_first_bot_for_several_games_has_the_part_of_each(language: Language) -> None:
    games = [GAMES["hop"], GAMES["linkage"]]
    source = starter(language, games, "frog")
    assert source.startswith(
        ("// A bot for several games: hop, linkage.", "/*\n * A bot for several games: hop, linkage.")
    )
    lines = {line.strip() for line in source.splitlines()}
    for game in games:
        own = {line.strip() for line in starter(language, [game], "frog").splitlines()}
        assert f'"{game.name}"' in source
        assert len(own - lines) < 12  # what stands once for all games: the head, the end, the main function
    assert "MyBot" not in source
    assert not [line for line in source.splitlines() if "@" in line.replace(" * @param", "")]


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("cpp.md", "cpp/bots/search_pseudo_tonga.cpp"),
        ("javascript.md", "javascript/bots/search_pseudo_tonga.mjs"),
        ("java.md", "java/bots/SearchPseudoTonga.java"),
        ("csharp.md", "csharp/bots/SearchPseudoTonga.cs"),
    ],
)
def test_a_page_has_the_bot_that_searches_as_it_is_tested(page: str, source: str) -> None:
    _, _, code = (ROOT / "sdk" / source).read_text(encoding="utf-8").partition("\n")
    assert f"\n{code.replace('../getstep', './getstep')}```\n" in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_the_sdk_has_the_version_of_the_package() -> None:
    found = {name: content for language in LANGUAGES.values() for name, content in language.sdk_files()}
    for name in ("getstep.hpp", "getstep.mjs", "Getstep.java", "Getstep.cs"):
        assert f'"{__version__}"'.encode() in found[name]


def test_a_bot_in_another_language_is_not_read_as_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("frog.mjs").write_text("// plays hop")
    login = ["--host", "127.0.0.1", "--port", "9", "--team", "1", "--token", "a"]
    assert cli.main(["play", "frog.mjs", *login]) in (1, 2)
    said = "".join(capsys.readouterr())
    assert "frog.mjs is a bot in JavaScript, which plays without getstep" in said
    assert "  node frog.mjs\n" in said


def test_the_first_tool_that_is_installed_builds() -> None:
    first, second = LOGO.builds
    assert LOGO.build_here("linux", lambda tool: tool) is first
    assert LOGO.build_here("linux", {"fmslogo": "/bin/fmslogo"}.get) is second
    assert LOGO.build_here("linux", lambda _: None) is None
    assert LOGO.build_here("win32", lambda tool: tool) is second
    assert second.commands(Path("folder/my frog.logo")) == ['fmslogo "my frog.logo"']


def test_a_suffix_tells_the_language(logo: Language) -> None:
    assert [language_of(suffix) for suffix in (".logo", ".lgo", ".py", "")] == [logo, logo, None, None]
