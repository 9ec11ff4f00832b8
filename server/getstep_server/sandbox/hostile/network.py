"""Attempts to reach the network, or another program through a socket."""

from __future__ import annotations

import socket
from typing import Any

from .attempt import attempt


@attempt
def connect_to_the_server(aim: dict[str, Any]) -> object:
    with socket.create_connection(("127.0.0.1", aim["port"]), timeout=5):
        return "connected"


@attempt
def send_a_datagram(_: dict[str, Any]) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        return made.sendto(b"x", ("127.0.0.1", 9))


@attempt
def listen(_: dict[str, Any]) -> object:
    with socket.create_server(("", 0)) as made:
        return made.getsockname()[1]


@attempt
def ipv6(_: dict[str, Any]) -> object:
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM).close()
    return "made a socket"


@attempt
def connect_to_a_socket_file(aim: dict[str, Any]) -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(aim["socket"])
        return "connected"


@attempt
def connect_to_an_abstract_socket(aim: dict[str, Any]) -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("\0" + aim["abstract"])
        return "connected"


@attempt
def netlink(_: dict[str, Any]) -> object:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    return "made a socket"


@attempt
def crypto_sockets(_: dict[str, Any]) -> object:
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET, 0).close()
    return "made a socket"


@attempt
def virtual_machine_sockets(_: dict[str, Any]) -> object:
    socket.socket(40, socket.SOCK_STREAM, 0).close()  # AF_VSOCK
    return "made a socket"


@attempt
def packets(_: dict[str, Any]) -> object:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return "made a socket"


@attempt
def other_sockets(_: dict[str, Any]) -> object:
    for pair in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
        pair.bind(f"\0getstep{pair.fileno()}")
        pair.close()
    return "gave a socket a name"
