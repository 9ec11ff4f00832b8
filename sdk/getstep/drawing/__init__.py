"""Draws the boards of every game, from the look that the game describes (`getstep_engines.look`).

>>> from getstep_engines import GAMES
>>> from getstep.drawing import Picture, draw_text
>>> game = GAMES["hop"]
>>> state = game.start()
>>> steps = game.trace(state, [(2, 2), (2, 3)])
>>> print(draw_text(Picture.after(game, steps)))
     0  1  2  3  4  5  6  7
 0   B  :  .  .  .  .  :  :
 1   :  B  .  .  .  .  :  W
 2   B  : ( )[B] .  .  W  :
 3   :  B  .  .  .  W  :  W
 4   B  :  B  .  .  .  W  :
 5   :  B  .  .  .  W  :  W
 6   B  :  .  .  .  .  W  :
 7   :  :  .  .  .  .  :  W

In: a `Picture`: a game's look, a board, and what the last move touched. Out: text, colours for a terminal, or SVG.
It must not know the rules: `getstep_engines` says what a move does, and no renderer knows a game. `draw_text` is
for logs and pipes, `draw_terminal` for terminals with colours, `draw_svg` for pages. `getstep.drawing.viewer` steps
through the pictures of a match with the keyboard.
"""

from .picture import Picture, describe, legend
from .svg import draw_svg, svg_style
from .terminal import ColourDepth, colour_depth, draw_terminal
from .text import draw_text

__all__ = [
    "ColourDepth",
    "Picture",
    "colour_depth",
    "describe",
    "draw_svg",
    "draw_terminal",
    "draw_text",
    "legend",
    "svg_style",
]
