"""Every bound of the wire. protocol.md, "Limits", shows the same table; a test compares them."""

from __future__ import annotations

VERSION = 1
"""The protocol version this module speaks."""

HEADER_BYTES = 4
"""Length prefix of a frame: unsigned, big-endian."""

MAX_CLIENT_FRAME = 4096
"""Bytes of a client frame's body. The longest honest one is a 100-square hop path of about 330 bytes;
a `raised` with 500 four-byte characters takes 2,040."""

MAX_SERVER_FRAME = 16384
"""Bytes of a server frame's body. A 16 by 16 board and a long last move stay below 1,500."""

MAX_DEPTH = 8
"""Containers inside each other, the message's own map included. Honest messages need 4; the rest is room
for a callback's nonsense, which is an illegal move and no attack."""

MAX_ARRAY = 128
"""Elements of one array: a hop path has at most 100 squares, a longest_path result at most 122 counts."""

MAX_MAP = 32
"""Entries of one map: the largest message has 11."""

MAX_TEXT = 500
"""Characters of free text: an error, a detail."""

MAX_NAME = 64
"""Characters of a name: a team, a contest, a program."""

MAX_TEXT_BYTES = 4 * MAX_TEXT
"""Bytes of any string: UTF-8 needs up to 4 a character."""

MAX_TEAM = 2**31 - 1
"""The highest team id: what the classic wire's signed 32-bit field can say."""

MAX_ID = 2**31 - 1
"""The highest move id, match number and move number, for the same reason."""

MAX_MS = 24 * 3600 * 1000
"""The longest time in milliseconds: a day."""

NONCE_DIGITS = 32
"""Hexadecimal digits of a nonce: 16 random bytes."""

MAC_DIGITS = 64
"""Hexadecimal digits of an HMAC-SHA256."""
