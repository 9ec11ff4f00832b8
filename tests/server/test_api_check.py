"""The command `api-check`, and a program that asks at random, against a page that runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.cli.main import run_command
from getstep_server.config.host_key import bearer_key
from getstep_server.web import api_routes
from getstep_server.web.event_log import Position
from getstep_server.web.host_access import HostAccess
from getstep_server.web.http import Request
from getstep_server.web.listener import open_page_listener
from getstep_server.web.process import serve
from tests.old_contests.contests import unpack


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[str]:
    """The address of the page of a contest that is over."""
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    with open_page_listener("127.0.0.1", 0) as listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, folder, listener)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            nursery.cancel_scope.cancel()


async def checked(page: str) -> int:
    return await trio.to_thread.run_sync(run_command, ["api-check", page])


async def test_a_page_passes(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await checked(page) == 0
    assert " checks, 0 failed." in capsys.readouterr().out


@pytest.mark.long  # 3 s in all: each is a page of its own
@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("CACHED", api_routes.OPEN, "no ETag"),
        ("PROBLEM", "text/plain", "Content-Type 'text/plain'"),
        ("Parameter.read", lambda _, text: text, "status 200, expected 400"),
        ("position_of", lambda _: Position(), "the token before it"),
    ],
)
async def test_a_page_with_a_mistake_fails(
    page: str, place: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(f"getstep_server.web.api_routes.{place}", value)
    assert await checked(page) == 1
    assert said in capsys.readouterr().out


async def test_an_address_for_the_host_that_needs_no_key_fails(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def check_key(_: HostAccess, __: Request) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(HostAccess, "check_key", check_key)
    assert await checked(page) == 1
    assert "GET /api/v1/host/health, without a key: FAILED: status 200, expected 401" in capsys.readouterr().out


def test_no_page_at_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["api-check", "http://127.0.0.1:9"]) == 2
    assert "expected the address of a page that runs" in capsys.readouterr().err
    assert run_command(["api-check", "lab-pc"]) == 2


@pytest.mark.long
async def test_what_nobody_would_ask_gets_an_answer_of_the_description(page: str, tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    key = bearer_key(tmp_path / "finished")
    checks = (
        *("not_a_server_error", "status_code_conformance"),
        *("content_type_conformance", "response_schema_conformance"),
    )
    command: list[str | Path] = [
        *(Path(sys.executable).with_name("schemathesis"), "run", f"{page}/api/openapi.json", "--url", page),
        *("--max-examples", "15", "--seed", "1", "--phases", "fuzzing", "--workers", "2"),
        *("--checks", ",".join(checks)),
        *("--header", f"Authorization: Bearer {key}"),
        *("--exclude-path", "/api/v1/feed", "--request-timeout", "10", "--no-color"),
    ]
    done = await trio.run_process(command, check=False, capture_stdout=True, stderr=subprocess.STDOUT, cwd=tmp_path)
    assert done.returncode == 0, done.stdout.decode()[-4000:]
