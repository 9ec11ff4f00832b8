"""Child processes of the server: the one place that starts, follows, ends and restarts them.

In: a command, and what the child's owner wants to hear of it. Out: its output in a log with a bound, its lines or
messages, its exit code. It must not know what a child does.

A child ends with the process that started it, even after SIGKILL: its standard input or its channel ends then, and
each program that is started here ends on that (`parent`). A child has
a process group of its own. Ctrl-C is for the server, which then ends its children in order.

The live page, the announcer, house bots, judge processes, the process that talks to Dask, local bots, processes of
hosted programs, submissions and analyses of games are started here. Programs of contestants are not: `sandbox`
starts them.
"""

__all__ = ["channel", "keeping", "log", "parent", "process"]
"""Public modules of this room."""
