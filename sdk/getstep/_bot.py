"""The loader of a contestant's file."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from ._errors import BotError
from .languages import language_of
from .programs.folder import find
from .turn import Callback, author_trace

loading = False
"""True while a bot's file is imported: `play` must not start from there."""


class _FreshLoader(importlib.machinery.SourceFileLoader):
    """Reads the source each time: cached bytecode may belong to an earlier edit within the same second."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(f"{path} is never cached")


def load(path: Path, convention: str | None = None) -> Callback:
    """Import the file at ``path`` and return its ``get_step``. The file's folder becomes importable.

    The module's ``__name__`` is the file's, never ``"__main__"``. With a convention, the file is a program of an
    original contest, which plays by that convention (see `getstep.conventions`).

    Raises:
        BotError: there is no such file, it is in another language, it does not import, or it has no usable
            ``get_step``.
    """
    if convention is not None:
        from .programs.program import (  # here: other bots need neither processes nor conventions
            ProgramBot,
            ProgramCallback,
        )

        return ProgramCallback(ProgramBot(convention, path).get_step)
    language = language_of(path.suffix)
    if language is not None:
        raise BotError(
            f"{path.name} is a bot in {language.title}, which plays without getstep. Start it instead:\n"
            + "\n".join(f"  {line}" for line in language.builds_here()[0].commands(path))
            + f"\nTo practise with it:\n  getstep practice {path}"
        )
    path = find(path)
    if path.suffix != ".py" and _is_binary(path):
        raise BotError(
            f"{path.name} is not a Python file.\n"
            "A program of an original contest needs --as, such as --as linkage; any other bot is started itself."
        )
    module = _import(path)
    if not hasattr(module, "get_step"):
        raise BotError(
            f"{path} has no get_step; expected a function: def get_step(board, is_black)\n"
            "A program of an original contest needs --as, such as --as linkage. To practise with one that connects"
            f" by itself, type its command: getstep practice -- python {path}"
        )
    return Callback(module.get_step)


def _is_binary(path: Path) -> bool:
    """True for what a compiler has written: text has no zero bytes."""
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(1024)
    except OSError:
        return False  # the import says why


def module_name(stem: str) -> str:
    """Return a module name for a file: its stem, unless another module has that name."""
    taken = stem in sys.modules or stem in sys.stdlib_module_names or not stem.isidentifier()
    return f"bot_{stem}" if taken else stem


def _import(path: Path) -> ModuleType:
    global loading
    name = module_name(path.stem)
    loader = _FreshLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise BotError(f"{path} cannot be loaded as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that dataclasses, pickle and multiprocessing find it
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    loading = True
    try:
        loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        sys.modules.pop(name, None)
        trace = author_trace(error, _skip_to_file(error.__traceback__, str(path)))
        raise BotError(f"{path.name} does not load; the error is above.", trace) from None
    finally:
        loading = False
    return module


def _skip_to_file(trace: TracebackType | None, file: str) -> TracebackType | None:
    """Return the traceback from the first frame in ``file`` on; None if there is none, as after a syntax error."""
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    return trace
