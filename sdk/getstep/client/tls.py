"""TLS of a connection to a contest: checked against the system's authorities, or against a pin.

A *pin* is the SHA-256 of a certificate's public key (its SubjectPublicKeyInfo, as in RFC 7469), as 64 hexadecimal
digits. It is for a host with a certificate of its own making, which no authority has signed. With a pin, neither
the name nor the dates of the certificate count: the key alone says who the host is.
"""

from __future__ import annotations

import calendar
import hashlib
import hmac
import re
import socket
import sys
import time
from typing import TYPE_CHECKING

from getstep._errors import SetupError
from getstep.text import short_repr

if TYPE_CHECKING:  # imported where it is needed: it takes 10 ms, and few contests have TLS
    import ssl

ROOTS = "roots"
"""The way of a connection whose certificate an authority of the system must have signed; another way is a pin."""

HANDSHAKE_SECONDS = 10.0
"""The time of the whole handshake; within it, a busy server has to read twice."""

_PIN = re.compile("[0-9a-f]{64}")
_TICK_SECONDS = 0.2  # on Windows, Ctrl-C does not interrupt a wait for a socket
_PLAIN = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
"""The reasons of OpenSSL for an answer that is not TLS; they depend on its version."""


class TlsError(OSError):
    """Raised when the check of a server's certificate fails; the text says why."""


def parse_tls(text: object) -> str:
    """Return `ROOTS`, a pin in lower case, or "" for no TLS.

    Raises:
        SetupError: the text is none of these.
    """
    value = text.strip().lower().replace(":", "") if isinstance(text, str) else text
    if value in (False, None, "", "0"):
        return ""
    if value in (True, ROOTS, "1"):
        return ROOTS
    if isinstance(value, str) and _PIN.fullmatch(value):
        return value
    raise SetupError(
        f"The TLS setting is {short_repr(text)}, expected {ROOTS}, or a pin: the 64 hexadecimal digits on the slip"
        " from the host."
    )


def pin_of(certificate: bytes) -> str:
    """Return the pin of a certificate in DER.

    Raises:
        ValueError: this is no certificate.
    """
    return hashlib.sha256(_fields(certificate)[6]).hexdigest()


def is_self_signed(certificate: bytes) -> bool:
    """Return True if a certificate in DER names its subject as its issuer. Raises like `pin_of`."""
    fields = _fields(certificate)
    return fields[3] == fields[5]


def expiry_of(certificate: bytes) -> float:
    """Return when a certificate in DER expires, in seconds since the epoch. Raises like `pin_of`."""
    dates = _content(_fields(certificate)[4])
    end = dates[_bounds(dates)[1] :]
    text = _content(end).decode("ascii", "replace")
    if end[:1] == b"\x17":  # UTCTime has two digits of the year (RFC 5280, section 4.1.2.5.1)
        text = ("19" if text >= "5" else "20") + text
    return float(calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ")))


def over_tls(sock: socket.socket, host: str, tls: str) -> ssl.SSLSocket:
    """Return a connected socket with TLS, after the handshake and the check of the certificate.

    Args:
        sock: connected; it belongs to the result. If this raises, it is closed.
        host: the name or address that the user has given.
        tls: `ROOTS` or a pin.

    Raises:
        TlsError: the certificate is not to be trusted, or the server does not speak TLS.
        OSError: the connection has ended.
    """
    import ssl  # as above

    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls != ROOTS:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        secured = context.wrap_socket(sock, server_hostname=host.partition("%")[0], do_handshake_on_connect=False)
    except ValueError as error:  # a name that no certificate can have
        sock.close()
        raise TlsError(f"no certificate can have the name {short_repr(host)} ({error})") from error
    try:
        _shake_hands(secured)
        if tls != ROOTS:
            _check_pin(secured, tls)
    except ssl.SSLError as error:
        secured.close()
        raise TlsError(_explained(error, host)) from error
    except BaseException:
        secured.close()
        raise
    return secured


def is_no_text_yet(error: OSError) -> bool:
    """Return True if what has arrived is no complete record yet."""
    ssl = sys.modules.get("ssl")
    return ssl is not None and isinstance(error, ssl.SSLWantReadError)


def _shake_hands(secured: ssl.SSLSocket) -> None:
    until = time.monotonic() + HANDSHAKE_SECONDS
    while True:
        secured.settimeout(_TICK_SECONDS)
        try:
            secured.do_handshake()
        except TimeoutError as error:
            if error.errno is not None:  # the network's, and final
                raise
            if time.monotonic() >= until:
                raise TlsError(f"no TLS handshake within {HANDSHAKE_SECONDS:g} s") from None
        else:
            return


def _check_pin(secured: ssl.SSLSocket, pin: str) -> None:
    certificate = secured.getpeercert(binary_form=True)
    try:
        found = pin_of(certificate or b"")
    except ValueError as error:
        raise TlsError(f"the server's certificate cannot be read ({error})") from error
    if not hmac.compare_digest(found, pin):
        raise TlsError(
            "the server's certificate has another key than the pin says, so it is not your host, or the host has a"
            f" new key (pin {found})"
        )


def _explained(error: ssl.SSLError, host: str) -> str:
    import ssl  # as above

    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or str(error)
        return (
            f"the certificate of {host} is not to be trusted: {why}. If the slip from the host has a pin, give it"
            " with --tls-pin"
        )
    if error.reason in _PLAIN:
        return "what answers there does not speak TLS; without --tls, the bot connects without it"
    return f"TLS: {error.reason or error}"


# --- the parts of a certificate ----------------------------------------------------------------------------------


def _fields(certificate: bytes) -> list[bytes]:
    """Return the first seven fields of what is signed, each with its header: version, serial number, algorithm,
    issuer, validity, subject and public key (RFC 5280, section 4.1)."""
    signed = _content(_content(certificate))
    fields: list[bytes] = []
    while len(fields) < 7:
        _, end = _bounds(signed)
        if not fields and signed[:1] != b"\xa0":  # version 1 is left out
            fields.append(b"")
        fields.append(signed[:end])
        signed = signed[end:]
    return fields


def _content(data: bytes) -> bytes:
    start, end = _bounds(data)
    return data[start:end]


def _bounds(data: bytes) -> tuple[int, int]:
    """Return where the content of the first element of DER begins and ends."""
    if len(data) < 2:
        raise ValueError("no certificate: it ends too early")
    start, length = 2, data[1]
    if length >= 0x80:
        start = 2 + length - 0x80
        length = int.from_bytes(data[2:start], "big")
    if len(data) < start + length:
        raise ValueError("no certificate: it ends too early")
    return start, start + length
