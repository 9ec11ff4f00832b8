"""How programs talk: those of the original contests, and those of UGI. Each convention is a module with a `Talk`,
which does no I/O.

In: a turn, and later what the program has written. Out: bytes for its standard input, or files, and later its move,
or a `ConventionError` that says what is wrong. It must not know processes, folders or clocks:
`getstep.programs.program` runs a program with any of them.

To add a convention, write its module and add a line to `CONVENTIONS`.
"""

from __future__ import annotations

from ._convention import MAX_OUTPUT, SILENCE_SECONDS, ConventionError, Input, Output, Question, Talk
from .csefest_console import CsefestConsole
from .csefest_file import CsefestFile
from .linkage import Identity, IdLine, Linkage
from .prodrive import Prodrive
from .topcoder import TopCoder
from .ugi import Ugi

CONVENTIONS: dict[str, type[Talk]] = {
    "prodrive": Prodrive,
    "csefest-console": CsefestConsole,
    "csefest-file": CsefestFile,
    "topcoder": TopCoder,
    "linkage": Linkage,
    "ugi": Ugi,
}


def no_opening(name: str, convention: str) -> str:
    """Return why a program of a convention, whose ``from_any_board`` is False, cannot begin after an opening."""
    return (
        f"{name} is a {convention} program: it keeps the position from its own moves, so it cannot begin after an"
        " opening"
    )


__all__ = [
    "CONVENTIONS",
    "MAX_OUTPUT",
    "SILENCE_SECONDS",
    "ConventionError",
    "IdLine",
    "Identity",
    "Input",
    "Output",
    "Question",
    "Talk",
    "no_opening",
]
