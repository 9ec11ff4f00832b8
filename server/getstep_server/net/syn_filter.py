"""A filter in the kernel that drops requests to connect from some sources, as long as a flood comes from them.

It is a classic BPF program on the listening socket (``SO_ATTACH_FILTER``, Linux; it needs no privilege). Without
it, a computer that opens 15,000 connections a second costs a third of a processor, only to accept and close them.
With it those connections cost the server nothing, and the queue of the kernel has room for others. Where there is
no such filter, the server goes on without it.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, ip_network

from getstep_server.limits import MAX_FILTERED_SOURCES

# Opcodes of <linux/bpf_common.h>: load a word or a byte from the packet, compare, mask, jump, return.
_LOAD_WORD, _LOAD_BYTE, _EQUAL, _ANY_BIT, _AND, _JUMP, _RETURN = 0x20, 0x30, 0x15, 0x45, 0x54, 0x05, 0x06
_IP_HEADER = -0x100000
"""SKF_NET_OFF: offsets from here on count from the IP header; others count from the TCP header."""
_FLAGS, _SYN = 13, 0x02  # the byte of the flags in a TCP header, and the flag
_PASS, _DROP = 0xFFFFFFFF, 0  # how many bytes of the packet to keep
_IPV4_SOURCE, _IPV6_SOURCE = 12, 8  # where the source's address begins in the IP header
_ATTACH = 26
_DETACH = 27
"""SO_ATTACH_FILTER and SO_DETACH_FILTER, which the module ``socket`` has no names for."""

Instruction = tuple[int, int, int, int]


def _words(source: str) -> tuple[int, list[int]]:
    """Return the version of a source, and the 32-bit words at the beginning of the addresses that belong to it."""
    network = ip_network(source.partition("%")[0])
    if isinstance(network.network_address, IPv4Address):
        return 4, [int(network.network_address)]  # one word is the whole address
    # a /64 is one computer: only its words are compared
    packed = network.network_address.packed[: network.prefixlen // 8]
    return 6, list(struct.unpack(f">{len(packed) // 4}I", packed))


def _entry(offset: int, words: list[int]) -> list[Instruction]:
    """Return instructions that drop a packet with these words at ``offset``, and else go on behind them."""
    made: list[Instruction] = []
    for number, word in enumerate(words):
        to_end = 2 * (len(words) - number - 1) + 1  # two instructions for each further word, and the return
        made += [(_LOAD_WORD, 0, 0, _IP_HEADER + offset + 4 * number), (_EQUAL, 0, to_end, word)]
    return [*made, (_RETURN, 0, 0, _DROP)]


def program(sources: Sequence[str]) -> list[Instruction]:
    """Return the program that drops each SYN from ``sources`` (see `addresses.source_of`), and passes the rest."""
    entries: dict[int, list[Instruction]] = {4: [], 6: []}  # by version of IP
    for source in sources[:MAX_FILTERED_SOURCES]:
        try:
            version, words = _words(source)
        except ValueError:  # no address: a stand-in of a test
            continue
        entries[version] += _entry(_IPV4_SOURCE if version == 4 else _IPV6_SOURCE, words)
    end = (_RETURN, 0, 0, _PASS)
    return [
        (_LOAD_BYTE, 0, 0, _FLAGS),
        (_ANY_BIT, 1, 0, _SYN),
        end,
        (_LOAD_BYTE, 0, 0, _IP_HEADER),
        (_AND, 0, 0, 0xF0),
        (_EQUAL, 1, 0, 0x40),  # version 4; a conditional jump reaches 255 instructions only
        (_JUMP, 0, 0, len(entries[4]) + 1),
        *entries[4],
        end,
        *entries[6],  # last: only the jump over version 4 needs a length
        end,
    ]


def drop_from(listener: socket.socket, sources: Iterable[str]) -> bool:
    """Drop requests to connect to ``listener`` from these sources, and from no others.

    Returns:
        False if this system has no such filter.
    """
    if sys.platform != "linux":
        return False
    sources = list(sources)
    if not sources:
        with contextlib.suppress(OSError):  # there is none
            listener.setsockopt(socket.SOL_SOCKET, _DETACH, 0)
        return True
    code = b"".join(struct.pack("=HBBI", op, yes, no, k & 0xFFFFFFFF) for op, yes, no, k in program(sources))
    kept = ctypes.create_string_buffer(code, len(code))  # the kernel copies it
    try:
        listener.setsockopt(socket.SOL_SOCKET, _ATTACH, struct.pack("HP", len(code) // 8, ctypes.addressof(kept)))
    except OSError:
        return False
    return True
