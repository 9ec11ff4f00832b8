"""The conformance suite: its files, its verdicts, and its reports. The Python SDK passes every case."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from getstep_conformance.client import VECTORS, CaseError, cases
from getstep_conformance.client._bot_rules import board_for, move_for
from getstep_conformance.client._case import cases_in, sort_key
from getstep_server.cli.main import run_command
from tests.support.golden import assert_golden
from tests.support.scripts import CLASSIC_CLIENT, TEST_BOT, WRONG_CLIENT, conformance_bot

ROOT = Path(__file__).parents[2]
PATIENT = "--patience=60"
"""The option for a busy machine."""


def conformance(*arguments: str) -> int:
    return run_command(["conformance", *arguments])


# --- the cases ----------------------------------------------------------------------------------------------------


def test_the_cases_are_in_order_and_complete() -> None:
    numbers = [sort_key(number) for number in cases()]
    assert numbers == sorted(numbers)
    groups = {group for group, _ in numbers}
    for group in groups:
        places = [place for one, place in numbers if one == group]
        assert places == list(range(1, len(places) + 1)), f"group {group} has a gap"
    assert len(numbers) >= 80


def test_each_case_names_a_section_of_the_protocol() -> None:
    places = set()
    for page in ("protocol.md", "docs/proofs.md", "docs/classic.md"):
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        slugs = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)
        places |= {f"{page}#{slug}" for slug in slugs}
    assert {case.table.place for case in cases().values()} <= places


FILE: dict[str, Any] = {"group": 3, "title": "Three"}
CASE: dict[str, Any] = {"number": "3.1", "title": "one", "requires": "It works.", "see": "frames"}


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"steps": ["login", "jump"]}, "case 3.1, step 2: 'jump', expected one of accept"),
        ({"steps": [7]}, "case 3.1, step 1: 7, expected the name of a step, or a table"),
        ({"steps": [{"do": "silent"}]}, "case 3.1, step 1: Object missing required field `seconds`"),
        (
            {"steps": [{"do": "silent", "seconds": 101}]},
            "case 3.1, step 1: Expected `float` <= 100.0 - at `$.seconds`",
        ),
        ({"steps": [{"do": "start", "colour": 1}]}, "case 3.1, step 1: Object contains unknown field `colour`"),
        ({"steps": [{"do": "bytes", "hex": "c"}]}, "case 3.1, step 1: Expected `str` matching regex"),
        (
            {"steps": [{"do": "start", "style": "tiny"}]},
            "case 3.1, step 1: Expected `str` matching regex '^(shortest|",
        ),
        ({"steps": ["login"], "number": "4.1"}, "case 4.1, expected a number of group 3"),
        ({}, "case 3.1, expected steps, or a script"),
        ({"script": "dance"}, "Expected `str` matching regex"),
    ],
)
def test_a_wrong_case_is_refused_with_its_place(changes: dict[str, Any], mistake: str) -> None:
    with pytest.raises(CaseError) as caught:
        cases_in({**FILE, "case": [{**CASE, **changes}]})
    assert str(caught.value).startswith(mistake)


@pytest.mark.parametrize("game", ["longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage", "unknown"])
@pytest.mark.parametrize("is_black", [True, False])
def test_the_test_bot_follows_the_rules_of_the_suite(game: str, is_black: bool) -> None:
    moves = []
    for question in range(31, 40):
        board = board_for(game, {}, question, is_black=is_black)
        moves.append(move_for(game, board, is_black=is_black))
        assert json.loads(json.dumps(conformance_bot.first_move(game, board, is_black))) == moves[-1]
    assert all(one != other for one, other in pairwise(moves)), "no answer fits the next question"


# --- the command --------------------------------------------------------------------------------------------------


def test_a_case_and_its_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--json={tmp_path / 'results.json'}", f"--html={tmp_path / 'report.html'}"]
    assert conformance("--case", "1.2", PATIENT, *files, "--", *TEST_BOT) == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert results["counts"] == {"pass": 1, "non-strict": 0, "fail": 0, "informational": 0}
    (case,) = results["cases"]
    assert (case["number"], case["verdict"], case["why"]) == ("1.2", "pass", "")
    assert any(" C  step " in line for line in case["transcript"])
    assert any(re.search(r" C  join \(.*mac '[0-9a-f]+\.\.\.',", line) for line in case["transcript"])
    assert "<script" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    out = " ".join(capsys.readouterr().out.split())  # a long path wraps the lines
    assert "1 pass" in out
    assert "--html FILE" not in out


def test_a_client_that_ends_at_once_fails(tmp_path: Path) -> None:
    assert (
        conformance(
            "--case", "1.1", PATIENT, f"--json={tmp_path / 'x'}", "--", sys.executable, "-c", "raise SystemExit(3)"
        )
        == 1
    )
    (case,) = json.loads((tmp_path / "x").read_text(encoding="utf-8"))["cases"]
    assert (case["verdict"], case["why"]) == ("fail", "it has ended, with exit code 3")


def test_the_screen_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert conformance("--case", "1.1,2.1,13.3", "--strict", PATIENT, "--", *WRONG_CLIENT, "ends") == 1
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert_golden("conformance-results", out.rpartition("\n\n")[0])  # below: the command, and seconds
    assert "--html FILE shows the messages" in out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--case", "99", "--", "x"],
        ["--jobs", "0", "--", "x"],
        ["--patience", "0", "--", "x"],
        ["--", "/nowhere/x"],
    ],
)
def test_wrong_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance(*arguments) == 2
    assert "expected" in capsys.readouterr().err


def test_the_vectors_can_be_written(tmp_path: Path) -> None:
    assert conformance("--vectors", str(tmp_path / "new")) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {path.name for path in VECTORS.iterdir()}


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance("--list", "--case", "1") == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert_golden("conformance-list", out)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        conformance("--help")
    usage, _, rest = capsys.readouterr().out.partition("\n\n")
    assert_golden("help-conformance", f"{' '.join(usage.split())}\n\n{rest}")


def test_a_classic_client() -> None:
    assert conformance("--classic", "--case=20.1", PATIENT, "--", *CLASSIC_CLIENT) == 0


def test_a_client_with_other_moves_gets_a_remark(tmp_path: Path) -> None:
    """They are legal ones, and not those of the test bot."""
    assert conformance("--case=1.1", PATIENT, f"--json={tmp_path / 'x'}", "--", *WRONG_CLIENT, "other move") == 0
    (case,) = json.loads((tmp_path / "x").read_text(encoding="utf-8"))["cases"]
    assert case["why"] == "3 moves were on other empty squares than those of the test bot"


@pytest.mark.parametrize(("strict", "code"), [([], 3), (["--strict"], 1)])
def test_the_exit_code_of_a_client_that_does_not_do_all_that_it_should(strict: list[str], code: int) -> None:
    assert conformance("--case=7.1,1.1", *strict, PATIENT, "--", *WRONG_CLIENT, "no nonce") == code


@pytest.mark.long
def test_the_python_sdk_passes_every_case(tmp_path: Path) -> None:
    """It calls ``get_step`` in the main thread, for Ctrl-C and debuggers, and reads in another meanwhile."""
    code = conformance("--strict", PATIENT, f"--json={tmp_path / 'x'}", "--", *TEST_BOT)
    assert (code, _not_passed(tmp_path / "x")) == (0, {"9.1": "informational"})


@pytest.mark.long
def test_a_classic_client_does_what_it_must(tmp_path: Path) -> None:
    """The clients of 2019 take a short read for a lost connection."""
    code = conformance("--classic", PATIENT, f"--json={tmp_path / 'x'}", "--", *CLASSIC_CLIENT)
    assert (code, _not_passed(tmp_path / "x")) == (3, {"20.13": "non-strict"})


def _not_passed(results: Path) -> dict[str, str]:
    found = json.loads(results.read_text(encoding="utf-8"))["cases"]
    return {case["number"]: case["verdict"] for case in found if case["verdict"] != "pass"}
