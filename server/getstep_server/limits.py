"""Every limit of the server, in one place. What one connection may say is bounded by `getstep.wire` as well.

protocol.md, "Limits", states those that a client can notice; a test compares the two. That a test holds each of
them is checked by taking them away one by one: `python tests/limits_removed.py`.
"""

from __future__ import annotations

LOGIN_SECONDS = 10.0
"""From connecting to a complete join: a program does it in milliseconds, and nobody logs in by hand."""

FRAME_SECONDS = 5.0
"""From a frame's first byte to its last. 4 KiB need 0.4 s on the slowest link anybody brings (100 kbit/s)."""

LINGER_SECONDS = 2.0
"""How long to wait, after goodbye, for the client to read it and close."""

FAREWELL_SECONDS = 6.0
"""How long a contest that is over still listens for teams that are just reconnecting: clients pause 5 s at most."""

LINGER_BYTES = 1 << 20
"""How much a client may still send after goodbye before the connection is reset."""

RECEIVE_BYTES = 1 << 14
"""Asked of the kernel at once: four of the longest frames."""

CLOCK_STEP_SECONDS = 0.001
"""A wall clock that moved this much against the monotonic one has been set; slewing needs 2 s for it."""

READS_AT_ONCE = 64
"""Connections read, and their moves judged, before the other tasks get their turn: about 3 ms of work. Larger
batches cost less a move."""

ACCEPTS_AT_ONCE = 64
"""Connections taken in before the other tasks get their turn: about 5 ms of work."""

KEEPALIVE_IDLE_SECONDS = 10
KEEPALIVE_EVERY_SECONDS = 5
KEEPALIVE_TRIES = 4
"""After 30 s without a sign of the other machine a connection is lost (else hours later): who is away can be told
from who thinks, and a player that has lost its machine without a word is `absent` before its match is over."""

MAX_CONNECTIONS = 4096
"""In all. A class of forty needs forty; 10,000 idle ones were measured to fit into 60 MiB."""

MAX_CONNECTIONS_PER_ADDRESS = 256
"""From one address: a whole class behind one NAT, with bots to spare."""

SPARE_FILES = 16
"""Descriptors that connections leave free: the store, the log, the lock and the journal."""

CROWDED_PAUSE_SECONDS = 0.02
"""Once there are too many, before taking in the next ones: a connect flood costs a few per cent of one core."""

BAD_LOGIN_FIRST_SECONDS = 0.25
"""How long the second wrong login from an address waits for its answer; each further one twice as long."""

BAD_LOGIN_LONGEST_SECONDS = 8.0
"""Where that stops."""

BAD_LOGIN_FORGET_SECONDS = 60.0
"""An address without a wrong login for so long starts afresh."""

MAX_ADDRESSES_KEPT = 4096
"""Addresses whose wrong logins are remembered; the oldest are forgotten first."""

LOGINS_PER_WINDOW = 20
LOGIN_WINDOW_SECONDS = 10.0
"""Valid logins of one team in a stretch of time, for each bot that it may have here. An honest client that loses
every connection makes ten of them."""

CLASSIC_REFUSAL_SECONDS = 1.0
"""How long a refused classic client is kept waiting: the original ones come back at once, for ever."""

CLASSIC_MAX_SQUARES = 100
"""Squares in a classic path: the original's own bound."""

ABSENT_MISSES = 3
"""Missed limits in a row without a connection that lose the match (rule: hop must not be held up for 200 turns)."""

MAX_TEAMS = 256
"""Teams in one contest: a double round robin of them is 65,280 matches."""

MAX_MATCHES = 200_000
"""Of an event, by its settings and teams: three times a double round robin of 256. All that is given out at once is
one record, of 20 MB then."""

MAX_SEATS = 16
"""Bots of one team at once: what a good machine has cores for, and 16 such teams fit behind one address."""

MAX_EVENTS = 256
"""Events in one contest. A class tournament of all games has five; a benchmark has one for each pair of bots."""

MAX_CONFIG_BYTES = 1 << 20
"""Of contest.toml, teams.toml or a roster: a thousand teams take 100 KiB."""

CLASSIC_STRAYS = 16
"""Stale answers that a classic client may send between two questions: after a reconnect it may repeat itself."""

MATCH_ATTEMPTS = 3
"""How often a match is tried when the server itself fails in it, before the contest stops and says so."""

WATCH_SECONDS = 0.02
"""How often the event loop is looked at; standing still for longer than this is noted."""

STALLS_KEPT = 1000
"""How many of those times are remembered: the last minutes of a server in trouble."""

INCIDENT_ROWS_PER_TEAM = 64
"""Kinds of incidents (code and address) counted apart for one team: there are about 25 codes."""

INCIDENT_ROWS_OF_STRANGERS = 256
"""The same for all who have not logged in, together: they may come from any address. Each is a line shown."""

INCIDENT_DETAIL_CHARS = 500
"""Kept of the first incident of a kind."""

INCIDENTS_SAVED_EVERY_SECONDS = 1.0
"""How long counts may wait for the disk: a flood costs one transaction a second, a crash one second's counts."""

NOTED_PER_MINUTE = 10
"""Lines a minute about one team's coming and going, or another thing that is normal in small numbers."""

SERVER_FAULTS_KEPT = 64
"""Different tracebacks that are told apart; further ones are counted together."""

LOG_QUEUE_LINES = 4096
"""Lines that may wait for the disk; further ones are dropped and counted. About 4 MB."""

LOG_FILE_BYTES = 5_000_000
LOG_FILES_KEPT = 5
"""contest.log is 5 MB at most, with 5 older ones beside it: a contest of 10,000 matches takes three of them."""

LOG_TEXT_CHARS = 8000
"""Of one text in the log: a long traceback. What is cut is the middle."""

SUMMARY_ROWS = 20
"""Rows in the log's last word on incidents; all of them are in the store."""

SEGMENT_BYTES = 4 << 20
"""Of the journal, before its next segment is begun: 40,000 turns, which a restart reads in a quarter second."""

MAX_SEGMENT_BYTES = 64 << 20
"""Of a segment that is read. One has SEGMENT_BYTES and, after a full disk, what all running games had to write."""

DISK_LEAST_FREE_BYTES = 16_000_000
"""Below that no new match starts: the matches that run need room for their journals and records, 30 kB each."""

DISK_LOOKED_AT_EVERY_SECONDS = 1.0
"""How soon after space was freed everything goes on."""

GAME_INCIDENTS_KEPT = 32
"""Kinds of incidents (player and code) that one game's record names; there are about 25 codes."""
