"""The types of the values in records, with their limits: a database may hold anything."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta

from getstep.wire import MAX_TEXT
from getstep_server.config.fields import check_visible
from getstep_server.text import LATEST_TIME, utc_time
from getstep_server.validation import Check

MAX_SCORE = 1_000_000
"""Upper limit of an adjudicated score; the highest of any game is 65,536, the largest isle of pseudo_tonga."""

MAX_SECONDS = 10.0**9
"""Upper limit of a duration: thirty years, so that sums of times stay finite."""

MAX_INCIDENTS = 10**12
"""Upper limit of incidents of one kind in one game: a million a second for ten days."""

MIN_TIME_FACTOR, MAX_TIME_FACTOR = 0.1, 10.0
"""Limits are changed by no more than this: a machine with such another speed is not fit to play."""


def _check_time(text: str) -> None:
    try:
        seconds = datetime.fromisoformat(text).timestamp()
        written = utc_time(seconds) if 0 <= seconds < LATEST_TIME else ""
    # `timestamp` raises the latter two for years that the system's clock does not have.
    except (ValueError, OverflowError, OSError):
        written = ""
    if text != written:
        raise ValueError("a time in UTC such as 2024-10-05T14:30:00.000Z, from 1970 on and before 3000")


def _check_true(value: bool) -> None:
    if not value:
        raise ValueError("true, or nothing")


Number: TypeAlias = Annotated[int, Meta(ge=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
TeamId: TypeAlias = Annotated[int, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]
Ms: TypeAlias = Annotated[float, Meta(ge=0, le=1000 * MAX_SECONDS)]
PlayerScore: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_SCORE)]
Who: TypeAlias = Annotated[int, Meta(ge=0, le=1)]  # a Literal would take True for 1
BoundedText: TypeAlias = Annotated[str, Meta(max_length=MAX_TEXT)]
BoundedLine: TypeAlias = Annotated[str, Check(check_visible, max_length=MAX_TEXT)]
Sha256: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Time: TypeAlias = Annotated[str, Check(_check_time)]
True_: TypeAlias = Annotated[bool, Check(_check_true)]
Limit: TypeAlias = Annotated[float, Meta(gt=0, le=1000 * MAX_SECONDS)]
TWO = Meta(min_length=2, max_length=2)
