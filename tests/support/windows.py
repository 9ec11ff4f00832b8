"""Windows for tests: CPython for Windows and programs of mingw-w64, run by Wine, in a folder of its own.

No package index has CPython for Windows as such. Panda3D's wheel for Windows carries the library and the modules
in C of the official release, for programs that are packed with it. The modules in Python are those of the Python
that runs the tests: any CPython of the same version has the modules of Windows, too. What is left is a
``python.exe`` that calls the library.

Wine is not Windows: docs/windows.md says what ran where.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from getstep.languages import LANGUAGES
from tests.support.patience import INSTALL_SECONDS, PATIENCE_SECONDS
from tests.support.processes import Program

COMPILER = "x86_64-w64-mingw32-g++"
WHEEL = "panda3d>=1.10.15,<1.11"
"""64 MB; its ``deploy_libs`` is CPython. Its 1.10.15 is for CPython up to 3.13."""

CODE_PAGE = "cp1252"
"""In which Python writes to a pipe: that of Western Europe, which Wine has in the locale C."""

_VERSION = f"{sys.version_info.major}{sys.version_info.minor}"
_MODULES = (".pyd",)
_LIBRARIES_OF_MODULES = ("libffi", "libssl", "libcrypto", "sqlite3")
_BESIDE_PYTHON = (f"python{_VERSION}.dll", "python3.dll", "vcruntime140.dll", "vcruntime140_1.dll")
_NOT_NEEDED = (
    *("site-packages", "dist-packages", "test", "lib-dynload", "config-*", "idlelib", "tkinter", "turtledemo"),
    "EXTERNALLY-MANAGED",  # with this file of Debian, pip refuses to install
)
_STARTER = f"""
#include <windows.h>
typedef int (*main_t)(int, wchar_t **);
int wmain(int argc, wchar_t **argv) {{
    HMODULE library = LoadLibraryW(L"python{_VERSION}.dll");
    main_t run = library ? (main_t)(void *)GetProcAddress(library, "Py_Main") : 0;
    return run ? run(argc, argv) : 103;
}}
"""


@dataclass(frozen=True)
class Done:
    """How a program has ended: its exit code, and all that it wrote."""

    code: int
    output: str


class Options(TypedDict, total=False):
    """The options of `Windows.start`."""

    cwd: Path | None
    types: str
    variables: Mapping[str, str] | None


class Windows:
    """A Windows user: a disk, a Python, and programs.

    Args:
        folder: for everything; 0.8 GB.
        downloads: keeps the wheel for later runs.
    """

    def __init__(self, folder: Path, downloads: Path) -> None:
        self.folder = folder
        self.python = folder / "Python" / "python.exe"
        self.log: list[str] = []
        """What ran: each command with its exit code and its output."""
        self._prefix = folder / "prefix"
        self._downloads = downloads

    @property
    def environ(self) -> dict[str, str]:
        """The environment of all programs: without the variables of getstep, pip and this Python."""
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("GETSTEP_", "PIP_", "PYTHON"))
        }
        # Without mono and a browser engine, which Wine would offer to install, and without its debugger, which
        # takes 20 s to print the state of all processes after a crash.
        quiet = {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe,winemenubuilder.exe=d"}
        return own | quiet | {"WINEPREFIX": str(self._prefix), "LC_ALL": "C.UTF-8"}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Make the disk and Python, and keep Wine's server until the end: each first start of it takes seconds."""
        self._prefix.mkdir(parents=True)
        server = self._quietly("wineserver", "--foreground", "--persistent")
        try:
            # Wine takes 10 s to fill its disk, most of them waiting: meanwhile Python is put together.
            boot = self._quietly("wineboot", "--init")
            self._make_python()
            boot.wait(INSTALL_SECONDS)
            version = self._quietly(
                "wine", "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"
            )
            assert version.wait(INSTALL_SECONDS) == 0  # else it is Windows 7
            yield
        finally:
            self._quietly("wineserver", "--kill").wait(PATIENCE_SECONDS)
            server.wait(PATIENCE_SECONDS)
            shutil.rmtree(self._prefix, ignore_errors=True)  # pytest keeps the folders of three runs

    def _quietly(self, *command: str) -> subprocess.Popen[bytes]:
        # Not through a pipe: Wine's services inherit it, and whoever reads it would wait for them.
        null = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.environ, stdin=null, stdout=null, stderr=null)

    # --- programs ---

    def start(
        self,
        program: Path,
        *arguments: str,
        cwd: Path | None = None,
        types: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> Program:
        """Start a program; its output can be waited for.

        Args:
            program: an exe file.
            arguments: its arguments.
            cwd: its folder.
            types: what its user types.
            variables: for its environment.
        """
        # Standard streams have to be pipes: with a plain file, /dev/null too, Python ends with WinError 6.
        command = ["wine", str(program), *arguments]
        environ = self.environ | dict(variables or {})
        encoding = CODE_PAGE if program == self.python else "utf-8"
        return Program(command, cwd=cwd, environ=environ, typed=types, encoding=encoding)

    def run(self, program: Path, *arguments: str, **options: Unpack[Options]) -> Done:
        """Run a program to its end. The options are those of `start`."""
        started = self.start(program, *arguments, **options)
        try:
            done = Done(started.wait(), started.output)
        finally:
            started.end()
        self.note([program.name, *arguments], done)
        return done

    def getstep(self, *arguments: str, **options: Unpack[Options]) -> Done:
        """Run the command ``getstep`` to its end, as ``python -m getstep``."""
        return self.run(self.python, "-m", "getstep", *arguments, **options)

    def note(self, command: Sequence[str], done: Done) -> None:
        """Write what a command has done into the log."""
        text = f"> {subprocess.list2cmdline(command)}\n{done.output.rstrip()}\n(exit code {done.code})\n"
        # As if the folder were the whole disk: the log goes into the documentation.
        here, there = (re.escape(str(self.folder).replace("/", slash)) for slash in ("/", "\\"))
        self.log.append(re.sub(f"(?<![\\w/\\\\]){here}|(?<=z:){there}", "", text, flags=re.IGNORECASE))

    def compile(self, source: Path, *flags: str) -> Path:
        """Compile a bot in C++ as docs/cpp.md says, and return the program, which is beside it."""
        program = source.with_suffix(".exe")
        include = f"-I{LANGUAGES['cpp'].folder}"
        call = [COMPILER, "-std=c++17", "-static", *flags, include, "-o", str(program), str(source), "-lws2_32"]
        ran = subprocess.run(call, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return program

    # --- Python ---

    def _make_python(self) -> None:
        home = self.python.parent
        (home / "DLLs").mkdir(parents=True)
        with zipfile.ZipFile(self._wheel()) as wheel:
            for name in wheel.namelist():
                base = name.rpartition("/")[2].lower()
                if not name.startswith("deploy_libs/"):
                    continue
                if base in _BESIDE_PYTHON:
                    (home / base).write_bytes(wheel.read(name))
                elif base.endswith(_MODULES) or base.startswith(_LIBRARIES_OF_MODULES):
                    (home / "DLLs" / name.rpartition("/")[2]).write_bytes(wheel.read(name))
        # With the compiled modules, which are the same on all systems.
        library = sysconfig.get_path("stdlib")
        shutil.copytree(library, home / "Lib", ignore=shutil.ignore_patterns(*_NOT_NEEDED))
        import pip  # here: no other test needs it

        packages = home / "Lib" / "site-packages"
        shutil.copytree(Path(pip.__file__).parent, packages / "pip")
        source = self.folder / "python.c"
        source.write_text(_STARTER)
        call = [COMPILER.replace("g++", "gcc"), "-O2", "-municode", "-static", "-o", str(self.python), str(source)]
        subprocess.run(call, check=True)

    def _wheel(self) -> Path:
        found = sorted(self._downloads.glob(f"panda3d-*-cp{_VERSION}-*win_amd64.whl"))
        if found:
            return found[-1]
        options = ["--only-binary=:all:", "--no-deps", "--platform=win_amd64", f"--python-version={_VERSION}"]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", f"--abi=cp{_VERSION}", *options]
        got = subprocess.run(
            [*pip, "-d", str(self._downloads), WHEEL], capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
        assert got.returncode == 0, (
            f"the wheel that carries CPython for Windows cannot be downloaded:\n{got.stderr}"
        )
        return self._wheel()
