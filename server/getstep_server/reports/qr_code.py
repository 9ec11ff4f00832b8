"""An address as a QR code: for a terminal, two rows of modules in a line of text, and for paper."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_BLOCKS = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}
_STYLE = "black on bright_white"  # whatever the colours of the terminal: readers expect dark modules
_QUIET = 2  # modules around the code: the standard says 4, and phones read 2


def qr_code(address: str) -> list[Text]:
    import segno  # here: it takes 20 ms to import, and a pipe does not need it
    from rich.text import Text  # here: slips are printed without it

    rows = [list(row) for row in segno.make(address, micro=False, error="l").matrix_iter(border=_QUIET)]
    pairs = zip_longest(rows[::2], rows[1::2], fillvalue=[0] * len(rows[0]))
    return [Text("".join(map(_block, upper, lower)), style=_STYLE, no_wrap=True) for upper, lower in pairs]


def _block(upper: int, lower: int) -> str:
    return _BLOCKS[bool(upper), bool(lower)]


def qr_code_svg(address: str) -> str:
    import segno  # here: slips as text have no code

    code: str = segno.make(address, micro=False).svg_inline(svgclass="qr", lineclass=None, omitsize=True)
    return code
