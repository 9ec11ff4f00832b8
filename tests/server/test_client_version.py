"""A bot whose SDK is older than the server is told once where the new one is, and plays on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from getstep.languages import LANGUAGES
from getstep.wire import Hello, Join, Notice, Start, Welcome, sign
from getstep_server.events import Bus, Listening
from getstep_server.net.client_version import update_notice
from getstep_server.runtime.run import open_contest, run_opened
from getstep_server.runtime.start import StartCondition
from tests.support.contests import make_contest, token_of
from tests.support.servers import Recorder, connected, seated

PAGE = "http://192.168.1.10:8080"


@pytest.mark.parametrize(
    ("client", "told"),
    [
        ("getstep 0.9.10", f"first command on your slip, or: python -m pip install --upgrade -r {PAGE}/pip"),
        ("getstep-java 0.9.10", f"{PAGE}/languages/java/Getstep.java"),
        ("getstep-csharp 0.10.0", f"{PAGE}/languages/csharp/Getstep.cs"),
        ("getstep C++ 0.9.99", f"{PAGE}/languages/cpp/getstep.hpp"),
        ("getstep JavaScript 0.0.1", f"{PAGE}/languages/javascript/getstep.mjs"),
        ("getstep-java 0.10.1", None),
        ("getstep-java 0.11.0", None),
        ("getstep-java 1.0.0", None),
        ("getstep-rust 0.1.0", None),
        ("getstep-java 0.9", None),
        ("getstep-java 0.9.1 ", None),
        ("minimal client", None),
        ("", None),
    ],
)  # fmt: skip
def test_only_an_older_sdk_is_told(client: str, told: str | None) -> None:
    notice = update_notice(client, PAGE, "0.10.1")
    assert (notice is None) == (told is None)
    if notice is not None and told is not None:
        assert notice.text.endswith(told)
        assert f" {client.rpartition(' ')[2]} is older than the server's, 0.10.1. " in notice.text


def test_without_a_page_the_host_has_it() -> None:
    notice = update_notice("getstep-java 0.9.0", None, "0.10.1")
    assert notice is not None
    assert notice.text.endswith("It plays on. Get the new one from your host.")


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_sdk_file_has_the_name_of_its_language_in_its_login(name: str) -> None:
    language = LANGUAGES[name]
    source = "".join(content.decode() for _, content in language.sdk_files())
    names = f"getstep-{name}|getstep {re.escape(language.title)}"
    sent = re.findall(rf"""client.*["`](?:{names}) |"(?:getstep-{name}) \"""", source)
    assert sent


async def test_it_is_told_once_for_each_file_before_its_match(tmp_path: Path) -> None:
    told: list[list[str]] = []

    async def log_in(port: int, client: str, *, notices: bool | None = True) -> None:
        async with connected(port) as player:
            hello = await player.expect(Hello)
            await player.say(Join(1, 1, sign(token_of(1), hello.nonce), client, notices=notices))
            await player.expect(Welcome)
            texts: list[str] = []
            while not isinstance(message := await player.next(), Start):
                assert isinstance(message, Notice)
                assert message.kind == "update"
                texts.append(message.text)
            told.append(texts)

    recorder, bus = Recorder(), Bus()
    bus.subscribe(recorder)
    with open_contest(make_contest(tmp_path)) as opened:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_opened, replace(opened, page_port=8081), bus, StartCondition())
            port = (await recorder.wait_for(Listening)).port
            async with seated(port, 2):
                await log_in(port, "getstep-java 0.0.8", notices=None)
                for client in ("getstep-java 0.0.8", "getstep-java 0.0.8", "getstep-java 0.0.9", "getstep 9.0.0"):
                    await log_in(port, client)
            nursery.cancel_scope.cancel()
    address = "http://127.0.0.1:8081/languages/java/Getstep.java"
    assert [[address in text for text in texts] for texts in told] == [[], [True], [], [True], []]
