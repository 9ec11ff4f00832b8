"""What a bot notes with some calls, the same in each language.

Each case has the calls, the notes on the wire, and what the author of the bot reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Call: TypeAlias = tuple[Any, ...]

BOARD = [[0] * 9 for _ in range(8)]
MARK = ("draw", [2, 3], None, None, "mark")
LONG = "longer texts are dropped"
DROPPED = "others are dropped"


@dataclass(frozen=True)
class Noted:
    """One case.

    Args:
        calls: each the name and the arguments (of ``draw``: squares, label, color, shape). ``end`` ends the move.
        notes: the map of the answer; None if there is none.
        lines: a part of each line that the author reads, in order.
        move: the move that is sent with them.
    """

    calls: list[Call]
    notes: dict[str, Any] | None
    lines: list[str] = field(default_factory=list)
    move: Any = field(default_factory=lambda: [3, 4])


def draw(squares: Any, label: Any = None, color: str | None = None, shape: str = "mark") -> Call:
    return ("draw", squares, label, color, shape)


def row(count: int) -> list[list[int]]:
    return [[n // 9, n % 9] for n in range(count)]


def flat(squares: list[list[int]]) -> list[int]:
    return [number for square in squares for number in square]


_HEAVY = [[n // 9 % 8, n % 9] for n in range(64)]
_HEAVY_BYTES = 1 + len("mark") + 1 + 3 + 128 + 1 + 1  # of a drawing of 64 squares: its header, four elements

NUMBERS = [
    "0",
    "7",
    "-12",
    "100",
    "0.1",
    "-0.25",
    "12.3",
    "1e+03",
    "1.23e+05",
    "0.000123",
    "-1.2e-05",
    "3",
    "5e-07",
]

CASES: dict[str, Noted] = {
    "nothing": Noted([], None),
    "all four": Noted(
        [("say", "the corner"), ("estimate", 0.25), draw([2, 3], 0.5, "red"), ("tag", "opening")],
        {"say": "the corner", "estimate": 0.25, "draw": [["mark", [2, 3], "0.5", "red"]], "tags": ["opening"]},
    ),
    "the form has its own order": Noted(
        [("tag", "b"), MARK, ("estimate", -0.5), ("say", "x")],
        {"say": "x", "estimate": -0.5, "draw": [["mark", [2, 3], None, None]], "tags": ["b"]},
    ),
    "lines of say": Noted([("say", "one"), ("say", "zwölf\n松"), ("say", "🎲")], {"say": "one\nzwölf\n松\n🎲"}),
    "the last estimate": Noted([("estimate", 0.5), ("estimate", -0.125)], {"estimate": -0.125}),
    "1,000 characters": Noted([("say", "x" * 1000)], {"say": "x" * 1000}),
    "too many characters": Noted(
        [("say", "y" * 998), ("say", "xx"), ("say", "x")], {"say": "y" * 998 + "\nx"}, [LONG]
    ),
    "too many characters twice": Noted(
        [("say", "x" * 1001), ("say", "x" * 10**6), ("say", "y")], {"say": "y"}, [LONG]
    ),
    "too many bytes": Noted([("say", "松" * 667), ("say", "松" * 666)], {"say": "松" * 666}, [LONG]),
    "estimates": Noted([("estimate", 1.0), ("estimate", 1.0001), ("estimate", -2)], {"estimate": 1.0}, [DROPPED]),
    "shapes": Noted(
        [
            draw(row(16), shape="arrow"),
            draw(row(64), "abcdefgh", "blue", "region"),
            draw([[7, 7], [7, 8]], "R", shape="domino"),
        ],
        {
            "draw": [
                ["arrow", flat(row(16)), None, None],
                ["region", flat(row(64)), "abcdefgh", "blue"],
                ["domino", [7, 7, 7, 8], "R", None],
            ]
        },
    ),
    "numbers as labels": Noted(
        [
            draw([0, 0], label)
            for label in (0, 7, -12, 100, 0.1, -0.25, 12.34, 999.6, 123456, 0.00012345, -0.0000123, 3.0, 5e-7)
        ],
        {"draw": [["mark", [0, 0], label, None] for label in NUMBERS]},
    ),
    "a long label": Noted(
        [draw([0, 0], "松" * 9), draw([0, 0], "123456789")],
        None,
        [DROPPED],
    ),
    "64 drawings": Noted([MARK] * 65, {"draw": [["mark", [2, 3], None, None]] * 64}, ["more are dropped"]),
    "another shape and colour": Noted(
        [draw([2, 3], shape="circle"), draw([2, 3], color="pink"), draw([2, 3], color="PINK")], None, [DROPPED] * 2
    ),
    "too many squares": Noted(
        [draw(row(65)), draw(row(17), shape="arrow"), draw(row(3), shape="domino")], None, [DROPPED] * 3
    ),
    "too few squares": Noted(
        [draw([2, 3], shape="arrow"), draw([2, 3], shape="domino"), draw([[2, 3, 4]])], None, [DROPPED] * 3
    ),
    "a square off the board": Noted(
        [draw([8, 0]), draw([0, 9]), draw([[0, 0], [-1, 0]]), draw([7, 8])],
        {"draw": [["mark", [7, 8], None, None]]},
        ["8 rows and 9 columns"],
    ),
    "tags": Noted(
        [("tag", word) for word in ("a", "b", "a", "x" * 24, "松" * 24, "c", "d", "e", "f", "g")],
        {"tags": ["a", "b", "x" * 24, "松" * 24, "c", "d", "e", "f"]},
        ["more are dropped"],
    ),
    "no words": Noted(
        [("tag", word) for word in ("", "two words", "x" * 25, "a\nb", "a\x1b[2J", "a\u2028b", "a\u00a0b")],
        None,
        [DROPPED],
    ),
    "after the move": Noted(
        [("say", "x"), ("end",), ("say", "y"), ("estimate", 1.0), MARK, ("tag", "z")],
        {"say": "x"},
        ["before and after"],
    ),
    "too many bytes of drawings": Noted(
        [("say", "x" * 100), *[draw(_HEAVY)] * 64, ("tag", "t")],
        {
            "say": "x" * 100,
            "draw": [["mark", flat(_HEAVY), None, None]] * ((3584 - 1 - 106 - 8 - 7) // _HEAVY_BYTES),
            "tags": ["t"],
        },
        ["does not fit"],
    ),
    "beside a long move": Noted(
        [("say", "x" * 1000), ("estimate", 0.5), MARK],
        {"say": "x" * 517, "estimate": 0.5},
        ["does not fit"],
        move=["y" * 1750, "z" * 1770],
    ),
    "beside the longest move": Noted(
        [("say", "x" * 1000), MARK], None, ["does not fit"], move=["y" * 2000, "z" * 2000, "a" * 57]
    ),
}
