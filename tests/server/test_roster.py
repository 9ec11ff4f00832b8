"""Adding teams, by name or from a class list: all or none, and nothing else in teams.toml changes."""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path

import pytest

from getstep_server.config.class_list import NewTeam, read_roster
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.config.names import find_team
from getstep_server.config.roster import add_teams, new_token
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_TEAMS
from tests.support.decisions import import_teams

TEAMS = '# our class\n[[team]] # the first\nid = 2 # two\nname = "Ada"\ntoken = "12345678"\n# the end'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_contest(tmp_path / "autumn", name="Autumn", games=["hop"])
    return tmp_path / "autumn"


def names(*wanted: str | tuple[int, str]) -> list[NewTeam]:
    pairs = [(None, entry) if isinstance(entry, str) else entry for entry in wanted]
    return [NewTeam(name, f"NAME {n}", number) for n, (number, name) in enumerate(pairs, start=1)]


def names_in(path: Path) -> list[NewTeam]:
    """Return the teams of a class list without mistakes."""
    found = read_roster(path)
    assert found.errors == []
    return found.entries


# --- teams.toml ----------------------------------------------------------------------------------------------


def test_existing_text_is_not_changed(folder: Path) -> None:
    path = folder / "teams.toml"
    path.write_text(TEAMS)
    added = add_teams(folder, names("Blaise", 'Charles "the \\ great"'), classic=True)
    assert path.read_text(encoding="utf-8").startswith(TEAMS + "\n\n[[team]]\nid = 1\n")
    assert [(team.id, team.name, team.classic) for team in added] == [
        (1, "Blaise", True),
        (3, 'Charles "the \\ great"', True),
    ]
    assert list(load_contest(folder).teams.values())[1:] == added


def test_adding_one_by_one_is_adding_all(folder: Path) -> None:
    for n in range(5):
        add_teams(folder, names(f"Team {n}"))
    add_teams(folder, names("短い名前", (0, "Zero")))
    teams = load_contest(folder).teams
    assert list(teams) == [1, 2, 3, 4, 5, 6, 0]
    assert len({team.token for team in teams.values()}) == 7
    text = (folder / "teams.toml").read_text(encoding="utf-8")
    assert text.count("\n\n[[team]]\n") == 6
    assert text.startswith("[[team]]\n")


def test_ids_that_are_asked_for_are_not_given_to_others(folder: Path) -> None:
    added = add_teams(folder, names("Ada", "Blaise", (1, "Charles"), (7, "Dorothy"), "Edsger"))
    assert [team.id for team in added] == [2, 3, 1, 7, 4]


CLASHES = {
    "an id that is taken": (
        names((2, "Blaise")),
        ["NAME 1: id = 2, expected one that is free; 'Ada' in teams.toml has it"],
    ),
    "a name that is taken": (
        names("Blaise", "Ada"),
        ["NAME 2: name = 'Ada', expected one that is free; team 2 in teams.toml has it"],
    ),
    "a name twice": (
        names("Blaise", "Charles", "Blaise", "Blaise"),
        [
            "NAME 3: name = 'Blaise', expected one that is free; NAME 1 has it; also NAME 4",
        ],
    ),
    "an id twice": (
        names((5, "Blaise"), (5, "Charles")),
        ["NAME 2: id = 5, expected one that is free; NAME 1 has it"],
    ),
    "a name that is none": (
        names("Blaise", "\x1b[2J", ""),
        [
            r"NAME 2: name = '\x1b[2J', expected visible characters, without spaces around them; also NAME 3",
        ],
    ),
    "a long name": (
        names("x" * 65),
        [f"NAME 1: name = '{'x' * 65}', expected at most 64 characters"],
    ),
    "an id that is none": (
        names((2**31, "Blaise"), (-1, "Charles")),
        [
            f"NAME 1: id = {2**31}, expected at most {2**31 - 1}",
            "NAME 2: id = -1, expected at least 0",
        ],
    ),
}


@pytest.mark.parametrize("case", CLASHES)
def test_all_or_none(folder: Path, case: str) -> None:
    path = folder / "teams.toml"
    path.write_text(TEAMS)
    entries, messages = CLASHES[case]
    with pytest.raises(ConfigError) as caught:
        add_teams(folder, entries)
    assert str(caught.value).split("\n") == messages
    assert path.read_text() == TEAMS
    assert sorted(file.name for file in folder.iterdir()) == ["contest.toml", "teams.toml"]


def test_the_largest_contest(folder: Path) -> None:
    add_teams(folder, names(*(f"Team {n}" for n in range(MAX_TEAMS))))
    with pytest.raises(
        ConfigError, match=rf"teams\.toml: {MAX_TEAMS} teams and 1 more, expected at most {MAX_TEAMS}"
    ):
        add_teams(folder, names("One more"))


def test_one_array_takes_no_further_teams(folder: Path) -> None:
    path = folder / "teams.toml"
    path.write_text('team = [{id = 1, name = "Ada", token = "12345678"}]\n')
    with pytest.raises(
        ConfigError,
        match=r"no team can be appended to 'team = \[\.\.\.\]'; write a table \[\[team\]\] for each team",
    ):
        add_teams(folder, names("Blaise"))
    assert len(load_contest(folder).teams) == 1


def test_earlier_mistakes_are_reported_with_their_line(folder: Path) -> None:
    (folder / "teams.toml").write_text(TEAMS.replace("12345678", "short"))
    with pytest.raises(ConfigError, match=r"teams\.toml:5: team\.token = 'short', expected at least 8 characters"):
        add_teams(folder, names("Blaise"))


def test_tokens_stay_for_the_host_alone(folder: Path) -> None:
    path = folder / "teams.toml"
    path.chmod(0o640)
    add_teams(folder, names("Blaise"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(folder: Path, tmp_path: Path) -> None:
    path = folder / "teams.toml"
    path.rename(tmp_path / "class.toml")
    path.symlink_to(tmp_path / "class.toml")
    add_teams(folder, names("Blaise"))
    assert path.is_symlink()
    assert "Blaise" in (tmp_path / "class.toml").read_text()


def test_a_file_that_cannot_be_written(folder: Path) -> None:
    (folder / "teams.toml.new").mkdir()
    with pytest.raises(ConfigError, match=r"teams\.toml: Is a directory"):
        add_teams(folder, names("Blaise"))
    assert load_contest(folder).teams == {}


def test_a_token_can_be_typed_from_paper() -> None:
    tokens = {new_token() for _ in range(200)}
    assert len(tokens) == 200
    assert all(re.fullmatch(r"([abcdefghjkmnpqrstuvwxyz23456789]{4}-){2}[a-z0-9]{4}", token) for token in tokens)
    assert not set("".join(tokens)) & set("ilo01")


# --- class lists ---------------------------------------------------------------------------------------------


ROSTERS: dict[str, tuple[str | bytes, list[tuple[int | None, str]]]] = {
    "names only": ("Ada\nBlaise\n", [(None, "Ada"), (None, "Blaise")]),
    "no line end at the end": ("Ada\nBlaise", [(None, "Ada"), (None, "Blaise")]),
    "a header": ("name\nAda\n", [(None, "Ada")]),
    "ids": ("id,name\n7,Ada\n0,Blaise\n", [(7, "Ada"), (0, "Blaise")]),
    "some ids": ("name,id\nAda,007\nBlaise,\nCharles\n", [(7, "Ada"), (None, "Blaise"), (None, "Charles")]),
    "semicolons": ("ID;Name\n7;Lovelace, Ada\n;Blaise\n", [(7, "Lovelace, Ada"), (None, "Blaise")]),
    "tabs": ("id\tname\n7\tLovelace, Ada\n", [(7, "Lovelace, Ada")]),
    "other columns": ("room,Name,mail\n1,Ada,ada@x\n,Blaise\n", [(None, "Ada"), (None, "Blaise")]),
    "blanks": ("  id ,  name \n 7 ,  Ada  \n", [(7, "Ada")]),
    "blank lines": ("\n\nname\n\n , \nAda\n,,,\n\n", [(None, "Ada")]),
    "quotes": ('name\n"Charles, and Co."\n"say ""hi"""\n', [(None, "Charles, and Co."), (None, 'say "hi"')]),
    "quotes after a blank": ('id, name\n7, "Charles, and Co."\n', [(7, "Charles, and Co.")]),
    "quotes without a header": ('"Charles, and Co."\nAda\n', [(None, "Charles, and Co."), (None, "Ada")]),
    "a byte order mark": (b"\xef\xbb\xbfName;Id\r\nAda;7\r\n", [(7, "Ada")]),
    "line ends of old": (b"name\rAda\rBlaise\r", [(None, "Ada"), (None, "Blaise")]),
    "letters of the world": ("name\nGrashüpfer\n短い名前\n", [(None, "Grashüpfer"), (None, "短い名前")]),
    "a team called name, after the header": ("name\nname\n", [(None, "name")]),
}


@pytest.mark.parametrize("case", ROSTERS)
def test_a_class_list(tmp_path: Path, case: str) -> None:
    content, teams = ROSTERS[case]
    path = tmp_path / "roster.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert [(entry.id, entry.name) for entry in names_in(path)] == teams


EXPORTS: dict[str, tuple[bytes, list[str], list[str]]] = {
    "last and first names": (b"Last name;First name\nLovelace;Ada\nPascal;\n", ["Ada Lovelace", "Pascal"], []),
    "in German": ("Nr;Nachname;Vorname\n1;Grün;Jürgen\n".encode(), ["Jürgen Grün"], []),
    "name is the last name": (b"Vorname,Name,id\nAda,Lovelace,7\n", ["Ada Lovelace"], []),
    "no header": (
        b"Lovelace;Ada\nvan Rossum;Guido\n",
        ["Ada Lovelace", "Guido van Rossum"],
        ["no header, so each line was read as a last name and a first name"],
    ),
    "Windows-1252": (
        "Nachname;Vorname\r\nKurz;Ada\r\nGrün;Jürgen\r\n".encode("cp1252"),
        ["Ada Kurz", "Jürgen Grün"],
        ["not UTF-8, so it was read as Windows-1252; check that this line is right: 'Grün;Jürgen'"],
    ),
    "UTF-16": (
        "Name\tVorname\r\nGrün\tJürgen\r\n".encode("utf-16"),
        ["Jürgen Grün"],
        ["not UTF-8, so it was read as UTF-16; check that this line is right: 'Grün\\tJürgen'"],
    ),
    "UTF-16, big-endian, in English": (
        codecs.BOM_UTF16_BE + "name\nAda\n".encode("utf-16-be"),
        ["Ada"],
        ["not UTF-8, so it was read as UTF-16"],
    ),
    "one team a line": (b"Team;Room\nThe Hoppers;101\nThe Loopers;102\n", ["The Hoppers", "The Loopers"], []),
    "members grouped": (
        b"Nachname;Vorname;Gruppe\nLovelace;Ada;Hoppers\nPascal;Blaise;Loopers\nBabbage;Charles;Hoppers\nKay;Alan\n",
        ["Hoppers", "Loopers", "Alan Kay"],
        ["3 lines with a team's name were grouped into 2 teams"],
    ),
}


@pytest.mark.parametrize("case", EXPORTS)
def test_a_class_list_as_a_school_exports_it(folder: Path, tmp_path: Path, case: str) -> None:
    content, teams, notes = EXPORTS[case]
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    added, said = import_teams(folder, path)
    assert [team.name for team in added] == teams
    assert said == [f"{path}: {note}" for note in notes]


def test_a_team_that_is_there_twice_is_a_mistake_unless_it_has_members(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("team;room\nHoppers;1\nHoppers;2\n")
    with pytest.raises(ConfigError, match=r":3: name = 'Hoppers', expected one that is free"):
        import_teams(folder, path)


WRONG_ROSTERS: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", [": no teams; write one line for each team"]),
    "blank": ("\n , \n", [": no teams; write one line for each team"]),
    "a header alone": ("id,name\n", [": no teams; write one line for each team"]),
    "two columns without a header": (
        "Ada\n\n7,Blaise\n",
        [":3: 2 columns, expected 1; put a name that has commas"],
    ),
    "a header that names no name": (
        "first,last\nAda,Lovelace\n",
        [":1: 2 columns, expected 1; put a name that has commas in quotes, or begin the file with a line that"],
    ),
    "a header that names no name, and a class": (
        "Names,Class\n" + "".join(f"Team {n},7b\n" for n in range(30)),
        [
            ":1: 2 columns, expected 1; put a name that has commas in quotes, or begin the file with a line that"
            " names the columns, such as 'id,name'; also in lines 2 to 31"
        ],
    ),
    "all kinds of mistakes": (
        "id,name,seats\nseven,Ada,many\n1,Blaise\n1,Charles\n2,\n9,Charles,3,4\nx,Blaise\n7,\x1b\ny,Eve\n8,\x02\n"
        '1,D\n"',
        [
            ":12: not valid CSV: ",
            ":2: id = 'seven', expected a whole number from 0 to 2147483647; also in lines 7, 9",
            ":2: seats = 'many', expected a whole number from 1 to 16",
            ":5: no name ('2'); write one in each line",
            ":6: 4 columns, expected 3",
            ":4: id = 1, expected one that is free; ",
            r":8: name = '\x1b', expected visible characters, without spaces around them; also in line 10",
        ],
    ),
    "a comma in a name": ("id,name\n7,Lovelace, Ada\n", [":2: 3 columns, expected 2; put a name that has commas"]),
    "ids that are none": (
        "id,name\nseven,Ada\n-1,Blaise\n1.0,Charles\n１,Dorothy\n" + "9" * 5000 + ",Edsger\n",
        [
            ":2: id = 'seven', expected a whole number from 0 to 2147483647; also in lines 3 to 6",
        ],
    ),
    "an id without a name": (
        "id,name\n7\n8,\n9,Ada\n",
        [":2: no name ('7'); write one in each line; also in line 3"],
    ),
    "a quote that is not closed": ('name\nAda\n"Blaise\nCharles\n', [":3: not valid CSV: unexpected end of data"]),
    "more after a quote": ('name\n"Ada" Lovelace\n', [":2: not valid CSV: "]),
    "another encoding": (b"name\nAda\nGrash\x81pfer\n", [":3: not UTF-8; save the file as UTF-8"]),
    "UTF-16 that is cut off": ("name\nAda\n".encode("utf-16")[:-1], [":2: not UTF-8; save the file as UTF-8"]),
    "a last name alone in the header": (
        "Nachname;Klasse\nLovelace;7b\n",
        [":1: 2 columns, expected 1; put a name"],
    ),
    "persons and numbers without a header": ("Lovelace;Ada\nPascal;7\n", [":1: 2 columns, expected 1; put a name"]),
    "a cell of megabytes": ("name\n" + "x" * 200_000, [":2: not valid CSV: field larger than field limit"]),
}


@pytest.mark.parametrize("case", WRONG_ROSTERS)
def test_a_class_list_with_mistakes(folder: Path, tmp_path: Path, case: str) -> None:
    content, beginnings = WRONG_ROSTERS[case]
    path = tmp_path / "roster.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        import_teams(folder, path)
    assert load_contest(folder).teams == {}
    lines = str(caught.value).split("\n")
    assert len(lines) == len(beginnings)
    for line, beginning in zip(lines, beginnings, strict=True):
        assert line.startswith(f"{path}{beginning}")
        assert len(line) < len(str(path)) + 250


def test_a_mistake_in_a_name_is_reported_with_the_line_of_the_list(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text('id,name\n\n3,Ada\n4,"two\nlines"\n3,Blaise\n5,Ada\n6,\x1b[2J\n')
    with pytest.raises(ConfigError) as caught:
        import_teams(folder, path)
    assert sorted(str(caught.value).split("\n")) == [
        rf"{path}:4: name = 'two\nlines', expected visible characters, without spaces around them;"
        " also in line 8",
        f"{path}:6: id = 3, expected one that is free; {path}:3 has it",
        f"{path}:7: name = 'Ada', expected one that is free; {path}:3 has it",
    ]
    assert load_contest(folder).teams == {}


JOINED, PLAIN = "می\u200cخواهم", "میخواهم"
"""Two names that look nearly the same: they differ by a joiner only."""


def test_names_that_differ_only_by_joiners_are_the_same(folder: Path) -> None:
    add_teams(folder, names(JOINED, "👩\u200d💻"))
    with pytest.raises(
        ConfigError, match=rf"name = '{PLAIN}', expected one that is free; team 1 in teams.toml has it"
    ):
        add_teams(folder, names(PLAIN))
    with pytest.raises(ConfigError, match="visible characters"):
        add_teams(folder, names("A\u200dda"))
    contest = load_contest(folder)
    assert [team.name for team in contest.teams.values()] == [JOINED, "👩\u200d💻"]
    assert [find_team(contest, text) for text in (PLAIN, JOINED, "👩💻")] == [1, 1, 2]
    path = folder / "teams.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("👩\u200d💻", PLAIN), encoding="utf-8")
    with pytest.raises(ConfigError, match="a name of its own; team 1 has this one"):
        load_contest(folder)


def test_seats_in_a_class_list(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("name,seats\nAda,3\nBlaise,\nCharles,1\nDorothy\n")
    entries = names_in(path)
    assert [entry.seats for entry in entries] == [3, 1, 1, 1]
    add_teams(folder, entries)
    assert [team.seats for team in load_contest(folder).teams.values()] == [3, 1, 1, 1]
    assert (folder / "teams.toml").read_text().count("seats") == 1


def test_seats_that_are_none(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("name,seats\nAda,many\n")
    with pytest.raises(ConfigError, match=r":2: seats = 'many', expected a whole number from 1 to 16$"):
        import_teams(folder, path)
    path.write_text("name,seats\nAda,0\nBlaise,17\n")
    with pytest.raises(ConfigError) as caught:
        import_teams(folder, path)
    assert str(caught.value).split("\n") == [
        f"{path}:2: seats = 0, expected at least 1",
        f"{path}:3: seats = 17, expected at most 16",
    ]


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"roster\.csv: No such file or directory"):
        read_roster(tmp_path / "roster.csv")
