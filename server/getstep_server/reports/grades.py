"""Grades: what a teacher enters for each team, or for each pupil of the imported class list.

Equal results have equal grades: of teams that only a lot separates, all have the place of the first. Everything
here is a function of the tables; nothing is stored, and the host chooses the scale with each export.
"""

from __future__ import annotations

import locale
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

from getstep_server.config.class_list import KeptList
from getstep_server.config.event import ContestEvent
from getstep_server.json_text import encode
from getstep_server.records.reasons import TeamStatus
from getstep_server.text import escape_control_chars
from getstep_server.tournament.combined import levels
from getstep_server.tournament.tournament import Tournament

from .export import WRITERS, DataSet, Literally, csv_line
from .text_table import Column, TextTable

DECIMALS = 2
"""The digits of a grade behind the point: as many as Moodle keeps in its usual settings."""


class Threshold(NamedTuple):
    """A grade, and the score that is at least needed for it."""

    grade: str
    least: float


class Scale(NamedTuple):
    """How results become grades.

    ``kind`` is "place": from ``best`` for the first place down to ``worst`` for the last one, in equal steps; or
    "score": in proportion to the score, between the lowest and the highest one; or "thresholds", of which the first
    one that the score reaches counts.
    """

    kind: Literal["place", "score", "thresholds"] = "place"
    best: float = 100.0
    worst: float = 0.0
    thresholds: tuple[Threshold, ...] = ()


Grade: TypeAlias = float | str
"""A number, or the text of a threshold; "" below all of them."""


class GradeLine(NamedTuple):
    """A team's grade, with the place that it shares with equal teams, and its score in the table."""

    team: int
    place: int
    score: float
    grade: Grade


def scale_named(text: str, best: float, worst: float) -> Scale:
    """Return the scale that ``text`` names: place, score, or thresholds such as "A=30,B=20,C=0".

    Raises:
        ValueError: it is none of these.
    """
    if text in ("place", "score"):
        return Scale(text, best, worst)  # type: ignore[arg-type]  # just compared
    thresholds = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*([^=,]{1,20}?)\s*=\s*(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*", part)
        if found is None or not found[1].isprintable():
            wanted = "place, score, or the least score of each grade: A=30,B=20,C=0"
            raise ValueError(f"{text!r:.80}, expected {wanted}")
        thresholds.append(Threshold(found[1], float(found[2])))
    return Scale("thresholds", best, worst, tuple(sorted(thresholds, key=lambda one: -one.least)))


def grade_lines(tournament: Tournament, event: ContestEvent | None, scale: Scale) -> list[GradeLine]:
    """Return the grade of each team, best first.

    Args:
        tournament: the contest.
        event: whose table counts; None: the combined one of all events.
        scale: how results become grades.
    """
    results = list(_results(tournament, event))
    last = max((place for _, place, _, _ in results), default=1)
    taking_part = [score for _, _, score, out in results if not out]
    lowest, highest = min(taking_part, default=0.0), max(taking_part, default=0.0)

    def grade(place: int, score: float) -> Grade:
        if scale.kind == "thresholds":
            return next((one.grade for one in scale.thresholds if score >= one.least), "")
        if scale.kind == "place":
            share = (last - place) / (last - 1) if last > 1 else 1.0
        else:
            share = (score - lowest) / (highest - lowest) if highest > lowest else 1.0
        return round(scale.worst + share * (scale.best - scale.worst), DECIMALS)

    nothing: Grade = "" if scale.kind == "thresholds" else scale.worst
    return [
        GradeLine(team, place, score, nothing if out else grade(place, score))
        for team, place, score, out in results
    ]


def _results(tournament: Tournament, event: ContestEvent | None) -> Iterator[tuple[int, int, float, bool]]:
    """Yield team, shared place, score, and True if no result of the team counts, in the order of the table."""
    if event is None:
        for level in levels(tournament.tables().combined):
            for row in level:
                yield row.team, level[0].rank, row.total, row.status == TeamStatus.DISQUALIFIED
        return
    rows = tournament.table(event)
    # equal ratings are equal results: the table of an arena has the order of the ids then
    by_rating = [list(level) for _, level in groupby(rows, lambda row: row.rating and row.rating[0])]
    for standings in by_rating if event.format.rates else levels(rows):
        for one in standings:
            score = (one.rating[0] if one.rating else 0.0) if event.format.rates else float(one.points)
            out = one.status == TeamStatus.DISQUALIFIED or (event.format.rates and one.rating is None)
            yield one.team, standings[0].rank, score, out


# --- files ------------------------------------------------------------------------------------------------------


class Grades(DataSet):
    """The grades, with the columns of the class list: a row for each of its lines, and for each team in none.

    Args:
        tournament: has the names of the teams.
        lines: from `grade_lines`.
        lists: the class lists that were imported.
    """

    _OWN = ("place", "team", "team_name", "score", "grade")

    def __init__(self, tournament: Tournament, lines: Sequence[GradeLine], lists: Sequence[KeptList] = ()) -> None:
        self._contest = tournament.contest
        self.lines = lines
        self._semicolons = any(one.delimiter == ";" for one in lists)
        self._headings, self._kept = _merged(lists)
        self.columns = (*self._headings, *self._OWN)

    def people(self) -> Iterator[tuple[Sequence[str], int, GradeLine | None]]:
        """Yield the cells of each line of the class lists, in their order, with its team and the team's grade.

        A team without a grade is not in the table. Teams that are in no class list come last, with empty cells.
        """
        by_team = {line.team: line for line in self.lines}
        listed = {team for team, _ in self._kept}
        for team, cells in self._kept:
            yield cells, team, by_team.get(team)
        for line in self.lines:
            if line.team not in listed:
                yield [""] * len(self._headings), line.team, line

    def objects(self) -> Iterator[dict[str, Any]]:
        for cells, team, line in self.people():
            yield {**dict(zip(self._headings, cells, strict=True)), **self._own(team, line)}

    def rows(self) -> Iterator[Sequence[object]]:
        return ([*map(Literally, cells), *self._own(team, line).values()] for cells, team, line in self.people())

    def _own(self, team: int, line: GradeLine | None) -> dict[str, Any]:
        place, score, grade = ("", "", "") if line is None else (line.place, line.score, line.grade)
        return dict(zip(self._OWN, (place, team, self._contest.team_name(team), score, grade), strict=True))

    def _in_words(self, line: GradeLine) -> str:
        name = self._contest.team_name(line.team)
        return f"{name}: place {line.place} of {len(self.lines)}, score {_number(line.score)}"

    def text(self) -> TextTable:
        lines, names = self.lines, [self._contest.team_name(line.team) for line in self.lines]
        return TextTable(
            [
                Column("place", [str(line.place) for line in lines]),
                Column("team", names, names=True, justify="left"),
                Column("score", [_number(line.score) for line in lines]),
                Column("grade", [_number(line.grade) for line in lines]),
            ]
        )

    # --- the files of other programs ---

    def decimal_comma(self) -> bool:
        """Return True if a class list has semicolons, or numbers on this computer have a comma."""
        before = locale.setlocale(locale.LC_NUMERIC)
        try:
            with suppress(locale.Error):  # a locale that is not installed
                locale.setlocale(locale.LC_NUMERIC, "")
            return self._semicolons or locale.localeconv()["decimal_point"] == ","
        finally:
            locale.setlocale(locale.LC_NUMERIC, before)  # it holds for all threads, and the page goes on

    def moodle(self) -> Iterator[bytes]:
        """Yield the lines of a CSV for Moodle's gradebook: the class list, with a grade and a comment.

        A class list that is Moodle's own grading worksheet has these columns already: they are filled in.
        """
        grade, comment = "Grade", "Feedback comments"
        known = self._headings or ["Team"]
        headings = [*known, *(name for name in (grade, comment) if name not in known)]
        yield csv_line(map(Literally, headings))
        for cells, team, line in self.people():
            row: list[object] = [*map(Literally, cells)] if self._headings else [self._contest.team_name(team)]
            row += [""] * (len(headings) - len(row))
            if line is not None:
                row[headings.index(grade)] = line.grade
                row[headings.index(comment)] = self._in_words(line)
            yield csv_line(row)

    def excel(self, *, decimal_comma: bool) -> Iterator[bytes]:
        """Yield the lines of a CSV that Excel opens with a double click.

        Args:
            decimal_comma: the locale writes 1,5: then Excel expects semicolons between the cells.
        """
        delimiter = ";" if decimal_comma else ","
        yield b"\xef\xbb\xbf" + csv_line(map(Literally, self.columns), delimiter)
        for cells, team, line in self.people():
            own = self._own(team, line)
            numbers = {name: own[name] for name in ("score", "grade") if _is_number(own[name])}
            for name, value in numbers.items():
                own[name] = Literally(_number(value).replace(".", "," if decimal_comma else "."))
            yield csv_line([*map(Literally, cells), *own.values()], delimiter)

    def gradescope(self, most: float) -> Iterator[tuple[str, bytes]]:
        """Yield for each team the path and the content of its ``results.json``, as autograders of Gradescope do.

        Args:
            most: the points of the best grade.

        Raises:
            ValueError: a grade is no number.
        """
        for line in self.lines:
            if not _is_number(line.grade):
                raise ValueError(f"the grade {line.grade!r} is no number, expected one: Gradescope takes no others")
            result = {
                "score": float(line.grade),
                "max_score": most,
                "output": escape_control_chars(self._in_words(line)),
                "visibility": "visible",
                "leaderboard": [{"name": "score", "value": line.score}],
            }
            yield f"{line.team}/results.json", encode(result) + b"\n"


def grade_file(format_: str, grades: Grades) -> Iterator[bytes]:
    """Return the lines of a file with grades, in a format of `WRITERS`, for Moodle or for Excel."""
    if format_ == "moodle":
        return grades.moodle()
    return grades.excel(decimal_comma=grades.decimal_comma()) if format_ == "excel" else WRITERS[format_](grades)


def _merged(lists: Sequence[KeptList]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the headings and the rows of all lists. Lists with other columns are merged by their headings."""
    if len({tuple(one.columns) for one in lists}) <= 1:  # then a heading may even be there twice
        headings = list(lists[0].columns) if lists else []
        kept = [row for one in lists for row in one.rows]
        return headings, [(row.team, [*row.cells, *[""] * (len(headings) - len(row.cells))]) for row in kept]
    headings = list(dict.fromkeys(column for one in lists for column in one.columns))
    rows = [(row.team, dict(zip(one.columns, row.cells, strict=False))) for one in lists for row in one.rows]
    return headings, [(team, [cells.get(heading, "") for heading in headings]) for team, cells in rows]


def _number(value: object) -> str:
    return f"{value:.12g}" if isinstance(value, (int, float)) else str(value)


def _is_number(value: object) -> bool:
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(value)) is not None
