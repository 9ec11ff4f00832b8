"""The sandbox: a program's files, pipes, end and limits. `test_sandbox_probes.py` tries to break out of it."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getstep_server.sandbox import HOME, PLAYING, Limits, Protections, SandboxedProcess, SandboxError, start
from getstep_server.sandbox.files import Folder
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import needs_sandbox

pytestmark = needs_sandbox


def python(source: str, folder: Path, limits: Limits = PLAYING) -> SandboxedProcess:
    return start([sys.executable, "-c", source], folder, limits)


def test_it_talks_through_pipes_and_has_its_own_copy_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "given").write_text("before")
    source = (
        "import os; print(os.getcwd(), input(), open('sub/given').read(), flush=True);"
        "open('sub/given', 'w').write('after'); open('made', 'w').write('new'); os.symlink('/etc/passwd', 'link');"
        "print('written', flush=True); input()"
    )
    with python(source, tmp_path) as program:
        program.stdin.write(b"hello\n")
        assert program.stdout.readline() == f"{HOME} hello before\n".encode()
        assert program.stdout.readline() == b"written\n"
        assert program.poll() is None
        assert program.folder.read("made", 100) == b"new"
        assert program.folder.read("made", 2) == b"ne"
        assert [program.folder.read(name, 100) for name in ("link", "sub", "none")] == [None] * 3
        assert (tmp_path / "sub" / "given").read_text() == "before"
        program.stdin.close()
        assert program.wait(PATIENCE_SECONDS) == 1
        program.folder.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"made", "sub"}
    assert (tmp_path / "sub" / "given").read_text() == "after"


def test_a_program_that_computes_too_long_is_told_by_a_host_that_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program has run for some time already when the host hears that it runs."""

    class Late(SandboxedProcess):
        def __init__(self, *args: Any, **options: Any) -> None:
            time.sleep(0.1)
            super().__init__(*args, **options)

    monkeypatch.setattr("getstep_server.sandbox.process.SandboxedProcess", Late)
    with python("while True: pass", tmp_path, replace(PLAYING, cpu_seconds=1)) as program:
        program.wait(PATIENCE_SECONDS)
        assert program.describe_end() == "was killed: it used more than 1 s of processor time"


def test_only_regular_files_are_read_and_saved(tmp_path: Path) -> None:
    given, saved = tmp_path / "given", tmp_path / "saved"
    (saved / "before").mkdir(parents=True)
    (saved / "before" / "file").write_text("it is replaced")
    given.mkdir()
    os.mkfifo(given / "pipe")
    (given / "link").symlink_to("/etc/passwd")
    (given / "folder_link").symlink_to("/etc")
    (given / "program").write_text("#!")
    (given / "program").chmod(0o4755)
    folder = Folder(os.open(given, os.O_RDONLY), 1000, 10, None, inner="")
    try:
        assert [folder.read(name, 9) for name in ("pipe", "link", "folder_link")] == [None, None, None]
        with pytest.raises(ValueError, match="folder_link"):
            folder.read("folder_link/passwd", 9)
        folder.save(saved)
        assert [path.name for path in saved.rglob("*")] == ["program"]
        assert (saved / "program").stat().st_mode & 0o7777 == 0o755
        os.truncate(given / "program", 1001)  # a file with a hole, which takes no room
        with pytest.raises(OSError, match="larger than the limit"):
            folder.save(saved)
    finally:
        folder.close()


def test_a_program_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="No such file"):
        start(["no-such-program"], tmp_path)


@pytest.mark.parametrize("protections", Protections)
def test_it_is_suspended_resumed_and_killed(tmp_path: Path, protections: Protections) -> None:
    source = "print(1, flush=True)\nwhile True: pass"
    with start([sys.executable, "-c", source], tmp_path, protections=protections) as program:
        program.stdout.readline()
        program.suspend()
        before = program.cpu_seconds()
        while True:  # a thread in the kernel stops a moment later
            used = program.cpu_seconds()
            if used == before:
                break
            before = used
        program.resume()
        while program.cpu_seconds() == before:
            assert program.poll() is None
        program.kill()
        assert program.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_the_limits_of_a_program_that_plays(tmp_path: Path) -> None:
    source = (
        "import os, resource; files = os.statvfs('.');"
        "names = 'AS DATA FSIZE NPROC NOFILE CPU CORE MEMLOCK'.split();"
        "print([resource.getrlimit(getattr(resource, 'RLIMIT_' + name))[1] for name in names],"
        " files.f_blocks * files.f_frsize, files.f_files)"
    )
    with python(source, tmp_path) as program:
        limits = "[34359738368, 1073741824, 67108864, 100, 256, 3600, 0, 0]"
        assert program.stdout.read().decode() == f"{limits} 67108864 10000\n"


def test_files_are_replaced_as_a_whole_and_cannot_exceed_the_limit(tmp_path: Path) -> None:
    with python("print(input())", tmp_path, Limits(file_bytes=1 << 20)) as program:
        program.folder.write("file", b"1")
        program.folder.write("file", b"22")
        assert program.folder.read("file", 9) == b"22"
        program.folder.remove("file")
        assert program.folder.read("file", 9) is None
        with pytest.raises(OSError, match="No space"):
            program.folder.write("large", bytes(2 << 20))
    (tmp_path / "large").write_bytes(bytes(2 << 20))
    with pytest.raises(SandboxError, match="large"):
        python("", tmp_path, Limits(file_bytes=1 << 20))


def test_what_it_may_read_may_be_below_any_folder_of_the_host(tmp_path: Path) -> None:
    """A virtual environment may be in /home or, as here, in /tmp."""
    assert HOME.split("/")[1] not in {path.name for path in Path("/").iterdir()}
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "given").write_text("read")
    source = f"import tempfile; print(open({str(packages / 'given')!r}).read(), tempfile.gettempdir())"
    with start([sys.executable, "-c", source], packages, readable=[packages]) as program:
        assert program.stdout.read() == b"read /sandbox/tmp\n"
