"""The versions of programs on disk: numbers, the one in use, removal, and what a killed process leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from getstep_server.errors import ConfigError, UsageError
from getstep_server.file_lock import lock
from getstep_server.programs import store as store_module
from getstep_server.programs.disk import delete_tree
from getstep_server.programs.store import ProgramStore
from tests.support.submitted_programs import stored


@pytest.fixture
def store(tmp_path: Path) -> ProgramStore:
    return ProgramStore(tmp_path)


def test_a_contest_without_programs_has_none(store: ProgramStore, tmp_path: Path) -> None:
    assert (store.teams(), store.versions(1), store.current(1)) == ([], [], None)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="no program"):
        store.use(1, 1)


def test_versions_are_numbered_and_the_newest_is_in_use(store: ProgramStore) -> None:
    first, second, other = stored(store), stored(store), stored(store, 20)
    assert [one.number for one in (first, second, other)] == [1, 2, 1]
    assert store.versions(1) == [first, second]
    assert (store.current(1), store.current(20)) == (second, other)
    assert store.teams() == [1, 20]
    assert (second.files / "bot.py").read_text() == (second.source / "bot.py").read_text() == "print()"
    assert second.command == ("python", "bot.py")


def test_a_version_may_be_stored_without_being_used(store: ProgramStore) -> None:
    first = stored(store)
    stored(store, use=False)
    assert store.current(1) == first
    assert store.use(1, 2).number == 2
    assert store.current(1) == store.versions(1)[1]


def test_a_team_may_go_back_to_the_network(store: ProgramStore) -> None:
    stored(store)
    store.stop(1)
    assert (store.current(1), store.teams()) == (None, [])
    with pytest.raises(UsageError, match="no program in use"):
        store.stop(1)
    assert store.use(1, 1) == store.current(1)


def test_an_unknown_version_is_refused_with_the_known_ones(store: ProgramStore) -> None:
    stored(store)
    stored(store)
    with pytest.raises(UsageError, match="expected one of: 1, 2"):
        store.use(1, 3)
    assert (store.current(1) or store.versions(1)[0]).number == 2


def test_the_version_in_use_cannot_be_removed(store: ProgramStore) -> None:
    stored(store)
    with pytest.raises(UsageError, match="in use"):
        store.remove(1, 1)
    assert store.current(1) == store.versions(1)[0]


def test_a_removed_version_keeps_its_number_and_its_description(store: ProgramStore) -> None:
    stored(store)
    stored(store)
    store.use(1, 1)
    removed = store.remove(1, 2)
    assert not removed.files.exists()
    assert not removed.source.exists()
    (_, second) = store.versions(1)
    assert (second.number, second.sha256, second.removed) == (2, removed.sha256, True)
    with pytest.raises(UsageError, match="was removed"):
        store.use(1, 2)
    assert stored(store).number == 3


def test_only_the_newest_versions_and_the_one_in_use_keep_their_files(
    store: ProgramStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "PROGRAM_VERSIONS_KEPT", 2)
    stored(store)
    for _ in range(4):
        stored(store, use=False)
    assert [one.number for one in store.versions(1) if not one.removed] == [1, 4, 5]


def test_twenty_versions_keep_their_files(store: ProgramStore) -> None:
    for _ in range(21):
        stored(store)
    assert [one.number for one in store.versions(1) if one.removed] == [1]


def test_versions_keep_their_files_up_to_200_mb(store: ProgramStore) -> None:
    for number in range(1, 6):
        stored(store, use=number == 1)
        with (store.folder / "1" / str(number) / "source" / "data").open("wb") as file:
            file.truncate(60_000_000)  # a sparse file: it has this size, and takes no room
    stored(store, use=False)  # the latest; 5, 4 and 3 fit beside it, and 1 is in use
    assert [one.number for one in store.versions(1) if not one.removed] == [1, 3, 4, 5, 6]


def test_a_team_has_a_bounded_number_of_versions(store: ProgramStore) -> None:
    (store.folder / "1" / "10000").mkdir(parents=True)
    with pytest.raises(UsageError, match="the most"):
        stored(store)


def test_a_second_add_for_a_team_is_refused_while_one_runs(store: ProgramStore) -> None:
    with store.adding(1):
        with pytest.raises(UsageError, match="by another process"), store.adding(1):
            pass
        stored(store, 2)  # another team's is not
    stored(store, 1)


def test_a_change_waits_ten_seconds_for_another_one(store: ProgramStore, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(store)
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        assert clock[0] < 11

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with (store.folder / "1" / ".lock").open("w") as file:
        lock(file.fileno())
        with pytest.raises(ConfigError, match="another process has locked it"):
            store.use(1, 1)
    assert clock[0] > 9
    assert store.use(1, 1).number == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from getstep_server.programs.store import ProgramStore
store = ProgramStore(Path(sys.argv[1]))
with store.adding(1) as new:
    (new / "source").mkdir()
    (new / "source" / "half.py").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_what_a_killed_process_leaves_is_deleted_by_the_next(store: ProgramStore, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    left = list((tmp_path / "programs").rglob("half.py"))
    assert left
    assert store.versions(1) == []
    with store.adding(1) as new:
        assert list(new.iterdir()) == []


def test_a_failed_add_leaves_nothing(store: ProgramStore) -> None:
    with store.adding(1) as new:
        (new / "files").mkdir()
        (new / "files" / "secret").mkdir(mode=0o500)
    assert [path.name for path in (store.folder / "1").iterdir() if path.is_dir()] == []


def test_an_interrupted_removal_is_finished_by_the_next_change(store: ProgramStore) -> None:
    first = stored(store)
    stored(store)
    (first.folder / "program.json").rename(first.folder / "removed.json")
    assert store.versions(1)[0].removed
    store.use(1, 2)
    assert [path.name for path in first.folder.iterdir()] == ["removed.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a program's description"),
        ("{}", "team is missing"),
        ("[]", "expected a valid dictionary"),
        ("x" * 70_000, "longer than"),
    ],
)
def test_a_damaged_description_is_named(store: ProgramStore, content: str, message: str) -> None:
    version = stored(store)
    (version.folder / "program.json").write_text(content)
    with pytest.raises(ConfigError, match=message) as caught:
        store.current(1)
    assert str(caught.value).startswith(f"{version.folder / 'program.json'}: ")


def test_a_version_of_another_team_is_refused(store: ProgramStore) -> None:
    stored(store).folder.rename(store.folder / "1" / "2")
    with pytest.raises(ConfigError, match="version 1 of team 1"):
        store.versions(1)


@pytest.mark.parametrize("content", ["", "one", "-1", "01", "9" * 90])
def test_a_damaged_choice_is_named(store: ProgramStore, content: str) -> None:
    stored(store)
    (store.folder / "1" / "current").write_text(content)
    with pytest.raises(ConfigError, match="expected the number of a version"):
        store.current(1)


def test_a_version_in_use_whose_files_are_gone_is_named(store: ProgramStore) -> None:
    version = stored(store)
    (store.folder / "1" / "current").write_text("7\n")
    with pytest.raises(ConfigError, match="its files are gone"):
        store.current(1)
    assert store.use(1, version.number) == version


def test_folders_in_folders_are_deleted_though_their_paths_are_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    for _ in range(20):
        os.mkdir("x" * 250)  # noqa: PTH102 - relative to the current folder, as a build makes them
        os.chdir("x" * 250)
    monkeypatch.undo()
    delete_tree(tmp_path / "new")
    assert not (tmp_path / "new").exists()
