"""Cases: numbered, read from the files in `cases`, each a script of steps and what protocol.md requires."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from getstep.wire import SERVER_MESSAGES

from ._classic_steps import CLASSIC_STEPS
from ._scripts import SCRIPTS, Script
from ._steps import STEPS, Accept, Login, Send, Step, one_of

_MESSAGES = [cls.type for cls in SERVER_MESSAGES]

FOLDER = Path(__file__).parent / "cases"

Text = Annotated[str, Meta(min_length=1, max_length=200)]


class CaseError(ValueError):
    """Raised when a file of cases is wrong; a line for each mistake, with its place."""


class CaseTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case as it is in a file.

    Attributes:
        number: group and place, such as ``"3.17"``. It never changes: documents and reports refer to it.
        title: what the server does, in a few words.
        requires: what the client has to do, in one sentence.
        see: the section of protocol.md, or a page and its section.
        steps: what the server does: tables whose ``do`` is the name of a step or the type of a message to send; the
            name alone if nothing else is to be said.
        script: or the function of `_scripts` that does it.
        ends: ``over``: after the steps, the client has to come back if it is not connected, and to end after
            ``contest_over``. ``none``: the steps end the client themselves.
        token: the token as the client gets it.
        slow: the case waits for seconds, so it starts first.
        finds: the client has the address from a saved login, and may look for the contest on the network.
        timing: the client has to begin something within a fraction of a second. If it does not pass, the case runs
            once more, alone.
    """

    number: Annotated[str, Meta(pattern=r"^\d{1,2}\.\d{1,2}$")]
    title: Text
    requires: Text
    see: Text
    steps: list[Any] = field(default_factory=list)
    script: Annotated[str, Meta(pattern=one_of(SCRIPTS))] | None = None
    ends: Literal["over", "none"] = "over"
    token: str | None = None
    slow: bool = False
    timing: bool = False
    finds: bool = False

    @property
    def place(self) -> str:
        """The page and the section that ``see`` names."""
        return self.see if "#" in self.see else f"protocol.md#{self.see}"


class GroupTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file: a group of cases."""

    group: Annotated[int, Meta(ge=1, le=99)]
    title: Text
    classic: bool = False
    case: list[CaseTable]


@dataclass(frozen=True)
class Case:
    """A case with its steps, and the group that it belongs to; the other attributes are those of `CaseTable`."""

    table: CaseTable
    steps: tuple[Step, ...]
    group: str
    classic: bool

    @property
    def number(self) -> str:
        """The number, such as ``"3.17"``."""
        return self.table.number

    @property
    def script(self) -> Script | None:
        """The function that plays the case, if it has no steps."""
        return None if self.table.script is None else SCRIPTS[self.table.script]

    @property
    def measures_pauses(self) -> bool:
        """True if the case needs to know whether the client uses GETSTEP_TIME_SCALE."""
        bounds = [(s.least, s.most) for s in self.steps if isinstance(s, Accept | Login)]
        return self.table.script is not None or any(least or most is not None for least, most in bounds)


@cache
def cases() -> dict[str, Case]:
    """Return all cases by number, in their order.

    Raises:
        CaseError: a file is wrong.
    """
    found: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for case in cases_in(data):
            if case.number in found:
                raise CaseError(f"{path.name}: case {case.number}, expected a number that no other case has")
            found[case.number] = case
    return dict(sorted(found.items(), key=lambda pair: sort_key(pair[0])))


def cases_in(data: Mapping[str, Any]) -> list[Case]:
    """Return the cases of a file.

    Raises:
        CaseError: the file is wrong.
    """
    try:
        group = msgspec.convert(data, GroupTable)
    except msgspec.ValidationError as error:
        raise CaseError(str(error)) from error
    found, mistakes = [], list[str]()
    for table in group.case:
        steps = []
        for number, entry in enumerate(table.steps, start=1):
            try:
                steps.append(_step(entry))
            except (CaseError, msgspec.ValidationError) as error:
                mistakes.append(f"case {table.number}, step {number}: {error}")
        if not table.number.startswith(f"{group.group}."):
            mistakes.append(f"case {table.number}, expected a number of group {group.group}")
        if bool(table.steps) == bool(table.script):
            mistakes.append(f"case {table.number}, expected steps, or a script")
        found.append(Case(table, tuple(steps), group.title, group.classic))
    if mistakes:
        raise CaseError("\n".join(mistakes))
    return found


def _step(entry: object) -> Step:
    table = {"do": entry} if isinstance(entry, str) else entry
    if not isinstance(table, dict):
        raise CaseError(f"{entry!r}, expected the name of a step, or a table")
    name, fields = str(table.get("do")), {key: value for key, value in table.items() if key != "do"}
    if name in _MESSAGES:
        return msgspec.convert({"type": name, **fields}, Send)
    steps = {**STEPS, **CLASSIC_STEPS}
    if name not in steps:
        raise CaseError(f"{name!r}, expected one of {', '.join([*steps, *_MESSAGES])}")
    return msgspec.convert(fields, steps[name])


def sort_key(number: str) -> tuple[int, ...]:
    """Return a key that sorts case numbers: 2.10 comes after 2.9."""
    return tuple(int(part) for part in number.split("."))
