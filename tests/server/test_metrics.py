"""The numbers at /metrics: their values, their format, and who may read them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trio
from msgspec import structs

from getstep_server.events import Bus
from getstep_server.runtime import status_file
from getstep_server.storage.run_status import RunStatus, read_status
from getstep_server.web.feed import Feed
from getstep_server.web.http import Request, Response
from getstep_server.web.live import code_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.site import Site

DOCS = Path(__file__).parents[2] / "docs"
KEY = "a-key-of-some-length"


async def ask(site: Site, address: str = "127.0.0.1", key: str | None = None) -> Response:
    headers = {"host": "localhost"} | ({} if key is None else {"authorization": f"Bearer {key}"})
    answer = await site.app(Request("GET", "/metrics", {}, headers, b"", address))
    assert isinstance(answer, Response)
    return answer


def values(answer: Response) -> dict[str, float]:
    assert answer.status == 200
    lines = answer.body.decode().splitlines()
    return {name: float(value) for name, value in (x.rsplit(" ", 1) for x in lines if not x.startswith("#"))}


async def test_the_numbers_are_those_of_the_contest(site: Site) -> None:
    feed = site.app.feed
    feed.server_runs, feed.status = True, RunStatus("playing", {1: 2, 2: 1}, hanging=(2,), lag_ms=12.5)
    feed.codes.update({"move": 7, "illegal_move": 1})
    found = values(await ask(site))
    assert found["getstep_up"] == 1
    assert found['getstep_turns_total{code="illegal_move"}'] == 1
    states = {name: found[f'getstep_matches{{state="{name}"}}'] for name in ("done", "running", "waiting")}
    assert states == {"done": 2, "running": 0, "waiting": 1}
    assert found['getstep_incidents_total{kind="flood"}'] == 12
    assert found["getstep_judge_lag_seconds"] == 0.0125
    assert (found["getstep_bots_connected"], found["getstep_teams_connected"]) == (3, 2)
    assert found["getstep_disk_free_bytes"] > 0


async def test_prometheus_reads_them_and_the_documents_name_them(site: Site) -> None:
    feed = site.app.feed
    feed.server_runs, feed.status = True, RunStatus("playing")
    text = (await ask(site)).body.decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) | {
        "getstep_page_connections",
        "getstep_page_answers_total",
    }
    table = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(getstep_\w+)`", table)) == names
    rules = (DOCS / "monitoring" / "alerts.yml").read_text(encoding="utf-8")
    dashboard = json.dumps(json.loads((DOCS / "monitoring" / "grafana.json").read_text(encoding="utf-8"))["panels"])
    assert set(re.findall(r"getstep_\w+", rules + dashboard)) <= names
    alerts = re.findall(r"- alert: (\w+)", rules)
    assert re.findall(r"^\| ([A-Z]\w+) \|", table, re.MULTILINE) == alerts
    parser = pytest.importorskip("prometheus_client.parser")
    assert {family.name for family in parser.text_string_to_metric_families(text)} <= {
        name.removesuffix("_total") for name in names
    }


async def test_only_this_machine_or_the_key_reads_them(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await ask(site, "::/64")).status == 200
    assert (await ask(site, "192.0.2.8")).status == 403
    assert (await ask(site, "192.0.2.8", "")).status == 403
    contest = site.app.feed.contest
    page = structs.replace(contest.file.page, metrics_key=KEY)
    monkeypatch.setattr(Feed, "contest", structs.replace(contest, file=structs.replace(contest.file, page=page)))
    assert (await ask(site, "192.0.2.8", KEY)).status == 200
    assert (await ask(site, "192.0.2.8", f"{KEY}x")).status == 403
    assert (await ask(site, "2001:db8::/64")).status == 403


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (b'{"player":0,"move":[1,2],"ms":1.0,"timed":"kernel"}', "move"),
        (b'{"player":1,"pass":true}', "pass"),
        (b'{"player":1,"fault":"illegal_move","tried":"\\"move\\":","ms":1.0}', "illegal_move"),
        (b'{"player":0,"end":"resigned","ms":1.0}', "resigned"),
        (b'{"dropped":true}', ""),
    ],
)
def test_a_line_of_the_journal_counts_by_its_code(entry: bytes, code: str) -> None:
    assert code_of(entry) == code


async def test_the_status_tells_how_late_the_loop_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_time = trio.sleep_until
    monkeypatch.setattr(trio, "sleep_until", lambda due: on_time(due + 0.1))  # as if the loop stood still
    monkeypatch.setattr(status_file, "SECONDS", 0.01)
    monkeypatch.setattr(status_file, "LAG_SECONDS", 0.01)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(status_file.StatusFile(tmp_path, Bus(), {}).run)
        with trio.fail_after(PATIENCE_SECONDS):
            while (status := read_status(tmp_path)) is None or status.lag_ms < 100:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
