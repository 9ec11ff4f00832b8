"""The output of commands that decide about matches, and the records that they store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from getstep_server.config.class_list import read_roster
from getstep_server.config.contest import Team, load_contest
from getstep_server.decisions.making import decide
from getstep_server.decisions.requests import AddTeams
from getstep_server.play.scoresheet import ScoresheetStore
from getstep_server.records.record import Record
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Store
from tests.support.command import Command

WHY = ("--why", "it was agreed so", "--by", "Grace")


def save(store: Store, record: Record) -> None:
    trio.run(store.save, record)


def leave_running(folder: Path, number: int) -> None:
    """Leave a match as a killed server leaves it."""
    contest = load_contest(folder)
    sheets = ScoresheetStore(contest, Disk(contest.folder, lambda _: None))
    contest.running.mkdir()
    trio.run(sheets.begin, tournament_of(contest).matches[number], 1)
    sheets.close()


def said(command: Command, *arguments: str) -> list[str]:
    ran = command(*arguments)
    assert (ran.code, ran.err) == (0, ""), ran
    return ran.out.splitlines()


def decisions(folder: Path) -> list[dict[str, Any]]:
    with Store(load_contest(folder).database) as store:
        return [fields for fields in map(json.loads, store.lines()) if fields["type"] == "decision"]


def import_teams(folder: Path, path: Path) -> tuple[Sequence[Team], list[str]]:
    """Add the teams of a class list; return them, and what the host should know about the list."""
    found = read_roster(path)
    request = AddTeams(roster=found, by="Grace")
    return decide(folder, request).teams, found.notes
