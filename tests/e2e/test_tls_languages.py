"""Bots of each language in a contest with TLS: they play with the pin, and trust no other server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.config.certificate import Certificate
from getstep_server.events import Listening, MatchEnded
from tests.support.certificates import Files, needs_openssl, self_signed, signed
from tests.support.contests import make_contest, token_of
from tests.support.languages import of_sdk
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Running, running

pytestmark = [needs_openssl, pytest.mark.long]

LANGUAGES = ("python", "cpp", "javascript", "java", "csharp")


def command_of(language: str) -> list[str]:
    if language == "python":
        return [sys.executable, "-m", "getstep", "play", str(sample_bots()["random_bot"])]
    return of_sdk(language, "conformance_bot", tls=True)


async def talk(
    command: list[str], server: Running, options: list[str], environment: dict[str, str], until: str, team: int = 1
) -> str:
    """Run a bot until it ends, or has printed ``until``; return what it has printed."""
    words = [*command, "--host", "127.0.0.1", "--port", str(server.port), "--team", str(team), *options]
    process = await trio.lowlevel.open_process(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={
            **os.environ,
            "GETSTEP_TOKEN": token_of(team),
            "GETSTEP_LOGIN_FILE": str(server.contest.folder / "none"),
            **environment,
        },
    )
    assert process.stdout is not None
    said = b""
    try:
        with trio.fail_after(2 * PATIENCE_SECONDS):
            while until.encode() not in said and (part := await process.stdout.receive_some()):
                said += part
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            await process.stdout.aclose()
    return said.decode(errors="replace")


def trusting(language: str, authority: Files, folder: Path) -> dict[str, str] | None:
    """Return the variables with which a program trusts an authority; None if it has a list of its own only."""
    if language in ("python", "cpp"):
        return {"SSL_CERT_FILE": str(authority.certificate)}
    if language == "javascript":
        return {"NODE_EXTRA_CA_CERTS": str(authority.certificate)}
    if language == "java":
        store = folder / "store.p12"
        words = ["-importcert", "-noprompt", "-alias", "a", "-file", str(authority.certificate)]
        password = ["-storepass", "password"]
        subprocess.run(["keytool", *words, "-keystore", str(store), *password], check=True, capture_output=True)
        return {
            "JDK_JAVA_OPTIONS": f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=password"
        }
    return None


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_bot_plays_over_tls_and_trusts_no_other_server(language: str, tmp_path: Path) -> None:
    command = command_of(language)
    authority = self_signed(tmp_path, "authority")
    files = signed(tmp_path, authority, "IP:127.0.0.1")
    pin = Certificate(files.certificate, files.key).pin
    contest = make_contest(tmp_path, 2, patient=True, event={"game": "longest_path"}, server=files.settings())
    async with running(contest) as server:
        said = await talk(command, server, ["--tls-pin", 64 * "0"], {}, "pin " + pin)
        assert "another key than the pin says" in said, said
        said = await talk(command, server, ["--tls"], {}, "not to be trusted")
        assert "not to be trusted" in said, said
        plain = f"--port={server.recorder.of(Listening)[0].local_port}"
        # Mono does not tell what it is
        text = "no TLS here" if language == "csharp" else "does not speak TLS; without --tls"
        said = await talk(command, server, [plain, "--tls"], {}, text)
        assert text in said, said
        said = await talk(command, server, [], {}, "This port speaks TLS")
        assert "This port speaks TLS. Start the bot with --tls" in said, said
        trusted = trusting(language, authority, tmp_path)
        if trusted is not None:
            said = await talk(command, server, ["--tls", "--host", "localhost"], trusted, "not to be trusted")
            assert "not to be trusted" in said, said  # the certificate is for the address alone
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk, command, server, ["--tls-pin", pin], {}, "The contest is over", 1)
            way = ["--tls-pin", pin.upper()] if trusted is None else ["--tls"]
            nursery.start_soon(talk, command, server, way, trusted or {}, "The contest is over", 2)
            result = (await server.recorder.wait_for(MatchEnded)).result
            await server.finished()
    assert result.reason == "finished"
    assert result.faults == (0, 0)
