"""The formats and settings in a new contest.toml, and their descriptions in docs/formats.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from msgspec.structs import asdict

from getstep_engines import GAMES
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.formats import FORMATS

FORMATS_MD = Path(__file__).parents[2] / "docs" / "formats.md"
EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings with their defaults; None for no default."""
    return {one: option.default for one, option in FORMATS[name].Options.described().items()}


def in_toml(name: str, value: object) -> str:
    return name if value is None else f"{name} = {tomlkit.item(value).as_string()}"


@EVERY_FORMAT
def test_every_setting_has_a_meaning(name: str) -> None:
    for field in FORMATS[name].Options.described().values():
        assert field.description
        assert field.example is not None or field.default is not None


@EVERY_FORMAT
@pytest.mark.parametrize("game", GAMES)
def test_a_new_contest_of_every_format(tmp_path: Path, name: str, game: str) -> None:
    init_contest(tmp_path / "a", name="A", games=[game], format_=name)
    (event,) = load_contest(tmp_path / "a").events
    asked = {"challengers": [1]} if name == "gauntlet" else {}
    custom = {"missed_limit": "round"} if (game, name) == ("linkage", "ladder") else {}
    assert asdict(event.format.options) == settings_of(name) | asked | custom
    text = (tmp_path / "a" / "contest.toml").read_text(encoding="utf-8")
    for field in FORMATS[name].Options.described().values():
        assert re.search(rf"settings.* # {re.escape(field.description)}$", text, re.MULTILINE)


@EVERY_FORMAT
def test_commented_settings_are_valid(tmp_path: Path, name: str) -> None:
    init_contest(tmp_path / "a", name="A", games=["hop"], format_=name)
    path = tmp_path / "a" / "contest.toml"
    text = re.sub(r"(?m)^# (settings\.|tie_breaks|scoring|increment)", r"\1", path.read_text(encoding="utf-8"))
    path.write_text(text.replace("\nmove_seconds = 5 ", "\nbudget_seconds = 60"), encoding="utf-8")
    (event,) = load_contest(tmp_path / "a").events
    assert None not in asdict(event.format.options).values()
    assert event.scoring.kind == ("percentage" if name == "ladder" else "points")
    assert event.tie_breaks == FORMATS[name].tie_breaks
    assert str(event.time_control) == "60 s a game + 0.5 s a move"


@EVERY_FORMAT
def test_the_settings_of_all_other_formats_are_there(tmp_path: Path, name: str) -> None:
    init_contest(tmp_path / "a", name="A", games=["hop"], format_=name)
    text = (tmp_path / "a" / "contest.toml").read_text(encoding="utf-8")
    for other in FORMATS.keys() - {name}:
        expected = ", ".join(in_toml(*setting) for setting in settings_of(other).items())
        assert f"\n#   {other}: {expected}\n" in text


def test_several_events_have_a_format_in_common(tmp_path: Path) -> None:
    init_contest(tmp_path / "a", name="A", games=list(GAMES), format_="ladder")
    events = load_contest(tmp_path / "a").events
    assert [event.format.name for event in events] == ["ladder"] * len(GAMES)
    tables = tomllib.loads((tmp_path / "a" / "contest.toml").read_text(encoding="utf-8"))["event"]
    assert [table["game"] for table in tables if table["settings"]["missed_limit"] == "round"] == ["linkage"]


def test_a_format_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--format = 'league', expected one of: round_robin, "):
        init_contest(tmp_path / "a", name="A", games=["hop"], format_="league")
    assert not (tmp_path / "a").exists()


@EVERY_FORMAT
def test_the_page_of_formats_names_every_setting(name: str) -> None:
    rows = FORMATS_MD.read_text(encoding="utf-8").split("\n")
    (row,) = [row for row in rows if row.startswith(f'| `"{name}"` |')]
    for setting in settings_of(name).items():
        assert f"`{in_toml(*setting)}`" in row
