"""Why was a game lost? What each move gave away, and the better moves.

In: a `getstep.replay.Replay`, from a page, a record or practice. Out: `game.Analysis`, with its text for a terminal
and the replays of a page; `command` shows both. It must not know records. The search itself is
`getstep_bots.analysis`, which knows no replays.

Its modules are imported one by one: the command line needs the arguments of `command` at each start, and the boards
and replays of `game` only when a game is analysed.
"""
