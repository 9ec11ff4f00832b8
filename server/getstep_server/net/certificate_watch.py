"""Keeps the certificate of a running process up to date: a renewed one is used without a restart."""

from __future__ import annotations

import time
from collections.abc import Callable

import trio

from getstep_server.config.certificate import Certificate

LOOK_SECONDS = 5.0
"""The interval at which the files are looked at: `Certificate.refresh` takes a change that two looks have seen."""


async def keep_current(certificate: Certificate, say: Callable[[str], None]) -> None:
    """Look at the files until cancelled, in a thread, and tell ``say`` what is new for the host."""
    while True:
        for news in await trio.to_thread.run_sync(certificate.refresh, time.time()):
            say(news)
        await trio.sleep(LOOK_SECONDS)
