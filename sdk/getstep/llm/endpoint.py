"""One question to an endpoint of the OpenAI kind: ``POST URL/chat/completions``.

It uses `http.client` of the standard library: a contestant needs no further package, it follows no redirect, and it
lets the caller bound what is read. The endpoint is not trusted. It may answer slowly, without end, with nonsense,
or with the key in its text.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from getstep._errors import SetupError
from getstep.text import escape_control_chars

Messages = Sequence[dict[str, str]]

MAX_ANSWER_BYTES = 1_000_000
"""Bytes of an answer. One of 10,000 tokens has some 50 kB."""

MAX_COUNTED_TOKENS = 10**7
"""A count of tokens above this is not believed."""

_MAX_REASON = 200  # characters of what the endpoint says about an error
_READ_BYTES = 1 << 16
_RETRY_STATUS = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""The codes after which the same question may be answered later."""


class EndpointError(Exception):
    """The endpoint has given no answer.

    ``again_after`` are the seconds after which the same question may be answered; None if it never will be, 0 if
    the endpoint does not say. ``counted`` is False if the endpoint has surely computed nothing.
    """

    def __init__(self, message: str, *, again_after: float | None = None, counted: bool = False) -> None:
        super().__init__(message)
        self.again_after = again_after
        self.counted = counted


@dataclass(frozen=True)
class Answer:
    """The text of an answer. The tokens of the question and the answer are None if the endpoint does not say."""

    text: str
    prompt_tokens: int | None
    answer_tokens: int | None


class Endpoint:
    """An endpoint, and the model that is asked there.

    Args:
        url: its address up to ``/v1``, such as ``http://localhost:11434/v1``.
        model: the name of the model.
        key: sent as a bearer token, and shown nowhere; empty for none.

    Raises:
        SetupError: an argument is not valid.
    """

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self._url = _checked(url)
        self.model = escape_control_chars(model)
        self._key = key
        if not model:
            raise SetupError("--model: expected the name of a model, such as --model llama3.2.")
        if not re.fullmatch(r"[!-~]*", key):
            raise SetupError("The key of the endpoint has a space or a character that no key has.")
        self._limit_name = "max_tokens"

    @property
    def sends_key_in_clear(self) -> bool:
        """True if others in the network can read the key."""
        local = self._url.hostname in ("localhost", "::1") or (self._url.hostname or "").startswith("127.")
        return bool(self._key) and self._url.scheme == "http" and not local

    def ask(self, messages: Messages, max_tokens: int, deadline: float) -> Answer:
        """Return the answer to a conversation.

        Args:
            messages: each with ``role`` and ``content``.
            max_tokens: the tokens that an answer may have.
            deadline: when to stop waiting, of `time.monotonic`.

        Raises:
            EndpointError: there is none.
        """
        try:
            return self._ask(messages, max_tokens, deadline)
        except EndpointError as error:
            # `max_tokens` is the older name, which all other servers know; some models of OpenAI refuse it.
            if self._limit_name != "max_tokens" or "max_completion_tokens" not in str(error):
                raise
            self._limit_name = "max_completion_tokens"
            return self._ask(messages, max_tokens, deadline)

    def _ask(self, messages: Messages, max_tokens: int, deadline: float) -> Answer:
        question = {"model": self.model, "messages": list(messages), self._limit_name: max_tokens, "stream": False}
        status, headers, body = self._exchange(json.dumps(question).encode(), deadline)
        if status != 200:
            raise self._refusal(status, headers, body)
        return self._answer(body)

    def _exchange(self, body: bytes, deadline: float) -> tuple[int, http.client.HTTPMessage, bytes]:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise EndpointError("there is no time left to ask")
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "getstep"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection = self._connection(seconds)
        late = _Deadline(deadline)
        sent = False
        try:
            connection.connect()
            sent = True
            with late.breaks_off(connection.sock):
                connection.request("POST", f"{self._url.path.rstrip('/')}/chat/completions", body, headers)
                with connection.getresponse() as response:
                    answer = response.status, response.headers, _read(response)
            late.check()
        except (OSError, http.client.HTTPException) as error:
            if late.passed or time.monotonic() >= deadline:
                raise EndpointError("no answer in time", again_after=0, counted=sent) from None
            # The text of an HTTPException is whatever the other side has sent.
            why = error.strerror or type(error).__name__ if isinstance(error, OSError) else "not an answer of HTTP"
            raise EndpointError(f"{self._url.netloc}: {self._shown(why)}", again_after=0, counted=sent) from None
        finally:
            connection.close()
        return answer

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def _refusal(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> EndpointError:
        if 300 <= status < 400:
            to = self._shown(headers.get("Location", "nowhere"))
            return EndpointError(f"it answers {status}, a redirect to {to}, which is not followed; give that --url")
        text = f"it answers {status}: {self._shown(_reason(body))}" if _reason(body) else f"it answers {status}"
        if status in _RETRY_STATUS:
            return EndpointError(text, again_after=_retry_after(headers.get("Retry-After", "")))
        return EndpointError(text)

    def _answer(self, body: bytes) -> Answer:
        try:
            found: Any = json.loads(body)
            text = found["choices"][0]["message"]["content"]
        except (ValueError, RecursionError, LookupError, TypeError):
            text = found = None
        if not isinstance(text, str):
            shown = self._shown(body.decode("utf-8", "replace"))
            raise EndpointError(f"its answer is no chat completion: {shown}", again_after=0, counted=True)
        usage = found.get("usage")
        counts = [_count(usage.get(name)) if isinstance(usage, dict) else None for name in _COUNTS]
        return Answer(self._without_key(text), *counts)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _shown(self, text: str) -> str:
        return escape_control_chars(self._without_key(" ".join(text.split()))[:_MAX_REASON])


_COUNTS = ("prompt_tokens", "completion_tokens")


class _Deadline:
    """Breaks a connection off: a timeout of a socket is for each call, and a slow answer has many."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.passed = False

    @contextlib.contextmanager
    def breaks_off(self, sock: socket.socket) -> Iterator[None]:
        """Break a connection off at the deadline, if the body of the block still runs."""
        timer = threading.Timer(max(0.0, self._deadline - time.monotonic()), self._break_off, (sock,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def check(self) -> None:
        """Raise TimeoutError if a connection was broken off, which looks like the end of the answer."""
        if self.passed:
            raise TimeoutError

    def _break_off(self, sock: socket.socket) -> None:
        self.passed = True
        with contextlib.suppress(OSError):
            # Not the method of TLS, which changes what the other thread is reading from.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _checked(url: str) -> SplitResult:
    """Return the parts of an address. Raises SetupError."""
    try:
        found = urlsplit(url.rstrip("/").removesuffix("/chat/completions"))
        valid = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        valid = False
    if not valid or found.username is not None or found.query or not re.fullmatch(r"[!-~]*", url):
        raise SetupError(
            "--url: expected an address such as http://localhost:11434/v1, without a name, key or query."
        )
    return found


def _read(response: http.client.HTTPResponse) -> bytes:
    """Return the body. Raises EndpointError if it is too large."""
    body = bytearray()
    while data := response.read1(_READ_BYTES):
        body += data
        if len(body) > MAX_ANSWER_BYTES:
            raise EndpointError(f"its answer has more than {MAX_ANSWER_BYTES} bytes", again_after=0, counted=True)
    return bytes(body)


def _reason(body: bytes) -> str:
    """Return what a refusal says, in one of the usual forms."""
    text = body.decode("utf-8", "replace")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return found if isinstance(found, str) else text


def _retry_after(value: str) -> float:
    """Return the seconds of a header ``Retry-After``: a number, or a date. 0 if it is neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (TypeError, ValueError):
            return 0.0
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        seconds = (date - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_COUNTED_TOKENS else None
