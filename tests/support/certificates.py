"""Certificates for tests, made with the command openssl: an authority, and what it has signed or not."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl is not installed")

EXPIRED = ("20200101000000Z", "20200201000000Z")
"""The dates of a certificate that has expired."""


@dataclass(frozen=True)
class Files:
    """A certificate and its private key."""

    certificate: Path
    key: Path

    def settings(self) -> dict[str, str]:
        """Return the settings of ``[server]`` for them."""
        return {"tls_certificate": str(self.certificate), "tls_key": str(self.key)}


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)


def self_signed(folder: Path, name: str = "own") -> Files:
    """Make a certificate for localhost and 127.0.0.1 that no authority has signed."""
    made = Files(folder / f"{name}.pem", folder / f"{name}.key")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl(
        folder,
        *("req", "-x509", *curve, "-keyout", str(made.key), "-out", str(made.certificate)),
        *("-days", "30", "-subj", f"/CN={name}", "-addext", names),
    )
    return made


def signed(folder: Path, authority: Files, names: str, dates: tuple[str, str] | None = None) -> Files:
    """Make a certificate that ``authority`` has signed.

    Args:
        folder: where the files are.
        authority: from `self_signed`.
        names: of the host, such as ``DNS:localhost,IP:127.0.0.1``.
        dates: from when and until when it is valid; None for a month from now.
    """
    stem = f"signed-{len(list(folder.iterdir()))}"
    made = Files(folder / f"{stem}.pem", folder / f"{stem}.key")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    _openssl(folder, "req", *curve, "-keyout", str(made.key), "-out", f"{stem}.csr", "-subj", "/CN=host")
    (folder / f"{stem}.txt").touch()
    (folder / f"{stem}.cnf").write_text(
        f"[ca]\ndefault_ca=a\n[a]\ndatabase={stem}.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n"
        f"policy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName={names}\n"
    )
    period = ("-startdate", dates[0], "-enddate", dates[1]) if dates else ("-days", "30")
    _openssl(
        folder,
        *("ca", "-batch", "-notext", "-config", f"{stem}.cnf", "-in", f"{stem}.csr", "-out", str(made.certificate)),
        *("-cert", str(authority.certificate), "-keyfile", str(authority.key), *period),
    )
    return made
