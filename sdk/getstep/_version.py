"""The version, for the package and for the client's name in its login; and the formats of its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__version__ = "0.1.0"

FORMAT = 1
"""The format of saved logins and replays. It grows if an earlier version would misread them."""

NEEDS = "0.1.0"
"""The first version that reads this format."""


def newer_format(data: Mapping[str, Any]) -> str:
    """Return what to do about the data of a file in a newer format; "" if this version reads it.

    Args:
        data: of the file. It has FORMAT as ``format``, and NEEDS as ``needs``; files from before have neither.
    """
    known = data.get("format", FORMAT)
    if type(known) is not int or known <= FORMAT:
        return ""
    needs = str(data.get("needs"))
    version = needs if needs.replace(".", "").isalnum() else "a newer version"
    return f"made by a newer getstep; it needs getstep {version:.20} or newer, and this is {__version__}"
