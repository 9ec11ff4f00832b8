"""Bots as local processes: start them, keep a bounded part of their output, kill them.

In: a command line and a port. Out: processes, and the last lines that they printed.
It must not know the judge or the tournament: a local bot connects over TCP as every bot does. Only a sample bot
that plays against a person outside any contest is asked through a pipe.
"""

__all__ = [
    "hosted",
    "output",
    "processes",
    "sample_bots",
]
