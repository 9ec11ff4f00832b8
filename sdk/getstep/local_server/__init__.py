"""A private game server on this machine's loopback interface, for one program that speaks the wire.

In: the command that starts the program, unless a person starts it (in a debugger, for example), and what a judge
tells a player: the start of a match, questions, penalties, the end. Out: its answers, each with the time of its
arrival, violations of the protocol, and how it has ended. It must not know the rules of a game, whose turn it is,
or how long a player may think: the caller decides how long to wait. `getstep.referee` decides about the answers.

- ``conversation``: the server's end of one connection; no sockets.
- ``program``: the program, its connections, and the one loop that waits for them.
"""

from .server import CONNECT_SECONDS, Ended, LocalProgram, LocalServer, Received, SignOfLife, Violation

__all__ = ["CONNECT_SECONDS", "Ended", "LocalProgram", "LocalServer", "Received", "SignOfLife", "Violation"]
