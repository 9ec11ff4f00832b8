"""The follower: keeps the copy of a contest up to date over HTTP, from the page of its first host."""

from __future__ import annotations

import http
import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import msgspec

from getstep.wire import new_nonce
from getstep_server.text import escape_control_chars, pluralize

from .folder import CopyFolder
from .messages import Ack, Begin, FromCopy, FromHost, Standbys, TakenOver, Tick, decode_from_host, encode
from .sealed import HEAD_BYTES, Sealer, SealError, length_of

ADDRESS = "/api/v1/standby"
HEADER = "X-Getstep-Standby"
"""The header with both nonces, that of the host first."""

SILENCE_SECONDS = 5.0
"""A host sends a `Tick` each second. After this silence the connection is lost."""

RETRY_SECONDS = 1.0
"""Between two attempts to connect."""

PRECEDENCE_SECONDS = 15.0
"""A follower waits for so long for each one of a lower rank to take over, and to answer as a host."""

_MAX_ANSWER_BYTES = 4096


class HostRefusal(Exception):  # noqa: N818 - named for the decision
    """The host does not accept this follower, and will not later: the message says why."""


class NoConnection(Exception):  # noqa: N818 - the follower tries again
    """There is no connection to the host now."""


@dataclass(frozen=True)
class FirstHost:
    """The address of a host's live page, and the host's key."""

    host: str
    port: int
    key: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class HostLink:
    """One connection to a host: its frames, and answers on a second connection. Close it.

    Args:
        host: to connect to.

    Raises:
        NoConnection: it does not answer.
    """

    def __init__(self, host: FirstHost) -> None:
        self._host = host
        self._stream, self._side = _connection(host), _connection(host)
        try:
            self._stream.request("GET", ADDRESS)
            answer = self._stream.getresponse()
            if answer.status == http.HTTPStatus.PERMANENT_REDIRECT:  # the page speaks TLS
                self.close()
                self._stream, self._side = _connection(host, tls=True), _connection(host, tls=True)
                self._stream.request("GET", ADDRESS)
                answer = self._stream.getresponse()
            answer = _checked(answer)
            nonce = msgspec.json.decode(answer.read(_MAX_ANSWER_BYTES), type=dict[str, str])["nonce"]
        except (OSError, http.client.HTTPException, msgspec.DecodeError, KeyError) as error:
            self.close()
            raise NoConnection(f"no live page answers there ({error or type(error).__name__})") from error
        self._nonces = f"{nonce}.{new_nonce()}"
        self._sealer = Sealer(host.key, self._nonces, "copy")
        self._opener = Sealer(host.key, self._nonces, "host")

    def close(self) -> None:
        self._stream.close()
        self._side.close()

    def follow(self, copy: CopyFolder) -> Iterator[FromHost]:
        """Yield what the host sends, until the connection is lost.

        Raises:
            HostRefusal: the key is wrong, or the copy is not one of this contest.
            NoConnection: the connection is lost.
        """
        try:
            answer = self._post(self._stream, "follow", copy.have())
            while True:
                head = _read(answer, HEAD_BYTES)
                yield decode_from_host(self._opener.open(head, _read(answer, length_of(head))))
        except (SealError, OSError, http.client.HTTPException, msgspec.DecodeError) as error:
            raise NoConnection(f"the connection ended ({error or type(error).__name__})") from error

    def say(self, what: str, message: FromCopy) -> None:
        """Send a message beside the stream, and wait until the host has it.

        Raises:
            HostRefusal, NoConnection: as `follow`.
        """
        try:
            self._post(self._side, what, message).read(_MAX_ANSWER_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise NoConnection(f"the connection ended ({error or type(error).__name__})") from error

    def _post(
        self, connection: http.client.HTTPConnection, what: str, message: FromCopy
    ) -> http.client.HTTPResponse:
        body = self._sealer.seal(encode(message))
        connection.request("POST", f"{ADDRESS}/{what}", body, {HEADER: self._nonces})
        return _checked(connection.getresponse())


def _connection(host: FirstHost, *, tls: bool = False) -> http.client.HTTPConnection:
    """Return a connection to a host. Its certificate is not checked: the host's key seals all that travels."""
    if not tls:
        return http.client.HTTPConnection(host.host, host.port, timeout=SILENCE_SECONDS)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(host.host, host.port, timeout=SILENCE_SECONDS, context=context)


def _read(answer: http.client.HTTPResponse, count: int) -> bytes:
    data = answer.read(count)
    if len(data) < count:
        raise ConnectionResetError("the host closed it")
    return data


def _checked(answer: http.client.HTTPResponse) -> http.client.HTTPResponse:
    """Return an answer that is not a refusal.

    Raises:
        HostRefusal: the host has refused, and will refuse again.
        NoConnection: the host has refused, and may accept later.
    """
    if answer.status == http.HTTPStatus.OK:
        return answer
    text = answer.read(_MAX_ANSWER_BYTES)
    try:
        detail = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = "it is no getstep host with a standby, or an older one"
    if answer.status in (401, 409):
        raise HostRefusal(escape_control_chars(detail))
    raise NoConnection(f"refused for now ({answer.status}): {escape_control_chars(detail)}")


def host_among(hosts: Iterable[FirstHost], copy: CopyFolder, fence: int) -> FirstHost | None:
    """Return the one of these computers that has taken over a contest; None if none of them answers as its host.

    Args:
        hosts: where other copies of the contest were.
        copy: this one.
        fence: its fencing number.

    Raises:
        HostRefusal: one has, and this copy cannot follow it.
    """
    for host in hosts:
        try:
            with closing(HostLink(host)) as link:
                begin = next(link.follow(copy), None)
        except NoConnection:
            continue
        if isinstance(begin, Begin) and begin.fence > fence:
            return host
    return None


class Follower:
    """Keeps a copy up to date.

    Args:
        copy: the copy.
        host: the first host.
        say: is told of each change, in words for people.
        note: is told of the other standby hosts.
        clock: monotonic, in seconds.
        sleep: waits that many seconds.
    """

    def __init__(
        self,
        copy: CopyFolder,
        host: FirstHost,
        say: Callable[[str], None],
        note: Callable[[Standbys], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._copy = copy
        self._host = host
        self._say = say
        self._note = note
        self._rank = 0
        self._clock = clock
        self._sleep = sleep
        self._complete_at: float | None = None
        """The time at which the copy was last complete; None: never."""
        self._told = ""
        self._total = 0

    def run(self, seconds: float | None = None) -> None:
        """Follow the host.

        Args:
            seconds: return once the host was lost for so long, and for longer if other copies come before this one,
                and the copy was complete before; None: never.

        Raises:
            HostRefusal: the host does not accept this follower.
            CopyError, StoreError, DatabaseError, OSError: the copy cannot be continued or written.
        """
        while True:
            try:
                with closing(HostLink(self._host)) as link:
                    self._follow(link)
            except NoConnection as error:
                self._tell(f"! {self._host}: {error}. {self._state()}; tries again")
            lost = None if self._complete_at is None else self._clock() - self._complete_at
            if seconds is not None and lost is not None and lost >= seconds + self._rank * PRECEDENCE_SECONDS:
                return
            self._sleep(RETRY_SECONDS)

    def _follow(self, link: HostLink) -> None:
        acknowledged = -1
        for message in link.follow(self._copy):
            self._copy.apply(message)
            if isinstance(message, Begin):
                self._total = message.place
                self._tell(f"Connected to {self._host}: {message.contest}; {self._state()}")
            elif isinstance(message, Standbys):
                self._rank = message.rank
                self._note(message)
            elif isinstance(message, Tick):
                self._complete_at = self._clock()
                if self._copy.place != acknowledged:
                    acknowledged = self._copy.place
                    link.say("ack", Ack(acknowledged))
                    self._tell(f"The copy is complete: {pluralize(self._copy.place, 'record')}")

    def _state(self) -> str:
        if self._complete_at is None:
            return f"the copy has {self._copy.place} of {max(self._total, self._copy.place)} records"
        behind = self._clock() - self._complete_at
        return f"the copy has {pluralize(self._copy.place, 'record')} and is {behind:.0f} s behind"

    def _tell(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._say(text)


def tell_taken_over(host: FirstHost, fence: int, port: int) -> None:
    """Tell the first host that this one has taken over.

    Raises:
        HostRefusal: it has another key.
        NoConnection: it does not answer.
    """
    with closing(HostLink(host)) as link:
        link.say("taken-over", TakenOver(fence, port))
