"""Every limit of the server, in one place. What one connection may say is bounded by `getstep.wire` as well.

protocol.md, "Limits", states those that a client can notice; a test compares the two.
"""

from __future__ import annotations

LOGIN_SECONDS = 10.0
"""From connecting to a complete join: a program does it in milliseconds, and nobody logs in by hand."""

FRAME_SECONDS = 5.0
"""From a frame's first byte to its last. 4 KiB need 0.4 s on the slowest link anybody brings (100 kbit/s)."""

LINGER_SECONDS = 2.0
"""How long to wait, after goodbye, for the client to read it and close."""

LINGER_BYTES = 1 << 20
"""How much a client may still send after goodbye before the connection is reset."""

RECEIVE_BYTES = 1 << 16
"""Asked of the kernel at once: sixteen frames, so that what has arrived is seen in one look."""

ACCEPTS_AT_ONCE = 64
"""Connections taken in before the other tasks get their turn: about 5 ms of work."""

MAX_CONNECTIONS = 4096
"""In all. A class of forty needs forty; 10,000 idle ones were measured to fit into 60 MiB."""

MAX_CONNECTIONS_PER_ADDRESS = 256
"""From one address: a whole class behind one NAT, with bots to spare."""

CLASSIC_REFUSAL_SECONDS = 1.0
"""How long a refused classic client is kept waiting: the original ones come back at once, for ever."""

CLASSIC_MAX_SQUARES = 100
"""Squares in a classic path: the original's own bound."""

ABSENT_MISSES = 3
"""Missed limits in a row without a connection that lose the match (rule: hop must not be held up for 200 turns)."""

MAX_TEAMS = 256
"""Teams in one contest: a double round robin of them is 65,280 matches."""

MAX_CONFIG_BYTES = 1 << 20
"""Of contest.toml, teams.toml or a roster: a thousand teams take 100 KiB."""

CLASSIC_STRAYS = 16
"""Stale answers that a classic client may send between two questions: after a reconnect it may repeat itself."""

MATCH_ATTEMPTS = 3
"""How often a match is tried when the server itself fails in it, before the contest stops and says so."""
