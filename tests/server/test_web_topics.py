"""Topics: subscribers get what has changed, built once for all of them."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from getstep_server.web.http import _GZIP_HEAD, packed
from getstep_server.web.topics import Crowd, Topic, Topics, encode


class Spectator:
    """Keeps the state that it was sent, as a browser does."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.frames: list[dict[str, Any]] = []
        self.heartbeats = 0

    async def send(self, data: bytes) -> None:
        if data == b":\n\n":
            self.heartbeats += 1
            return
        assert data.startswith(b"data: ")
        assert data.endswith(b"\n\n")
        frame = json.loads(data[6:])
        assert isinstance(frame.pop("now"), int)
        self.frames.append(frame)
        self.state |= frame


class Source:
    """The data of a topic."""

    def __init__(self, **parts: Any) -> None:
        self.parts: Mapping[str, Any] = parts
        self.built = 0

    def __call__(self) -> Mapping[str, Any]:
        self.built += 1
        return self.parts


async def test_a_spectator_gets_all_first_and_then_what_has_changed() -> None:
    topic, spectator = Topic(Source()), Spectator()
    topic.update({"a": 1, "b": 1})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(topic.follow, spectator.send)
        await wait_all_tasks_blocked()
        topic.update({"a": 1, "b": 2})
        await wait_all_tasks_blocked()
        topic.update({"a": 1, "b": 2})
        await wait_all_tasks_blocked()
        topic.update({"b": 2})
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert spectator.frames == [{"a": 1, "b": 1}, {"b": 2}, {"a": None}]
    assert topic.subscribers == 0


async def test_a_slow_spectator_skips_states() -> None:
    topic, spectator, gate = Topic(Source()), Spectator(), trio.Event()

    async def slowly(data: bytes) -> None:
        await spectator.send(data)
        await gate.wait()

    topic.update({"n": 0, "same": True})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(topic.follow, slowly)
        await wait_all_tasks_blocked()
        for number in range(1, 1000):
            topic.update({"n": number, "same": True})
        gate.set()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert spectator.frames == [{"n": 0, "same": True}, {"n": 999}]


async def test_a_quiet_stream_has_a_heartbeat(autojump_clock: MockClock) -> None:
    topic, spectator = Topic(Source()), Spectator()
    topic.update({"a": 1})
    with trio.move_on_after(50):
        await topic.follow(spectator.send)
    assert spectator.heartbeats == 3


async def test_a_topic_is_built_for_its_subscribers_only(autojump_clock: MockClock) -> None:
    source = Source(a=1)
    topics = Topics({"one": source}.get)
    assert topics.get("two") is None
    topic = topics.get("one")
    assert topic is not None
    assert source.built == 1
    for stamp in range(10):
        await trio.sleep(1)
        topics.refresh(stamp)
    assert source.built == 1
    topic.subscribers = 300
    for stamp in range(10):
        await trio.sleep(0.1)
        topics.refresh(stamp)
    assert 3 <= source.built - 1 <= 5  # every 0.25 s, however many spectators there are


async def test_a_topic_in_which_nothing_changes_is_built_once_a_second(autojump_clock: MockClock) -> None:
    source = Source(a=1)
    topics = Topics({"one": source}.get)
    topic = topics.get("one")
    assert topic is not None
    topic.subscribers = 1
    for _ in range(100):
        await trio.sleep(0.1)
        topics.refresh("same")
    assert 7 <= source.built <= 11


async def test_many_bytes_are_sent_less_often() -> None:
    topic = Topic(Source())
    topic.update({"a": "x" * 20_000})
    topic.subscribers = 10
    assert topic.pause(0, 0) == 0.25
    topic.subscribers = 500
    assert topic.pause(0, 0) == pytest.approx(5, rel=0.01)
    assert topic.pause(1, 1) == 9


async def test_compressed_events_count_with_the_bytes_that_are_sent() -> None:
    topic = Topic(Source())
    topic.update({"a": "x" * 20_000})
    topic.subscribers = topic.packed_subscribers = 500
    assert topic.pause(0, 0) == 0.25


async def test_a_topic_rests_by_the_processor_time_of_its_build(autojump_clock: MockClock) -> None:
    """On a busy machine a build of 10 ms may take a second; the next one must not wait nine seconds for it."""
    busy = [0.0]

    class Slow(Source):
        def __call__(self) -> Mapping[str, Any]:
            busy[0] += 0.01
            autojump_clock.jump(1)
            return super().__call__()

    topics, began = Topics({"one": Slow(a=1)}.get, busy=lambda: busy[0]), trio.current_time()
    topic = topics.get("one")
    assert topic is not None
    assert topic.due_at - began == pytest.approx(0.25)


async def test_one_long_build_is_not_rested_for(autojump_clock: MockClock) -> None:
    """A garbage collection during a build takes longer than the build; a topic that is slow each time does rest."""
    busy, takes = [0.0], [0.01, 0.1, 0.01, 0.1, 0.1]

    class Uneven(Source):
        def __call__(self) -> Mapping[str, Any]:
            busy[0] += takes.pop(0)
            return super().__call__()

    topics = Topics({"one": Uneven(a=1)}.get, busy=lambda: busy[0])
    topic = topics.get("one")
    assert topic is not None
    topic.subscribers = 1
    rests = []
    for stamp in range(4):
        await trio.sleep(2)
        topics.refresh(stamp)
        rests.append(round(topic.due_at - trio.current_time(), 2))
    assert rests == [0.5, 0.25, 0.5, 0.9]


async def test_a_topic_rests_by_the_processor_time_of_its_crowd_and_changes_once_a_second(
    autojump_clock: MockClock,
) -> None:
    """What was sent since the build before takes at most a tenth of a core, and no board stands still for long."""
    busy = [100.0]  # of the time before the topic began
    source = Source(a=1)
    topics = Topics({"one": source}.get, busy=lambda: busy[0])
    topic = topics.get("one")
    assert topic is not None
    topic.subscribers = 1
    for spent, rest in ((0.0, 0.25), (0.05, 0.45), (5.0, 0.5)):
        busy[0] += spent  # the version before is sent to all subscribers
        await trio.sleep(1)
        source.parts = {"a": rest}
        topics.refresh(rest)
        assert topic.due_at - trio.current_time() == pytest.approx(rest)


async def test_compressed_events_are_one_gzip_stream() -> None:
    """Whatever follows what: a slow reader skips events, and gets others than a fast one."""
    parts = [b"data: {}\n\n", b":\n\n", b"data: " + b"0123456789" * 5000 + b"\n\n", b":\n\n"]
    reader = zlib.decompressobj(wbits=31)
    read = reader.decompress(_GZIP_HEAD)
    for part in parts:
        got = reader.decompress(packed(part))
        assert got == part  # at once: nothing waits for the next event
        read += got
    assert read == b"".join(parts)
    assert packed(parts[2]) is packed(bytes(parts[2]))  # compressed once for all readers
    assert len(packed(parts[2])) < len(parts[2]) / 5


async def test_so_many_topics_are_kept() -> None:
    topics = Topics(lambda name: Source(name=name))
    first = topics.get("0")
    assert first is not None
    first.subscribers = 1
    for number in range(1, 400):
        topics.get(str(number))
    assert len(topics._topics) == 256
    assert topics.get("0") is first


def test_so_many_spectators_get_events() -> None:
    crowd = Crowd(250)
    with contextlib.ExitStack() as members:
        for number in range(500):
            assert not crowd.is_full("192.0.2.1")
            members.enter_context(crowd.member(f"198.51.100.{number // 250}"))
        assert crowd.is_full("192.0.2.1")
    assert not crowd.is_full("192.0.2.1")


async def test_one_address_cannot_take_all_places() -> None:
    topics = Topics(lambda name: Source(name=name))
    topic = topics.get("a")
    assert topic is not None

    async def send(_: bytes) -> None:
        pass

    async with trio.open_nursery() as nursery:
        for _ in range(250):
            assert not topics.crowd.is_full("192.0.2.1")
            nursery.start_soon(topics.follow, topic, "192.0.2.1", send)
            await wait_all_tasks_blocked()
        assert topics.crowd.is_full("192.0.2.1")
        assert not topics.crowd.is_full("192.0.2.2")
        nursery.cancel_scope.cancel()
    assert not topics.crowd.is_full("192.0.2.1")
    assert topic.subscribers == 0
    assert not topics.crowd._addresses


def test_no_text_can_turn_the_text_around_it() -> None:
    value = {"name": "a\u202eb", "list": [("\x1b[2J", "ok"), 1, None, True], "deep": {"x": "\u2066"}}
    assert json.loads(encode(value)) == {
        "name": "a\\u202eb",
        "list": [["\\u001b[2J", "ok"], 1, None, True],
        "deep": {"x": "\\u2066"},
    }
    assert json.loads(encode({1: "a\ud800b", "quoted": '"\n'})) == {"1": "a\\ud800b", "quoted": '"\\u000a'}
