"""The limits of a cluster, except those of what workers send, which are in `getstep_server.limits`."""

from __future__ import annotations

WORKER_TRIES = 10
"""The workers that may fail one match before it begins: then the fault is not theirs, and the host is told."""

WORKER_FAILURES = 3
"""The matches in a row that a worker may fail before it gets none for a while."""

MAX_CACHED_PROGRAMS = 1000
"""The programs that a worker keeps beside those it has just used: most have some kB, and some have 48 MB."""

CACHED_PROGRAM_SECONDS = 3600.0
"""The time for which a worker keeps a program in any case. A match copies it within seconds of asking for it."""
