"""Tells a bot once that its SDK is older than the server's, and where the newer one is."""

from __future__ import annotations

from getstep.languages import LANGUAGES
from getstep.wire import Notice
from getstep_server import __version__
from getstep_server.text import version_numbers

_PYTHON = "getstep"
_CLIENTS = {
    _PYTHON: None,
    **{f"getstep-{language.name}": language for language in LANGUAGES.values()},
    **{f"getstep {language.title}": language for language in LANGUAGES.values()},
}
"""Our SDKs by their names in `join`: some are written in the one way, some in the other."""


def update_notice(client: str, page: str | None, server: str = __version__) -> Notice | None:
    """Return the notice for a client that is older than the server; None for all other clients.

    Args:
        client: its program and version, from `join`.
        page: the address of the live page, as this client reaches it, such as ``http://192.168.1.10:8080``; None if
            there is no page.
        server: the server's version.
    """
    name, _, version = client.rpartition(" ")
    numbers, own = version_numbers(version), version_numbers(server)
    if name not in _CLIENTS or numbers is None or own is None or numbers >= own:
        return None
    language = _CLIENTS[name]
    file = _PYTHON if language is None else language.files[0]
    if page is None:
        source = "Get the new one from your host."
    elif language is None:  # the slip first: its command has the hash of the package
        source = f"Update it with the first command on your slip, or: python -m pip install --upgrade -r {page}/pip"
    else:
        source = f"Get the new one, and build your bot again: {page}/languages/{language.name}/{file}"
    text = f"Your {file} {version} is older than the server's, {server}. It plays on. {source}"
    return Notice("update", None, text)
