"""Where a contest's records are: in a file of its folder, or in a PostgreSQL server that several contests share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

_URL = r"(postgres(?:ql)?://[^\s#]{1,900})#([a-z_][a-z0-9_]{0,62})"
_LOGIN = r"(://[^/@:]*):[^/@]*@|([?&]password=)[^&#]*"

EXPECTED = (
    'a PostgreSQL database and the contest\'s schema in it, such as "postgresql://host/contests#autumn";'
    " a schema has small letters, digits and _"
)


class PostgresAddress(Struct, frozen=True):
    """A contest in a PostgreSQL server. ``schema`` holds the tables of this contest alone."""

    url: str
    schema: str

    def __str__(self) -> str:
        """Return the address without its password."""
        return f"{re.sub(_LOGIN, _hidden, self.url)}#{self.schema}"


DatabaseAddress: TypeAlias = Path | PostgresAddress


def _hidden(found: re.Match[str]) -> str:
    return f"{found[1]}:***@" if found[1] is not None else f"{found[2]}***"


def database_address(text: str) -> DatabaseAddress:
    """Return the address that a text names: a PostgreSQL URL with a schema, or the path of a file.

    Raises:
        ValueError: it is a URL, and not one of these.
    """
    return postgres_address(text) if "://" in text else Path(text)


def postgres_address(text: str) -> PostgresAddress:
    """Return the address that a text such as ``postgresql://host/contests#autumn`` names.

    Raises:
        ValueError: it names none; the message says what is expected.
    """
    found = re.fullmatch(_URL, text)
    if found is None:
        raise ValueError(EXPECTED)
    return PostgresAddress(found[1], found[2])
