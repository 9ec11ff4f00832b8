"""The limits of what any computer on the network may answer."""

from __future__ import annotations

MAX_PACKET_BYTES = 9000
"""The longest packet of multicast DNS (RFC 6762, section 17)."""

MAX_PACKETS = 256
"""The packets that one search reads. Each server sends one or two, and parsing a full one takes 0.2 ms."""

MAX_QUESTIONS = 4
"""The questions that an answer may repeat; this client asks one."""

MAX_RECORDS = 64
"""The records of one packet. A server's answer has four, and one for each further address."""

MAX_POINTERS = 8
"""The pointers of one compressed name. Real names have two or three; a chain of thousands only takes time."""

MAX_NAME_BYTES = 255
"""The length of a name (RFC 1035, section 2.3.4)."""

MAX_INTERFACES = 16
"""The network interfaces that are asked. A computer with containers has a dozen; each takes a socket."""

MAX_ADDRESSES = 8
"""The addresses of one server that are tried: a host with cable, WLAN and some virtual networks."""

MAX_LISTED = 20
"""The servers that are listed: a screen. Further ones are counted."""

MAX_WARNED = 3
"""The names about which the list warns, because several servers have them."""

MAX_SHOWN = 3
"""The addresses of one server in a line: cable, WLAN, and one more."""

MAX_TRIED = 20
"""The found addresses to which one run connects. A building has a few contests. More announcements only keep this
client busy, and fill its terminal."""
