"""The results of a run as JSON, and as one HTML page that needs no other file."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from getstep import __version__

from ._case import cases
from ._outcome import Outcome, Verdict


def group_of(outcome: Outcome) -> tuple[str, str]:
    """Return the number and the title of the group of a case."""
    return outcome.number.partition(".")[0], cases()[outcome.number].group


def counts(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """Return how many cases have each verdict, in the order of `Verdict`."""
    found = Counter(outcome.verdict for outcome in outcomes)
    return {verdict: found[verdict] for verdict in Verdict}


def as_json(client: Sequence[str], outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the results as JSON: ``client``, ``counts``, and a list of ``cases``."""
    return json.dumps(_content(client, outcomes, seconds), ensure_ascii=False, indent=1) + "\n"


def as_html(client: Sequence[str], outcomes: Sequence[Outcome], seconds: float) -> str:
    """Return the results as a page: a table of the groups, and each case with its transcript."""
    content = _content(client, outcomes, seconds)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for outcome, case in zip(outcomes, content["cases"], strict=True):
        groups.setdefault(group_of(outcome), []).append(case)
    rows = [
        (number, title, counts(o for o in outcomes if group_of(o) == (number, title))) for number, title in groups
    ]
    environment = Environment(
        loader=PackageLoader(__package__ or ""),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        **content, groups=groups, rows=rows, verdicts=list(Verdict), seconds_text=f"{seconds:.1f}"
    )


def _visible(value: Any) -> Any:
    """Escape what a client could use to repaint a page or to turn its text around."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in value)


def _content(client: Sequence[str], outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    return {
        "client": shlex.join(client),
        "suite": f"getstep-server {__version__}",
        "seconds": round(seconds, 3),
        "counts": {verdict.value: count for verdict, count in counts(outcomes).items()},
        "cases": [_row(outcome) for outcome in outcomes],
    }


def _row(outcome: Outcome) -> dict[str, Any]:
    case = cases()[outcome.number]
    return {
        "number": outcome.number,
        "group": case.group,
        "title": case.table.title,
        "requires": case.table.requires,
        "see": case.table.place,
        "verdict": outcome.verdict.value,
        "why": outcome.why,
        "seconds": round(outcome.seconds, 3),
        "transcript": list(outcome.transcript),
        "output": outcome.output,
    }
