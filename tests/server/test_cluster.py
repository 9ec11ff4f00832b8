"""The host's side of a cluster: matches on workers that come, fail, hang and go, and what is on record then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import trio
from rich.console import Console
from trio.testing import MockClock, wait_all_tasks_blocked

from getstep_server.cli.run import _hosted_teams
from getstep_server.cluster import client, venue
from getstep_server.cluster.messages import FromProcess, GiveUp, Lost, Play, Reported, Stop, TurnsPlayed
from getstep_server.cluster.order import MatchReport, decode_order, decode_progress, decode_report, encode
from getstep_server.cluster.venue import ClusterVenue
from getstep_server.errors import ConfigError, ContestStopped
from getstep_server.events import (
    ClusterChanged,
    ClusterConnected,
    ClusterTrouble,
    Event,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MovePlayed,
    ServerFault,
    TeamArrived,
    WorkersRefused,
)
from getstep_server.records.game import GameHead
from getstep_server.records.record import Record, parse, read
from getstep_server.reports import progress
from getstep_server.reports.programs import programs_facts
from getstep_server.runtime import hosted as hosted_module
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError, verify
from getstep_server.tournament.tournament import Tournament
from tests.support.cluster import Act, MemoryLink, failing, good, program_contest, proof, report_on, staged, turns
from tests.support.director import DecidedStage
from tests.support.servers import round_robin

pytestmark = pytest.mark.usefixtures("jumping_time")


async def played(
    stage: DecidedStage, link: MemoryLink, *acts: Act, slots: int = 1, proofs: Sequence[bytes] = ()
) -> None:
    """Play a contest with workers of which each joins when the one before has got a match."""

    async def join() -> None:
        for number, act in enumerate(acts, start=1):
            await link.join(f"w{number}", act, slots, proofs[number - 1] if proofs else None)
            while number < len(acts) and not any(play.worker == f"w{number}" for play in link.plays()):
                await trio.sleep(0.01)

    await stage.play(during=join)


def both() -> tuple[Act, Act]:
    """Return two workers that both play: the first one ends its first match when the other one has got one."""
    held: list[Play] = []
    begun: list[Play] = []

    def first(play: Play) -> Iterator[FromProcess]:
        if begun:
            yield from good(play)
        else:
            held.append(play)

    def second(play: Play) -> Iterator[FromProcess]:
        begun.append(play)
        while held:
            yield from good(held.pop())
        yield from good(play)

    return first, second


def games(stage: DecidedStage) -> list[dict[str, Any]]:
    """Return the records of games."""
    return [parse(record.content()) for record in stage.store.chain if record.match is not None]


def workers(stage: DecidedStage) -> list[dict[str, Any]]:
    """Return the records of workers."""
    return [fields for fields in (parse(r.header) for r in stage.store.chain) if fields["type"] == "worker"]


# --- matches -----------------------------------------------------------------------------------------------------


async def test_all_matches_are_played_on_workers_and_their_records_are_as_on_the_host(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 4))

    await played(stage, link, *both())
    stage.check(tmp_path)
    found = games(stage)
    assert sorted(game["match"] for game in found) == list(range(1, 13))
    assert {game["worker"] for game in found} == {1, 2}
    assert {game["attempt"] for game in found} == {1}
    assert all(entry["version"] == 1 for game in found for entry in game["programs"])
    assert len({game["worker"] for game in found if game["pairing"] == 1}) == 1
    assert [event.done for event in stage.of(MatchEnded)] == list(range(1, 13))
    assert len(stage.of(MovePlayed)) == sum(game["turns_played"] for game in found)
    assert not any("time_factor" in game for game in found)
    facts = dict(programs_facts([read(GameHead, game) for game in found]))
    assert facts["Games on a cluster"] == "12, on 2 workers"
    (first, second) = workers(stage)
    assert [first["worker"], second["worker"]] == [1, 2]
    assert first["name"] == "name of w1"
    assert first["sandbox"] == [{"probe": "reads a secret", "held": True, "detail": ""}]
    assert stage.of(ClusterConnected)[0].where == "tcp://lab:8786"


async def test_a_program_plays_many_matches_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage, link = staged(program_contest(tmp_path, 2, {"game": "longest_path", "settings": {"legs": 8}}))
    waiting: list[Play] = []

    def hold(play: Play) -> Iterator[FromProcess]:
        waiting.append(play)
        if len(waiting) == 8:
            for one in waiting:
                yield from good(one)

    await played(stage, link, hold, slots=8)
    stage.check(tmp_path)
    assert len(games(stage)) == 8


async def test_no_worker_is_idle_because_others_have_the_second_match_of_a_pairing(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venue, "MATCHES_AHEAD", 0)
    stage, link = staged(program_contest(tmp_path, 4))
    held: list[Play] = []

    def hold(play: Play) -> Iterator[FromProcess]:
        if len(held) < 3:
            held.append(play)
        if len(held) == 3 and play is held[-1]:
            for one in held:
                yield from good(one)
        elif play not in held:
            yield from good(play)

    async def join() -> None:
        for number in range(3):
            await link.join(f"w{number}", hold)
            await wait_all_tasks_blocked()

    await stage.play(during=join)
    stage.check(tmp_path)
    assert {play.worker for play in held} == {"w0", "w1", "w2"}
    assert not any(isinstance(message, GiveUp) for message in link.told)  # as it would be after some minutes


async def test_a_program_plays_one_match_at_a_time_if_a_bot_takes_part(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    contest = program_contest(tmp_path, 2, {"game": "longest_path", "settings": {"legs": 3}})
    bot = msgspec.structs.replace(contest.teams[2], id=3, name="Bot")
    stage, link = staged(msgspec.structs.replace(contest, teams={**contest.teams, 3: bot}))
    at_once: list[int] = []

    def count(play: Play) -> Iterator[FromProcess]:
        at_once.append(len(link.plays()) - len(at_once))
        yield from good(play)

    await played(stage, link, count, slots=8)
    stage.check(tmp_path)
    assert at_once == [1, 1, 1]


async def test_the_files_of_a_program_travel_when_a_worker_has_not_got_them(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))
    known: set[str] = set()

    def act(play: Play) -> Iterator[FromProcess]:
        known.update(play.files)
        missing = {program.files for program in decode_order(play.order).programs} - known
        if missing:
            yield Reported(play.id, encode(MatchReport(missing=tuple(missing))))
        else:
            yield from good(play)

    await played(stage, link, act)
    stage.check(tmp_path)
    assert [bool(play.files) for play in link.plays()] == [False, True, False]
    for name in known:
        assert (tmp_path / "programs" / ".packed" / name).is_file()


async def test_packed_files_go_once_no_match_needs_their_version(tmp_path: Path) -> None:
    """A contest may run for months, and its teams submit programs all the time."""
    contest, cluster = program_contest(tmp_path, 2), cast(Any, SimpleNamespace(files=tmp_path / "packed"))
    chosen = {1: 1, 2: 1}

    def version(team: int) -> Any:
        folder = tmp_path / f"{team}-{chosen[team]}"
        folder.mkdir(exist_ok=True)
        (folder / "bot.py").write_text(folder.name)
        about = {"convention": "getstep", "command": ["x"], "language": "Python", "files": folder}
        return SimpleNamespace(team=team, number=chosen[team], **about)

    def versions_for(match: Any) -> dict[int, Any]:
        return {player: version(team) for player, team in enumerate(match.teams)}

    hosted = SimpleNamespace(teams=chosen, versions_for=versions_for)
    games = ClusterVenue(
        cluster, contest, cast(Any, SimpleNamespace(results=[])), cast(Any, hosted), lambda _: None
    )
    attempt = cast(Any, SimpleNamespace(match=round_robin([1, 2])[0]))

    def packed() -> set[str]:
        return {path.name for path in cluster.files.iterdir()}

    async with games.prepare(attempt, lambda: False):
        first = packed()
        chosen[1] = 2
        async with games.prepare(attempt, lambda: False):
            assert len(packed()) == 3, "a match needs the first version"
    chosen[1] = 3
    async with games.prepare(attempt, lambda: False):
        assert len(packed()) == 2
        assert len(packed() & first) == 1, "the other team has its first version"


async def test_the_turns_that_come_meanwhile_are_in_the_journal_and_published(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))
    gate = trio.Event()
    seen: list[int] = []

    def act(play: Play) -> Iterator[FromProcess]:
        if gate.is_set():
            yield from good(play)
        else:
            yield turns(play, 2)
            yield turns(play, 3, start=2)
            first.append(play)

    first: list[Play] = []

    async def watch() -> None:
        await link.join("w1", act)
        while len(stage.of(MovePlayed)) < 5:
            await trio.sleep(0.1)
        seen.append(sum(path.read_bytes().count(b'"move":') for path in (tmp_path / "running").iterdir()))
        gate.set()
        for play in list(first):
            for message in good(play):
                link.say(message)

    await stage.play(during=watch)
    stage.check(tmp_path)
    assert seen == [5]
    assert {game["worker"] for game in games(stage)} == {1}


# --- failures ----------------------------------------------------------------------------------------------------


async def test_a_worker_that_fails_before_a_match_begins_costs_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 3))
    await played(stage, link, failing(), good)
    stage.check(tmp_path)
    assert {(game["attempt"], game["worker"]) for game in games(stage)} == {(1, 2)}
    assert any("no room on the disk" in event.why for event in stage.of(ClusterTrouble))


async def test_a_worker_that_fails_again_and_again_rests(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage, link = staged(program_contest(tmp_path, 4))
    gate = trio.Event()
    given: Counter[str] = Counter()

    def bad(play: Play) -> Iterator[FromProcess]:
        given[play.worker] += 1
        if not gate.is_set():
            yield Lost(play.id, "it is out of order")
        else:
            yield from good(play)

    async def join() -> None:
        await link.join("w1", bad)
        while given["w1"] < 3:
            await trio.sleep(0.1)
        await trio.sleep(client.REST_SECONDS / 2)
        assert given["w1"] == 3
        gate.set()

    await stage.play(during=join)
    stage.check(tmp_path)
    assert {game["attempt"] for game in games(stage)} == {1}


async def test_a_match_that_is_lost_with_its_worker_is_void_and_played_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    def half(play: Play) -> Iterator[FromProcess]:
        yield turns(play, 4)

    async def join() -> None:
        await link.join("w1", half)
        while len(stage.of(MovePlayed)) < 4:
            await trio.sleep(0.1)
        link.leave("w1")
        await link.join("w2", good)

    await stage.play(during=join)
    stage.check(tmp_path, lost=True)
    lost = [game for game in games(stage) if game["reason"] == "server_fault"]
    assert [(game["worker"], game["turns_played"], game["attempt"]) for game in lost] == [(1, 4, 1)]
    assert lost[0]["detail"].startswith("the match was lost with worker 1 (name of w1)")
    assert sorted(result.match.number for result in stage.store.saved) == [1, 2]
    assert any("is lost, and played again" in event.why for event in stage.of(ClusterTrouble))


async def test_the_loss_of_the_scheduler_loses_all_matches_and_the_contest_goes_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 4))

    def silent(play: Play) -> Iterator[FromProcess]:
        yield from ()

    async def join() -> None:
        await link.join("w1", silent, 4)
        while len(link.wanted) < 4:
            await trio.sleep(0.1)
        link.disconnect()
        link.lost("the process has ended")
        await link.join("w1", good, 4)

    await stage.play(during=join)
    stage.check(tmp_path)
    assert {game["attempt"] for game in games(stage)} == {1}
    assert len(workers(stage)) == 2


def wrong_turn(report: MatchReport) -> MatchReport:
    return msgspec.structs.replace(report, lines=[report.lines[0], *report.lines])


def wrong_result(report: MatchReport) -> MatchReport:
    assert report.played is not None
    winner = 1 - (report.played.winner or 0)
    return msgspec.structs.replace(report, played=msgspec.structs.replace(report.played, winner=winner))


def too_few_turns(report: MatchReport) -> MatchReport:
    return msgspec.structs.replace(report, lines=report.lines[:-1])


def foreign_incident(report: MatchReport) -> MatchReport:
    row = {"team": 9, "code": "flood", "detail": "", "address": "", "after_turn": 0, "count": 1}
    return msgspec.convert(msgspec.to_builtins(report) | {"incidents": [row]}, MatchReport)


def late_incident(report: MatchReport) -> MatchReport:
    forged = msgspec.to_builtins(foreign_incident(report))
    forged["incidents"][0] |= {"team": 1, "after_turn": len(report.lines) + 1}
    return msgspec.convert(forged, MatchReport)


@pytest.mark.parametrize("forge", [wrong_turn, wrong_result, too_few_turns, foreign_incident, late_incident])
async def test_a_report_that_does_not_fit_is_the_fault_of_the_worker(
    tmp_path: Path, autojump_clock: MockClock, forge: Any
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    def liar(play: Play) -> Iterator[FromProcess]:
        yield Reported(play.id, encode(forge(report_on(decode_order(play.order)))))

    async def join() -> None:
        await link.join("w1", liar)
        while not any(game["reason"] == "server_fault" for game in games(stage)):
            await trio.sleep(0.1)
        await link.join("w2", good)

    await stage.play(during=join)
    stage.check(tmp_path, lost=True)
    assert {game["worker"] for game in games(stage) if game["reason"] != "server_fault"} == {2}


async def test_a_worker_is_stopped_that_passes_on_an_illegal_turn(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Otherwise it would play on in a slot that the placement takes for a free one."""
    stage, link = staged(program_contest(tmp_path, 2))
    orders: list[Play] = []

    def liar(play: Play) -> Iterator[FromProcess]:
        orders.append(play)
        first = decode_progress(turns(play, 1).data)
        yield TurnsPlayed(play.id, encode(msgspec.structs.replace(first, lines=first.lines * 2)))

    async def join() -> None:
        await link.join("w1", liar)
        while not any(game["reason"] == "server_fault" for game in games(stage)):
            await trio.sleep(0.1)
        await link.join("w2", good)

    await stage.play(during=join)
    stage.check(tmp_path, lost=True)
    assert link.told.count(Stop(orders[0].id)) == 1


@pytest.mark.parametrize(
    "talk",
    [
        lambda play: TurnsPlayed(play.id, b"nonsense"),
        lambda play: turns(play, 2, start=1),
        lambda play: Reported(play.id, b"nonsense"),
        lambda play: Reported(play.id, b" " * (client.LARGE_REPORT_BYTES + 1)),
        lambda play: Reported(play.id, encode(MatchReport(missing=("0" * 64,)))),
    ],
    ids=["progress", "start", "report", "large report", "missing"],
)
async def test_nonsense_is_the_fault_of_the_worker(tmp_path: Path, autojump_clock: MockClock, talk: Any) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    def act(play: Play) -> Iterator[FromProcess]:
        yield talk(play)

    await played(stage, link, act, good)
    stage.check(tmp_path)
    assert {(game["worker"], game["attempt"]) for game in games(stage)} == {(2, 1)}


async def test_a_large_report_is_decoded_once(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is in a thread. A bad one was decoded on the event loop as well."""
    stage, link = staged(program_contest(tmp_path, 2))
    decoded: list[int] = []

    def decode(data: bytes) -> MatchReport:
        if len(data) > client.LARGE_REPORT_BYTES:
            decoded.append(len(data))
        return decode_report(data)

    monkeypatch.setattr(client, "decode_report", decode)
    space = b" " * (client.LARGE_REPORT_BYTES + 1)

    def act(play: Play) -> Iterator[FromProcess]:
        yield Reported(play.id, b"nonsense" + space)

    def large(play: Play) -> Iterator[FromProcess]:
        yield Reported(play.id, encode(report_on(decode_order(play.order))) + space)

    await played(stage, link, act, large)
    stage.check(tmp_path)
    assert len(decoded) == len(link.plays())
    assert {(game["worker"], game["attempt"]) for game in games(stage)} == {(2, 1)}


async def test_a_report_that_contradicts_the_turns_before_it_loses_the_match(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    def act(play: Play) -> Iterator[FromProcess]:
        yield turns(play, 3)
        report = report_on(decode_order(play.order))
        yield Reported(play.id, encode(msgspec.structs.replace(report, lines=report.lines[1:])))

    await played(stage, link, act, good)
    stage.check(tmp_path, lost=True)
    assert {game["worker"] for game in games(stage) if game["reason"] == "finished"} == {2}


async def test_a_worker_that_hangs_is_given_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    def hang(play: Play) -> Iterator[FromProcess]:
        yield turns(play, 1)

    await played(stage, link, hang, good)
    stage.check(tmp_path, lost=True)
    assert GiveUp("w1") in link.told
    assert {game["worker"] for game in games(stage) if game["reason"] == "finished"} == {2}


async def test_a_contest_stops_if_every_worker_fails(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "REST_SECONDS", 0.0)
    stage, link = staged(program_contest(tmp_path, 2, {"game": "longest_path", "settings": {"legs": 1}}))
    why = r"^match 1 failed 20 times, last with MatchLost\('worker 1 \(.+\): .+'\): contest\.log says where"
    with pytest.RaisesGroup(pytest.RaisesExc(ContestStopped, match=why), flatten_subgroups=True):
        await played(stage, link, failing(300))  # then the contest would go on
    assert len(link.plays()) == 10 * 20
    assert len(games(stage)) == 20


# --- decisions ---------------------------------------------------------------------------------------------------


async def test_a_match_that_the_host_decides_is_stopped_and_one_that_waits_is_never_begun(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))
    orders: list[Play] = []
    begun: list[int] = []

    def act(play: Play) -> Iterator[FromProcess]:
        orders.append(play)
        yield turns(play, 1)

    async def decide() -> None:
        await link.join("w1", act)
        while not stage.of(MovePlayed):
            await trio.sleep(0.1)
        begun.append(stage.of(MovePlayed)[0].match.number)
        stage.decide("adjudicate", match=3 - begun[0], winner=1)
        await trio.sleep(5)
        stage.decide("adjudicate", match=begun[0], winner=0)

    await stage.play(during=decide)
    stage.check(tmp_path)
    assert link.told == [orders[0], Stop(orders[0].id)]
    assert [event.match.number for event in stage.of(MatchCalledOff)] == begun


# --- workers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proved", "why"),
    [
        (proof(held=False), "its sandbox does not work: reads a secret: it was read"),
        (proof(sandbox=(), sandbox_problem="no bwrap"), "its sandbox does not work: no bwrap"),
        (proof(software="getstep-server 0.0.1"), "it runs getstep-server 0.0.1"),
        (b"nonsense", "WorkerProof"),
    ],
    ids=["a hole", "no sandbox", "another version", "no proof"],
)
async def test_a_worker_without_a_proof_gets_no_program(
    tmp_path: Path, autojump_clock: MockClock, proved: bytes, why: str
) -> None:
    stage, link = staged(program_contest(tmp_path, 2))

    async def join() -> None:
        await link.join("w1", good, proved=proved)
        while not stage.of(WorkersRefused):
            await trio.sleep(0.1)
        await link.join("w2", good, proved=proof(python="3.99.0"))  # only the version of getstep is checked

    await stage.play(during=join)
    stage.check(tmp_path)
    assert {play.worker for play in link.plays()} == {"w2"}
    (refused,) = stage.of(WorkersRefused)
    assert refused.why.startswith(why)
    assert len(workers(stage)) == 1


async def test_without_a_sandbox_by_contest_toml_a_worker_plays_all_the_same(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, link = staged(program_contest(tmp_path, 2), sandbox=False)

    async def join() -> None:
        await link.join("w1", good, proved=proof(held=False))

    await stage.play(during=join)
    stage.check(tmp_path)
    assert workers(stage)[0]["sandbox"] == [{"probe": "reads a secret", "held": False, "detail": "it was read"}]


async def test_a_host_without_a_sandbox_plays_on_workers_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ConfigError("the sandbox does not work")

    monkeypatch.setattr(hosted_module, "_check_sandbox", missing)
    contest = program_contest(tmp_path, 2, sandbox="required")
    where, events = Listening("127.0.0.1", 1, None, stamped=False), list[Event]()
    programs = HostedPrograms(contest, Tournament(contest), events.append)
    await programs.open(dict.fromkeys((1, 2), ()), where, [], on_cluster=True)
    programs.begin()
    assert {event.address for event in events if isinstance(event, TeamArrived)} == {"the cluster"}
    for teams, on_cluster in (((1, 2, 3), True), ((1, 2), False)):
        with pytest.raises(ConfigError, match="does not work"):
            await programs.open(dict.fromkeys(teams, ()), where, [], on_cluster=on_cluster)


@pytest.mark.parametrize(("on_cluster", "where"), [(True, "that the cluster runs"), (False, "on this machine")])
def test_the_terminal_says_where_the_programs_run(tmp_path: Path, *, on_cluster: bool, where: str) -> None:
    contest, console = program_contest(tmp_path, 2), Console(width=80)
    with console.capture() as shown:
        assert _hosted_teams(
            contest, progress.ProgressView(contest, console, live=False), on_cluster=on_cluster
        ) == {
            1,
            2,
        }
    assert shown.get().startswith(f"Programs {where}: ")


async def test_changes_of_the_workers_are_told_together(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage, link = staged(program_contest(tmp_path, 2))
    gate = trio.Event()

    def wait(play: Play) -> Iterator[FromProcess]:
        if gate.is_set():
            yield from good(play)

    async def join() -> None:
        for number in range(5):
            await link.join(f"w{number}", wait, 2)
        while not stage.of(ClusterChanged):
            await trio.sleep(0.1)
        gate.set()
        for number in range(5):
            link.leave(f"w{number}")
        await link.join("w9", good)

    await stage.play(during=join)
    assert stage.of(ClusterChanged)[0] == ClusterChanged(5, 10)


# --- time --------------------------------------------------------------------------------------------------------


async def test_limits_are_multiplied_by_the_slowness_of_the_worker(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    event = {"game": "longest_path", "move_seconds": 2.0}
    stage, link = staged(program_contest(tmp_path, 3, event, normalise_time=True))

    await played(stage, link, *both(), proofs=(proof(10.0), proof(25.0)))
    stage.check(tmp_path)
    assert {game["worker"]: game["time_factor"] for game in games(stage)} == {1: 1.0, 2: 2.5}


# --- crashes -----------------------------------------------------------------------------------------------------


async def test_a_match_on_a_worker_is_played_again_after_a_crash_of_the_host(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    contest = program_contest(tmp_path, 2)
    before, link = staged(contest)

    def half(play: Play) -> Iterator[FromProcess]:
        yield turns(play, 3)

    async def crash() -> None:
        await link.join("w1", half)
        while len(before.of(MovePlayed)) < 3:
            await trio.sleep(0.1)
        raise KeyboardInterrupt

    with pytest.RaisesGroup(KeyboardInterrupt, flatten_subgroups=True):
        await before.play(during=crash)
    chain = list(before.store.chain)
    stage, link = staged(contest, store=before.store, records=chain)
    await played(stage, link, good)
    stage.check(tmp_path)
    first = games(stage)[0]
    assert (first["attempt"], first["reason"]) == (1, "server_fault")
    assert sorted(result.match.number for result in stage.store.saved) == [1, 2]
    assert len(workers(stage)) == 2
    assert stage.of(ServerFault) == []


# --- verification ------------------------------------------------------------------------------------------------


def forged(stage: DecidedStage, folder: Path, kind: str, **changes: Any) -> str:
    """Return what verification says if the first record of a kind is changed; None removes a field."""
    chain = list(stage.store.chain)
    index = next(n for n, record in enumerate(chain) if record.fields["type"] == kind)
    fields = {**chain[index].fields, **changes}
    kept = {name: value for name, value in fields.items() if value is not None or changes.get(name, "") is not None}
    chain[index] = Record(kept, chain[index].turns, chain[index].match, chain[index].attempt)
    contest = stage.tournament.contest
    with Store(folder / "forged.db") as store:
        store._run(partial(store._db.transact, partial(store._write_records, chain, None)))
        with pytest.raises(VerifyError) as error:
            verify(contest, store)
    return str(error.value)


@pytest.mark.parametrize(
    ("kind", "changes", "found"),
    [
        ("game", {"worker": 2}, "worker is 2, expected one of the 1 on record before it"),
        ("game", {"programs": None}, "a worker, expected none: not both players are programs"),
        ("game", {"worker": None}, "none without a worker"),
        ("game", {"time_factor": 2.0}, "time_factor is 2.0, expected 1.0 by the calibrations"),
        ("game", {"time_factor": 10.5}, "time_factor"),
        ("worker", {"worker": 2}, "worker is 2, expected 1, the next one"),
        ("worker", {"calibration_ms": 0}, "calibration_ms"),
        ("worker", {"seed": 9}, "seed is 9"),
        ("worker", {"sandbox": [{"probe": "reads a secret"}]}, "held"),
    ],
    ids=[
        "gone",
        "no programs",
        "factor alone",
        "factor",
        "large factor",
        "number",
        "calibration",
        "seed",
        "sandbox",
    ],
)
async def test_a_forged_worker_is_found(
    tmp_path: Path, autojump_clock: MockClock, kind: str, changes: dict[str, Any], found: str
) -> None:
    stage, link = staged(program_contest(tmp_path, 2, normalise_time=True))
    await played(stage, link, good)
    stage.check(tmp_path)
    assert found in forged(stage, tmp_path, kind, **changes)
