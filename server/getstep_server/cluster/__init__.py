"""A cluster: matches between hosted programs that are played on other machines.

In: orders to play a match, and the files of the programs. Out: reports with the turns and the result, and proofs of
what a machine can do. It must not know the tournament: the host decides what is played, and stores it.
"""

__all__ = [
    "machine",
    "order",
    "program_files",
    "worker",
]
