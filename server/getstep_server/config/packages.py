"""The names of the packages that contestants and their programs use.

A module of its own: the process of every hosted program needs these names, and not the 25 ms of their package.
"""

PACKAGES = ("getstep", "getstep_engines", "getstep_bots")
