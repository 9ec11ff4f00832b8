"""The certificate of a contest whose ports for bots and browsers speak TLS, and how clients check it."""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import NamedTuple

from getstep.client.tls import expiry_of, is_self_signed, pin_of
from getstep_server.errors import ConfigError

from .contest import Contest

DAY_SECONDS = 86_400.0

WARN_DAYS = 14
"""The days before the end of a certificate from which on the host is told; authorities renew 30 days before."""


class _Pair(NamedTuple):
    """A certificate and its key, as read."""

    context: ssl.SSLContext
    pin: str
    self_signed: bool
    expires: float


class Certificate:
    """The certificate of a contest, and the way to accept TLS with it.

    `refresh` reads the files again after a change. A pair that cannot be used changes nothing.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read both files.

        Raises:
            ConfigError: a file cannot be read, or they do not belong together.
        """
        self._files = (certificate, key)
        self._tried = self._seen = self._stamp()
        """The state of the files that were read last, and of those at the latest look."""
        self._pair = _read(certificate, key)
        self._refused = ""
        self._told_days: int | None = None

    @property
    def context(self) -> ssl.SSLContext:
        """For connections that are accepted from now on."""
        return self._pair.context

    @property
    def pin(self) -> str:
        """The pin of the public key; see `getstep.client.tls`."""
        return self._pair.pin

    @property
    def self_signed(self) -> bool:
        """True if no authority has signed it, so that clients need the pin."""
        return self._pair.self_signed

    @property
    def expires(self) -> float:
        """When it expires, in seconds since the epoch."""
        return self._pair.expires

    def problem(self, now: float) -> str:
        """Return what the host should do about it at this time, in seconds since the epoch; "" if nothing."""
        return self._refused or self._expiry(now)

    def refresh(self, now: float) -> list[str]:
        """Read the files again if they have changed since the call before; any thread may call this.

        Args:
            now: in seconds since the epoch.

        Returns:
            What is new for the host: another certificate, one that is refused, or that it expires soon.
        """
        said, stamp = [], self._stamp()
        # Two looks must see the same files: a renewal writes one file after the other.
        if stamp != self._tried and stamp == self._seen:
            self._tried = stamp
            said.append(self._take())
        self._seen = stamp
        days = int((self.expires - now) // DAY_SECONDS)
        if days < WARN_DAYS and days != self._told_days:
            self._told_days = days
            said.append(self._expiry(now))
        return said

    def _take(self) -> str:
        try:
            new = _read(*self._files)
        except ConfigError as error:
            self._refused = f"The new TLS certificate cannot be used, and the one before it stays: {error}"
            return self._refused
        other_key, self._pair, self._refused, self._told_days = new.pin != self.pin, new, "", None
        pin = f" It has another key: bots with --tls-pin need the pin {new.pin}." if other_key else ""
        return f"The TLS certificate was replaced; the new one is valid until {_day(new.expires)}.{pin}"

    def _expiry(self, now: float) -> str:
        if self.expires - now >= WARN_DAYS * DAY_SECONDS:
            return ""
        ends = "expires" if self.expires > now else "has expired"
        return f"The TLS certificate {ends} on {_day(self.expires)}: replace its files; no restart is needed."

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(_stamp, self._files))


def certificate_of(contest: Contest) -> Certificate | None:
    """Return the certificate that contest.toml names; None if the contest has no TLS.

    Raises:
        ConfigError: see `Certificate`.
    """
    server = contest.file.server
    if server.tls_certificate is None or server.tls_key is None:
        return None
    return Certificate(contest.folder / server.tls_certificate, contest.folder / server.tls_key)


def tls_words(contest: Contest) -> str:
    """Return the options of clients, such as ``--tls``; none without TLS. Raises like `certificate_of`."""
    certificate = certificate_of(contest)
    if certificate is None:
        return ""
    return f"--tls-pin {certificate.pin}" if certificate.self_signed else "--tls"


_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def _first_certificate(text: str) -> str:
    """Return the first certificate of a PEM file; the others are those of authorities."""
    begin, end = text.find(_BEGIN), text.find(_END)
    if begin < 0 or end < begin:
        raise ValueError(f"there is no line {_BEGIN}")
    return text[begin : end + len(_END)]


def _read(certificate: Path, key: Path) -> _Pair:
    try:
        first = ssl.PEM_cert_to_DER_cert(_first_certificate(certificate.read_text(encoding="ascii")))
        key.read_bytes()  # for an error that names the file
        pin, self_signed, expires = pin_of(first), is_self_signed(first), expiry_of(first)
        return _Pair(_context(certificate, key), pin, self_signed, expires)
    except (OSError, ValueError) as error:
        raise ConfigError(_problem(certificate, key, error)) from error


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what a change of a file changes; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0  # a bot connects once for hours
    # without the function, OpenSSL would ask at the terminal
    context.load_cert_chain(certificate, key, password=lambda: "")
    return context


def _problem(certificate: Path, key: Path, error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        return (
            f"{certificate} and {key}: {reason}, expected a certificate and its private key, both as PEM, the key"
            " without a password"
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}; contest.toml names this file for TLS"
    return f"{certificate}: {error}, expected a certificate as PEM"
