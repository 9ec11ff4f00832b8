"""The area of a team on the host's live page, for commands: it logs in as a browser does.

The token signs a nonce, and never travels; and the page has to prove that it knows the token, too.
"""

from __future__ import annotations

import argparse
import http
import http.client
import json
import secrets
import time
from typing import Any
from urllib.parse import urlencode

from getstep._errors import NotGetstep, NotProved, Refused, Unreachable
from getstep.text import Console, escape_control_chars
from getstep.wire import sign_page_login, verify_server

from . import saved_login
from .discovery import find_one
from .settings import PAGE_PORT, Address, Login, find_address, host_is_given
from .tls import TlsError, over_tls

_ANSWER_BYTES = 4_000_000
_TIMEOUT_SECONDS = 20.0
POLL_SECONDS = 0.5
"""How often a command asks for what has become of its wish."""

_HINT = "The address of the live page is on the slip from the host; --web-port is the port of that page."
_LOST_SECONDS = 60.0  # how long the result is asked for while the page does not answer: it may be started again


def page_address(options: argparse.Namespace, console: Console) -> Address:
    """Return the address of the live page: of the given host, of the saved one, or of one that is found."""
    if not host_is_given(options.host) and saved_login.load() is None:
        console.say("Looking for contests on this network ...")
        found = find_one(console)
        if found is not None:
            return find_address(found.addresses[0].host, options.port or PAGE_PORT)
    return find_address(options.host, options.port or PAGE_PORT)


class _Connection(http.client.HTTPConnection):
    """A connection to the page, over TLS if the bots of this login use it: both ports have the same certificate."""

    def __init__(self, address: Address) -> None:
        super().__init__(address.host, address.port, timeout=_TIMEOUT_SECONDS)
        self._tls = address.tls

    def connect(self) -> None:
        super().connect()
        if self._tls:
            self.sock = over_tls(self.sock, self.host, self._tls)
            self.sock.settimeout(_TIMEOUT_SECONDS)


class OwnArea:
    """The team's area of a live page.

    Args:
        address: of the page.
        not_sent: what follows if the page does not prove itself: a clause.
        unsure: what is not known, and what to do, if the page goes away after its first answer: a sentence.
    """

    def __init__(self, address: Address, *, not_sent: str, unsure: str) -> None:
        self._address = address
        self._not_sent = not_sent
        self._unsure = unsure
        self._url = f"{'https' if address.tls else 'http'}://{address}"
        self._cookie = ""
        self._has_answered = False

    def log_in(self, team: Login, console: Console) -> None:
        """Log in.

        Raises:
            GetstepError: the page cannot be reached, or does not accept the login.
            NotProved: the page does not prove that it knows the token; nothing but the login was sent.
        """
        console.say(f"Logging in at {self._url} ...")
        nonce, mine = self.get("/own/nonce.json").get("nonce"), secrets.token_hex(16)
        if not isinstance(nonce, str):
            raise self._strange()
        form = {
            "team": str(team.team),
            "nonce": nonce,
            "mac": sign_page_login(team.token, nonce),
            "client_nonce": mine,
        }
        answer = self.send_form("/own/login", form)
        proof = answer.get("proof")
        if not isinstance(proof, str) or not verify_server(team.token, nonce, mine, proof):
            raise NotProved(f"{self._url} does not prove that it knows your token, so {self._not_sent}.")

    def get(self, target: str) -> dict[str, Any]:
        """Return a document of the page."""
        return self._ask("GET", target, b"")

    def watch(self, target: str) -> dict[str, Any]:
        """Return a document of the page. The page is asked again for a minute if it is away.

        Raises:
            GetstepError: it does not answer, or refuses.
        """
        until = time.monotonic() + _LOST_SECONDS
        while True:
            try:
                return self.get(target)
            except Unreachable:
                if time.monotonic() > until:
                    raise
            time.sleep(POLL_SECONDS)

    def send(self, target: str, data: bytes, **headers: str) -> dict[str, Any]:
        """Send data, and return the answer."""
        return self._ask("POST", target, data, **headers)

    def send_form(self, target: str, fields: dict[str, str]) -> dict[str, Any]:
        """Send the fields of a form, and return the answer."""
        return self.send(
            target, urlencode(fields).encode(), **{"Content-Type": "application/x-www-form-urlencoded"}
        )

    def _ask(self, method: str, target: str, data: bytes, **headers: str) -> dict[str, Any]:
        connection = _Connection(self._address)
        if self._cookie:
            headers["Cookie"] = self._cookie
        try:
            connection.request(method, target, data or None, headers)
            answer = connection.getresponse()
            body, cookie = answer.read(_ANSWER_BYTES), answer.getheader("Set-Cookie", "")
        except TlsError as error:
            raise NotGetstep(f"{self._url}: {error}.\n{_HINT}") from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            if self._has_answered:  # the address is right; what was sent may be stored if only the answer is lost
                raise Unreachable(
                    f"The server has stopped, or cannot be reached any more: {reason}. {self._unsure}"
                ) from None
            raise Unreachable(f"The live page at {self._url} cannot be reached: {reason}.\n{_HINT}") from None
        except http.client.HTTPException:  # its text may be whatever the other side has sent
            raise NotGetstep(f"{self._address} is not a web page; bots use another port.\n{_HINT}") from None
        finally:
            connection.close()
        self._has_answered = True
        self._cookie = cookie.partition(";")[0] or self._cookie
        if answer.status == http.HTTPStatus.PERMANENT_REDIRECT:
            raise NotGetstep(
                f"{self._url} speaks TLS. Give getstep login the option --tls, or --tls-pin and the pin on the slip"
                " from the host."
            )
        if answer.status >= 400:
            raise self._refusal(answer.status, body)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self._strange()
        return found

    def _refusal(self, status: int, body: bytes) -> Exception:
        text = body.decode("utf-8", "replace").strip()
        try:
            found = json.loads(text)
            text = found["problem"] if isinstance(found, dict) and isinstance(found.get("problem"), str) else text
        except ValueError:
            text = text.partition(": ")[2] or text  # "403 Forbidden: the reason"
        if status == 404 or not text:
            return self._strange()
        return Refused(str(status), f"{escape_control_chars(text[:1000])}.".replace("..", "."))

    def _strange(self) -> NotGetstep:
        return NotGetstep(f"{self._url} is not the live page of a getstep contest.\n{_HINT}")
