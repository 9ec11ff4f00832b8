"""Language models as players, at an endpoint of ours on the loopback interface that answers well and badly."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from getstep._errors import SetupError
from getstep.cli import main
from getstep.llm.arguments import DEFAULTS
from getstep.llm.endpoint import MAX_ANSWER_BYTES, Endpoint, EndpointError
from getstep.llm.player import LanguageModel, ModelCallback, board_text, read_answer, rules_text
from getstep.turn import CallResult, Turn
from getstep.wire import MAX_SAY, checked_notes
from getstep_bots import random_bot
from getstep_engines import GAMES
from tests.support.model_endpoint import Model, Reply, body, plays_last, says, serving
from tests.support.patience import PATIENCE_SECONDS

KEY = "sk-very-secret-0815"
PAUSE_SECONDS = 0.02
"""Between two bytes of an answer that never ends."""


@dataclass
class Asked:
    """One turn of a model."""

    call: CallResult
    model: LanguageModel
    slept: list[float]

    @property
    def said(self) -> str:
        return str((self.call.notes or {}).get("say", ""))


def ask(
    server: Model | str, *, game: str = "longest_path", seconds: float = PATIENCE_SECONDS, **more: Any
) -> Asked:
    """Ask a model for the first move of a game."""
    slept: list[float] = []
    url = server if isinstance(server, str) else server.url
    model = LanguageModel(Endpoint(url, "tiny", KEY), sleep=slept.append, **{**DEFAULTS, **more})
    turn = Turn(game, 1, 1, "Other", None, round(1000 * seconds))
    return Asked(ModelCallback(model).call(GAMES[game].start().board(), True, turn), model, slept)


# --- answers ----------------------------------------------------------------------------------------------------


def test_a_model_is_asked_with_rules_board_and_notation() -> None:
    with serving(says("I think ...\n\nMove: 3,4\n")) as server:
        asked = ask(server, max_tokens=77)
    assert (asked.call.move, asked.call.error) == ([3, 4], None)
    (question,) = server.asked
    assert (server.paths, server.keys) == (["/v1/chat/completions"], [f"Bearer {KEY}"])
    assert (question["model"], question["max_tokens"], question["stream"]) == ("tiny", 77, False)
    system, user = question["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert GAMES["longest_path"].rules.strip() in system["content"]
    assert "Write a square as row,column" in system["content"]
    assert board_text(GAMES["longest_path"].start().board()) in user["content"]
    assert asked.model.used == 110
    assert asked.said.startswith(
        "tiny: 110 tokens, 0.0 s, 1 answers\nanswer: I think ... Move: 3,4\nquestion: You are"
    )


@pytest.mark.parametrize("name", list(GAMES))
def test_the_example_of_the_instructions_is_a_legal_move(name: str) -> None:
    game = GAMES[name]
    text = rules_text(game)
    move, wrong = read_answer(game, game.start(), text)  # its last line is the example
    assert wrong == ""
    game.start().play(move)


def test_a_board_has_the_numbers_of_rows_and_columns() -> None:
    assert board_text([[0, -3], [10, 1]]) == "column:  0  1\nrow  0:  0 -3\nrow  1: 10  1"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "the last line is not 'move:' and a move"),
        ("3,4", "the last line is not"),
        ("move: 3,4\nThat is my move.", "the last line is not"),
        ("I would move: 3,4", "the last line is not"),
        ("move: 3,4.", "'move: 3,4.' is not a legal move"),
        ("move: (3, 4)", "is not a legal move"),
        ("move: 3\x004", "is not a legal move"),
        ("move: 3,4 or 5,5", "is not a legal move"),
        ("move: " + "9," * 5000, "the last line is not"),
        ("move: 11,0", "illegal: "),
    ],
)
def test_an_answer_that_is_no_move(text: str, wrong: str) -> None:
    game = GAMES["longest_path"]
    move, said = read_answer(game, game.start(), text)
    assert move is None
    assert wrong.replace("'move: 3,4.'", "move: 3,4.") in said
    assert len(said) < 400


def test_a_model_is_told_what_was_wrong_and_tries_again() -> None:
    with serving(says("Hello!"), says("move: 11,11"), says("move: 0,0", 120, 12)) as server:
        asked = ask(server)
    assert asked.call.move == [0, 0]
    said = [message["content"] for message in server.asked[2]["messages"][2:]]
    assert said[0] == "Hello!"
    assert said[1].startswith("This is no answer: the last line is not 'move:'")
    assert said[2] == "move: 11,11"
    assert "illegal: (11, 11) is not a square" in said[3] or "illegal: [11, 11] is not a square" in said[3]
    assert asked.model.used == 110 + 110 + 132
    assert "answer: Hello! (the last line is not" in asked.said


def test_a_model_that_does_not_learn_pays_the_penalty_of_a_fault() -> None:
    with serving(says("I resign from chess.")) as server:
        asked = ask(server, tries=2)
    assert len(server.asked) == 3
    assert (asked.call.move, asked.call.resigns) == (None, False)
    assert asked.call.error is not None
    assert asked.call.error.startswith(
        "the model has answered 3 times without a legal move; the last time: the last"
    )
    assert "Traceback" not in asked.call.problem


@pytest.mark.parametrize("text", ["x" * 900_000, "\ud800\0\x1b[2J" * 500, "\n".join(["move: 1"] * 5000)])
def test_what_a_model_says_is_bounded(text: str) -> None:
    with serving(says(text)) as server:
        asked = ask(server, tries=3)
    assert asked.call.error is not None
    assert len(asked.call.error) < 600
    assert 0 < len(asked.said) <= MAX_SAY
    assert checked_notes(asked.call.notes) == asked.call.notes
    assert not asked.call.dropped
    sizes = [len(json.dumps(question)) for question in server.asked]
    assert sizes[-1] < sizes[0] + 3 * 15_000


# --- tokens -----------------------------------------------------------------------------------------------------


def test_a_run_has_no_more_tokens_than_it_may() -> None:
    with serving(says("Hm.", 3000, 500)) as server:
        asked = ask(server, most_tokens=10_000, max_tokens=500, tries=20)
    assert asked.model.used == 3500 * len(server.asked) <= 10_000
    assert 1 <= len(server.asked) <= 3
    assert (asked.call.resigns, asked.call.error) == (True, None)
    assert re.match(r"\d+ of 10000 tokens are used, and too few are left for a question\.", asked.call.problem)
    again = ModelCallback(asked.model).call(
        GAMES["hop"].start().board(), True, Turn("hop", 2, 1, "Other", None, 5000)
    )
    assert again.resigns
    assert len(server.asked) == asked.model.used // 3500  # it is asked no more


@pytest.mark.parametrize("count", [None, -5, 10**30, True, "12", [1]])
def test_tokens_that_nobody_counts_are_counted_here(count: object) -> None:
    with serving(says("move: 0,0", count, count)) as server:
        asked = ask(server)
    question = "".join(message["content"] for message in server.asked[0]["messages"])
    assert asked.model.used == len(question.encode()) // 2 + 1 + len("move: 0,0") // 2 + 1


def test_an_answer_that_does_not_arrive_costs_as_much_as_the_longest() -> None:
    with serving(body(b"{"), says("move: 0,0")) as server:
        asked = ask(server, max_tokens=5000)
    assert asked.call.move == [0, 0]
    assert asked.model.used > 5000 + 110


# --- endpoints that fail ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": {"0": 1}}',
        b"",
    ],
)
def test_an_answer_that_is_broken_is_asked_again_some_times(bad: bytes) -> None:
    with serving(body(bad)) as server:
        asked = ask(server)
    assert (len(server.asked), asked.slept) == (5, [0.5, 1.0, 2.0, 4.0])
    assert asked.call.error is not None
    assert asked.call.error.startswith("the endpoint has not answered: its answer is no chat completion")
    assert asked.call.error.isprintable()


def test_an_error_of_the_server_is_waited_for() -> None:
    with serving(body(b"oops", 500), body(b"", 503), says("move: 0,0")) as server:
        asked = ask(server)
    assert (asked.call.move, asked.slept, asked.model.used) == ([0, 0], [0.5, 1.0], 110)


def in_seconds(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


def test_retry_after_is_waited_for_if_the_move_has_the_time() -> None:
    limit = body(b'{"error": {"message": "slow down"}}', 429, Retry_After="7")
    date = body(b"", 429, Retry_After=in_seconds(60))
    with serving(limit, date, body(b"", 429, Retry_After="soon"), says("move: 0,0")) as server:
        asked = ask(server)
    assert asked.call.move == [0, 0]
    assert asked.slept[0] == 7.0
    assert 30 < asked.slept[1] <= 60
    assert asked.slept[2] == 2.0
    with serving(body(b'{"error": {"message": "slow down"}}', 429, Retry_After="9000")) as server:
        asked = ask(server)
    assert (len(server.asked), asked.slept) == (1, [])
    assert asked.call.error == (
        "the endpoint has not answered in the time of the move: it answers 429: slow down; it asks to wait 9000 s"
    )


@pytest.mark.parametrize(
    ("status", "data", "why"),
    [
        (401, b'{"error": {"message": "bad key sk-very-secret-0815"}}', "it answers 401: bad key [key]"),
        (404, b'{"error": "model tiny not found"}', "it answers 404: model tiny not found"),
        (400, b"<html>\x1b[31m" + b"x" * 10_000, "it answers 400: <html>"),
        (418, b"", "it answers 418"),
    ],
)
def test_a_refusal_is_not_asked_again(status: int, data: bytes, why: str) -> None:
    with serving(body(data, status)) as server:
        asked = ask(server)
    assert len(server.asked) == 1
    assert asked.call.error is not None
    assert asked.call.error.startswith(f"the endpoint has not answered: {why}")
    assert len(asked.call.error) < 300
    assert asked.call.error.isprintable()
    assert asked.model.used == 0


def test_a_redirect_is_not_followed() -> None:
    with serving(says("move: 0,0")) as other, serving(body(b"", 307, Location=f"{other.url}/x")) as server:
        asked = ask(server)
    assert other.asked == []
    assert asked.call.error is not None
    assert f"it answers 307, a redirect to {other.url}/x, which is not followed" in asked.call.error


def test_a_newer_name_of_the_limit_is_used_if_the_endpoint_asks_for_it() -> None:
    refusal = b'{"error": {"message": "Unsupported parameter: use max_completion_tokens instead"}}'
    with serving(body(refusal, 400), says("move: 0,0")) as server:
        asked = ask(server, max_tokens=9)
    assert asked.call.move == [0, 0]
    assert [question.get("max_completion_tokens") for question in server.asked] == [None, 9]


def test_the_key_is_shown_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(says(f"Your key is {KEY}"), body(f"{KEY} is wrong".encode(), 403)) as server:
        asked = ask(server)
    assert asked.call.error is not None
    shown = f"{asked.call.error}{asked.call.problem}{asked.call.notes}{capfd.readouterr()}"
    assert "[key]" in shown
    assert KEY not in shown
    assert KEY not in json.dumps(server.asked)


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000000")
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b" " * 100_000)


def test_100_mb_are_not_read() -> None:
    with serving(endless) as server:
        endpoint = Endpoint(server.url, "tiny")
        with pytest.raises(EndpointError, match=f"more than {MAX_ANSWER_BYTES} bytes") as failed:
            endpoint.ask([], 10, time.monotonic() + PATIENCE_SECONDS)
    assert failed.value.counted


def silent(handler: Any) -> None:
    handler.over.wait(PATIENCE_SECONDS)


def dripping(handler: Any) -> None:
    """Send a byte again and again: each call of the socket is quick, and the answer never ends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.over.wait(PAUSE_SECONDS):
        handler.wfile.write(b" ")


def dripping_head(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not handler.over.wait(PAUSE_SECONDS):
        handler.wfile.write(b"x")


@pytest.mark.parametrize("slow", [silent, dripping, dripping_head])
def test_an_endpoint_that_never_answers_costs_the_turn_in_time(slow: Reply) -> None:
    with serving(slow) as server:
        began = time.monotonic()
        asked = ask(server, seconds=0.5, max_tokens=321)
        took = time.monotonic() - began
    assert asked.call.error == "the endpoint has not answered in the time of the move: no answer in time"
    assert took >= 0.4
    assert took < PATIENCE_SECONDS / 2  # and not as long as the endpoint is silent
    assert len(server.asked) == 1
    assert asked.model.used > 321


def test_a_move_takes_a_tenth_of_a_limit_for_the_whole_match() -> None:
    with serving(body(b"", 429, Retry_After="60")) as server:
        model = LanguageModel(Endpoint(server.url, "tiny"), sleep=lambda _seconds: None, **DEFAULTS)
        board, errors = GAMES["longest_path"].start().board(), []
        for kind in ("move", "budget"):
            turn = Turn("longest_path", 1, 1, "Other", None, 500_000, time_kind=kind)
            errors.append(ModelCallback(model).call(board, True, turn).error or "")
    assert errors[0] == "the endpoint has not answered: it answers 429"  # waited for, five times
    assert errors[1].endswith("in the time of the move: it answers 429; it asks to wait 60 s")
    assert len(server.asked) == 5 + 1


def test_no_endpoint_at_all() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    asked = ask(f"http://127.0.0.1:{port}/v1")
    assert asked.call.error is not None
    assert "Connection refused" in asked.call.error
    assert asked.model.used == 0


def test_another_protocol() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-" + KEY.encode() + b"\r\n")

    with serving(reply) as server:
        asked = ask(server)
    assert asked.call.error is not None
    assert asked.call.error.endswith("not an answer of HTTP")


# --- settings, and the commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["", "localhost:1", "ftp://a/v1", "http://", "http://a:x/", "http://me:key@a/", "http://a/?k=1", "http://a b"],
)
def test_a_wrong_address(url: str) -> None:
    with pytest.raises(SetupError, match="--url: expected an address such as"):
        Endpoint(url, "tiny")


def test_a_key_in_clear_is_noticed() -> None:
    assert Endpoint("http://example.org/v1", "tiny", KEY).sends_key_in_clear
    assert not Endpoint("https://example.org/v1", "tiny", KEY).sends_key_in_clear
    assert not Endpoint("http://127.0.0.1:1/v1", "tiny", KEY).sends_key_in_clear
    assert not Endpoint("http://example.org/v1", "tiny").sends_key_in_clear


URL = ["--url", "http://127.0.0.1:9/v1", "--model", "tiny"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--as", "llm"], "--as llm needs --url"),
        (["--as", "llm", "--url", "http://127.0.0.1:9/v1"], "--as llm needs --model"),
        (["bot.py", "--as", "llm", *URL], "a language model has no file; leave out bot.py"),
        (["bot.py", *URL], "--url is for a language model: add --as llm"),
        (["--as", "llm", *URL, "--tries", "-1"], "--tries is -1; expected a number from 0 to 20"),
        (["--as", "llm", *URL, "--max-tokens", "0"], "--max-tokens is 0; expected a number from 1"),
        (["--as", "llm", *URL, "--key-variable", "NO_SUCH_KEY"], "variable NO_SUCH_KEY is not set"),
        ([], "Which bot?"),
    ],
)
@pytest.mark.parametrize("command", ["play", "practice"])
def test_options_that_do_not_fit(
    command: str, words: list[str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert main([command, *words]) == 2
    assert why in capsys.readouterr().err


AGAINST = ["bot.py", "--game", "hop", "--against-as", "llm"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([*AGAINST, "--against", "tiny"], "--against-as llm needs --url"),
        ([*AGAINST, *URL[:2]], "--against-as llm needs the name of a model, such as --against llama3.2"),
        ([*AGAINST, *URL], "--model is for --as llm; the model of --against-as is --against NAME"),
        ([*AGAINST, *URL[:2], "--human"], "--human: your bot plays against you; leave out --against-as"),
        ([*AGAINST, "--against", "tiny", *URL[:2], "--tries", "99"], "--tries is 99"),
    ],
)
def test_options_of_an_opponent_that_do_not_fit(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.py").write_text("def get_step(board, is_black):\n    pass\n", encoding="utf-8")
    assert main(["practice", *words]) == 2
    assert why in capsys.readouterr().err


def practice(model: Model, *words: str) -> int:
    given = ["--url", model.url, "--model", "a/tiny:1b", "--game", "longest_path", "--against", "random"]
    return main(["practice", "--as", "llm", *given, *words])


def test_a_model_practises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GETSTEP_LLM_KEY", KEY)
    with serving(plays_last) as server:
        assert practice(server, "--games", "1") == 0
    assert len(server.asked) == 61
    assert set(server.keys) == {f"Bearer {KEY}"}
    replay = (tmp_path / "tiny-1b-practice.html").read_text(encoding="utf-8")
    assert "110 tokens" in replay
    assert KEY not in replay + capsys.readouterr().out


def test_a_bot_practises_against_a_model_and_two_models_against_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bot = Path(random_bot.__file__)
    with serving(plays_last) as server:
        opponent = ["--url", server.url, "--against", "a/tiny:1b", "--against-as", "llm"]
        assert main(["practice", str(bot), *opponent, "--game", "longest_path", "--games", "1"]) == 0
        alone = len(server.asked)
        assert {question["model"] for question in server.asked} == {"a/tiny:1b"}
        words = ["--as", "llm", "--model", "other", "--game", "longest_path", "--games", "1"]
        assert main(["practice", *opponent, *words]) == 0
        assert {question["model"] for question in server.asked[alone:]} == {"a/tiny:1b", "other"}
    shown = capsys.readouterr().out
    assert "random_bot.py against a/tiny:1b, longest_path: " in shown
    assert "other against a/tiny:1b, longest_path: " in shown


def test_practice_ends_when_the_tokens_are_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(plays_last) as server:
        assert practice(server, "--games", "5", "--most-tokens", "4000") == 130
    assert 3 < len(server.asked) < 30
    shown = capsys.readouterr().out
    assert "of 4000 tokens are used, and too few are left for a question" in shown


def test_a_model_plays_for_its_team(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It plays on the wire, and gives up the match once its tokens are used up."""
    taken: list[Any] = []

    def client_for(load: Callable[[], Any], *_: object, **more: object) -> Any:
        taken.extend((load(), more["restart_after"]))
        raise SetupError("enough")

    monkeypatch.setattr("getstep.cli.client_for", client_for)
    with serving(says("move: 2,3")) as server:
        words = ["--url", server.url, "--model", "tiny", "--restart-after", "5", "--most-tokens", "5000"]
        assert main(["play", "--as", "llm", *words]) == 2
        callback, restart_after = taken
        turn = Turn("longest_path", 1, 1, "Other", None, round(1000 * PATIENCE_SECONDS))
        call = callback.call(GAMES["longest_path"].start().board(), True, turn)
    assert (call.move, callback.stem, restart_after) == ([2, 3], "llm", 0)
    assert capsys.readouterr().err.endswith("enough\n")
