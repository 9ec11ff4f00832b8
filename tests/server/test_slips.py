"""Credential slips: the commands on them work, and each team has a page of its own."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shlex
import socket
import stat
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

import getstep.cli
from getstep.client.discovery import network
from getstep.languages import LANGUAGES, PACKED
from getstep_engines import GAMES
from getstep_server.addresses import doubtful_address, lan_address
from getstep_server.cli.main import run_command
from getstep_server.config.certificate import Certificate
from getstep_server.config.contest import Contest, Team, load_contest
from getstep_server.config.contestants_package import NAME as WHEEL
from getstep_server.config.contestants_package import package_hash, write_contestants_package
from getstep_server.errors import ConfigError
from getstep_server.reports.slips import address_to_type, as_html, as_text, commands
from tests.support.certificates import needs_openssl, self_signed, signed
from tests.support.contests import make_contest

TEAMS = [
    Team(id=1, name="Ada", token="kq3m-x7fd-29pt"),
    Team(id=0, name="<script>alert(\"x\")</script> & 'Co.'", token="aaaa-bbbb-cccc"),
    Team(id=77, name="{host} {token} {0}", token="<b>&amp;</b>"),
]


def contest_of(*teams: Team, event: dict[str, Any] | None = None, **server: Any) -> Contest:
    """Return a contest on the port of a new one."""
    own = {"host": "0.0.0.0", "port": 7777, **server}
    name = {"name": "Autumn & <i>co</i>"}
    return make_contest(Path("autumn"), teams, event=event or {}, contest=name, server=own)


HASH = "0123456789abcdef" * 4
PIP = f'python -m pip install "http://192.0.2.7:8080/wheels/{WHEEL}#sha256='


def longest(page: str) -> int:
    """Return the length of the longest line but for that with the hash, which has to stay one command."""
    return max(len(line) for line in page.splitlines() if "#sha256=" not in line)


def facts(page: str) -> dict[str, str]:
    """Return the values of a page of text by their labels: ``  host     192.0.2.7``."""
    return dict(re.findall(r"^  (host|port|team id|token|live page|rules)  +(.*)$", page, re.MULTILINE))


def test_a_page_for_each_team() -> None:
    pages = as_text(contest_of(*TEAMS), "192.0.2.7").split("\f")
    assert [page.splitlines()[0] for page in pages] == [team.name for team in TEAMS]
    for page, team in zip(pages, TEAMS, strict=True):
        expected = {"host": "192.0.2.7", "port": "7777", "team id": str(team.id), "token": team.token}
        expected |= {"live page": "http://192.0.2.7:8080/", "rules": "http://192.0.2.7:8080/rules"}
        assert facts(page) == expected
        others = [other.token for other in TEAMS if other is not team]
        assert not any(token in page for token in others)
        assert page.endswith("\n")


def test_the_commands_to_type() -> None:
    contest = contest_of(TEAMS[0])
    assert commands(contest, TEAMS[0], "192.0.2.7", HASH) == {
        "install": f'python3 -m venv .venv\n. .venv/bin/activate\n{PIP}{HASH}"',
        "new": "getstep new my_bot.py --game hop",
        "practice": "getstep practice my_bot.py",
        "login": "getstep login --host 192.0.2.7 --team 1 --token kq3m-x7fd-29pt",
        "check": "getstep check my_bot.py",
        "play": "getstep play my_bot.py",
    }
    elsewhere = commands(contest_of(TEAMS[0], port=7000), TEAMS[0], "a host", HASH)
    assert "--host 'a host' --port 7000 --team 1" in elsewhere["login"]
    typed = "\n".join(commands(contest, TEAMS[0], "192.0.2.7", package_hash(contest)).values()).splitlines()
    page = as_text(contest, "192.0.2.7").splitlines()
    assert [line for line in page if line[2:] in typed] == [f"  {line}" for line in typed]
    assert longest(as_text(contest, "192.0.2.7")) < 80


@needs_openssl
def test_with_tls_a_slip_has_the_option_of_the_certificate(tmp_path: Path) -> None:
    own = self_signed(tmp_path)
    contest = make_contest(tmp_path, 1, server={"port": 7777, **own.settings()})
    pin = f"--tls-pin {Certificate(own.certificate, own.key).pin}"
    (team,) = contest.teams.values()
    assert pin in commands(contest, team, "192.0.2.7", HASH)["login"]
    assert pin in as_html(contest, "192.0.2.7")
    files = signed(tmp_path, own, "IP:192.0.2.7")
    contest = make_contest(tmp_path, 1, server={"port": 7777, **files.settings()})
    assert commands(contest, team, "192.0.2.7", HASH)["login"].endswith("--tls --team 1 --token " + team.token)


def test_a_slip_has_the_address_of_the_live_page_and_its_qr_code() -> None:
    page = as_html(contest_of(TEAMS[0]), "192.0.2.7")
    assert ">http://192.0.2.7:8080/</td>" in page
    assert page.count("<svg ") == page.count("</svg>") == 1
    assert "http://[2001:db8::7]:8080/" in as_text(contest_of(TEAMS[0]), "2001:db8::7")


def test_without_a_fixed_port_of_the_page_a_slip_names_the_file() -> None:
    contest = contest_of(TEAMS[0], web_port=0)
    page = as_text(contest, "192.0.2.7")
    assert facts(page)["live page"] == "see the host's screen"
    assert facts(page)["rules"] == "getstep rules"
    assert commands(contest, TEAMS[0], "192.0.2.7", HASH)["install"].endswith(f"python -m pip install {WHEEL}")
    assert "sha256" not in page
    assert "<svg" not in as_html(contest, "192.0.2.7")


def test_practice_needs_the_game_if_there_are_several() -> None:
    """`getstep practice` asks for one if a bot's file names several."""
    contest = make_contest(Path("autumn"), TEAMS[:1], {"name": "1"}, {"name": "2", "game": "linkage"})
    assert commands(contest, TEAMS[0], "192.0.2.7", HASH)["practice"] == "getstep practice my_bot.py --game hop"


def test_a_slip_names_some_of_many_events() -> None:
    limits = [{"name": f"E{n}", "move_seconds": n} for n in range(1, 9)]
    page = as_text(make_contest(Path("autumn"), TEAMS[:1], *limits, server={"port": 7777}), "192.0.2.7")
    assert "Hop, 6 s a move; 2 more\n" in page
    assert longest(page) < 80


@pytest.mark.parametrize(("paper", "rule"), [(None, "@page { margin"), ("letter", "@page { size: letter; margin")])
def test_the_size_of_the_paper(paper: str | None, rule: str) -> None:
    assert rule in as_html(contest_of(TEAMS[0]), "192.0.2.7", paper)


def test_a_terminal_shows_where_a_page_ends() -> None:
    text = as_text(contest_of(*TEAMS), "192.0.2.7")
    assert text.count("\n" + 79 * "-" + "\n\f") == len(TEAMS) - 1
    assert "---" not in as_text(contest_of(TEAMS[0]), "192.0.2.7")


def test_a_team_with_several_seats_reads_how_many() -> None:
    alone, three = (contest_of(replace_fields(TEAMS[0], seats=seats)) for seats in (1, 3))
    for write in (as_text, as_html):
        assert "bots at once" not in write(alone, "192.0.2.7")
        assert "may connect 3 bots at once" in write(three, "192.0.2.7")
    page = as_text(three, "192.0.2.7")
    assert longest(page) < 80
    assert page.index("may connect 3 bots") < page.index("getstep play")


@pytest.mark.parametrize("game", GAMES)
def test_the_command_new_writes_a_bot(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = shlex.split(commands(contest_of(TEAMS[0], event={"game": game}), TEAMS[0], "192.0.2.7", HASH)["new"])
    assert typed[0] == "getstep"
    assert getstep.cli.main(typed[1:]) == 0
    assert "def get_step(" in Path("my_bot.py").read_text(encoding="utf-8")


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.raw: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())
        self.raw.append(data)


def test_the_page_for_the_printer() -> None:
    page = Page()
    page.feed(as_html(contest_of(*TEAMS), "192.0.2.7"))
    assert page.tags.count("section") == 3
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.links == []  # it needs nothing from the network
    for team in TEAMS:
        assert page.texts.count(team.name) == 1
        assert page.texts.count(team.token) == 1
        commands_typed = commands(contest_of(*TEAMS), team, "192.0.2.7", package_hash(contest_of(*TEAMS)))
        assert commands_typed.pop("install") in "".join(page.raw)  # its parts are lines of their own
        commands_typed["check"] += f"\n{commands_typed.pop('play')}"  # in one box
        for typed in commands_typed.values():
            assert typed in page.texts
    assert "Autumn & <i>co</i>: slips" in page.texts  # the title
    assert page.texts.count("Autumn & <i>co</i>") == 3
    assert page.texts.count("Hop, 5 s a move") == 3


def test_the_budget_is_shown() -> None:
    page = as_text(contest_of(TEAMS[0], event={"game": "pseudo_tonga"}), "192.0.2.7")
    assert "Pseudo-Tonga, 20 s for all of one's moves in a game" in page.replace("\n", " ")


def test_the_increment_is_shown() -> None:
    event = {"game": "hop", "budget_seconds": 60.0, "increment_seconds": 0.5}
    page = as_text(contest_of(TEAMS[0], event=event), "192.0.2.7")
    assert "Hop, 60 s a game + 0.5 s a move" in page


# --- the address ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listening", "typed"), [("192.0.2.9", "192.0.2.9"), ("host.lan", "host.lan"), ("::1", "::1")]
)
def test_an_address_that_contest_toml_names(listening: str, typed: str) -> None:
    assert address_to_type(contest_of(host=listening)) == typed


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_the_lan_address_stands_for_all_addresses(everywhere: str) -> None:
    assert address_to_type(contest_of(host=everywhere)) == lan_address()


def test_the_address_on_the_lan_is_this_machines() -> None:
    assert socket.getaddrinfo(lan_address(), 0)
    assert lan_address() not in ("0.0.0.0", "")


class Offline(socket.socket):
    """A socket on a computer without a default route."""

    def connect(self, address: Any) -> None:
        raise OSError(101, "Network is unreachable")


@pytest.mark.parametrize(
    ("addresses", "shown", "doubt"),
    [
        ({"lo": "127.0.0.1"}, socket.gethostname(), "has no network"),
        ({"lo": "127.0.0.1", "eth0": "10.0.0.5"}, "10.0.0.5", "the address of an interface is shown: 10.0.0.5;"),
        (
            {"docker0": "172.17.0.1", "eth0": "169.254.7.7", "wlan0": "192.168.7.3", "tun0": None},
            "192.168.7.3",
            "is shown: 192.168.7.3 (others: 172.17.0.1, 169.254.7.7);",
        ),
    ],
)
def test_without_a_route_it_is_that_of_an_interface_with_a_warning(
    addresses: dict[str, str | None], shown: str, doubt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", Offline)
    monkeypatch.setattr(socket, "if_nameindex", lambda: list(enumerate(addresses, start=1)))
    monkeypatch.setattr(network, "_address_of", addresses.get)
    assert lan_address() == shown
    assert doubt in doubtful_address("0.0.0.0")
    assert doubtful_address("192.0.2.7") == ""


def test_slips_need_a_fixed_port() -> None:
    with pytest.raises(ConfigError, match=r"^autumn/contest\.toml: server\.port = 0, expected a fixed port"):
        address_to_type(contest_of(port=0))


# --- the command ---------------------------------------------------------------------------------------------


@pytest.fixture
def autumn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contest:
    monkeypatch.chdir(tmp_path)
    assert run_command(["init", "autumn"]) == 0
    assert run_command(["teams", "add", "autumn", "Ada", "Blaise"]) == 0
    return load_contest(Path("autumn"))


def test_slips_for_the_printer(autumn: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run_command(["teams", "slips", "autumn", "--host", "192.0.2.7"]) == 0
    path = Path("autumn/slips.html")
    assert capsys.readouterr().out.startswith(f"2 slips for host 192.0.2.7 in {path}: open it in a browser")
    assert path.read_text(encoding="utf-8") == as_html(autumn, "192.0.2.7")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Path("autumn", WHEEL).stat().st_size < 2_000_000


def test_slips_as_text(autumn: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run_command(["teams", "slips", "autumn", "--text"]) == 0
    assert capsys.readouterr().out == as_text(autumn, lan_address())
    assert sorted(path.name for path in Path("autumn").iterdir()) == ["contest.toml", "teams.lock", "teams.toml"]


def test_slips_that_cannot_be_written(autumn: Contest, capsys: pytest.CaptureFixture[str]) -> None:
    Path("autumn/slips.html").mkdir()
    assert run_command(["teams", "slips", "autumn"]) == 2
    assert "autumn/slips.html: Is a directory" in capsys.readouterr().err


# --- the contestants' package --------------------------------------------------------------------------------


def test_the_contestants_package_is_one_wheel_that_needs_nothing(autumn: Contest) -> None:
    with zipfile.ZipFile(write_contestants_package(autumn)) as wheel:
        names = wheel.namelist()
        assert wheel.testzip() is None
        about = HeaderParser().parsestr(wheel.read(f"{names[-1].partition('/')[0]}/METADATA").decode())
        listed = [line.split(",") for line in wheel.read(names[-1]).decode().splitlines()]
        assert {name: len(wheel.read(name)) for name in names[:-1]} == {n: int(s) for n, _, s in listed[:-1]}
    assert {name.partition("/")[0] for name in names} == {
        *("getstep", "getstep_engines", "getstep_bots"),
        f"getstep-{getstep.__version__}.dist-info",
    }
    assert about.get_all("Requires-Dist") is None
    assert about["Name"] == "getstep"


def test_the_contestants_package_plays_where_there_is_no_msgpack(autumn: Contest) -> None:
    """The one hash on the slip covers all that a contestant installs: nothing else is fetched from anywhere."""
    code = """\
import getstep.wire as wire
server, client = wire.Connection(wire.Role.SERVER), wire.Connection(wire.Role.CLIENT)
client.receive_data(server.send(wire.Hello([1], "0" * 32, "Autumn", "x")))
print(client.next_event().contest, wire._frames.msgpack.__name__)
"""
    path = write_contestants_package(autumn).absolute()
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "Autumn getstep._vendored.msgpack\n"


def test_the_slips_have_the_hash_of_the_package_that_the_page_serves(autumn: Contest) -> None:
    served = write_contestants_package(autumn).read_bytes()
    digest = hashlib.sha256(served).hexdigest()
    assert f'{PIP}{digest}"\n' in as_text(autumn, "192.0.2.7")
    assert f">{digest}&quot;</span>" in as_html(autumn, "192.0.2.7")


def test_the_contestants_package_has_the_files_of_all_languages(autumn: Contest) -> None:
    with zipfile.ZipFile(write_contestants_package(autumn)) as wheel:
        assert_has_all_files(wheel.read(f"getstep/languages/{PACKED}"))


def assert_has_all_files(archive: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(gzip.decompress(archive))) as packed:
        found = {name: packed.read(name) for name in packed.namelist()}
    languages = LANGUAGES.values()
    assert found == {f"{one.name}/{name}": content for one in languages for name, content in one.all_files()}


def test_the_contestants_package_is_the_same_each_time(autumn: Contest) -> None:
    first = write_contestants_package(autumn).read_bytes()
    assert write_contestants_package(autumn).read_bytes() == first
