"""What a contestant reads is the same in every language: each text of texts.toml is provoked, and compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from getstep import __version__
from getstep.languages import LANGUAGES
from getstep.wire import CLOSED, Goodbye, LateAnswer, Penalty, Raised, Step
from getstep_engines import GAMES
from tests.support.fake_server import (
    OVER,
    TEAM,
    TOKEN,
    FakeServer,
    Script,
    Session,
    ask,
    end,
    missed,
    no_proof,
    start,
    wrong_proof,
)
from tests.support.languages import of_sdk
from tests.support.patience import PATIENCE_SECONDS

TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))

COMPILED = ("cpp", "java", "csharp")

VARYING = {
    "time": r"(?:under )?[0-9.]+ m?s",
    "place": r"\S+ line [0-9]+",
    "trace": r"(?:(?!Match ).*\n)*(?!Match ).*conformance.*(?:\n    at .*|\n +in .*)*",
    "value": r"[\[(].*",
    "number": "[0-9]+",
    "game": "[a-z_]+",
    "name": ".+?",
    "error": ".*conformance",
    "reason": ".+",
}
"""What stands for the words in braces that differ from run to run."""


@dataclass(frozen=True)
class Bot:
    """The bot of docs/conformance.md in one language: it obeys the name of its opponent."""

    language: str
    command: list[str]

    def run(self, *words: str, server: FakeServer | None = None, progress: bool = False, **variables: str) -> Said:
        """Play to the end, without a saved login; return the problems that were printed, with ``progress`` all."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("GETSTEP_")}
        environ |= {"GETSTEP_LOGIN_FILE": os.devnull + "-none", "GETSTEP_TIME_SCALE": "0.01", **variables}
        if server is not None:
            environ |= {"GETSTEP_HOST": "127.0.0.1", "GETSTEP_PORT": str(server.port)}
            environ |= {"GETSTEP_TEAM": str(TEAM), "GETSTEP_TOKEN": TOKEN}
        command = [*self.command, *words]
        ran = subprocess.run(
            command, env=environ, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE_SECONDS
        )
        text = ran.stderr + (ran.stdout if progress else "")
        return Said(self.language, text, ran.returncode, server.port if server else 0)


class Said:
    """What a bot has printed: standard error first. Each text that is found is taken out."""

    def __init__(self, language: str, text: str, code: int, port: int) -> None:
        self.whole, self.code = text, code
        self._provoked, self._missing = set[str](), set[str]()
        self._language, self._rest, self._port = language, f"\n{text}\n", port

    def says(self, name: str, text: str) -> None:
        """Take a text of the table out."""
        pattern = re.compile(rf"(?<=\n){self._pattern(text.strip(chr(10)))}\n")
        self._rest, count = pattern.subn("", self._rest)
        self._provoked.add(name)
        if not count:
            self._missing.add(name)

    def says_all(self, section: str) -> None:
        """Take all texts of a section out."""
        for name, text in TABLE[section].items():
            self.says(name, text)

    def _pattern(self, text: str) -> str:
        names = TABLE["names"][self._language]
        found = ""
        for word in re.split(r"(\{[a-z_]+\})", text):
            name = word[1:-1]
            if name in names and word[0] == "{":
                found += self._pattern(names[name])
            elif name in VARYING:
                found += VARYING[name]
            else:
                found += re.escape({"{port}": str(self._port), "{version}": __version__}.get(word, word))
        return found

    def check(self, code: int) -> None:
        """Check that exactly the texts differ that the table names, and that nothing else was said."""
        differs = {name for name in self._provoked if name in TABLE["differs"].get(self._language, ())}
        assert self._missing == differs, self.whole
        if not differs:
            assert not self._rest.strip(), self._rest
            assert self.code == code, self.whole


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param(name, marks=pytest.mark.long) for name in ("cpp", "java", "csharp")),
        "javascript",
        "python",
    ],
)
def bot(request: pytest.FixtureRequest) -> Bot:
    """The bot of each language."""
    if request.param == "python":
        script = Path(__file__).parents[1] / "support" / "scripts" / "conformance_bot.py"
        return Bot("python", [sys.executable, str(script)])
    return Bot(request.param, of_sdk(request.param, "conformance_bot"))


def test_each_language_has_every_name() -> None:
    assert set(TABLE["names"]) == {*LANGUAGES, "python"} >= set(TABLE["differs"])
    assert len({frozenset(names) for names in TABLE["names"].values()}) == 1


def answer_and(session: Session, question: int, reason: str, detail: str) -> None:
    """Wait for the answer to a question, and give a penalty for it."""
    session.hear()
    session.say(Penalty(id=question, reason=reason, detail=detail))


def matches(session: Session) -> None:
    """Play a match for each kind of line."""
    hop = GAMES["hop"].start().board()
    session.let_in(start(1), ask(1, board=hop))
    answer_and(session, 1, "illegal_move", "(0, 7) is taken; your turn is skipped")
    session.say(end(1), start(2, opponent="raise", game="chain_reaction", is_black=True))
    session.say(ask(2, is_black=True, board=[[2, 0, 0, -1], [0, 3, 0, 0]], move_number=1))
    answer_and(session, 2, "raised", "it failed; you lose")
    session.say(end(2, result="win", reason="resigned", detail="Green resigned.", scores=None))
    budget = {"time_kind": "budget", "time_ms": 20000, "increment_ms": 500}
    session.say(start(3, opponent="return nothing", options={"size": 6}, **budget), ask(3, board=hop))
    session.hear()
    session.say(end(3, result="draw", detail="Each has 2.5.", scores=[2.5, 2.5]))
    session.say(start(4, opponent="return long", game="longest_path"))
    session.say(ask(4, board=[[0] * 11, [0, 1, 2, *[0] * 8]]))
    answer_and(session, 4, "malformed_answer", "nothing of a move in it")
    session.say(end(4), start(5, game="chess"), ask(5, board=[[0, 1, 2], [-3, 77, -12]]))
    answer_and(session, 5, "illegal_move", "no")
    session.say(ask(6, board=[[0, 0]], move_number=4))
    answer_and(session, 6, "illegal_move", "no")
    session.say(end(5), start(6, opponent="sleep 200", resumed=True, lag_ms=0), ask(7))
    answer_and(session, 7, "missed_limit", "no answer")
    session.say(end(6, result="void", reason="called_off", detail="called off", scores=None))
    session.say(start(7, game="linkage", opponent="raise"), ask(8, board=[[1, 3, -2], [-1, 0, 4]]))
    answer_and(session, 8, "raised", "no")
    session.say(ask(9, board=[[0, 0], [0, 0]], move_number=4))
    answer_and(session, 9, "raised", "no")
    session.say(end(7), OVER)
    assert session.hear() is CLOSED


def is_late(session: Session) -> None:
    """Close a question while the bot thinks about it, and wait for the late answer."""
    session.let_in(start(1, opponent="sleep 2000", time_ms=400, lag_ms=0), ask(1, time_left_ms=400))
    time.sleep(0.2)  # until the bot has begun; the order of the lines does not count
    session.say(missed(1))
    assert session.hear() == LateAnswer(id=1)
    session.say(OVER)
    assert session.hear() is CLOSED


def test_a_late_bot(bot: Bot) -> None:
    with FakeServer(is_late) as server:
        said = bot.run(server=server)
    said.says_all("late")
    said.check(0)


def test_in_a_debugger_no_restart_is_announced() -> None:
    """It does not come: a function that a debugger has stopped does not hang."""

    def stops(session: Session) -> None:
        session.let_in(start(1, opponent="sleep 600", time_ms=100, lag_ms=0), ask(1, time_left_ms=100))
        session.hear()
        session.say(end(1), OVER)
        assert session.hear() is CLOSED

    node, *words = of_sdk("javascript", "conformance_bot")
    with FakeServer(stops) as server:
        said = Bot("javascript", [node, "--inspect=127.0.0.1:0", *words]).run(
            server=server, GETSTEP_RESTART_AFTER="60"
        )
    assert "3 limits; your bot is stalled" in said.whole
    assert "the client starts your function again" not in said.whole
    assert "\nStop it with Ctrl-C, correct it and start it again" in said.whole


def test_the_lines_of_matches(bot: Bot) -> None:
    with FakeServer(matches) as server:
        said = bot.run(server=server, progress=True)
    said.says_all("playing")
    said.check(0)


def test_a_bot_that_does_not_return(bot: Bot) -> None:
    """It is started again, says why, and plays on."""

    def hangs(session: Session) -> None:
        session.let_in(start(3, opponent="sleep 9999999", lag_ms=0))
        session.say(ask(5, time_left_ms=100, move_number=12))
        event = session.hear()
        assert isinstance(event, Raised) if bot.language == "javascript" else event is CLOSED

    def goes_on(session: Session) -> None:
        session.let_in(start(3, resumed=True), ask(6))
        assert isinstance(session.hear(), Step)
        session.say(end(3), OVER)
        assert session.hear() is CLOSED

    with FakeServer(hangs, goes_on) as server:
        said = bot.run(server=server, GETSTEP_RESTART_AFTER="1")
    said.says_all("hung")
    if bot.language == "javascript":  # it starts its thread again, and keeps the connection
        said.says("lost", TABLE["connections"]["lost"])
    said.check(0)


def test_the_lines_about_the_connection(bot: Bot) -> None:
    def is_lost(session: Session) -> None:
        session.let_in()

    def proves_nothing(session: Session) -> None:
        session.let_in(proof=no_proof)

    def proves_wrongly(session: Session) -> None:
        session.let_in(proof=wrong_proof)

    def is_full(session: Session) -> None:
        session.say(Goodbye(reason="full", detail="come back later.", retry_ms=0))

    def is_no_server(session: Session) -> None:
        """Close the connection at once."""

    def breaks_off(session: Session) -> None:
        session.let_in()
        session.sock.sendall(b"\0\0")

    def is_over(session: Session) -> None:
        session.let_in(OVER)
        assert session.hear() is CLOSED

    with FakeServer(is_no_server, is_full, proves_wrongly, proves_nothing, is_lost, breaks_off, is_over) as server:
        said = bot.run(server=server)
    said.says_all("connections")
    said.check(0)


@pytest.mark.parametrize("name", TABLE["refused"])
def test_a_bot_that_may_not_play(name: str, bot: Bot) -> None:
    refusals: dict[str, Script] = {
        "version": lambda session: session.greet(versions=[2, 3]),
        "friendly": lambda session: session.greet(friendly=True),
    }
    details = {"bad_token": "the token is wrong", "unknown_team": "there is no team 7", "replaced": "a newer login"}

    def refuses(session: Session) -> None:
        session.greet()
        session.say(Goodbye(reason=name, detail=f"{details[name]}.", retry_ms=None))

    with FakeServer(refusals.get(name, refuses)) as server:
        said = bot.run(server=server)
    said.says(name, TABLE["refused"][name])
    said.check(1)


@pytest.mark.parametrize("case", TABLE["arguments"], ids=lambda case: case["name"])
def test_the_command_line(case: Mapping[str, Any], bot: Bot) -> None:
    said = bot.run(*case["words"])
    said.says(case["name"], case["says"])
    said.check(int(TABLE["names"][bot.language]["usage_code"]))
