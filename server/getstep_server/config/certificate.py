"""The certificate of a contest whose port for bots speaks TLS, and the options with which clients check it."""

from __future__ import annotations

import ssl
from pathlib import Path

from getstep.client.tls import is_self_signed, pin_of
from getstep_server.errors import ConfigError

from .contest import Contest


class Certificate:
    """The certificate of a contest, and the way to accept TLS with it.

    Attributes:
        context: for connections that are accepted from now on.
        pin: of the public key; see `getstep.client.tls`.
        self_signed: no authority has signed it, so clients need the pin.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read both files.

        Raises:
            ConfigError: a file cannot be read, or they do not belong together.
        """
        try:
            first = ssl.PEM_cert_to_DER_cert(_first_certificate(certificate.read_text(encoding="ascii")))
            self.pin, self.self_signed = pin_of(first), is_self_signed(first)
            key.read_bytes()  # for an error that names the file
            self.context = _context(certificate, key)
        except (OSError, ValueError) as error:
            raise ConfigError(_problem(certificate, key, error)) from error


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
