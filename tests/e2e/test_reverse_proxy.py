"""The page behind nginx and Caddy, with the files of docs/proxy."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest
import trio

from getstep_server.decisions.messages import announce
from getstep_server.web.listener import open_page_listener
from getstep_server.web.process import serve
from tests.support.certificates import Files, needs_openssl, self_signed, signed
from tests.support.languages import REQUIRED
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played

pytestmark = [needs_openssl, pytest.mark.long]

NAME = "contest.example.org"
FILES = Path(__file__).parents[2] / "docs" / "proxy"
SIGN_ON = "X-Test-User"
"""Stands for the single sign-on of a proxy: what the client sends in it, the proxy has checked."""


def changed(text: str, changes: dict[str, str]) -> str:
    """Return a configuration for the test, in which each of these parts is another one."""
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


def nginx(folder: Path, files: Files, page: int, port: int) -> list[str]:
    """Write a configuration, and return the command that serves it."""
    changes = {
        "127.0.0.1:8080": f"127.0.0.1:{page}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen unix:{folder}/plain.sock",
        f"/etc/letsencrypt/live/{NAME}/fullchain.pem": str(files.certificate),
        f"/etc/letsencrypt/live/{NAME}/privkey.pem": str(files.key),
        'X-Remote-User "";': f"X-Remote-User $http_{SIGN_ON.lower().replace('-', '_')};",
    }
    (folder / "site.conf").write_text(changed((FILES / "nginx.conf").read_text(), changes))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""  # who may write into the folders of this test
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}include {folder}/site.conf;\n}}\n"
    )
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, files: Files, page: int, port: int) -> list[str]:
    """Write a configuration, and return the command that serves it."""
    changes = {
        "127.0.0.1:8080": f"127.0.0.1:{page}",
        f"{NAME} {{": f"https://{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {files.certificate} {files.key}",
        "header_up -X-Remote-User": f"header_up X-Remote-User {{http.request.header.{SIGN_ON}}}",
    }
    own = "{\n\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 1s\n}\n"
    (folder / "Caddyfile").write_text(own + changed((FILES / "Caddyfile").read_text(), changes))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


PROXIES = {"nginx": nginx, "caddy": caddy}


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    folder = half_played(tmp_path / "half")
    text = (folder / "contest.toml").read_text()
    settings = (
        f'page_address = "https://{NAME}"\ntrusted_proxies = ["127.0.0.1"]\ntrusted_user_header = "X-Remote-User"\n'
    )
    assert text.count("[server]\n") == 1
    (folder / "contest.toml").write_text(text.replace("[server]\n", f"[server]\n{settings}"))
    return folder


@asynccontextmanager
async def behind(proxy: str, contest: Path, folder: Path) -> AsyncIterator[Client]:
    """Serve a contest's page behind a proxy."""
    authority = self_signed(folder, "authority")
    files = signed(folder, authority, f"DNS:{NAME}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with trio.open_nursery() as nursery:
        listener = open_page_listener("127.0.0.1", 0)
        nursery.start_soon(serve, contest, listener)
        command = PROXIES[proxy](folder, files, listener.getsockname()[1], port)
        environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
        }
        with (folder / "log").open("wb") as log:
            process = await trio.lowlevel.open_process(command, stdout=log, stderr=log, env=environment)
            try:
                await listens(port, process, folder / "log")
                yield Client(port, authority)
            finally:
                process.terminate()
                with trio.CancelScope(shield=True):
                    await process.wait()
        nursery.cancel_scope.cancel()


async def listens(port: int, process: trio.Process, log: Path) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        while True:
            assert process.poll() is None, log.read_text()
            try:
                await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
            except OSError:
                await trio.sleep(0.05)
            else:
                return


class Client:
    """A browser that trusts one authority, and finds the name at a loopback port."""

    def __init__(self, port: int, authority: Files) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(authority.certificate))

    @contextmanager
    def open(
        self, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request; the answer has not been read."""
        with closing(http.client.HTTPConnection(NAME, timeout=PATIENCE_SECONDS)) as connection:
            sock = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_SECONDS)
            connection.sock = self._context.wrap_socket(sock, server_hostname=NAME)
            connection.request("GET" if body is None else "POST", path, body, {"Host": NAME, **headers})
            with connection.getresponse() as answer:
                yield answer

    def ask(
        self, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, str, str]:
        """Return the status, the text and the cookie of an answer."""
        with self.open(path, headers or {}, body) as answer:
            return answer.status, answer.read().decode(), answer.getheader("Set-Cookie", "")


def check_pages(client: Client) -> None:
    status, text, _ = client.ask("/")
    assert status == 200
    assert "Overview" in text
    assert f"-r https://{NAME}/pip" in client.ask("/start")[1] or "getstep login" in client.ask("/start")[1]
    # the proxy of this machine gives nobody the rights of this machine, whatever the client claims
    spoofed = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "127.0.0.1", "X-Remote-User": "2"}
    for path in ("/metrics", "/host"):
        assert client.ask(path, spoofed)[0] == 403
    assert 'id="token"' in client.ask("/own", spoofed)[1]
    assert "<bdi>Blaise</bdi>" in client.ask("/own", {SIGN_ON: "2", "X-Remote-User": "1"})[1]
    form = b"game=hop&bot=random_bot&me=0"
    status, _, cookie = client.ask("/play/sample", {"Origin": f"https://{NAME}"}, form)
    assert (status, cookie.endswith("HttpOnly; SameSite=Strict; Secure")) == (303, True)
    assert client.ask("/play/sample", {"Origin": "https://evil.example"}, form)[0] == 403
    assert "Overview" not in client.ask("/", {"Host": "evil.example"})[1]


def check_stream(client: Client, contest: Path) -> None:
    """Each event arrives while the answer goes on, and not when a buffer is full."""
    with client.open("/api/v1/pages/notices", {"Accept": "text/event-stream"}) as answer:
        assert answer.readline().startswith(b"data: ")
        for number in range(3):
            announce(contest, f"Message {number}", "Ada")
            while f"Message {number}".encode() not in answer.readline():
                pass


@pytest.mark.parametrize("proxy", PROXIES)
async def test_the_page_behind_a_reverse_proxy(proxy: str, contest: Path, tmp_path: Path) -> None:
    if not os.environ.get(REQUIRED) and shutil.which(proxy) is None:
        pytest.skip(f"{proxy} is not installed")  # a file for a proxy cannot be tried without that proxy
    folder = tmp_path / "proxy"
    folder.mkdir()
    async with behind(proxy, contest, folder) as client:
        with trio.fail_after(4 * PATIENCE_SECONDS):
            await trio.to_thread.run_sync(check_pages, client)
            await trio.to_thread.run_sync(check_stream, client, contest)
