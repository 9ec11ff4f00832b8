"""The limits of the wire. protocol.md, "Limits", has the same table; a test compares them."""

from __future__ import annotations

VERSION = 1
"""The protocol version this module speaks."""

HEADER_BYTES = 4
"""The length prefix of a frame: unsigned, big-endian."""

MAX_CLIENT_FRAME = 4096
"""Bytes of a client frame's body. The longest useful move is a hop path of 100 squares, about 330 bytes. A `raised`
with 500 four-byte characters takes 2,040."""

MAX_LOGIN_FRAME = 512
"""The same before the login, when anybody may be the client: a `join` has about 130 bytes, and 440 at most with
every optional key and a name of 64 four-byte characters."""

MAX_SERVER_FRAME = 16384
"""Bytes of a server frame's body. A 16 by 16 board and a long last move stay below 1,500."""

MAX_DEPTH = 8
"""Nested containers, with the message's own map. Useful messages need 4. The rest is room for any value that a bot
returns by mistake: that is an illegal move, and not a hostile act."""

MAX_ARRAY = 128
"""Elements of one array: a hop path has at most 100 squares, a longest_path result at most 122 counts."""

MAX_OPENING = 20
"""Moves of an opening. With 20 hop paths of 20 squares, `start` takes some 3 kB."""

MAX_MAP = 32
"""Entries of one map: the largest message has 13."""

MAX_TEXT = 500
"""Characters of free text: an error, a detail."""

MAX_NAME = 64
"""Characters of a name: a team, a contest, a program."""

MAX_TEXT_BYTES = 4 * MAX_TEXT
"""Bytes of any string: UTF-8 needs up to 4 for each character."""

MAX_TEAM = 2**31 - 1
"""The highest team id: the maximum of the classic wire's signed 32-bit field."""

MAX_ID = 2**31 - 1
"""The highest move id, match number and move number, for the same reason."""

MAX_MS = 24 * 3600 * 1000
"""The longest time in milliseconds: a day."""

NONCE_DIGITS = 32
"""Hexadecimal digits of a nonce: 16 random bytes."""

MAC_DIGITS = 64
"""Hexadecimal digits of an HMAC-SHA256."""

CLASSIC_MAX_SQUARES = 100
"""Squares of a path on the classic wire: the limit of the original protocol."""

# --- the notes of a move ------------------------------------------------------------------------------------------

NOTES_BYTES = 3584
"""Bytes of the notes that a client sends, as msgpack: beside the longest useful move, they fit into a frame."""

MAX_SAY = 1000
"""Characters of what a bot says in a move; as a string, it has at most MAX_TEXT_BYTES."""

MAX_DRAWINGS = 64
"""Drawings of a move: one for each square of an 8 by 8 board."""

MAX_DRAWN_SQUARES = 64
"""Squares of one drawing: two numbers each, in one array."""

MAX_ARROW_SQUARES = 16
"""Squares of an arrow's path."""

MAX_COORDINATE = 127
"""The highest row and column of a drawing: an array has at most MAX_ARRAY rows."""

MAX_LABEL = 8
"""Characters of a drawing's label: more do not fit on a square."""

MAX_TAGS = 8
"""Tags of a move."""

MAX_TAG = 24
"""Characters of a tag."""

NOTE_KEYS = ("say", "estimate", "draw", "tags", "output")
"""The keys of notes."""

NOTE_SHAPES = ("mark", "arrow", "region", "domino")
"""The shapes of drawings."""

NOTE_COLORS = ("black", "white", "blue", "orange", "red", "green", "yellow", "purple", "grey")
"""The colours of drawings: those of `getstep_engines.look.PALETTE`, which the wire does not import."""
