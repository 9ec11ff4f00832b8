"""The server's end of one connection, without a socket: the greeting, the login, and then `getstep.wire`."""

from __future__ import annotations

from dataclasses import replace

from getstep._version import __version__
from getstep.wire import (
    VERSION,
    Connection,
    Event,
    Goodbye,
    Hello,
    Join,
    Message,
    Role,
    Welcome,
    new_nonce,
    proof_for,
    signed_token,
)

CHECKED = Goodbye("checked", "The login was accepted.", None)

_NAME = "practice on this computer"
_SERVER = f"getstep {__version__}"


class Conversation:
    """One connection of a program.

    Args:
        welcome: the answer to its login; its team is the only one that may log in.
        token: of that team.
    """

    def __init__(self, welcome: Welcome, token: str) -> None:
        self._welcome = welcome
        self._token = token
        self._wire = Connection(Role.SERVER)
        self._nonce = new_nonce()
        self.is_player = False
        """True once the program has logged in to play."""

    def hello(self) -> Hello:
        """Return the greeting."""
        return Hello([VERSION], self._nonce, _NAME, _SERVER, dialled=True)

    def decide(self, join: Join) -> Welcome | Goodbye:
        """Return the answer to a login. After a `Goodbye` the connection is to be closed."""
        if join.version != VERSION:
            detail = f"This getstep speaks version {VERSION}, the bot asked for {join.version}."
            return Goodbye("unsupported_version", detail, None)
        if join.team != self._welcome.team:
            detail = f"No team has the id {join.team}. The bot is to log in as the team in GETSTEP_TEAM."
            return Goodbye("unknown_team", detail, None)
        if signed_token(self._token, self._nonce, join) is None:
            detail = "The token is wrong. The bot is to sign with the one in GETSTEP_TOKEN."
            return Goodbye("bad_token", detail, None)
        self.is_player = join.purpose == "play"
        return replace(self._welcome, proof=proof_for(self._token, self._nonce, join))

    def receive(self, data: bytes) -> None:
        """Add bytes of the program; ``b""`` if it has closed."""
        self._wire.receive_data(data)

    def next_event(self) -> Event:
        """Return the next message or event, as `Connection.next_event` does. Raises RemoteProtocolError."""
        return self._wire.next_event()

    def send(self, message: Message) -> bytes:
        """Return the bytes of a message."""
        return self._wire.send(message)
