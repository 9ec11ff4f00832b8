"""A program that is not trusted: start it in a sandbox, give it a bounded folder, suspend it, end it. Linux only.

In: a command line, a folder of files and `Limits`. Out: a process with pipes, and the files that the program left.
It must not know contests, teams or matches. It runs in plain threads and processes, so that a command, a test and
the process that plays a match use it alike.
"""

from .files import FilesError, Folder
from .limits import BUILDING, MIB, PLAYING, Limits
from .process import HOME, NotExecutableError, Protections, SandboxedProcess, SandboxError, start

__all__ = [
    "BUILDING",
    "HOME",
    "MIB",
    "PLAYING",
    "FilesError",
    "Folder",
    "Limits",
    "NotExecutableError",
    "Protections",
    "SandboxError",
    "SandboxedProcess",
    "start",
]
