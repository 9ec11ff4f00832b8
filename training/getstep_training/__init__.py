"""Games for learning programs: PettingZoo and OpenSpiel, thousands of boards at once in numpy, and recorded turns.

In: a game's name, actions (numbers for moves). Out: observations, boards and results as numpy arrays. It must not
know contests, servers or clocks: the rules are those of `getstep_engines`, whose tests hold both to each other.

`pettingzoo` needs the extra ``getstep-training[pettingzoo]``, `open_spiel` the extra ``open_spiel``; `batch` needs
numpy only, `turns` for Parquet the extra ``parquet``. A package of its own: those who play in a contest need
none of them.
"""
