"""The limits of the server, each with the reason for its value. `getstep.wire` has the limits of a single message.

protocol.md, "Limits", states the limits that a client can notice; a test compares both. Every limit is held by a
test: `python tests/support/limits_removed.py` removes the limits one at a time and names the test that fails.

Unless a docstring says otherwise, figures were measured on a shared two-core machine with Python 3.11.
"""

from __future__ import annotations

LOGIN_SECONDS = 10.0
"""The time from the connection to a complete join. A program needs milliseconds, and no person logs in by hand."""

FRAME_SECONDS = 5.0
"""The time from a frame's first byte to its last. 4 KiB take 0.4 s at 100 kbit/s, the slowest network expected."""

LINGER_SECONDS = 2.0
"""The time after goodbye for the client to read it and close. Then the server closes the connection."""

SHUTDOWN_SECONDS = 6.0
"""The time for which a finished contest still accepts connections, so that reconnecting teams get their goodbye.

Clients pause for at most 5 s between two attempts.
"""

LINGER_BYTES = 1 << 20
"""The bytes that a client may send after goodbye. Then the server resets the connection."""

RECEIVE_BYTES = 1 << 14
"""The size of one read from a socket: four of the longest frames (4 KiB each)."""

CLOCK_STEP_SECONDS = 0.001
"""The jump of the wall clock against the monotonic clock that counts as a clock change.

Slewing (at most 500 ppm) needs 2 s to reach it.
"""

READS_AT_ONCE = 64
"""The number of readable connections that one poll returns."""

READ_SECONDS = 0.0015
"""The time for reading connections of teams and judging their moves, before other tasks run.

Together with the last read and the write to the journal it is 2 ms. A larger batch costs less for each move, but
delays the other tasks.
"""

LOGIN_READ_SECONDS = 0.0002
"""The same time for connections before login. Each of them has only one short frame (512 bytes) to send."""

ACCEPTS_AT_ONCE = 64
"""The number of connections accepted before other tasks run."""

ACCEPT_SECONDS = 0.0002
"""The time for accepting connections before other tasks run: enough for about ten.

Portions are small because, on a busy machine, the operating system makes a process that runs for long wait as long
as the others have run.
"""

ACCEPT_SHARE = 0.1
"""The share of one processor, during matches, for accepting connections: 4,000 a second.

It is more than for what follows, because only an accepted connection can wait for the turn of its address.
"""

LOGIN_SHARE = 0.05
"""The share of one processor, during matches, for connections before login; known and new addresses have one each.

It allows about 180 connections a second. If the server gets only 0.4 of a processor, it is an eighth of that.
"""

IDLE_LOGIN_SHARE = 0.5
"""The same share while no match is played: 1,800 connections a second, and a flood leaves half of a processor."""

LOGIN_BURST_SECONDS = 0.1
"""The processor time that connections before login may use at once: 350 connections.

A whole class that reconnects together is therefore not delayed.
"""

CONNECTION_COSTS = 4
"""The cost of a connection that never logs in, as a multiple of the cost of admitting it (80 µs).

It includes its task, hello, goodbye and closing.
"""

KEEPALIVE_IDLE_SECONDS = 10
KEEPALIVE_EVERY_SECONDS = 5
KEEPALIVE_TRIES = 4
"""TCP keepalive: a connection is closed after 30 s without a sign of the other machine (10 + 4 × 5).

Without it the operating system takes hours. It allows a disconnected player to be distinguished from one that is
thinking, and a player whose machine has failed to be `absent` before its match is over.
"""

MAX_CONNECTIONS = 4096
"""The number of open connections that have not logged in: 25 MiB. Those of teams are bounded by their seats."""

MAX_CONNECTIONS_PER_ADDRESS = 256
"""The same from one address: a class behind one NAT, or the bots of one machine, that log in at the same time."""

MAX_WAITING_CONNECTIONS = 1024
"""The accepted connections that wait for the turn of their address, for one address alone: those of 1,024 bots.

With n addresses each may have 1/n of it. If they come one after the other, 200 addresses have 6,000 in all.
"""

MAX_FILTERED_SOURCES = 256
"""The sources whose requests to connect are dropped by the kernel: a filter of 6 kB."""

FILTER_SECONDS = 0.02
"""The interval at which the filter may change. A change takes 0.2 ms."""

BLOCKED_SECONDS = 2.0
"""The time for which they are dropped at least: 200 sources then get through for 1 % of the time."""

SPARE_FILES = 16
"""The file descriptors that connections must leave free: for the database, the log, the lock and the journal."""

FULL_PAUSE_SECONDS = 0.02
"""The pause before the next accept while the system has no file descriptor for a connection."""

BAD_LOGIN_FIRST_SECONDS = 0.25
"""The delay of the answer to the second wrong login from an address. Each further delay is twice as long."""

BAD_LOGIN_LONGEST_SECONDS = 8.0
"""The longest delay of the answer to a wrong login."""

BAD_LOGIN_FORGET_SECONDS = 60.0
"""The time without a wrong login after which an address has no delay again."""

MAX_ADDRESSES_KEPT = 4096
"""The number of addresses whose wrong logins are counted. The oldest are dropped first."""

KNOWN_ADDRESSES_PER_SEAT = 4
"""The latest addresses of a team, for each of its seats, whose connections do not wait for those of new addresses.

A bot moves between a few: cable, WLAN and IPv6. Each address that floods delays the others by a piece of work.
"""

LOGINS_PER_WINDOW = 20
LOGIN_WINDOW_SECONDS = 10.0
"""The valid logins of one team in a sliding window, for each of its seats.

A correct client that loses every connection logs in ten times in 10 s.
"""

CLASSIC_REFUSAL_SECONDS = 1.0
"""The delay before a refused classic client is disconnected. The original clients reconnect at once and forever."""

MAX_TEAMS = 1024
"""The number of teams in a contest. `benchmarks.scale` measures what that many cost."""

MAX_MATCHES = 525_000
"""The number of matches in an event, computed from its settings and teams.

A single round robin of 1,024 teams has 523,776. All pairings that are published at once are one record: 42 MB for
that event. The server then needs 600 MB of memory and 15 s to start.
"""

MAX_SEATS = 16
"""The number of seats of one team: a good machine has that many cores, and 16 such teams fit behind one address."""

MAX_INVITATIONS = 512
"""The invitations that a contest keeps, and that may be open at the same time. One may be good for all teams."""

MAX_INVITATIONS_FILE_BYTES = 1 << 20
"""The size of their file. An invitation takes 300 bytes, and 12 for each team that has used it."""

MAX_INVITATION_DAYS = 366
"""The days after which an invitation ends at the latest: the links of a course are made for one year."""

MAX_EVENTS = 256
"""The number of events in a contest. A class tournament has five. A benchmark has one for each pair of bots."""

MAX_CONFIG_BYTES = 1 << 20
"""The size of contest.toml, teams.toml or a roster. A thousand teams take 100 KiB."""

MAX_STALE_ANSWERS = 16
"""The answers to no open question that a classic client may send between two questions.

One more is allowed for each question that it has not answered. A client may repeat answers after a reconnect.
"""

NO_SHOWS_UNTIL_FINAL = 3
"""The no-shows at one match after which its forfeit is final. It bounds the records of a team that comes and goes.

Two no-shows can be innocent: first both teams were missing, then one of them.
"""

MATCH_ATTEMPTS = 3
"""The attempts at a match in which the server fails. After the last one the contest stops with an error."""

STALL_CHECK_SECONDS = 0.02
"""The interval at which the event loop is checked for stalls. A longer delay between two checks is a stall."""

STALLS_KEPT = 1000
"""The number of stalls that are remembered: some minutes of a server in trouble."""

INCIDENT_ROWS_PER_TEAM = 64
"""The kinds of incidents (code and address) counted separately for one team. There are about 25 codes."""

UNAUTHENTICATED_INCIDENT_ROWS = 256
"""The same number for all connections before login together. They may come from any address.

Each kind is one line on the screen.
"""

INCIDENT_ROWS_KEPT = 4
"""A run keeps four times as many rows of earlier runs, the latest; it adds older ones to one more row.

A server that starts again each night, on the internet, would else have a hundred thousand rows in a year.
"""

INCIDENT_DETAIL_CHARS = 500
"""The characters kept of the detail of the first incident of a kind."""

INCIDENTS_SAVED_EVERY_SECONDS = 1.0
"""The interval at which the counts of incidents are saved.

A flood costs one transaction a second, and a crash loses the counts of one second.
"""

THROTTLE_PER_MINUTE = 10
"""The lines a minute about one team's connections, or about another event that is normal in small numbers."""

SERVER_FAULTS_KEPT = 64
"""The number of different tracebacks counted separately. Further ones are counted together."""

LOG_QUEUE_LINES = 4096
"""The log lines that may wait for the disk, about 4 MB. Further lines are dropped and counted."""

LOG_FILE_BYTES = 5_000_000
LOG_FILES_KEPT = 5
"""The size of contest.log, and the number of older files kept. A contest of 10,000 matches fills three."""

LOG_TEXT_CHARS = 8000
"""The characters of one text in the log, enough for a long traceback. The middle of a longer text is cut."""

SUMMARY_ROWS = 20
"""The rows of the summary of incidents at the end of the log. The database has all of them."""

SEGMENT_BYTES = 4 << 20
"""The size at which the journal begins a new segment: 40,000 turns, which a restart reads in 0.25 s."""

MAX_SEGMENT_BYTES = 64 << 20
"""The size of a segment that is read.

A segment has SEGMENT_BYTES and, after a full disk, also the waiting writes of all running matches.
"""

DISK_LEAST_FREE_BYTES = 16_000_000
"""The free space below which no new match starts.

Running matches need it for their journal entries and records, 30 kB each.
"""

DISK_LOW_BYTES = 1_000_000_000
"""The free space below which the host is warned: room for 70,000 matches of hop. A day of an arena has 8,640."""

DISK_CHECK_SECONDS = 1.0
"""The interval at which a full disk is checked: the contest resumes that soon after space was freed."""

GAME_INCIDENTS_KEPT = 32
"""The kinds of incidents (player and code) in the record of one match. There are about 25 codes."""

MAX_TRIED_BYTES = 1024
"""The size of an illegal move in the record, as JSON.

A frame of control characters takes 24 kB as JSON, and a bot may send one in each of 200 turns.
"""

MATCH_NOTES_BYTES = 128 * 1024
"""The notes of one player in the record of a match, as JSON: those of 32 moves with full frames."""

HEADED_TEXT_BYTES = 16 << 20
"""A game as text with a header, in a file to read: 400 turns with notes take less than 1 MB."""

SETTINGS_SHOWN = 20
"""The changed settings shown in full, one line each. A change of the list of teams may have 256 lines."""

MAX_JSON_DEPTH = 254
"""The lists and dicts inside each other in a record or another JSON text. This program writes about five."""

DATABASE_CONNECT_SECONDS = 5
"""The time to connect to a PostgreSQL server, and for its kernel to confirm what was sent to it."""

DATABASE_DOUBT_SECONDS = 60.0
"""The time in which a server that went away during a commit may come back. Then the run ends; it can be resumed."""

# --- the live page, a process of its own ---

MAX_PAGE_CONNECTIONS = 1024
"""The open connections of the page's server: 300 spectators hold about two each, and an idle one takes 10 kB."""

MAX_PAGE_CONNECTIONS_PER_ADDRESS = 512
"""The same from one address: a class behind one NAT."""

MAX_SUBSCRIBERS = 500
"""The spectators that get events. Further ones get the page as it is when they load it."""

MAX_SUBSCRIBERS_PER_ADDRESS = 250
"""The same from one address: a large class behind one NAT, which leaves room for all others."""

PAGE_REQUESTS_PER_SECOND = 100
PAGE_BURST_SECONDS = 50
"""The requests of one address on average, and of how many seconds at once: 5,000; each takes about 1 ms.
This computer has no such limit.

A class of 250 behind one NAT that opens the page sends 4,000 in some seconds. Then its browsers follow events.
"""

MAX_TOPICS = 256
"""The pages whose state is kept. The oldest that nobody follows are forgotten: to build one takes milliseconds."""

PAGE_HEAD_BYTES = 16_384
"""The head of a request. A browser sends 500 bytes, and cookies of other servers of this host come on top."""

PAGE_BODY_BYTES = 4096
"""The body of a request: a form with a team's id and token."""

PAGE_REQUEST_SECONDS = 10.0
"""The time from the connection to the end of its first request. A phone on a bad WLAN needs a second."""

MAX_PAGE_UPLOADS = 4
"""The long bodies that are read at the same time: each may take `MAX_PROGRAM_BYTES` of memory."""

PAGE_UPLOAD_SECONDS = 120.0
"""The time for a request with a long body: 10 MB at 85 kB/s, which a bad WLAN has."""

MAX_PAGE_HANDSHAKES = 256
"""The TLS handshakes of the page at the same time: those of a class that loads it. An honest one takes 0.1 s."""

PAGE_HANDSHAKE_SECONDS = 10.0
"""The time from the connection to the end of its TLS handshake, as for a request."""

MAX_FORWARDED = 16
"""The addresses in ``X-Forwarded-For``: each proxy on the way adds one, and a client may begin the list itself."""

PAGE_IDLE_SECONDS = 30.0
"""The time between two requests on one connection. Then the server closes it, and a browser opens a new one."""

PAGE_SEND_SECONDS = 10.0
"""The time in which a client must take 64 KiB, or one event. Then its connection is closed: browsers come back."""

PAGE_SEND_BUFFER = 1 << 16
"""The bytes that the kernel keeps for a client. By default they would grow to 4 MB for each that does not read."""

PAGE_BYTES_PER_SECOND = 2_000_000
"""The bytes of events that all spectators of one topic get together: 16 Mbit/s, which an access point can carry.

With more spectators the topic is sent less often.
"""

TOPIC_SECONDS = 0.25
"""The least time between two states of a topic: eyes cannot follow faster boards."""

API_PAGE_ITEMS = 200
"""The items of one page of a list of the API: about 100 kB."""

API_SCANNED_MATCHES = 2000
"""The matches that one request looks at: it takes 10 ms. A filter that few pass gets short pages."""

FEED_EVENTS = 256
"""The events of one batch of the feed, and about 50 kB: to make them takes 5 ms. A long match may add as many."""

FEED_CACHE_BYTES = 4 << 20
"""The batches that are kept for readers which are a little behind: some seconds of a fast contest."""

MAX_FEED_MATCHES = 512
"""The running matches of which a token of the feed tells: 8 bytes each, and a request's head has 16 kB."""

HEARTBEAT_SECONDS = 15.0
"""The interval of empty comments on a quiet event stream: a spectator that has vanished is noticed."""

MAX_STANDBY_FRAME_BYTES = 1 << 24
"""A frame between a first host and its copy: several times the longest record of a match."""

MAX_STANDBYS = 4
"""The copies of a contest that are kept at the same time. Each reads journal and database 10 times a second."""

STANDBY_BODY_BYTES = 1 << 17
"""What a copy says that it has: 200 segments and 3,000 files take 70 kB."""

JOURNAL_TAIL_BYTES = 1 << 20
"""The bytes of the journal that the page reads at once: 10,000 turns, parsed in 30 ms."""

MAX_SAMPLE_GAMES = 8
"""The people who play against sample bots at the same time: each bot is a process of 25 MB."""

MAX_SAMPLE_GAMES_PER_ADDRESS = 4
"""The same from one address: half of the games stay for all other addresses."""

MAX_TEAM_PLAYERS = 64
"""The people who play for their teams in the contest at the same time: each has a connection to the server."""

MAX_FINISHED_GAMES = 64
"""The finished games of people that are kept for a browser that comes back: each takes 30 kB.

A program could begin and resign a hundred games a second.
"""

MAX_FRIENDLY_GAMES = 32
"""The people who play friendly matches at the same time. Each needs a bot that a team has connected for them."""

MAX_FRIENDLY_GAMES_PER_ADDRESS = 16
"""The same from one address: a class behind one NAT, which leaves half of the games to all others."""

MAX_FRIENDLY_CONNECTIONS = 256
"""The open connections of bots for friendly matches: few enough to leave most of 1,024 open files to spectators."""

MAX_FRIENDLY_CONNECTIONS_PER_ADDRESS = 64
"""The same from one address: a class behind one NAT, with one bot for each team."""

PERSON_AWAY_SECONDS = 120.0
"""The time for which a person's game goes on without a browser, and a finished one is kept.

A reload takes a second, and a phone that was locked for a call comes back. A browser that was closed does not.
"""

SIGN_UPS_PER_ADDRESS = 40
SIGN_UP_SECONDS = 3600.0
"""The teams that sign up by links from one address in a sliding window: a class behind one NAT, each on its own."""

SIGN_UPS_KEPT = 256
"""The latest teams that have signed up whose browser gets its answer again, if it was lost on the way."""

TEAM_SESSIONS = 8
"""The browsers that are logged in to the area of one team. The oldest is logged out by one more."""

TEAM_SESSION_SECONDS = 8 * 3600.0
"""The time from a login to the area of a team to its end: a day of a contest."""

MAX_OPEN_QUESTIONS = 20
"""Unanswered questions of a team. With 30 s between two, a team that only asks writes 20 records in 10 min."""

TOKENS_A_DAY = 10
"""How often a team may replace its token in 24 hours. Each is a record, and reads all others: 0.1 s."""

PAGE_NONCE_SECONDS = 60.0
"""The age of a nonce that a login on the page may sign. A browser asks for it and signs it within a second."""

WALL_TEXT_CHARS = 200
"""The characters of the host's message on the wall: two lines on a projector."""

OWN_MATCHES = 200
"""The latest matches in the area of a team. To read the turns of that many takes some tenths of a second, once."""

OWN_PENALTIES = 60
"""The latest penalties that the area of a team shows, each with its board; equal ones are one."""

OWN_PENALTIES_OF_A_MATCH = 8
"""The latest penalties of one match that it shows. A bot that fails often fails in the same way: that is one."""

MAX_OWN_CACHE = 2048
"""The matches whose own turns are kept in summary, for all teams together: 10 kB each at most, and 1 kB mostly."""

# --- programs that the host runs ---

MAX_PROGRAM_DESCRIPTION_BYTES = 1 << 16
"""The size of program.json. The server writes some hundred bytes."""

PROGRAM_VERSIONS_KEPT = 20
"""The versions of a team's program whose files are kept: a version has up to 74 MB.

The version in use is kept in any case. Of older ones the description stays, because records name them.
"""

MAX_PROGRAM_VERSIONS = 10_000
"""The versions that a team may add in all: three an hour for a term."""

TEAM_PROGRAM_BYTES = 200_000_000
"""The bytes of all versions of a team's program whose files are kept: the oldest are deleted first.

The latest version and the one in use are kept in any case. 1,000 teams with usual programs take 1 GB.
"""

SUBMISSIONS_A_DAY = 50
"""The programs that a team may submit in 24 hours: each may take minutes of a core to build and to try."""

PROGRAM_LOCK_SECONDS = 10.0
"""The time to wait for another process that stores or chooses a version: it needs milliseconds."""

MAX_PROGRAM_BYTES = 10_000_000
"""The size of a program's source, of an archive with it, and of what comes out of the archive."""

MAX_SUBMISSIONS_WAITING = 64
"""The submitted programs that wait to be tried, one for each team."""

SUBMISSIONS_WAITING_BYTES = 100_000_000
"""The memory that they take before no further one is accepted. Most programs have some kB."""

SUBMISSION_SECONDS = 900.0
"""The time for one submission: building and trying it have limits of their own, which are shorter."""

SUBMISSION_LINES = 200
"""The latest lines of progress of a submission that its team can read."""

CHILD_LINE_BYTES = 1 << 16
"""The length of such a line: the error of a compiler is cut to much less."""

MAX_ANALYSES_WAITING = 32
"""The analyses that wait, at most one of each team: the last one begins after half an hour."""

ANALYSES_A_DAY = 20
"""The games of a team that are analysed in 24 hours: 20 minutes of a core that nobody else wants."""

ANALYSIS_SECONDS = 900.0
"""The time for one analysis. It needs a minute of a core, and waits while matches need all of them."""

ANALYSES_KEPT = 1000
"""The analyses in the contest's folder; the oldest are deleted. One has 10 to 150 kB."""

MAX_PROGRAM_FILES = 1000
"""The files and folders of a program's source: a hundred times those of a usual one."""

MAX_PROGRAM_PATH_BYTES = 200
"""The length of a path in a program's source. With the contest's folder it fits the 260 characters of Windows."""

MAX_PROGRAM_DEPTH = 16
"""The folders inside each other in a program's source. A Java package has about five."""

MAX_ZIP_DIRECTORY_BYTES = 500_000
"""The size of a zip file's list of entries: 1000 of 300 bytes and their notes.

An object is made of each before any is read. A file of 10 MB could list 200,000 of them.
"""

MAX_TAR_BYTES = 13_000_000
"""The size of a tar file: the source, and three blocks of 512 bytes and the padding for each of its files."""

MAX_PROGRAM_SETTINGS_BYTES = 10_000
"""The size of program.toml, which has two commands and a name. To find the line of a mistake takes time."""

MAX_PROGRAM_COMMAND_CHARS = 2000
"""The length of a command in program.toml."""

PROGRAM_MEMORY_BYTES = 1 << 30
"""The memory of a program that plays, with its files: as in the original contests that named a limit."""

PROGRAM_ADDRESS_BYTES = 32 << 30
"""Virtual machines reserve some GB. A call of the kernel can change all, in 20 ms a GB, and is not suspended."""

PROGRAM_FILE_BYTES = 64 << 20
"""The size of all files in its folder and its temporary folder, with those it starts from. They are in memory."""

PROGRAM_FILES = 10_000
"""The files and folders that it may have. Each costs the kernel about 1 kB, which no size of a file counts."""

PROGRAM_THREADS = 100
"""The threads that it may run. A Java virtual machine has 20. Each may be in a long call when it is suspended."""

PROGRAM_DESCRIPTORS = 256
"""The files and pipes that it may have open. A Java virtual machine opens ten."""

PROGRAM_CPU_SECONDS = 3600
"""The processor time of one process of it: more than any game takes."""

PROGRAM_ERROR_BYTES = 4096
"""The bytes of a program's standard error that are kept: the last ones."""

PROGRAM_ERROR_LINES = 3
PROGRAM_ERROR_CHARS = 300
"""The lines and characters of them that are told with a failure: the last lines of a traceback say most."""

PROGRAM_ERROR_FREE_BYTES = 16 << 20
PROGRAM_ERROR_BYTES_PER_SECOND = 8 << 20
"""The standard error of one program that is read at once, and each second after that.

To read without an end would take the processor from the judge. A program that writes more has to wait.
"""

PROGRAM_LATE_REPLIES = 16
"""The replies in one turn that are not answers: a file with get_step sends one, when it has reached the limit."""

PROGRAM_REPLY_BYTES = 1 << 16
"""The longest line that a file with get_step may reply: a traceback has up to 24 kB."""

PROGRAM_REPLIES = 16
"""The replies that wait to be read. A program that writes more has to wait: its pipe is full."""

BUILD_SECONDS = 120.0
"""The time to compile a program. Java and C# take some seconds, C++ with large headers half a minute."""

BUILD_OUTPUT_BYTES = 1_000_000
"""The output of a compiler that is kept. C++ templates print 100 kB for one mistake."""

BUILD_SHOWN_LINES = 30
"""The lines of a compiler that its author is shown. The first mistake causes most of the others."""

MAX_BUILT_BYTES = 48 << 20
"""The size of a built program: a game has 64 MB for it and the files that it writes."""

MAX_BUILT_FILES = 5000
"""The files of a built program. A game may have 10,000, which are copied when it starts."""

TRIAL_SECONDS = 120.0
"""The time for the trial games of a program. A slow program is then stored without a fault."""

TRIAL_SECOND_SECONDS = 20.0
"""The time that the first trial game may take, so that another one with the other colour follows."""

TRIAL_MOVE_SECONDS = 10.0
"""The time of a move while it is not known yet which of several conventions is the program's.

By a wrong one, a program waits for what never comes, and with it the whole trial: a contest may have any limit.
"""

TRIAL_RIVAL_SECONDS = 5.0
"""The same once the program has played by another convention: almost always there is nothing to wait for."""

# --- matches on other machines ---

WORKER_TRIES = 10
"""The workers that may fail one match before it begins: then the fault is not theirs, and the host is told."""

WORKER_FAILURES = 3
"""The matches in a row that a worker may fail before it gets none for a while."""

MAX_CACHED_PROGRAMS = 1000
"""The programs that a worker keeps, not counting those it has just used: most have some kB, and some have 48 MB."""

CACHED_PROGRAM_SECONDS = 3600.0
"""The time for which a worker keeps a program in any case. A match copies it within seconds of asking for it."""

MAX_ORDER_BYTES = 1 << 16
"""The size of an order to play a match, and of the proof of a worker: they have some kB."""

MAX_ORDER_SECONDS = 86_400.0
"""The longest time for which a worker may play one match."""

MAX_REPORT_BYTES = 16 << 20
"""The size of the report on a match: its turns take 30 kB, 3 MB if both bots fail all the time."""

MAX_PROGRESS_BYTES = 1 << 18
"""The size of a part of its turns: the host decodes it on its event loop, in 2.5 ms. A turn takes at most half."""

MAX_TURN_CHARS = 1 << 15
"""The length of a turn in such a report, as JSON: a frame of control characters takes 24 kB."""

JUDGE_BACKLOG_BYTES = 4 << 20
"""The bytes that wait in a judge process until the server reads them. With more, it reports no events and no turns.

The results are still sent, with all turns.
"""

LOST_ATTEMPTS = 20
"""The attempts at one match that may be lost with their workers. On a cluster of good machines it is one or two."""
