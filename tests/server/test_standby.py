"""A standby host: the copy of a contest, the sealed frames, the take-over, and who may play afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep_server.cli.main import run_command
from getstep_server.config.contest import Contest, database_path, load_contest, running_path
from getstep_server.config.host_key import bearer_key
from getstep_server.decisions.making import decide
from getstep_server.decisions.requests import Freeze, NotStrict
from getstep_server.errors import ConfigError, ContestStopped
from getstep_server.net.registry import Fence
from getstep_server.runtime.fencing import Fencing
from getstep_server.runtime.run import open_contest
from getstep_server.standby.fence_certificate import certificate, certifies
from getstep_server.standby.folder import CopyError, CopyFolder
from getstep_server.standby.follower import ADDRESS, HEADER, FirstHost, Follower, NoConnection, host_among
from getstep_server.standby.marks import (
    Mark,
    copied_place,
    forget_copied_after,
    note_copied,
    read_mark,
    was_followed,
    write_mark,
)
from getstep_server.standby.messages import (
    MAX_FILES,
    MAX_SEGMENTS,
    Ack,
    Begin,
    FilePart,
    FromHost,
    Have,
    Rows,
    SegmentPart,
    Standbys,
    TakenOver,
    Tick,
    decode_from_host,
    encode,
    is_copied,
)
from getstep_server.standby.sealed import Sealer, SealError, length_of
from getstep_server.standby.source import OtherChainError, Source
from getstep_server.standby.taking import TakeOver
from getstep_server.storage import journal as journal_module
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.database import StoreError
from getstep_server.storage.journal import Journal, segments, tag_of
from getstep_server.storage.recovery import left_running
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from getstep_server.web.http import EventStream, Request, Response
from tests.old_contests.contests import unpack
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played
from tests.support.site import Site, without_status

KEY = "the-key-of-the-host-and-its-copies"
NAME = "f" * 32
NONCES = f"{'0' * 32}.{'1' * 32}"


# --- the copy -----------------------------------------------------------------------------------------------------


def frames_for(first: Path, have: Have) -> Iterator[FromHost]:
    """Yield a round of a new connection."""
    contest = load_contest(first)
    source = Source(contest, have)
    with Store(contest.database, reading=True) as store:
        source.check(store)
        yield from source.round(store)


def files_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    named = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    kept = {name for name in named if is_copied(name) or name.endswith(".journal")}
    return {name: named[name] for name in sorted(kept)}


@pytest.mark.parametrize("name", ["killed", "killed_judges", "programs"])
def test_a_copy_can_end_after_each_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each match that was begun is in the copy's journal or on its record, wherever the connection is lost."""
    monkeypatch.setattr("getstep_server.standby.source.PART_BYTES", 3000)
    first, second = tmp_path / "first", tmp_path / "second"
    unpack(f"0.1.0/{name}", first)
    second.mkdir()
    tournament = tournament_of(load_contest(first))
    begun = {number for number, _ in tournament.recorded}
    begun |= left_running(running_path(first), tournament.recorded)
    with Store(database_path(second)) as store:
        rounds = 0
        while True:  # each connection brings one frame that changes something
            rounds += 1
            copy = CopyFolder(second, store, NAME)
            frames = list(frames_for(first, copy.have()))
            copy.apply(frames[0])
            if len(frames) <= 2:  # what is kept, and the tick
                break
            if (second / "contest.toml").exists() and (second / "teams.toml").exists() and copy.place:
                known = tournament_of(load_contest(second))
                left = left_running(running_path(second), known.recorded)
                found = left | {number for number, _ in known.recorded}
                assert found <= begun
        assert rounds > 4
        for frame in frames:
            copy.apply(frame)
    assert files_of(second) == files_of(first)
    with Store(database_path(second), reading=True) as store:
        verified = verify(load_contest(second), store)
    with Store(database_path(first), reading=True) as store:
        assert store.chain() == (verified.records, verified.tip)


def test_a_match_that_ends_is_in_the_journal_until_it_is_on_record(tmp_path: Path) -> None:
    first, second = half_played(tmp_path / "first"), tmp_path / "second"
    second.mkdir()
    contest = load_contest(first)
    contest.running.mkdir(exist_ok=True)
    journal = Journal(contest.running)
    journal.append(tag_of(7, 1), b'{"head":1}')
    with Store(database_path(second)) as target, Store(contest.database, reading=True) as store:
        copy = CopyFolder(second, target, NAME)
        source = Source(contest, copy.have())
        frames = source.round(store)
        kinds = []
        for frame in frames:
            copy.apply(frame)
            kinds.append(type(frame).__name__)
            if isinstance(frame, Rows):  # the match ends now: its line leaves the journal after its record
                journal.close()
                journal.finish(tag_of(7, 1))
        assert list(dict.fromkeys(kinds)) == ["FilePart", "SegmentPart", "Rows", "Kept", "Tick"]
        assert len(segments(running_path(second))) == 1
        for frame in source.round(store):
            copy.apply(frame)
        assert segments(running_path(second)) == []
    journal.close()


def test_segments_of_a_new_run_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 100)
    first, second = half_played(tmp_path / "first"), tmp_path / "second"
    second.mkdir()
    contest = load_contest(first)
    contest.running.mkdir(exist_ok=True)
    with Store(database_path(second)) as target, Store(contest.database, reading=True) as store:
        copy = CopyFolder(second, target, NAME)
        source = Source(contest, copy.have())
        for match in range(1, 8):
            journal = Journal(contest.running)  # no line of the run before is left: it begins with segment 1
            journal.append(tag_of(match, 1), b'{"head":%d}' % match, b'{"player":0}')
            for frame in source.round(store):
                copy.apply(frame)
            assert files_of(second) == files_of(first)
            journal.close()
            journal.finish(tag_of(match, 1))


def test_a_copy_of_another_chain_is_refused(tmp_path: Path) -> None:
    first, other = half_played(tmp_path / "first"), tmp_path / "other"
    unpack("0.1.0/killed", other)
    with Store(database_path(other), reading=True) as store:
        place, digest = store.chain()
    with pytest.raises(OtherChainError, match="Follow into a new folder"):
        list(frames_for(first, Have(NAME, place, digest, {}, [])))
    with pytest.raises(OtherChainError):
        list(frames_for(first, Have(NAME, 10**6, digest, {}, [])))


def test_rows_that_do_not_continue_the_copy_are_not_written(tmp_path: Path) -> None:
    first = half_played(tmp_path / "first")
    with Store(database_path(first), reading=True) as store:
        rows = [row for batch in store.rows() for row in batch]
    with Store(tmp_path / "copy.db") as target:
        target.extend(rows[:1])
        changed, exchanged = (*rows[1][:7], b" ", *rows[1][8:]), (*rows[1][:8], rows[1][9], rows[1][8])
        for wrong in (rows[2], rows[0], changed, exchanged):
            with pytest.raises(StoreError, match="does not continue the 1 here"):
                target.extend([wrong])
        with pytest.raises(StoreError):
            target.extend([rows[1], rows[1]])  # all of them or none
        assert target.chain()[0] == 1
        target.extend(rows[1:])
        target.check_end()


@pytest.mark.parametrize(
    "name",
    [
        "../contest.toml",
        "/etc/passwd",
        "programs/7/../../x",
        "programs/7/.lock",
        "contest.db",
        "programs/x/y",
        "host.key",
    ],
)
def test_files_outside_are_not_copied(name: str) -> None:
    assert not is_copied(name)
    with pytest.raises(Exception, match="regex"):
        decode_from_host(encode(FilePart(name, 0, b"", last=True)))


def test_parts_out_of_order_are_refused(tmp_path: Path) -> None:
    with Store(database_path(tmp_path)) as store:
        copy = CopyFolder(tmp_path, store, NAME)
        copy.apply(SegmentPart("segment-1.journal", 0, b"12345"))
        with pytest.raises(CopyError, match="5 bytes, and the next ones are for 7"):
            copy.apply(SegmentPart("segment-1.journal", 7, b"89"))
        copy.apply(FilePart("teams.toml", 0, b"12345", last=False))
        with pytest.raises(CopyError, match="5 bytes, and the next ones are for 4"):
            copy.apply(FilePart("teams.toml", 4, b"89", last=True))
        assert not (tmp_path / "teams.toml").exists()
        copy.apply(FilePart("teams.toml", 0, b"", last=True))
        assert (tmp_path / "teams.toml").stat().st_mode & 0o777 == 0o600


# --- sealed frames ------------------------------------------------------------------------------------------------


def test_frames_are_read_once_and_in_order_by_who_has_the_key() -> None:
    host, copy = Sealer(KEY, NONCES, "host"), Sealer(KEY, NONCES, "host")
    frames = [host.seal(text) for text in (b"", b"the tokens of all teams", b"the tokens of all teams")]
    assert [copy.open_whole(frame) for frame in frames] == [b"", *[b"the tokens of all teams"] * 2]
    assert b"token" not in b"".join(frames)
    assert frames[1] != frames[2]
    for key, nonces, direction in ((f"{KEY}x", NONCES, "host"), (KEY, "0.1", "host"), (KEY, NONCES, "copy")):
        with pytest.raises(SealError):
            Sealer(key, nonces, direction).open_whole(frames[0])
    for frame in (frames[1], frames[0][:-1], frames[0] + b"x", b"", frames[1][:-1] + b"x"):
        with pytest.raises(SealError):
            Sealer(KEY, NONCES, "host").open_whole(frame)


def test_a_frame_that_claims_too_much_is_refused_by_its_head() -> None:
    with pytest.raises(SealError, match="expected at most 16777216"):
        length_of(b"\x01\x00\x00\x01")
    assert length_of(b"\x01\x00\x00\x00") == 1 << 24


def test_a_certificate_is_for_one_number_and_one_key() -> None:
    given = certificate(KEY, 2)
    assert certifies(KEY, 2, given)
    assert not certifies(KEY, 3, given)
    assert not certifies(f"{KEY}x", 2, given)
    assert not certifies(KEY, 2, "")


# --- the page -----------------------------------------------------------------------------------------------------


class Standby:
    """A standby host that asks the page directly."""

    def __init__(self, site: Site, key: str) -> None:
        self._site, self._key = site, key
        self.nonces = ""

    async def connect(self) -> None:
        nonce = (await self._site.json(ADDRESS))["nonce"]
        self.nonces = f"{nonce}.{'1' * 32}"
        self._sealer = Sealer(self._key, self.nonces, "copy")
        self.opener = Sealer(self._key, self.nonces, "host")

    async def say(self, what: str, message: Any) -> Response | EventStream:
        return await self.send(what, self._sealer.seal(encode(message)))

    async def send(self, what: str, body: bytes) -> Response | EventStream:
        headers = {"host": "192.0.2.7:8080", HEADER.lower(): self.nonces}
        answer = await self._site.app(Request("POST", f"{ADDRESS}/{what}", {}, headers, body, "192.0.2.8/32"))
        assert isinstance(answer, (Response, EventStream))
        return answer


async def follow(standby: Standby, have: Have | None = None) -> list[FromHost]:
    """Return the frames of the first round."""
    await standby.connect()
    answer = await standby.say("follow", have or Have(NAME, 0, "", {}, []))
    assert isinstance(answer, EventStream)
    frames: list[FromHost] = []

    async def take(data: bytes) -> None:
        frames.append(decode_from_host(standby.opener.open_whole(data)))
        if isinstance(frames[-1], Tick):
            scope.cancel()
            await trio.lowlevel.checkpoint()

    with trio.CancelScope() as scope:
        await answer.follow(take)
    return frames


async def test_the_page_sends_a_copy_to_who_has_the_key(site: Site, folder: Path, tmp_path: Path) -> None:
    key = bearer_key(folder)
    frames = await follow(Standby(site, key))
    second = tmp_path / "second"
    second.mkdir()
    with Store(database_path(second)) as store:
        copy = CopyFolder(second, store, NAME)
        for frame in frames:
            copy.apply(frame)
        store.check_end()
    assert files_of(second) == files_of(folder)


async def test_the_page_refuses_another_key_after_a_delay(site: Site, folder: Path, autojump_clock: Any) -> None:
    bearer_key(folder)
    began = trio.current_time()
    for _ in range(3):
        standby = Standby(site, KEY)
        await standby.connect()
        answer = await standby.say("follow", Have(NAME, 0, "", {}, []))
        assert isinstance(answer, Response)
        assert answer.status == 401
    assert trio.current_time() - began > 0.5


async def test_a_recorded_request_cannot_be_sent_again(site: Site, folder: Path) -> None:
    standby = Standby(site, bearer_key(folder))
    await standby.connect()
    body = Sealer(bearer_key(folder), standby.nonces, "copy").seal(encode(TakenOver(1, 7777)))
    for status in (200, 400):
        answer = await standby.send("taken-over", body)
        assert isinstance(answer, Response)
        assert answer.status == status


async def test_what_a_copy_has_is_bounded(site: Site) -> None:
    def limit(path: str) -> int | object:
        return site.app.body_limit(Request("POST", path, {}, {"host": "192.0.2.7:8080"}, b"", "192.0.2.8/32"))

    assert limit(f"{ADDRESS}/follow") == 1 << 17
    assert limit(f"{ADDRESS}/ack") == limit(f"{ADDRESS}/taken-over") == 4096
    segments = {f"segment-{n}.journal": (2**31, bytes(16)) for n in range(1, MAX_SEGMENTS + 1)}
    assert len(encode(Have(NAME, 10**6, "0" * 64, segments, [bytes(16)] * MAX_FILES))) < 1 << 17


async def test_few_copies_are_kept_at_the_same_time(site: Site, folder: Path) -> None:
    key = bearer_key(folder)

    async def asked() -> Response | EventStream:
        standby = Standby(site, key)
        await standby.connect()
        return await standby.say("follow", Have(NAME, 0, "", {}, []))

    async def take(data: bytes) -> None:
        begun.set()

    for _ in range(6):  # one that leaves before its first frame takes no place
        assert isinstance(await asked(), EventStream)
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            answer, begun = await asked(), trio.Event()
            assert isinstance(answer, EventStream)
            nursery.start_soon(answer.follow, take)
            await begun.wait()
        refused = await asked()
        assert isinstance(refused, Response)
        assert refused.status == 503
        nursery.cancel_scope.cancel()
    assert isinstance(await asked(), EventStream)


async def test_each_copy_has_a_rank_and_knows_the_others(site: Site, folder: Path) -> None:
    """A copy that is away keeps its rank, unless more copies follow than there are ranks."""
    key = bearer_key(folder)

    async def rank(letter: str) -> Standbys:
        frames = await follow(Standby(site, key), Have(letter * 32, 0, "", {}, []))
        (found,) = [frame for frame in frames if isinstance(frame, Standbys)]
        return found

    assert await rank("a") == Standbys(0, ())
    assert await rank("b") == Standbys(1, ("192.0.2.8",))
    assert await rank("a") == Standbys(0, ("192.0.2.8",))
    assert [(await rank(letter)).rank for letter in "cdbe"] == [2, 3, 1, 0]


async def test_the_first_host_is_marked_once_another_has_taken_over(site: Site, folder: Path) -> None:
    key = bearer_key(folder)
    standby = Standby(site, key)
    await standby.connect()
    answer = await standby.say("taken-over", TakenOver(1, 7777))
    assert isinstance(answer, Response)
    assert answer.status == 200
    assert read_mark(folder) == Mark(role="lost", host="192.0.2.8", port=0, fence=1)
    await standby.connect()
    refused = await standby.say("follow", Have(NAME, 0, "", {}, []))
    assert isinstance(refused, Response)
    assert refused.status == 409
    with pytest.raises(ContestStopped, match=r"192\.0\.2\.8 has taken over"):
        await Fencing(load_contest(folder), 0).run()
    with pytest.raises(ConfigError, match="do not count"), open_contest(load_contest(folder)):
        pass


async def test_an_acknowledgement_says_what_a_standby_has(site: Site, folder: Path) -> None:
    journal = running_path(folder)
    journal.mkdir(exist_ok=True)
    standby, other = Standby(site, bearer_key(folder)), Standby(site, bearer_key(folder))
    complete = trio.Event()

    async def take(data: bytes) -> None:
        if isinstance(decode_from_host(standby.opener.open_whole(data)), Tick):
            complete.set()

    await other.connect()
    early = await other.say("ack", Ack(3))  # it follows no stream
    assert isinstance(early, Response)
    assert early.status == 400
    assert not was_followed(journal)
    await standby.connect()
    answer = await standby.say("follow", Have(NAME, 0, "", {}, []))
    assert isinstance(answer, EventStream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer.follow, take)
        await complete.wait()
        # more than was sent to it, it does not have; an older acknowledgement takes nothing back
        for place, noted in ((0, 0), (3, 3), (2, 3), (10**6, tournament_of(load_contest(folder)).place)):
            await standby.say("ack", Ack(place))
            assert was_followed(journal)
            assert copied_place(journal) == noted
        nursery.cancel_scope.cancel()
    forget_copied_after(journal, copied_place(journal) - 1)  # the host has gone back to an older backup
    assert copied_place(journal) == 0


async def test_in_strict_mode_the_page_shows_what_a_standby_has(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision of the host shows the rest."""
    file, journal = folder / "contest.toml", running_path(folder)
    file.write_text(file.read_text().replace("[server]", '[server]\nstandby = "strict"'))
    journal.mkdir(exist_ok=True)
    place = tournament_of(load_contest(folder)).place
    note_copied(journal, place - 1)
    async with without_status(folder, monkeypatch) as site:
        feed = site.app.feed
        assert (feed.whole.place, feed.whole.is_strict, feed.tournament.done) == (place - 1, True, 1)
        with trio.fail_after(PATIENCE_SECONDS):
            note_copied(journal, place)
            while feed.whole.place < place:
                await trio.sleep(0.05)
            by = {"by": "Grace", "why": "a test"}
            await trio.to_thread.run_sync(decide, folder, Freeze(**by))
            await trio.sleep(1)
            assert not feed.frozen
            await trio.to_thread.run_sync(decide, folder, NotStrict(**by))
            while feed.whole.place < place + 2:
                await trio.sleep(0.05)
        assert feed.frozen


@pytest.mark.parametrize("before", ["standby", "copy of a lower rank"])
async def test_a_host_waits_before_it_plays_if_another_may_have_taken_over(
    folder: Path, mock_clock: MockClock, before: str
) -> None:
    contest, played = load_contest(folder), trio.Event()
    contest.running.mkdir(exist_ok=True)
    fencing = Fencing(contest, 0)
    await fencing.wait_for_word()  # without one, at once
    if before == "standby":
        note_copied(contest.running, 0)
    else:
        write_mark(folder, Mark(role="took_over", host="192.0.2.7", port=8080, fence=3, rank=1))

    async def play() -> None:
        await fencing.wait_for_word()
        played.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(play)
        while not played.is_set():
            mock_clock.jump(1.0)
            await trio.to_thread.run_sync(int)
    assert trio.current_time() >= 5


# --- taking over --------------------------------------------------------------------------------------------------


def take_over(contest: Contest, by: str, why: str) -> int:
    """Take a contest over, and return the fencing number."""
    with open_contest(contest, TakeOver(by, why, print)) as opened:
        return opened.tournament.fence


def test_a_copy_is_played_after_a_take_over_only(folder: Path) -> None:
    contest = load_contest(folder)
    write_mark(folder, Mark(role="follows", host="192.0.2.7", port=8080))
    with pytest.raises(ConfigError, match="take-over"), open_contest(contest):
        pass
    assert take_over(contest, "Grace", "it is lost") == 4
    with open_contest(contest) as opened:
        assert opened.tournament.fence == 4
    assert read_mark(folder) == Mark(role="took_over", host="192.0.2.7", port=8080, fence=4)
    assert take_over(contest, "Grace", "again") == 8
    assert [one.fence for one in tournament_of(contest).decisions if one.fence] == [4, 8]


async def test_two_copies_that_take_over_have_different_numbers_and_the_lower_one_stops(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knew of the other: each tells it once both play."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for rank, copy in enumerate(folders):
        shutil.copytree(folder, copy)
        write_mark(copy, Mark(role="follows", host="192.0.2.7", port=8080, name=NAME, rank=rank))
    take = partial(take_over, by="Grace", why="it is lost")
    numbers = [await trio.to_thread.run_sync(take, load_contest(copy)) for copy in folders]
    assert numbers == [4, 3]
    for copy, status, role in zip(folders, (409, 200), ("took_over", "lost"), strict=True):
        async with without_status(copy, monkeypatch) as site:
            standby = Standby(site, bearer_key(copy))
            await standby.connect()
            answer = await standby.say("taken-over", TakenOver(7 - load_mark(copy).fence, 7777))
            assert isinstance(answer, Response)
            assert (answer.status, load_mark(copy).role) == (status, role)


def load_mark(folder: Path) -> Mark:
    mark = read_mark(folder)
    assert mark is not None
    return mark


def test_a_copy_finds_the_one_that_has_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer that does not answer is passed over, and so is one whose number is not higher."""
    fences = {"192.0.2.2": 0, "192.0.2.3": 4}

    class Link:
        def __init__(self, host: FirstHost) -> None:
            if host.host not in fences:
                raise NoConnection("nothing listens there")
            self._begin = Begin("Test", fences[host.host], 7)

        def follow(self, _: CopyFolder) -> Iterator[FromHost]:
            yield self._begin

        def close(self) -> None:
            pass

    monkeypatch.setattr("getstep_server.standby.follower.HostLink", Link)
    hosts = [FirstHost(f"192.0.2.{number}", 8080, KEY) for number in (1, 2, 3)]
    with Store(tmp_path / "contest.db") as store:
        copy = CopyFolder(tmp_path, store, NAME)
        assert host_among(hosts, copy, 0) == hosts[2]
        assert host_among(hosts, copy, 4) is None


def test_the_records_of_a_take_over_fit(tmp_path: Path) -> None:
    """`verify` accepts them, in a contest that has begun and in one that has not."""
    begun = tmp_path / "begun"
    unpack("0.1.0/killed", begun)
    for contest in (load_contest(begun), make_contest(tmp_path / "new", on_disk=True)):
        assert take_over(contest, "Grace", "it is lost") == 1
        with Store(contest.database, reading=True) as store:
            verify(contest, store)


def test_a_host_that_lost_its_contest_cannot_take_over(folder: Path) -> None:
    write_mark(folder, Mark(role="lost", host="192.0.2.8", port=0, fence=1))
    with pytest.raises(ConfigError, match="NEW_FOLDER"):
        take_over(load_contest(folder), "Grace", "it is mine")
    (folder / "standby.json").write_text("{")
    with pytest.raises(ConfigError, match="whether this host may play"), open_contest(load_contest(folder)):
        pass


async def test_a_client_stops_a_host_by_a_certificate_only(folder: Path, autojump_clock: Any) -> None:
    fencing = Fencing(load_contest(folder), 0)
    fencing.fence.heard(1, certificate(KEY, 1))
    with trio.move_on_after(60):
        await fencing.run()
    assert read_mark(folder) is None
    fencing.fence.heard(1, certificate(bearer_key(folder), 1))
    with pytest.raises(ContestStopped, match="another host has taken over this contest, with fencing number 1"):
        await fencing.run()
    assert read_mark(folder) == Mark(role="lost", host="", port=0, fence=1)


def test_the_number_of_a_host(folder: Path) -> None:
    key = bearer_key(folder)
    assert Fencing(load_contest(folder), 3).fence.certificate == certificate(key, 3)
    assert Fence().number == 0


# --- the commands -------------------------------------------------------------------------------------------------


def test_follow_needs_a_key_and_a_new_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GETSTEP_HOST_KEY", raising=False)
    assert run_command(["follow", "127.0.0.1:1", str(tmp_path / "new")]) == 2
    assert "host-key CONTEST --key" in capsys.readouterr().err
    monkeypatch.setenv("GETSTEP_HOST_KEY", KEY)
    assert run_command(["follow", "127.0.0.1:1", str(folder)]) == 2
    assert "expected a new folder or a copy" in capsys.readouterr().err
    assert run_command(["take-over", str(folder)]) == 2
    assert "no copy of another host's contest" in capsys.readouterr().err


def test_a_contest_that_is_over_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After its end the host is gone, too."""
    folder = tmp_path / "copy"
    unpack("0.1.0/games", folder)
    write_mark(folder, Mark(role="follows", host="192.0.2.7", port=8080))
    monkeypatch.setenv("GETSTEP_HOST_KEY", KEY)
    monkeypatch.setattr(Follower, "run", lambda *_: None)
    assert run_command(["follow", "192.0.2.7", str(folder), "--take-over-after", "5"]) == 0
    assert capsys.readouterr().out == "The contest is over, and the copy is complete.\n"
    assert tournament_of(load_contest(folder)).fence == 0
