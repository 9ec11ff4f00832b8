"""Topics: JSON that changes, and the spectators that follow it.

Theory of operation
-------------------

A topic is a JSON object whose members are its *parts*, such as ``table`` or ``results``. `Topic.update` gets the
whole object. It encodes each part once, whatever the number of subscribers, and gives a part that has changed the
new version number. A subscriber gets all parts first, and then those whose version is higher than the last one it
got. So there is no queue: a slow reader skips states, and costs no memory. An event is encoded once and compressed
once for all subscribers that are as far.

Topics that nobody follows are not built. A topic is built again at most every TOPIC_SECONDS, and less often if it
takes long to build, or many subscribers take much processor time or many bytes: see `Topic.pause`.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeAlias

import trio
from msgspec import to_builtins

from getstep_server import json_text
from getstep_server.limits import (
    HEARTBEAT_SECONDS,
    MAX_SUBSCRIBERS,
    MAX_SUBSCRIBERS_PER_ADDRESS,
    MAX_TOPICS,
    PAGE_BYTES_PER_SECOND,
    TOPIC_SECONDS,
)
from getstep_server.text import escape_control_chars

from .http import Send, packed

Parts: TypeAlias = Mapping[str, Any]
Build: TypeAlias = Callable[[], Parts]

QUIET_SECONDS = 1.0
"""The interval at which a topic is built while nothing happens: boards of finished matches go away, for example."""

BUILD_RATIO = 9
"""From one build of a topic to the next pass so many times as long as it took to build and to send: that takes at
most a ninth of a core."""

CROWD_SECONDS = 0.5
"""The longest rest because of what was sent: each board that somebody follows changes at least once a second."""


def rest_of_crowd(spent: float) -> float:
    """Return how long to rest if the page has ``spent`` so much processor time since the last rest, in seconds."""
    return min(CROWD_SECONDS, BUILD_RATIO * spent)


def encode(value: object) -> bytes:
    """Return JSON in which no text has a control or bidi character: a team cannot turn the text around it."""
    with contextlib.suppress(ValueError):  # a surrogate
        text = json_text.encode(value)
        if b"\\" not in text and text.decode().isprintable():  # no text in it needs an escape, of JSON's or of ours
            return text
    return json_text.encode(_clean(to_builtins(value, str_keys=True)))


def _clean(value: Any) -> Any:
    if type(value) is str:
        return value if value.isprintable() else escape_control_chars(value)
    if isinstance(value, dict):
        return {key: _clean(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(member) for member in value]
    return value


class Topic:
    """One topic: its parts, each with the version at which it last changed."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.version = 0
        self.subscribers = 0
        self.packed_subscribers = 0
        """Those of them that get compressed events."""
        self.due_at = 0.0
        self.built = math.inf
        """The processor time of the latest build."""
        self.busy_at = 0.0
        """The processor time of the page's thread after the latest build."""
        self.stamp: Hashable = None
        """The state of the contest at the latest build."""
        self._parts: dict[str, tuple[int, bytes]] = {}
        self._frames: dict[int, bytes] = {}
        self._changed = trio.Event()

    def update(self, parts: Parts) -> None:
        """Take the new state, and wake the subscribers if a part has changed. A part that is gone becomes null."""
        gone = dict.fromkeys(self._parts)
        encoded = {name: encode(value) for name, value in {**gone, **parts}.items()}
        changed = [name for name, text in encoded.items() if self._parts.get(name, (0, b""))[1] != text]
        if not changed:
            return
        self.version += 1
        self._parts.update((name, (self.version, encoded[name])) for name in changed)
        self._frames.clear()
        event, self._changed = self._changed, trio.Event()
        event.set()

    def snapshot(self) -> bytes:
        """Return the whole object as JSON."""
        return self._object(0)

    def frame(self, seen: int) -> bytes:
        """Return the parts that changed after the version ``seen`` as a server-sent event."""
        if seen not in self._frames:
            self._frames[seen] = b"data: %b\n\n" % self._object(seen)
        return self._frames[seen]

    def pause(self, built: float, spent: float) -> float:
        """Return the least time from a build to the next one, in seconds.

        Args:
            built: the processor time of the build, in seconds.
            spent: that of everything the page has done since the build before, in seconds. Most of it sends the
                topics to their subscribers.
        """
        sent = 0
        if self.version and self.subscribers:
            frame = self.frame(self.version - 1)
            sent = (self.subscribers - self.packed_subscribers) * len(frame)
            sent += self.packed_subscribers * len(packed(frame)) if self.packed_subscribers else 0
        return max(TOPIC_SECONDS, BUILD_RATIO * built, rest_of_crowd(spent), sent / PAGE_BYTES_PER_SECOND)

    async def follow(self, send: Send, *, is_packed: bool = False) -> None:
        """Send all parts, and then each change, until cancelled."""
        self.subscribers += 1
        self.packed_subscribers += is_packed
        try:
            seen = -1
            while True:
                if self.version > seen:
                    frame, seen = self.frame(max(seen, 0)), self.version
                    await send(packed(frame) if is_packed else frame)
                    continue
                with trio.move_on_after(HEARTBEAT_SECONDS) as scope:  # only a write shows that a browser has gone
                    await self._changed.wait()
                if scope.cancelled_caught:
                    await send(packed(b":\n\n") if is_packed else b":\n\n")
        finally:
            self.subscribers -= 1
            self.packed_subscribers -= is_packed

    def _object(self, seen: int) -> bytes:
        """Return the parts after a version, and the server's clock in ms: browsers' clocks are often wrong."""
        members = [b'"%b":%b' % (n.encode(), text) for n, (version, text) in self._parts.items() if version > seen]
        return b"{%b}" % b",".join([b'"now":%d' % (1000 * time.time()), *members])


class Crowd:
    """The clients that follow something, counted in all and by address.

    Args:
        most_per_address: how many from one address may follow.
    """

    def __init__(self, most_per_address: int) -> None:
        self.size = 0
        self._most_per_address = most_per_address
        self._addresses = Counter[str]()

    def is_full(self, address: str) -> bool:
        """Return True if no further client from this address may follow."""
        return self.size >= MAX_SUBSCRIBERS or self._addresses[address] >= self._most_per_address

    @contextlib.contextmanager
    def member(self, address: str) -> Iterator[None]:
        """Count a client with this address in this block."""
        self.size += 1
        self._addresses[address] += 1
        try:
            yield
        finally:
            self.size -= 1
            self._addresses[address] -= 1
            self._addresses += Counter()  # forgets the addresses that have none


class Topics:
    """The topics that are followed now, by name.

    Args:
        find: returns the builder of a topic, or None if there is no such topic.
        most_per_address: how many clients from one address may follow topics.
        clock: in seconds.
        busy: the processor time of this thread, in seconds.
    """

    def __init__(
        self,
        find: Callable[[str], Build | None],
        most_per_address: int = MAX_SUBSCRIBERS_PER_ADDRESS,
        clock: Callable[[], float] = trio.current_time,
        busy: Callable[[], float] = time.thread_time,
    ) -> None:
        self._find = find
        self._clock = clock
        self._busy = busy
        self._topics: dict[str, Topic] = {}
        self.crowd = Crowd(most_per_address)

    async def follow(self, topic: Topic, address: str, send: Send, *, is_packed: bool = False) -> None:
        """Send a topic to a subscriber with this address, until cancelled."""
        with self.crowd.member(address):
            await topic.follow(send, is_packed=is_packed)

    def get(self, name: str) -> Topic | None:
        """Return a topic in its current state; None if there is no such topic."""
        topic = self._topics.get(name)
        if topic is None:
            build = self._find(name)
            if build is None:
                return None
            self._forget()
            topic = self._topics[name] = Topic(build)
            topic.busy_at = self._busy()
        if topic.due_at <= self._clock():
            self._build(topic)
        return topic

    def refresh(self, stamp: Hashable) -> None:
        """Build the topics that are followed and due.

        Args:
            stamp: changes with the contest. As long as it stays, a topic is built once a second: some of its parts
                depend on the time.
        """
        now = self._clock()
        for topic in list(self._topics.values()):
            rest = 0.0 if topic.stamp != stamp else QUIET_SECONDS
            if topic.subscribers and topic.due_at + rest <= now:
                topic.stamp = stamp
                self._build(topic)

    def clear(self) -> None:
        """Build all topics again, at once: the contest was read again from its beginning."""
        for topic in self._topics.values():
            topic.due_at = 0.0

    def _build(self, topic: Topic) -> None:
        # Processor time: on a busy machine a build of 10 ms takes most of a second, and the rest would take ten.
        # The rest counts from the beginning: on such a machine the build is most of the wait already.
        began, at = self._busy(), self._clock()
        topic.update(topic.build())
        ended = self._busy()
        # The less of two: a garbage collection during a build takes 70 ms, and would be rested for 0.6 s.
        usual, topic.built = min(ended - began, topic.built), ended - began
        topic.due_at = at + topic.pause(usual, ended - topic.busy_at)
        topic.busy_at = ended

    def _forget(self) -> None:
        """Drop topics that nobody follows, if there are too many."""
        unused = [name for name, topic in self._topics.items() if not topic.subscribers]
        for name in unused[: max(0, len(self._topics) + 1 - MAX_TOPICS)]:
            del self._topics[name]
