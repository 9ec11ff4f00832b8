"""Bots as local processes: start them, keep a bounded part of their output, kill them.

In: a command line and a port, or a seat. Out: processes, and the last lines that they printed.
It must not know the judge or the tournament: a local bot connects over TCP as every bot does, and a hosted program
to the seat of its team. Only a sample bot that plays against a person outside any contest is asked through a pipe.
"""

__all__ = [
    "processes",
    "program_seats",
    "sample_bots",
]
