"""Contest folders: what contest.toml and teams.toml may say, and what is answered when they say something else."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from getstep_engines import GAMES, TimeControl
from getstep_server.config.contest import Contest, init_contest, load_contest
from getstep_server.errors import ConfigError, UsageError
from getstep_server.formats import FORMATS

CONTEST = '[contest]\nname = "Autumn"\n'
HOP = '[[event]]\ngame = "hop"\n'
TEAM = '[[team]]\nid = 1\nname = "Ada"\ntoken = "12345678"\n'
OTHER = '[[team]]\nid = 2\nname = "Blaise"\ntoken = "12345678"\n'
ALL_GAMES = ", ".join(GAMES)
NOT_INSTALLED = f"an installed game (unknown game 'chess'; installed: {ALL_GAMES})"


def folder_with(tmp_path: Path, contest: str = CONTEST + HOP, teams: str = TEAM + OTHER) -> Path:
    (tmp_path / "contest.toml").write_text(contest, encoding="utf-8")
    (tmp_path / "teams.toml").write_text(teams, encoding="utf-8")
    return tmp_path


def complaint(folder: Path) -> list[str]:
    """Return the error's lines, without the folder's name."""
    with pytest.raises(ConfigError) as caught:
        load_contest(folder)
    return str(caught.value).replace(f"{folder}/", "").split("\n")


def test_no_comment_is_glued_to_its_setting(tmp_path: Path) -> None:
    for game in GAMES:
        init_contest(tmp_path / game, name="An unusually long name of a contest", games=[game])
        lines = (tmp_path / game / "contest.toml").read_text(encoding="utf-8").splitlines()
        commented = [line for line in lines if "#" in line[1:]]
        assert len(commented) > 8
        assert all("  # " in line for line in commented)


# --- contest.toml --------------------------------------------------------------------------------------------

CONTEST_MISTAKES: dict[str, tuple[str, str]] = {
    "empty": ("", "contest.toml: contest is missing\ncontest.toml: event is missing"),
    "comments only": ("# [contest]\n# name = 1\n" + HOP, "contest.toml: contest is missing"),
    "no event": (CONTEST, "contest.toml: event is missing"),
    "an empty list of events": ("event = []\n" + CONTEST, "contest.toml:1: event = [], expected at least 1, not 0"),
    "no game": (CONTEST + "[[event]]\nmove_seconds = 1\n", "contest.toml:3: event.game is missing"),
    "no name": ("# [contest]\n\n[contest]\nseed = 1\n" + HOP, "contest.toml:3: contest.name is missing"),
    "dotted key without name": ("contest.seed = 1\n" + HOP, "contest.toml:1: contest.name is missing"),
    "a value for a table": ("contest = 5\n" + HOP, "contest.toml:1: contest = 5, expected a table"),
    "an array for a table": (
        '[[contest]]\nname = "A"\n' + HOP,
        "contest.toml:1: contest = [{'name': 'A'}], expected a table",
    ),
    "a table for an array": (
        CONTEST + '[event]\ngame = "hop"\n',
        "contest.toml:3: event = {'game': 'hop'}, expected a table in double brackets for each",
    ),
    "unknown table": (
        CONTEST + "[sever]\nport = 1\n" + HOP,
        "contest.toml:3: sever = {'port': 1}: no such setting, "
        "expected one of: contest, event, time, server, start",
    ),
    "unknown setting": (
        CONTEST + "[server]\nprot = 7777\n" + HOP,
        "contest.toml:4: server.prot = 7777: no such setting, expected one of: host, port, classic_port, "
        "web_port, web_names",
    ),
    "unknown setting, dotted": (
        CONTEST + "\nserver.prot = 7777\n" + HOP,
        "contest.toml:4: contest.server = {'prot': 7777}: no such setting, expected one of: name, seed",
    ),
    "setting above its table": (
        'game = "hop"\n' + CONTEST + HOP,
        "contest.toml:1: game = 'hop': no such setting, expected one of: contest, event, time, server, start",
    ),
    "unknown setting of an event": (
        CONTEST + HOP + "lag_ms = 1\n",
        "contest.toml:5: event.lag_ms = 1: no such setting, expected one of: package, game, name, options, format, "
        "settings, scoring, tie_breaks, teams, move_seconds, budget_seconds, increment_seconds",
    ),
    "true for an int": (
        CONTEST + "seed = true\n" + HOP,
        "contest.toml:3: contest.seed = True, expected a whole number",
    ),
    "float for an int": (
        CONTEST + "seed = 1.0\n" + HOP,
        "contest.toml:3: contest.seed = 1.0, expected a whole number",
    ),
    "text for an int": (
        CONTEST + "[server]\nport = '7777'\n" + HOP,
        "contest.toml:4: server.port = '7777', expected a whole number",
    ),
    "date for an int": (
        CONTEST + "seed = 2019-01-01\n" + HOP,
        "contest.toml:3: contest.seed = datetime.date(2019, 1, 1), expected a whole number",
    ),
    "true for seconds": (
        CONTEST + HOP + "move_seconds = true\n",
        "contest.toml:5: event.move_seconds = True, expected a number",
    ),
    "text for seconds": (
        CONTEST + HOP + 'move_seconds = "5"\n',
        "contest.toml:5: event.move_seconds = '5', expected a number",
    ),
    "number for a name": (
        "[contest]\nname = 1\n" + HOP,
        "contest.toml:2: contest.name = 1, expected text in quotes",
    ),
    "negative seed": (CONTEST + "seed = -1\n" + HOP, "contest.toml:3: contest.seed = -1, expected at least 0"),
    "seed beyond 63 bits": (
        CONTEST + f"seed = {2**63}\n" + HOP,
        f"contest.toml:3: contest.seed = {2**63}, expected at most {2**63 - 1}",
    ),
    "port too high": (
        CONTEST + "[server]\nport = 65536\n" + HOP,
        "contest.toml:4: server.port = 65536, expected at most 65535",
    ),
    "port negative": (
        CONTEST + "[server]\nport = -1\n" + HOP,
        "contest.toml:4: server.port = -1, expected at least 0",
    ),
    "no time at all": (
        CONTEST + HOP + "move_seconds = 0\n",
        "contest.toml:5: event.move_seconds = 0, expected more than 0",
    ),
    "less than the wire can say": (
        CONTEST + HOP + "move_seconds = 0.0004\n",
        "contest.toml:5: event.move_seconds = 0.0004, expected at least 0.001",
    ),
    "an increment without a budget": (
        CONTEST + HOP + "increment_seconds = 0.5\n",
        "contest.toml:5: event.increment_seconds = 0.5, expected budget_seconds as well: it is added to a budget",
    ),
    "an increment of a limit for each move": (
        CONTEST + '[[event]]\ngame = "pseudo_tonga"\nmove_seconds = 5\nincrement_seconds = 0.5\n',
        "contest.toml:6: event.increment_seconds = 0.5, expected budget_seconds as well: it is added to a budget",
    ),
    "a negative increment": (
        CONTEST + HOP + "budget_seconds = 60\nincrement_seconds = -0.5\n",
        "contest.toml:6: event.increment_seconds = -0.5, expected at least 0",
    ),
    "an increment of less than the wire can say": (
        CONTEST + HOP + "budget_seconds = 60\nincrement_seconds = 0.0004\n",
        "contest.toml:6: event.increment_seconds = 0.0004, expected at least 0.001",
    ),
    "an increment of more than a day": (
        CONTEST + HOP + "budget_seconds = 60\nincrement_seconds = 86401\n",
        "contest.toml:6: event.increment_seconds = 86401, expected at most 86400",
    ),
    "an increment that is no number": (
        CONTEST + HOP + "budget_seconds = 60\nincrement_seconds = '0.5'\n",
        "contest.toml:6: event.increment_seconds = '0.5', expected a number",
    ),
    "more than a day": (
        CONTEST + HOP + "budget_seconds = 86400.1\n",
        "contest.toml:5: event.budget_seconds = 86400.1, expected at most 86400",
    ),
    "infinite time": (
        CONTEST + HOP + "move_seconds = inf\n",
        "contest.toml:5: event.move_seconds = inf, expected a number that is not infinite",
    ),
    "nan": (
        CONTEST + "[start]\nabsent_seconds = nan\n" + HOP,
        "contest.toml:4: start.absent_seconds = nan, expected a number that is not infinite",
    ),
    "too much lag": (
        CONTEST + "[time]\n\n\nlag_ms = 60001  # lag_ms = 100\n" + HOP,
        "contest.toml:6: time.lag_ms = 60001, expected at most 60000",
    ),
    "two kinds of limit": (
        CONTEST + HOP + "move_seconds = 5\nbudget_seconds = 60\n",
        "contest.toml:6: event.budget_seconds = 60, expected either move_seconds or budget_seconds, not both",
    ),
    "unknown game": (
        CONTEST + HOP + '[[event]]\ngame = "chess"\n',
        f"contest.toml:6: event.game = 'chess', expected {NOT_INSTALLED}",
    ),
    "unknown format": (
        CONTEST + HOP + 'format = "league"\n',
        f"contest.toml:5: event.format = 'league', expected one of: {', '.join(FORMATS)}",
    ),
    "a setting that the format has not": (
        CONTEST + HOP + "settings.rounds = 5\n",
        "contest.toml:5: event.settings.rounds = 5, expected a setting of round_robin, which has legs",
    ),
    "a setting's type": (
        CONTEST + HOP + 'format = "swiss"\nsettings.rounds = true\n',
        "contest.toml:6: event.settings.rounds = True, expected a whole number",
    ),
    "a setting's value": (
        CONTEST + HOP + 'format = "ladder"\n[event.settings]\nrounds = 3\ngames = 5\n',
        "contest.toml:8: event.settings.games = 5, expected a multiple of 2",
    ),
    "a setting that has to be there": (
        CONTEST + HOP + 'format = "gauntlet"\n',
        "contest.toml:3: event.settings.challengers is missing",
    ),
    "settings that do not go together": (
        CONTEST + HOP + 'format = "match"\nsettings.elo0 = 50\nsettings.elo1 = 10\n',
        "contest.toml:7: event.settings.elo1 = 10, expected more than elo0, which is 50.0",
    ),
    "a setting without another": (
        CONTEST + HOP + 'format = "match"\nsettings.elo0 = 50\n',
        "contest.toml:6: event.settings.elo1 = None, expected elo0 and elo1 or neither; elo0 = 50.0",
    ),
    "a setting in a list": (
        CONTEST + HOP + 'format = "gauntlet"\nsettings.challengers = [\n  1,\n  -2,\n]\n',
        "contest.toml:8: event.settings.challengers = -2, expected at least 0",
    ),
    "a scoring": (
        CONTEST + HOP + "scoring.win = 1\nscoring.draw = 2\n",
        "contest.toml:6: event.scoring.draw = 2, expected a value from loss, 0, to win, 1",
    ),
    "a misspelt scoring": (
        CONTEST + HOP + "scoring.wins = 1\n",
        "contest.toml:5: event.scoring.wins = 1: no such setting, expected one of: kind, win, draw, loss",
    ),
    "a tie-break": (
        CONTEST + HOP + 'tie_breaks = ["won", "luck"]\n',
        "contest.toml:5: event.tie_breaks = 'luck', expected 'buchholz', 'difference', 'direct' or 'won'",
    ),
    "a tie-break twice": (
        CONTEST + HOP + 'tie_breaks = ["won", "won"]\n',
        "contest.toml:5: event.tie_breaks = ['won', 'won'], expected each of them once",
    ),
    "an event with one team": (
        CONTEST + HOP + "teams = [1]\n",
        "contest.toml:5: event.teams = [1], expected at least 2, not 1",
    ),
    "an event with a team twice": (
        CONTEST + HOP + "teams = [1, 1]\n",
        "contest.toml:5: event.teams = [1, 1], expected each of them once",
    ),
    "two events of one name": (
        CONTEST + HOP + '[[event]]\ngame = "linkage"\nname = "hop"\n',
        "contest.toml:7: event.name = 'hop', expected a name of its own; an event before it has this one",
    ),
    "the same game twice": (
        CONTEST + HOP + HOP,
        "contest.toml:5: event.name = 'hop', expected a name of its own; an event before it has this one",
    ),
    "the game in [contest]": (
        CONTEST + 'game = "hop"\n' + HOP,
        "contest.toml:3: contest.game = 'hop': no such setting, expected one of: name, seed",
    ),
    "the limit in [time]": (
        CONTEST + HOP + "[time]\nmove_seconds = 5\n",
        "contest.toml:6: time.move_seconds = 5: no such setting, expected one of: lag_ms",
    ),
    "an option the game has not": (
        CONTEST + HOP + "options.size = 8\n",
        "contest.toml:5: event.options.size = 8, expected an option of hop, which has none",
    ),
    "an option's value": (
        CONTEST + '[[event]]\ngame = "pseudo_tonga"\n[event.options]\nsize = 7\n',
        "contest.toml:6: event.options.size = 7, expected a whole number from 6 to 16 in steps of 2",
    ),
    "a misspelt option": (
        CONTEST + '[[event]]\ngame = "pseudo_tonga"\noptions = {sise = 8}\n',
        "contest.toml:5: event.options.sise = 8, expected an option of pseudo_tonga, which has size",
    ),
    "an option of another type": (
        CONTEST + '[[event]]\ngame = "pseudo_tonga"\noptions.size = true\n',
        "contest.toml:5: event.options.size = True, expected a whole number",
    ),
    "classic port of another game": (
        CONTEST + HOP + '[[event]]\ngame = "linkage"\n[server]\nclassic_port = 8888\n',
        "contest.toml:8: server.classic_port = 8888, expected no classic_port: "
        "the classic wire plays hop only, and there is linkage",
    ),
    "one port for two": (
        CONTEST + "[server]\nclassic_port = 7777\n" + HOP,
        "contest.toml:4: server.classic_port = 7777, expected another port than the server's own",
    ),
    "blank name": (
        '[contest]\nname = "  "\n' + HOP,
        "contest.toml:2: contest.name = '  ', expected visible characters, without spaces around them",
    ),
    "a name that repaints": (
        '[contest]\nname = "\\u001b[2J\\u202e"\n' + HOP,
        "contest.toml:2: contest.name = '\\x1b[2J\\u202e', expected visible characters, without spaces around them",
    ),
    "long name": (
        f'[contest]\nname = "{"x" * 65}"\n' + HOP,
        f"contest.toml:2: contest.name = '{'x' * 65}', expected at most 64 characters",
    ),
    "no host name": (
        CONTEST + '[server]\nhost = "a..b"\n' + HOP,
        "contest.toml:4: server.host = 'a..b', expected a host name or an IP address",
    ),
}


@pytest.mark.parametrize("case", CONTEST_MISTAKES)
def test_a_mistake_in_contest_toml(tmp_path: Path, case: str) -> None:
    contest, message = CONTEST_MISTAKES[case]
    assert complaint(folder_with(tmp_path, contest)) == message.split("\n")


def test_every_mistake_has_a_line(tmp_path: Path) -> None:
    contest = (
        "[contest]\nseed = true\n[server]\nport = 99999\nprot = 1\n[start]\nabsent_seconds = -1\n"
        '[[event]]\ngame = "chess"\nformat = "swiss"\nsettings.legs = 0\n'
    )
    assert complaint(folder_with(tmp_path, contest)) == [
        "contest.toml:1: contest.name is missing",
        "contest.toml:2: contest.seed = True, expected a whole number",
        f"contest.toml:9: event.game = 'chess', expected {NOT_INSTALLED}",
        "contest.toml:11: event.settings.legs = 0, expected at least 1",
        "contest.toml:4: server.port = 99999, expected at most 65535",
        "contest.toml:5: server.prot = 1: no such setting, expected one of: host, port, classic_port, "
        "web_port, web_names",
        "contest.toml:7: start.absent_seconds = -1, expected more than 0",
    ]


MORE = HOP + "move_seconds = 2\n[time]\nlag_ms = 0\n[server]\nport = 0\n"
WAYS_TO_WRITE = {
    "tables": CONTEST + MORE,
    "tables in another order": "[server]\nport = 0\n[time]\nlag_ms = 0\n" + HOP + "move_seconds = 2\n" + CONTEST,
    "inline tables": 'contest = {name = "Autumn"}\n'
    'event = [{game = "hop", move_seconds = 2}]\ntime = {lag_ms = 0}\nserver = {port = 0}\n',
    "dotted keys": 'contest.name = "Autumn"\ntime.lag_ms = 0\nserver.port = 0\n' + HOP + "move_seconds = 2.0\n",
    "a byte order mark": "\ufeff" + CONTEST + MORE,
    "line ends of Windows": (CONTEST + MORE).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_equal_settings_in_different_notations(tmp_path: Path, way: str) -> None:
    contest = load_contest(folder_with(tmp_path, WAYS_TO_WRITE[way]))
    (event,) = contest.events
    assert (contest.name, event.game.name, contest.lag) == ("Autumn", "hop", 0)
    assert event.time_control == TimeControl("move", 2.0)
    assert contest.file.server.port == 0


def test_missing_settings_have_defaults(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, CONTEST + '[[event]]\ngame = "pseudo_tonga"\n'))
    (event,) = contest.events
    assert (event.number, event.name, event.teams) == (1, "pseudo_tonga", (1, 2))
    assert event.time_control == GAMES["pseudo_tonga"].time_control
    assert event.options == {"size": 8}
    assert (event.format.name, event.format.options.legs) == ("round_robin", 2)
    assert event.tie_breaks == ("won", "difference", "direct")
    assert (contest.lag, contest.file.start.absent_seconds, contest.file.server.port) == (0.1, 60, 7777)
    assert event.scoring.kind == "signed_roots"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ('game = "linkage"\nformat = "ladder"\n', "percentage"),
        ('game = "hop"\nscoring.win = 3\n', "points"),
        ('game = "hop"\nscoring.kind = "percentage"\n', "percentage"),
        ('game = "pseudo_tonga"\nformat = "ladder"\n', "signed_roots"),
        ('game = "pseudo_tonga"\nscoring.kind = "points"\n', "points"),
    ],
)
def test_the_scoring_that_goes_with_an_event(tmp_path: Path, event: str, kind: str) -> None:
    contest = load_contest(folder_with(tmp_path, CONTEST + "[[event]]\n" + event))
    assert contest.events[0].scoring.kind == kind


def test_several_events(tmp_path: Path) -> None:
    others = (
        '[[event]]\ngame = "linkage"\nname = "L"\nformat = "swiss"\nteams = [2, 9]\ntie_breaks = ["buchholz"]\n'
    )
    hop, linkage = load_contest(folder_with(tmp_path, CONTEST + "seed = 7\n" + HOP + others)).events
    assert (hop.number, hop.name, hop.format.seed, hop.teams) == (1, "hop", 7, (1, 2))
    assert (linkage.number, linkage.name, linkage.format.seed, linkage.teams) == (2, "L", 8, (2,))
    assert linkage.tie_breaks == ("buchholz",)


def test_too_many_events(tmp_path: Path) -> None:
    events = "".join(f'[[event]]\ngame = "hop"\nname = "{number}"\n' for number in range(257))
    (line,) = complaint(folder_with(tmp_path, CONTEST + events))
    assert line.endswith("expected at most 256, not 257")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("setting", "kind"), [("move_seconds", "move"), ("budget_seconds", "budget")])
def test_either_kind_of_limit_for_every_game(tmp_path: Path, game: str, setting: str, kind: Any) -> None:
    contest = CONTEST + f'[[event]]\ngame = "{game}"\n{setting} = 1.5\n'
    assert load_contest(folder_with(tmp_path, contest)).events[0].time_control == TimeControl(kind, 1.5)


@pytest.mark.parametrize(
    ("event", "control"),
    [
        ('game = "hop"\nbudget_seconds = 60\nincrement_seconds = 0.5\n', TimeControl("budget", 60.0, 0.5)),
        ('game = "hop"\nbudget_seconds = 60\nincrement_seconds = 0\n', TimeControl("budget", 60.0)),
        ('game = "pseudo_tonga"\nincrement_seconds = 2\n', TimeControl("budget", 20.0, 2.0)),
        ('game = "hop"\nincrement_seconds = 0\n', GAMES["hop"].time_control),
    ],
)
def test_the_increment(tmp_path: Path, event: str, control: TimeControl) -> None:
    contest = CONTEST + "[[event]]\n" + event
    assert load_contest(folder_with(tmp_path, contest)).events[0].time_control == control


# --- teams.toml ----------------------------------------------------------------------------------------------

TEAM_MISTAKES: dict[str, tuple[str, list[str]]] = {
    "no id": (
        '[[team]]\nname = "Ada"\ntoken = "12345678"\n' + OTHER,
        ["teams.toml:1: team.id is missing"],
    ),
    "no token in the second": (
        TEAM + '\n# [[team]]\n[[team]]\nid = 2\nname = "B"\n',
        ["teams.toml:7: team.token is missing"],
    ),
    "true for an id": (
        TEAM + OTHER.replace("2", "true", 1),
        ["teams.toml:6: team.id = True, expected a whole number"],
    ),
    "an id below 0": (
        TEAM.replace("1", "-1", 1) + OTHER,
        ["teams.toml:2: team.id = -1, expected at least 0"],
    ),
    "an id beyond the wire's": (
        TEAM.replace("id = 1", f"id = {2**31}"),
        [f"teams.toml:2: team.id = {2**31}, expected at most {2**31 - 1}"],
    ),
    "an id twice": (
        TEAM + OTHER.replace("id = 2", "id = 1"),
        ["teams.toml:6: team.id = 1, expected an id of its own; team 'Ada' has this one"],
    ),
    "a name twice": (
        TEAM + OTHER.replace("Blaise", "Ada"),
        ["teams.toml:7: team.name = 'Ada', expected a name of its own; team 1 has this one"],
    ),
    "all twice": (
        TEAM + OTHER + TEAM,
        [
            "teams.toml:10: team.id = 1, expected an id of its own; team 'Ada' has this one",
            "teams.toml:11: team.name = 'Ada', expected a name of its own; team 1 has this one",
        ],
    ),
    "a short token": (
        TEAM.replace("12345678", "1234567") + OTHER,
        ["teams.toml:4: team.token = '1234567', expected at least 8 characters"],
    ),
    "a long token": (
        TEAM.replace("12345678", "x" * 65),
        [f"teams.toml:4: team.token = '{'x' * 65}', expected at most 64 characters"],
    ),
    "a number for a token": (
        TEAM.replace('"12345678"', "12345678"),
        ["teams.toml:4: team.token = 12345678, expected text in quotes"],
    ),
    "a name with a line end": (
        TEAM.replace("Ada", "A\\nda"),
        ["teams.toml:3: team.name = 'A\\nda', expected visible characters, without spaces around them"],
    ),
    "a name of several lines": (
        TEAM.replace('"Ada"', '"""A\nda"""'),
        ["teams.toml:3: team.name = 'A\\nda', expected visible characters, without spaces around them"],
    ),
    "text for true": (
        TEAM + 'classic = "yes"\n',
        ["teams.toml:5: team.classic = 'yes', expected true or false"],
    ),
    "no seat": (TEAM + "seats = 0\n", ["teams.toml:5: team.seats = 0, expected at least 1"]),
    "too many seats": (TEAM + "seats = 17\n", ["teams.toml:5: team.seats = 17, expected at most 16"]),
    "a bad address": (
        TEAM + 'classic = true\nclassic_address = "192.168.1.256"\n',
        ["teams.toml:6: team.classic_address = '192.168.1.256', expected an IP address such as 192.168.1.20"],
    ),
    "an unknown setting": (
        TEAM + "clasic = true\n",
        [
            "teams.toml:5: team.clasic = True: no such setting, "
            "expected one of: id, name, token, seats, classic, classic_address"
        ],
    ),
    "an unknown table": (
        TEAM + "[[teams]]\nid = 2\n",
        ["teams.toml:5: teams = [{'id': 2}]: no such setting, expected one of: team"],
    ),
    "single brackets": (
        TEAM.replace("[[team]]", "[team]"),
        [
            "teams.toml:1: team = {'id': 1, 'name': 'Ada', 'token': '12345678'}, "
            "expected a table in double brackets for each"
        ],
    ),
    "an array over several lines": (
        'team = [\n  {id = 1, name = "A", token = "12345678"},\n  {id = 2, name = "B", token = "x"},\n]\n',
        ["teams.toml:3: team.token = 'x', expected at least 8 characters"],
    ),
    "a mistake in each": (
        TEAM.replace("id = 1", "id = '1'") + OTHER.replace("12345678", "x"),
        [
            "teams.toml:2: team.id = '1', expected a whole number",
            "teams.toml:8: team.token = 'x', expected at least 8 characters",
        ],
    ),
}


@pytest.mark.parametrize("case", TEAM_MISTAKES)
def test_a_mistake_in_teams_toml(tmp_path: Path, case: str) -> None:
    teams, messages = TEAM_MISTAKES[case]
    assert complaint(folder_with(tmp_path, teams=teams)) == messages


def test_too_many_teams(tmp_path: Path) -> None:
    teams = "".join(f'[[team]]\nid = {n}\nname = "Team {n}"\ntoken = "12345678"\n' for n in range(1025))
    (message,) = complaint(folder_with(tmp_path, teams=teams))
    assert message.startswith("teams.toml:1: team = [")
    assert message.endswith("expected at most 1024, not 1025")
    assert len(message) < 250


def test_teams_in_the_order_of_the_file(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, teams=OTHER + TEAM + 'classic_address = "::1"\nclassic = true\n'))
    assert list(contest.teams) == [2, 1]
    assert contest.teams[1].classic_address == "::1"
    assert contest.team_name(2) == "Blaise"


def test_a_team_has_one_seat_unless_it_is_given_more(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, teams=OTHER + TEAM + "seats = 16\n"))
    assert [(team.id, team.seats) for team in contest.teams.values()] == [(2, 1), (1, 16)]
    assert contest.team_name(3) == "team 3"  # results may know teams that have been taken out


def test_a_folder_without_a_contest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no contest\.toml here; make a contest with: getstep-server init"):
        load_contest(tmp_path / "nowhere")
    (tmp_path / "contest.toml").write_text(CONTEST + HOP)
    assert complaint(tmp_path) == ["teams.toml: No such file or directory"]


# --- making one ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_a_new_contest_can_be_read_and_has_the_games_defaults(tmp_path: Path, game: str) -> None:
    folder = tmp_path / "deep" / "down"
    init_contest(folder, name='Ada\'s "\\first"', games=[game], seed=5)
    contest = load_contest(folder)
    (event,) = contest.events
    assert (contest.name, event.game.name, contest.file.contest.seed) == ('Ada\'s "\\first"', game, 5)
    assert event.time_control == GAMES[game].time_control
    assert contest.teams == {}
    text = (folder / "contest.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text.replace("# classic_port", "classic_port"))
    assert written["server"] == {"host": "0.0.0.0", "port": 7777, "classic_port": 8888, "web_port": 8080}
    assert written["start"]["absent_seconds"] == contest.file.start.absent_seconds


def test_a_new_contest_with_all_games(tmp_path: Path) -> None:
    init_contest(tmp_path / "a", name="A", games=list(GAMES))
    events = load_contest(tmp_path / "a").events
    assert [(event.name, event.game, event.time_control) for event in events] == [
        (name, game, game.time_control) for name, game in GAMES.items()
    ]


def test_a_new_contest_has_a_seed_of_its_own(tmp_path: Path) -> None:
    for name in "abc":
        init_contest(tmp_path / name, name=name, games=["hop"])
    assert len({load_contest(tmp_path / name).file.contest.seed for name in "abc"}) > 1


def test_tokens_are_for_the_host_alone(tmp_path: Path) -> None:
    init_contest(tmp_path / "a", name="A", games=["hop"])
    assert stat.S_IMODE((tmp_path / "a" / "teams.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"games": ["hop", "chess"]}, f"unknown game 'chess'; installed: {ALL_GAMES}"),
        ({"name": "\x1b[2J"}, r"--name = '\x1b[2J', expected visible characters, without spaces around them"),
        ({"name": "x" * 65}, f"--name = '{'x' * 65}', expected at most 64 characters"),
        ({"name": "\udcff"}, r"--name = '\udcff', expected visible characters, without spaces around them"),
        ({"seed": -1}, "--seed = -1, expected at least 0"),
    ],
)
def test_nothing_is_made_from_wrong_arguments(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        init_contest(tmp_path / "a", **{"name": "A", "games": ["hop"], **wrong})
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_a_contest_that_is_there_stays(tmp_path: Path) -> None:
    folder = folder_with(tmp_path)
    with pytest.raises(UsageError, match=r"contest\.toml: there is a contest here already"):
        init_contest(folder, name="Another", games=["linkage"])
    assert (folder / "contest.toml").read_text() == CONTEST + HOP
    assert (folder / "teams.toml").read_text() == TEAM + OTHER


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/a: Not a directory"):
        init_contest(tmp_path / "file" / "a", name="A", games=["hop"])


# --- other ports ---------------------------------------------------------------------------------------------


@pytest.fixture
def hop(tmp_path: Path) -> Contest:
    return load_contest(folder_with(tmp_path))


def test_the_command_line_goes_before_contest_toml(hop: Contest) -> None:
    moved = hop.listening_on(host="127.0.0.1", port=0, classic_port=8888)
    assert moved.file.server == replace(hop.file.server, host="127.0.0.1", port=0, classic_port=8888)
    assert (moved.file.contest, moved.teams, moved.folder) == (hop.file.contest, hop.teams, hop.folder)
    assert hop.listening_on(host=None, port=None, classic_port=None) == hop


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"port": 99999}, "--port = 99999, expected at most 65535"),
        ({"port": -1}, "--port = -1, expected at least 0"),
        ({"classic_port": 65536}, "--classic-port = 65536, expected at most 65535"),
        ({"classic_port": 7777}, "--classic-port = 7777, expected another port than the server's own"),
        ({"host": "a..b"}, "--host = 'a..b', expected a host name or an IP address"),
        ({"host": ""}, "--host = '', expected visible characters, without spaces around them"),
        (
            {"port": 65536, "host": " "},
            "--host = ' ', expected visible characters, without spaces around them\n"
            "--port = 65536, expected at most 65535",
        ),
    ],
)
def test_a_port_on_the_command_line_is_checked(hop: Contest, where: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        hop.listening_on(**{"host": None, "port": None, "classic_port": None, **where})
    assert str(caught.value) == message


def test_a_classic_port_on_the_command_line_needs_the_game_for_it(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, CONTEST + '[[event]]\ngame = "linkage"\n'))
    with pytest.raises(UsageError, match=r"^--classic-port = 8888, expected no classic_port"):
        contest.listening_on(host=None, port=None, classic_port=8888)
