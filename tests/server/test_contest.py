"""Contest folders: what contest.toml and teams.toml may say, and what is answered when they say something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getstep_engines import GAMES, TimeControl
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.formats import FORMATS
from tests.support.contests import CONTEST, HOP, NOT_INSTALLED, complaint, folder_with


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
        "expected one of: contest, event, time, server, start, page, programs, challenges, quotas, notes",
    ),
    "unknown setting": (
        CONTEST + "[server]\nprot = 7777\n" + HOP,
        "contest.toml:4: server.prot = 7777: no such setting, expected one of: host, port, classic_port, "
        "web_port, friendly_port, database, judges, host_page, tls_certificate, tls_key, standby, page_address, "
        "trusted_proxies, trusted_user_header, trusted_user_column, web_names, addresses",
    ),
    "unknown setting, dotted": (
        CONTEST + "\nserver.prot = 7777\n" + HOP,
        "contest.toml:4: contest.server = {'prot': 7777}: no such setting, expected one of: name, seed",
    ),
    "setting above its table": (
        'game = "hop"\n' + CONTEST + HOP,
        "contest.toml:1: game = 'hop': no such setting, "
        "expected one of: contest, event, time, server, start, page, programs, challenges, quotas, notes",
    ),
    "unknown setting of an event": (
        CONTEST + HOP + "lag_ms = 1\n",
        "contest.toml:5: event.lag_ms = 1: no such setting, expected one of: package, game, name, options, format, "
        "settings, scoring, tie_breaks, teams, move_seconds, budget_seconds, increment_seconds, openings",
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
    "no core": (
        CONTEST + "[programs]\ncores = 0\nstartup_seconds = 0\npublish_after_weeks = -1\n" + HOP,
        "contest.toml:4: programs.cores = 0, expected at least 1\n"
        "contest.toml:5: programs.startup_seconds = 0, expected more than 0\n"
        "contest.toml:6: programs.publish_after_weeks = -1, expected more than 0",
    ),
    "half a sandbox": (
        CONTEST + '[programs]\nsandbox = "some"\n' + HOP,
        "contest.toml:4: programs.sandbox = 'some', expected 'none' or 'required'",
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
        "contest.toml:6: event.options.size = 7, expected a whole number from 6 to 16 in steps of 2,"
        ' or a range such as "6-16"',
    ),
    "a range of an option": (
        CONTEST + '[[event]]\ngame = "pseudo_tonga"\noptions.size = "16-6"\n',
        "contest.toml:5: event.options.size = '16-6', expected a whole number from 6 to 16 in steps of 2,"
        ' or a range such as "6-16"',
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
        "web_port, friendly_port, database, judges, host_page, tls_certificate, tls_key, standby, page_address, "
        "trusted_proxies, trusted_user_header, trusted_user_column, web_names, addresses",
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
