"""What a new contest.toml says of formats and their settings, and that README.md says it too."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from pydantic_core import PydanticUndefined

from getstep_engines import GAMES
from getstep_server._toml import ConfigError
from getstep_server.contest import init_contest, load_contest
from getstep_server.formats import FORMATS

README = Path(__file__).parents[2] / "README.md"
EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)


def settings_of(name: str) -> dict[str, Any]:
    """Each setting with its default; None if it has none."""
    fields = FORMATS[name].Options.model_fields
    return {one: None if field.default is PydanticUndefined else field.default for one, field in fields.items()}


def in_toml(name: str, value: object) -> str:
    return name if value is None else f"{name} = {tomlkit.item(value).as_string()}"


@EVERY_FORMAT
def test_every_setting_has_a_meaning(name: str) -> None:
    for field in FORMATS[name].Options.model_fields.values():
        assert field.description
        assert field.examples or field.default not in (None, PydanticUndefined)


@EVERY_FORMAT
@pytest.mark.parametrize("game", GAMES)
def test_a_new_contest_of_every_format(tmp_path: Path, name: str, game: str) -> None:
    init_contest(tmp_path / "a", name="A", games=[game], format_=name)
    (event,) = load_contest(tmp_path / "a").events
    asked = {"challengers": [1]} if name == "gauntlet" else {}
    custom = {"missed_limit": "round"} if (game, name) == ("linkage", "ladder") else {}
    assert event.format.options.model_dump() == settings_of(name) | asked | custom
    text = (tmp_path / "a" / "contest.toml").read_text(encoding="utf-8")
    for field in FORMATS[name].Options.model_fields.values():
        assert re.search(rf"settings.* # {re.escape(field.description or '')}$", text, re.MULTILINE)


@EVERY_FORMAT
def test_what_is_commented_out_can_be_taken(tmp_path: Path, name: str) -> None:
    init_contest(tmp_path / "a", name="A", games=["hop"], format_=name)
    path = tmp_path / "a" / "contest.toml"
    text = re.sub(r"(?m)^# (settings\.|tie_breaks|scoring)", r"\1", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    (event,) = load_contest(tmp_path / "a").events
    assert None not in event.format.options.model_dump().values()
    assert event.scoring.kind == ("percentage" if name == "ladder" else "points")
    assert event.tie_breaks == FORMATS[name].tie_breaks


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
    with pytest.raises(ConfigError, match=r"^--format = 'league', expected one of: round_robin, "):
        init_contest(tmp_path / "a", name="A", games=["hop"], format_="league")
    assert not (tmp_path / "a").exists()


@EVERY_FORMAT
def test_readme_names_every_setting(name: str) -> None:
    rows = README.read_text(encoding="utf-8").split("\n")
    (row,) = [row for row in rows if row.startswith(f'| `"{name}"` |')]
    for setting in settings_of(name).items():
        assert f"`{in_toml(*setting)}`" in row
