"""The limits of the host's side of a cluster. Those of what workers send are in `getstep_server.limits`."""

from __future__ import annotations

WORKER_TRIES = 10
"""The workers that may fail one match before it begins: then the fault is not theirs, and the host is told."""

WORKER_FAILURES = 3
"""The matches in a row that a worker may fail before it gets none for a while."""
