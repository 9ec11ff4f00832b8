"""``/metrics``: numbers of a running contest, in the text format that Prometheus reads.

All of it is in the page's process already: the journal that it follows, the status file that the server writes, and
its own counters. So it costs the judge nothing. prometheus_client would add a registry of its own for numbers that
others count; the format is a few lines. No label has values that a team or a spectator can choose.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import trio

from .api_routes import Api
from .feed import Feed
from .host_state import count_incidents, free_bytes
from .http import HttpServer, Request, Response, problem

TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name, its type, what it is, and its values, each with its labels."""

    name: str
    kind: str
    about: str
    values: Sequence[tuple[Mapping[str, str], float]]

    def lines(self) -> Iterator[str]:
        yield f"# HELP getstep_{self.name} {self.about}"
        yield f"# TYPE getstep_{self.name} {self.kind}"
        for labels, value in self.values:
            listed = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            yield f"getstep_{self.name}{'{' + listed + '}' if listed else ''} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Metrics:
    """The numbers of a contest and of its page.

    Args:
        feed: the contest.
        api: with the readers of pages and feed.
    """

    def __init__(self, feed: Feed, api: Api) -> None:
        self._feed = feed
        self._api = api
        self.server: HttpServer | None = None
        """The page's server; None until it listens."""

    async def __call__(self, request: Request) -> Response:
        """Answer a request from this machine, or one with the key of contest.toml."""
        key = self._feed.contest.file.page.metrics_key
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        known = key is not None and hmac.compare_digest(given.encode(), key.encode())
        if not known and not request.is_local:
            return problem(403, "only from this machine, or with the metrics_key of contest.toml as a bearer token")
        store = self._feed.store
        incidents = {} if store is None else await trio.to_thread.run_sync(count_incidents, store)
        free = await trio.to_thread.run_sync(free_bytes, self._feed.folder)
        lines = [line for family in self._families(incidents, free) for line in family.lines()]
        return Response("".join(f"{line}\n" for line in lines).encode(), TEXT_FORMAT)

    def _families(self, incidents: Mapping[str, int], free: int) -> Iterator[Family]:
        feed, status = self._feed, self._feed.status
        whole = feed.whole
        yield _one("up", "gauge", "1 while a server runs the contest", feed.server_runs)
        yield Family(
            "turns_total",
            "counter",
            "turns judged since the page began to follow, by what they were",
            [({"code": code}, count) for code, count in sorted(feed.codes.items())],
        )
        yield _one("records", "gauge", "records in the chain", whole.place)
        yield Family(
            "matches",
            "gauge",
            "matches by state; those that wait are the queue",
            [
                ({"state": "done"}, whole.done),
                ({"state": "running"}, len(feed.live.running)),
                ({"state": "waiting"}, max(0, whole.total - whole.done - len(feed.live.running))),
            ],
        )
        yield Family(
            "incidents_total",
            "counter",
            "protocol violations and refused logins on record, by kind",
            [({"kind": kind}, count) for kind, count in sorted(incidents.items())],
        )
        yield _one("workers", "gauge", "machines of a cluster that have played", len(whole.workers))
        yield _one("disk_free_bytes", "gauge", "free on the disk of the contest", free)
        if status is not None and feed.server_runs:
            connected, hanging = status.connected, len(status.hanging)
            yield _one(
                "judge_lag_seconds", "gauge", "the latest delay of the judge's event loop", status.lag_ms / 1000
            )
            yield _one("bots_connected", "gauge", "bots that are logged in", sum(connected.values()))
            yield _one("teams_connected", "gauge", "teams with a bot that is logged in", len(connected))
            yield _one("bots_hanging", "gauge", "teams with a bot that is connected and does not answer", hanging)
        followed = {"pages": self._api.topics.crowd.size, "feed": self._api.readers.size}
        yield Family(
            "subscribers",
            "gauge",
            "browsers that follow a page, and readers of the feed",
            [({"of": name}, size) for name, size in followed.items()],
        )
        if self.server is not None:
            yield _one("page_connections", "gauge", "open connections of the page", self.server.connections)
            yield Family(
                "page_answers_total",
                "counter",
                "answers of the page by status",
                [({"status": str(status)}, count) for status, count in sorted(self.server.answers.items())],
            )


def _one(name: str, kind: str, about: str, value: float) -> Family:
    return Family(name, kind, about, [({}, value)])
