"""The network side, from sockets to seats: listeners, the poller, connections of both wires, login limits, seats.

In: bytes from clients that may be hostile. Out: answers and protocol violations in a match's mailbox, messages to
clients, and incidents. Everything here is bounded by a named limit.
It must not know games, results or the tournament.
"""

__all__ = [
    "announcer",
    "classic",
    "connection",
    "listener",
    "login_queue",
    "poller",
    "registry",
    "seat",
    "syn_filter",
    "timestamps",
    "tls",
    "wire_connection",
]
